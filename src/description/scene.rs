//! A scene: robots, objects, pairs, parameters. Build it with the methods here or read it with [`Scene::load`].

use std::collections::BTreeMap;

use nalgebra::Isometry3;

use super::{Articulation, Inertia, Keyframe, Shape};

/// Everything that a step needs to know, as plain data.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    /// Gravity in world axes, m/s².
    pub gravity: [f64; 3],
    /// Numbers of the step.
    pub params: Params,
    /// Robots in file order. Their joints' coordinates follow the objects' in q.
    pub robots: Vec<Robot>,
    /// Objects in file order.
    pub objects: Vec<Object>,
    /// Rules for pairs, later ones win. Without any, everything that can touch may touch, with friction `params.mu`.
    pub pairs: Vec<PairRule>,
    /// What a rollout commands, in order of time; without any, every joint stays at home.
    pub script: Vec<Keyframe>,
}

/// Numbers of the step.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Time step, s; positive, usually 0.001 … 0.1. It scales how far an object falls in one step.
    pub h: f64,
    /// Regularisation ε of the objects' inertia; positive. 1 is the true inertia, smaller lets objects give way more
    /// easily.
    pub epsilon: f64,
    /// Barrier parameter κ, 1/J; positive, 1 … 1e8. Large is hard contact: a resting weight mg hovers at 2/(κ m g).
    pub kappa: f64,
    /// Friction coefficient of pairs for which no rule says otherwise; from 0 up.
    pub mu: f64,
    /// Pairs farther apart than this are left out of the sum, m; none keeps every pair, which is what smoothness needs.
    pub contact_distance: Option<f64>,
    /// Width of the window below `contact_distance` in which a pair's weight fades to zero, twice continuously
    /// differentiable, m; 0 is a hard cut.
    pub fade: f64,
    /// Are joint limits constraints of the step?
    pub joint_limits: bool,
    /// Newton iterations after which a world gives up; 1 … [`Params::MOST_ITERATIONS`].
    pub max_iterations: usize,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            h: 0.01,
            epsilon: 1.0,
            kappa: 1e4,
            mu: 0.5,
            contact_distance: None,
            fade: 0.0,
            joint_limits: false,
            max_iterations: 200,
        }
    }
}

/// A robot: its single-coordinate joints are commanded, with impedance.
#[derive(Clone, Debug, PartialEq)]
pub struct Robot {
    /// Unique among robots and objects.
    pub name: String,
    /// Links and joints.
    pub articulation: Articulation,
    /// Pose of the root link in the world.
    pub base: Isometry3<f64>,
    /// Stiffness of joints without an entry below, N·m/rad or N/m; positive.
    pub default_stiffness: f64,
    /// Stiffness by joint name.
    pub stiffness: BTreeMap<String, f64>,
    /// Starting q by joint name; others start at 0, or at the limit next to it.
    pub home: BTreeMap<String, f64>,
}

/// A thing that is moved, or in the way.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// Unique among robots and objects.
    pub name: String,
    /// One rigid body, or links and joints.
    pub body: ObjectBody,
    /// How the body, or the root link, may move in the world.
    pub freedom: Freedom,
    /// Starting pose of the body's frame or root link in the world; for [`Freedom::Fixed`], the pose.
    pub pose: Isometry3<f64>,
}

/// What an object is made of.
#[derive(Clone, Debug, PartialEq)]
pub enum ObjectBody {
    /// One rigid body.
    Rigid {
        /// Mass distribution; a fixed object needs none.
        inertia: Option<Inertia>,
        /// Collision shapes in the body's frame.
        collisions: Vec<Collision>,
    },
    /// Links and passive joints: a door, a valve.
    Articulated {
        /// Links and joints.
        articulation: Articulation,
        /// Starting q by joint name.
        home: BTreeMap<String, f64>,
    },
}

/// How an object may move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Freedom {
    /// Six degrees of freedom: q = (x, y, z, qw, qx, qy, qz).
    Free,
    /// In the world's x–y plane: q = (x, y, yaw). Height and tilt stay as in the object's pose.
    Planar,
    /// Without rotation: q = (x, y, z).
    Translation,
    /// Not at all.
    Fixed,
}

/// A collision shape on a body.
#[derive(Clone, Debug, PartialEq)]
pub struct Collision {
    /// The shape.
    pub shape: Shape,
    /// The shape's frame in the body's frame.
    pub pose: Isometry3<f64>,
}

/// What holds for the pairs between two things.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PairRule {
    /// A robot, an object, or one link of one, `"hand/palm"`.
    pub a: String,
    /// The other side; may be the same name, for contacts of a robot with itself.
    pub b: String,
    /// Friction coefficient; none leaves it as it is.
    pub mu: Option<f64>,
    /// May these touch? `false` excludes the pairs.
    #[serde(default = "enabled")]
    pub enabled: bool,
}

fn enabled() -> bool {
    true
}
