//! Gauss–Newton differential dynamic programming with the commands in a box.
//!
//! The backward sweep ([`super::sweep`]) computes a change k of each command and its feedback K. The forward sweep
//! rolls out v + α k + K (x ⊖ x̄) for four α at once, as four worlds of one SIMD group. They are the ones around the
//! previous best α, and then smaller ones if none of these improves the plan.

use std::time::Instant;

use candle_core::Result;
use nalgebra::DVector;

use super::outcome::{Clock, LogLine, Outcome, Plan};
use super::problem::{Problem, Trajectory};
use super::quadratic::Quadratic;
use super::start::Start;
use super::sweep::{Sweep, backward};
use fingertip_step::solve::Accuracy;

/// The step lengths of the line search, and how many are tried at once. Eight cost 1.6 times as much as four. In a
/// robust problem as many are tried as fill a register of so many lanes with their worlds.
static SHARES: [f64; 8] = [1.0, 0.6, 0.35, 0.2, 0.1, 0.04, 0.01, 0.002];
const GROUP: usize = 4;
const LANES: usize = 8;
/// Regularisation of Q_vv relative to its largest diagonal entry: at first; at least; at first after a failure; and the
/// value above which the search gives up.
const REGULARISATION: f64 = 1e-6;
const LEAST: f64 = 1e-9;
const RESTART: f64 = 1e-5;
const MOST: f64 = 1e3;
/// From this tolerance on, rough solves are accurate enough to compare plans.
const ROUGH: f64 = 1e-6;
/// Share of the purpose's cost that a step must be able to remove, to first order; otherwise there is no gradient.
const REACH: f64 = 0.01;

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub struct Ilqr {
    /// After how many iterations a search ends without having converged.
    pub iterations: usize,
    /// The search has converged when the relative decrease is below this.
    pub tolerance: f64,
    /// Cost of the purpose below which a missing gradient does not matter.
    pub small: f64,
}

impl Default for Ilqr {
    fn default() -> Self {
        Self { iterations: 20, tolerance: 1e-4, small: 0.0 }
    }
}

/// State passed from one iteration to the next.
struct Search {
    regularisation: f64,
    /// Index of the best of [`SHARES`].
    best: usize,
}

impl Search {
    /// The shares around the previous best one, `group` at a time, then those that are smaller, or if there are none,
    /// larger.
    fn shares(&self, group: usize) -> impl Iterator<Item = &'static [f64]> + use<> {
        let first = self.best.saturating_sub(1).min(SHARES.len() - group);
        let (larger, rest) = SHARES.split_at(first);
        rest.chunks(group).chain((rest.len() == group).then_some(larger))
    }
}

impl Ilqr {
    /// Improves the best of some plans v (T, nu). The shares of each iteration's line search run side by side.
    ///
    /// # Errors
    /// If the length of the start or of a v does not fit the problem. Numerical trouble is an [`Outcome`].
    pub fn solve(&self, problem: &Problem, start: &Start, from: &[Vec<f64>], clock: &mut Clock) -> Result<Plan> {
        let begin = Instant::now();
        let mut best = match (&problem.robust, from) {
            // Plans to start from are compared in the believed world.
            (Some(_), [_, _, ..]) => {
                let best = best_of(problem.alone().roll_given_to(self.accuracy(), start, from)?)?;
                best_of(problem.roll_given_to(self.accuracy(), start, &[best.v])?)?
            }
            _ => best_of(problem.roll_given_to(self.accuracy(), start, from)?)?,
        };
        let mut log = vec![LogLine { cost: best.cost, expected: f64::NAN, share: 0.0, seconds: clock.seconds() }];
        // An iteration takes one linearisation more than that.
        clock.note(begin);
        let mut outcome = Outcome::IterationLimit;
        let mut search = Search { regularisation: REGULARISATION, best: 0 };
        let mut iterations = 0;
        while iterations < self.iterations {
            if clock.is_late() {
                outcome = Outcome::Deadline;
                break;
            }
            let begin = Instant::now();
            iterations += 1;
            let quadratics = problem.expand_to(self.accuracy(), start, &best, false)?;
            let (ended, line) = self.iterate(problem, start, &quadratics, &mut best, &mut search, clock)?;
            log.push(line);
            clock.note(begin);
            if let Some(ended) = ended {
                outcome = ended;
                if ended == Outcome::Converged {
                    outcome = self.final_outcome(problem, &best, &quadratics)?;
                }
                break;
            }
        }
        if best.unsolved > 0 {
            outcome = Outcome::Unsolved;
        }
        Ok(Plan { best, outcome, iterations, log })
    }

