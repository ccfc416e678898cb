//! The second-order step on a GPU: steps, rollouts, gradients and Jacobians have the bits of the CPU.

use candle_core::{DType, Device, Result, Tensor, Var};
use fingertip::Model;
use fingertip::description::{Friction, Scene};
use fingertip::solve::{Method, Report, Status};
use fingertip::step::{ContactModel, Dynamic, DynamicParams, Separation};

use super::{Case, Named, WORLDS, assert_same, gpu, scene, with_gradients};
use support::jointed;
use support::states::Random;

/// The world whose v is not usable; in [`Case`] q of another is not.
const BAD: usize = 5;

/// A case of the quasi-dynamic step with velocities and forces in place of commands.
struct Moving {
    case: Case,
    v: Tensor,
    tau: Tensor,
}

impl Moving {
    fn new(name: &str, scene: &Scene, dtype: DType, device: &Device) -> Self {
        let case = Case::new(name, scene, dtype, device);
        let (nv, mut random) = (case.models[0].nv(), Random::new(73));
        let mut draw = |size: f64| (0..WORLDS * nv).map(|_| random.between(-size, size)).collect::<Vec<_>>();
        let (mut v, tau) = (draw(0.3), draw(0.2));
        v[BAD * nv] = f64::INFINITY;
        let [v, tau] = [v, tau].map(|rows| Tensor::from_vec(rows, (WORLDS, nv), &Device::Cpu).unwrap());
        Self { case, v: v.to_dtype(dtype).unwrap(), tau: tau.to_dtype(dtype).unwrap() }
    }

