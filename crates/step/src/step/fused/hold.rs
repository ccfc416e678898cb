//! Steps and Jacobians of plain numbers: a command that is held over some steps (zero-order hold), and the derivatives
//! of each.

use std::borrow::Cow;

use candle_core::{DType, Result, Tensor};

use crate::solve::{Accuracy, INFO, Report, n_groups, present};
use crate::tensor::rows::{TensorGuard, worlds};
use fingertip_lanes::lane::{Lane, copy};
use fingertip_lanes::order::Order;
use fingertip_lanes::program::{Group, Program, Stage, run_listing_on};
use fingertip_lanes::rows::{Output, Rows, next_listed};

use super::super::held::Held;
use super::super::jacobians::Jacobians;
use super::super::sparse::SparseRows;
use super::super::torsion::is_nowhere;
use super::jacobian;
use super::kernel::Kernel;
use super::memory::{Memory, Numbers};
use super::plan::Plan;
use super::rollout::backward::Cost;
use super::rollout::forward::Forward;
use super::stages::{Columns, Forget, Load, Operands};
use super::{processor, rollout};

/// `n_steps` steps from each world's q under its u.
pub(in super::super) fn hold(
    plan: &Plan,
    [q, u]: [&[f64]; 2],
    warm: Option<&SparseRows>,
    par: &Tensor,
    b: usize,
    (n_steps, accuracy): (usize, Accuracy),
) -> Result<Held> {
    let par = TensorGuard::new(par);
    let warm = warm.map(SparseRows::dense).unwrap_or_default();
    let operands = operands(plan, [q, u, &warm], par.rows()?, b)?;
    let lists = plan.lists_contacts();
    let program = Hold { plan, operands: &operands, n_steps, accuracy, lists };
    if lists {
        let s = &plan.structure;
        let widths = [plan.nq, s.n_eta() - s.n_force(), plan.contacts.torsion.n_torques, INFO].map(|n| n_steps * n);
        let ([q, limits, torque, info], list) = run_listing_on(plan.set.into(), &program, b, widths);
        let [warm, force] = plan.held_forces(&list, &limits, b * n_steps, n_steps);
        return Ok(Held { q, warm, force, torque, reports: Report::of(&info).collect() });
    }
    let kernel = match accuracy {
        Accuracy::Fine => Kernel::Hold,
        Accuracy::Rough => Kernel::RoughHold,
    };
    let widths = plan.hold_rows().map(|row| row.length(n_steps));
    let none = plan.no_forces();
    let [q, warm, forces, info] =
        plan.run_kernel(kernel, plan.set.into(), &program, &operands.rows(&none), (b, n_steps), widths)?;
    let [force, torque] = plan.split_forces(forces);
    let [warm, force] = [SparseRows::whole(warm, plan.structure.n_eta()), SparseRows::whole(force, 3 * plan.nc)];
    Ok(Held { q, warm, force, torque, reports: Report::of(&info).collect() })
}

/// The row of a step of each world.
pub(in super::super) fn step_rows(plan: &Plan, operands: [&[f64]; 3], par: Rows, b: usize) -> Result<Vec<f64>> {
    processor::rows(plan, &self::operands(plan, operands, par, b)?, DType::F64, b)
}

/// Gradients of q, u and the parameters side by side, from the rows of a step and their gradients.
pub(in super::super) fn step_adjoint(
    plan: &Plan,
    [q, u]: [&[f64]; 2],
    par: Rows,
    [rows, grad]: [&[f64]; 2],
    b: usize,
) -> Result<Vec<f64>> {
    let [rows, grad] = [(rows, plan.n_row()), (grad, plan.n_results())].map(|(x, n)| Rows::from_slice(x, b, n));
    processor::adjoint(plan, operands(plan, [q, u, &[]], par, b)?, rows, grad, b)
}

