//! Single shooting: the commands are the variables of one smooth function, which argmin's L-BFGS minimises.
//!
//! v = bound · tanh(w) replaces the box. Limits that move with the state are enforced in the roll-out, and the gradient
//! ignores them. Value and gradient come from one roll-out.

use std::cell::RefCell;
use std::time::Duration;

use argmin::core::{CostFunction, Executor, Gradient, State, TerminationReason, TerminationStatus};
use argmin::solver::linesearch::MoreThuenteLineSearch;
use argmin::solver::quasinewton::LBFGS;
use candle_core::Result;

use super::ilqr::{Ilqr, best_of};
use super::outcome::{Clock, LogLine, Outcome, Plan};
use super::problem::Problem;
use super::start::Start;

/// The number of changes that the method remembers.
const MEMORY: usize = 10;
/// Constants of the line search (Moré and Thuente 1994): sufficient decrease, curvature.
const DECREASE: f64 = 1e-4;
const CURVATURE: f64 = 0.9;
/// Length of the first step in w. The method's own would be the gradient, which can have any size.
const FIRST: f64 = 0.3;
/// v starts inside the box by this share, so that tanh has a slope.
const INSIDE: f64 = 0.95;

struct Shot<'a> {
    problem: &'a Problem,
    start: &'a Start,
    scale: f64,
    last: RefCell<Option<Last>>,
    log: RefCell<Vec<f64>>,
}

/// The last point at which the function was evaluated, and its value.
struct Last {
    w: Vec<f64>,
    value: f64,
    gradient: Vec<f64>,
}

impl Shot<'_> {
    fn v(&self, w: &[f64]) -> Vec<f64> {
        let bound = &self.problem.command.bound;
        w.iter().enumerate().map(|(i, w)| bound[i % bound.len()] * w.tanh()).collect()
    }

    fn at(&self, w: &[f64]) -> Result<(f64, Vec<f64>)> {
        if let Some(last) = self.last.borrow().as_ref().filter(|last| last.w == w) {
            return Ok((last.value, last.gradient.clone()));
        }
        let (value, mut gradient) = self.problem.value_and_gradient(self.start, &self.v(w))?;
        let bound = &self.problem.command.bound;
        for (i, (slope, w)) in gradient.iter_mut().zip(w).enumerate() {
            *slope *= self.scale * bound[i % bound.len()] * (1.0 - w.tanh().powi(2));
        }
        self.log.borrow_mut().push(value);
        let last = Last { w: w.to_vec(), value: self.scale * value, gradient: gradient.clone() };
        *self.last.borrow_mut() = Some(last);
        Ok((self.scale * value, gradient))
    }
}

impl CostFunction for Shot<'_> {
    type Param = Vec<f64>;
    type Output = f64;
    fn cost(&self, w: &Self::Param) -> std::result::Result<f64, argmin::core::Error> {
        Ok(self.at(w)?.0)
    }
}

impl Gradient for Shot<'_> {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;
    fn gradient(&self, w: &Self::Param) -> std::result::Result<Vec<f64>, argmin::core::Error> {
        Ok(self.at(w)?.1)
    }
}

/// Improves the best of some plans v (T, nu). If a line search breaks off, the search ends with the best plan so far.
///
/// # Errors
/// If the length of the start or of a v does not fit the problem.
pub fn shoot(until: &Ilqr, problem: &Problem, start: &Start, from: &[Vec<f64>], clock: &mut Clock) -> Result<Plan> {
    let first = best_of(problem.roll_given(start, from)?)?;
    let bound = &problem.command.bound;
    let inside = |(i, v): (usize, &f64)| (v / bound[i % bound.len()]).clamp(-INSIDE, INSIDE).atanh();
    let w: Vec<f64> = first.v.iter().enumerate().map(inside).collect();
    let shot = |scale: f64| Shot { problem, start, scale, last: RefCell::new(None), log: RefCell::new(Vec::new()) };
    let (cost, slope) = shot(1.0).at(&w)?;
    let length = slope.iter().map(|x| x * x).sum::<f64>().sqrt();
    let scale = FIRST / length.max(f64::MIN_POSITIVE);
    let broken = |error: argmin::core::Error| candle_core::Error::msg(format!("L-BFGS: {error}"));
    let search = MoreThuenteLineSearch::new().with_c(DECREASE, CURVATURE).map_err(broken)?;
    let tolerance = (until.tolerance * cost * scale).max(f64::MIN_POSITIVE);
    let method = LBFGS::new(search, MEMORY).with_tolerance_cost(tolerance).map_err(broken)?;
    let run =
        Executor::new(shot(scale), method).configure(|state| state.param(w.clone()).max_iters(until.iterations as u64));
    let run = match clock.left() {
        Some(left) => run.timeout(left.max(Duration::from_nanos(1))),
        None => run,
    };
    let mut log = vec![LogLine { cost: first.cost, expected: f64::NAN, share: 0.0, seconds: clock.seconds() }];
    let Ok(result) = run.ctrlc(false).run() else {
        return Ok(Plan { best: first, outcome: Outcome::Unsolved, iterations: 0, log });
    };
    let state = result.state();
    let mut plans = vec![first.v.clone()];
    plans.extend(state.get_best_param().map(|w| shot(scale).v(w)));
    let best = best_of(problem.roll_given(start, &plans)?)?;
    let evaluated = result.problem().problem.as_ref().map(|shot| shot.log.borrow().clone()).unwrap_or_default();
    let line = |cost| LogLine { cost, expected: f64::NAN, share: 1.0, seconds: clock.seconds() };
    log.extend(evaluated.into_iter().map(line));
    let mut outcome = match state.get_termination_status() {
        TerminationStatus::Terminated(TerminationReason::MaxItersReached) => Outcome::IterationLimit,
        TerminationStatus::Terminated(TerminationReason::Timeout) => Outcome::Deadline,
        _ => until.final_outcome(problem, &best, &problem.expand(start, &best, false)?)?,
    };
    if best.unsolved > 0 {
        outcome = Outcome::Unsolved;
    }
    let iterations = usize::try_from(state.get_iter()).unwrap_or(usize::MAX);
    Ok(Plan { best, outcome, iterations, log })
}
