//! The teaching hand as shipped, against `tests/golden/teaching_hand.json`.

use std::collections::BTreeSet;

use candle_core::{DType, Device, Tensor};
use fingertip::Model;
use fingertip::description::{Inertia, Scene, Shape};
use fingertip::kinematics::Manifold;
use nalgebra::{Isometry3, Matrix3, Rotation3, Translation3, UnitQuaternion, Vector3};
use serde_json::Value;

/// What the reference promises for placements, m.
const PLACED: f64 = 1e-10;
/// The file's sixteen digits.
const DIGITS: f64 = 1e-13;

fn golden() -> Value {
    serde_json::from_str(include_str!("../golden/teaching_hand.json")).unwrap()
}

fn model(file: &str) -> (Scene, Model) {
    let scene = Scene::load(format!("assets/scenes/{file}.toml")).unwrap();
    let model = Model::new(&scene, DType::F64, &Device::Cpu).unwrap();
    (scene, model)
}

fn vector(value: &Value) -> Vector3<f64> {
    Vector3::from_fn(|i, _| value[i].as_f64().unwrap())
}

fn placement(value: &Value) -> Isometry3<f64> {
    let rotation = Matrix3::from_fn(|i, j| value["rotation"][i][j].as_f64().unwrap());
    let rotation = UnitQuaternion::from_rotation_matrix(&Rotation3::from_matrix_unchecked(rotation));
    Isometry3::from_parts(Translation3::from(vector(&value["xyz"])), rotation)
}

/// The shapes' placements at q (item, then hand) by multiplying the reference's placements joint by joint.
fn chain(golden: &Value, q: &[f64]) -> Vec<Isometry3<f64>> {
    let mut joints = vec![Isometry3::identity()];
    for (k, joint) in golden["joints"].as_array().unwrap().iter().enumerate() {
        let motion = match joint["type"].as_str().unwrap() {
            "JointModelFreeFlyer" => {
                let turn = UnitQuaternion::from_quaternion(nalgebra::Quaternion::new(q[3], q[4], q[5], q[6]));
                Isometry3::from_parts(Translation3::new(q[0], q[1], q[2]), turn)
            }
            about => {
                let axis = match about {
                    "JointModelRX" => Vector3::x_axis(),
                    "JointModelRY" => Vector3::y_axis(),
                    _ => Vector3::z_axis(),
                };
                Isometry3::from_parts(Translation3::identity(), UnitQuaternion::from_axis_angle(&axis, q[7 + k]))
            }
        };
        joints.push(joints[joint["parent"].as_u64().unwrap() as usize] * placement(joint) * motion);
    }
    let shapes = golden["shapes"].as_array().unwrap().iter();
    shapes.map(|shape| joints[shape["joint"].as_u64().unwrap() as usize] * placement(shape)).collect()
}

/// The reference's names of the model's shapes.
fn names(model: &Model) -> Vec<String> {
    let name = |body: usize| model.tree.bodies[body].name.trim_start_matches("hand/").to_owned();
    model.shapes.iter().map(|shape| name(shape.body)).collect()
}

#[test]
fn shapes_are_where_they_should_be() {
    let (golden, (_, model)) = (golden(), model("teaching_hand_item"));
    let (names, n) = (names(&model), model.shapes.len());
    assert_eq!(n, golden["shapes"].as_array().unwrap().len());
    let states = Manifold::new(&model.tree, &Device::Cpu).unwrap().random(50, 3, DType::F64, &Device::Cpu).unwrap();
    let poses: Tensor = model.kinematics.at(&states).unwrap().poses;
    let poses = poses.flatten_from(1).unwrap().to_vec2::<f64>().unwrap();
    for (q, poses) in states.to_vec2::<f64>().unwrap().iter().zip(poses) {
        let expected = chain(&golden, q);
        for (k, shape) in golden["shapes"].as_array().unwrap().iter().enumerate() {
            let name = shape["name"].as_str().unwrap();
            let own = names.iter().position(|other| other == name).unwrap_or_else(|| panic!("no shape on {name}"));
            let pose = &poses[12 * own..12 * own + 12];
            let off = (Vector3::from_column_slice(&pose[..3]) - expected[k].translation.vector).norm();
            assert!(off < PLACED, "{name} is {off:e} m off");
            // Only the axis of a round shape means something.
            let axis = expected[k].rotation * Vector3::z();
            let off = (Vector3::from_column_slice(&pose[9..12]) - axis).norm();
            let size = |key: &str| shape[key].as_f64().unwrap();
            match model.shapes[own].shape {
                Shape::Sphere { radius } => assert!((radius, 0.0) == (size("radius"), size("half_length"))),
                Shape::Capsule { radius, half_length } => {
                    assert!((radius, half_length) == (size("radius"), size("half_length")), "{name}");
                    assert!(off < PLACED, "{name}'s axis is {off:e} off");
                }
                ref other => panic!("{name} is a {}", other.name()),
            }
        }
    }
}

#[test]
fn pairs_are_those_of_the_reference() {
    let golden = golden();
    for (file, n) in [("teaching_hand", 45), ("teaching_hand_item", 63)] {
        let (_, model) = model(file);
        let pair = |a: &str, b: &str| if a < b { (a.to_owned(), b.to_owned()) } else { (b.to_owned(), a.to_owned()) };
        let names = names(&model);
        let found: BTreeSet<_> = model.pairs.pairs.iter().map(|p| pair(&names[p.a], &names[p.b])).collect();
        let name = |k: &Value| golden["shapes"][k.as_u64().unwrap() as usize]["name"].as_str().unwrap();
        let all = golden["pairs"].as_array().unwrap().iter().map(|p| pair(name(&p[0]), name(&p[1])));
        let expected: BTreeSet<_> = all.filter(|p| n == 63 || p.0 != "item" && p.1 != "item").collect();
        assert_eq!(found, expected, "{file}");
        assert_eq!(model.pairs.pairs.len(), n, "{file}");
    }
}

/// Each moving part's mass is the reference's, spread evenly over its shapes.
#[test]
fn inertias_are_those_of_the_shapes() {
    let (golden, (scene, _)) = (golden(), model("teaching_hand_item"));
    let articulation = &scene.robots[0].articulation;
    let mut total = 0.0;
    for (l, link) in articulation.links.iter().enumerate().filter(|(_, link)| link.inertia.is_some()) {
        // The links that are fixed to it belong to the same part; their frames are the same.
        let fixed = articulation.joints.iter().filter(|joint| joint.parent == l && joint.kind.nq() == 0);
        let parts = std::iter::once(l).chain(fixed.map(|joint| joint.child));
        let shapes: Vec<_> = parts.flat_map(|part| articulation.links[part].collisions.clone()).collect();
        let inertia = link.inertia.as_ref().unwrap();
        let solid = Inertia::solid_compound(&shapes, inertia.mass).unwrap();
        assert!((inertia.com - solid.com).norm() < DIGITS, "{}", link.name);
        assert!((inertia.matrix - solid.matrix).norm() < DIGITS * solid.matrix.norm().max(1.0), "{}", link.name);
        total += inertia.mass;
    }
    let joints = golden["joints"].as_array().unwrap();
    let expected: f64 = joints.iter().take(14).map(|joint| joint["mass"].as_f64().unwrap()).sum();
    assert!((total - expected).abs() < DIGITS * expected, "{total} kg, expected {expected} kg");
}
