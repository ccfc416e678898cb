//! Recorded programs compute what the lanes compute, bit for bit: the step, its adjoint, its Jacobians, rollouts and
//! their adjoints, rigid-body dynamics, the second-order step; on the shipped scenes and on random scenes of pairs with
//! a formula.




mod dynamics;
mod rollouts;
mod rows;
mod second_order;

use candle_core::{DType, Device};
use fingertip::description::{Freedom, Friction, Object, Scene};
use fingertip::math::lane::Precision;
use fingertip::step::{Kernel, Quasidynamic};
use fingertip::{Model, Parameters};

use rows::{Adjoint, Operands, differences, jacobian_rows, lanes, step_rows, unsigned_zeros};
use support::random_scenes;
use support::states::{self, Batch, Random};

/// The shipped scenes whose pairs all have a formula, but for the largest.
const SCENES: [&str; 13] = [
    "allegro_capsules",
    "allegro_cube",
    "cube_fingertips",
    "hand_ball",
    "hand_turn",
    "pivot",
    "planar_push",
    "press_and_drag",
    "pull",
    "push",
    "tips",
    "two_arms",
    "two_fingers",
];
const WORLDS: usize = 24;
/// Growth of H's factor from which on Jacobians are pulled back.
const STIFF: f64 = 1e7;

/// Compares the step, the step from other forces, the adjoint, rollouts and the Jacobians of a batch.
fn compare(name: &str, batch: &Batch, random: &mut Random) {
    let step = lanes(batch);
    let operands = Operands::new(&step, &batch.q, &batch.u);
    let cold = step_rows(&step.step(&batch.q, &batch.u).unwrap());
    let recording = step.record(Kernel::Step, Precision::Double).unwrap();
    let found: Vec<Vec<f64>> = (0..WORLDS).map(|w| recording.run(&operands.of(w, &[]))).collect();
    assert_eq!(differences(&found, &cold), Vec::<String>::new(), "{name}: step");

    let warm = step.step(&batch.q, &batch.u).unwrap().warm;
    let again = step_rows(&step.step_from(&batch.q, &batch.u, Some(&warm)).unwrap());
    let recording = step.record(Kernel::WarmStep, Precision::Double).unwrap();
    let forces = support::rows(&warm);
    let found: Vec<Vec<f64>> = (0..WORLDS).map(|w| recording.run(&operands.of(w, &[&forces[w]]))).collect();
    assert_eq!(differences(&found, &again), Vec::<String>::new(), "{name}: step from forces");

    let adjoint = Adjoint::new(&step, batch, random);
    let recording = step.record(Kernel::Adjoint, Precision::Double).unwrap();
    let found: Vec<Vec<f64>> =
        (0..WORLDS).map(|w| recording.run(&operands.of(w, &[&cold[w], &adjoint.weights[w]]))).collect();
    let (found, expected) = (unsigned_zeros(found), unsigned_zeros(adjoint.gradients));
    assert_eq!(differences(&found, &expected), Vec::<String>::new(), "{name}: adjoint");

    rollouts::compare(name, &step, batch, random);

    let recording = step.record(Kernel::Jacobians, Precision::Double).unwrap();
    let expected = jacobian_rows(&step, batch);
    let (mut found, mut pushed) = (Vec::new(), Vec::new());
    for (w, expected) in expected.into_iter().enumerate() {
        let mut row = recording.run(&operands.of(w, &[]));
        // Where the factor of H has grown so much, `linearize` pulls back what the recording pushes forward.
        if row.pop().unwrap() <= STIFF {
            found.push(row);
            pushed.push(expected);
        }
    }
    assert!(found.len() > WORLDS / 2, "{name}: Jacobians pushed forward in {} worlds of {WORLDS}", found.len());
    assert_eq!(differences(&found, &pushed), Vec::<String>::new(), "{name}: Jacobians");
}

