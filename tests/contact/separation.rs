//! Bodies that overlap are pushed apart.

use candle_core::{DType, Device, Tensor};
use fingertip::Model;
use fingertip::collision::{Collider, Distance};
use fingertip::description::{Freedom, Object, ObjectBody, Scene, Shape};
use fingertip::scenes::Pills;
use fingertip::solve::Method;
use fingertip::step::{ContactModel, Dynamic, DynamicParams, Separation};
use nalgebra::{Isometry3, Quaternion, Translation3, UnitQuaternion};

use support::numbers;

/// Overlaps that may stay, m.
const TOUCHING: f64 = 1e-6;
/// Distances by other code (another algorithm for curved shapes) agree with the contacts' to this, m; 5e-11 is seen.
const SAME: f64 = 1e-9;

fn model(scene: &Scene) -> Model {
    Model::new(scene, DType::F64, &Device::Cpu).unwrap()
}

/// The smallest distance of any two bodies at q, where free bodies come first, by `collision::distance`.
fn smallest(scene: &Scene, q: &Tensor) -> f64 {
    let q = numbers(q);
    let mut at = 0;
    let bodies: Vec<(Collider, Isometry3<f64>, bool)> = scene
        .objects
        .iter()
        .map(|object| {
            let ObjectBody::Rigid { collisions, .. } = &object.body else { panic!("rigid bodies only") };
            let free = object.freedom == Freedom::Free;
            let mut pose = object.pose;
            if free {
                let q = &q[at..at + 7];
                let turn = UnitQuaternion::from_quaternion(Quaternion::new(q[3], q[4], q[5], q[6]));
                pose = Isometry3::from_parts(Translation3::new(q[0], q[1], q[2]), turn);
                at += 7;
            }
            (Collider::new(&collisions[0].shape), pose * collisions[0].pose, free)
        })
        .collect();
    let mut least = f64::INFINITY;
    for (i, a) in bodies.iter().enumerate() {
        for b in bodies[..i].iter().filter(|b| a.2 || b.2) {
            let Distance { phi, .. } = a.0.distance(&a.1, &b.0, &b.1).unwrap();
            least = least.min(phi);
        }
    }
    least
}

/// Two balls part along the line of their centres, each by its part of the other's mass.
#[test]
fn heavier_moves_less() {
    let ball = |name: &str, x: f64, mass: f64| Object::rigid(name, Shape::sphere(0.1), mass).at([x, 0.0, 0.0]);
    let scene = Scene::new().object(ball("light", 0.0, 1.0)).object(ball("heavy", 0.05, 3.0));
    let model = model(&scene);
    for method in [Method::Lemke, Method::DualQp, Method::GaussSeidel { sweeps: 1000 }] {
        let apart = Separation::new(&model, method).unwrap().separate(&model.home(1).unwrap(), 1e-12, 10).unwrap();
        assert!(apart.separated && apart.gaps.len() == 2, "{method:?}: {:?}", apart.gaps);
        let q = numbers(&apart.q);
        assert!((q[0] + 0.75 * 0.15).abs() < 1e-12 && (q[7] - 0.05 - 0.25 * 0.15).abs() < 1e-12, "{method:?}: {q:?}");
    }
    // With three kilograms more for its motion along x, the light one gives way less than the heavy one.
    let added_inertia: Vec<f64> = (0..12).map(|dof| if dof == 0 { 5.0 } else { 0.0 }).collect();
    let separation = Separation::new(&model, Method::Lemke).unwrap().with_added_inertia(&added_inertia).unwrap();
    let q = separation.separate(&model.home(1).unwrap(), 1e-12, 10).unwrap().q;
    let q = numbers(&q);
    assert!((q[0] + 0.15 / 3.0).abs() < 1e-12, "{q:?}");
    assert!(Separation::new(&model, Method::Lemke).unwrap().with_added_inertia(&[1.0]).is_err());
}

