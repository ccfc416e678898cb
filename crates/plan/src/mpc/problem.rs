//! The problem of a planner: a simulator, an objective, a command and a horizon; and the trajectories rolled out for
//! it.

use candle_core::{Result, bail};

use super::command::{Command, within};
use super::cost::{Objective, Term};
use super::robust::Robust;
use super::simulator::Simulator;
use super::start::Start;
use fingertip_step::solve::{Accuracy, Status};
use fingertip_step::step::{Quasidynamic, SparseRows};

/// Find `horizon` commands, from a given state on, that make the objective small.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The step as a planner sees it: one command for each period.
    pub simulator: Simulator,
    /// The objective to minimise.
    pub objective: Objective,
    /// The decision of each period.
    pub command: Command,
    /// The number of commands to plan, T ≥ 1.
    pub horizon: usize,
    /// Other worlds for which the plan is made too, if there are any.
    pub robust: Option<Robust>,
}

/// The trajectory of T commands in one world; in a robust problem that of the believed world, with those of the others.
#[derive(Clone, Debug)]
pub struct Trajectory {
    /// States (T + 1, nq). The first is the start.
    pub q: Vec<f64>,
    /// The decisions v (T, nu).
    pub v: Vec<f64>,
    /// Commands (T, nu).
    pub u: Vec<f64>,
    /// Contact forces on B in world axes at the end of each period (T, 3 nc), N.
    pub force: SparseRows,
    /// The value of the objective; in a robust problem what counts of it in all worlds.
    pub cost: f64,
    /// Number of steps without a solution, in which the world stood still; in a robust problem of all worlds.
    pub unsolved: usize,
    /// The trajectories in the other worlds of a robust problem, in their order.
    pub others: Vec<Trajectory>,
    /// The derivative of the cost of all worlds by that of this one.
    pub(super) weight: f64,
    /// The state before each step of the model (T · hold, nq), and the solver's forces in that step.
    pub(super) inner_q: Vec<f64>,
    pub(super) inner_warm: SparseRows,
}

impl Trajectory {
    /// Before the first command.
    fn at(q: &[f64], step: &Quasidynamic) -> Self {
        Self {
            q: q.to_vec(),
            v: Vec::new(),
            u: Vec::new(),
            force: SparseRows::new(3 * step.model().nc()),
            cost: 0.0,
            unsolved: 0,
            others: Vec::new(),
            weight: 1.0,
            inner_q: Vec::new(),
            inner_warm: SparseRows::new(step.n_warm()),
        }
    }

    /// This one, and then those of the other worlds.
    pub(super) fn worlds(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(&self.others)
    }

    /// The solver's forces in the first steps of the periods from `k` on (·, n_warm). Each period has `hold` steps.
    pub(super) fn warm(&self, k: usize, hold: usize) -> SparseRows {
        let mut all = SparseRows::new(self.inner_warm.width());
        let firsts = (0..self.inner_warm.len()).step_by(hold).skip(k);
        firsts.for_each(|first| all.extend(&self.inner_warm, first..first + 1));
        all
    }

    /// Is this trajectory better? One whose steps all have a solution beats one that has steps without, whatever the
    /// cost.
    pub(super) fn is_better_than(&self, other: &Self) -> bool {
        (self.unsolved, self.cost).partial_cmp(&(other.unsolved, other.cost)) == Some(std::cmp::Ordering::Less)
    }
}

/// A joint's part of a command's cost: w r² with r = a q_a + b u_before + v (plus constants), times its scale.
pub(super) struct Square {
    pub(super) weight: f64,
    pub(super) residual: f64,
    /// ∂r/∂(q_a, u_before, v).
    pub(super) rates: [f64; 3],
}

impl Problem {
    /// Checks that the parts fit together.
    ///
    /// # Errors
    /// If the horizon is 0 or the start's lengths do not fit the model.
    pub fn check(&self, start: &Start) -> Result<()> {
        let (nq, nu) = (self.simulator.model().nq(), self.nu());
        if self.horizon == 0 || start.q.len() != nq || start.u.len() != nu {
            bail!(
                "problem: expected a horizon of 1 at least, {nq} numbers in q and {nu} in u, got {}, {} and {}",
                self.horizon,
                start.q.len(),
                start.u.len()
            );
        }
        let nw = self.simulator.step().n_warm();
        if !start.warm.is_empty() && start.warm.width() != nw {
            bail!("problem: expected forces (·, {nw}) to start from, got rows of {} numbers", start.warm.width());
        }
        start.others.iter().try_for_each(|other| self.check(other))
    }