#[test]
fn recordings_of_the_shipped_scenes_compute_what_lanes_compute() {
    let mut random = Random::new(41);
    for name in SCENES {
        let model = states::model(name);
        compare(name, &Batch::strange(&model, WORLDS, &mut random), &mut random);
    }
}

/// A tendon, springs, damping and armature of joints.
#[test]
fn recordings_of_joints_with_elements_compute_what_lanes_compute() {
    let mut random = Random::new(48);
    let model = Model::new(&support::jointed::with_elements(), DType::F64, &Device::Cpu).unwrap();
    let batch = Batch::strange(&model, WORLDS, &mut random);
    compare("elements", &batch, &mut random);
    second_order::compare("elements", &batch, second_order::GAP, &mut random);
}

#[test]
fn recordings_of_what_hangs_compute_what_lanes_compute() {
    let mut random = Random::new(49);
    let model = Model::new(&support::solids::hanging(), DType::F64, &Device::Cpu).unwrap();
    compare("what hangs", &Batch::strange(&model, WORLDS, &mut random), &mut random);
}

#[test]
fn recordings_by_coulombs_law_compute_what_lanes_compute() {
    let mut random = Random::new(43);
    for name in ["hand_ball", "cube_fingertips", "push", "allegro_cube"] {
        let mut scene = Scene::load(format!("assets/scenes/{name}.toml")).unwrap();
        scene.params.friction = Friction::Coulomb;
        let model = Model::new(&scene, DType::F64, &Device::Cpu).unwrap();
        compare(name, &Batch::strange(&model, WORLDS, &mut random), &mut random);
    }
}

/// Has every pair of the scene a formula?
fn is_recordable(model: &Model) -> bool {
    let step = Quasidynamic::new(model, &model.parameters).unwrap();
    step.record(Kernel::Step, Precision::Double).is_ok()
}

#[test]
fn recordings_of_random_scenes_compute_what_lanes_compute() {
    let mut random = Random::new(42);
    let mut done = 0;
    while done < 12 {
        let scene = random_scenes::scene(&mut random);
        let moves = scene.robots.iter().any(|r| r.articulation.joints.iter().any(|j| j.is_commandable()))
            || scene.objects.iter().any(|o| o.freedom != Freedom::Fixed);
        if !moves {
            continue;
        }
        let model = Model::new(&scene, DType::F64, &Device::Cpu).unwrap();
        if model.nc() == 0 || !is_recordable(&model) {
            continue;
        }
        compare(&format!("random scene {done}"), &Batch::strange(&model, WORLDS, &mut random), &mut random);
        done += 1;
    }
}

#[test]
fn a_pair_that_is_searched_for_is_named() {
    let scene = Scene::new()
        .object(Object::rigid("egg", fingertip::description::Shape::ellipsoid([0.02, 0.03, 0.04]), 0.1))
        .object(Object::rigid("brick", fingertip::description::Shape::cuboid([0.02, 0.03, 0.04]), 0.1));
    let model = Model::new(&scene, DType::F64, &Device::Cpu).unwrap();
    let step = Quasidynamic::new(&model, &model.parameters).unwrap();
    let error = step.record(Kernel::Step, Precision::Double).unwrap_err().to_string();
    assert!(error.contains("\"egg\"") && error.contains("\"brick\"") && error.contains("formula"), "{error}");
}

#[test]
fn parameters_of_a_recording_have_the_order_of_their_names() {
    let model = states::model("two_fingers");
    let step = Quasidynamic::new(&model, &model.parameters).unwrap();
    let recording = step.record(Kernel::Step, Precision::Double).unwrap();
    let widths: usize = model.parameters.tensors().iter().map(|t| t.dim(1).unwrap()).sum();
    let par = recording.operands().iter().find(|row| row.name == "par").unwrap();
    assert_eq!((par.width, step.packed_parameters().unwrap().dim(1).unwrap()), (widths, widths));
    assert_eq!(model.parameters.tensors().len(), Parameters::NAMES.len());
}
