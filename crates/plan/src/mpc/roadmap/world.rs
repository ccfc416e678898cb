//! A world in which ways are tried: the task's step with harder contacts, and friction other than believed.

use candle_core::Result;

use crate::mpc::plant::KAPPA;
use crate::mpc::sampling::Deviates;
use crate::mpc::simulator::Simulator;
use crate::mpc::task::Task;
use fingertip_step::solve::Status;
use fingertip_step::step::SparseRows;

/// Factors on all friction in the worlds in which edges are tried, in turn.
const FRICTION: [f64; 3] = [1.0, 0.75, 1.3];
/// Speed below which a coordinate is at rest, m/s or rad/s.
const STILL: f64 = 5e-3;
/// Time in which something has to come to rest, s.
const LONGEST: f64 = 3.0;
/// Deviations of the object from a node at the start of a try, as a share of what counts as reached.
const SPREAD: f64 = 0.5;

/// The models of all worlds.
#[derive(Clone, Debug)]
pub(super) struct Worlds(Vec<Simulator>);

/// A state that is commanded.
#[derive(Clone, Debug)]
pub(super) struct World<'a> {
    simulator: &'a Simulator,
    pub q: Vec<f64>,
    warm: SparseRows,
}

impl Worlds {
    pub fn new(task: &Task) -> Result<Self> {
        let hard = task.simulator().with_kappa(KAPPA)?;
        let with = |factor: &f64| {
            let mut parameters = hard.step().parameters().clone();
            parameters.mu = (parameters.mu * *factor)?;
            hard.with_parameters(&parameters)
        };
        Ok(Self(FRICTION.iter().map(with).collect::<Result<_>>()?))
    }

    /// The world of try number `number`.
    pub fn of(&self, number: usize) -> &Simulator {
        &self.0[number % self.0.len()]
    }
}

impl<'a> World<'a> {
    pub fn new(simulator: &'a Simulator, q: Vec<f64>) -> Self {
        Self { simulator, q, warm: SparseRows::default() }
    }

    /// One control period with the command u (nu): whether all its steps have a solution.
    pub fn advance(&mut self, u: &[f64]) -> Result<bool> {
        let held = self.simulator.advance(&self.q, u, Some(&self.warm))?;
        self.q = held.q[held.q.len() - self.q.len()..].to_vec();
        self.warm = held.warm.last();
        Ok(held.reports.iter().all(|report| report.status == Status::Solved))
    }

    /// Holds the joints until nothing moves: whether it came to rest.
    pub fn settle(&mut self) -> Result<bool> {
        let u = self.simulator.positions(&self.q);
        let mut seconds = 0.0;
        while seconds < LONGEST {
            let before = self.q.clone();
            let is_solved = self.advance(&u)?;
            seconds += self.simulator.period();
            let moved = self.simulator.minus(&self.q, &before)?;
            if is_solved && moved.iter().all(|x| x.abs() < STILL * self.simulator.period()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Moves the object by normal deviates whose size is that of what counts as reached, and lets it come to rest.
    pub fn disturb(&mut self, task: &Task, near: f64, deviates: &mut Deviates) -> Result<bool> {
        let mut by = vec![0.0; self.simulator.model().nv()];
        for (v, weight) in task.freedoms() {
            by[v] = SPREAD * near / weight.sqrt() * deviates.normal() / 3.0_f64.sqrt();
        }
        self.q = self.simulator.plus(&self.q, &by)?;
        self.settle()
    }
}
