//! Forests with every kind of joint, and small helpers for tensors.

use candle_core::{DType, Device, Result, Tensor};
use fingertip::description::{Articulation, Freedom, Inertia, JointKind, Object, Robot, Scene, Shape};
use fingertip::dynamics::Dynamics;
use fingertip::kinematics::{Manifold, Tree};
use nalgebra::{Isometry3, Matrix3, Translation3, UnitQuaternion, Vector3};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::{apart, largest};

pub const GRAVITY: [f64; 3] = [0.4, -1.1, -9.81];

fn link(name: &str, mass: f64) -> String {
    let i = |scale: f64| scale * mass * 1e-2;
    format!(
        "<link name=\"{name}\"><inertial><origin xyz=\"0.02 -0.03 0.05\" rpy=\"0.3 0.2 -0.4\"/><mass value=\"{mass}\"/>\
         <inertia ixx=\"{}\" iyy=\"{}\" izz=\"{}\" ixy=\"{}\" ixz=\"{}\" iyz=\"{}\"/></inertial></link>",
        i(1.0),
        i(1.3),
        i(1.6),
        i(0.1),
        i(-0.05),
        i(0.07)
    )
}

fn joint(name: &str, kind: &str, parent: &str, child: &str, rest: &str) -> String {
    format!(
        "<joint name=\"{name}\" type=\"{kind}\"><parent link=\"{parent}\"/><child link=\"{child}\"/>\
         <origin xyz=\"0.1 0.05 0.2\" rpy=\"0.2 -0.5 0.3\"/><limit lower=\"-1.5\" upper=\"1.5\" effort=\"9\" velocity=\"9\"/>\
         {rest}</joint>"
    )
}

const SKEW: &str = "<axis xyz=\"0.6 0 0.8\"/>";
const Y: &str = "<axis xyz=\"0 -1 0\"/>";
const Z: &str = "<axis xyz=\"0 0 1\"/>";

/// A branching robot with revolute, prismatic and fixed joints; the branch may follow the arm (mimic).
fn arm(mimic: bool) -> Articulation {
    let follow = |of: &str, ratio: f64| {
        if mimic { format!("<mimic joint=\"{of}\" multiplier=\"{ratio}\" offset=\"0.1\"/>") } else { String::new() }
    };
    let parts = [
        link("base", 2.0),
        link("upper", 1.5),
        link("lower", 0.8),
        link("slider", 0.5),
        link("sensor", 0.2),
        link("finger", 0.3),
        link("tip", 0.1),
        joint("shoulder", "revolute", "base", "upper", Y),
        joint("elbow", "continuous", "upper", "lower", SKEW),
        joint("slide", "prismatic", "lower", "slider", SKEW),
        joint("mount", "fixed", "lower", "sensor", ""),
        joint("knuckle", "revolute", "upper", "finger", &format!("{Z}{}", follow("shoulder", 0.7))),
        joint("bend", "revolute", "finger", "tip", &format!("{SKEW}{}", follow("shoulder", -1.2))),
    ];
    Articulation::from_urdf_str(&format!("<robot name=\"arm\">{}</robot>", parts.concat()), "arm").unwrap()
}

/// Joints of several degrees of freedom in the middle of a tree.
fn chain() -> Articulation {
    let parts = [
        link("hull", 3.0),
        link("sledge", 1.0),
        link("pod", 0.7),
        link("flap", 0.2),
        joint("skate", "planar", "hull", "sledge", SKEW),
        joint("drift", "floating", "sledge", "pod", ""),
        joint("hinge", "revolute", "pod", "flap", SKEW),
        link("bob", 0.3),
        joint("ball", "continuous", "sledge", "bob", Y),
    ];
    let mut chain =
        Articulation::from_urdf_str(&format!("<robot name=\"chain\">{}</robot>", parts.concat()), "chain").unwrap();
    chain.joints[3].kind = JointKind::Spherical;
    chain
}

fn eccentric(mass: f64) -> Inertia {
    let matrix = Matrix3::new(1.2, 0.1, 0.0, 0.1, 1.0, -0.2, 0.0, -0.2, 1.4) * (mass * 1e-2);
    Inertia { mass, com: Vector3::new(0.03, -0.02, 0.04), matrix }
}

/// Every kind of joint in one forest; with mimic joints the degrees of freedom are no tree.
pub fn zoo(mimic: bool) -> Tree {
    let pose =
        Isometry3::from_parts(Translation3::new(0.3, -0.2, 0.5), UnitQuaternion::from_euler_angles(0.3, -0.7, 1.1));
    let ball = |name: &str| Object::rigid(name, Shape::Sphere { radius: 0.1 }, 1.0);
    let scene = Scene::new()
        .object(ball("free").with_inertia(eccentric(0.6)).with_pose(pose))
        .object(ball("disc").with_inertia(eccentric(0.9)).with_freedom(Freedom::Planar))
        .object(ball("particle").with_inertia(eccentric(0.4)).with_freedom(Freedom::Translation))
        .object(Object::articulated("chain", chain()).with_freedom(Freedom::Free))
        .robot(Robot::new("arm", arm(mimic)).with_base(pose));
    Tree::new(&scene).unwrap()
}

/// One free body whose centre of mass is not its frame.
pub fn free_body() -> Tree {
    let ball = Object::rigid("free", Shape::Sphere { radius: 0.1 }, 1.0).with_inertia(eccentric(0.6));
    Tree::new(&Scene::new().object(ball)).unwrap()
}

pub fn dynamics(tree: &Tree) -> Dynamics {
    Dynamics::new(tree, GRAVITY, DType::F64, &Device::Cpu).unwrap()
}

pub fn manifold(tree: &Tree) -> Manifold {
    Manifold::new(tree, &Device::Cpu).unwrap()
}

/// q, and two tangent vectors of unit size.
pub fn states(tree: &Tree, n: usize, seed: u64) -> [Tensor; 3] {
    let q = manifold(tree).random(n, seed, DType::F64, &Device::Cpu).unwrap();
    [q, random((n, tree.nv), seed + 1), random((n, tree.nv), seed + 2)]
}

pub fn random(shape: (usize, usize), seed: u64) -> Tensor {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let data = (0..shape.0 * shape.1).map(|_| rng.random_range(-1.0..1.0)).collect();
    Tensor::from_vec(data, shape, &Device::Cpu).unwrap()
}

/// Largest difference, relative to the largest number of the expected.
pub fn error(found: &[f64], expected: &[f64]) -> f64 {
    apart(found, expected) / largest(expected).max(f64::MIN_POSITIVE)
}

#[track_caller]
pub fn assert_close(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    let error = error(found, expected);
    assert!(error < tolerance, "{what}: relative error {error:e} is not below {tolerance:e}");
}

/// (B, n, n) · (B, n) without matmul.
pub fn times(m: &Tensor, x: &Tensor) -> Result<Tensor> {
    m.broadcast_mul(&x.unsqueeze(1)?)?.sum(2)
}
