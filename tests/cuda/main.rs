//! The step on a GPU, or on cuda/emulator, against the step on the CPU: the same bits in double precision, for values,
//! gradients and Jacobians. Where there is no device the tests say that they were skipped, or fail if FINGERTIP_CUDA is
//! set.

mod composed;
mod second_order;

use candle_core::{DType, Device, Result, Tensor, Var};
use fingertip::description::{Friction, Object, Scene, Shape};
use fingertip::rollout::rollout;
use fingertip::solve::{Report, Status};
use fingertip::step::{Form, Quasidynamic};
use fingertip::{Model, Parameters};

use support::states::{self, Random, Ranges};
use support::{largest, numbers, rows};

const RANGES: Ranges =
    Ranges { kappa: (1e2, 1e4), mu: (0.05, 1.5), mu_also: &[0.0], stiffness: (1.0, 1e2), mass: (5e-2, 2.0) };
/// More than a block of 32.
const WORLDS: usize = 37;
/// Its world with numbers a million times as large.
const FAR: usize = 36;
/// Sums on a GPU add in another order than on the CPU, and logarithms and angles end in other bits, relative to the
/// largest number.
const ROUNDING: f64 = 1e-12;

type Named = Vec<(&'static str, Tensor)>;

fn gpu() -> Option<Device> {
    match fingertip::device("cuda") {
        Ok(device) => Some(device),
        Err(error) if std::env::var_os("FINGERTIP_CUDA").is_some() => panic!("{error}"),
        Err(error) => {
            println!("skipped: {error}");
            None
        }
    }
}

fn scene(name: &str, friction: Friction) -> Scene {
    let mut scene = Scene::load(format!("assets/scenes/{name}.toml")).unwrap();
    (scene.params.kappa, scene.params.friction, scene.params.impratio) = (1e4, friction, 3.0);
    scene
}

/// A model on both devices, and worlds on the CPU; q of two of them is not usable.
struct Case {
    name: String,
    models: [Model; 2],
    q: Tensor,
    u: Tensor,
    parameters: Parameters,
}

impl Case {
    fn new(name: &str, scene: &Scene, dtype: DType, device: &Device) -> Self {
        let models = [Device::Cpu, device.clone()].map(|device| Model::new(scene, dtype, &device).unwrap());
        let double = Model::new(scene, DType::F64, &Device::Cpu).unwrap();
        let mut random = Random::new(71);
        let mut q: Vec<Vec<f64>> = (0..WORLDS).map(|_| states::configuration(&double, 0.02, &mut random)).collect();
        let u: Vec<Vec<f64>> = q.iter().map(|q| states::command(&double, q, &mut random)).collect();
        q[3][0] = f64::NAN;
        q[FAR].iter_mut().for_each(|x| *x *= 1e6);
        let to = |t: &Tensor| t.to_dtype(dtype).unwrap();
        let parameters = states::parameters(&double, WORLDS, &RANGES, &mut random);
        Self {
            name: name.to_owned(),
            models,
            q: to(&states::tensor(&double, &q)),
            u: to(&states::tensor(&double, &u)),
            parameters: parameters.map(|_, t| Ok(to(t))).unwrap(),
        }
    }

    /// Everything tracked on the first device or the second, the parameters one row for all or one for each world.
    fn tracked(&self, device: usize, shared: bool) -> Result<(Quasidynamic, Vec<(&'static str, Var)>)> {
        let model = &self.models[device];
        let to = |t: &Tensor| Var::from_tensor(&t.to_device(&model.device)?);
        let mut variables = vec![("q", to(&self.q)?), ("u", to(&self.u)?)];
        let own = if shared { &self.models[0].parameters } else { &self.parameters };
        let parameters = own.map(|name, t| {
            let variable = to(t)?;
            let tensor = variable.as_tensor().clone();
            variables.push((name, variable));
            Ok(tensor)
        })?;
        Ok((Quasidynamic::new(model, &parameters)?, variables))
    }
}

/// A sum of all numbers with weights between −1 and 1.
fn cost(values: &[(&'static str, Tensor)], random: &mut Random) -> Result<Tensor> {
    let mut sum: Option<Tensor> = None;
    for (_, values) in values.iter().filter(|(_, values)| values.elem_count() > 0) {
        let weights: Vec<f64> = (0..values.elem_count()).map(|_| random.between(-1.0, 1.0)).collect();
        let weights = Tensor::from_vec(weights, values.dims(), &Device::Cpu)?;
        let part = (values * weights.to_dtype(values.dtype())?.to_device(values.device())?)?.sum_all()?;
        sum = Some(match sum {
            Some(sum) => (sum + part)?,
            None => part,
        });
    }
    Ok(sum.unwrap())
}

/// The values, then the gradients of a sum of them in all variables.
fn with_gradients(mut values: Named, variables: &[(&'static str, Var)]) -> Result<Named> {
    let gradients = cost(&values, &mut Random::new(72))?.backward()?;
    for (name, variable) in variables {
        let gradient =
            gradients.get(variable).map_or_else(|| variable.zeros_like(), |gradient| Ok(gradient.clone()))?;
        values.push((name, gradient));
    }
    Ok(values)
}

fn step(step: &Quasidynamic, variables: &[(&'static str, Var)]) -> Result<(Named, Vec<Report>)> {
    let [q, u] = [&variables[0].1, &variables[1].1];
    let result = step.step(q, u)?;
    let values = vec![
        ("q_next", result.q_next.clone()),
        ("delta", result.delta.clone()),
        ("force", result.force.flatten_from(1)?),
        ("phi", result.contacts.phi.clone()),
        ("normal", result.contacts.normal.flatten_from(1)?),
        ("limit_force", result.limit_force.clone()),
    ];
    let mut all = with_gradients(values, variables)?;
    all.push(("warm", result.warm.clone()));
    let again = step.step_from(q, u, Some(&result.warm))?;
    all.push(("q_next from forces", again.q_next.detach()));
    Ok((all, result.reports))
}

/// The bits of the CPU. On a card, logarithms and angles end in other bits in [`FAR`], and so do sums that it is part
/// of.
fn assert_same(name: &str, found: &[(&'static str, Tensor)], expected: &[(&'static str, Tensor)]) {
    assert_eq!(found.len(), expected.len());
    let is_emulated = std::env::var_os("EMULATED_CACHE").is_some();
    // What is not a number is one whatever its bits.
    let bits = |x: f64| if x.is_nan() { f64::NAN } else { x }.to_bits();
    for ((what, found), (_, expected)) in found.iter().zip(expected) {
        assert_eq!(found.dims(), expected.dims(), "{name}: {what}");
        // Candle's conversions on a GPU fail without numbers.
        let [found, of_cpu] = [found, expected].map(|t| numbers(&t.to_device(&Device::Cpu).unwrap()));
        let n_rows = expected.dims().first().map_or(1, |&n| n.max(1));
        let width = of_cpu.len() / n_rows;
        for (i, (&x, &y)) in found.iter().zip(&of_cpu).enumerate().filter(|(_, (x, y))| bits(**x) != bits(**y)) {
            let row = i / width;
            let is_exact = is_emulated || (n_rows == WORLDS && row != FAR);
            let size = of_cpu[row * width..(row + 1) * width].iter().fold(0.0, |size: f64, x| size.max(x.abs()));
            let is_near = (x - y).abs() <= ROUNDING * size;
            assert!(!is_exact && is_near, "{name}: {what}: row {row} of {n_rows}, number {i}: GPU {x:e}, CPU {y:e}");
        }
    }
}

fn cases(device: &Device) -> Vec<Case> {
    let case = |name, friction| Case::new(name, &scene(name, friction), DType::F64, device);
    let bricks = Case::new("bricks", &states::bricks(), DType::F64, device);
    vec![
        case("two_fingers", Friction::Relaxed),
        case("push", Friction::Coulomb),
        case("hand_ball", Friction::Relaxed),
        bricks,
    ]
}

#[test]
fn steps_and_gradients_have_the_bits_of_the_cpu() -> Result<()> {
    let Some(device) = gpu() else { return Ok(()) };
    for case in cases(&device) {
        for shared in [false, true] {
            let name = format!("{}, shared parameters: {shared}", case.name);
            let [expected, found] = [0, 1].map(|device| {
                let (own, variables) = case.tracked(device, shared)?;
                assert_eq!(own.form(), Form::Fused);
                step(&own, &variables)
            });
            let ((expected, expected_reports), (found, reports)) = (expected?, found?);
            assert_same(&name, &found, &expected);
            assert_eq!(format!("{reports:?}"), format!("{expected_reports:?}"), "{name}");
            assert_eq!(reports[3].status, Status::BadInput, "{name}");
            let solved = reports.iter().filter(|report| report.status == Status::Solved).count();
            assert!(solved > WORLDS / 2, "{name}: {solved}");
        }
    }
    Ok(())
}

#[test]
fn jacobians_have_the_bits_of_the_cpu() -> Result<()> {
    let Some(device) = gpu() else { return Ok(()) };
    for case in [&cases(&device)[0], &cases(&device)[1]] {
        let [expected, found] = [0, 1].map(|device| {
            let (own, variables) = case.tracked(device, false)?;
            let all = own.linearize(&variables[0].1, &variables[1].1)?;
            Ok::<_, candle_core::Error>(vec![
                ("A", all.a),
                ("B", all.b),
                ("C", all.c),
                ("D", all.d),
                ("q_next", all.q_next),
            ])
        });
        assert_same(&case.name, &found?, &expected?);
    }
    Ok(())
}

#[test]
fn rollouts_and_their_gradients_have_the_bits_of_the_cpu() -> Result<()> {
    let Some(device) = gpu() else { return Ok(()) };
    const STEPS: usize = 5;
    for case in cases(&device) {
        for shared in [false, true] {
            let [expected, found] = [0, 1].map(|device| {
                let (own, mut variables) = case.tracked(device, shared)?;
                let u = variables[1].1.unsqueeze(1)?.broadcast_as((WORLDS, STEPS, own.model().nu()))?.contiguous()?;
                variables[1].1 = Var::from_tensor(&u)?;
                let result = rollout(&own, &variables[0].1, &variables[1].1)?;
                let values = vec![("q", result.q.flatten_from(1)?), ("force", result.force.flatten_from(1)?)];
                Ok::<_, candle_core::Error>((with_gradients(values, &variables)?, result.reports))
            });
            let ((expected, expected_reports), (found, reports)) = (expected?, found?);
            let name = format!("{}, shared parameters: {shared}", case.name);
            assert_same(&name, &found, &expected);
            assert_eq!(format!("{reports:?}"), format!("{expected_reports:?}"), "{name}");
        }
    }
    Ok(())
}

/// In single precision worlds that are not solved are done again in double precision. Builds for all instruction sets
/// have lanes of single precision, whose bits these are; others are as far from the double ones as rounding takes them.
#[test]
fn single_precision_is_the_cpus_or_near_the_double_one() -> Result<()> {
    let Some(device) = gpu() else { return Ok(()) };
    for (name, friction, kappa) in [
        ("two_fingers", Friction::Relaxed, 1e4),
        ("two_fingers", Friction::Relaxed, 1e7),
        ("push", Friction::Coulomb, 1e4),
    ] {
        let mut scene = scene(name, friction);
        scene.params.kappa = kappa;
        let case = Case::new(name, &scene, DType::F32, &device);
        let [expected, found] = [0, 1].map(|device| {
            let (own, variables) = case.tracked(device, true)?;
            let (mut all, reports) = step(&own, &variables)?;
            let jacobians = own.linearize(&variables[0].1, &variables[1].1)?;
            all.extend([("A", jacobians.a), ("C", jacobians.c)]);
            let u = variables[1].1.detach().unsqueeze(1)?;
            let u = Var::from_tensor(&Tensor::cat(&[&u, &u, &u], 1)?)?;
            let path = rollout(&own, &variables[0].1, &u)?;
            let values = vec![("path", path.q.flatten_from(1)?), ("its forces", path.force.flatten_from(1)?)];
            all.extend(with_gradients(values, &[("u of the path", u)])?);
            Ok::<_, candle_core::Error>((all, reports))
        });
        let ((expected, expected_reports), (found, reports)) = (expected?, found?);
        let solved = |reports: &[Report]| reports.iter().filter(|report| report.status == Status::Solved).count();
        assert_eq!(solved(&reports), solved(&expected_reports), "{name}, κ = {kappa:e}");
        if cfg!(not(feature = "narrow")) {
            assert_same(&format!("{name}, κ = {kappa:e}"), &found, &expected);
            continue;
        }
        for ((q, expected), report) in rows(&found[0].1).iter().zip(rows(&expected[0].1)).zip(&expected_reports) {
            let far = largest(q.iter().zip(&expected).map(|(a, b)| a - b));
            assert!(report.status != Status::Solved || far < 1e-4, "{name}, κ = {kappa:e}: {far:e}");
        }
    }
    Ok(())
}

#[test]
fn a_pair_that_cannot_be_recorded_is_an_error_that_names_it() {
    let Some(device) = gpu() else { return };
    let scene = Scene::new()
        .object(Object::rigid("egg", Shape::ellipsoid([0.02, 0.03, 0.04]), 0.1))
        .object(Object::rigid("brick", Shape::cuboid([0.02, 0.03, 0.04]), 0.1));
    let model = Model::new(&scene, DType::F64, &device).unwrap();
    let error = Quasidynamic::new(&model, &model.parameters).err().unwrap().to_string();
    assert!(error.contains("\"egg\"") && error.contains("\"brick\""), "{error}");
}

#[test]
fn operands_of_other_shapes_are_errors() {
    let Some(device) = gpu() else { return };
    let model = Model::new(&scene("push", Friction::Relaxed), DType::F64, &device).unwrap();
    let step = Quasidynamic::new(&model, &model.parameters).unwrap();
    let zeros = |n| Tensor::zeros((2, n), DType::F64, &device).unwrap();
    let error = step.step(&zeros(model.nq() + 1), &zeros(model.nu())).err().unwrap().to_string();
    assert!(error.contains("expected q"), "{error}");
    let (q, u, warm) = (zeros(model.nq()), zeros(model.nu()), zeros(1));
    let error = step.step_from(&q, &u, Some(&warm)).err().unwrap().to_string();
    assert!(error.contains("warm start"), "{error}");
}
