//! Coordinates that move no mass: no force gives them an acceleration.

use candle_core::{DType, Device, Result, bail};

use super::{Dynamics, Quantity};
use crate::kinematics::{Coordinate, Manifold, Tree};

impl Dynamics {
    /// The names of coordinates that move no mass which others do not move already, the last of each chain: M is then singular at
    /// every q, so that one q that has nothing special shows it.
    pub(super) fn find_weightless(&self, tree: &Tree) -> Result<Vec<String>> {
        let q = Manifold::new(tree, &Device::Cpu)?.random(1, 1, DType::F64, &Device::Cpu)?;
        let (pivots, _) = self.evaluate(Quantity::Pivots, &[("q", &q)])?;
        // Pivots of joints with mass are above 1e-6 of their diagonal entry; rounding leaves 1e-16 of it.
        let light: Vec<_> = (0..tree.nv)
            .filter(|&dof| pivots[dof] < 1e-13 || pivots[dof].is_nan())
            .filter_map(|dof| Some((dof, tree.coordinate_of(dof)?)))
            .collect();
        // M is factored from the leaves up: a pivot of 0/0 spoils those above it.
        let mut is_above = vec![false; tree.nv];
        for (_, Coordinate { body, kind, v, .. }) in &light {
            let dofs = tree.path(*body).into_iter().map(|screw| tree.screw_dof[screw]);
            dofs.filter(|dof| !(*v..v + kind.nv()).contains(dof)).for_each(|dof| is_above[dof] = true);
        }
        Ok(light.iter().filter(|(dof, _)| !is_above[*dof]).map(|(_, coordinate)| coordinate.name.clone()).collect())
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
