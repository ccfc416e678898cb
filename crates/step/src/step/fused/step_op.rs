//! One fused step as a differentiable tensor operation.

use std::sync::Arc;

use candle_core::{Result, Shape, Storage, Tensor};

use crate::solve::{INFO, Start};
use crate::tensor::known::{Adjoint, Known, numbers};
use crate::tensor::rows::{TensorGuard, from_tensor, gradient, storage, worlds};

use super::kernel::Kernel;
use super::plan::Plan;
use super::program::{Backward, Forward};
use super::single::{is_solved, solve_all};
use super::stages::Operands;

/// (q, u, parameters) → a step's row. An answer to start from is the row itself.
pub(super) fn step(plan: &Arc<Plan>, operands: [&Tensor; 3], start: Start) -> Result<Tensor> {
    let row = match &start {
        Start::Forces(warm) => solved(plan, operands, warm.as_ref())?,
        Start::Answer(rows) => numbers(rows)?,
    };
    Known::tensor(StepAdjoint(plan.clone()), operands, row)
}

/// The row's numbers.
fn solved(plan: &Plan, operands: [&Tensor; 3], warm: Option<&Tensor>) -> Result<(Storage, Shape)> {
    #[cfg(feature = "cuda")]
    if operands[0].device().is_cuda() {
        return super::cuda::step(plan, operands, warm);
    }
    let dtype = operands[0].dtype();
    let (held, warm) = (operands.map(TensorGuard::new), warm.map(TensorGuard::new));
    let operands = Operands::of(&held, warm.as_ref())?;
    let b = worlds("fused step", &[&operands.q, &operands.u, &operands.par])?;
    plan.check_warm(operands.warm.as_ref().map(|warm| [warm.rows(), warm.width()]), b)?;
    let width = plan.n_row();
    let none = plan.no_forces();
    let program = |operands: &Operands, arithmetic, b| {
        let program = Forward { plan, operands };
        plan.run_kernel(Kernel::WarmStep, arithmetic, &program, &operands.rows(&none), (b, 1), [width])
    };
    let is_solved = |[rows]: &[Vec<f64>; 1], world: usize| is_solved(&rows[world * width..][width - INFO..width]);
    let [data] = solve_all(plan.arithmetic(dtype), b, &operands, [width], program, is_solved)?;
    Ok((Storage::Cpu(storage(data, dtype)?), Shape::from((b, width))))
}

/// From the gradient of the row to those of q, u and the parameters.
struct StepAdjoint(Arc<Plan>);

impl Adjoint for StepAdjoint {
    fn name(&self) -> &'static str {
        "fused-step"
    }

    fn pull(&self, operands: [&Tensor; 3], result: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 3]> {
        let plan = &*self.0;
        #[cfg(feature = "cuda")]
        if grad.device().is_cuda() {
            return super::cuda::step_adjoint(plan, operands, result, grad);
        }
        let (b, dtype, n) = (grad.dim(0)?, grad.dtype(), plan.n_gradient());
        let held = operands.map(TensorGuard::new);
        let program = Backward {
            plan,
            operands: Operands::of(&held, None)?,
            result: from_tensor(result)?,
            grad: from_tensor(grad)?,
        };
        let Backward { operands: Operands { q, u, par, .. }, result, grad, .. } = &program;
        let rows = [q, u, par, result, grad];
        let [data] = plan.run_kernel(Kernel::Adjoint, plan.set.into(), &program, &rows, (b, 1), [n])?;
        let of = |operand: &Tensor, columns, rows| {
            operand.track_op().then(|| gradient(&data, n, columns, rows, dtype)).transpose()
        };
        let ([of_q, of_u, of_par], controls) = (operands, plan.nq..plan.nq + plan.nu);
        Ok([of(of_q, 0..plan.nq, b)?, of(of_u, controls.clone(), b)?, of(of_par, controls.end..n, par.rows())?])
    }
}
