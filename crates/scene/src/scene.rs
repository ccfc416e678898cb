//! A scene: robots, objects, pairs, parameters. Build it with the methods here or read it with [`Scene::load`].

use std::collections::{BTreeMap, BTreeSet};

use nalgebra::{Isometry3, Vector3};

use super::table::{Table, mean_distance};
use super::{Articulation, Collision, Inertia, Joint, JointKind, Settings, Taxels};

/// Everything that a step needs, as plain data.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    /// Gravity in world axes, m/s².
    pub gravity: [f64; 3],
    /// Parameters of the step.
    pub params: Params,
    /// Robots in file order. Their joints' coordinates follow the objects' in q.
    pub robots: Vec<Robot>,
    /// Objects in file order.
    pub objects: Vec<Object>,
    /// Rules for pairs; later ones win. Without any, everything that can touch may touch, with friction `params.mu`.
    pub pairs: Vec<PairRule>,
    /// The commands of a rollout, in order of time. Without any, every joint stays at home.
    pub script: Vec<Keyframe>,
    /// Pads of taxels, which feel contacts and have no effect on them.
    pub taxels: Vec<Taxels>,
    /// Notes, one line each, that belong to none of its articulations: see [`Articulation::notes`].
    /// [`Scene::all_notes`] has both.
    pub notes: Vec<String>,
    /// Warnings that belong to none of its articulations: see [`Articulation::warnings`]. [`Scene::all_warnings`] has
    /// both.
    pub warnings: Vec<String>,
}

impl Scene {
    /// A robot and those that are mounted on it, one on the other.
    pub(super) fn carried<'a>(&'a self, robot: &'a Robot) -> impl Iterator<Item = &'a Robot> {
        let mut carried = vec![robot];
        // Carriers stand before what they carry.
        for other in &self.robots {
            if other.mount.as_ref().is_some_and(|mount| carried.iter().any(|robot| robot.name == mount.robot)) {
                carried.push(other);
            }
        }
        carried.into_iter()
    }
}

