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
    /// What a rollout commands, in order of time; without any, every joint stays at home.
    pub script: Vec<Keyframe>,
}

/// Numbers of the step.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Time step, s; positive, usually 0.001 … 0.1. It scales how far an object falls in one step.
    pub h: f64,
    /// Regularisation ε of the inertia of objects and floating bases; positive, 0.001 … 1, by default 0.1.
    ///
    /// Every step starts from rest: to move a mass m at a speed v takes ε m v/h besides friction and weight, and what falls
    /// goes at the speed v_f = g h/ε. So the force of a push at v is too large by the part v/v_f of the weight, and forces
    /// are physical where v ≪ μ v_f. Measured at h = 0.01 s and κ = 1e6:
    ///
    /// | | exact | ε = 1 | 0.1 | 0.01 |
    /// |---|---|---|---|---|
    /// | a tip pushes a box of 0.5 kg at 8 cm/s, μ = 0.5: N | 2.45 | 6.45 | 2.85 | 2.49 |
    /// | a tip drags a plate of 0.2 kg under it at 8 cm/s, pressing with 4.2 N, μ = 0.3: N | 1.86 | 3.45 | 2.02 | 1.87 |
    /// | two tips lift 0.1 kg at 10 cm/s, pressing three times as hard as they must: N | 0.98 | 1.98 | 1.08 | 0.99 |
    /// | a ball falls by 10 cm: s | 0.14 | 1.02 | 0.11 | 0.02 |
    /// | Newton iterations of the push | | 19 | 19 | 19 |
    ///
    /// (`cargo test --release --test epsilon -- --nocapture` prints and checks the numbers.) Small ε costs no iterations. But
    /// what nothing holds goes far in one step, h² g/ε, through which contacts see it on a straight line: 1 mm, 1 cm and
    /// 10 cm here. And the barrier, felt at a distance, drives what nothing else holds (planar objects without ground)
    /// away from its neighbours, 1/√ε times as far. The default lets things fall at 1 m/s, as they do in reality from
    /// 5 cm; for other h, ε = 10 h (h in s) does the same.
    pub epsilon: f64,
    /// Barrier parameter κ, 1/J; positive, 1 … 1e8. Large is hard contact: a weight m g at rest on n contacts that share it
    /// hovers at 2 n/(κ m g), by Coulomb's law at half of that. [`Scene::with_hover`], or `hover` in the place of `kappa` in a scene file, chooses κ by that
    /// height.
    ///
    /// Static friction creeps: a contact that presses with f and uses the share r of its friction cone slides in each step by
    ///
    /// 2 r/((1 − r²) μ κ f).
    ///
    /// To hold a grip choose κ by the slip that may be. What slides meets the friction μ f only where the slip in a step is
    /// large against the height of hovering over μ; slower, it meets less.
    pub kappa: f64,
    /// Friction coefficient of pairs for which no rule says otherwise; from 0 up.
    pub mu: f64,
    /// Torsional friction of pairs for which no rule says otherwise, m; from 0 up, by default 0: contacts are points, about whose
    /// normal bodies turn freely. A contact of a soft patch of radius r resists turning about its normal with up to 2/3 r μ per
    /// newton that it presses with, if the pressure is the same everywhere in the patch; this coefficient is that torque per newton.
    pub torsion: f64,
    /// The law of friction.
    pub friction: Friction,
    /// Pairs farther apart than this are left out of the sum, m, and take next to no time; none keeps every pair. With a window to
    /// `fade` out in the step stays smooth.
    pub contact_distance: Option<f64>,
    /// Width of the window below `contact_distance` in which a pair's weight goes from 1 to 0, m, as a quintic smoothstep:
    /// twice continuously differentiable. 0 is a hard cutoff.
    pub fade: f64,
    /// Are joint limits constraints of the step?
    pub joint_limits: bool,
    /// Newton iterations after which a world gives up, by Coulomb's law with each of its three solves; 1 … [`Params::MOST_ITERATIONS`].
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

/// The law that normal and friction forces follow with gap and slip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Friction {
    /// Anitescu's convex relaxation: every step has one answer, the minimiser of a convex function. A slip d opens a gap μ d, so
    /// that what is dragged rises, and what hinders that presses harder: a cube that is pushed twice as hard as friction holds presses on
    /// the floor with 1.2 times its weight at μ = 0.5.
    #[default]
    Relaxed,
    /// Coulomb's law: friction is in the cone of the normal force, against the slip where there is one, and the gap is
    /// 1/(κ f_n), half of that of frictionless contact by the relaxed law. A step may have more than one answer; the one that is found sticks where sticking exists
    /// near the start. Where none is found the relaxed answer stands, with the status `unsettled`.
    Coulomb,
}

impl Friction {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Relaxed, Self::Coulomb];

    /// The name in scene files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Relaxed => "relaxed",
            Self::Coulomb => "coulomb",
        }
    }
}

/// A robot: its single-coordinate joints are commanded, with impedance.
///
/// A root link that may move is moved as an object is. In the step's P its block is ε M/h², with M the inertia of the whole
/// robot about it in its present posture, and the weight of all links pulls on it; contact forces then add up to the
/// robot's weight when it stands. The commanded joints stay springs without inertia, for which gravity on the links is
/// compensated, and P does not couple them with the root: a leg that moves in the air does not turn the body.
#[derive(Clone, Debug, PartialEq)]
pub struct Robot {
    /// Unique among robots and objects.
    pub name: String,
    /// Links and joints.
    pub articulation: Articulation,
    /// How the root link may move in the world; usually [`Freedom::Fixed`]. Its coordinates stand before those of the
    /// joints in q, and are not commanded.
    pub freedom: Freedom,
    /// Pose of the root link in the world; the starting one if it may move.
    pub base: Isometry3<f64>,
    /// Stiffness of joints without an entry below, N·m/rad or N/m; positive.
    pub default_stiffness: f64,
    /// Stiffness by joint name.
    pub stiffness: BTreeMap<String, f64>,
    /// Starting q by joint name; others start at 0, or at the limit next to it.
    pub home: BTreeMap<String, f64>,
}

/// Something that is to be moved, or an obstacle.
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
    /// The joint to the world that allows it.
    pub(super) fn joint(self) -> JointKind {
        match self {
            Self::Free => JointKind::Floating,
            Self::Planar => JointKind::Planar,
            Self::Translation => JointKind::Translation,
            Self::Fixed => JointKind::Fixed,
        }
    }
}

/// Commands at one time. Between two keyframes u goes linearly.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Keyframe {
    /// Time since the start, s; from 0 to 1e6 and growing from keyframe to keyframe.
    pub time: f64,
    /// Commanded positions by `"robot/joint"`, or by `"joint"` where only one robot has a joint of that name, rad or m;
    /// joints without an entry keep the command before.
    pub u: BTreeMap<String, f64>,
}

/// Friction or exclusion of the pairs between two things.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PairRule {
    /// A robot, an object, or one link of one, `"hand/palm"`.
    pub a: String,
    /// The other side; may be the same name, for contacts of a robot with itself.
    pub b: String,
    /// Friction coefficient; none leaves it as it is.
    pub mu: Option<f64>,
    /// Torsional friction, m, see [`Params::torsion`]; none leaves it as it is.
    pub torsion: Option<f64>,
    /// May these touch? `false` excludes the pairs, `true` takes them in, though they overlap at home; none leaves it as
    /// it is.
    pub enabled: Option<bool>,
}
