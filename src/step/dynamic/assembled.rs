//! What a step solves, before the solve.

use candle_core::{Result, Tensor};

use super::Dynamic;
use super::options::Bound;
use super::state::State;
use crate::contact::Contacts;
use crate::step::operands::detect;

/// Contacts, masses and forces.
pub(super) struct Assembled {
    pub(super) contacts: Contacts,
    pub(super) screws: Tensor,
    /// M (B, nv · nv), its diagonal (B, nv), and τ − b (B, nv).
    pub(super) mass: Tensor,
    pub(super) diagonal: Tensor,
    pub(super) force: Tensor,
    /// M v.
    pub(super) momentum: Tensor,
    /// −h l (B, nc), the contacts' weights (B, nc), −h l of the limits.
    pub(super) gap: Tensor,
    pub(super) weight: Tensor,
    pub(super) limit_gap: Option<Tensor>,
}

impl Dynamic {
    pub(super) fn assemble(&self, State { q, v, tau, .. }: &State) -> Result<Assembled> {
        let (model, parameters) = (&self.model, &self.parameters);
        let (b, nv) = v.dims2()?;
        let frames = model.kinematics.frames(q, &parameters.offsets)?;
        let contacts = detect(model, parameters, &frames)?;
        let (gap, weight) = self.gaps(&contacts.phi)?;
        let limit_gap = match self.limit_dofs.len() {
            0 => None,
            _ => Some(self.allowed(&self.limits.gaps(q)?)?),
        };
        let mass = self.dynamics.mass_matrix(q)?;
        let momentum = mass.broadcast_mul(&v.unsqueeze(1)?)?.sum(2)?;
        let applied = self.joints.limited(tau)?.broadcast_add(&parameters.tau)?;
        let force = (applied - self.dynamics.bias(q, v)?)?;
        let mass = mass.reshape((b, nv * nv))?;
        let diagonal = mass.index_select(&self.diagonal, 1)?;
        Ok(Assembled { contacts, screws: frames.screws, mass, diagonal, force, momentum, gap, weight, limit_gap })
    }

    /// −h l and weight of each contact (B, nc).
    fn gaps(&self, phi: &Tensor) -> Result<(Tensor, Tensor)> {
        let weight = self.contacts.weights(phi)?;
        match self.params.bound {
            Bound::Gap { .. } => Ok((self.allowed(phi)?, weight)),
            Bound::Velocity { margin } => {
                let near = phi.detach().le(margin)?.to_dtype(phi.dtype())?;
                Ok((phi.detach().zeros_like()?, (weight * near)?))
            }
        }
    }

    /// max(φ, 0) + β min(φ, 0): the way that a gap may close within the step; negative, the way that it must open.
    fn allowed(&self, phi: &Tensor) -> Result<Tensor> {
        let beta = match self.params.bound {
            Bound::Gap { beta } => beta,
            Bound::Velocity { .. } => 0.0,
        };
        phi.relu()? - (phi.neg()?.relu()? * beta)?
    }
}