/// Results of a rollout on plain numbers, each world by world and step by step: states; contact forces, a row (3 nc)
/// for each step; torques; limit forces; reports.
pub(in super::super) struct RolloutRows {
    pub(in super::super) q: Vec<f64>,
    pub(in super::super) force: SparseRows,
    pub(in super::super) torque: Vec<f64>,
    pub(in super::super) limit_force: Vec<f64>,
    pub(in super::super) info: Vec<f64>,
}

/// Runs a rollout of each world on plain numbers.
pub(in super::super) fn rollout_rows(
    plan: &Plan,
    [q0, u]: [&[f64]; 2],
    par: Rows,
    (b, n_steps): (usize, usize),
) -> Result<RolloutRows> {
    let operands = &rollout_operands(plan, [q0, u], par, (b, n_steps))?;
    if plan.lists_contacts() {
        let program = Forward { plan, operands, n_steps, lists: true };
        let mut widths = plan.rollout_rows().map(|row| row.length(n_steps));
        widths[Forward::FORCES] = n_steps * plan.contacts.torsion.n_torques;
        let ([q, torque, limit_force, info], list) = run_listing_on(plan.set.into(), &program, b, widths);
        let mut force = SparseRows::new(3 * plan.nc);
        for step in plan.by_step(&list, 3, b * n_steps, n_steps) {
            force.push(step.iter().flat_map(|(contact, of)| (3 * contact..).zip(of.iter().copied())));
        }
        return Ok(RolloutRows { q, force, torque, limit_force, info });
    }
    let [q, forces, limit_force, info] = rollout::rows(plan, operands, DType::F64, (b, n_steps))?;
    let [force, torque] = plan.split_forces(forces);
    Ok(RolloutRows { q, force: SparseRows::whole(force, 3 * plan.nc), torque, limit_force, info })
}

/// Gradients of q₀, u and the parameters from those of a rollout's states; or, of its forces, those of all states, u
/// and the parameters.
pub(in super::super) fn rollout_adjoint(
    plan: &Plan,
    of_forces: bool,
    (u, par): (&[f64], Rows),
    [q, torque, limit_force, info]: [&[f64]; 4],
    force: &SparseRows,
    grad: &[f64],
    (b, n_steps): (usize, usize),
) -> Result<[Vec<f64>; 3]> {
    let [states, forces, limits, reports] = plan.rollout_rows().map(|row| row.length(n_steps));
    let first = if of_forces { q.to_vec() } else { first_states(q, states, plan.nq) };
    let operands = Operands {
        q: Rows::from_slice(&first, b, if of_forces { states } else { plan.nq }),
        u: Rows::from_slice(u, b, n_steps * plan.nu),
        par,
        warm: None,
    };
    let cost = if of_forces { Cost::Forces } else { Cost::States };
    let lists = plan.lists_contacts();
    let forward = Forward { plan, operands: &operands, n_steps, lists };
    let whole = if lists { Cow::Borrowed(torque) } else { plan.join_forces(force.dense(), torque) };
    let n_force = if lists { torque.len() / b } else { forces };
    let grad = Rows::from_slice(grad, b, if of_forces { forces } else { states });
    let kept = [(q, states), (&*whole, n_force), (limit_force, limits), (info, reports)];
    let [q, whole, limit_force, info] = kept.map(|(x, n)| Rows::from_slice(x, b, n));
    rollout::adjoint(cost, forward, lists.then_some(force), [q, whole, limit_force, info, grad])
}

/// Copies the first state of each world out of rows of states.
fn first_states(states: &[f64], width: usize, nq: usize) -> Vec<f64> {
    states.chunks_exact(width).flat_map(|of_world| &of_world[..nq]).copied().collect()
}

fn rollout_operands<'a>(
    plan: &Plan,
    [q0, u]: [&'a [f64]; 2],
    par: Rows<'a>,
    (b, n_steps): (usize, usize),
) -> Result<Operands<'a>> {
    let (q, u) = (Rows::from_slice(q0, b, plan.nq), Rows::from_slice(u, b, n_steps * plan.nu));
    let operands = Operands { q, u, par, warm: None };
    worlds("rollout", &[&operands.q, &operands.u, &operands.par])?;
    Ok(operands)
}

