//! Checks for motions that no command holds and that move no mass: the step of a model with such a motion has no
//! answer.

use candle_core::{DType, Device, Result, bail};

use crate::dynamics::Dynamics;
use crate::kinematics::Coordinate;
use crate::model::Model;

/// Checks that each motion without a command, spring, damping or armature moves some mass that the others do not;
/// otherwise the step has no answer.
pub(super) fn check_inertias(model: &Model) -> Result<()> {
    let tree = &model.tree;
    // A rigid object's inertia has been validated by itself.
    if model.inertial.iter().all(|&body| tree.bodies[body].parent == 0) {
        return Ok(());
    }
    let dynamics = Dynamics::new(tree, [0.0; 3], DType::F64, &Device::Cpu)?;
    let is_held = |dof: &usize| tree.coordinate_of(*dof).is_some_and(Coordinate::is_held);
    let dofs: Vec<usize> = tree.passive().into_iter().filter(|dof| !is_held(dof)).collect();
    match dynamics.find_weightless(tree, &dofs)? {
        None => Ok(()),
        Some(name) => bail!(
            "\"{name}\": expected it to move some mass that no other joint moves in the same way, got none: give its link \
             an inertia, or fix it"
        ),
    }
}
