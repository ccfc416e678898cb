//! Where an object is, by touch: from joints, commands and contact forces, without a camera.
//!
#![doc = include_str!("../../docs/feel.md")]

pub(crate) mod chain;
mod log;
mod smoother;
pub(crate) mod window;

use fingertip_shapes::{Error, Result};

pub use log::{Felt, feel};
pub use smoother::Smoother;

/// What is known of sensors, of the start and of the model's errors.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Control periods of the window.
    pub window: usize,
    /// Deviations of objects' poses at the start, m and rad.
    pub start: [f64; 2],
    /// Deviations of measured joints, rad or m.
    pub joint: f64,
    /// Deviations of measured poses of objects, m and rad, where there are any.
    pub pose: [f64; 2],
    /// Deviations of forces along each axis: the part of the force, and the least, N. If that is infinite, forces say
    /// what touches, and no more.
    pub force: [f64; 2],
    /// From this force on, N, what is felt touches, and its least gap is that of the step's barrier, 2/(κ F).
    pub touch: f64,
    /// Deviation of the gap of what touches, m, beside half of the barrier's. What overlaps is held apart by it too.
    pub gap: f64,
    /// How far what touches slips in a period, m, as a rule; more is taken for a slide.
    pub slip: f64,
    /// What objects drift by in a second beside what the model expects, m and rad.
    pub drift: [f64; 2],
    /// The same for joints, rad or m.
    pub joint_drift: f64,
    /// The model errs by this part of each motion.
    pub share: f64,
    /// Forces and gaps that are off by more than so many deviations pull no harder, and slips hardly at all.
    pub huber: f64,
    /// Steps of Gauss and Newton in a period, at most.
    pub max_iterations: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            window: 5,
            start: [1e-3, 0.02],
            joint: 1e-3,
            pose: [1e-3, 0.01],
            force: [0.05, 0.05],
            touch: 0.1,
            gap: 1e-4,
            slip: 2e-4,
            drift: [0.01, 0.2],
            joint_drift: 0.5,
            share: 0.3,
            huber: 3.0,
            max_iterations: 3,
        }
    }
}

impl Options {
    fn check(&self) -> Result<()> {
        let wrong = |place: &str, message: String| Err(Error::invalid(place, message));
        let [start, pose, drift] = [self.start, self.pose, self.drift];
        let positive = [
            ("start", start[0]),
            ("start", start[1]),
            ("joint", self.joint),
            ("pose", pose[0]),
            ("pose", pose[1]),
            ("touch", self.touch),
            ("gap", self.gap),
            ("slip", self.slip),
            ("joint_drift", self.joint_drift),
            ("huber", self.huber),
        ];
        if let Some((name, x)) = positive.into_iter().find(|(_, x)| !(x.is_finite() && *x > 0.0)) {
            return wrong(name, format!("expected a positive number, got {x}"));
        }
        if self.force[1].is_nan() || self.force[1] <= 0.0 {
            return wrong("force", format!("expected a positive least deviation or infinity, got {}", self.force[1]));
        }
        let not_negative = [("force", self.force[0]), ("drift", drift[0]), ("drift", drift[1]), ("share", self.share)];
        if let Some((name, x)) = not_negative.into_iter().find(|(_, x)| !(x.is_finite() && *x >= 0.0)) {
            return wrong(name, format!("expected a number that is not negative, got {x}"));
        }
        for (name, n) in [("window", self.window), ("max_iterations", self.max_iterations)] {
            if n == 0 {
                return wrong(name, "expected at least 1, got 0".to_owned());
            }
        }
        Ok(())
    }
}