/// One step of each world and its Jacobians, the forces' only with `forces`; and the worlds whose contacts are too
/// stiff for them.
pub(in super::super) fn jacobians(
    plan: &Plan,
    [q, u, warm]: [&[f64]; 3],
    par: &Tensor,
    b: usize,
    (forces, accuracy): (bool, Accuracy),
) -> Result<(Jacobians, Vec<u32>)> {
    let par = TensorGuard::new(par);
    let operands = operands(plan, [q, u, warm], par.rows()?, b)?;
    jacobian::listed(plan, operands, b, (forces, accuracy))
}

impl Plan {
    /// Are there so many contacts that steps of plain numbers list those with a force?
    pub(in super::super) fn lists_contacts(&self) -> bool {
        n_groups(&self.structure) > 0 && !self.is_native()
    }

    /// Lists the contacts with a force in step t: force and η, or force alone if there is no η.
    #[inline(always)]
    pub(super) fn list_forces<R: Lane>(
        &self,
        (m, eta): (&Numbers<&mut [R]>, &[R]),
        first: usize,
        t: usize,
        out: &mut Output,
    ) {
        let n = if eta.is_empty() { 0 } else { self.structure.dimension };
        for c in present(&self.structure, m.near, 0..self.nc) {
            if !is_nowhere(m.contacts, c) {
                let (force, eta) = (&m.force[3 * c..3 * (c + 1)], &eta[n * c..n * (c + 1)]);
                let mut size = R::zero();
                for &x in R::parts(force.iter().chain(eta)) {
                    size += x.abs();
                }
                out.list(first, t * self.nc + c, size, [force, eta]);
            }
        }
    }

    /// What [`Plan::list_forces`] has listed of so many steps of worlds, by steps: contacts with `n` numbers each.
    fn by_step<'a>(&self, mut list: &'a [f64], n: usize, steps: usize, n_steps: usize) -> Vec<Vec<(usize, &'a [f64])>> {
        // The contacts of a step follow each other in their order, between those of other worlds.
        let mut of_step = vec![Vec::new(); steps];
        while let Some((world, tag, rest)) = next_listed(list) {
            of_step[world * n_steps + tag / self.nc].push((tag % self.nc, &rest[..n]));
            list = &rest[n..];
        }
        of_step
    }

    /// What [`Plan::list_forces`] has listed of so many steps of worlds, and the limits' forces, as rows: η and forces.
    fn held_forces(&self, list: &[f64], limits: &[f64], steps: usize, n_steps: usize) -> [SparseRows; 2] {
        let (n, s) = (self.structure.dimension, &self.structure);
        let of_step = self.by_step(list, 3 + n, steps, n_steps);
        let (mut warm, mut force) = (SparseRows::new(s.n_eta()), SparseRows::new(3 * self.nc));
        let n_limits = s.n_eta() - s.n_force();
        for (step, own) in of_step.iter().enumerate() {
            let limits = limits[step * n_limits..(step + 1) * n_limits].iter().enumerate();
            let limits = limits.map(|(k, x)| (s.n_force() + k, *x)).filter(|(_, x)| *x != 0.0);
            let eta = own.iter().flat_map(|(contact, of)| (n * contact..).zip(of[3..].iter().copied()));
            warm.push(eta.chain(limits));
            force.push(own.iter().flat_map(|(contact, of)| (3 * contact..).zip(of[..3].iter().copied())));
        }
        [warm, force]
    }

    /// Contact forces (·, nc, 3) and torques (·, n), or gradients by them, side by side, step by step: the opposite of
    /// [`Plan::split_forces`]. Torques that are left out are 0.
    pub(in super::super) fn join_forces<'a>(&self, force: Cow<'a, [f64]>, torque: &[f64]) -> Cow<'a, [f64]> {
        let n = self.contacts.torsion.n_torques;
        if n == 0 {
            return force;
        }
        let none = vec![0.0; n];
        let steps = force.chunks_exact((3 * self.nc).max(1)).enumerate();
        let torque = |step: usize| torque.get(n * step..n * (step + 1)).unwrap_or(&none);
        steps.flat_map(|(step, of)| of.iter().chain(torque(step))).copied().collect()
    }

    /// Splits the forces of steps into contact forces and torques, each step by step.
    pub(in super::super) fn split_forces(&self, forces: Vec<f64>) -> [Vec<f64>; 2] {
        if self.contacts.torsion.n_torques == 0 {
            return [forces, Vec::new()];
        }
        let steps = || forces.chunks_exact(self.n_forces()).map(|step| step.split_at(3 * self.nc));
        [
            steps().flat_map(|(force, _)| force).copied().collect(),
            steps().flat_map(|(_, torque)| torque).copied().collect(),
        ]
    }
}

