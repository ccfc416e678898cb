//! Two boxes in the frame of the first.

use super::core;
use crate::contact::lanes::formula::Couple;
use crate::contact::lanes::scalar::{self, Scalar, V3, axpy, dot};
use fingertip_lanes::vector::Vec3;

/// The cores of boxes A and B in A's frame, and their roundings.
pub(super) struct Boxes<S> {
    /// The origin of B.
    pub(super) t: V3<S>,
    /// The axes of B.
    pub(super) b: [V3<S>; 3],
    /// The half extents of A's core, without the rounding.
    pub(super) half_a: V3<S>,
    /// The half extents of B's core, without the rounding.
    pub(super) half_b: V3<S>,
    pub(super) radius_a: S,
    pub(super) radius_b: S,
}

impl<S: Scalar> Boxes<S> {
    /// Splits the sizes of two boxes into cores and roundings.
    #[inline(always)]
    pub(super) fn new(&Couple { t, b, size_a, size_b }: &Couple<S>) -> Self {
        Self { t, b, half_a: core(size_a), half_b: core(size_b), radius_a: size_a[3], radius_b: size_b[3] }
    }

    /// The corner of B's core with these signs, in A's frame.
    #[inline(always)]
    pub(super) fn corner_b(&self, signs: Vec3<S::Lane>) -> V3<S> {
        let mut corner = self.t;
        for k in 0..3 {
            corner = axpy(self.half_b[k].times(signs[k]), self.b[k], corner);
        }
        corner
    }

    /// Converts a point from A's frame to B's.
    #[inline(always)]
    pub(super) fn in_b(&self, p: V3<S>) -> V3<S> {
        let from = scalar::sub(p, self.t);
        [dot(self.b[0], from), dot(self.b[1], from), dot(self.b[2], from)]
    }
}
