//! A scene: robots, objects, pairs, parameters. Build it with the methods here or read it with [`Scene::load`].

use std::collections::BTreeMap;

use nalgebra::Isometry3;

use super::{Articulation, Collision, Inertia, JointKind};

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
    /// The commands of a rollout, in order of time. Without any, every joint stays at home.
    pub script: Vec<Keyframe>,
}

/// The parameters of the step.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Time step, s. Positive, usually 0.001 … 0.1. It also sets how far an object falls in one step.
    pub h: f64,
    /// Regularisation ε of the inertia of objects and floating bases. Positive, 0.001 … 1, by default 0.1.
    ///
    /// Every step starts from rest. Moving a mass m at speed v takes a force ε m v/h besides friction and weight, and
    /// an object in free fall moves at the speed v_f = g h/ε. So a push at speed v needs a force that is too large by
    /// v/v_f of the weight, and forces are physical where v ≪ μ v_f. Measured at h = 0.01 s and κ = 1e6:
    ///
    /// | | exact | ε = 1 | 0.1 | 0.01 |
    /// |---|---|---|---|---|
    /// | a tip pushes a box of 0.5 kg at 8 cm/s, μ = 0.5: N | 2.45 | 6.45 | 2.85 | 2.49 |
    /// | a tip drags a plate of 0.2 kg under it at 8 cm/s, pressing with 4.2 N, μ = 0.3: N | 1.86 | 3.45 | 2.02 | 1.87 |
    /// | two tips lift 0.1 kg at 10 cm/s, pressing three times as hard as they must: N | 0.98 | 1.98 | 1.08 | 0.99 |
    /// | a ball falls by 10 cm: s | 0.14 | 1.02 | 0.11 | 0.02 |
    /// | Newton iterations of the push | | 19 | 19 | 19 |
    ///
    /// (`cargo test --release --test epsilon -- --nocapture` prints and checks these numbers.) A small ε costs no
    /// iterations. But an object that nothing holds moves far in one step, by h² g/ε, and contacts see this motion as a
    /// straight line: 1 mm, 1 cm and 10 cm here. Also, the barrier acts at a distance. It drives objects that nothing
    /// else holds (planar objects without ground) away from their neighbours, 1/√ε times as far. With the default,
    /// objects fall at 1 m/s, the speed that they reach in reality after falling 5 cm. For another h, ε = 10 h (h in s)
    /// does the same.
    pub epsilon: f64,
    /// Barrier parameter κ, 1/J. Positive, 1 … 1e8. With a large κ, contact is hard. A weight m g at rest on n contacts
    /// that share it hovers at 2 n/(κ m g), or at half of that under Coulomb's law. [`Scene::with_hover`], or `hover`
    /// instead of `kappa` in a scene file, chooses κ from that height.
    ///
    /// Static friction creeps. A contact that presses with force f and uses the fraction r of its friction cone slides
    /// in each step by
    ///
    /// 2 r/((1 − r²) μ κ f).
    ///
    /// To hold a grip, choose κ by the slip that is acceptable. A sliding contact has the full friction μ f only if the
    /// slip per step is large compared with the hover height divided by μ. If it slides more slowly, it has less.
    pub kappa: f64,
    /// Friction coefficient of pairs for which no rule sets one. Not negative.
    pub mu: f64,
    /// Torsional friction of pairs for which no rule sets it, m. Not negative; 0 by default, which means that contacts
    /// are points and bodies turn freely about their normals. It is the largest torque about the normal per newton of
    /// normal force. A soft contact patch of radius r with uniform pressure has 2/3 r μ.
    pub torsion: f64,
    /// The law of friction.
    pub friction: Friction,
    /// Pairs farther apart than this (m) are left out of the sum and take almost no time. `None` keeps every pair. With
    /// a `fade` window, the step stays smooth when a pair is left out.
    pub contact_distance: Option<f64>,
    /// Width of the window below `contact_distance` in which a pair's weight goes from 1 to 0, m. It follows a quintic
    /// smoothstep, which is twice continuously differentiable. 0 is a hard cutoff.
    pub fade: f64,
    /// Are joint limits constraints of the step?
    pub joint_limits: bool,
    /// The most Newton iterations for a world, and under Coulomb's law for each of its three solves; 1 …
    /// [`Params::MOST_ITERATIONS`].
    pub max_iterations: usize,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            h: 0.01,
            epsilon: 0.1,
            kappa: 1e4,
            mu: 0.5,
            torsion: 0.0,
            friction: Friction::default(),
            contact_distance: None,
            fade: 0.0,
            joint_limits: false,
            max_iterations: 200,
        }
    }
}

