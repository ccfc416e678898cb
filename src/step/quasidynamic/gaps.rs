//! What a step leaves between bodies.

use candle_core::{Result, Tensor};

use super::Quasidynamic;
use crate::math::operation::Operation;
use crate::step::gaps::Gaps;
use crate::step::result::Step;

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
        let frames = self.model.kinematics.frames(&self.usable(q)?, &self.parameters.offsets)?;
        let op = Gaps { structure: self.structure.clone(), nc: self.model.nc() };
        let op = Operation::rowwise(op, &self.structure.kernels);
        step.contacts.geometry(&step.contacts.phi)?.apply_op3(&frames.screws, &step.delta, op)
    }
}