    /// The model of each world, the believed one first.
    pub(super) fn simulators(&self) -> impl Iterator<Item = &Simulator> {
        std::iter::once(&self.simulator).chain(self.robust.iter().flat_map(Robust::simulators))
    }

    /// The problem in the believed world alone.
    pub(super) fn alone(&self) -> Self {
        Self { robust: None, ..self.clone() }
    }

    /// The problem with another model, in the same variations of it.
    ///
    /// # Errors
    /// If a tensor operation fails.
    pub(super) fn with_simulator(&self, simulator: Simulator) -> Result<Self> {
        let robust = self.robust.as_ref().map(|robust| robust.around(&simulator)).transpose()?;
        Ok(Self { simulator, robust, ..self.clone() })
    }

    /// What each term of the objective would cost if the state stayed at q (nq) over the whole horizon: its name, its
    /// cost, and whether it is part of the purpose. Where a term that is not costs more than all that are, a plan may
    /// gain more from it than from the goal.
    ///
    /// # Errors
    /// If q has a wrong length.
    pub fn standing(&self, q: &[f64]) -> Result<Vec<(&'static str, f64, bool)>> {
        let cost = |term: &Term| {
            let weight = (self.horizon - 1) as f64 * term.running + term.terminal;
            Ok((term.cost.name(), weight * term.cost.value(q)?, term.purpose))
        };
        self.objective.terms.iter().map(cost).collect()
    }

    pub(super) fn nu(&self) -> usize {
        self.simulator.joints().len()
    }

    /// Is the previous command part of the state?
    pub(super) fn remembers(&self) -> bool {
        self.command.rates().1 != 0.0 || self.objective.smoothness > 0.0
    }

    /// Length of x.
    pub(super) fn nx(&self) -> usize {
        self.simulator.model().nv() + if self.remembers() { self.nu() } else { 0 }
    }

    /// Rolls plans out side by side from one start, each in all worlds of the problem. `decide(plan, k, q, u_before)`
    /// returns v for period k at the state q of one of its worlds; it is then kept within its range.
    ///
    /// # Errors
    /// As [`Problem::check`], or if a v has a wrong length.
    pub fn roll(
        &self,
        start: &Start,
        plans: usize,
        mut decide: impl FnMut(usize, usize, &[f64], &[f64]) -> Vec<f64>,
    ) -> Result<Vec<Trajectory>> {
        self.roll_to(Accuracy::Fine, start, plans, |[plan, _], k, q, before| decide(plan, k, q, before))
    }

    /// [`Problem::roll`] with a given accuracy; `decide` is given plan and world.
    pub(super) fn roll_to(
        &self,
        accuracy: Accuracy,
        start: &Start,
        plans: usize,
        mut decide: impl FnMut([usize; 2], usize, &[f64], &[f64]) -> Vec<f64>,
    ) -> Result<Vec<Trajectory>> {
        self.check(start)?;
        let (sim, nu, n) = (&self.simulator, self.nu(), self.simulator.hold());
        let nq = sim.model().nq();
        let step = self.robust.as_ref().map_or(sim.step(), Robust::step);
        let starts: Vec<&Start> = (0..self.simulators().count()).map(|world| start.of(world)).collect();
        let worlds = starts.len();
        let every = (0..plans).flat_map(|_| &starts);
        let mut all: Vec<Trajectory> = every.map(|start| Trajectory::at(&start.q, sim.step())).collect();
        let (mut q, mut warm) = (all.iter().flat_map(|own| own.q.clone()).collect::<Vec<_>>(), SparseRows::default());
        for k in 0..self.horizon {
            let mut commands = Vec::with_capacity(all.len() * nu);
            for (i, own) in all.iter_mut().enumerate() {
                let q = &q[i * nq..(i + 1) * nq];
                let before = if k == 0 { start.u.as_slice() } else { &own.u[(k - 1) * nu..] };
                let wanted = decide([i / worlds, i % worlds], k, q, before);
                let (v, u) = self.limited(q, before, &wanted)?;
                own.cost += self.squares(q, before, &v).flatten().map(|s| s.weight * s.residual.powi(2)).sum::<f64>();
                commands.extend_from_slice(&u);
                own.v.extend(v);
                own.u.extend(u);
            }
            if starts.iter().all(|start| k < start.warm.len()) {
                warm = SparseRows::new(sim.step().n_warm());
                let every = (0..plans).flat_map(|_| &starts);
                every.for_each(|start| warm.extend(&start.warm, k..k + 1));
            }
            let held = step.hold_to(accuracy, [&q, &commands], Some(&warm), n)?;
            warm = SparseRows::new(sim.step().n_warm());
            for (i, own) in all.iter_mut().enumerate() {
                let states = &held.q[i * n * nq..(i + 1) * n * nq];
                let last = (i + 1) * n - 1;
                let end = &states[(n - 1) * nq..];
                own.inner_q.extend_from_slice(&q[i * nq..(i + 1) * nq]);
                own.inner_q.extend_from_slice(&states[..(n - 1) * nq]);
                own.inner_warm.extend(&held.warm, i * n..(i + 1) * n);
                own.q.extend_from_slice(end);
                own.force.extend(&held.force, last..last + 1);
                own.cost += self.objective.forces.iter().map(|term| term.value(&held.force, last)).sum::<f64>();
                own.cost += self.objective.state(end, k + 1 == self.horizon, false)?;
                let reports = &held.reports[i * n..(i + 1) * n];
                own.unsolved +=
                    reports.iter().filter(|r| matches!(r.status, Status::Infeasible | Status::BadInput)).count();
                q[i * nq..(i + 1) * nq].copy_from_slice(end);
                warm.extend(&held.warm, last..last + 1);
            }
        }
        Ok(match &self.robust {
            None => all,
            Some(robust) => all.chunks_exact(worlds).map(|own| together(robust, own)).collect(),
        })
    }

