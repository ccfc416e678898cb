//! What runs a plan's kernels on the numbers of tensors. Nothing above asks where these are.

use candle_core::{Result, Shape, Storage, Tensor};

use super::plan::Plan;
use super::rollout::backward::Cost;
use super::{jacobian, rollout, step_op};

/// Results of a rollout. First, as storage that becomes results of tensor operations: q₀ … q_T (B, (T + 1) nq) and contact forces (B, T
/// n_forces). Then, as tensors: limit forces (B, T nl) and reports (B, T INFO).
pub(super) type Swept = ([(Storage, Shape); 2], [Tensor; 2]);

/// A processor or a GPU. Operands are q, u and all parameters.
pub(super) trait Machine {
    /// The rows of one step, see [`Plan::row`].
    fn step(&self, plan: &Plan, operands: [&Tensor; 3], warm: Option<&Tensor>) -> Result<(Storage, Shape)>;
    /// The gradients of a step's operands, from its rows and their gradient.
    fn step_adjoint(
        &self,
        plan: &Plan,
        operands: [&Tensor; 3],
        result: &Tensor,
        grad: &Tensor,
    ) -> Result<[Option<Tensor>; 3]>;
    /// The matrices of a step and its Jacobians, see [`jacobian::step`].
    fn jacobians(
        &self,
        plan: &Plan,
        operands: [&Tensor; 3],
        warm: Option<&Tensor>,
    ) -> Result<[Tensor; jacobian::PARTS]>;
    /// A rollout's forward sweep.
    fn rollout(&self, plan: &Plan, n_steps: usize, operands: [&Tensor; 3]) -> Result<Swept>;
    /// A rollout's sweep back: the gradients of its operands, from states, contact forces, limit forces, reports and a gradient of states or
    /// forces.
    fn rollout_adjoint(
        &self,
        plan: &Plan,
        of: (Cost, usize),
        operands: [&Tensor; 3],
        read: [&Tensor; 5],
    ) -> Result<[Option<Tensor>; 3]>;
}

/// The machine that has a tensor's numbers.
pub(super) fn machine(of: &Tensor) -> &'static dyn Machine {
    match of.device().location() {
        #[cfg(feature = "cuda")]
        candle_core::DeviceLocation::Cuda { .. } => &super::cuda::Card,
        _ => &Processor,
    }
}

/// The processor, by lanes or by code compiled for the scene: see [`Plan::run_kernel`].
struct Processor;

impl Machine for Processor {
    fn step(&self, plan: &Plan, operands: [&Tensor; 3], warm: Option<&Tensor>) -> Result<(Storage, Shape)> {
        step_op::solved(plan, operands, warm)
    }

    fn step_adjoint(
        &self,
        plan: &Plan,
        operands: [&Tensor; 3],
        result: &Tensor,
        grad: &Tensor,
    ) -> Result<[Option<Tensor>; 3]> {
        step_op::vjp(plan, operands, result, grad)
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
