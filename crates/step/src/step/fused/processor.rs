//! The processor as the machine that steps: by lanes, or by code compiled for the scene.

use candle_core::{DType, Result, Shape, Storage, Tensor};

use crate::solve::INFO;
use crate::tensor::rows::{TensorGuard, from_tensor, gradient, pass_on_no_numbers, storage, worlds};

use fingertip_lanes::rows::Rows;

use super::kernel::Kernel;
use super::machine::Machine;
use super::plan::Plan;
use super::program::{Backward, Forward};
use super::rollout::Swept;
use super::rollout::backward::Cost;
use super::single::{is_solved, solve_all};
use super::stages::Operands;
use super::{jacobian, rollout};

/// The processor, by lanes or by code compiled for the scene: see [`Plan::run_kernel`].
pub(super) struct Processor;

impl Machine for Processor {
    fn step(&self, plan: &Plan, operands: [&Tensor; 3], warm: Option<&Tensor>) -> Result<(Storage, Shape)> {
        solved(plan, operands, warm)
    }

    fn step_adjoint(
        &self,
        plan: &Plan,
        operands: [&Tensor; 3],
        result: &Tensor,
        grad: &Tensor,
    ) -> Result<[Option<Tensor>; 3]> {
        vjp(plan, operands, result, grad)
    }

    fn jacobians(
        &self,
        plan: &Plan,
        operands: [&Tensor; 3],
        warm: Option<&Tensor>,
    ) -> Result<[Tensor; jacobian::PARTS]> {
        jacobian::step(plan, operands, warm)
    }

    fn rollout(&self, plan: &Plan, n_steps: usize, operands: [&Tensor; 3]) -> Result<Swept> {
        rollout::sweep(plan, n_steps, operands)
    }

    fn rollout_adjoint(
        &self,
        plan: &Plan,
        of: (Cost, usize),
        operands: [&Tensor; 3],
        read: [&Tensor; 5],
    ) -> Result<[Option<Tensor>; 3]> {
        rollout::vjp(plan, of, operands, read)
    }
}

/// Computes the numbers of the step's rows.
fn solved(plan: &Plan, operands: [&Tensor; 3], warm: Option<&Tensor>) -> Result<(Storage, Shape)> {
    let dtype = operands[0].dtype();
    let (held, warm) = (operands.map(TensorGuard::new), warm.map(TensorGuard::new));
    let operands = Operands::of(&held, warm.as_ref())?;
    let b = worlds("fused step", &[&operands.q, &operands.u, &operands.par])?;
    plan.check_warm(operands.warm.as_ref().map(|warm| [warm.rows(), warm.width()]), b)?;
    let data = rows(plan, &operands, dtype, b)?;
    Ok((Storage::Cpu(storage(data, dtype)?), Shape::from((b, plan.n_row()))))
}

/// A step's rows, one for each of so many worlds, for numbers of a type.
pub(super) fn rows(plan: &Plan, operands: &Operands, dtype: DType, b: usize) -> Result<Vec<f64>> {
    let width = plan.n_row();
    let none = plan.no_forces();
    let program = |operands: &Operands, arithmetic, b| {
        let program = Forward { plan, operands };
        plan.run_kernel(Kernel::WarmStep, arithmetic, &program, &operands.rows(&none), (b, 1), [width])
    };
    let is_solved = |[rows]: &[Vec<f64>; 1], world: usize| is_solved(&rows[world * width..][width - INFO..width]);
    let [data] = solve_all(plan.arithmetic(dtype), b, operands, [width], program, is_solved)?;
    Ok(data)
}

/// Gradients of q, u and the parameters side by side, a row for each of so many worlds, from a step's rows and their
/// gradients.
pub(super) fn adjoint(plan: &Plan, operands: Operands, result: Rows, grad: Rows, worlds: usize) -> Result<Vec<f64>> {
    let program = Backward { plan, operands, result, grad };
    let Backward { operands: Operands { q, u, par, .. }, result, grad, .. } = &program;
    let (rows, width) = ([q, u, par, result, grad], plan.n_gradient());
    let [mut data] = plan.run_kernel(Kernel::Adjoint, plan.set.into(), &program, &rows, (worlds, 1), [width])?;
    pass_on_no_numbers(grad, worlds, [&mut data]);
    Ok(data)
}

/// The gradients of a step's operands, of those that are asked for, from its rows and their gradient.
fn vjp(plan: &Plan, operands: [&Tensor; 3], result: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 3]> {
    let (b, dtype, n) = (grad.dim(0)?, grad.dtype(), plan.n_gradient());
    let held = operands.map(TensorGuard::new);
    let of_step = Operands::of(&held, None)?;
    let n_rows = of_step.par.rows();
    let data = adjoint(plan, of_step, from_tensor(result)?, from_tensor(grad)?, b)?;
    let of = |operand: &Tensor, columns, rows| {
        operand.track_op().then(|| gradient(&data, n, columns, rows, dtype)).transpose()
    };
    let ([of_q, of_u, of_par], controls) = (operands, plan.nq..plan.nq + plan.nu);
    Ok([of(of_q, 0..plan.nq, b)?, of(of_u, controls.clone(), b)?, of(of_par, controls.end..n, n_rows)?])
}
