//! The result of a method, and how it ended.

use std::time::{Duration, Instant};

use super::problem::Trajectory;

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Converged: nothing more can be gained near the plan.
    Converged,
    /// The iteration limit was reached.
    IterationLimit,
    /// The deadline was reached. The plan is the best found so far.
    Deadline,
    /// The plan does not reach what the task wants, and no small change of the commands would bring it nearer.
    NoGradient,
    /// The plan has steps without a solution, or the method's own program has none.
    Unsolved,
    /// The start has an impossible number. The plan is the previous one.
    BadInput,
    /// Nothing was measured. The plan is the previous one.
    Silent,
}

impl Outcome {
    /// The name that the command line prints.
    pub fn name(self) -> &'static str {
        match self {
            Self::Converged => "converged",
            Self::IterationLimit => "iteration limit",
            Self::Deadline => "deadline",
            Self::NoGradient => "no gradient",
            Self::Unsolved => "unsolved",
            Self::BadInput => "bad input",
            Self::Silent => "silent",
        }
    }
}

/// One iteration in a search's log.
#[derive(Clone, Copy, Debug)]
pub struct LogLine {
    /// The objective.
    pub cost: f64,
    /// The decrease of the objective that the local model predicted for this iteration. NaN for methods without such a
    /// model.
    pub expected: f64,
    /// The step length that was taken, as a fraction. 0 if none improved the plan.
    pub share: f64,
    /// Time since the search began, s.
    pub seconds: f64,
}

/// A plan.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The best trajectory found.
    pub best: Trajectory,
    /// How the search ended.
    pub outcome: Outcome,
    /// The number of iterations.
    pub iterations: usize,
    /// The log: one entry per iteration.
    pub log: Vec<LogLine>,
}

/// The time by which a search has to end.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    begin: Instant,
    limit: Option<Duration>,
    longest: Duration,
}

impl Clock {
    /// Starts now and allows at most this much time.
    pub fn new(limit: Option<Duration>) -> Self {
        Self { begin: Instant::now(), limit, longest: Duration::ZERO }
    }

    /// Seconds since the start.
    pub fn seconds(&self) -> f64 {
        self.begin.elapsed().as_secs_f64()
    }

    /// Would another piece of work as long as the longest one so far end too late?
    pub fn is_late(&self) -> bool {
        self.limit.is_some_and(|limit| self.begin.elapsed() + self.longest >= limit)
    }

    /// The remaining time.
    pub fn left(&self) -> Option<Duration> {
        self.limit.map(|limit| limit.saturating_sub(self.begin.elapsed()))
    }

    /// Records how long a piece of work took that began at `since`.
    pub fn note(&mut self, since: Instant) {
        self.longest = self.longest.max(since.elapsed());
    }
}
