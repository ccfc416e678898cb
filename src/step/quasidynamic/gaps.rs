//! What a step leaves between bodies.

use candle_core::{Result, Tensor};

use super::{Quasidynamic, Step};
use crate::math::tensor::{cross, dot, part};
use crate::step::operands::contact_paths;

impl Quasidynamic {
    /// The gap that a step from q (B, nq) leaves at each contact (B, nc), m: ν_n = φ + n · J δ, what the barrier keeps positive.
    ///
    /// It is the gap after the motion of the contact's two points along its normal at q, and so that of the geometry at q₊ but for
    /// an error of the second order in δ. Differentiable as the step's own
    /// results. In worlds without a solution it is φ.
    ///
    /// # Errors
    /// If `step` is not of as many worlds as q.
    pub fn gaps(&self, q: &Tensor, step: &Step) -> Result<Tensor> {
        let model = self.model();
        let (contacts, nc, ns) = (&step.contacts, model.nc(), model.tree.ns);
        if nc == 0 || ns == 0 {
            return Ok(contacts.phi.clone());
        }
        let frames = model.kinematics.frames(&self.usable(q)?, &self.parameters().offsets)?;
        let dofs: Vec<u32> = model.tree.screw_dof.iter().map(|&dof| dof as u32).collect();
        let delta = step.delta.contiguous()?.index_select(&Tensor::new(dofs, q.device())?, 1)?.unsqueeze(2)?;
        let moved = frames.screws.reshape((q.dim(0)?, ns, ()))?.broadcast_mul(&delta)?;
        let mut carried = [vec![0.0; nc * ns], vec![0.0; nc * ns]];
        for (i, paths) in contact_paths(model).iter().take(nc).enumerate() {
            for (side, path) in carried.iter_mut().zip([&paths.a, &paths.b]) {
                path.iter().for_each(|&(screw, _)| side[i * ns + screw] = 1.0);
            }
        }
        let velocity = |side: &[f64], point: &Tensor| {
            let side = Tensor::from_slice(side, (nc, ns), q.device())?.to_dtype(q.dtype())?;
            let twist = side.broadcast_matmul(&moved)?;
            part(&twist, 2, 3, 3)? + cross(&part(&twist, 2, 0, 3)?, point)?
        };
        let apart = (velocity(&carried[1], &contacts.point_b)? - velocity(&carried[0], &contacts.point_a)?)?;
        &contacts.phi + dot(&contacts.normal, &apart)?.reshape(contacts.phi.shape())?
    }
}
