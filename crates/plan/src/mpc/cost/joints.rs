//! Costs of the commanded joints' positions.

use std::sync::Arc;

use candle_core::Result;

use super::{Cost, Expansion};
use crate::mpc::Simulator;
use crate::mpc::command::within;

/// Squared distance of the commanded joints from a posture, rad² or m².
#[derive(Clone, Debug)]
pub struct Posture {
    /// The commanded joints: (place in q, degree of freedom, position of the posture).
    joints: Vec<(usize, usize, f64)>,
    /// Is the posture that at which each plan begins?
    follows: bool,
}

/// Squared excess of the commanded joints over their limits, rad² or m².
#[derive(Clone, Debug)]
pub struct JointLimits {
    /// The commanded joints: (place in q, degree of freedom, lower limit, upper limit).
    joints: Vec<(usize, usize, f64, f64)>,
}

impl Posture {
    /// The cost whose posture is the joints' positions in q (nq numbers).
    pub fn new(simulator: &Simulator, q: &[f64]) -> Self {
        let joints = simulator.joints().iter().map(|joint| (joint.q, joint.v, q[joint.q])).collect();
        Self { joints, follows: false }
    }

    /// The cost whose posture is where each plan begins; in a plan that begins at q (nq numbers) that is q.
    pub fn following(simulator: &Simulator, q: &[f64]) -> Self {
        Self { follows: true, ..Self::new(simulator, q) }
    }
}

impl JointLimits {
    /// The limits of all commanded joints.
    pub fn new(simulator: &Simulator) -> Self {
        Self { joints: simulator.joints().iter().map(|joint| (joint.q, joint.v, joint.lower, joint.upper)).collect() }
    }
}

fn add(to: &mut Expansion, v: usize, weight: f64, residual: f64) {
    to.gradient[v] += 2.0 * weight * residual;
    to.hessian[(v, v)] += 2.0 * weight;
}

impl Cost for Posture {
    fn value(&self, q: &[f64]) -> Result<f64> {
        Ok(self.joints.iter().map(|&(at, _, x)| (q[at] - x).powi(2)).sum())
    }

    fn expand(&self, q: &[f64], weight: f64, to: &mut Expansion) -> Result<()> {
        self.joints.iter().for_each(|&(at, v, x)| add(to, v, weight, q[at] - x));
        Ok(())
    }

    fn name(&self) -> &'static str {
        "posture"
    }

    fn beginning_at(&self, q: &[f64]) -> Option<Arc<dyn Cost>> {
        let joints = self.joints.iter().map(|&(at, v, _)| (at, v, q[at])).collect();
        self.follows.then(|| Arc::new(Self { joints, follows: true }) as Arc<dyn Cost>)
    }
}

impl Cost for JointLimits {
    fn value(&self, q: &[f64]) -> Result<f64> {
        Ok(self.joints.iter().map(|&(at, _, lower, upper)| (q[at] - within(q[at], (lower, upper))).powi(2)).sum())
    }

    fn expand(&self, q: &[f64], weight: f64, to: &mut Expansion) -> Result<()> {
        for &(at, v, lower, upper) in &self.joints {
            let beyond = q[at] - within(q[at], (lower, upper));
            if beyond != 0.0 {
                add(to, v, weight, beyond);
            }
        }
        Ok(())
    }

    fn name(&self) -> &'static str {
        "limits"
    }
}
