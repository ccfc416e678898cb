//! Why nothing moves.

use candle_core::Result;

use super::Doing;
use crate::mpc::controller::Answer;
use crate::mpc::outcome::Outcome;
use crate::mpc::simulator::Joint;
use crate::mpc::task::Task;

/// A contact force from which on something touches, N.
const TOUCHES: f64 = 1e-2;
/// A joint this near to its limit is at it, rad or m.
const AT_LIMIT: f64 = 0.02;
/// An object that has moved less than this since the goal was given has not moved, m and rad.
const MOVED: [f64; 2] = [2e-3, 0.03];

/// The reason of a stall.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stall {
    /// The robot does not touch the object in the plan.
    NoContact,
    /// The object has not moved since the goal was given: such as a goal straight across the fingers, for which all motions to
    /// either side are alike.
    Aligned,
    /// No small change of the commands brings the object nearer.
    NoGradient,
    /// The plan pushes this joint against its limit.
    Limit(String),
    /// The plan expects progress that does not come, or it is at a local minimum.
    Minimum,
}

impl Stall {
    /// Why an object that was at `first` (nq) when the goal was given is still at q (nq), where this was answered.
    pub(super) fn of(task: &Task, first: &[f64], q: &[f64], answer: Option<&Answer>) -> Result<Self> {
        let simulator = task.simulator();
        let Some((answer, plan)) = answer.and_then(|answer| Some((answer, answer.plan.as_ref()?))) else {
            return Ok(Self::Minimum);
        };
        let model = simulator.model();
        let robots = model.tree.owners.iter().filter(|owner| owner.robot);
        let mut holds = robots.flat_map(|robot| model.contacts_between(&robot.name, task.object()));
        let touches = holds.any(|i| {
            let forces = plan.best.force.chunks_exact(3).skip(i).step_by(model.nc());
            forces.map(|f| f.iter().map(|x| x * x).sum::<f64>().sqrt()).any(|f| f > TOUCHES)
        });
        if !touches {
            return Ok(Self::NoContact);
        }
        let moved = task.errors(&task.state_of(task.object(), first), q)?;
        if moved.position.is_none_or(|x| x < MOVED[0]) && moved.rotation.is_none_or(|x| x < MOVED[1]) {
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

    /// What is tried first.
    pub(super) fn first_way(&self) -> Doing {
        match self {
            Self::NoContact => Doing::Sample,
            Self::Aligned | Self::NoGradient => Doing::Nudge,
            Self::Limit(_) | Self::Minimum => Doing::Retreat,
        }
    }
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