/// The friction law: how normal and friction forces depend on gap and slip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Friction {
    /// Anitescu's convex relaxation. Every step has one answer, the minimiser of a convex function. A slip of d opens a
    /// gap of μ d, so a dragged body rises, and whatever prevents that presses harder: a cube that is pushed with twice
    /// the force that friction can hold presses on the floor with 1.2 times its weight at μ = 0.5.
    #[default]
    Relaxed,
    /// Coulomb's law. Friction lies in the cone of the normal force and opposes the slip, if there is any. The gap is
    /// 1/(κ f_n), half of the gap of frictionless contact under the relaxed law. A step may have more than one answer;
    /// the solver finds one that sticks if there is one near the start. If it finds none, the step returns the relaxed
    /// answer with the status `unsettled`.
    Coulomb,
}

impl Friction {
    /// Both laws.
    pub const ALL: [Self; 2] = [Self::Relaxed, Self::Coulomb];

    /// The name in scene files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Relaxed => "relaxed",
            Self::Coulomb => "coulomb",
        }
    }
}

/// A robot. Its single-coordinate joints are commanded, through springs.
///
/// A root link that may move is treated like an object. Its block of the step's P is ε M/h², where M is the inertia of
/// the whole robot about it in its present posture. The weight of all links acts on it, so contact forces add up to the
/// robot's weight when it stands. The commanded joints stay springs without inertia, and gravity on their links is
/// compensated. P does not couple them with the root: a leg that moves in the air does not turn the body.
#[derive(Clone, Debug, PartialEq)]
pub struct Robot {
    /// The name, unique among robots and objects.
    pub name: String,
    /// Links and joints.
    pub articulation: Articulation,
    /// How the root link may move in the world; usually [`Freedom::Fixed`]. Its coordinates come before those of the
    /// joints in q, and are not commanded.
    pub freedom: Freedom,
    /// Pose of the root link in the world. If it may move, this is its starting pose.
    pub base: Isometry3<f64>,
    /// Stiffness of joints without an entry below, N·m/rad or N/m; positive.
    pub default_stiffness: f64,
    /// Stiffness by joint name.
    pub stiffness: BTreeMap<String, f64>,
    /// Starting q by joint name. Other joints start at 0, or at the limit nearest to 0.
    pub home: BTreeMap<String, f64>,
}

/// An object: something to be moved, or an obstacle.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// The name, unique among robots and objects.
    pub name: String,
    /// One rigid body, or links and joints.
    pub body: ObjectBody,
    /// How the body, or the root link, may move in the world.
    pub freedom: Freedom,
    /// Pose of the body's frame or root link in the world. Unless the object is [`Freedom::Fixed`], this is its
    /// starting pose.
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

/// How an object, or the root link of a robot, may move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Freedom {
    /// Six degrees of freedom: q = (x, y, z, qw, qx, qy, qz).
    Free,
    /// In the world's x–y plane: q = (x, y, yaw). The height stays as in the pose, which may not tilt.
    Planar,
    /// Without rotation: q = (x, y, z), along the world's axes. The orientation stays as in the pose.
    Translation,
    /// Not at all.
    Fixed,
}

impl Freedom {
    /// The joint to the world that allows this motion.
    pub(super) fn joint(self) -> JointKind {
        match self {
            Self::Free => JointKind::Floating,
            Self::Planar => JointKind::Planar,
            Self::Translation => JointKind::Translation,
            Self::Fixed => JointKind::Fixed,
        }
    }
}

/// Commands at one time. u is linear between two keyframes.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Keyframe {
    /// Time since the start, s. From 0 to 1e6, and increasing from keyframe to keyframe.
    pub time: f64,
    /// Commanded positions, rad or m, by `"robot/joint"`, or by `"joint"` if only one robot has a joint of that name.
    /// Joints without an entry keep the previous command.
    pub u: BTreeMap<String, f64>,
}

/// A rule for the pairs between two things: their friction, or their exclusion.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PairRule {
    /// A robot, an object, or one link of either: `"hand/palm"`.
    pub a: String,
    /// The other side. It may be the same name, for contacts of a robot with itself.
    pub b: String,
    /// Friction coefficient. `None` leaves it unchanged.
    pub mu: Option<f64>,
    /// Torsional friction, m, see [`Params::torsion`]. `None` leaves it unchanged.
    pub torsion: Option<f64>,
    /// May these touch? `false` excludes the pairs. `true` includes them, even if they overlap at home. `None` leaves
    /// it unchanged.
    pub enabled: Option<bool>,
}
