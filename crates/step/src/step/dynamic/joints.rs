//! Joint effects in a second-order step: damping, dry friction, effort limits.

use crate::kinematics::{Coordinate, Tree};
use crate::step::fused::JointForces;

/// Damping, dry friction and effort limits of a model's joints, for each degree of freedom.
pub(super) fn joint_forces(tree: &Tree) -> JointForces {
    let row = |of: fn(&Coordinate) -> f64, nothing: f64| {
        let mut values = vec![nothing; tree.nv];
        for coordinate in &tree.coordinates {
            values[coordinate.v..coordinate.v + coordinate.kind.nv()].fill(of(coordinate));
        }
        values
    };
    JointForces {
        damping: row(|c| c.damping, 0.0),
        friction: row(|c| c.friction, 0.0),
        effort: row(|c| c.effort, f64::INFINITY),
    }
}
