//! A fused rollout as differentiable tensor operations. States and forces are the results of two, which share one
//! forward sweep: candle gives each of them its gradient without padding it to the size of both, and a cost of states
//! alone takes one sweep back.

use std::sync::{Arc, OnceLock};

use candle_core::{Error, Result, Tensor};

use crate::solve::Report;
use crate::tensor::known::{Adjoint, Known};

use super::machine_of;
use super::plan::Plan;
use super::rollout::backward::Cost;

/// States (B, (T + 1) nq), forces (B, T n_forces), and each step's reports of the worlds' solves, of q₀ (B, nq), u (B,
/// T nu) and parameters (1 or B, n).
pub(super) fn rollout(
    plan: &Arc<Plan>,
    n_steps: usize,
    operands: [&Tensor; 3],
) -> Result<(Tensor, Tensor, Vec<Vec<Report>>)> {
    let ([states, force], [limit_force, info]) = machine_of(operands[0]).rollout(plan, n_steps, operands)?;
    let reports = Report::by_step(&info, n_steps)?;
    let sweep = Arc::new(Sweep { plan: plan.clone(), n_steps, limit_force, info, force: OnceLock::new() });
    let of = |cost| SweepAdjoint { sweep: sweep.clone(), cost };
    let [_, u, par] = operands;
    let states = Known::tensor(of(Cost::States), operands, states)?;
    let force = Known::tensor(of(Cost::Forces), [&states, u, par], force)?;
    // The copy has no operation of its own, so that nothing refers to itself.
    sweep.force.get_or_init(|| force.detach());
    Ok((states, force, reports))
}

/// A rollout's data that the adjoints of its states and of its forces share.
struct Sweep {
    plan: Arc<Plan>,
    n_steps: usize,
    limit_force: Tensor,
    info: Tensor,
    /// The forces, for the states' adjoint.
    force: OnceLock<Tensor>,
}

/// From the gradient of the states to those of q₀, u and the parameters; or from that of the forces to those of all
/// states, u and the parameters.
struct SweepAdjoint {
    sweep: Arc<Sweep>,
    cost: Cost,
}

impl Adjoint for SweepAdjoint {
    fn name(&self) -> &'static str {
        match self.cost {
            Cost::States => "fused-rollout",
            Cost::Forces => "fused-rollout-forces",
        }
    }

    fn vjp(&self, operands: [&Tensor; 3], result: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 3]> {
        let Sweep { plan, n_steps, limit_force, info, force } = &*self.sweep;
        let [states, force] = match self.cost {
            Cost::States => {
                [result, force.get().ok_or_else(|| Error::msg("rollout: expected the forces before a gradient"))?]
            }
            Cost::Forces => [operands[0], result],
        };
        let read = [states, force, limit_force, info, grad];
        machine_of(grad).rollout_adjoint(plan, (self.cost, *n_steps), operands, read)
    }
}
