//! The log of a step's solve.

use candle_core::{Device, Result, Tensor};

use crate::solve::Logged;
use crate::tensor::rows::TensorGuard;
use fingertip_lanes::lane::Lane;
use fingertip_lanes::program::{Group, Program, Stage, run_on, run_parts_on};
use fingertip_lanes::rows::Output;

use super::super::gaps::gap;
use super::memory::Memory;
use super::plan::Plan;
use super::stages::{Finish, Load, Operands};

/// The iterations of a phase of a solve, and what a step would be that ended after each, a row for each.
pub(in super::super) struct LoggedPhase {
    pub(in super::super) of: Logged,
    /// δ (·, nv).
    pub(in super::super) delta: Vec<f64>,
    /// The gaps that are left (·, nc), m.
    pub(in super::super) gaps: Vec<f64>,
    /// The forces on B (·, nc, 3), N.
    pub(in super::super) forces: Vec<f64>,
    /// The relative residuals, one for each iteration.
    pub(in super::super) residuals: Vec<f64>,
}

/// The phases of the solve of one world, q (1, nq) under u (1, nu). It is computed in double precision on the CPU.
pub(in super::super) fn log(plan: &Plan, operands: [&Tensor; 3]) -> Result<Vec<LoggedPhase>> {
    let on_cpu = |t: &Tensor| t.to_device(&Device::Cpu);
    let [q, u, par] = operands;
    let on_cpu = [on_cpu(q)?, on_cpu(u)?, on_cpu(par)?];
    let held = on_cpu.each_ref().map(TensorGuard::new);
    let operands = Operands::of(&held, None)?;
    let logged = plan.logged();
    let length = logged.places.solve.work.log.len();
    let numbers = run_on(plan.set, &Log { plan: &logged, operands: &operands }, 1, length);
    let phases = Logged::of(&plan.structure, &numbers).into_iter().map(|of| {
        let (program, widths) =
            (Replay { plan, operands: &operands, of: &of }, [plan.structure.nv, plan.nc, 3 * plan.nc, 1]);
        let [delta, gaps, forces, residuals] = run_parts_on(plan.set.into(), &program, of.heads.len(), widths);
        LoggedPhase { of, delta, gaps, forces, residuals }
    });
    Ok(phases.collect())
}

/// A step whose result is the log of its solve.
struct Log<'a> {
    plan: &'a Plan,
    operands: &'a Operands<'a>,
}

impl Program for Log<'_> {
    fn scratch(&self) -> usize {
        self.plan.places.solve.work.end()
    }

    fn group(&self, group: &mut Group) {
        let Self { plan, operands } = self;
        group.run(&Load { plan, operands, goes_on: false });
        plan.prepare(group);
        plan.solve(group, false);
        group.run(&StoreLog(plan));
    }
}

/// Writes the log.
struct StoreLog<'a>(&'a Plan);

impl Stage for StoreLog<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, memory: &mut [R], out: &mut Output) {
        out.store_all(first, 0, &memory[self.0.places.solve.work.log.clone()]);
    }
}

/// Steps that end at the iterates of a phase, one in each world.
struct Replay<'a> {
    plan: &'a Plan,
    operands: &'a Operands<'a>,
    of: &'a Logged,
}

impl Program for Replay<'_> {
    fn scratch(&self) -> usize {
        self.plan.places.solve.work.end()
    }

    fn group(&self, group: &mut Group) {
        let Self { plan, operands, of } = self;
        group.run(&Load { plan, operands, goes_on: false });
        plan.prepare(group);
        of.recall(&plan.structure, &plan.places.solve, group);
        group.run(&Finish(plan));
        group.run(&Keep(plan));
    }
}

/// Writes δ, gaps, forces and the residual.
struct Keep<'a>(&'a Plan);

impl Stage for Keep<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, memory: &mut [R], out: &mut Output) {
        let plan = self.0;
        let Memory { numbers: m, work } = plan.places.memory(memory).0;
        out.store_in(0, first, 0, m.delta);
        for i in 0..plan.nc {
            out.store_in(1, first, i, &[gap(&plan.structure, i, [m.geometry, plan.screws(m.kin), work.delta])]);
        }
        out.store_in(2, first, 0, &m.force[..3 * plan.nc]);
        out.store_in(3, first, 0, &work.info[2..3]);
    }
}
