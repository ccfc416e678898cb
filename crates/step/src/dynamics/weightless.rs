//! Coordinates that move no mass: no force gives them an acceleration.

use candle_core::{DType, Device, Result, bail};
use nalgebra::DMatrix;

use super::{Dynamics, Quantity};
use crate::kinematics::{Manifold, Tree};

/// Pivots of joints with mass are above 1e-6 of their diagonal entry; rounding leaves 1e-16 of it.
const PIVOT: f64 = 1e-13;

impl Dynamics {
    /// The name of the last coordinate that, while all but these degrees of freedom are held, moves no mass but what
    /// those behind it move; none if there is no such. M is then singular at every q, so that one q that has nothing
    /// special shows it.
    pub(crate) fn find_weightless(&self, tree: &Tree, dofs: &[usize]) -> Result<Option<String>> {
        let q = Manifold::new(tree, &Device::Cpu)?.random(1, 1, DType::F64, &Device::Cpu)?;
        let (rows, _) = self.evaluate(Quantity::MassMatrix, &[("q", &q)])?;
        let mut m = DMatrix::from_fn(dofs.len(), dofs.len(), |i, j| rows[dofs[i] * tree.nv + dofs[j]]);
        // M = LᵀL, from the leaves of the tree up.
        let diagonal = m.diagonal();
        for k in (0..dofs.len()).rev() {
            let has_mass = m[(k, k)] > PIVOT * diagonal[k];
            if !has_mass {
                return Ok(tree.coordinate_of(dofs[k]).map(|coordinate| coordinate.name.clone()));
            }
            for i in 0..k {
                let factor = m[(i, k)] / m[(k, k)];
                if factor != 0.0 {
                    (0..k).for_each(|j| m[(i, j)] -= factor * m[(k, j)]);
                }
            }
        }
        Ok(None)
    }

    /// The name of a coordinate that moves no mass but what others move in the same way, if there is one.
    pub(crate) fn weightless(&self) -> Option<&str> {
        self.weightless.as_deref()
    }

    /// Does every joint move some mass?
    ///
    /// # Errors
    /// If one does not; the message names it.
    pub(super) fn all_heavy(&self) -> Result<()> {
        match &self.weightless {
            Some(name) => bail!("forward dynamics: expected every joint to move some mass, but \"{name}\" does not"),
            None => Ok(()),
        }
    }
}
