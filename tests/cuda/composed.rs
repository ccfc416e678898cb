//! The composed form: each kernel an operation on the GPU's tensors, between a user's own expressions.

use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

use candle_core::{DType, Device, Result, Tensor, Var};
use fingertip::Model;
use fingertip::contact::Contacts;
use fingertip::description::{Friction, Object, Scene, Shape};
use fingertip::dynamics::Dynamics;
use fingertip::kinematics::{Kinematics, Manifold};
use fingertip::rollout::rollout;
use fingertip::solve::{Report, Status};
use fingertip::step::{Form, Geometry, Quasidynamic};

use super::{Case, Named, ROUNDING, WORLDS, assert_same, cost, gpu, scene, step, with_gradients};
use support::states::{self, Random};
use support::{apart, numbers};

/// As many values as on the CPU, which differ by rounding at most.
fn assert_near(name: &str, found: &Named, expected: &Named) {
    assert_eq!(found.len(), expected.len());
    for ((what, found), (_, expected)) in found.iter().zip(expected) {
        assert_eq!(found.dims(), expected.dims(), "{name}: {what}");
        let found = found.to_device(&Device::Cpu).unwrap();
        let (found, expected) = (numbers(&found), numbers(expected));
        let size = expected.iter().fold(1.0, |size: f64, x| size.max(x.abs()));
        let far = apart(&found, &expected) / size;
        assert!(far < ROUNDING, "{name}: {what}: {far:e}");
    }
}

type Made = (Named, Vec<Report>);

