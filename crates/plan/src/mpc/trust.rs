//! Sequential convex programs in the contact trust region (Suh, Pang, Zhao, Tedrake 2025, arXiv 2505.02291).
//!
//! Around a trajectory the states, the contact forces λ̂ and the slacks ν̂ are approximated as linear in the commands'
//! changes:
//!
//! ```text
//! minimise the quadratic model over δv     |δv| ≤ radius · bound, v + δv in its box
//! dual     λ̂ = λ + C δx + D δv             ‖λ̂_t‖ ≤ μ λ̂_n
//! primal   ν̂ = ν + (∂ν/∂λ) (λ̂ − λ)         μ ‖ν̂_t‖ ≤ ν̂_n        ν = (2/κ) (μ² λ_n, −λ_t)/(μ² λ_n² − ‖λ_t‖²)
//! ```
//!
//! Clarabel's interior-point method solves this program. The radius follows the ratio of true to predicted decrease.

use std::time::Instant;

use candle_core::Result;
use nalgebra::{DMatrix, DVector, Matrix3, Vector3};

use super::ilqr::{Ilqr, best_of};
use super::outcome::{Clock, LogLine, Outcome, Plan};
use super::problem::Problem;
use super::quadratic::Quadratic;
use super::simulator::{Forces, Simulator};
use super::start::Start;
use fingertip_step::solve::Accuracy;
use fingertip_step::solve::program::{CONE, Program};

/// The cones that bound the region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Region {
    /// No cones: sequential quadratic programming in boxes.
    Box,
    /// The cones of the forces: the relaxed contact trust region (R-CTR).
    Dual,
    /// The cones of the forces and of the slacks: the contact trust region (CTR).
    Both,
}

/// Sequential convex programming in a trust region. The stopping rules are those of [`Ilqr`].
#[derive(Clone, Copy, Debug)]
pub struct Trust {
    /// The cones that bound the region.
    pub region: Region,
    /// The first radius, as a fraction of the commands' bounds.
    pub radius: f64,
    /// Contacts with a slack above this have no cones, m.
    pub near: f64,
    /// Iteration limit and tolerance.
    pub until: Ilqr,
}

/// Ratios of true to predicted decrease. Below the first a step is rejected, below the second the radius shrinks, above
/// the third it grows.
const REFUSED: f64 = 0.05;
const POOR: f64 = 0.25;
const GOOD: f64 = 0.75;
/// Radius below which the search ends.
const LEAST: f64 = 1e-4;

impl Trust {
    /// Improves the best of several plans v (T, nu).
    ///
    /// # Errors
    /// If the length of the start or of a v does not fit the problem.
    pub fn solve(&self, problem: &Problem, start: &Start, from: &[Vec<f64>], clock: &mut Clock) -> Result<Plan> {
        let begin = Instant::now();
        let mut best = best_of(problem.roll_given(start, from)?)?;
        clock.note(begin);
        let mut log = vec![LogLine { cost: best.cost, expected: f64::NAN, share: 0.0, seconds: clock.seconds() }];
        let (mut radius, mut outcome, mut iterations) = (self.radius, Outcome::IterationLimit, 0);
        let mut around: Option<Vec<Vec<Quadratic>>> = None;
        while iterations < self.until.iterations {
            if clock.is_late() {
                outcome = Outcome::Deadline;
                break;
            }
            let begin = Instant::now();
            iterations += 1;
            let quadratics = match around.take() {
                Some(same) => same,
                None => problem.expand(start, &best, self.region != Region::Box)?,
            };
            let Some((change, expected)) = self.step(problem, &quadratics, best.cost, radius) else {
                outcome = Outcome::Unsolved;
                break;
            };
            if expected <= self.until.tolerance * best.cost {
                outcome = self.until.final_outcome(problem, &best, &quadratics)?;
                break;
            }
            let wanted: Vec<f64> = best.v.iter().zip(change.iter()).map(|(v, change)| v + change).collect();
            let next = best_of(problem.roll_given(start, &[wanted])?)?;
            let ratio = (best.cost - next.cost) / expected;
            let taken = ratio > REFUSED && next.is_better_than(&best);
            let share = if taken { 1.0 } else { 0.0 };
            if taken {
                best = next;
            } else {
                around = Some(quadratics);
            }
            log.push(LogLine { cost: best.cost, expected, share, seconds: clock.seconds() });
            radius *= if !taken {
                0.3
            } else if ratio < POOR {
                0.5
            } else if ratio > GOOD {
                2.0
            } else {
                1.0
            };
            radius = radius.min(2.0);
            clock.note(begin);
            if radius < LEAST {
                outcome = Outcome::Converged;
                break;
            }
        }
        if best.unsolved > 0 {
            outcome = Outcome::Unsolved;
        }
        Ok(Plan { best, outcome, iterations, log })
    }

