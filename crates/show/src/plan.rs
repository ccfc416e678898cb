//! A controller's plan, and where it is to lead, as recordings keep them.

use nalgebra::{UnitQuaternion, Vector3};

use super::recording::{GoalRecord, PlanRecord, Recording, Role};
use fingertip_plan::mpc::cost::{Goal, Turn};
use fingertip_plan::mpc::{Answer, Plan};

/// Scalars of a task: the cost of the plan that is followed, how long it took to make, s, and how far the object is from its
/// goal, m and rad.
pub(super) const COST: &str = "cost";
pub(super) const PLANNING: &str = "planning time";
pub(super) const POSITION: &str = "position error";
pub(super) const ROTATION: &str = "rotation error";

impl PlanRecord {
    /// `poses` are those of all bodies, (T + 1, bodies).
    pub(super) fn new(recording: &Recording, answer: &Answer, plan: &Plan, poses: &[[f64; 7]]) -> Self {
        let bodies = Self::bodies(recording);
        let (nq, n_bodies) = (recording.q_names.len(), recording.bodies.len());
        let chosen = |all: &[[f64; 7]]| bodies.iter().map(|&body| all[body]).collect();
        Self {
            cost: plan.best.cost,
            outcome: plan.outcome.name().to_owned(),
            iterations: plan.iterations,
            seconds: answer.seconds,
            q: plan.best.q.chunks_exact(nq).map(<[f64]>::to_vec).collect(),
            poses: poses.chunks_exact(n_bodies).map(chosen).collect(),
            bodies,
        }
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
    /// The goal of an object with this body.
    pub fn new(body: usize, goal: &Goal) -> Self {
        let quaternion = goal.turn.map(|turn| match turn {
            Turn::Quaternion(quaternion) => quaternion,
            Turn::Yaw(yaw) => {
                let q = UnitQuaternion::from_axis_angle(&Vector3::z_axis(), yaw);
                [q.w, q.i, q.j, q.k]
            }
        });
        Self { body, position: goal.position, quaternion }
    }
}
