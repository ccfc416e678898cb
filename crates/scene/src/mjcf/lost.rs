//! What bodies and joints of a file have that links and joints here have not.

use super::Mjcf;
use super::body::{Body, Joint as FileJoint, Tree};
use super::relation::Key;
use crate::left_out::listed;
use crate::{Articulation, Joint, JointKind, Robot};

/// Warnings on joints and bodies of a file's trees.
pub(super) fn of_tree(tree: &Tree, key: Option<&Key>) -> Vec<String> {
    let mut warnings = Vec::new();
    let mut list = |what: &str, names: Vec<&str>| {
        if !names.is_empty() {
            warnings.push(format!("{what}: {}", names.join(", ")));
        }
    };
    let has_angles = |joint: &FileJoint| {
        joint.kind == JointKind::Spherical && (joint.limits.is_some() || joint.spring.stiffness > 0.0)
    };
    let of = |is: &dyn Fn(&FileJoint) -> bool| -> Vec<&str> {
        tree.joints().filter(|(_, joint)| is(joint)).map(|(_, joint)| joint.name.as_str()).collect()
    };
    list("range and spring of ball joints left out", of(&has_angles));
    let is_negative = |joint: &FileJoint| {
        [joint.damping, joint.friction, joint.armature, joint.spring.stiffness].iter().any(|x| *x < 0.0)
    };
    list("negative damping, frictionloss, armature or stiffness of joints taken for none", of(&is_negative));
    list("of stiffness and damping that change with q the constant alone is taken", of(&|joint| joint.is_nonlinear));
    let mut at = 0;
    let qpos = key.map_or(&[][..], |key| &key.qpos);
    let starts = tree.joints().filter_map(|(_, joint)| {
        let numbers = qpos.get(at..at + joint.kind.nq());
        at += joint.kind.nq();
        let turns = numbers.is_some_and(|q| q.iter().skip(1).any(|x| *x != 0.0));
        (joint.kind == JointKind::Spherical && turns).then_some(joint.name.as_str())
    });
    let starts: Vec<&str> = starts.collect();
    list("home of ball joints left out", starts);
    let mocap = tree.bodies.iter().filter(|body| body.is_mocap).map(|body| body.name.as_str()).collect();
    list("bodies that are moved from outside (mocap) are fixed here", mocap);
    warnings
}

/// A warning on what a free joint has and a free body here has not. One of several trees `keeps` its damping, friction
/// and armature.
pub(super) fn of_free(joint: &FileJoint, keeps: bool) -> Option<String> {
    if joint.kind != JointKind::Floating {
        return None;
    }
    let FileJoint { name, damping, friction, armature, spring, .. } = joint;
    let resistance = [("damping", *damping), ("frictionloss", *friction), ("armature", *armature)];
    let has = resistance.into_iter().filter(|_| !keeps).chain([("stiffness", spring.stiffness)]);
    let has: Vec<String> = has.filter(|(_, x)| *x > 0.0).map(|(key, x)| format!("{key} {x}")).collect();
    (!has.is_empty()).then(|| format!("free joint \"{name}\": {} left out", has.join(", ")))
}

impl Mjcf<'_> {
    /// A warning on bodies without weight in the file that have it here. That of a fixed robot's links is compensated
    /// for in any case.
    pub(super) fn weighted(&self) -> Option<String> {
        if self.gravity == Some([0.0; 3]) {
            return None;
        }
        let is_compensated = |root: usize| {
            self.is_robot(root) && self.tree.bodies[root].joints.iter().all(|joint| joint.kind != JointKind::Floating)
        };
        let bodies = self.tree.bodies.iter().enumerate().skip(1);
        let has_weight = |(b, body): &(usize, &Body)| body.weightless != 0.0 && !is_compensated(self.tree.root_of(*b));
        let names: Vec<&str> = bodies.filter(has_weight).map(|(_, body)| body.name.as_str()).collect();
        (!names.is_empty()).then(|| format!("gravcomp left out, weight acts on {}", names.join(", ")))
    }

    /// A note on the links of a robot whose weight pulls its commanded joints in the file and not here.
    pub(super) fn unfelt(&self, robot: &Robot, gravity: [f64; 3]) -> Option<String> {
        let Articulation { links, joints, .. } = &robot.articulation;
        let is_commanded = |joint: &Joint| robot.is_commanded(joint.mimic.map_or(joint, |mimic| &joints[mimic.joint]));
        let above = |link: usize| joints.iter().find(|joint| joint.child == link);
        let weighs = |link: &str| {
            let of = self.tree.bodies.iter().find(|body| body.name == link);
            of.is_some_and(|body| body.weightless != 1.0 && body.inertia.as_ref().is_some_and(|of| of.mass > 0.0))
        };
        let carried = links.iter().enumerate().filter(|(at, link)| {
            let mut path = std::iter::successors(above(*at), |joint| above(joint.parent));
            weighs(&link.name) && path.any(is_commanded)
        });
        let carried: Vec<&str> = carried.map(|(_, link)| link.name.as_str()).collect();
        let what = "commanded joints carry these links without their weight, as with gravcomp";
        (!carried.is_empty() && gravity != [0.0; 3]).then(|| format!("{what}: {}", listed(&carried)))
    }
}
