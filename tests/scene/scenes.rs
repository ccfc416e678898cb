//! Scenes made by number and seed: what is in them, what they do over time, and their steps as QCQPs.

use candle_core::{DType, Device, Tensor};
use fingertip::Model;
use fingertip::description::{ObjectBody, Scene};
use fingertip::scenes::{CubeContact, Cubes, Pills};
use fingertip::solve::qcqp::Qcqp;
use fingertip::solve::{Method, Status};
use fingertip::step::{Bound, ContactModel, Dynamic, DynamicParams, Separation};
use nalgebra::DVector;

use support::{larger, largest, numbers};

/// Inequalities of a solution hold to this, relative to its largest number: the accuracy of the solve.
const HOLDS: f64 = 1e-10;
/// Half the thinnest side of a pill, and how deep fast ones may get within one step, in which gaps are taken as linear,
/// m.
const PILL: f64 = 0.05;
const DEEP: f64 = 0.025;
/// Cubes of 20 cm are at least this far from each other, m, less what β = 0.2 leaves of an overlap.
const CUBE: f64 = 0.19;

fn model(scene: &Scene) -> Model {
    Model::new(scene, DType::F64, &Device::Cpu).unwrap()
}

struct Simulation {
    step: Dynamic,
    q: Tensor,
    v: Tensor,
}

impl Simulation {
    fn new(scene: &Scene, method: Method, beta: f64) -> Self {
        let model = model(scene);
        let contact = ContactModel::Rigid(method);
        let params = DynamicParams { contact, bound: Bound::Gap { beta }, ..DynamicParams::default() };
        let step = Dynamic::new(&model, &model.parameters, params).unwrap();
        let v = Tensor::zeros((1, model.nv()), DType::F64, &Device::Cpu).unwrap();
        Self { step, q: model.home(1).unwrap(), v }
    }

    /// One step, its status and its deepest overlap.
    fn advance(&mut self) -> (Status, f64) {
        let next = self.step.step(&self.q, &self.v, &self.v.zeros_like().unwrap()).unwrap();
        (self.q, self.v) = (next.q_next, next.v_next);
        (next.reports[0].status, largest(numbers(&next.contacts.phi).into_iter().map(|phi| larger(-phi, 0.0))))
    }

    fn energy(&self) -> f64 {
        numbers(&self.step.dynamics().energy(&self.q, &self.v).unwrap()).iter().sum()
    }

    /// Positions of the bodies.
    fn places(&self) -> Vec<[f64; 3]> {
        numbers(&self.q).chunks(7).map(|q| [q[0], q[1], q[2]]).collect()
    }

