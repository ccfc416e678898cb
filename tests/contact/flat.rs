//! What every shape does on everything flat: the points of a pair share out the force of one contact, so that all hover
//! and creep alike.

use fingertip::Model;
use fingertip::description::{Freedom, Friction, Object, Params, Scene, Shape};
use fingertip::solve::Status;
use fingertip::step::Quasidynamic;
use nalgebra::{Isometry3, Vector3};

use support::numbers;
use support::single::compile;

const MASS: f64 = 0.1;
const GRAVITY: f64 = 9.81;
const KAPPA: f64 = 1e6;
/// The part of a weight that the upper corners of a box of 4 cm carry, 2 μm/4 cm, and what small tilts take.
const OTHERS: f64 = 2e-4;
const LYING: [f64; 3] = [std::f64::consts::FRAC_PI_2, 0.0, 0.0];

/// A prism of n sides.
fn can(n: u32, [radius, half]: [f64; 2]) -> Shape {
    let angle = |k: u32| std::f64::consts::TAU * (f64::from(k) + 0.5) / f64::from(n);
    let ends = |k: u32| [-half, half].map(|z| [radius * angle(k).cos(), radius * angle(k).sin(), z]);
    Shape::hull(&(0..n).flat_map(ends).collect::<Vec<_>>()).unwrap()
}

fn corners(half: [f64; 3]) -> Shape {
    let corner = |k: usize| std::array::from_fn(|i| if k >> i & 1 == 0 { -half[i] } else { half[i] });
    Shape::hull(&[0, 1, 2, 3, 4, 5, 6, 7].map(corner)).unwrap()
}

