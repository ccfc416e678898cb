//! The second-order step, printed and compiled, has the bits of the lanes.

use candle_core::{DType, Device};
use fingertip::Model;
use fingertip::codegen::Codegen;
use fingertip::description::{Friction, Scene};
use fingertip::math::lane::Precision;
use fingertip::step::{Bound, ContactModel, Dynamic, DynamicParams, Kernel};

use super::{check, compiler, folder, states};
use support::states::Random;

fn dynamic(name: &str, friction: Friction, bound: Bound) -> Dynamic {
    let mut scene = Scene::load(format!("assets/scenes/{name}.toml")).unwrap();
    scene.params.joint_limits = true;
    let model = Model::new(&scene, DType::F64, &Device::Cpu).unwrap();
    Dynamic::new(&model, &model.parameters, DynamicParams { bound, friction, ..DynamicParams::default() }).unwrap()
}

fn configurations(step: &Dynamic, seed: u64) -> Vec<Vec<f64>> {
    states(step.model(), &mut Random::new(seed)).into_iter().map(|state| state.q).collect()
}

#[test]
fn printed_second_order_steps_have_the_bits_of_the_lanes() {
    let Some(compiler) = compiler() else { return };
    let (gap, velocity) = (Bound::Gap { beta: 0.2 }, Bound::Velocity { margin: 2e-3 });
    let (all, step) = (&Kernel::SECOND_ORDER[..], &[Kernel::Step][..]);
    for (name, friction, bound, kernels, precision, level) in [
        ("two_fingers", Friction::Relaxed, gap, all, Precision::Double, "-O2"),
        ("two_fingers", Friction::Relaxed, gap, all, Precision::Single, "-O1"),
        ("push", Friction::Coulomb, velocity, all, Precision::Double, "-O1"),
        ("cube_fingertips", Friction::Relaxed, velocity, all, Precision::Double, "-O0"),
        ("hand_ball", Friction::Relaxed, gap, step, Precision::Double, "-O0"),
    ] {
        let dynamic = dynamic(name, friction, bound);
        let q = configurations(&dynamic, 61);
        let code = Codegen::of_second_order(&dynamic, name, kernels, precision, &q).unwrap();
        check(&compiler, level, &folder(&format!("second_order_{name}_{precision:?}")), name, &code);
    }
}

/// Beside the quasi-dynamic step and the dynamics, with one table of parameters for both steps.
#[test]
fn all_of_a_scene_is_one_library() {
    let Some(compiler) = compiler() else { return };
    let (name, kernels) = ("two_fingers", [Kernel::Step, Kernel::Adjoint]);
    let step = super::stepper(name, 1e4);
    let all = states(step.model(), &mut Random::new(62));
    let q: Vec<Vec<f64>> = all.iter().map(|state| state.q.clone()).collect();
    let dynamic = Dynamic::new(step.model(), step.parameters(), DynamicParams::default()).unwrap();
    let mass = [fingertip::dynamics::Kernel::Value(fingertip::dynamics::Quantity::MassMatrix)];
    let code = Codegen::new(&step, name, &kernels, Precision::Double, &all)
        .unwrap()
        .with_second_order(&dynamic, &kernels, &q)
        .unwrap()
        .with_dynamics(dynamic.dynamics(), &mass, &q)
        .unwrap();
    let folder = folder("second_order_with_all");
    check(&compiler, "-O1", &folder, name, &code);
    let header = std::fs::read_to_string(folder.join(format!("{name}.h"))).unwrap();
    for define in ["TWO_FINGERS_ROW_Q_NEXT", "TWO_FINGERS_SECOND_ORDER_ROW_V_NEXT", "TWO_FINGERS_PAR_MASS"] {
        let lines = header.lines().filter(|line| line.starts_with(&format!("#define {define} ")));
        assert_eq!(lines.count(), 1, "{define}");
    }
}

#[test]
fn a_second_order_step_that_cannot_be_printed_is_an_error_that_says_why() {
    let gap = Bound::Gap { beta: 0.2 };
    let step = dynamic("two_fingers", Friction::Relaxed, gap);
    let q = configurations(&step, 63);
    let error = |step: &Dynamic, kernel: Kernel, precision: Precision, q: &[Vec<f64>]| {
        let code = Codegen::of_second_order(step, "two_fingers", &[kernel], precision, q);
        code.err().map(|error| error.to_string()).unwrap_or_default()
    };
    let double = Precision::Double;
    assert_eq!(error(&step, Kernel::Step, double, &q), "");
    assert!(error(&step, Kernel::Step, double, &[]).contains("expected a state"));
    assert!(error(&step, Kernel::Step, double, &[vec![0.0]]).contains("[1,"));
    assert!(error(&step, Kernel::Jacobians, double, &q).contains("jacobians"));
    let coulomb = dynamic("two_fingers", Friction::Coulomb, gap);
    assert!(error(&coulomb, Kernel::Step, Precision::Single, &q).contains("double precision"));
    let contact = ContactModel::Rigid(fingertip::solve::Method::Lemke);
    let params = DynamicParams { contact, ..DynamicParams::default() };
    let rigid = Dynamic::new(step.model(), step.parameters(), params).unwrap();
    assert!(error(&rigid, Kernel::Step, double, &q).contains("barrier"));
}