    /// Decides whether a search with nothing to gain has converged or lacks a gradient of the purpose. The quadratics
    /// may be those of a slightly worse plan.
    pub(super) fn final_outcome(
        &self,
        problem: &Problem,
        best: &Trajectory,
        quadratics: &[Vec<Quadratic>],
    ) -> Result<Outcome> {
        let (cost, gain) = problem.purpose(best, quadratics)?;
        let is_lost = cost > self.small && gain < REACH * cost;
        Ok(if is_lost { Outcome::NoGradient } else { Outcome::Converged })
    }

    /// Progress from one linearisation: sweeps with growing regularisation until a step improves the plan.
    fn iterate(
        &self,
        problem: &Problem,
        start: &Start,
        quadratics: &[Vec<Quadratic>],
        best: &mut Trajectory,
        search: &mut Search,
        clock: &Clock,
    ) -> Result<(Option<Outcome>, LogLine)> {
        let mut line = LogLine { cost: best.cost, expected: 0.0, share: 0.0, seconds: clock.seconds() };
        let ended = loop {
            if search.regularisation > MOST {
                search.regularisation = RESTART;
                break Some(Outcome::Converged);
            }
            let Some(sweep) = backward(quadratics, search.regularisation) else {
                search.regularisation = (search.regularisation * 10.0).max(RESTART);
                continue;
            };
            line.expected = sweep.expected;
            if sweep.expected.abs() <= self.tolerance * best.cost {
                break Some(Outcome::Converged);
            }
            let mut improved = None;
            for shares in search.shares((LANES / (1 + best.others.len())).clamp(1, GROUP)) {
                let all = self.forward(problem, start, &sweep, best, shares)?.into_iter().zip(shares);
                improved = all.reduce(|a, b| if b.0.is_better_than(&a.0) { b } else { a });
                improved = improved.filter(|(next, _)| next.is_better_than(best));
                if improved.is_some() {
                    break;
                }
            }
            match improved {
                Some((next, &share)) => {
                    let relative = (best.cost - next.cost) / best.cost;
                    let had_unsolved = best.unsolved > 0;
                    let change = if share == 1.0 {
                        0.3
                    } else if share > 0.3 {
                        1.0
                    } else {
                        4.0
                    };
                    search.regularisation = (search.regularisation * change).clamp(LEAST, MOST);
                    search.best = SHARES.iter().position(|&s| s == share).unwrap_or(0);
                    *best = next;
                    (line.cost, line.share) = (best.cost, share);
                    break (relative < self.tolerance && !had_unsolved).then_some(Outcome::Converged);
                }
                None => search.regularisation = (search.regularisation * 20.0).max(RESTART),
            }
            if clock.is_late() {
                break Some(Outcome::Deadline);
            }
        };
        line.seconds = clock.seconds();
        Ok((ended, line))
    }

    /// Accuracy with which plans are rolled out to compare them, and linearised.
    fn accuracy(&self) -> Accuracy {
        if self.tolerance < ROUGH { Accuracy::Fine } else { Accuracy::Rough }
    }

    /// Several step lengths, with feedback.
    fn forward(
        &self,
        problem: &Problem,
        start: &Start,
        sweep: &Sweep,
        along: &Trajectory,
        shares: &[f64],
    ) -> Result<Vec<Trajectory>> {
        let sim = &problem.simulator;
        let (nq, nv, nu, nx) = (sim.model().nq(), sim.model().nv(), problem.nu(), problem.nx());
        let mut failure = None;
        let along: Vec<&Trajectory> = along.worlds().collect();
        let warm = |world: usize| along[world].warm(0, sim.hold());
        let others = (1..along.len()).map(|world| Start { warm: warm(world), ..start.of(world).clone() }).collect();
        let nearby = Start { warm: warm(0), others, ..start.clone() };
        let all = problem.roll_to(self.accuracy(), &nearby, shares.len(), |[plan, world], k, q, before| {
            let along = along[world];
            let mut dx = DVector::zeros(nx);
            if k > 0 {
                match sim.minus(q, &along.q[k * nq..(k + 1) * nq]) {
                    Ok(difference) => dx.rows_mut(0, nv).copy_from_slice(&difference),
                    Err(error) => failure = Some(error),
                }
                if nx > nv {
                    for j in 0..nu {
                        dx[nv + j] = before[j] - along.u[(k - 1) * nu + j];
                    }
                }
            }
            let change = &sweep.feed[k] * shares[plan] + &sweep.gain[k] * dx;
            (0..nu).map(|j| along.v[k * nu + j] + change[j]).collect()
        })?;
        match failure {
            Some(error) => Err(error),
            None => Ok(all),
        }
    }
}

/// The best of some trajectories.
pub(super) fn best_of(all: Vec<Trajectory>) -> Result<Trajectory> {
    let best = all.into_iter().reduce(|a, b| if b.is_better_than(&a) { b } else { a });
    best.ok_or_else(|| candle_core::Error::msg("expected at least one plan to start from"))
}