fn operands<'a>(plan: &Plan, [q, u, warm]: [&'a [f64]; 3], par: Rows<'a>, b: usize) -> Result<Operands<'a>> {
    let warm = (!warm.is_empty()).then(|| Rows::from_slice(warm, b, plan.structure.n_eta()));
    // Parameters of the first M worlds are those of the next M too.
    let par = if b.is_multiple_of(par.rows()) { par.repeated(b) } else { par };
    let operands = Operands { q: Rows::from_slice(q, b, plan.nq), u: Rows::from_slice(u, b, plan.nu), par, warm };
    worlds("step", &[&operands.q, &operands.u, &operands.par])?;
    Ok(operands)
}

/// The program of several steps under one command (zero-order hold).
pub(super) struct Hold<'a> {
    pub(super) plan: &'a Plan,
    pub(super) operands: &'a Operands<'a>,
    pub(super) n_steps: usize,
    pub(super) accuracy: Accuracy,
    /// Are contacts with a force listed? Else there are rows of all.
    pub(super) lists: bool,
}

impl Hold<'_> {
    /// Matrices of results: states, forces to start from, contact forces, reports; if contacts are listed those of
    /// limits and torques instead of forces.
    const STATES: usize = 0;
    const WARM: usize = 1;
    const FORCES: usize = 2;
    const INFO: usize = 3;
}

impl Program for Hold<'_> {
    fn scratch(&self) -> usize {
        self.plan.places.solve.work.end()
    }

    fn group(&self, group: &mut Group) {
        let Self { plan, operands, n_steps, accuracy, lists } = self;
        let goes_on = group.goes_on();
        group.run(&Load { plan, operands, goes_on });
        if operands.warm.is_none() {
            group.run(&Forget { plan, goes_on });
        }
        group.each(*n_steps, Order::Forward, |group, t| {
            plan.prepare_near(group);
            plan.solve_to(*accuracy, group, true);
            group.run(&Keep { plan, t, lists: *lists });
        });
    }

    fn mark(&self) -> Option<u64> {
        // Forces that a solve is given to start from stay where contacts are far.
        self.operands.warm.is_none().then(|| self.plan.mark(&self.operands.par))?
    }
}

/// Writes the results of step t, and makes q₊ the q of the next step.
struct Keep<'a> {
    plan: &'a Plan,
    t: usize,
    lists: bool,
}

impl Stage for Keep<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, memory: &mut [R], out: &mut Output) {
        let t = self.t;
        let plan = self.plan;
        let Memory { numbers: m, work } = plan.places.memory(memory).0;
        out.store_in(Hold::STATES, first, t * m.q_next.len(), m.q_next);
        if self.lists {
            plan.list_forces((&m, work.eta), first, t, out);
            let (limits, torques) = (&work.eta[plan.structure.n_force()..], &m.force[3 * plan.nc..]);
            out.store_in(Hold::WARM, first, t * limits.len(), limits);
            out.store_in(Hold::FORCES, first, t * torques.len(), torques);
        } else {
            plan.store_warm((&m, work.eta), first, (Columns(Hold::WARM, t * work.eta.len()), out));
            plan.store_forces(&m, first, (Columns(Hold::FORCES, t * m.force.len()), out));
        }
        out.store_in(Hold::INFO, first, t * INFO, work.info);
        copy(m.q, m.q_next);
    }
}
