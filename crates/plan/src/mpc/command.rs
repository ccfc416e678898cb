//! The decision of each control period: v in a box, which determines the command u.

use candle_core::{Result, bail};

use super::simulator::{Joint, Simulator};

/// The map from v to u.
#[derive(Clone, Debug, PartialEq)]
pub enum Law {
    /// u = q_a + v with the joints' measured positions q_a: v is the deflection of the springs.
    Relative,
    /// u = u_before + v.
    Rate,
    /// u = v + these positions (nu), rad or m.
    Absolute(Vec<f64>),
}

/// A law and the bounds of its v.
#[derive(Clone, Debug)]
pub struct Command {
    /// The law by which the command u follows from the decision v.
    pub law: Law,
    /// Bound on |v_j| for each joint (nu), rad or m.
    pub bound: Vec<f64>,
    /// Bound on |u_j − u_before_j| for each joint (nu), rad or m; ∞ without one. At first it is what the joint's
    /// largest speed allows in a control period. Where both cannot be kept, that of v is.
    pub change: Vec<f64>,
    /// Is u kept within the joints' limits, and K (u − q_a) within their effort limits, as far as the bound allows?
    pub keep_limits: bool,
}

impl Command {
    /// A law with one bound for all joints, which keeps u within limits.
    ///
    /// # Errors
    /// If the bound is not positive and finite, or if the number of positions in the law differs from the number of
    /// joints.
    pub fn new(simulator: &Simulator, law: Law, bound: f64) -> Result<Self> {
        Self::with_bounds(simulator, law, vec![bound; simulator.joints().len()])
    }

    /// A law with a bound for each joint, which keeps u within limits.
    ///
    /// # Errors
    /// As [`Command::new`], or if there is not exactly one bound per joint.
    pub fn with_bounds(simulator: &Simulator, law: Law, bound: Vec<f64>) -> Result<Self> {
        let nu = simulator.joints().len();
        if let Law::Absolute(positions) = &law
            && positions.len() != nu
        {
            bail!("command: expected {nu} positions, got {}", positions.len());
        }
        if bound.len() != nu {
            bail!("command: expected {nu} bounds, got {}", bound.len());
        }
        if let Some(bad) = bound.iter().find(|bound| !(bound.is_finite() && **bound > 0.0)) {
            bail!("bound: expected positive numbers, got {bad}");
        }
        let change = simulator.joints().iter().map(|joint| joint.velocity * simulator.period()).collect();
        Ok(Self { law, change, bound, keep_limits: true })
    }

    /// The base of a joint's command u = v + base: measured position, previous command or a given position.
    pub fn base(&self, joint: usize, of: &Joint, q: &[f64], u_before: &[f64]) -> f64 {
        match &self.law {
            Law::Relative => q[of.q],
            Law::Rate => u_before[joint],
            Law::Absolute(positions) => positions[joint],
        }
    }

    /// Smallest and largest v of a joint whose command is v + base and was u_before (nu).
    pub fn range(&self, joint: usize, of: &Joint, q: &[f64], u_before: &[f64], base: f64) -> (f64, f64) {
        let bound = self.bound[joint];
        let (mut least, mut most) = (-bound, bound);
        if self.keep_limits {
            // A joint that is out of its range is drawn back as fast as the bound allows.
            (least, most) = (within(of.lower - base, (-bound, bound)), within(of.upper - base, (-bound, bound)));
            let draw = of.effort / of.stiffness;
            least = within(q[of.q] - draw - base, (least, most));
            most = within(q[of.q] + draw - base, (least, most));
        }
        let (from, change) = (u_before[joint] - base, self.change[joint]);
        (within(from - change, (least, most)), within(from + change, (least, most)))
    }

    /// The command v + base. If v reaches a limit of the joint, it is exactly that limit.
    pub(super) fn sum(&self, of: &Joint, base: f64, v: f64) -> f64 {
        let mut limits = [of.lower, of.upper].into_iter().filter(|_| self.keep_limits);
        limits.find(|limit| limit - base == v).unwrap_or(base + v)
    }

    /// The derivatives of u by (q_a, u_before); by v it is 1.
    pub(super) fn rates(&self) -> (f64, f64) {
        match self.law {
            Law::Relative => (1.0, 0.0),
            Law::Rate => (0.0, 1.0),
            Law::Absolute(_) => (0.0, 0.0),
        }
    }
}

/// The number in a range that is nearest to x, or an end of the range if x is NaN.
pub(super) fn within(x: f64, (least, most): (f64, f64)) -> f64 {
    x.max(least).min(most)
}