/// Name, shape, the height of its middle over what it lies on, how it lies, and the sum of the weights that carry it.
fn things() -> [(&'static str, Shape, f64, [f64; 3], f64); 12] {
    [
        ("sphere", Shape::sphere(0.02), 0.02, [0.0; 3], 1.0),
        ("ellipsoid", Shape::ellipsoid([0.03, 0.025, 0.02]), 0.02, [0.0; 3], 1.0),
        ("box", Shape::cuboid([0.02; 3]), 0.02, [0.0; 3], 1.0),
        ("rounded box", Shape::rounded_cuboid([0.02; 3], 0.004), 0.02, [0.0; 3], 1.0),
        ("hull", corners([0.02; 3]), 0.02, [0.0; 3], 1.0),
        ("can of 10 sides", can(10, [0.02; 2]), 0.02, [0.0; 3], 1.0),
        // Of more corners than there is room for main ones stand for all but a hundredth.
        ("can of 24 sides", can(24, [0.02; 2]), 0.02, [0.0; 3], 0.99),
        ("can of 48 sides", can(48, [0.02; 2]), 0.02, [0.0; 3], 0.99),
        ("cylinder", Shape::cylinder(0.02, 0.02), 0.02, [0.0; 3], 1.0),
        ("lying cylinder", Shape::cylinder(0.02, 0.02), 0.02, LYING, 1.0),
        ("lying capsule", Shape::capsule(0.02, 0.02), 0.02, LYING, 1.0),
        // Its upper end is the other half.
        ("standing capsule", Shape::capsule(0.02, 0.02), 0.04, [0.0; 3], 0.5),
    ]
}

/// Things to lie on, their tops at height 0.
fn supports() -> [(&'static str, Object); 4] {
    let fixed = |shape: Shape| {
        let object = Object::rigid("floor", shape, 1.0).with_freedom(Freedom::Fixed);
        object.with_pose(Isometry3::translation(0.0, 0.0, -0.1))
    };
    [
        ("half-space", Object::ground("floor", 0.0)),
        ("box", fixed(Shape::cuboid([0.3, 0.3, 0.1]))),
        ("hull", fixed(corners([0.3, 0.3, 0.1]))),
        ("cylinder", fixed(Shape::cylinder(0.4, 0.1))),
    ]
}

/// One step after the other: the state, the forces on the thing and the signed gaps.
struct Run {
    model: Model,
    step: Quasidynamic,
    q: Vec<f64>,
    force: Vector3<f64>,
}

impl Run {
    fn new(thing: Object, floor: Object, friction: Friction, tilt: f64) -> Self {
        let mut scene = Scene::new()
            .with_params(Params { kappa: KAPPA, friction, ..Params::default() })
            .object(thing)
            .object(floor);
        scene.gravity = [GRAVITY * tilt.sin(), 0.0, -GRAVITY * tilt.cos()];
        let model = compile(&scene);
        let step = Quasidynamic::new(&model, &model.parameters).unwrap();
        Self { q: model.tree.home(), step, model, force: Vector3::zeros() }
    }

    fn steps(&mut self, n: usize) {
        for _ in 0..n {
            let none = self.model.tensor(&[&[]]).unwrap();
            let step = self.step.step(&self.model.tensor(&[&self.q]).unwrap(), &none).unwrap();
            assert_eq!(step.reports[0].status, Status::Solved, "{:?}", step.reports[0]);
            self.q = numbers(&step.q_next);
            self.force = numbers(&step.force).chunks(3).map(Vector3::from_row_slice).sum();
        }
    }
}

/// Every shape on every support rests at 2 S/(κ m g), or half of that by Coulomb's law, S the sum of the weights.
#[test]
fn all_shapes_rest_alike() {
    for (name, shape, middle, turn, sum) in things() {
        for (on, floor) in supports() {
            for (friction, k) in [(Friction::Relaxed, 2.0), (Friction::Coulomb, 1.0)] {
                let pose = Isometry3::new(Vector3::new(0.0, 0.0, middle + 1e-5), turn.into());
                let thing = Object::rigid("thing", shape.clone(), MASS).with_pose(pose);
                let mut run = Run::new(thing, floor.clone(), friction, 0.0);
                run.steps(60);
                let (height, expected) = (run.q[2] - middle, k * sum / (KAPPA * MASS * GRAVITY));
                println!("{name} on a {on}, {friction:?}: {height:.4e} m for {expected:.4e} m");
                assert!((height / expected - 1.0).abs() < 2.0 * OTHERS, "{name} on a {on}, {friction:?}: {height:e} m");
                assert!((run.force.norm() / (MASS * GRAVITY) - 1.0).abs() < 1e-3, "{name} on a {on}: {}", run.force);
            }
        }
    }
}

/// What does not turn creeps down a slope, by the relaxed law in each step by 2 S r/((1 − r²) μ κ f), r the share of
/// the friction cone that it uses and f the force across the slope.
#[test]
fn all_shapes_creep_alike() {
    let (params, tilt) = (Params::default(), 0.2_f64);
    let (pull, f) = (MASS * GRAVITY * tilt.sin(), MASS * GRAVITY * tilt.cos());
    for (name, shape, middle, turn, sum) in things() {
        for (on, floor) in supports() {
            let pose = Isometry3::new(Vector3::new(0.0, 0.0, middle + 1e-5), turn.into());
            let thing = Object::rigid("thing", shape.clone(), MASS).with_pose(pose).with_freedom(Freedom::Translation);
            let mut run = Run::new(thing, floor, Friction::Relaxed, tilt);
            run.steps(60);
            let before = run.q[0];
            run.steps(20);
            let creep = (run.q[0] - before) / 20.0;
            // ε m/h² times the creep itself takes a part of the pull.
            let r = (pull - params.epsilon * MASS / (params.h * params.h) * creep) / (params.mu * f);
            let expected = 2.0 * sum * r / ((1.0 - r * r) * params.mu * KAPPA * f);
            println!("{name} on a {on}: creeps by {creep:.4e} m for {expected:.4e} m");
            assert!((creep / expected - 1.0).abs() < OTHERS, "{name} on a {on}: {creep:e} m for {expected:e} m");
        }
    }
}
