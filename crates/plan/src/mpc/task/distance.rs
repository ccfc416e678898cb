//! One number for how far objects are from their goals, in the task's own weights.

use candle_core::Result;

use super::Task;
use super::file::WeightsFile;
use crate::mpc::cost::{Goal, Orientation};

impl Task {
    /// √(Σ w e²) with the weights of the last state of a plan: what a plan would cost whose last state is q (nq).
    pub(in crate::mpc) fn distance(&self, goal: &Goal, q: &[f64]) -> Result<f64> {
        let mut sum = 0.0;
        for (object, goal) in self.parts(goal) {
            let errors = self.errors_of(object, goal, q)?;
            let parts = self.goal_weights().into_iter().zip([errors.position, errors.rotation, errors.joints]);
            let own: f64 = parts.filter_map(|(weight, error)| Some(weight * error?.powi(2))).sum();
            sum += self.share(object) * own;
        }
        Ok(sum.sqrt())
    }

    /// The distance of an object that is off by one of the errors that count as success, the one that costs least.
    pub(in crate::mpc) fn success_distance(&self) -> f64 {
        let measure = &self.file.success;
        let rotation = measure.rotation.or(measure.quaternion.map(|x| 2.0 * x.sqrt()));
        let parts = self.goal_weights().into_iter().zip([measure.position, rotation, measure.joints]);
        let least = parts.filter_map(|(weight, error)| Some(weight.sqrt() * error?)).filter(|x| *x > 0.0);
        Some(least.fold(f64::INFINITY, f64::min)).filter(|x| x.is_finite()).unwrap_or(0.0)
    }

    /// The objects that are not at their goals at q (nq) by the task's measure of success, each with its part of the
    /// goal; no robots.
    pub(in crate::mpc) fn late<'a>(&'a self, goal: &'a Goal, q: &[f64]) -> Result<Vec<(&'a str, &'a Goal)>> {
        let mut late = Vec::new();
        for (object, goal) in self.parts(goal).filter(|(object, _)| !self.is_robot(object)) {
            if !self.is_small(&self.errors_of(object, goal, q)?) {
                late.push((object, goal));
            }
        }
        Ok(late)
    }

    /// Log(R R*ᵀ) from the orientation that an object's part of a goal wants to that at q (nq), rad; zeros if it wants
    /// none.
    pub(in crate::mpc) fn turn_error(&self, object: &str, goal: &Goal, q: &[f64]) -> Result<[f64; 3]> {
        let turn = goal.turn.map(|turn| Orientation::new(self.simulator().model(), object, turn));
        Ok(turn.transpose()?.map_or([0.0; 3], |cost| cost.error(q)))
    }

    /// The degrees of freedom of the goal's objects that their distance counts: each with its weight.
    pub(in crate::mpc) fn freedoms(&self) -> Vec<(usize, f64)> {
        let [position, rotation, _] = self.goal_weights();
        let own = self.objects().filter_map(|object| Some((self.share(object), self.coordinate(object, "goal").ok()?)));
        let freedoms = own.flat_map(|(share, c)| {
            let freedoms = c.kind.freedoms().iter().enumerate();
            freedoms.map(move |(k, (_, unit))| (c.v + k, share * if *unit == "m" { position } else { rotation }))
        });
        freedoms.filter(|(_, weight)| *weight > 0.0).collect()
    }

    /// Time without progress after which a plan has stalled, s.
    pub(in crate::mpc) fn patience(&self) -> f64 {
        self.supervision.map_or(super::STALL, |supervision| supervision.stall)
    }

    /// Weights of the last state: of position, rotation and joints.
    fn goal_weights(&self) -> [f64; 3] {
        let WeightsFile { position, rotation, joints, terminal, .. } = &self.file.weights;
        [
            terminal.position.unwrap_or(*position),
            terminal.rotation.unwrap_or(*rotation),
            terminal.joints.unwrap_or(*joints),
        ]
    }
}