/// Forces between bodies move the mass they share nowhere.
#[test]
fn the_centre_of_mass_stays() {
    let scene = Scene::load("assets/scenes/three_bodies.toml").unwrap();
    let model = model(&scene);
    let start = model.home(1).unwrap();
    let apart = Separation::new(&model, Method::Lemke).unwrap().separate(&start, 1e-9, 20).unwrap();
    assert!(apart.gaps[0] < -0.02 && apart.separated, "{:?}", apart.gaps);
    assert!(smallest(&scene, &apart.q).abs() < SAME, "they end in touch");
    let masses = [4.39822971502571, 7.330382858376185, 4.39822971502571];
    let centre = |q: &Tensor| -> [f64; 3] {
        let q = numbers(q);
        std::array::from_fn(|axis| {
            (0..3).map(|body| masses[body] * q[7 * body + axis]).sum::<f64>() / masses.iter().sum::<f64>()
        })
    };
    let (before, after) = (centre(&start), centre(&apart.q));
    assert!((0..3).all(|axis| (before[axis] - after[axis]).abs() < 1e-13), "{before:?} {after:?}");
}

/// Torsional friction is friction: neither a separation nor a rigid step has any.
#[test]
fn torsional_friction_changes_nothing() {
    let mut scene = Scene::load("assets/scenes/three_bodies.toml").unwrap();
    let apart = |scene: &Scene| {
        let model = model(scene);
        let start = model.home(1).unwrap();
        let apart = Separation::new(&model, Method::Lemke).unwrap().separate(&start, 1e-9, 20).unwrap();
        let params = DynamicParams { contact: ContactModel::Rigid(Method::Lemke), ..DynamicParams::default() };
        let rest = Tensor::zeros((1, model.nv()), DType::F64, &Device::Cpu).unwrap();
        let step = Dynamic::new(&model, &model.parameters, params).unwrap().step(&start, &rest, &rest).unwrap();
        ([&apart.q, &step.q_next, &step.force].map(numbers), step.torque.elem_count())
    };
    let without = apart(&scene);
    scene.params.torsion = 0.003;
    let with = apart(&scene);
    assert_eq!(with.0, without.0);
    assert!(with.1 > 0 && without.1 == 0);
}

/// Where there is no room, the answer says so.
#[test]
fn no_room() {
    let mut scene =
        Scene::new().object(Object::rigid("ball", Shape::sphere(0.1), 1.0)).object(Object::ground("a", 0.0));
    scene
        .objects
        .push(Object::ground("b", 0.0).with_pose(Isometry3::rotation(nalgebra::Vector3::x() * std::f64::consts::PI)));
    let model = model(&scene);
    let apart =
        Separation::new(&model, Method::Lemke).unwrap().separate(&model.home(1).unwrap(), TOUCHING, 20).unwrap();
    assert!(!apart.separated);
}

#[test]
fn thirty_pills_in_a_box() {
    for seed in 0..3 {
        let scene = Pills { seed, ..Pills::default() }.scene();
        let model = model(&scene);
        let start = model.home(1).unwrap();
        let before = smallest(&scene, &start);
        assert!(before < -0.02, "seed {seed}: they must overlap, but the smallest distance is {before} m");
        let separation = Separation::new(&model, Method::GaussSeidel { sweeps: 2000 }).unwrap();
        let apart = separation.separate(&start, TOUCHING, 100).unwrap();
        assert!(apart.separated, "seed {seed}: {:?}", apart.gaps);
        assert!((apart.gaps[0] - before).abs() < SAME, "seed {seed}: {} {before}", apart.gaps[0]);
        let after = smallest(&scene, &apart.q);
        assert!(after > -TOUCHING - SAME, "seed {seed}: {after:e}");
        println!("seed {seed}: {:.1} mm to {after:.1e} m in {} motions", 1e3 * before, apart.gaps.len() - 1);
    }
}
