//! Symmetric 3×3 matrices in six numbers.

use crate::math::lane::{Lockstep, Real};
use crate::math::vector::{Vec3, dot, scale};

/// Numbers of a matrix: xx, xy, yy, xz, yz, zz.
const SYMMETRIC: usize = 6;

/// A symmetric matrix.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Symmetric<R>([R; SYMMETRIC]);

impl<R: Real> Symmetric<R> {
    /// s 1.
    #[inline(always)]
    pub(super) fn diagonal(s: R) -> Self {
        let zero = R::zero();
        Self([s, zero, s, zero, zero, s])
    }

    /// self + s v vᵀ.
    #[inline(always)]
    pub(super) fn plus(self, s: R, v: Vec3<R>) -> Self {
        let [x, y, z] = scale(s, v);
        let [xx, xy, yy, xz, yz, zz] = self.0;
        Self([
            x.mul_add(v[0], xx),
            x.mul_add(v[1], xy),
            y.mul_add(v[1], yy),
            x.mul_add(v[2], xz),
            y.mul_add(v[2], yz),
            z.mul_add(v[2], zz),
        ])
    }

    /// self + other.
    #[inline(always)]
    pub(super) fn add(mut self, other: Self) -> Self {
        for (x, y) in self.0.iter_mut().lockstep(other.0) {
            *x += y;
        }
        self
    }

    /// The matrix where the mask is set, else 0.
    #[inline(always)]
    pub(super) fn only(mut self, mask: R::Mask) -> Self {
        for x in &mut self.0 {
            *x = R::select(mask, *x, R::zero());
        }
        self
    }

    /// self · v.
    #[inline(always)]
    pub(super) fn times(&self, v: Vec3<R>) -> Vec3<R> {
        let [xx, xy, yy, xz, yz, zz] = self.0;
        [dot([xx, xy, xz], v), dot([xy, yy, yz], v), dot([xz, yz, zz], v)]
    }

    /// The inverse of a positive definite matrix with no eigenvalue below `floor`, which rounding may have taken from it:
    /// positive definite in any case.
    ///
    /// By M = L D Lᵀ: M⁻¹ = L⁻ᵀ D⁻¹ L⁻¹, where no pivot is below the smallest eigenvalue.
    #[inline(always)]
    pub(super) fn inverse(self, floor: R) -> Self {
        let [xx, xy, yy, xz, yz, zz] = self.0;
        let first = R::one() / xx.max(floor);
        let (y, z) = (xy * first, xz * first);
        let second = R::one() / (-y).mul_add(xy, yy).max(floor);
        let below = (-y).mul_add(xz, yz);
        let m = below * second;
        let third = R::one() / (-m).mul_add(below, (-z).mul_add(xz, zz)).max(floor);
        // The last row of L⁻¹ is (p, −m, 1).
        let p = y.mul_add(m, -z);
        let (p3, m3) = (p * third, m * third);
        Self([
            p.mul_add(p3, (y * second).mul_add(y, first)),
            (-y).mul_add(second, -(m * p3)),
            m.mul_add(m3, second),
            p3,
            -m3,
            third,
        ])
    }
}
