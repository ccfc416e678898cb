//! Coordinates that move no mass: no force gives them an acceleration.

use candle_core::{DType, Device, Result, bail};

use super::{Dynamics, Quantity};
use crate::kinematics::{Manifold, Tree};

impl Dynamics {
    /// The names of coordinates that move no mass which others do not move already: M is then singular at every q, so that
    /// one q that has nothing special shows it.
    pub(super) fn find_weightless(&self, tree: &Tree) -> Result<Vec<String>> {
        let q = Manifold::new(tree, &Device::Cpu)?.random(1, 1, DType::F64, &Device::Cpu)?;
        let (pivots, _) = self.evaluate(Quantity::Pivots, &[("q", &q)])?;
        // Pivots of joints with mass are above 1e-6 of their diagonal entry; rounding leaves 1e-16 of it.
        let light = (0..tree.nv).filter(|&dof| pivots[dof] < 1e-13 || pivots[dof].is_nan());
        Ok(light.filter_map(|dof| Some(tree.coordinate_of(dof)?.name.clone())).collect())
    }

    /// Does every joint move some mass?
    ///
    /// # Errors
    /// If one does not; the message names it.
    pub(super) fn all_heavy(&self) -> Result<()> {
        match self.weightless.first() {
            Some(name) => bail!("forward dynamics: expected every joint to move some mass, but \"{name}\" does not"),
            None => Ok(()),
        }
    }
}