/// What a function makes of a case in the composed form on the CPU and on the GPU.
fn on_both(
    case: &Case,
    shared: bool,
    make: impl Fn(&Quasidynamic, &[(&'static str, Var)]) -> Result<Made>,
) -> Result<[Made; 2]> {
    let on = |device: usize| {
        let (own, variables) = case.tracked(device, shared)?;
        let composed = own.as_tensor_program();
        assert_eq!(composed.form(), Form::TensorProgram);
        let made = make(&composed, &variables)?;
        let is_there = |(_, tensor): &(&str, Tensor)| tensor.device().same_device(&case.models[device].device);
        assert!(made.0.iter().all(is_there));
        Ok::<_, candle_core::Error>(made)
    };
    Ok([on(0)?, on(1)?])
}

fn cases(device: &Device) -> Vec<Case> {
    let case = |name, friction| Case::new(name, &scene(name, friction), DType::F64, device);
    vec![case("two_fingers", Friction::Relaxed), case("push", Friction::Coulomb)]
}

#[test]
fn steps_and_gradients_have_the_bits_of_the_cpu() -> Result<()> {
    let Some(device) = gpu() else { return Ok(()) };
    for case in cases(&device) {
        let [(expected, expected_reports), (found, reports)] = on_both(&case, false, step)?;
        assert_same(&case.name, &found, &expected);
        assert_eq!(format!("{reports:?}"), format!("{expected_reports:?}"), "{}", case.name);
        assert_eq!(reports[3].status, Status::BadInput, "{}", case.name);
        let solved = reports.iter().filter(|report| report.status == Status::Solved).count();
        assert!(solved > WORLDS / 2, "{}: {solved}", case.name);

        // Gradients of what all worlds share are sums of candle's.
        let [(expected, _), (found, _)] = on_both(&case, true, step)?;
        assert_near(&case.name, &found, &expected);
    }
    Ok(())
}

/// A free body, whose pose is a quaternion; weights of boxes' contacts.
#[test]
fn boxes_in_space_have_the_bits_of_the_cpu() -> Result<()> {
    let Some(device) = gpu() else { return Ok(()) };
    let case = Case::new("bricks", &states::bricks(), DType::F64, &device);
    let [(expected, _), (found, _)] = on_both(&case, false, step)?;
    assert_same(&case.name, &found, &expected);
    Ok(())
}

#[test]
fn single_precision_has_the_bits_of_the_cpu() -> Result<()> {
    let Some(device) = gpu() else { return Ok(()) };
    let case = Case::new("push", &scene("push", Friction::Relaxed), DType::F32, &device);
    let [(expected, _), (found, _)] = on_both(&case, false, step)?;
    assert_same(&case.name, &found, &expected);
    Ok(())
}

/// The shapes' contacts where they would be if the second body's surface were further out by so much at each contact,
/// as a candle expression of a tracked tensor (nc); contact 0 of one world comes as no number.
#[derive(Debug)]
struct Swollen {
    by: Var,
    spoilt: bool,
}

impl Geometry for Swollen {
    fn contacts(&self, _: &Tensor, own: Contacts) -> Result<Contacts> {
        let (worlds, nc) = own.phi.dims2()?;
        let by = self.by.tanh()?.reshape((1, nc, 1))?.broadcast_as((worlds, nc, 1))?;
        let point_b = (&own.point_b - own.normal.broadcast_mul(&by)?)?;
        let mut phi = (&own.phi - by.squeeze(2)?)?;
        if self.spoilt && worlds == WORLDS {
            let spoil: Vec<f64> = (0..WORLDS).map(|world| if world == 5 { f64::NAN } else { 0.0 }).collect();
            phi = phi.broadcast_add(&Tensor::from_vec(spoil, (WORLDS, 1), phi.device())?)?;
        }
        Ok(Contacts { point_b, phi, ..own })
    }
}

#[test]
fn contacts_of_a_users_own_expression_have_the_bits_of_the_cpu() -> Result<()> {
    let Some(device) = gpu() else { return Ok(()) };
    let mut case = Case::new("two_fingers", &scene("two_fingers", Friction::Relaxed), DType::F64, &device);
    // All of q are usable, so that a world's contacts alone are not.
    case.q = case.models[0].home(WORLDS)?;
    for spoilt in [false, true] {
        let of_worlds = |own: &Quasidynamic, variables: &[(&'static str, Var)]| {
            let nc = own.model().nc();
            let by: Vec<f64> = (0..nc).map(|contact| 1e-3 * (contact as f64 - 1.0)).collect();
            let by = Var::from_vec(by, nc, &own.model().device)?;
            let made = own.with_geometry(Arc::new(Swollen { by: by.clone(), spoilt }));
            let mut all = variables.to_vec();
            all.push(("by", by));
            let u = variables[1].1.unsqueeze(1)?;
            let path = rollout(&made, &variables[0].1, &Tensor::cat(&[&u, &u], 1)?)?;
            let (mut values, reports) = step(&made, &all)?;
            values.extend([("path", path.q.flatten_from(1)?), ("its forces", path.force.flatten_from(1)?)]);
            Ok((values, reports))
        };
        let [(mut expected, expected_reports), (mut found, reports)] = on_both(&case, false, of_worlds)?;
        let is_shared = |(name, _): &(&str, Tensor)| *name == "by";
        let [theirs, ours] =
            [&mut expected, &mut found].map(|all| all.extract_if(.., |x| is_shared(x)).collect::<Named>());
        assert_same("own contacts", &found, &expected);
        assert_near("own contacts", &ours, &theirs);
        assert!(numbers(&theirs[0].1).iter().any(|x| x.abs() > 1e-6));
        assert_eq!(format!("{reports:?}"), format!("{expected_reports:?}"));
        assert_eq!(reports[5].status == Status::BadInput, spoilt);
    }
    Ok(())
}

#[test]
fn jacobians_and_rollouts_have_the_bits_of_the_cpu() -> Result<()> {
    let Some(device) = gpu() else { return Ok(()) };
    const STEPS: usize = 3;
    let case = Case::new("push", &scene("push", Friction::Relaxed), DType::F64, &device);
    let make = |own: &Quasidynamic, variables: &[(&'static str, Var)]| {
        let mut variables = variables.to_vec();
        let all = own.linearize(&variables[0].1, &variables[1].1)?;
        let mut found = vec![("A", all.a), ("B", all.b), ("C", all.c), ("D", all.d)];
        let u = variables[1].1.unsqueeze(1)?.broadcast_as((WORLDS, STEPS, own.model().nu()))?.contiguous()?;
        variables[1].1 = Var::from_tensor(&u)?;
        let result = rollout(own, &variables[0].1, &u_of(&variables))?;
        let values = vec![("q", result.q.flatten_from(1)?), ("force", result.force.flatten_from(1)?)];
        found.extend(with_gradients(values, &variables)?);
        Ok((found, Vec::new()))
    };
    let [(expected, _), (found, _)] = on_both(&case, false, make)?;
    assert_same(&case.name, &found, &expected);
    Ok(())
}

fn u_of(variables: &[(&'static str, Var)]) -> Tensor {
    variables[1].1.as_tensor().clone()
}

/// No contact, no limit, no command: operands without numbers.
#[test]
fn a_falling_ball_has_the_bits_of_the_cpu() -> Result<()> {
    let Some(device) = gpu() else { return Ok(()) };
    let ball = Object::rigid("ball", Shape::Sphere { radius: 0.1 }, 0.3);
    let case = Case::new("ball", &Scene::new().object(ball), DType::F64, &device);
    let make = |own: &Quasidynamic, variables: &[(&'static str, Var)]| {
        let step = own.step(&variables[0].1, &variables[1].1)?;
        let values = vec![("q_next", step.q_next), ("delta", step.delta)];
        Ok((with_gradients(values, variables)?, step.reports))
    };
    let [(expected, expected_reports), (found, reports)] = on_both(&case, false, make)?;
    assert_same(&case.name, &found, &expected);
    assert_eq!(format!("{reports:?}"), format!("{expected_reports:?}"));
    Ok(())
}

/// Bytes that this thread has copied from the emulated device; nothing where the device is not emulated.
fn copied() -> Option<usize> {
    unsafe extern "C" {
        fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
        fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    }
    const LAZY: c_int = 1;
    // SAFETY: the library has been loaded already, and the emulator's function takes nothing and gives a number.
    unsafe {
        let library = dlopen(c"libcuda.so.1".as_ptr(), LAZY);
        let count = dlsym(library, c"emulated_copied".as_ptr());
        (!count.is_null()).then(|| std::mem::transmute::<*mut c_void, extern "C" fn() -> usize>(count)())
    }
}

/// A step with a user's own contacts and its gradients: the host sees a report of each world, and whether its q and its
/// contacts can be used.
#[test]
fn a_step_stays_on_the_device() -> Result<()> {
    let Some(device) = gpu() else { return Ok(()) };
    let Some(_) = copied() else { return Ok(()) };
    let mut case = Case::new("two_fingers", &scene("two_fingers", Friction::Relaxed), DType::F64, &device);
    case.q = case.models[0].home(WORLDS)?;
    let (own, variables) = case.tracked(1, false)?;
    let by = Var::zeros(own.model().nc(), DType::F64, &device)?;
    let made = own.with_geometry(Arc::new(Swollen { by: by.clone(), spoilt: false }));
    let before = copied();
    let step = made.step(&variables[0].1, &variables[1].1)?;
    let gradients = (step.q_next.sum_all()? + step.force.sum_all()?)?.backward()?;
    let after = copied();
    assert!(gradients.get(&by).is_some());
    let (flags, report) = (2, 4 * size_of::<f64>());
    assert_eq!(after.zip(before).map(|(after, before)| after - before), Some(WORLDS * (flags + report)));
    Ok(())
}

/// Operations by themselves: kinematics, differences of configurations and rigid-body dynamics, of operands that are
/// views with other strides than rows have.
#[test]
fn operations_have_the_bits_of_the_cpu() -> Result<()> {
    let Some(device) = gpu() else { return Ok(()) };
    let model = Model::new(&scene("hand_ball", Friction::Relaxed), DType::F64, &Device::Cpu)?;
    let mut random = Random::new(73);
    let [q, to] = [(); 2].map(|()| {
        let rows: Vec<Vec<f64>> = (0..WORLDS).map(|_| states::configuration(&model, 0.02, &mut random)).collect();
        states::tensor(&model, &rows).t().and_then(|t| t.contiguous())
    });
    let (q, to) = (q?, to?);
    let on = |device: &Device| {
        let of = |t: &Tensor| Var::from_tensor(&t.to_device(device)?);
        let (q, to) = (of(&q)?, of(&to)?);
        let (at, other) = (q.t()?, to.t()?);
        let tree = &model.tree;
        let tip = Kinematics::of_bodies(tree, &["hand/finger_r_link_2_index4"], DType::F64, device)?;
        let dynamics = Dynamics::new(tree, [0.0, 0.0, -9.81], DType::F64, device)?;
        let frames = tip.at(&at)?;
        let values = vec![
            ("poses", frames.poses.flatten_from(1)?),
            ("screws", frames.screws),
            ("difference", Manifold::new(tree, device)?.difference(&at, &other)?),
            ("M", dynamics.mass_matrix(&at)?.flatten_from(1)?),
            ("gravity", dynamics.gravity(&at)?),
        ];
        with_gradients(values, &[("q", q), ("to", to)])
    };
    assert_same("operations", &on(&device)?, &on(&Device::Cpu)?);
    Ok(())
}

#[test]
fn gradients_of_one_row_for_all_are_sums_in_order() -> Result<()> {
    let Some(device) = gpu() else { return Ok(()) };
    let case = Case::new("push", &scene("push", Friction::Relaxed), DType::F64, &device);
    let on = |device: usize| {
        let model = &case.models[device];
        let offsets = Var::from_tensor(&model.parameters.offsets)?;
        let frames = model.kinematics.frames(&model.home(WORLDS)?, &offsets)?;
        let values = vec![("poses", frames.poses.flatten_from(1)?)];
        assert!(cost(&values, &mut Random::new(1))?.device().same_device(&model.device));
        with_gradients(values, &[("offsets", offsets)])
    };
    assert_same("offsets", &on(1)?, &on(0)?);
    Ok(())
}

#[test]
fn a_pair_that_is_searched_for_is_an_error_that_names_it() -> Result<()> {
    let Some(device) = gpu() else { return Ok(()) };
    let scene = Scene::new()
        .object(Object::rigid("egg", Shape::ellipsoid([0.02, 0.03, 0.04]), 0.1))
        .object(Object::rigid("brick", Shape::cuboid([0.02, 0.03, 0.04]), 0.1));
    let model = Model::new(&scene, DType::F64, &device)?;
    let sizes = model.parameters.sizes.reshape((1, 2, Shape::SIZES))?;
    let poses = model.kinematics.frames(&model.home(1)?, &model.parameters.offsets)?.poses.narrow(1, 0, 2)?;
    let error = model.pairs.detect(&poses, &sizes).err().unwrap().to_string();
    assert!(error.contains("shapes 0 and 1"), "{error}");
    Ok(())
}

#[test]
fn operands_that_do_not_fit_are_errors() -> Result<()> {
    let Some(device) = gpu() else { return Ok(()) };
    let model = Model::new(&scene("push", Friction::Relaxed), DType::F64, &device)?;
    let composed = Quasidynamic::new(&model, &model.parameters)?.as_tensor_program();
    let (q, u) = (model.home(2)?, Tensor::zeros((2, model.nu()), DType::F64, &device)?);
    let warm = Tensor::zeros((1, 1), DType::F64, &device)?;
    let error = composed.step_from(&q, &u, Some(&warm)).err().unwrap().to_string();
    assert!(error.contains("warm start: expected forces (1 or 2, "), "{error}");
    let narrow = Tensor::zeros((2, 1), DType::F64, &device)?;
    let error = model.kinematics.at(&narrow).err().unwrap().to_string();
    assert!(error.contains("frames: expected q (B, "), "{error}");
    Ok(())
}
