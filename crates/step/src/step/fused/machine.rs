//! What runs a plan's kernels on the numbers of tensors. Nothing above asks where these are.

use candle_core::{Result, Shape, Storage, Tensor};

use super::jacobian;
use super::plan::Plan;
use super::rollout::Swept;
use super::rollout::backward::Cost;

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
    /// A rollout's sweep back: the gradients of its operands, from states, contact forces, limit forces, reports and a
    /// gradient of states or forces.
    fn rollout_adjoint(
        &self,
        plan: &Plan,
        of: (Cost, usize),
        operands: [&Tensor; 3],
        read: [&Tensor; 5],
    ) -> Result<[Option<Tensor>; 3]>;
}
