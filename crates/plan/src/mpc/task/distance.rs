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

    /// Log(R R*ᵀ) from the orientation that a goal wants of the task's own object to that at q (nq), rad; zeros without one.
    pub(in crate::mpc) fn turn_error(&self, goal: &Goal, q: &[f64]) -> Result<[f64; 3]> {
        let turn = goal.turn.map(|turn| Orientation::new(self.simulator().model(), self.object(), turn));
        Ok(turn.transpose()?.map_or([0.0; 3], |cost| cost.error(q)))
    }

    /// The object's degrees of freedom that its distance counts: each with its weight.
    pub(in crate::mpc) fn freedoms(&self) -> Vec<(usize, f64)> {
        let [position, rotation, _] = self.goal_weights();
        let c = self.coordinate(self.object(), "goal: object").ok();
        let own = c
            .into_iter()
            .flat_map(|c| c.kind.freedoms().iter().enumerate().map(move |(k, (_, unit))| (c.v + k, *unit)));
        let weighed = own.map(|(v, unit)| (v, if unit == "m" { position } else { rotation }));
        weighed.filter(|(_, weight)| *weight > 0.0).collect()
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
