//! The forward sweep of a rollout: T steps in a row, which write states, forces and reports.

use crate::solve::INFO;
use fingertip_lanes::lane::{Lane, copy};
use fingertip_lanes::order::Order;
use fingertip_lanes::program::{Group, Program, Stage};
use fingertip_lanes::rows::Output;

use super::super::memory::Memory;
use super::super::plan::Plan;
use super::super::stages::{Columns, Forget, Load, Operands};

/// The program of T steps of a lane's worlds.
pub(in super::super) struct Forward<'a> {
    pub(in super::super) plan: &'a Plan,
    pub(in super::super) operands: &'a Operands<'a>,
    pub(in super::super) n_steps: usize,
    /// Are contacts with a force listed? Else there are rows of all.
    pub(in super::super) lists: bool,
}

impl Forward<'_> {
    /// Matrices of results: states, contact forces (if those are listed the torques alone), limit forces, reports.
    const STATES: usize = 0;
    pub(in super::super) const FORCES: usize = 1;
    const LIMITS: usize = 2;
    pub(super) const INFO: usize = 3;
}

impl Program for Forward<'_> {
    fn scratch(&self) -> usize {
        self.plan.places.solve.work.end()
    }

    fn group(&self, group: &mut Group) {
        let Self { plan, operands, n_steps, .. } = self;
        let goes_on = group.goes_on();
        group.run_in_either(&Load { plan, operands, goes_on });
        group.run_in_either(&Forget { plan, goes_on });
        group.run_in_either(&Begin(plan));
        group.each(*n_steps, Order::Forward, |group, t| {
            group.run_in_either(&Enter { forward: self, t });
            plan.prepare_near(group);
            plan.solve(group, true);
            group.run_in_either(&Leave { forward: self, t });
        });
    }

    fn mark(&self) -> Option<u64> {
        self.plan.mark(&self.operands.par)
    }
}

/// Writes the first state.
struct Begin<'a>(&'a Plan);

impl Stage for Begin<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, memory: &mut [R], out: &mut Output) {
        let m = self.0.places.memory(memory).0.numbers;
        out.store_in(Forward::STATES, first, 0, m.q);
    }
}

/// Loads u of step t from the controls.
struct Enter<'a> {
    forward: &'a Forward<'a>,
    t: usize,
}

impl Stage for Enter<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, memory: &mut [R], _: &mut Output) {
        let Forward { plan, operands, .. } = self.forward;
        operands.u.load_all(first, self.t * plan.nu, plan.places.memory(memory).0.numbers.u);
    }
}

/// Writes the results of step t, and makes q₊ the q of the next step.
struct Leave<'a> {
    forward: &'a Forward<'a>,
    t: usize,
}

impl Stage for Leave<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, memory: &mut [R], out: &mut Output) {
        let (&Forward { plan, lists, .. }, t) = (self.forward, self.t);
        let Memory { numbers: m, work } = plan.places.memory(memory).0;
        let limits = &work.eta[plan.structure.n_force()..];
        out.store_in(Forward::STATES, first, (t + 1) * plan.nq, m.q_next);
        if lists {
            let torques = &m.force[3 * plan.nc..];
            plan.list_forces((&m, &[]), first, t, out);
            out.store_in(Forward::FORCES, first, t * torques.len(), torques);
        } else {
            plan.store_forces(&m, first, (Columns(Forward::FORCES, t * m.force.len()), out));
        }
        out.store_in(Forward::LIMITS, first, t * limits.len(), limits);
        out.store_in(Forward::INFO, first, t * INFO, work.info);
        copy(m.q, m.q_next);
    }
}
