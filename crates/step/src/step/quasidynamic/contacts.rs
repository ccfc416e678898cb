//! A step's contacts: those of the scene's shapes, or those that a [`Geometry`] gives.

use std::sync::Arc;

use candle_core::{Result, Tensor, bail};

use super::Quasidynamic;
use super::geometry::{Geometry, UsableContacts, asked, deep, tolerance};
use crate::contact::Contacts;
use crate::kinematics::Frames;
use crate::step::operands::{detect, mask, shape_poses};
use crate::tensor::operation::Operation;
use crate::tensor::select;

impl Quasidynamic {
    /// A copy of this step with contacts from `geometry` instead of the scene's shapes. The tensor program computes it
    /// and differentiates through the geometry.
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

    /// The contacts at q (B, nq), as in a step from q. Differentiable in q and parameters.
    ///
    /// # Errors
    /// If q has another shape or type.
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
            None => detect(model, parameters, &frames),
            Some(_) => Ok(self.contacts_of(&frames)?.0),
        }
    }

    /// The contacts where the frames are, and a mask (B, 1) of the worlds in which they are what was asked for; none if
    /// that is all.
    pub(super) fn contacts_of(&self, frames: &Frames) -> Result<(Contacts, Option<Tensor>)> {
        let (model, own) = (self.model(), detect(self.model(), self.parameters(), frames)?);
        let Some(geometry) = &self.geometry else { return Ok((own, None)) };
        let poses = shape_poses(model, frames)?;
        let contacts = asked(&**geometry, &poses, &own)?;
        if model.nc() == 0 {
            return Ok((contacts, None));
        }
        let Some(good) = mask(&self.usable_worlds(&contacts)?)? else { return Ok((contacts, None)) };
        let shapes = own.map(|t| Ok(t.detach()))?;
        let first = good.flatten_all()?.to_vec1::<u8>()?.iter().position(|&good| good != 0);
        let Some(stand_in) = first else { return Ok((shapes, Some(good))) };
        // What comes of these poses is finite, and so is what it hands back of a gradient of zero.
        let sound = |t: &Tensor| select(&deep(&good, t)?, t, &t.detach().narrow(0, stand_in, 1)?);
        let contacts = asked(&**geometry, &sound(&poses)?, &own.map(sound)?)?;
        let kept = |theirs: &Tensor, own: &Tensor| select(&deep(&good, theirs)?, theirs, own);
        let weight = match (&contacts.weight, &shapes.weight) {
            (Some(theirs), Some(own)) => Some(kept(theirs, own)?),
            (Some(theirs), None) => Some(kept(theirs, &theirs.ones_like()?)?),
            (None, _) => None,
        };
        let contacts = Contacts {
            point_a: kept(&contacts.point_a, &shapes.point_a)?,
            point_b: kept(&contacts.point_b, &shapes.point_b)?,
            normal: kept(&contacts.normal, &shapes.normal)?,
            phi: kept(&contacts.phi, &shapes.phi)?,
            weight,
        };
        Ok((contacts, Some(good)))
    }

    /// 1 in worlds whose contacts have numbers in range and normals of length one, 0 in others (B, 1).
    fn usable_worlds(&self, contacts: &Contacts) -> Result<Tensor> {
        let contacts = contacts.map(|t| Ok(t.detach()))?;
        let mut weights = self.contacts.weights(&contacts.phi)?;
        if let Some(weight) = &contacts.weight {
            weights = (weights * weight)?;
        }
        let op = UsableContacts { nc: self.model().nc(), tolerance: tolerance(self.model().dtype) };
        let op = Operation::rowwise(op, &self.structure.kernels);
        contacts.geometry(&contacts.phi)?.apply_op2(&weights, op)
    }
}
