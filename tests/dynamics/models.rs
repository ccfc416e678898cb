//! The models of `tests/golden/dynamics.json` as forests.

use fingertip::description::{
    Articulation, Freedom, Inertia, Joint, JointKind, Link, Object, Robot, Scene, Shape, Spring,
};
use fingertip::kinematics::Tree;
use nalgebra::{Isometry3, Matrix3, Rotation3, Translation3, UnitQuaternion, Vector3};
use serde_json::Value;

use super::measure::{matrix, values};

fn vector3(value: &Value) -> Vector3<f64> {
    Vector3::from_vec(values(value))
}

fn matrix3(value: &Value) -> Matrix3<f64> {
    matrix(value).fixed_view::<3, 3>(0, 0).into()
}

/// A model of Pinocchio's.
pub struct Case {
    pub scene: Scene,
    pub tree: Tree,
    /// Bodies by Pinocchio's joint number.
    pub bodies: Vec<usize>,
    /// First numbers of the free joint in Pinocchio's q and v.
    pub free: Option<(usize, usize)>,
}

impl Case {
    pub fn new(joints: &[Value]) -> Self {
        let inertia = |j: &Value| Inertia {
            mass: j["mass"].as_f64().unwrap(),
            com: vector3(&j["com"]),
            matrix: matrix3(&j["inertia"]),
        };
        let link = |name: &str, inertia| Link { name: name.into(), inertia, collisions: vec![], visuals: vec![] };
        let mut robot = Articulation { links: vec![link("base", None)], ..Articulation::default() };
        let mut scene = Scene::new();
        let mut free = None;
        for j in joints {
            let name = j["name"].as_str().unwrap();
            let kind = match j["kind"].as_str().unwrap() {
                "revolute" => JointKind::Revolute,
                "prismatic" => JointKind::Prismatic,
                _ => {
                    let body = Object::rigid(name, Shape::Sphere { radius: 0.1 }, 1.0);
                    scene = scene.object(body.with_inertia(inertia(j)).with_freedom(Freedom::Free));
                    free = Some((j["q"].as_u64().unwrap() as usize, j["v"].as_u64().unwrap() as usize));
                    continue;
                }
            };
            let massive = j["mass"].as_f64().is_some_and(|mass| mass > 0.0);
            robot.links.push(link(name, massive.then(|| inertia(j))));
            let turn = UnitQuaternion::from_rotation_matrix(&Rotation3::from_matrix_unchecked(matrix3(&j["rotation"])));
            robot.joints.push(Joint {
                name: name.into(),
                kind,
                parent: j["parent"].as_u64().unwrap() as usize,
                child: robot.links.len() - 1,
                origin: Isometry3::from_parts(Translation3::from(vector3(&j["xyz"])), turn),
                axis: vector3(&j["axis"]),
                limits: None,
                effort: f64::INFINITY,
                velocity: f64::INFINITY,
                damping: 0.0,
                friction: 0.0,
                spring: Spring::default(),
                armature: 0.0,
                mimic: None,
            });
        }
        let scene = scene.robot(Robot::new("robot", robot));
        let tree = Tree::new(&scene).unwrap();
        let body = |j: &Value| {
            let name = j["name"].as_str().unwrap();
            tree.body(&format!("robot/{name}")).or_else(|| tree.body(name)).unwrap()
        };
        let bodies = std::iter::once(0).chain(joints.iter().map(body)).collect();
        Self { scene, tree, bodies, free }
    }
}
