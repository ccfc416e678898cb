//! Rollouts on lanes: all steps of a world follow each other in the lane's working memory; the adjoint sweeps back.
//!
//! Forward keeps nothing but the states and the forces: a step's δ is the difference of two states, where no body turns
//! by half a turn and more, its η follows from the forces.

pub(super) mod backward;
pub(super) mod forward;

use candle_core::{DType, Device, Error, Result, Shape, Storage, Tensor};

use crate::solve::INFO;
use crate::tensor::rows::{TensorGuard, pass_on_no_numbers, storage, whole_gradient, worlds};

use fingertip_lanes::rows::Rows;

use super::super::sparse::SparseRows;
use super::kernel::Kernel;
use super::plan::Plan;
use super::single::{is_solved, solve_all};
use super::stages::Operands;
use backward::{Backward, Cost};
use forward::Forward;

/// Results of a rollout. First, as storage that becomes results of tensor operations: q₀ … q_T (B, (T + 1) nq) and
/// contact forces (B, T n_forces). Then, as tensors: limit forces (B, T nl) and reports (B, T INFO).
pub(super) type Swept = ([(Storage, Shape); 2], [Tensor; 2]);

/// Runs the forward sweep.
pub(super) fn sweep(plan: &Plan, n_steps: usize, operands: [&Tensor; 3]) -> Result<Swept> {
    let dtype = operands[0].dtype();
    let held = operands.map(TensorGuard::new);
    let operands = Operands::of(&held, None)?;
    let b = worlds("rollout", &[&operands.q, &operands.u, &operands.par])?;
    let widths = plan.rollout_rows().map(|row| row.length(n_steps));
    let [states, force, limit_force, info] = rows(plan, &operands, dtype, (b, n_steps))?;
    let [n_states, n_force, n_limit, n_info] = widths;
    let result = |data, width| Ok::<_, Error>((Storage::Cpu(storage(data, dtype)?), Shape::from((b, width))));
    let beside = |data, width| Tensor::from_vec(data, (b, width), &Device::Cpu);
    Ok(([result(states, n_states)?, result(force, n_force)?], [beside(limit_force, n_limit)?, beside(info, n_info)?]))
}

/// The rows of [`Plan::rollout_rows`], one each for every world, of so many worlds and steps.
pub(super) fn rows(
    plan: &Plan,
    operands: &Operands,
    dtype: DType,
    (b, n_steps): (usize, usize),
) -> Result<[Vec<f64>; 4]> {
    let widths = plan.rollout_rows().map(|row| row.length(n_steps));
    let program = |operands: &Operands, arithmetic, b| {
        let program = Forward { plan, operands, n_steps, lists: false };
        let rows = [&operands.q, &operands.u, &operands.par];
        plan.run_kernel(Kernel::Rollout, arithmetic, &program, &rows, (b, n_steps), widths)
    };
    let solved = |parts: &[Vec<f64>; 4], world: usize| {
        let width = widths[Forward::INFO];
        parts[Forward::INFO][world * width..][..width].chunks(INFO).all(is_solved)
    };
    solve_all(plan.arithmetic(dtype), b, operands, widths, program, solved)
}

/// Gradients of q₀ (of each state where the cost is of forces), u and the parameters, a row each for every world, from
/// a rollout's rows (of forces the torques alone if contacts are listed) and the gradient of its states or forces.
pub(super) fn adjoint(
    cost: Cost,
    forward: Forward,
    listed: Option<&SparseRows>,
    [states, force, limit_force, info, grad]: [Rows; 5],
) -> Result<[Vec<f64>; 3]> {
    let Forward { plan, operands, n_steps, .. } = forward;
    let program = Backward { forward, states, force, listed, limit_force, info, cost, grad };
    let Operands { q, u, par, .. } = operands;
    let Backward { states, force, limit_force, info, grad, .. } = &program;
    let rows = [states, u, par, force, limit_force, info, grad];
    let widths = [q.width(), n_steps * plan.nu, plan.at.n];
    let worlds = grad.rows();
    let [mut q, mut u, mut par] =
        plan.run_kernel(cost.kernel(), plan.set.into(), &program, &rows, (worlds, n_steps), widths)?;
    pass_on_no_numbers(grad, worlds, [&mut q, &mut u, &mut par]);
    Ok([q, u, par])
}

/// The gradients of a rollout's operands, of those that are asked for, from its states, forces, limit forces, reports
/// and a gradient.
pub(super) fn vjp(
    plan: &Plan,
    (cost, n_steps): (Cost, usize),
    operands: [&Tensor; 3],
    read: [&Tensor; 5],
) -> Result<[Option<Tensor>; 3]> {
    let dtype = read[4].dtype();
    let (held, read) = (operands.map(TensorGuard::new), read.map(TensorGuard::new));
    let of_step = Operands::of(&held, None)?;
    let [states, force, limit_force, info, grad] = read.each_ref().map(TensorGuard::rows);
    let rows = [states?, force?, limit_force?, info?, grad?];
    let forward = Forward { plan, operands: &of_step, n_steps, lists: false };
    let [of_q, of_u, of_par] = adjoint(cost, forward, None, rows)?;
    let Operands { q, u, par, .. } = &of_step;
    let widths = [q.width(), n_steps * plan.nu, plan.at.n];
    let gradient = |k: usize, data, rows| {
        let is_tracked = operands[k].track_op();
        is_tracked.then(|| whole_gradient(data, widths[k], rows, dtype)).transpose()
    };
    Ok([gradient(0, of_q, q.rows())?, gradient(1, of_u, u.rows())?, gradient(2, of_par, par.rows())?])
}