/// Parameters of the step.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Time step, s. Positive, usually 0.001 … 0.1. It also sets how far an object falls in one step.
    pub h: f64,
    /// Regularisation ε of the inertia of objects and floating bases. Positive, 0.001 … 1, by default 0.1.
    ///
    /// Every step starts from rest. Moving a mass m at a speed v takes ε m v/h in addition to friction and weight, and
    /// things fall at the speed v_f = g h/ε. So the force of a push at v is too large by v/v_f of the weight. Forces
    /// are physical if v ≪ μ v_f. Measured at h = 0.01 s and κ = 1e6:
    ///
    /// | | exact | ε = 1 | 0.1 | 0.01 |
    /// |---|---|---|---|---|
    /// | a tip pushes a box of 0.5 kg at 8 cm/s, μ = 0.5: N | 2.45 | 6.45 | 2.85 | 2.49 |
    /// | a tip drags a plate of 0.2 kg under it at 8 cm/s, pressing with 4.2 N, μ = 0.3: N | 1.86 | 3.46 | 2.02 | 1.88 |
    /// | two tips lift 0.1 kg at 10 cm/s, pressing three times as hard as they must: N | 0.98 | 1.98 | 1.08 | 0.99 |
    /// | a ball falls by 10 cm: s | 0.14 | 1.02 | 0.11 | 0.02 |
    /// | Newton iterations of the push | | 19 | 19 | 19 |
    ///
    /// (`cargo test --release --test solve epsilon -- --nocapture` prints and checks the numbers.)
    ///
    /// Small ε costs no iterations, but it has two other effects. A thing that nothing holds moves far in one step, h²
    /// g/ε: 1 mm, 1 cm and 10 cm here. Contacts treat this motion as a straight line. And the barrier, which acts at a
    /// distance, drives things that nothing else holds (planar objects without ground) away from their neighbours, 1/√ε
    /// times as far. With the default, things fall at 1 m/s, as in reality after a fall of 5 cm. For other h, ε = 10 h
    /// (h in s) does the same.
    pub epsilon: f64,
    /// Barrier parameter κ, 1/J; positive, 1 … 1e8. Large κ is hard contact. A weight m g at rest hovers at 2/(κ m g),
    /// or half of that with Coulomb's law. [`Scene::with_hover`], or
    /// `hover` instead of `kappa` in a scene file, chooses κ by that height. A scene file that has neither gets 1e4, or
    /// as much more as it takes for nothing to rest higher than a twentieth of its size.
    ///
    /// Static friction creeps. A contact that presses with force f and uses a share r of its friction cone slides in
    /// each step by
    ///
    /// 2 r/((1 − r²) μ κ f).
    ///
    /// To hold a grip, choose κ by the slip that is acceptable, or divide it by [`Params::impratio`]. A sliding contact
    /// has the full friction μ f only if the slip in a step is large compared with the hovering height divided by μ. At
    /// slower slip the friction is less.
    pub kappa: f64,
    /// Friction coefficient of pairs without a rule; not negative.
    pub mu: f64,
    /// Torsional friction of pairs without a rule, m; not negative. With the default of 0, contacts are points and
    /// bodies turn freely about the normal. Otherwise a contact resists turning about its normal with a torque of up to
    /// this coefficient times its normal force. For a soft patch of radius r with uniform pressure the coefficient is
    /// 2/3 r μ.
    pub torsion: f64,
    /// The law of friction.
    pub friction: Friction,
    /// How much stiffer friction is than normal forces, without unit; 1 … 1e6, by default 10. Static friction creeps by
    /// so much less, at the same gaps, and holds what normal forces push out of a grip. MuJoCo's option of this name,
    /// for elliptic cones, is its like. By Coulomb's law alone: the relaxed law ties slip and gap together. Plans want
    /// it low, 1. What it costs and where it helps is in `docs/friction.md`.
    pub impratio: f64,
    /// Pairs farther apart than this, m, are left out of the sum and take almost no time; infinity keeps every pair.
    /// With a window in which they `fade` out, the step stays smooth. A step that takes bodies farther than this passes
    /// them through each other; `Quasidynamic::gaps` are negative there. For pairs with weights that vary (boxes,
    /// hulls), nothing is searched for where the balls around both shapes are farther apart than this: φ is then the
    /// distance of the balls, which is no more than that of the shapes.
    ///
    /// `None` leaves out pairs that would push with less than a hundredth of the weight of the lighter thing, or 20 mN,
    /// where they are also farther apart than 3/4 of the smaller shape's diameter and than 3 m/s times h. It keeps
    /// pairs of one contact, as spheres have, and half-spaces at every distance. Links of one robot that may have
    /// several contacts reach no farther than 2/(κ · 20 mN), or 1 m/s times h if that is more, in any case. See
    /// `docs/contact_points.md`.
    pub contact_distance: Option<f64>,
    /// Width of the window below `contact_distance` in which a pair's weight goes from 1 to 0, m. It follows a quintic
    /// smoothstep, which is twice continuously differentiable, down to a weight of 10⁻⁶. 0 is a hard cutoff.
    pub fade: f64,
    /// Are joint limits constraints of the step?
    pub joint_limits: bool,
    /// Do damping and armature of commanded joints act in the quasi-dynamic step? Without, a command pulls as if its
    /// controller made up for them, as it does for the weight and the inertia of the links: many files give numbers
    /// that are no more than a guess, and a joint with damping d under stiffness K lags by d/K seconds. Joints without
    /// a command, and those that one tendon pulls together, have them in any case, and so has every joint in the
    /// second-order step.
    pub joint_damping: bool,
    /// Does dry friction of commanded joints act in the quasi-dynamic step? A joint with dry friction F stays where it
    /// is while its command pulls by less than F, but for a creep (`docs/friction.md`); under stiffness K it stops up
    /// to F/K before its command. Joints without a command, and those that one tendon pulls together, have it in any
    /// case, and so has every joint in the second-order step.
    pub joint_friction: bool,
    /// Does a command pull no harder than its joint's largest effort in the quasi-dynamic step? Its force at the start
    /// of a step is then bounded by it, and a joint under a larger load yields by what the load is beyond that, divided
    /// by the stiffness, in each step. Without, commands pull as hard as their springs do, and
    /// `Quasidynamic::beyond_efforts` says which pull harder than they may.
    pub effort_limits: bool,
    /// Does the step see how surfaces curve that things roll on? Without, an ellipsoid swings about its rest for ever
    /// in long steps, and so does a plank on a lying cylinder: see `docs/rolling.md`. The key is there to compare both.
    /// Only ellipsoids that move freely, what lies on fixed cylinders and capsules, and what hangs from a grip in long
    /// steps differ.
    pub rolling: bool,
    /// Newton iterations after which a world gives up; 1 … [`Params::MOST_ITERATIONS`]. With Coulomb's law the limit
    /// holds for each of its solves.
    pub max_iterations: usize,
    /// Settings of the contact solve.
    pub solver: Settings,
}

impl Params {
    /// The bound of a command's force, N·m or N, given its joint's largest effort; infinite without
    /// [`Params::effort_limits`].
    pub fn bounded_effort(&self, effort: f64) -> f64 {
        if self.effort_limits { effort } else { f64::INFINITY }
    }

