//! Rollouts on lanes: all steps of a world follow each other in the lane's working memory; the adjoint sweeps back.
//!
//! Forward keeps nothing but the states and the forces: a step's δ is the difference of two states, where no body turns by
//! half a turn and more, its η follows from the forces. States and forces are the results of two operations, which share one forward sweep: candle gives each of them its
//! gradient without padding it to the size of both, and a cost of states alone takes one sweep back.

pub(super) mod backward;
pub(super) mod forward;

use std::sync::{Arc, Mutex, OnceLock};

use candle_core::backend::BackendStorage;
use candle_core::{CpuStorage, CustomOp3, Error, Layout, Result, Shape, Tensor};

use crate::math::rows::{Rows, TensorGuard, storage, whole_gradient, worlds};
use crate::solve::{INFO, Report};

use super::plan::Plan;
use super::record::Kernel;
use super::single::{is_solved, solve_all};
use super::stages::Operands;
use backward::{Backward, Cost};
use forward::Forward;

/// What the operations of a rollout share.
struct Sweep {
    plan: Arc<Plan>,
    n_steps: usize,
    aside: OnceLock<Aside>,
    /// The forces, for the states' adjoint.
    force: OnceLock<Tensor>,
}

/// What the forward sweep gives beside the states.
struct Aside {
    /// Until they are the result of [`Forces`].
    force: Mutex<Vec<f64>>,
    limit_force: Vec<f64>,
    info: Vec<f64>,
}

/// (q₀ (B, nq), u (B, T nu), parameters (1 or B, n)) → q₀ … q_T (B, (T + 1) nq).
struct States(Arc<Sweep>);

/// (q₀ … q_T (B, (T + 1) nq), u (B, T nu), parameters (1 or B, n)) → contact forces (B, T 3 nc).
struct Forces(Arc<Sweep>);

/// States, forces, and the solves' reports, T for each world.
pub(super) fn run(
    plan: &Arc<Plan>,
    n_steps: usize,
    q0: &Tensor,
    u: &Tensor,
    par: &Tensor,
) -> Result<(Tensor, Tensor, Vec<Report>)> {
    #[cfg(feature = "cuda")]
    if q0.device().is_cuda() {
        return super::cuda::rollout(plan, n_steps, [q0, u, par]);
    }
    let sweep = Sweep { plan: plan.clone(), n_steps, aside: OnceLock::new(), force: OnceLock::new() };
    let sweep = Arc::new(sweep);
    let states = q0.apply_op3(u, par, States(sweep.clone()))?;
    let force = states.apply_op3(u, par, Forces(sweep.clone()))?;
    // The copy has no operation of its own, so that nothing refers to itself.
    sweep.force.get_or_init(|| force.detach());
    let reports = Report::of(&sweep.aside()?.info).collect();
    Ok((states, force, reports))
}

impl Sweep {
    /// What the forward sweep writes.
    const STATES: usize = 0;
    const FORCES: usize = 1;
    const LIMITS: usize = 2;
    const INFO: usize = 3;

    fn aside(&self) -> Result<&Aside> {
        self.aside.get().ok_or_else(|| Error::msg("rollout: expected the states before the forces"))
    }

    /// Numbers in a row of states, contact forces, limit forces, reports.
    fn widths(&self) -> [usize; 4] {
        let (s, n) = (&self.plan.structure, self.n_steps);
        [(n + 1) * self.plan.nq, n * self.plan.n_forces(), n * s.nl(), n * INFO]
    }

