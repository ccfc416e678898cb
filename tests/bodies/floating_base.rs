//! Robots whose root link may move: they fall, stand and turn as one body, their base's tangent lies along world axes.

use candle_core::{DType, Device};
use fingertip::Model;
use fingertip::description::{Freedom, Object, PairRule, Params, Robot, Scene, Shape};
use fingertip::kinematics::{FrameSpec, Kinematics};
use fingertip::step::{Form, Quasidynamic, Step};
use nalgebra::{Isometry3, Matrix3, Rotation3, UnitQuaternion, Vector3};

use support::quadruped::{HEIGHT, MASS, articulation, quadruped};
use support::single::{compile, step_with};
use support::{largest, numbers, rows};

/// Closed forms hold to rounding, a few operations on each side, relative.
const EXACT: f64 = 1e-12;
const GRAVITY: f64 = 9.81;

fn params(epsilon: f64) -> Params {
    Params { h: 0.01, epsilon, kappa: 1e5, mu: 0.8, ..Params::default() }
}

/// A step with forces along some degrees of freedom.
fn pushed(model: &Model, q: &[f64], u: &[f64], tau: &[(usize, f64)]) -> Step {
    let mut row = vec![0.0; model.nv()];
    tau.iter().for_each(|&(dof, value)| row[dof] = value);
    step_with(model, q, u, &row)
}

/// Positions and rotations of all bodies, in the order of the tree.
fn poses(model: &Model, q: &[f64]) -> Vec<Isometry3<f64>> {
    let frames: Vec<FrameSpec> = (0..model.tree.bodies.len()).map(FrameSpec::of_body).collect();
    let kinematics = Kinematics::new(&model.tree, &frames, DType::F64, &Device::Cpu).unwrap();
    let poses = numbers(&kinematics.at(&model.tensor(&[q]).unwrap()).unwrap().poses);
    let pose = |p: &[f64]| {
        let rotation = Rotation3::from_matrix_unchecked(Matrix3::from_column_slice(&p[3..12]));
        Isometry3::from_parts(
            Vector3::from_column_slice(&p[..3]).into(),
            UnitQuaternion::from_rotation_matrix(&rotation),
        )
    };
    poses.chunks_exact(12).map(pose).collect()
}

/// The centre of mass of everything.
fn centre(model: &Model, q: &[f64]) -> Vector3<f64> {
    let mut sum = Vector3::zeros();
    for (body, pose) in model.tree.bodies.iter().zip(poses(model, q)) {
        let Some(inertia) = &body.inertia else { continue };
        sum += (pose * nalgebra::Point3::from(inertia.com)).coords * inertia.mass;
    }
    sum / MASS
}

fn tilted() -> Isometry3<f64> {
    let turn = UnitQuaternion::from_euler_angles(0.4, -0.3, 1.2);
    Isometry3::from_parts(Vector3::new(0.3, -0.2, 2.0).into(), turn)
}

/// The robot in the air, its links without contact with each other.
fn alone(params: Params) -> Scene {
    Scene::new().with_params(params).robot(quadruped(tilted())).pair(PairRule::exclude("dog", "dog"))
}

/// The base stands before the joints in q and v, after the objects, and is not commanded; its pose is the start.
#[test]
fn places_in_q() {
    let scene = Scene::new()
        .object(Object::rigid("ball", Shape::sphere(0.05), 0.1).with_freedom(Freedom::Translation))
        .robot(quadruped(tilted()));
    let model = compile(&scene);
    assert_eq!((model.nq(), model.nv(), model.nu()), (3 + 7 + 8, 3 + 6 + 8, 8));
    let names: Vec<String> = model.tree.coordinates.iter().flat_map(|c| c.q_names()).collect();
    assert_eq!(names[3..11], ["dog.x", "dog.y", "dog.z", "dog.qw", "dog.qx", "dog.qy", "dog.qz", "dog/fl_hip"]);
    assert_eq!(model.tree.actuated, (9..17).collect::<Vec<_>>());
    let trunk = model.tree.find("dog/trunk").unwrap();
    let start = poses(&model, &model.tree.home())[trunk];
    assert!((start.to_matrix() - tilted().to_matrix()).amax() < EXACT, "{start}");
    // A robot that is fixed there has its links in the same places.
    let fixed = compile(&Scene::new().robot(quadruped(tilted()).with_freedom(Freedom::Fixed)));
    assert_eq!((fixed.nq(), fixed.inertial.len()), (8, 0));
    let expected = poses(&fixed, &fixed.tree.home());
    for (pose, expected) in poses(&model, &model.tree.home())[2..].iter().zip(&expected[1..]) {
        assert!((pose.to_matrix() - expected.to_matrix()).amax() < EXACT, "{pose} for {expected}");
    }
}

