//! Joint effects in a second-order step: springs, damping, armature, dry friction, effort limits.

use crate::kinematics::{Coordinate, Tree};
use crate::step::fused::JointForces;

/// Springs, damping, armature, dry friction and effort of a model's joints.
pub(super) fn joint_forces(tree: &Tree) -> JointForces {
    let row = |of: fn(&Coordinate) -> f64, nothing: f64| {
        let mut values = vec![nothing; tree.nv];
        for coordinate in &tree.coordinates {
            values[coordinate.dofs()].fill(of(coordinate));
        }
        values
    };
    let dofs = |(k, c): (usize, &Coordinate)| c.dofs().map(move |dof| (k, dof));
    JointForces {
        springs: tree.sprung().enumerate().map(|(k, c)| (k, c.v, c.q)).collect(),
        damping: tree.damped().enumerate().flat_map(dofs).collect(),
        armature: tree.armoured().enumerate().flat_map(dofs).collect(),
        friction: row(|c| c.friction, 0.0),
        effort: row(|c| c.effort, f64::INFINITY),
    }
}
