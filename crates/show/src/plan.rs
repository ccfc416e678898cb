//! A controller's plan, and where it is to lead, as recordings keep them.

use candle_core::{Device, Result, Tensor};
use nalgebra::{UnitQuaternion, Vector3};

use super::observe::Observer;
use super::recording::{GoalRecord, PlanRecord, Recording, Role};
use fingertip_plan::mpc::Task;
use fingertip_plan::mpc::cost::{Goal, Turn};
use fingertip_plan::mpc::task::{Episode, Errors};
use fingertip_step::kinematics::Coordinate;
use fingertip_step::model::Model;

/// A plan's states, and how it was found.
#[derive(Clone, Copy, Debug)]
pub struct Expected<'a> {
    /// States at the start and at the ends of the periods (T + 1, nq).
    pub q: &'a [f64],
    /// The value of the objective.
    pub cost: f64,
    /// Why the search ended.
    pub outcome: &'a str,
    /// Iterations of the search.
    pub iterations: usize,
    /// Time that the search took, s.
    pub seconds: f64,
}

/// Scalars of a task: the cost of the plan that is followed, how long it took to make, s, and how far the object is
/// from its goal, m and rad, and of joints rad or m.
pub(super) const COST: &str = "cost";
pub(super) const PLANNING: &str = "planning time";
pub(super) const POSITION: &str = "position error";
pub(super) const ROTATION: &str = "rotation error";
pub(super) const JOINTS: &str = "joint error";

/// Names each error; a part that the goal leaves free is NaN.
pub(super) fn note_errors(errors: &Errors, mut note: impl FnMut(&str, f64)) {
    note(POSITION, errors.position.unwrap_or(f64::NAN));
    note(ROTATION, errors.rotation.unwrap_or(f64::NAN));
    note(JOINTS, errors.joints.unwrap_or(f64::NAN));
}

impl PlanRecord {
    /// The plan of a recording's world.
    pub(super) fn of(recording: &Recording, observer: &Observer, plan: &Expected) -> Result<Self> {
        let nq = recording.q_names.len();
        let poses = observer.poses(&Tensor::from_slice(plan.q, (plan.q.len() / nq, nq), &Device::Cpu)?)?;
        let bodies = Self::bodies(recording);
        let n_bodies = recording.bodies.len();
        let chosen = |all: &[[f64; 7]]| bodies.iter().map(|&body| all[body]).collect();
        Ok(Self {
            cost: plan.cost,
            outcome: plan.outcome.to_owned(),
            iterations: plan.iterations,
            seconds: plan.seconds,
            q: plan.q.chunks_exact(nq).map(<[f64]>::to_vec).collect(),
            poses: poses.chunks_exact(n_bodies).map(chosen).collect(),
            bodies,
        })
    }

    /// The bodies whose way is shown: objects that can move, and moving links of robots that carry no other.
    pub(super) fn bodies(recording: &Recording) -> Vec<usize> {
        let all = &recording.bodies;
        let carries = |body: usize| all.iter().skip(1).any(|other| other.parent == body);
        let is_tip = |body: usize| all[body].role == Role::Robot && !carries(body);
        let is_shown = |body: &usize| all[*body].role == Role::Object || is_tip(*body);
        (1..all.len()).filter(is_shown).collect()
    }
}

impl GoalRecord {
    /// Poses at the goal of an episode, by body: an object's body, or the bodies that the goal's joints move.
    ///
    /// # Errors
    /// If a goal does not fit its object, or a tensor operation fails.
    pub fn of_episode(task: &Task, episode: &Episode) -> Result<Vec<Self>> {
        let model = task.simulator().model();
        let Episode { goal, start, .. } = episode;
        let q = model.tensor(&[&task.at_goal(goal, &start.q)?])?.detach();
        let poses = Observer::new(model)?.poses(&q)?;
        let all = std::iter::once((task.object(), goal))
            .chain(goal.others.iter().map(|(object, goal)| (object.as_str(), goal)))
            .filter(|(_, goal)| !goal.is_free());
        let records = all.map(|(object, goal)| Self::of_object(model, object, goal, &poses));
        Ok(records.collect::<Result<Vec<_>>>()?.concat())
    }

    /// The records of one object. `poses` are those of all bodies at the goal.
    fn of_object(model: &Model, object: &str, goal: &Goal, poses: &[[f64; 7]]) -> Result<Vec<Self>> {
        if goal.joints.is_empty() {
            let body = model.object(object)?.body;
            return Ok(vec![Self::new(body, goal, &poses[body])]);
        }
        let moved = |body: &usize| {
            let own = |name: &String| format!("{object}/{name}");
            let is_moved = |c: &Coordinate| goal.joints.keys().any(|name| own(name) == c.name);
            let above =
                std::iter::successors(Some(*body), |&body| Some(model.tree.bodies[body].parent).filter(|&b| b > 0));
            let mut above = above.collect::<Vec<_>>().into_iter();
            above.any(|body| model.tree.coordinates.iter().any(|c| c.body == body && is_moved(c)))
        };
        let record = |body: usize| {
            let [x, y, z, quaternion @ ..] = poses[body];
            Self { body, position: Some([x, y, z]), quaternion: Some(quaternion) }
        };
        Ok((1..model.tree.bodies.len()).filter(moved).map(record).collect())
    }

    /// The goal of an object with this body, which is there with this pose.
    fn new(body: usize, goal: &Goal, pose: &[f64; 7]) -> Self {
        let quaternion = goal.turn.map(|turn| match turn {
            Turn::Quaternion(quaternion) => quaternion,
            Turn::Axis { .. } => std::array::from_fn(|k| pose[3 + k]),
            Turn::Yaw(yaw) => {
                let q = UnitQuaternion::from_axis_angle(&Vector3::z_axis(), yaw);
                [q.w, q.i, q.j, q.k]
            }
        });
        Self { body, position: goal.position, quaternion }
    }
}
