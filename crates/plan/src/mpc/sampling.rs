//! Search without gradients: many plans are rolled out side by side and combined by their costs.
//!
//! MPPI (Williams, Aldrich, Theodorou 2017) weighs plans by exp(−J/τ), with τ chosen so that the best eighth dominates;
//! the cross-entropy method (Rubinstein 1999) takes mean and deviation of the best eighth.

use std::time::Instant;

use candle_core::Result;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::ilqr::best_of;
use super::outcome::{Clock, LogLine, Outcome, Plan};
use super::problem::{Problem, Trajectory};
use super::start::Start;
use fingertip_step::solve::Accuracy;

/// The fraction of the plans that count.
const ELITE: usize = 8;
/// Chance that a period gets a new deviate instead of keeping the previous one. Commands that are held longer reach
/// farther.
const FRESH: f64 = 0.3;
/// The factor by which the spread shrinks in each round.
const SHRINK: f64 = 0.7;
/// Plans differ from the mean by these shares of the spread in turn. Near contacts a large change is seldom an
/// improvement; far from them a small change has no effect.
const SCALES: [f64; 4] = [1.0, 0.3, 0.1, 0.03];

/// How the mean of the samples moves on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampler {
    /// Model-predictive path integrals.
    Mppi,
    /// The cross-entropy method.
    Cem,
}

/// Settings of a search by sampling: the number of plans and rounds, and the spread.
#[derive(Clone, Copy, Debug)]
pub struct Sampling {
    /// Plans per round, at least 8.
    pub samples: usize,
    /// The number of rounds.
    pub rounds: usize,
    /// Standard deviation in the first round, as a fraction of the bound.
    pub spread: f64,
}

impl Default for Sampling {
    fn default() -> Self {
        Self { samples: 64, rounds: 2, spread: 0.7 }
    }
}

/// A source of random numbers. The same seed gives the same numbers.
#[derive(Clone, Debug)]
pub struct Deviates(ChaCha8Rng);

impl Deviates {
    /// Stream number `stream` of a seed.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(stream);
        Self(rng)
    }

    /// Uniform in [0, 1).
    pub fn even(&mut self) -> f64 {
        self.0.random()
    }

    /// Normally distributed (Box–Muller).
    pub fn normal(&mut self) -> f64 {
        let (a, b) = (1.0 - self.even(), self.even());
        (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    }
}

impl Sampling {
    /// Searches around a plan v (T, nu).
    ///
    /// # Errors
    /// If the length of the start or of v does not fit the problem.
    pub fn solve(
        &self,
        sampler: Sampler,
        problem: &Problem,
        start: &Start,
        from: &[f64],
        deviates: &mut Deviates,
        clock: &mut Clock,
    ) -> Result<Plan> {
        let (nu, n) = (problem.nu(), from.len());
        let mut mean = from.to_vec();
        let mut spread: Vec<f64> = (0..n).map(|i| self.spread * problem.command.bound[i % nu]).collect();
        let mut best: Option<Trajectory> = None;
        let mut log = Vec::new();
        let mut outcome = Outcome::IterationLimit;
        for round in 0..self.rounds.max(1) {
            if round > 0 && clock.is_late() {
                outcome = Outcome::Deadline;
                break;
            }
            let begin = Instant::now();
            let mut plans = vec![mean.clone()];
            if round == 0 {
                plans.push(vec![0.0; n]);
            }
            let n_given = plans.len();
            let more = self.samples.max(ELITE) - n_given;
            plans.extend((0..more).map(|k| perturbed(&mean, &spread, SCALES[k % SCALES.len()], nu, deviates)));
            let mut all = problem.roll_given_to(Accuracy::Rough, start, &plans)?;
            all.sort_by(|a, b| a.unsolved.cmp(&b.unsolved).then(a.cost.total_cmp(&b.cost)));
            let elite = &all[..all.len() / ELITE];
            match sampler {
                Sampler::Mppi => {
                    let temperature = (elite[elite.len() - 1].cost - all[0].cost).max(f64::MIN_POSITIVE);
                    let weights: Vec<f64> = all.iter().map(|t| (-(t.cost - all[0].cost) / temperature).exp()).collect();
                    let sum: f64 = weights.iter().sum();
                    let at = |i: usize| weights.iter().zip(&all).map(|(w, t)| w * t.v[i]).sum::<f64>() / sum;
                    mean = (0..n).map(at).collect();
                    spread.iter_mut().for_each(|s| *s *= SHRINK);
                }
                Sampler::Cem => {
                    let count = elite.len() as f64;
                    mean = (0..n).map(|i| elite.iter().map(|t| t.v[i]).sum::<f64>() / count).collect();
                    for i in 0..n {
                        let variance = elite.iter().map(|t| (t.v[i] - mean[i]).powi(2)).sum::<f64>() / count;
                        // Few plans say little of the spread: it does not fall faster than this.
                        spread[i] = variance.sqrt().max(0.5 * SHRINK * spread[i]);
                    }
                }
            }
            let first = best_of(all)?;
            best = Some(match best {
                Some(best) if !first.is_better_than(&best) => best,
                _ => first,
            });
            let cost = best.as_ref().map_or(f64::NAN, |best| best.cost);
            log.push(LogLine { cost, expected: f64::NAN, share: 1.0, seconds: clock.seconds() });
            clock.note(begin);
        }
        let best = best_of(best.into_iter().collect())?;
        if best.unsolved > 0 {
            outcome = Outcome::Unsolved;
        }
        Ok(Plan { best, outcome, iterations: log.len(), log })
    }
}

fn perturbed(mean: &[f64], spread: &[f64], scale: f64, nu: usize, deviates: &mut Deviates) -> Vec<f64> {
    let mut held = vec![0.0; nu];
    let mut plan = mean.to_vec();
    for (i, v) in plan.iter_mut().enumerate() {
        let joint = i % nu;
        if i < nu || deviates.even() < FRESH {
            held[joint] = deviates.normal();
        }
        *v += scale * spread[i] * held[joint];
    }
    plan
}
