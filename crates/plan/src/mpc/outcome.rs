//! Results of planning methods: the best trajectory, the outcome and the log of a search.

use std::time::{Duration, Instant};

use super::problem::Trajectory;

/// The reason for which a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// No nearby plan is better.
    Converged,
    /// The iterations ran out.
    IterationLimit,
    /// The time ran out; the plan is the best one found.
    Deadline,
    /// The plan does not reach the task's goal, and no small change of the commands brings it nearer.
    NoGradient,
    /// The plan has steps without a solution, or the method's own program has none.
    Unsolved,
    /// A number of the start is not possible; the rest of the previous plan is followed.
    BadInput,
    /// Nothing was measured; the rest of the previous plan is followed.
    Silent,
}

impl Outcome {
    /// The name on the command line.
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
    /// The objective's value.
    pub cost: f64,
    /// The decrease that the local model predicted for this iteration; NaN for methods without a model.
    pub expected: f64,
    /// The share of the step that was taken; 0 if none improved the objective.
    pub share: f64,
    /// Time since the search began, s.
    pub seconds: f64,
}

/// What a search found: commands, the states that follow, and how the search went.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The best trajectory found.
    pub best: Trajectory,
    /// The reason for which the search ended.
    pub outcome: Outcome,
    /// The number of iterations.
    pub iterations: usize,
    /// The log: one entry per iteration.
    pub log: Vec<LogLine>,
}

/// When a search must end.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    begin: Instant,
    limit: Option<Duration>,
    longest: Duration,
}

impl Clock {
    /// A clock that starts now and allows at most this much time.
    pub fn new(limit: Option<Duration>) -> Self {
        Self { begin: Instant::now(), limit, longest: Duration::ZERO }
    }

    /// Time since the start, s.
    pub fn seconds(&self) -> f64 {
        self.begin.elapsed().as_secs_f64()
    }

    /// Would something that takes as long as the longest noted so far end too late?
    pub fn is_late(&self) -> bool {
        self.limit.is_some_and(|limit| self.begin.elapsed() + self.longest >= limit)
    }

    /// The time until the limit, zero once it has passed; none without a limit.
    pub fn left(&self) -> Option<Duration> {
        self.limit.map(|limit| limit.saturating_sub(self.begin.elapsed()))
    }

    /// Records how long a piece of work took that began at `since`.
    pub fn note(&mut self, since: Instant) {
        self.longest = self.longest.max(since.elapsed());
    }
}