    /// The step and its variables, q, v, τ and parameters, on the first device or the second.
    fn tracked(&self, device: usize, shared: bool) -> Result<(Dynamic, Vec<(&'static str, Var)>)> {
        let model = &self.case.models[device];
        let to = |t: &Tensor| Var::from_tensor(&t.to_device(&model.device)?);
        let mut variables = vec![("q", to(&self.case.q)?), ("v", to(&self.v)?), ("tau", to(&self.tau)?)];
        let own = if shared { &self.case.models[0].parameters } else { &self.case.parameters };
        let parameters = own.map(|name, t| {
            let variable = to(t)?;
            let tensor = variable.as_tensor().clone();
            variables.push((name, variable));
            Ok(tensor)
        })?;
        let params = DynamicParams { friction: model.params.friction, ..DynamicParams::default() };
        Ok((Dynamic::new(model, &parameters, params)?, variables))
    }
}

fn step(step: &Dynamic, variables: &[(&'static str, Var)]) -> Result<(Named, Vec<Report>)> {
    let [q, v, tau] = [0, 1, 2].map(|k| &variables[k].1);
    let result = step.step(q, v, tau)?;
    let values = vec![
        ("q_next", result.q_next.clone()),
        ("v_next", result.v_next.clone()),
        ("force", result.force.flatten_from(1)?),
        ("phi", result.contacts.phi.clone()),
        ("normal", result.contacts.normal.flatten_from(1)?),
        ("limit_force", result.limit_force.clone()),
    ];
    let mut all = with_gradients(values, variables)?;
    let warm = result.warm.unwrap();
    let again = step.step_from(q, v, tau, Some(&warm))?;
    all.extend([("warm", warm), ("v_next from forces", again.v_next.detach())]);
    Ok((all, result.reports))
}

fn cases(device: &Device) -> Vec<Moving> {
    let case = |name, friction| Moving::new(name, &scene(name, friction), DType::F64, device);
    // Springs, damping, armature, dry friction, efforts and connections.
    let elements = Moving::new("elements", &jointed::with_elements(), DType::F64, device);
    vec![case("two_fingers", Friction::Relaxed), case("push", Friction::Coulomb), elements]
}

#[test]
fn steps_and_gradients_have_the_bits_of_the_cpu() -> Result<()> {
    let Some(device) = gpu() else { return Ok(()) };
    for moving in cases(&device) {
        for shared in [false, true] {
            let name = format!("{}, shared parameters: {shared}", moving.case.name);
            let [expected, found] = [0, 1].map(|device| {
                let (own, variables) = moving.tracked(device, shared)?;
                step(&own, &variables)
            });
            let ((expected, expected_reports), (found, reports)) = (expected?, found?);
            assert_same(&name, &found, &expected);
            assert_eq!(format!("{reports:?}"), format!("{expected_reports:?}"), "{name}");
            assert_eq!([reports[3].status, reports[BAD].status], [Status::BadInput; 2], "{name}");
            let solved = reports.iter().filter(|report| report.status == Status::Solved).count();
            assert!(solved > WORLDS / 2, "{name}: {solved}");
        }
    }
    Ok(())
}

#[test]
fn rollouts_and_jacobians_have_the_bits_of_the_cpu() -> Result<()> {
    let Some(device) = gpu() else { return Ok(()) };
    const STEPS: usize = 4;
    for moving in cases(&device) {
        let [expected, found] = [0, 1].map(|device| {
            let (own, mut variables) = moving.tracked(device, true)?;
            let linear = own.linearize(&variables[0].1, &variables[1].1, &variables[2].1, None)?;
            let tau = variables[2].1.unsqueeze(1)?.broadcast_as((WORLDS, STEPS, own.model().nv()))?.contiguous()?;
            variables[2].1 = Var::from_tensor(&tau)?;
            let path = own.rollout(&variables[0].1, &variables[1].1, &variables[2].1)?;
            let values = vec![
                ("q", path.q.flatten_from(1)?),
                ("v", path.v.flatten_from(1)?),
                ("force", path.force.flatten_from(1)?),
            ];
            let mut all = with_gradients(values, &variables)?;
            all.extend([("A", linear.a), ("B", linear.b), ("C", linear.c), ("D", linear.d)]);
            Ok::<_, candle_core::Error>((all, path.reports))
        });
        let ((expected, expected_reports), (found, reports)) = (expected?, found?);
        assert_same(&moving.case.name, &found, &expected);
        assert_eq!(format!("{reports:?}"), format!("{expected_reports:?}"), "{}", moving.case.name);
    }
    Ok(())
}

/// Tensors of single precision are stepped in double precision on both.
#[test]
fn single_precision_has_the_bits_of_the_cpu() -> Result<()> {
    let Some(device) = gpu() else { return Ok(()) };
    let moving = Moving::new("two_fingers", &scene("two_fingers", Friction::Relaxed), DType::F32, &device);
    let [expected, found] = [0, 1].map(|device| {
        let (own, variables) = moving.tracked(device, false)?;
        step(&own, &variables)
    });
    assert_same("two_fingers in single precision", &found?.0, &expected?.0);
    Ok(())
}

#[test]
fn what_runs_on_the_cpu_alone_says_so() {
    let Some(device) = gpu() else { return };
    let model = Model::new(&scene("push", Friction::Relaxed), DType::F64, &device).unwrap();
    let [q, v] = [model.nq(), model.nv()].map(|n| Tensor::zeros((1, n), DType::F64, &device).unwrap());
    let is_said = |error: String, what: &str| {
        assert!(error.contains(what) && error.contains("expected a model on the CPU"), "{error}");
    };
    let rigid = DynamicParams { contact: ContactModel::Rigid(Method::PrimalQp), ..DynamicParams::default() };
    let rigid = Dynamic::new(&model, &model.parameters, rigid).unwrap();
    is_said(rigid.step(&q, &v, &v).err().unwrap().to_string(), "rigid contact");
    let barrier = Dynamic::new(&model, &model.parameters, DynamicParams::default()).unwrap();
    is_said(barrier.rigid_contact(&q, &v, &v).err().unwrap().to_string(), "rigid contact");
    let numbers = |n| vec![0.0; n];
    let (q, v) = (numbers(model.nq()), numbers(model.nv()));
    is_said(barrier.step_numbers(&q, &v, &v, &[]).err().unwrap().to_string(), "plain numbers");
    let separation = Separation::new(&model, Method::PrimalQp).unwrap();
    let q = Tensor::from_vec(q, (1, model.nq()), &device).unwrap();
    is_said(separation.gaps(&q).err().unwrap().to_string(), "rigid contact");
}
