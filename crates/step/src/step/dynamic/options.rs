//! The contact model and other options of a second-order step.

use candle_core::{Result, bail};

use crate::solve::Method;
use crate::step::bound::Bound;
use fingertip_scene::Friction;

/// How a second-order step treats contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContactModel {
    /// Smoothed by the barrier with parameter κ, with friction. Differentiable.
    Barrier,
    /// Hard and frictionless; μ and κ have no effect. It has no gradients, and models on the CPU only.
    Rigid(Method),
}

/// Options of a [`Dynamic`](super::Dynamic) step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DynamicParams {
    /// Smoothed contact with friction, or hard contact without.
    pub contact: ContactModel,
    /// The law of friction under [`ContactModel::Barrier`], in place of the scene's, which is that of the quasi-dynamic
    /// step. By the relaxed law every step has one answer; but a slip lifts by μ times itself, at a velocity that
    /// stays: what slides at v takes off at μ v.
    pub friction: Friction,
    /// The bound on how fast contact gaps may close. Joint limits always use [`Bound::Gap`], with the same β, or β = 0
    /// if this bound has none.
    pub bound: Bound,
    /// Stiction speed of dry friction under [`ContactModel::Barrier`], rad/s or m/s, positive, usually 1e-4 … 1e-2. A
    /// joint that sticks moves more slowly than this. A smaller value is closer to Coulomb's law and harder to
    /// differentiate. Rigid contact uses Coulomb's law itself.
    pub stiction_speed: f64,
}

impl Default for DynamicParams {
    fn default() -> Self {
        Self {
            contact: ContactModel::Barrier,
            friction: Friction::Coulomb,
            bound: Bound::Gap { beta: 0.2 },
            stiction_speed: 1e-3,
        }
    }
}

impl DynamicParams {
    /// Checks the ranges that the fields document.
    pub(super) fn check(&self) -> Result<()> {
        match self.bound {
            Bound::Gap { beta } if !(0.0..=1.0).contains(&beta) => bail!("bound: expected β from 0 to 1, got {beta}"),
            Bound::Velocity { margin } if margin.is_nan() => bail!("bound: expected a margin in m, got {margin}"),
            _ => {}
        }
        if !(self.stiction_speed > 0.0 && self.stiction_speed.is_finite()) {
            bail!("stiction_speed: expected a positive speed, got {}", self.stiction_speed);
        }
        Ok(())
    }
}