/// In a scene file: freedom, position and orientation as for objects; a robot without a freedom stays where it is.
#[test]
fn in_a_scene_file() {
    let scene = |keys: &str| {
        let text = format!("[[robot]]\nname = \"arm\"\nurdf = \"planar_arm.urdf\"\n{keys}\n");
        Scene::from_toml(&text, "assets/robots")
    };
    assert_eq!(scene("").unwrap().robots[0].freedom, Freedom::Fixed);
    for (freedom, expected) in
        [("free", Freedom::Free), ("planar", Freedom::Planar), ("translation", Freedom::Translation)]
    {
        let keys = format!("freedom = \"{freedom}\"\nposition = [0.1, 0.2, 0.3]\nrpy = [0.0, 0.0, 0.5]");
        let scene = scene(&keys).unwrap();
        assert_eq!(scene.robots[0].freedom, expected);
        let model = compile(&scene);
        // The base has no mass of its own, and turns about the shoulder's axis: the held arm is its inertia.
        Quasidynamic::new(&model, &model.parameters).unwrap();
        let base = model.tree.find("arm/base").unwrap();
        let pose = poses(&model, &model.tree.home())[base];
        let given = Isometry3::new(Vector3::new(0.1, 0.2, 0.3), Vector3::z() * 0.5);
        assert!((pose.to_matrix() - given.to_matrix()).amax() < EXACT, "{freedom}: {pose}");
    }
    let error = scene("freedom = \"planar\"\nrpy = [0.1, 0.0, 0.0]").unwrap_err().to_string();
    assert!(error.contains("robot \"arm\": orientation: expected a rotation about z only"), "{error}");
    let massless = r#"<robot name="r"><link name="root"/></robot>"#;
    let massless = fingertip::description::Articulation::from_urdf_str(massless, "r").unwrap();
    let error = Scene::new().robot(Robot::new("r", massless).with_freedom(Freedom::Free)).validate().unwrap_err();
    assert!(error.to_string().contains("robot \"r\": mass: expected a positive mass"), "{error}");
}

/// h²g/ε down and no turn, whatever the posture, and legs that move in the air move nothing else.
#[test]
fn free_fall() {
    let model = compile(&alone(params(0.2)));
    let q = model.tree.home();
    let mut u = q[7..].to_vec();
    for _ in 0..2 {
        let delta = numbers(&step_with(&model, &q, &u, &[]).delta);
        let fall = 1e-4 * GRAVITY / 0.2;
        assert!(largest([delta[0], delta[1], delta[2] + fall]) < EXACT * fall, "{delta:?}");
        assert!(largest(delta[3..6].iter().copied()) < EXACT, "turns by {:?}", &delta[3..6]);
        for (k, command) in u.iter_mut().enumerate() {
            assert!((delta[6 + k] - (*command - q[7 + k])).abs() < EXACT, "joint {k} follows its command");
            *command += 0.1 * (k + 1) as f64;
        }
    }
}

/// A force along a world axis, through the centre of mass, moves the turned robot along that axis; a base that is moved
/// along one starts its next step from there.
#[test]
fn tangent_along_world_axes() {
    let model = compile(&alone(params(0.5)).with_gravity([0.0; 3]));
    let q = model.tree.home();
    let arm = centre(&model, &q) - tilted().translation.vector;
    for axis in 0..3 {
        let mut force = Vector3::zeros();
        force[axis] = 2.0;
        let moment = arm.cross(&force);
        let tau: Vec<(usize, f64)> = (0..3).flat_map(|k| [(k, force[k]), (3 + k, moment[k])]).collect();
        let step = pushed(&model, &q, &q[7..], &tau);
        let (delta, next) = (numbers(&step.delta), numbers(&step.q_next));
        let far = 1e-4 * 2.0 / (0.5 * MASS);
        for k in 0..3 {
            let expected = if k == axis { far } else { 0.0 };
            assert!((delta[k] - expected).abs() < EXACT * far, "{delta:?}");
            assert!((next[k] - q[k] - expected).abs() < 1e-15, "{next:?}");
        }
        assert!(largest(delta[3..6].iter().copied()) < EXACT, "turns by {:?}", &delta[3..6]);
    }
    // A turn about the world's z: Exp(ω) from the left.
    let moment = [0.0, 0.0, 0.3];
    let step = pushed(&model, &q, &q[7..], &[(3, moment[0]), (4, moment[1]), (5, moment[2])]);
    let delta = numbers(&step.delta);
    let next = numbers(&step.q_next);
    let turned = UnitQuaternion::from_scaled_axis(Vector3::from_column_slice(&delta[3..6])) * tilted().rotation;
    let off = largest([next[3] - turned.w, next[4] - turned.i, next[5] - turned.j, next[6] - turned.k]);
    assert!(delta[5] > 1e-3 && off < 1e-15, "{next:?} for {turned}");
}

