//! Motions that nothing holds and that move no mass: with those a step has no answer.

use candle_core::{DType, Device, Result, bail};
use nalgebra::DMatrix;

use crate::dynamics::Dynamics;
use crate::kinematics::Manifold;
use crate::model::Model;

/// Each motion that no command holds must move some mass that the others do not, or the step has no answer.
pub(super) fn check_inertias(model: &Model) -> Result<()> {
    let tree = &model.tree;
    // A rigid object's inertia has been validated by itself.
    if model.inertial.iter().all(|&body| tree.bodies[body].parent == 0) {
        return Ok(());
    }
    let free: Vec<usize> = (0..tree.nv).filter(|dof| !tree.actuated.contains(dof)).collect();
    let dynamics = Dynamics::new(tree, [0.0; 3], DType::F64, &Device::Cpu)?;
    // What is weightless is so at every q, so that one q that has nothing special shows it.
    let q = Manifold::new(tree, &Device::Cpu)?.random(1, 1, DType::F64, &Device::Cpu)?;
    let rows = dynamics.mass_matrix(&q)?.squeeze(0)?.to_vec2::<f64>()?;
    let m = DMatrix::from_fn(free.len(), free.len(), |i, j| rows[free[i]][free[j]]);
    match weightless(m).and_then(|place| tree.coordinate_of(free[place])).map(|coordinate| &coordinate.name) {
        None => Ok(()),
        Some(name) => bail!(
            "\"{name}\": expected it to move some mass that no other joint moves in the same way, got none: give its link \
             an inertia, or fix it"
        ),
    }
}

/// The last place whose motion moves no mass but what those after it move: there the pivot of M = LᵀL vanishes.
fn weightless(mut m: DMatrix<f64>) -> Option<usize> {
    /// Pivots of joints with mass are above 1e-6 of their diagonal entry; rounding leaves 1e-16 of it.
    const PIVOT: f64 = 1e-13;
    let diagonal = m.diagonal();
    for k in (0..m.nrows()).rev() {
        let has_mass = m[(k, k)] > PIVOT * diagonal[k];
        if !has_mass {
            return Some(k);
        }
        for i in 0..k {
            let factor = m[(i, k)] / m[(k, k)];
            (0..k).for_each(|j| m[(i, j)] -= factor * m[(k, j)]);
        }
    }
    None
}
