//! Closest points of segments x(s) = c + s u, |s| ≤ h, u a unit vector: the cores of capsules.

use candle_core::{Result, Tensor};

use super::Shapes;
use super::vectors::{Places, along, axis, clamp, dot};

/// A capsule's core.
pub(super) struct Segment {
    /// c (B, n, 3).
    pub centre: Tensor,
    /// u (B, n, 3).
    pub direction: Tensor,
    /// h (1 or B, n, 1).
    pub half_length: Tensor,
}

impl Segment {
    /// The cores of capsules.
    pub(super) fn of_capsules(capsules: &Shapes) -> Result<Self> {
        Ok(Self { centre: capsules.position()?, direction: axis(&capsules.pose, 2)?, half_length: capsules.length(1)? })
    }

    /// x(s) for s (B, n, 1).
    pub(super) fn at(&self, s: &Tensor) -> Result<Tensor> {
        along(&self.centre, s, &self.direction)
    }

    /// The parameter s of the point closest to each of the given points (B, n, 3).
    pub(super) fn closest_to(&self, points: &Tensor) -> Result<Tensor> {
        clamp(&dot(&self.direction, &(points - &self.centre)?)?, &self.half_length)
    }

    /// Both ends (B, n, 2, 3), the negative one first.
    pub(super) fn ends(&self) -> Result<Tensor> {
        let reach = self.direction.broadcast_mul(&self.half_length)?;
        Tensor::stack(&[(&self.centre - &reach)?, (&self.centre + &reach)?], 2)
    }
}