    /// This scene in steps of another length h, s, that come to the same in the same time: κ falls as h rises, so that
    /// friction creeps as far (creep is by the step), and ε rises with h, so that things fall as fast.
    ///
    /// One step for ten is then as near to the ten as their motion is straight. Gaps at rest grow with 1/κ.
    #[must_use]
    pub fn with_step(self, h: f64) -> Self {
        let times = h / self.h;
        Self { h, kappa: self.kappa / times, epsilon: self.epsilon * times, ..self }
    }
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
            impratio: 10.0,
            contact_distance: None,
            fade: 0.0,
            joint_limits: false,
            joint_damping: false,
            joint_friction: false,
            effort_limits: false,
            rolling: true,
            max_iterations: 1000,
            solver: Settings::default(),
        }
    }
}

/// The law that relates normal and friction forces to gap and slip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Friction {
    /// Anitescu's convex relaxation: every step has one answer, the minimiser of a convex function. A slip d opens a
    /// gap μ d. So a dragged body rises, and if something prevents that, it presses harder. For example, a cube at μ =
    /// 0.5 that is pushed twice as hard as friction can hold presses on the floor with 1.2 times its weight.
    #[default]
    Relaxed,
    /// Coulomb's law: friction lies in the cone of the normal force and opposes the slip. The gap is 1/(κ f_n), half of
    /// that of frictionless contact in the relaxed law. A step may have several answers; the one that is found sticks
    /// if a sticking answer exists near the start. If none is found, the step returns the relaxed answer with the
    /// status `unsettled`.
    Coulomb,
}

impl Friction {
    /// Both laws, the default first.
    pub const ALL: [Self; 2] = [Self::Relaxed, Self::Coulomb];

    /// The name in scene files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Relaxed => "relaxed",
            Self::Coulomb => "coulomb",
        }
    }
}

/// A robot. Its joints with a single coordinate are commanded, with impedance, unless they are [`Robot::passive`].
///
/// A movable root link moves like an object. In the step's P its block is ε M/h², with M the inertia of the whole robot
/// about it in the present posture. The weight of all links acts on it, so the contact forces on a standing robot add
/// up to its weight. The commanded joints remain springs without inertia; gravity on the links is compensated for them.
/// P does not couple them with the root: a leg that moves in the air does not turn the body.
#[derive(Clone, Debug, PartialEq)]
pub struct Robot {
    /// The name, unique among robots and objects.
    pub name: String,
    /// Links and joints.
    pub articulation: Articulation,
    /// Freedom of the root link in the world; usually [`Freedom::Fixed`]. Its coordinates come before those of
    /// the joints in q, and are not commanded.
    pub freedom: Freedom,
    /// Pose of the root link in the world, or its starting pose if it may move; in the frame of the link that it is
    /// mounted on, if it is.
    pub base: Isometry3<f64>,
    /// The link of another robot that the root link is welded to, if it does not stand in the world.
    pub mount: Option<Mount>,
    /// Stiffness of joints without an entry below, N·m/rad or N/m; positive.
    pub default_stiffness: f64,
    /// Stiffness by joint name.
    pub stiffness: BTreeMap<String, f64>,
    /// Starting q by joint name; other joints start at 0, or at the limit nearest to 0.
    pub home: BTreeMap<String, f64>,
    /// Joints that nothing commands, by name. Their springs and damping, tendons and the inertia of what they carry
    /// hold them, and weight acts on them unless a tendon pulls them.
    pub passive: BTreeSet<String>,
    /// Commands that pull several joints.
    pub tendons: Vec<Tendon>,
    /// The map from actuators of the robot's MJCF to commands; none where the robot comes from elsewhere.
    pub actuators: Vec<ActuatorMap>,
    /// Named points on its links.
    pub sites: Vec<Site>,
}

/// A link of another robot, which stands before the mounted one in [`Scene::robots`].
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mount {
    /// The other robot's name.
    pub robot: String,
    /// The name of its link.
    pub link: String,
}

/// A named point with axes. It has no effect on the step; kinematics give its pose.
#[derive(Clone, Debug, PartialEq)]
pub struct Site {
    /// The name, unique within its robot or object.
    pub name: String,
    /// The link that it is on; none for the root link, or for an object that is one rigid body.
    pub link: Option<String>,
    /// Pose of the site in the frame of the link or the body.
    pub pose: Isometry3<f64>,
}

