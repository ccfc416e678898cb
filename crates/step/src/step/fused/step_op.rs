//! One fused step as a differentiable tensor operation.

use std::sync::Arc;

use candle_core::{Result, Tensor};

use crate::solve::Start;
use crate::tensor::known::{Adjoint, Known, numbers};

use super::machine_of;
use super::plan::Plan;

/// (q, u, parameters) → a step's row. An answer to start from is the row itself.
pub(super) fn step(plan: &Arc<Plan>, operands: [&Tensor; 3], start: Start) -> Result<Tensor> {
    let row = match &start {
        Start::Forces(warm) => machine_of(operands[0]).step(plan, operands, warm.as_ref())?,
        Start::Answer(rows) => numbers(rows)?,
    };
    Known::tensor(StepAdjoint(plan.clone()), operands, row)
}

/// The step's adjoint: from the gradient of the result row to those of q, u and the parameters.
struct StepAdjoint(Arc<Plan>);

impl Adjoint for StepAdjoint {
    fn name(&self) -> &'static str {
        "fused-step"
    }

    fn vjp(&self, operands: [&Tensor; 3], result: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 3]> {
        machine_of(grad).step_adjoint(&self.0, operands, result, grad)
    }
}