    /// Gradients in the first operand, which is q₀ or all states, in u and in the parameters.
    fn pull(
        &self,
        operands: [&Tensor; 3],
        [states, force]: [&Tensor; 2],
        (cost, grad): (Cost, &Tensor),
    ) -> Result<[Option<Tensor>; 3]> {
        let (plan, n_steps, dtype) = (&*self.plan, self.n_steps, grad.dtype());
        let [q, u, par] = operands.map(TensorGuard::new);
        let [states, force, grad] = [states, force, grad].map(TensorGuard::new);
        let operands_rows = Operands { q: q.rows()?, u: u.rows()?, par: par.rows()?, warm: None };
        let rows = [operands_rows.q.rows(), operands_rows.u.rows(), operands_rows.par.rows()];
        let (aside, grad) = (self.aside()?, grad.rows()?);
        let b = grad.rows();
        let [_, _, n_limit, n_info] = self.widths();
        let widths = [operands_rows.q.width(), n_steps * plan.nu, plan.at.n];
        let program = Backward {
            forward: Forward { plan, operands: &operands_rows, n_steps },
            states: states.rows()?,
            force: force.rows()?,
            limit_force: Rows::from_slice(&aside.limit_force, b, n_limit),
            info: Rows::from_slice(&aside.info, b, n_info),
            cost,
            grad,
        };
        let kernel = match cost {
            Cost::States => Kernel::RolloutAdjoint,
            Cost::Forces => Kernel::RolloutForceAdjoint,
        };
        let Backward { states, force, limit_force, info, grad, .. } = &program;
        let rows_read = [states, &operands_rows.u, &operands_rows.par, force, limit_force, info, grad];
        let mut parts = plan
            .run_kernel(kernel, plan.set.into(), &program, &rows_read, (b, n_steps), widths)?
            .into_iter()
            .zip(operands)
            .zip(widths.into_iter().zip(rows));
        let mut next = || {
            let Some(((data, operand), (width, rows))) = parts.next() else { return Ok(None) };
            operand.track_op().then(|| whole_gradient(data, width, rows, dtype)).transpose()
        };
        Ok([next()?, next()?, next()?])
    }
}

impl CustomOp3 for States {
    fn name(&self) -> &'static str {
        "fused-rollout"
    }

    fn cpu_fwd(
        &self,
        q: &CpuStorage,
        l1: &Layout,
        u: &CpuStorage,
        l2: &Layout,
        par: &CpuStorage,
        l3: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let Sweep { plan, n_steps, aside, .. } = &*self.0;
        let dtype = q.dtype();
        let (q, u, par) = (Rows::from_storage(q, l1)?, Rows::from_storage(u, l2)?, Rows::from_storage(par, l3)?);
        let b = worlds("rollout", &[&q, &u, &par])?;
        let (operands, widths) = (Operands { q, u, par, warm: None }, self.0.widths());
        let program = |operands: &Operands, arithmetic, b| {
            let program = Forward { plan, operands, n_steps: *n_steps };
            let rows = [&operands.q, &operands.u, &operands.par];
            plan.run_kernel(Kernel::Rollout, arithmetic, &program, &rows, (b, *n_steps), widths)
        };
        let solved = |parts: &[Vec<f64>; 4], world: usize| {
            let reports = &parts[Sweep::INFO][world * widths[Sweep::INFO]..][..widths[Sweep::INFO]];
            reports.chunks(INFO).all(is_solved)
        };
        let [states, force, limit_force, info] =
            solve_all(plan.arithmetic(dtype), b, &operands, widths, program, solved)?;
        aside.get_or_init(|| Aside { force: Mutex::new(force), limit_force, info });
        Ok((storage(states, dtype)?, Shape::from((b, widths[Sweep::STATES]))))
    }

    fn bwd(
        &self,
        q: &Tensor,
        u: &Tensor,
        par: &Tensor,
        states: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let force = self.0.force.get().ok_or_else(|| Error::msg("rollout: expected the forces before a gradient"))?;
        let [q, u, par] = self.0.pull([q, u, par], [states, force], (Cost::States, grad))?;
        Ok((q, u, par))
    }
}

impl CustomOp3 for Forces {
    fn name(&self) -> &'static str {
        "fused-rollout-forces"
    }

    fn cpu_fwd(
        &self,
        states: &CpuStorage,
        layout: &Layout,
        _: &CpuStorage,
        _: &Layout,
        _: &CpuStorage,
        _: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (b, _) = layout.shape().dims2()?;
        let mut force = self.0.aside()?.force.lock().map_err(|_| Error::msg("rollout: its forces are lost"))?;
        let width = self.0.widths()[Sweep::FORCES];
        Ok((storage(std::mem::take(&mut force), states.dtype())?, Shape::from((b, width))))
    }

    fn bwd(
        &self,
        states: &Tensor,
        u: &Tensor,
        par: &Tensor,
        force: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let [q, u, par] = self.0.pull([states, u, par], [states, force], (Cost::Forces, grad))?;
        Ok((q, u, par))
    }
}
