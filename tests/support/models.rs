//! The models of `tests/golden/dynamics.json` as forests.

use fingertip::description::{Articulation, Freedom, Inertia, Joint, JointKind, Link, Object, Robot, Scene, Shape};
use fingertip::kinematics::Tree;
use nalgebra::{DMatrix, DVector, Isometry3, Matrix3, Rotation3, Translation3, UnitQuaternion, Vector3};
use serde_json::Value;

use crate::{matrix, values};

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
            let (parent, child) = (j["parent"].as_u64().unwrap() as usize, robot.links.len() - 1);
            robot.joints.push(Joint {
                origin: Isometry3::from_parts(Translation3::from(vector3(&j["xyz"])), turn),
                axis: vector3(&j["axis"]),
                ..Joint::new(name, kind, parent, child)
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

/// Pinocchio's free joint has q = xyz + quaternion xyzw and v = (linear, angular) in the body's axes. With T =
/// blkdiag(R, R) on its rows: M = T M_b Tᵀ, τ = T τ_b, a = T (a_b + (ω_b × v_b; 0)).
impl Case {
    /// Our configuration for one of Pinocchio's.
    pub fn q(&self, q: &[f64]) -> Vec<f64> {
        let Some((at, _)) = self.free else { return q.to_vec() };
        let (x, y) = (&q[at..at + 3], &q[at + 3..at + 7]);
        [x, &[y[3], y[0], y[1], y[2]], &q[..at]].concat()
    }

    /// From Pinocchio's tangent to ours: the free body first, in world axes.
    pub fn tangent(&self, q: &[f64]) -> DMatrix<f64> {
        let n = self.tree.nv;
        let Some((at, first)) = self.free else { return DMatrix::identity(n, n) };
        let [x, y, z, w] = [0, 1, 2, 3].map(|k| q[at + 3 + k]);
        let r = UnitQuaternion::from_quaternion(nalgebra::Quaternion::new(w, x, y, z)).to_rotation_matrix();
        let mut t = DMatrix::zeros(n, n);
        t.view_mut((0, first), (3, 3)).copy_from(r.matrix());
        t.view_mut((3, first + 3), (3, 3)).copy_from(r.matrix());
        for k in 0..first {
            t[(6 + k, k)] = 1.0;
        }
        t
    }

    /// (ω × v; 0) of the free joint.
    pub fn carried(&self, v: &DVector<f64>) -> DVector<f64> {
        let mut carried = DVector::zeros(v.len());
        if let Some((_, at)) = self.free {
            let (linear, omega) = (v.fixed_rows::<3>(at), v.fixed_rows::<3>(at + 3));
            carried.fixed_rows_mut::<3>(at).copy_from(&omega.cross(&linear));
        }
        carried
    }
}
