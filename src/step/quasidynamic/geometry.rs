//! Contacts that do not come from the scene's shapes.

use std::fmt::Debug;
use std::sync::Arc;

use candle_core::{Result, Tensor, bail};

use super::Quasidynamic;
use crate::contact::Contacts;
use crate::kinematics::Frames;
use crate::step::operands::{detect, detect_on_lanes, shape_poses};

/// Where contacts come from instead of the scene's shapes: a learned distance, a height field, what a camera has seen.
///
/// The scene says which bodies may touch and how many contacts a pair has; its shapes there are stand-ins. See
/// [`Quasidynamic::with_geometry`].
pub trait Geometry: Debug + Send + Sync {
    /// The contacts of B worlds where the model's shapes have the given poses (B, n_shapes, 12): position, then the three columns
    /// of the rotation matrix. `own` are the contacts that the shapes themselves have, in the order of
    /// [`PairTable::pair_of_contact`](crate::contact::PairTable::pair_of_contact); what is returned has the same shapes, and keeps
    /// those contacts that are to stay as they are.
    ///
    /// Gradients flow through whatever the result is made of. φ is to be the signed distance of the two bodies or near to that, m;
    /// the normal of length one, from A to B, the direction in which φ grows when B moves.
    ///
    /// # Errors
    /// Its own; they become the step's.
    fn contacts(&self, poses: &Tensor, own: Contacts) -> Result<Contacts>;
}

impl Quasidynamic {
    /// The same step with contacts from elsewhere, computed by the tensor program, which differentiates through them.
    #[must_use]
    pub fn with_geometry(&self, geometry: Arc<dyn Geometry>) -> Self {
        let mut step = self.as_tensor_program();
        step.geometry = Some(geometry);
        step
    }

    /// Do contacts come from elsewhere than the scene's shapes?
    pub(crate) fn has_own_geometry(&self) -> bool {
        self.geometry.is_some()
    }

    /// The contacts at q (B, nq), as a step from there has them. Differentiable in q and parameters.
    ///
    /// # Errors
    /// If q is of another shape or type.
    pub fn contacts(&self, q: &Tensor) -> Result<Contacts> {
        let (model, parameters) = (self.model(), self.parameters());
        match q.dims() {
            [b, n] if *n == model.nq() && *b > 0 && q.dtype() == model.dtype => {}
            got => {
                bail!("contacts: expected q (B, {}) of {:?}, got {got:?} of {:?}", model.nq(), model.dtype, q.dtype())
            }
        }
        let frames = model.kinematics.frames(&self.usable(q)?, &parameters.offsets)?;
        match &self.geometry {
            None => detect_on_lanes(model, parameters, &frames),
            Some(_) => self.contacts_of(&frames),
        }
    }

    /// The contacts where the frames are.
    pub(super) fn contacts_of(&self, frames: &Frames) -> Result<Contacts> {
        let own = detect(self.model(), self.parameters(), frames)?;
        let Some(geometry) = &self.geometry else { return Ok(own) };
        let expected = [&own.point_a, &own.point_b, &own.normal, &own.phi].map(|t| t.dims().to_vec());
        let contacts = geometry.contacts(&shape_poses(self.model(), frames)?, own)?;
        let Contacts { point_a, point_b, normal, phi, weight } = &contacts;
        let weight = weight.as_ref().map(|weight| ("weight", weight, expected[3].clone()));
        let parts = [("point_a", point_a), ("point_b", point_b), ("normal", normal), ("phi", phi)];
        for (name, got, expected) in
            parts.into_iter().zip(expected).map(|((name, t), dims)| (name, t, dims)).chain(weight)
        {
            let dtype = self.model().dtype;
            if got.dims() != expected || got.dtype() != dtype {
                let (dims, found) = (got.dims(), got.dtype());
                bail!("geometry: expected `{name}` {expected:?} of {dtype:?}, got {dims:?} of {found:?}");
            }
        }
        Ok(contacts)
    }
}