/// On four feet: the ground carries the weight, no more and no less, without a moment about the centre of mass; the
/// joints give way as their springs say, and nothing moves any more.
#[test]
fn stands() {
    let base = Isometry3::translation(0.2, -0.1, HEIGHT);
    let scene = Scene::new().with_params(params(0.1)).object(Object::ground("ground", 0.0)).robot(quadruped(base));
    let model = compile(&scene);
    let home = model.tree.home();
    let stepper = Quasidynamic::new(&model, &model.parameters).unwrap();
    assert_eq!(stepper.form(), Form::Fused);
    let (mut q, u) = (home.clone(), &home[7..]);
    let mut step = step_with(&model, &q, u, &[]);
    for _ in 0..200 {
        q = numbers(&step.q_next);
        step = step_with(&model, &q, u, &[]);
    }
    let delta = numbers(&step.delta);
    println!(
        "after 200 steps it moves by {:.1e} in a step, its height is {:.4} m",
        largest(delta.iter().copied()),
        q[2]
    );
    assert!(largest(delta[..6].iter().copied()) < 1e-7, "the base moves: {delta:?}");
    assert!(largest(delta.iter().copied()) < 1e-6, "the joints move: {delta:?}");
    assert!((q[2] - HEIGHT).abs() < 0.01 && q[3] > 0.99, "{q:?}");
    let at = centre(&model, &q);
    let (forces, points) = (rows(&step.force.squeeze(0).unwrap()), rows(&step.contacts.point_b.squeeze(0).unwrap()));
    let (mut total, mut moment) = (Vector3::zeros(), Vector3::zeros());
    for (i, (force, point)) in forces.iter().zip(&points).enumerate() {
        if model.contact_names(i).0 == "ground" {
            let force = Vector3::from_column_slice(force);
            total += force;
            moment += (Vector3::from_column_slice(point) - at).cross(&force);
        }
    }
    // What still moves of the base, 1e-7 m in a step, takes ε m/h² times that.
    let moving = 0.1 * MASS / 1e-4 * 1e-7;
    let weight = MASS * GRAVITY;
    println!("carried {total:?} of {weight} N");
    assert!((total - Vector3::z() * weight).norm() < 2.0 * moving, "carried: {total:?} of {weight}");
    assert!(moment.norm() < moving, "moment {moment:?}");
    // The knees' springs hold the weight that the feet carry.
    let works: f64 = (0..8).map(|k| (50.0 * (u[k] - q[7 + k] - delta[6 + k])).abs()).sum();
    assert!(works > 0.1, "the springs hold {works} N·m");
}

/// A base that does not turn keeps its tilt, and moves along the world's axes.
#[test]
fn translation_of_a_turned_base() {
    let turn = UnitQuaternion::from_euler_angles(0.3, 0.2, 1.4);
    let pose = Isometry3::from_parts(Vector3::new(0.5, 0.2, 0.8).into(), turn);
    let brick = Object::rigid("brick", Shape::cuboid([0.05, 0.03, 0.02]), 0.4).with_freedom(Freedom::Translation);
    let dog = Robot::new("dog", articulation()).with_freedom(Freedom::Translation);
    let scene = Scene::new().with_params(params(0.3)).with_gravity([1.0, -2.0, -9.0]);
    let scene = scene.object(brick.with_pose(pose)).robot(dog.with_base(pose));
    let model = compile(&scene.pair(PairRule::exclude("brick", "dog")));
    let q = model.tree.home();
    assert_eq!(q[..6], [0.5, 0.2, 0.8, 0.5, 0.2, 0.8]);
    for body in [model.tree.find("brick").unwrap(), model.tree.find("dog/trunk").unwrap()] {
        assert!((poses(&model, &q)[body].to_matrix() - pose.to_matrix()).amax() < EXACT);
    }
    let delta = numbers(&step_with(&model, &q, &q[6..], &[]).delta);
    for (k, gravity) in [1.0, -2.0, -9.0, 1.0, -2.0, -9.0].into_iter().enumerate() {
        let expected = 1e-4 * gravity / 0.3;
        assert!((delta[k] - expected).abs() < EXACT * expected.abs(), "{delta:?}");
    }
}
