//! Damping, dry friction, effort and position limits of joints, by closed forms.

use fingertip::Model;
use fingertip::description::{Articulation, Friction, Robot, Scene};
use fingertip::solve::{Method, Status};
use fingertip::step::{Bound, ContactModel, Dynamic, DynamicParams};

use super::problems::{METHODS, model};
use support::{numbers, row};

const MASS: f64 = 2.0;
const H: f64 = 0.01;
/// Closed forms of one step.
const EXACT: f64 = 1e-13;

/// A slider of 2 kg along x with these attributes.
fn slider(dynamics: &str, limit: &str) -> Model {
    let urdf = format!(
        "<robot name=\"s\"><link name=\"base\"/><link name=\"cart\"><inertial><mass value=\"{MASS}\"/>\
         <inertia ixx=\"1\" iyy=\"1\" izz=\"1\" ixy=\"0\" ixz=\"0\" iyz=\"0\"/></inertial></link>\
         <joint name=\"slide\" type=\"prismatic\"><parent link=\"base\"/><child link=\"cart\"/><axis xyz=\"1 0 0\"/>\
         <limit {limit} velocity=\"9\"/><dynamics {dynamics}/></joint></robot>"
    );
    let mut scene = Scene::new().robot(Robot::new("s", Articulation::from_urdf_str(&urdf, "s").unwrap()));
    scene.params.h = H;
    scene.params.joint_limits = true;
    scene.params.kappa = 1e12;
    model(&scene)
}

fn contacts() -> Vec<ContactModel> {
    METHODS.into_iter().map(ContactModel::Rigid).chain([ContactModel::Barrier]).collect()
}

fn step(model: &Model, contact: ContactModel, q: f64, v: f64, tau: f64) -> (f64, f64) {
    // κ is beyond its range, and nothing slides: the law of one answer.
    let friction = Friction::Relaxed;
    let params = DynamicParams { contact, friction, bound: Bound::Gap { beta: 0.5 }, ..DynamicParams::default() };
    let step = Dynamic::new(model, &model.parameters, params).unwrap();
    let next = step.step(&row(&[q]), &row(&[v]), &row(&[tau])).unwrap();
    assert_eq!(next.reports[0].status, Status::Solved, "{contact:?}");
    (numbers(&next.q_next)[0], numbers(&next.v_next)[0])
}

const FAR: &str = "lower=\"-50\" upper=\"50\" effort=\"1000\"";

#[test]
fn damping_is_implicit_and_effort_limited() {
    let model = slider("damping=\"30\"", "lower=\"-50\" upper=\"50\" effort=\"5\"");
    for contact in contacts() {
        // The limit's barrier pulls with 1e-12/50 N.
        for (tau, applied) in [(3.0, 3.0), (70.0, 5.0), (-70.0, -5.0)] {
            let (q, v) = step(&model, contact, 0.1, 0.4, tau);
            let expected = (MASS * 0.4 + H * applied) / (MASS + H * 30.0);
            assert!((v - expected).abs() < EXACT && (q - 0.1 - H * v).abs() < EXACT, "{contact:?}: {v} {expected}");
        }
    }
}

/// |v₊| = max(0, |v*| − h c/m), and at rest the friction carries up to c.
#[test]
fn dry_friction_is_coulombs() {
    let model = slider("friction=\"6\"", FAR);
    for contact in contacts() {
        // The smooth step is off by about s²/|x| where friction and motion differ by x (here 0.01 and more), s = 1e-3.
        let tolerance = if contact == ContactModel::Barrier { 1e-4 } else { EXACT };
        for (v0, tau) in [(0.5, 0.0), (-0.5, 1.0), (0.02, 0.0), (0.0, 4.0), (0.0, 30.0), (-0.3, -9.0)] {
            let free: f64 = v0 + H * tau / MASS;
            let expected = free.signum() * (free.abs() - H * 6.0 / MASS).max(0.0);
            let (_, v) = step(&model, contact, 0.0, v0, tau);
            assert!((v - expected).abs() <= tolerance, "{contact:?} {v0} {tau}: {v}, expected {expected}");
        }
    }
}

#[test]
fn limits_stop_and_push_back() {
    let model = slider("", "lower=\"-1\" upper=\"0.5\" effort=\"1000\"");
    for contact in contacts() {
        let tolerance = if contact == ContactModel::Barrier { 1e-8 } else { EXACT };
        // Arrives at the limit within the step.
        let (q, _) = step(&model, contact, 0.49, 3.0, 0.0);
        assert!((q - 0.5).abs() < tolerance, "{contact:?}: {q}");
        // Half of what it is beyond the limit is taken back.
        let (q, _) = step(&model, contact, 0.52, 0.0, 10.0);
        assert!((q - 0.51).abs() < tolerance, "{contact:?}: {q}");
        let (q, _) = step(&model, contact, -1.0, -1.0, 0.0);
        assert!((q + 1.0).abs() < tolerance, "{contact:?}: {q}");
    }
}

/// Energy never grows by friction, even at steps where explicit damping would explode (h D/m = 150).
#[test]
fn stiff_damping_is_stable() {
    let model = slider("damping=\"30000\"", FAR);
    let (_, v) = step(&model, ContactModel::Rigid(Method::Lemke), 0.0, 1.0, 0.0);
    assert!(v > 0.0 && v < 0.01, "{v}");
}
