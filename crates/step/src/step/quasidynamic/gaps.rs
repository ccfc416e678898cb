//! The gaps that a step leaves between bodies.

use candle_core::{Result, Tensor};

use super::Quasidynamic;
use crate::step::gaps::Gaps;
use crate::step::result::Step;
use crate::tensor::operation::Operation;

impl Quasidynamic {
    /// The gap that a step from q (B, nq) leaves at each contact (B, nc), m: ν_n = φ + n · J δ, which the barrier keeps
    /// positive.
    ///
    /// It is the gap after the contact's two points have moved, measured along the normal at q. It differs from the gap
    /// of the geometry at q₊ by an error of second order in δ. It is differentiable like the step's own results. In
    /// worlds without a solution it is φ.
    ///
    /// # Errors
    /// If `step` and q have different numbers of worlds.
    pub fn gaps(&self, q: &Tensor, step: &Step) -> Result<Tensor> {
        let frames = self.model.kinematics.frames(&self.usable(q)?, &self.parameters.offsets)?;
        let op = Gaps { structure: self.structure.clone(), nc: self.model.nc() };
        let op = Operation::rowwise(op, &self.structure.kernels);
        step.contacts.geometry(&step.contacts.phi)?.apply_op3(&frames.screws, &step.delta, op)
    }
}
