//! What a method answers, and how it went.

use std::time::{Duration, Instant};

use super::problem::Trajectory;

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing more is to be gained near the plan.
    Converged,
    /// The iterations were spent.
    IterationLimit,
    /// The time was spent: the plan is the best that there was.
    Deadline,
    /// The plan does not reach what the task wants, and no small change of the commands would bring it nearer.
    NoGradient,
    /// The plan has steps without a solution, or the method's own program has none.
    Unsolved,
    /// A number of the start cannot be: the plan is the one before.
    BadInput,
    /// Nothing was measured: the plan is the one before.
    Silent,
}

impl Outcome {
    /// As the command line spells it.
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

/// A line of a search's log.
#[derive(Clone, Copy, Debug)]
pub struct LogLine {
    /// The objective.
    pub cost: f64,
    /// What the local model had promised to take from it in this iteration; NaN for methods without one.
    pub expected: f64,
    /// The share of the step that was taken; 0 if none was better.
    pub share: f64,
    /// Since the search began, s.
    pub seconds: f64,
}

/// A plan.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The best trajectory that was found.
    pub best: Trajectory,
    /// How the search ended.
    pub outcome: Outcome,
    /// Iterations.
    pub iterations: usize,
    /// A line for each.
    pub log: Vec<LogLine>,
}

/// When a search has to end.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    begin: Instant,
    limit: Option<Duration>,
    longest: Duration,
}

impl Clock {
    /// From now on, for so long at most.
    pub fn new(limit: Option<Duration>) -> Self {
        Self { begin: Instant::now(), limit, longest: Duration::ZERO }
    }

    /// s since the beginning.
    pub fn seconds(&self) -> f64 {
        self.begin.elapsed().as_secs_f64()
    }

    /// Would something as long as the longest that has been noted come too late?
    pub fn is_late(&self) -> bool {
        self.limit.is_some_and(|limit| self.begin.elapsed() + self.longest >= limit)
    }

    /// What is left of the time.
    pub fn left(&self) -> Option<Duration> {
        self.limit.map(|limit| limit.saturating_sub(self.begin.elapsed()))
    }

    /// Notes how long something took that began at `since`.
    pub fn note(&mut self, since: Instant) {
        self.longest = self.longest.max(since.elapsed());
    }
}
