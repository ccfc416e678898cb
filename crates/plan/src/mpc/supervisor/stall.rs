//! Why nothing moves.

use candle_core::Result;

use crate::mpc::controller::Answer;
use crate::mpc::cost::Goal;
use crate::mpc::outcome::Outcome;
use crate::mpc::problem::Trajectory;
use crate::mpc::simulator::Joint;
use crate::mpc::supervision::Doing;
use crate::mpc::task::{Errors, Task};

/// A contact force from which on something touches, N.
const TOUCHES: f64 = 1e-2;
/// A contact force between fingers from which on they are in each other's way, N.
const HINDERS: f64 = 0.1;
/// A joint this near to its limit is at it, rad or m.
const AT_LIMIT: f64 = 0.02;
/// An object that has moved less than this since the goal was given has not moved, m and rad; its joints, less than the
/// first.
const MOVED: [f64; 2] = [2e-3, 0.03];

/// The reason of a stall.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stall {
    /// The robot touches no object in the plan that is not at its goal.
    NoContact,
    /// No object that is not at its goal has moved since the goal was given: such as a goal straight across the
    /// fingers, for which all motions to either side are alike.
    Aligned,
    /// No small change of the commands brings objects nearer.
    NoGradient,
    /// The plan pushes this joint against its limit.
    Limit(String),
    /// The plan expects progress that does not come, or it is at a local minimum.
    Minimum,
}

impl Stall {
    /// Why these objects, with their parts of the goal, that were at `first` (nq) when it was given are not there yet
    /// at q (nq), where this was answered.
    pub(super) fn of(
        task: &Task,
        late: &[(&str, &Goal)],
        first: &[f64],
        q: &[f64],
        answer: Option<&Answer>,
    ) -> Result<Self> {
        let simulator = task.simulator();
        let Some((answer, plan)) = answer.and_then(|answer| Some((answer, answer.plan.as_ref()?))) else {
            return Ok(Self::Minimum);
        };
        let model = simulator.model();
        let robots = model.tree.owners.iter().filter(|owner| owner.robot);
        let of_robot = |robot| late.iter().flat_map(move |(object, _)| model.contacts_between(robot, object));
        let holds = robots.flat_map(|robot| of_robot(robot.name.as_str()));
        let touches = is_pressed(&plan.best, holds, TOUCHES);
        if !touches && !late.is_empty() {
            return Ok(Self::NoContact);
        }
        let moved = late.iter().map(|(object, _)| task.errors_of(object, &task.state_of(object, first), q));
        let moved = moved.collect::<Result<Vec<_>>>()?;
        let is_still = |of: fn(&Errors) -> Option<f64>, most: f64| moved.iter().filter_map(of).all(|x| x < most);
        let is_still = is_still(|moved| moved.position, MOVED[0])
            && is_still(|moved| moved.rotation, MOVED[1])
            && is_still(|moved| moved.joints, MOVED[0]);
        if is_still && !late.is_empty() {
            return Ok(Self::Aligned);
        }
        let presses = |(joint, v): &(&Joint, &f64)| {
            let x = q[joint.q];
            x < joint.lower + AT_LIMIT && **v < 0.0 || x > joint.upper - AT_LIMIT && **v > 0.0
        };
        if let Some((joint, _)) = simulator.joints().iter().zip(&answer.v).find(presses) {
            return Ok(Self::Limit(joint.name.clone()));
        }
        Ok(if plan.outcome == Outcome::NoGradient { Self::NoGradient } else { Self::Minimum })
    }

    /// The first way out of such a stall.
    pub(super) fn first_way(&self) -> Doing {
        match self {
            Self::NoContact => Doing::Sample,
            Self::Aligned | Self::NoGradient => Doing::Nudge,
            Self::Limit(_) | Self::Minimum => Doing::Retreat,
        }
    }
}

/// Do a robot's fingers press on each other in the plan that was answered?
pub(super) fn is_tangled(task: &Task, answer: Option<&Answer>) -> bool {
    let model = task.simulator().model();
    let robots = model.tree.owners.iter().filter(|owner| owner.robot);
    let own = robots.flat_map(|robot| model.contacts_between(&robot.name, &robot.name));
    let plan = answer.and_then(|answer| answer.plan.as_ref());
    plan.is_some_and(|plan| is_pressed(&plan.best, own, HINDERS))
}

/// Has one of these contacts more than this force at the end of a period, N?
fn is_pressed(along: &Trajectory, contacts: impl IntoIterator<Item = usize>, least: f64) -> bool {
    contacts.into_iter().any(|i| {
        let size = |period: usize| (0..3).map(|k| along.force.get(period, 3 * i + k).powi(2)).sum::<f64>().sqrt();
        (0..along.force.len()).any(|period| size(period) > least)
    })
}

impl std::fmt::Display for Stall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoContact => f.write_str("nothing touches the object"),
            Self::Aligned => f.write_str("the object has not moved"),
            Self::NoGradient => f.write_str("no gradient"),
            Self::Limit(joint) => write!(f, "{joint} is at its limit"),
            Self::Minimum => f.write_str("local minimum"),
        }
    }
}