/// A command that pulls several joints: the spring of `joint`'s command is as long as q_joint + Σ ratio · q_other, in
/// place of q_joint alone. With stiffness K it adds K c cᵀ to P, c being 1 and the ratios, and u commands that length.
#[derive(Clone, Debug, PartialEq)]
pub struct Tendon {
    /// The joint whose command it is, by name.
    pub joint: String,
    /// Ratios of the other joints, by name. Those that are passive need a spring, damping or armature of their own.
    pub others: BTreeMap<String, f64>,
}

/// An actuator of an MJCF as a command: u of its joint is the sum of gain · ctrl + offset over the joint's actuators.
#[derive(Clone, Debug, PartialEq)]
pub struct ActuatorMap {
    /// The actuator's name.
    pub name: String,
    /// The joint that it commands.
    pub joint: String,
    /// Change of u, rad or m, with its control.
    pub gain: f64,
    /// u, rad or m, at a control of 0.
    pub offset: f64,
    /// The range of its control, if it has one.
    pub range: Option<[f64; 2]>,
}

impl Robot {
    /// Is this a joint of its own that has a command: one with a coordinate of its own, and not passive?
    pub fn is_commanded(&self, joint: &Joint) -> bool {
        joint.is_commandable() && !self.passive.contains(&joint.name)
    }

    /// The tendon that the command of the joint with this name pulls, if it pulls more than the joint.
    pub fn tendon(&self, joint: &str) -> Option<&Tendon> {
        self.tendons.iter().find(|tendon| tendon.joint == joint)
    }

    /// The command that holds a commanded joint at home, rad or m: its home, or the length there of the tendon that it
    /// pulls.
    pub fn home_command(&self, joint: &Joint) -> f64 {
        let home = |joint: &Joint| joint.home(self.home.get(&joint.name).copied());
        let other = |(name, ratio): (&String, &f64)| {
            let joint = self.articulation.joints.iter().find(|joint| joint.name == *name);
            joint.map_or(0.0, |joint| ratio * home(joint))
        };
        home(joint) + self.tendon(&joint.name).map_or(0.0, |tendon| tendon.others.iter().map(other).sum())
    }

    /// The commands u by joint, rad or m, for controls of MJCF actuators by name; an actuator without one has 0.
    pub fn commands(&self, ctrl: &BTreeMap<&str, f64>) -> BTreeMap<String, f64> {
        let mut u = BTreeMap::new();
        for ActuatorMap { name, joint, gain, offset, .. } in &self.actuators {
            let ctrl = ctrl.get(name.as_str()).copied().unwrap_or(0.0);
            *u.entry(joint.clone()).or_insert(0.0) += gain * ctrl + offset;
        }
        u
    }
}

/// An object to be moved, or an obstacle.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// The name, unique among robots and objects.
    pub name: String,
    /// One rigid body, or links and joints.
    pub body: ObjectBody,
    /// Freedom of the body, or of the root link, in the world.
    pub freedom: Freedom,
    /// Starting pose of the body's frame or root link in the world; for [`Freedom::Fixed`], its constant pose.
    pub pose: Isometry3<f64>,
    /// The table that a planar rigid body lies on.
    pub table: Option<Table>,
    /// Named points on it.
    pub sites: Vec<Site>,
}

impl Object {
    /// The c of its table, m: the given one, or that of uniform pressure on the footprint, which is the mean distance
    /// of its points from the centre of mass (2/3 r for a disc). The footprint is what all shapes together cover of the
    /// plane. None without a table, and without a footprint.
    pub fn table_radius(&self) -> Option<f64> {
        let table = self.table?;
        let ObjectBody::Rigid { inertia, collisions } = &self.body else { return table.radius };
        let com = inertia.as_ref().map_or(Vector3::zeros(), |inertia| inertia.com);
        table.radius.or_else(|| mean_distance(collisions, com.xy()))
    }
}

/// The body or bodies of an object.
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

/// The freedom of an object, or of the root link of a robot, to move in the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Freedom {
    /// Six degrees of freedom: q = (x, y, z, qw, qx, qy, qz).
    Free,
    /// In the world's x–y plane: q = (x, y, yaw). The height stays as in the pose, which may not tilt.
    Planar,
    /// Without rotation: q = (x, y, z), along the world's axes. The orientation stays as in the pose.
    Translation,
    /// It does not move, and has no coordinates.
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

/// Commands at one time. Between two keyframes u is interpolated linearly.
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
    /// Friction coefficient; `None` does not change it.
    pub mu: Option<f64>,
    /// Torsional friction, m, see [`Params::torsion`]; `None` does not change it.
    pub torsion: Option<f64>,
    /// May these touch? `false` excludes the pairs. `true` includes them, even if they overlap at home. `None` does not
    /// change it.
    pub enabled: Option<bool>,
}
