//! One part of a way by the local planner: first the object is brought to a pose, then the robots to where they are to
//! be.

use candle_core::Result;

use crate::mpc::cost::Goal;
use crate::mpc::problem::Problem;
use crate::mpc::start::Start;
use crate::mpc::supervision::Doing;
use crate::mpc::task::{Episode, Progress, Task};

/// The object is there when it is within this share of what counts as reached, so that it may move a little when it is
/// released.
const THERE: f64 = 0.6;
/// The robots are there when no joint is farther off, rad or m.
const HOME: f64 = 0.1;
/// The most time for bringing the object, and for the robots, s.
const LONGEST: f64 = 5.0;
const LONGEST_RELEASE: f64 = 3.0;
/// Progress is a step of this share of the smallest distance so far.
const SHARE: f64 = 0.03;

/// The phase of a walk: the purpose of its present plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The object's pose.
    Move,
    /// The robots' joints, with the object where it is to be.
    Release,
}

/// The next action of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The phase goes on.
    On,
    /// By the other phase.
    Turn,
    /// The object is at the node that it was to come to.
    Arrived,
    /// It will not be.
    Failed,
}

/// A walk to a goal, or to a node.
#[derive(Clone, Debug)]
pub(in crate::mpc) struct Walk {
    pub(in crate::mpc) goal: Goal,
    /// The state (nq) whose joints the robots are to have; none if they may be anywhere, as at the goal.
    joints: Option<Vec<f64>>,
    near: f64,
    /// Time without progress after which it fails, s.
    stall: f64,
    phase: Phase,
    periods: usize,
    since: usize,
    least: f64,
    idle: usize,
    progress: Progress,
}

impl Walk {
    /// To a goal by the task's own measure.
    pub fn to_goal(goal: Goal, stall: f64) -> Self {
        Self::new(goal, None, 0.0, stall, Phase::Move)
    }

    /// To a node with this state: within `near` of its pose, and to its joints.
    pub fn to_node(goal: Goal, q: &[f64], near: f64, stall: f64) -> Self {
        Self::new(goal, Some(q.to_vec()), near, stall, Phase::Move)
    }

    /// Letting go of an object where it is, to the joints of a state. It has arrived when the robots have, wherever the
    /// object is then.
    pub fn release(goal: Goal, q: &[f64], stall: f64) -> Self {
        Self::new(goal, Some(q.to_vec()), f64::INFINITY, stall, Phase::Release)
    }

    fn new(goal: Goal, joints: Option<Vec<f64>>, near: f64, stall: f64, phase: Phase) -> Self {
        let progress = Progress::default();
        Self { goal, joints, near, stall, phase, periods: 0, since: 0, least: f64::INFINITY, idle: 0, progress }
    }

    /// Time so far, s.
    pub fn seconds(&self, task: &Task) -> f64 {
        self.periods as f64 * task.period()
    }

    /// Decides how the walk goes on at q (nq), once in each control period.
    pub(super) fn step(&mut self, task: &Task, q: &[f64]) -> Result<Step> {
        let errors = task.errors(&self.goal, q)?;
        if self.joints.is_none() {
            task.count(&mut self.progress, &errors);
            if self.progress.success.is_some() {
                return Ok(Step::Arrived);
            }
        }
        let distance = task.distance(&self.goal, q)?;
        let off = self.off(task, q);
        let has_lasted = |seconds: f64| self.since as f64 * task.period() >= seconds;
        match (self.phase, &self.joints) {
            _ if errors.lost => return Ok(Step::Failed),
            (Phase::Move, Some(_)) if distance < THERE * self.near => return Ok(self.turn()),
            (Phase::Move, _) if has_lasted(LONGEST) => return Ok(Step::Failed),
            (Phase::Release, _) if off < HOME => {
                return Ok(if distance < self.near { Step::Arrived } else { Step::Failed });
            }
            (Phase::Release, _) if has_lasted(LONGEST_RELEASE) => return Ok(Step::Failed),
            _ => {}
        }
        let left = if self.phase == Phase::Move { distance } else { off };
        self.idle += 1;
        if left < (1.0 - SHARE) * self.least || task.is_small(&errors) && self.joints.is_none() {
            (self.least, self.idle) = (left, 0);
        }
        if self.idle as f64 * task.period() >= self.stall {
            return Ok(Step::Failed);
        }
        (self.since, self.periods) = (self.since + 1, self.periods + 1);
        Ok(Step::On)
    }

    fn turn(&mut self) -> Step {
        (self.phase, self.since, self.least, self.idle) = (Phase::Release, 0, f64::INFINITY, 0);
        Step::Turn
    }

    /// How far the joint is from where it is to be that is farthest, rad or m.
    fn off(&self, task: &Task, q: &[f64]) -> f64 {
        let Some(joints) = &self.joints else { return 0.0 };
        let all = task.simulator().joints().iter().map(|joint| (q[joint.q] - joints[joint.q]).abs());
        all.fold(0.0, f64::max)
    }

    /// The walk's phase in a supervisor's terms.
    pub fn doing(&self) -> Doing {
        match (self.phase, &self.joints) {
            (Phase::Release, _) => Doing::Release,
            (Phase::Move, Some(_)) => Doing::Node,
            (Phase::Move, None) => Doing::Last,
        }
    }

    /// The present planning problems, in an episode that began with `start`.
    pub fn problems(&self, task: &Task, start: &Start) -> fingertip_shapes::Result<Vec<Problem>> {
        let episode = Episode { number: 0, start: start.clone(), goal: self.goal.clone() };
        match (self.phase, &self.joints) {
            (Phase::Release, Some(q)) => task.retreat(&episode, &self.goal, q, None, 1.0),
            _ => task.problems(&episode),
        }
    }
}
