//! Two boxes, and what a contact of theirs is.

use crate::contact::lanes::scalar::{self, Scalar, V3, axpy, dot};
use crate::math::lane::Real;
use crate::math::vector::Vec3;

/// Contacts of two boxes at most: one for each edge of two faces.
pub(crate) const POINTS: usize = 8;
/// sin 5°: where each of a box's axes is turned away from the plane across n by more, a vertex sticks out;
/// a side that looks along n by less is upright.
pub(super) const SHARP: f64 = 0.087_155_742_747_658_17;

/// Two boxes in A's frame.
pub(super) struct Boxes<S> {
    /// B's origin.
    pub(super) t: V3<S>,
    /// B's axes.
    pub(super) b: [V3<S>; 3],
    /// Without the rounding.
    pub(super) half_a: V3<S>,
    pub(super) half_b: V3<S>,
    pub(super) radius_a: S,
    pub(super) radius_b: S,
}

/// A contact's numbers in A's frame, except for the normal.
#[derive(Clone, Copy)]
pub(super) struct Spot<S> {
    pub(super) phi: S,
    pub(super) point_a: V3<S>,
    pub(super) point_b: V3<S>,
    pub(super) weight: S,
}

impl<R: Real> Boxes<R> {
    /// Two of no particular place and size.
    pub(super) fn any() -> Self {
        let (zero, one) = (R::zero(), R::one());
        Self { t: [zero; 3], b: [[one; 3]; 3], half_a: [one; 3], half_b: [one; 3], radius_a: zero, radius_b: zero }
    }
}

impl<S: Scalar> Boxes<S> {
    /// The corner of B's core with these signs.
    #[inline(always)]
    pub(super) fn corner_b(&self, signs: Vec3<S::Lane>) -> V3<S> {
        let mut corner = self.t;
        for k in 0..3 {
            corner = axpy(self.half_b[k].times(signs[k]), self.b[k], corner);
        }
        corner
    }

    /// A point in B's frame.
    #[inline(always)]
    pub(super) fn in_b(&self, p: V3<S>) -> V3<S> {
        let from = scalar::sub(p, self.t);
        [dot(self.b[0], from), dot(self.b[1], from), dot(self.b[2], from)]
    }
}
