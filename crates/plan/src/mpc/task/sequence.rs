//! Goal after goal: each that is reached is followed by another, until one is not.

use super::episode::{Errors, Progress};
use super::{Episode, Task};
use crate::mpc::cost::Goal;
use crate::mpc::sampling::Deviates;
use fingertip_shapes::{Error, Result};

/// Draws among which a goal that is far enough is looked for; else the farthest of them is taken.
const DRAWS: usize = 100;
/// Goals of a sequence unless the task says how many.
const GOALS: usize = 50;

/// Why a sequence ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The object came farther from its goal than the task's `drop`, or is lost.
    Drop,
    /// A goal was not reached within the task's `cap`.
    Stall,
    /// All goals were reached.
    Goals,
}

impl End {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Drop => "drop",
            Self::Stall => "stall",
            Self::Goals => "all goals",
        }
    }
}

/// Goals in a row.
#[derive(Clone, Debug)]
pub struct Sequence {
    deviates: Deviates,
    /// The number of goals after which it ends.
    pub most: usize,
    /// Control periods that each goal took which was reached.
    pub reached: Vec<usize>,
    /// Progress towards the present goal.
    pub progress: Progress,
    /// Why it ended; none as long as it goes on.
    pub ended: Option<End>,
}

impl Task {
    /// Is this a task of goals in a row?
    pub fn is_sequence(&self) -> bool {
        self.file.sequence.is_some()
    }

    /// The sequence that begins with an episode's goal, if the task is one of goals in a row. Its draws depend only on
    /// the seed and the episode's number.
    pub fn sequence(&self, seed: u64, episode: &Episode) -> Option<Sequence> {
        let most = self.file.sequence.as_ref()?.goals.unwrap_or(GOALS);
        // No episode's own stream.
        let deviates = Deviates::new(seed, !(episode.number as u64));
        Some(Sequence { deviates, most, reached: Vec::new(), progress: Progress::default(), ended: None })
    }

    /// A goal that is not reached at q (nq), and as far as the task's `least` asks.
    pub(super) fn far_goal(&self, deviates: &mut Deviates, q: &[f64]) -> Result<Goal> {
        let least = self.file.sequence.as_ref().and_then(|file| file.least).unwrap_or(0.0);
        let mut farthest: Option<(f64, Goal)> = None;
        for _ in 0..DRAWS {
            let goal = self.draw_goal(deviates, q)?;
            let errors = self.errors(&goal, q).map_err(|error| Error::invalid("goal", error.to_string()))?;
            let far = errors.rotation.or(errors.joints).or(errors.position).unwrap_or(0.0);
            if far >= least && !self.is_small(&errors) {
                return Ok(goal);
            }
            if farthest.as_ref().is_none_or(|(most, _)| far > *most) {
                farthest = Some((far, goal));
            }
        }
        farthest.map(|(_, goal)| goal).ok_or_else(|| Error::invalid("goal", "expected numbers"))
    }
}

impl Sequence {
    /// Counts a period that ended at q (nq) with these errors. If that reaches the goal and the sequence goes on, the
    /// next goal.
    ///
    /// # Errors
    /// If a goal cannot be drawn.
    pub fn count(&mut self, task: &Task, errors: &Errors, q: &[f64]) -> Result<Option<Goal>> {
        let Some(file) = task.file.sequence.as_ref().filter(|_| self.ended.is_none()) else { return Ok(None) };
        task.count(&mut self.progress, errors);
        let is_lost = errors.lost || file.drop.zip(errors.position).is_some_and(|(drop, far)| far > drop);
        if self.progress.success.is_some() {
            self.reached.push(self.progress.step);
            if self.reached.len() >= self.most {
                self.ended = Some(End::Goals);
                return Ok(None);
            }
            self.progress = Progress::default();
            return task.far_goal(&mut self.deviates, q).map(Some);
        }
        if is_lost {
            self.ended = Some(End::Drop);
        } else if self.progress.step >= task.cap {
            self.ended = Some(End::Stall);
        }
        Ok(None)
    }
}
