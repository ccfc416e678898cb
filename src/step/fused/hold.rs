//! Steps and Jacobians of plain numbers: a command that is held over some steps, and the derivatives of each.

use candle_core::{Result, Tensor};

use crate::math::lane::{Lane, copy};
use crate::math::program::{Group, Program, Stage, run_parts_on};
use crate::math::rows::{Held, Output, Rows, worlds};
use crate::solve::INFO;

use super::jacobian;
use super::memory::Memory;
use super::plan::Plan;
use super::stages::{Load, Operands};

/// `n_steps` steps from each world's q under its u (see [`super::super::Held`]): states, η, forces and reports after each
/// step, a row for each world.
pub(in super::super) fn hold(
    plan: &Plan,
    [q, u, warm]: [&[f64]; 3],
    par: &Tensor,
    b: usize,
    n_steps: usize,
) -> Result<[Vec<f64>; 4]> {
    let par = Held::new(par);
    let operands = operands(plan, [q, u, warm], par.rows()?, b)?;
    let s = &plan.structure;
    let widths = [plan.nq, s.n_eta(), 3 * s.nc(), INFO].map(|width| n_steps * width);
    Ok(run_parts_on(plan.set.into(), &Hold { plan, operands, n_steps }, b, widths))
}

/// One step of each world and its Jacobians: the steps' rows, A, B, C, D; the last two only with `forces`.
pub(in super::super) fn jacobians(
    plan: &Plan,
    [q, u, warm]: [&[f64]; 3],
    par: &Tensor,
    b: usize,
    forces: bool,
) -> Result<[Vec<f64>; 5]> {
    let par = Held::new(par);
    Ok(jacobian::rows(plan, operands(plan, [q, u, warm], par.rows()?, b)?, b, forces))
}

fn operands<'a>(plan: &Plan, [q, u, warm]: [&'a [f64]; 3], par: Rows<'a>, b: usize) -> Result<Operands<'a>> {
    let warm = (!warm.is_empty()).then(|| Rows::from_slice(warm, b, plan.structure.n_eta()));
    let operands = Operands { q: Rows::from_slice(q, b, plan.nq), u: Rows::from_slice(u, b, plan.nu), par, warm };
    worlds("step", &[&operands.q, &operands.u, &operands.par])?;
    Ok(operands)
}

struct Hold<'a> {
    plan: &'a Plan,
    operands: Operands<'a>,
    n_steps: usize,
}

impl Program for Hold<'_> {
    fn scratch(&self) -> usize {
        self.plan.places.solve.work.end()
    }

    fn group(&self, group: &mut Group) {
        let Self { plan, operands, n_steps } = self;
        group.run(&Load { plan, operands });
        for t in 0..*n_steps {
            if t > 0 {
                group.run(&GoOn(plan));
            }
            plan.prepare(group);
            plan.solve(group, t > 0 || operands.warm.is_some());
            group.run(&Keep { plan, t });
        }
    }
}

/// The next step begins where this one has ended.
struct GoOn<'a>(&'a Plan);

impl Stage for GoOn<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let m = self.0.places.memory(memory).0.numbers;
        copy(m.q, m.q_next);
    }
}

/// Writes what step t has given.
struct Keep<'a> {
    plan: &'a Plan,
    t: usize,
}

impl Stage for Keep<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, memory: &mut [R], out: &mut Output) {
        let t = self.t;
        let Memory { numbers: m, work } = self.plan.places.memory(memory).0;
        for (part, block) in [&*m.q_next, work.eta, m.force, work.info].into_iter().enumerate() {
            out.store_in(part, first, t * block.len(), block);
        }
    }
}