    /// The step's problem: its solution passes the QCQP, and fails it with any velocity or impulse changed by this
    /// much.
    fn passes_as_qcqp(&self, change: f64) {
        let rest = self.v.zeros_like().unwrap();
        let contact = self.step.rigid_contact(&self.q, &self.v, &rest).unwrap().remove(0).unwrap();
        let impact = contact.problem.solve(Method::Lemke);
        assert_eq!(impact.status, Status::Solved);
        let x = DVector::from_vec(impact.v_next.iter().chain(impact.impulse.iter()).copied().collect());
        let qcqp = Qcqp::of_velocities(&contact.problem);
        let tolerance = HOLDS * x.amax().max(1.0).powi(2);
        let violations = qcqp.violations(&x, tolerance).unwrap();
        assert!(violations.is_empty(), "{violations:?}");
        for i in 0..x.len() {
            let mut other = x.clone();
            other[i] += change;
            assert!(!qcqp.violations(&other, tolerance).unwrap().is_empty(), "number {i} of {} is free", x.len());
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_scene() {
    assert_eq!(Pills::default().scene(), Pills::default().scene());
    assert_ne!(Pills::default().scene(), Pills { seed: 1, ..Pills::default() }.scene());
    assert_eq!(Cubes::default().scene(), Cubes::default().scene());
    let scene = Pills { ellipsoids: 3, capsules: 5, ..Pills::default() }.scene();
    scene.validate().unwrap();
    let named = |name: &str| scene.objects.iter().filter(|object| object.name.starts_with(name)).count();
    assert_eq!((named("ellipsoid"), named("capsule"), scene.objects.len()), (3, 5, 3 + 5 + 6));
    // The masses are those of the reference scene.
    for (name, expected) in [("ellipsoid0", 4.39822971502571), ("capsule0", 7.330382858376185)] {
        let object = scene.objects.iter().find(|object| object.name == name).unwrap();
        let ObjectBody::Rigid { inertia: Some(inertia), .. } = &object.body else { panic!("{name}") };
        assert!((inertia.mass - expected).abs() < 1e-13 * expected, "{name}: {} kg", inertia.mass);
    }
    assert_eq!(Cubes { count: 2, walls: Some(0.3), ..Cubes::default() }.scene().objects.len(), 2 + 1 + 4);
    // Corners against corners of other cubes, and against the floor.
    let corners = model(&Cubes { contact: CubeContact::Corners, ..Cubes::default() }.scene());
    assert_eq!(corners.pairs.pairs.len(), 3 * 64 + 3 * 8);
}

/// The hand and its pill, thrown together: the smallest links weigh 1e-5 kg·m², so that they are changed by more.
#[test]
fn hands_pass_as_qcqp() {
    for (file, thrown) in [("teaching_hand", 1.0), ("teaching_hand_item", -1.0)] {
        let scene = Scene::load(format!("assets/scenes/{file}.toml")).unwrap();
        let mut hand = Simulation::new(&scene, Method::Lemke, 0.2);
        hand.v = (hand.v.ones_like().unwrap() * thrown).unwrap();
        for k in 0..60 {
            let (status, _) = hand.advance();
            assert_eq!(status, Status::Solved, "{file} step {k}");
            if k % 20 == 19 {
                hand.passes_as_qcqp(5.0);
            }
        }
    }
}

/// Three cubes of corners fall, end at rest on the floor, and have lost energy in every step but for what pushing
/// overlaps out puts in.
#[test]
fn three_cubes_come_to_rest() {
    let mut scene = Cubes { contact: CubeContact::Corners, walls: Some(0.5), ..Cubes::default() }.scene();
    scene.params.h = 5e-3;
    let mut cubes = Simulation::new(&scene, Method::Lemke, 0.2);
    let start = cubes.energy();
    let mut last = start;
    for k in 0..600 {
        let (status, deepest) = cubes.advance();
        assert_eq!(status, Status::Solved, "step {k}");
        assert!(deepest < 5e-3, "step {k}: {deepest} m");
        let energy = cubes.energy();
        assert!(energy < last + 1e-2 * start, "step {k}: from {last} to {energy} J");
        last = energy;
        if k % 150 == 50 {
            cubes.passes_as_qcqp(0.01);
        }
    }
    assert!(last < 0.6 * start, "{last} of {start} J");
    for [x, y, z] in cubes.places() {
        assert!(z > 0.09 && x.abs() < 0.5 && y.abs() < 0.5, "{:?}", cubes.places());
    }
}

/// The same with faces: a stack or a heap, nothing inside anything.
#[test]
fn cubes_with_faces_stay_apart() {
    let mut scene = Cubes { walls: Some(0.25), ..Cubes::default() }.scene();
    scene.params.h = 5e-3;
    let mut cubes = Simulation::new(&scene, Method::Lemke, 0.2);
    let start = cubes.energy();
    for k in 0..300 {
        let (status, deepest) = cubes.advance();
        assert_eq!(status, Status::Solved, "step {k}");
        assert!(deepest < 0.01, "step {k}: {deepest} m");
        if k % 100 == 50 {
            cubes.passes_as_qcqp(0.01);
        }
    }
    let places = cubes.places();
    for (i, a) in places.iter().enumerate() {
        assert!(a[2] > 0.09 && a[2] < 0.7, "{places:?}");
        for b in &places[..i] {
            let away = (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f64>().sqrt();
            assert!(away > CUBE, "{places:?}");
        }
    }
    assert!(cubes.energy() < start);
}

/// Nothing gets out of the box, and no energy comes in.
#[test]
fn thirty_pills_stay_in_their_box() {
    let pills = Pills::default();
    let mut scene = pills.scene();
    scene.params.h = 5e-3;
    scene.params.contact_distance = Some(0.1);
    let solver = Method::GaussSeidel { sweeps: 500 };
    let mut simulation = Simulation::new(&scene, solver, 0.1);
    let separation = Separation::new(simulation.step.model(), solver).unwrap();
    simulation.q = separation.separate(&simulation.q, 1e-9, 100).unwrap().q;
    let start = simulation.energy();
    for k in 0..200 {
        let (_, deepest) = simulation.advance();
        assert!(deepest < DEEP, "step {k}: {deepest} m deep");
        let energy = simulation.energy();
        assert!(energy < start + 1e-3 * start.abs(), "step {k}: from {start} to {energy} J");
        let farthest = largest(simulation.places().into_iter().flatten());
        assert!(farthest < pills.room / 2.0 - PILL + DEEP, "step {k}: {farthest} m from the middle");
    }
    assert!(simulation.energy() < 0.5 * start.abs(), "{} of {start} J", simulation.energy());
}
