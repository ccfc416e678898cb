//! The forward sweep.

use crate::math::lane::{Lane, copy};
use crate::math::program::{Group, Program, Stage};
use crate::math::rows::Output;
use crate::solve::INFO;

use super::super::memory::Memory;
use super::super::plan::Plan;
use super::super::stages::{Load, Operands};
use super::Sweep;

/// T steps of a lane.
pub(super) struct Forward<'a> {
    pub(super) plan: &'a Plan,
    pub(super) operands: &'a Operands<'a>,
    pub(super) n_steps: usize,
}

impl Program for Forward<'_> {
    fn scratch(&self) -> usize {
        self.plan.places.solve.work.end()
    }

    fn group(&self, group: &mut Group) {
        let Self { plan, operands, n_steps } = self;
        group.run_in_either(&Load { plan, operands });
        for t in 0..*n_steps {
            group.run_in_either(&Enter { forward: self, t });
            plan.prepare(group);
            plan.solve(group, t > 0);
            group.run_in_either(&Leave { forward: self, t });
        }
    }
}

/// q of step t from the step before, u from the controls; writes the state.
struct Enter<'a> {
    forward: &'a Forward<'a>,
    t: usize,
}

impl Stage for Enter<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, memory: &mut [R], out: &mut Output) {
        let Forward { plan, operands, .. } = self.forward;
        let m = plan.places.memory(memory).0.numbers;
        if self.t > 0 {
            copy(m.q, m.q_next);
            operands.u.load_all(first, self.t * plan.nu, m.u);
        }
        out.store_in(Sweep::STATES, first, self.t * plan.nq, m.q);
    }
}

/// Writes what step t has given.
struct Leave<'a> {
    forward: &'a Forward<'a>,
    t: usize,
}

impl Stage for Leave<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, memory: &mut [R], out: &mut Output) {
        let (plan, t) = (self.forward.plan, self.t);
        let Memory { numbers: m, work } = plan.places.memory(memory).0;
        let limits = &work.eta[m.force.len()..];
        out.store_in(Sweep::STATES, first, (t + 1) * plan.nq, m.q_next);
        out.store_in(Sweep::FORCES, first, t * m.force.len(), m.force);
        out.store_in(Sweep::LIMITS, first, t * limits.len(), limits);
        out.store_in(Sweep::INFO, first, t * INFO, work.info);
    }
}