    /// Rolls out given v (T, nu), side by side.
    ///
    /// # Errors
    /// As [`Problem::roll`].
    pub fn roll_given(&self, start: &Start, v: &[Vec<f64>]) -> Result<Vec<Trajectory>> {
        self.roll_given_to(Accuracy::Fine, start, v)
    }

    /// [`Problem::roll_given`] with a given accuracy.
    pub(super) fn roll_given_to(&self, accuracy: Accuracy, start: &Start, v: &[Vec<f64>]) -> Result<Vec<Trajectory>> {
        let n = self.horizon * self.nu();
        if let Some(bad) = v.iter().find(|v| v.len() != n) {
            bail!("problem: expected {n} numbers in v, got {}", bad.len());
        }
        self.roll_to(accuracy, start, v.len(), |[plan, _], k, _, _| {
            v[plan][k * self.nu()..(k + 1) * self.nu()].to_vec()
        })
    }

    /// v kept within its range, and the resulting command.
    pub(super) fn limited(&self, q: &[f64], before: &[f64], wanted: &[f64]) -> Result<(Vec<f64>, Vec<f64>)> {
        if wanted.len() != self.nu() {
            bail!("problem: expected {} numbers in v, got {}", self.nu(), wanted.len());
        }
        let joints = self.simulator.joints().iter().enumerate().zip(wanted);
        let one = |((j, of), &wanted): ((usize, &super::Joint), &f64)| {
            let base = self.command.base(j, of, q, before);
            let v = within(if wanted.is_finite() { wanted } else { 0.0 }, self.command.range(j, of, q, before, base));
            (v, self.command.sum(of, base, v))
        };
        Ok(joints.map(one).unzip())
    }

    /// The squares in a command's cost, joint by joint.
    pub(super) fn squares(&self, q: &[f64], before: &[f64], v: &[f64]) -> impl Iterator<Item = [Square; 3]> {
        let Objective { command, smoothness, effort, .. } = self.objective;
        let (a, b) = self.command.rates();
        self.simulator.joints().iter().enumerate().map(move |(j, of)| {
            let u = self.command.base(j, of, q, before) + v[j];
            let k = of.stiffness;
            [
                Square { weight: command, residual: v[j], rates: [0.0, 0.0, 1.0] },
                Square { weight: smoothness, residual: u - before[j], rates: [a, b - 1.0, 1.0] },
                Square { weight: effort, residual: k * (u - q[of.q]), rates: [k * (a - 1.0), k * b, k] },
            ]
        })
    }
}

/// The trajectories of one plan in all worlds, the believed one first, as one.
fn together(robust: &Robust, worlds: &[Trajectory]) -> Trajectory {
    let (cost, weights) = robust.risk().of(&worlds.iter().map(|world| world.cost).collect::<Vec<_>>());
    let unsolved = worlds.iter().map(|world| world.unsolved).sum();
    let mut weighed =
        worlds.iter().zip(weights).map(|(world, weight)| Trajectory { weight, ..world.clone() }).collect::<Vec<_>>();
    let others = weighed.split_off(1);
    Trajectory { cost, unsolved, others, ..weighed.remove(0) }
}