    /// The change of all v and its predicted decrease; none if the program breaks down.
    fn step(
        &self,
        problem: &Problem,
        worlds: &[Vec<Quadratic>],
        cost: f64,
        radius: f64,
    ) -> Option<(DVector<f64>, f64)> {
        let nu = problem.nu();
        let n = nu * problem.horizon;
        // In units of the bounds and of the cost: x = δv/bound.
        let unit = DVector::from_fn(n, |i, _| problem.command.bound[i % nu]);
        let (mut p, mut g) = (DMatrix::zeros(n, n), DVector::zeros(n));
        let mut cones: Vec<(DMatrix<f64>, DVector<f64>)> = Vec::new();
        for (simulator, quadratics) in problem.simulators().zip(worlds) {
            // ∂x_k/∂x.
            let mut by = DMatrix::<f64>::zeros(problem.nx(), n);
            for (k, period) in quadratics.iter().enumerate() {
                let own = k * nu;
                let scale = unit.rows(own, nu).into_owned();
                g += by.tr_mul(&period.lx);
                let cross = by.tr_mul(&period.lxv) * DMatrix::from_diagonal(&scale);
                p += by.tr_mul(&(&period.lxx * &by));
                for j in 0..nu {
                    g[own + j] += scale[j] * period.lv[j];
                    for i in 0..nu {
                        p[(own + i, own + j)] += scale[i] * scale[j] * period.lvv[(i, j)];
                    }
                    for i in 0..n {
                        p[(i, own + j)] += cross[(i, j)];
                        p[(own + j, i)] += cross[(i, j)];
                    }
                }
                if let Some(forces) = period.forces.as_ref().filter(|_| self.region != Region::Box) {
                    let mut changes = &forces.c * &by;
                    for j in 0..nu {
                        changes.column_mut(own + j).axpy(scale[j], &forces.d.column(j), 1.0);
                    }
                    self.cones(simulator, forces, &changes, &mut cones);
                }
                by = &period.fx * by;
                for j in 0..nu {
                    by.column_mut(own + j).axpy(scale[j], &period.fv.column(j), 1.0);
                }
                g += by.tr_mul(&period.next.gradient);
                p += by.tr_mul(&(&period.next.hessian * &by));
            }
        }
        let rows = 2 * n + CONE * cones.len();
        let (mut a, mut b) = (DMatrix::zeros(rows, n), DVector::zeros(rows));
        b.rows_mut(0, 2 * n).fill(radius);
        for i in 0..n {
            (a[(2 * i, i)], a[(2 * i + 1, i)]) = (1.0, -1.0);
            for world in worlds.iter().filter(|world| !world.is_empty()) {
                let (least, most) = world[i / nu].range[i % nu];
                b[2 * i] = (most / unit[i]).min(b[2 * i]).max(0.0);
                b[2 * i + 1] = (-least / unit[i]).min(b[2 * i + 1]).max(0.0);
            }
        }
        for (i, (matrix, offset)) in cones.iter().enumerate() {
            a.view_mut((2 * n + CONE * i, 0), (3, n)).copy_from(&-matrix);
            b.rows_mut(2 * n + CONE * i, 3).copy_from(offset);
        }
        let size = cost.max(f64::MIN_POSITIVE);
        let (p, q) = (p / size, g / size);
        let program =
            Program { p: p.clone(), q: q.clone(), a, b, equal: 0, cones: cones.len(), accuracy: Accuracy::Rough };
        let x = DVector::from_vec(program.solve().filter(|optimum| optimum.none.is_none())?.x);
        let expected = -size * (0.5 * x.dot(&(&p * &x)) + q.dot(&x));
        Some((x.component_mul(&unit), expected))
    }

    /// The cones of contacts whose forces change by `changes` x: s = offset + matrix x.
    fn cones(
        &self,
        simulator: &Simulator,
        Forces { contacts, lambda, .. }: &Forces,
        changes: &DMatrix<f64>,
        to: &mut Vec<(DMatrix<f64>, DVector<f64>)>,
    ) {
        let (kappa, mu) = (simulator.kappa(), simulator.friction());
        for (i, &contact) in contacts.iter().enumerate() {
            let mu = mu[contact];
            let force = Vector3::new(lambda[3 * i], lambda[3 * i + 1], lambda[3 * i + 2]);
            // A slack of that size has a force of 2/(κ ν): what is less is farther.
            let is_near = force.x > 2.0 / (kappa * self.near);
            if !is_near || mu <= 0.0 {
                continue;
            }
            let rows = changes.rows(3 * i, 3);
            let mut add = |matrix: Matrix3<f64>, at: Vector3<f64>| {
                let scale = 1.0 / at.norm();
                let matrix = DMatrix::from_fn(3, 3, |r, c| scale * matrix[(r, c)]);
                to.push((matrix * rows, DVector::from_row_slice((at * scale).as_slice())));
            };
            let dual = Matrix3::from_diagonal(&Vector3::new(mu, 1.0, 1.0));
            add(dual, dual * force);
            if self.region == Region::Both {
                let signs = Matrix3::from_diagonal(&Vector3::new(mu * mu, -1.0, -1.0));
                let w = signs * force;
                let s = force.dot(&w).max(f64::MIN_POSITIVE);
                let slack = w * (2.0 / (kappa * s));
                let by_force = (signs - w * w.transpose() * (2.0 / s)) * (2.0 / (kappa * s));
                let primal = Matrix3::from_diagonal(&Vector3::new(1.0, mu, mu));
                add(primal * by_force, primal * slack);
            }
        }
    }
}
