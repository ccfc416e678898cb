//! Joint effects in a second-order step: springs, damping, armature, dry friction, effort limits.

use crate::kinematics::{Coordinate, Tree};
use crate::step::fused::JointForces;

/// Springs, damping, armature, dry friction and effort of a model's joints.
pub(super) fn joint_forces(tree: &Tree) -> JointForces {
    let (mut effort, mut friction) = (vec![f64::INFINITY; tree.nv], vec![None; tree.nv]);
    tree.coordinates.iter().for_each(|c| effort[c.dofs()].fill(c.effort));
    tree.dry().enumerate().for_each(|(k, c)| friction[c.dofs()].fill(Some(k)));
    let dofs = |(k, c): (usize, &Coordinate)| c.dofs().map(move |dof| (k, dof));
    JointForces {
        springs: tree.sprung().enumerate().map(|(k, c)| (k, c.v, c.q)).collect(),
        damping: tree.damped().enumerate().flat_map(dofs).collect(),
        armature: tree.armoured().enumerate().flat_map(dofs).collect(),
        friction,
        effort,
    }
}
