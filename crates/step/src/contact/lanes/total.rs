//! Unit vectors and limits that are defined for all inputs, with their derivatives.

use fingertip_lanes::lane::{Mask, Real};
use fingertip_lanes::vector::Vec3;

/// The negated vector −a.
#[inline(always)]
pub(super) fn neg<R: Real>(a: Vec3<R>) -> Vec3<R> {
    [-a[0], -a[1], -a[2]]
}

/// 1 where the mask is set, else 0.
#[inline(always)]
pub(super) fn indicator<R: Real>(mask: R::Mask) -> R {
    R::select(mask, R::one(), R::zero())
}

/// The sign of x: −1 below zero, else 1.
#[inline(always)]
pub(super) fn sign<R: Real>(x: R) -> R {
    R::select(x.lt(R::zero()), R::splat(-1.0), R::one())
}

/// The vector `yes` in worlds where the mask is set, `no` in the others.
#[inline(always)]
pub(super) fn choose<R: Real, const K: usize>(mask: R::Mask, yes: [R; K], mut no: [R; K]) -> [R; K] {
    for i in 0..K {
        no[i] = R::select(mask, yes[i], no[i]);
    }
    no
}

/// A number limited to [−limit, limit], and its partial derivatives.
#[derive(Clone, Copy)]
pub(super) struct Limited<R> {
    pub(super) value: R,
    /// The partial derivative ∂value/∂x, 1 or 0.
    pub(super) of_x: R,
    /// The partial derivative ∂value/∂limit, 1, 0 or −1.
    pub(super) of_limit: R,
}

/// Limits x to [−limit, limit]. At and beyond the limit, the derivative is that by the limit.
#[inline(always)]
pub(super) fn limited<R: Real>(x: R, limit: R) -> Limited<R> {
    let below = x.lt(limit);
    let y = R::select(below, x, limit);
    let above = y.gt(-limit);
    Limited {
        value: R::select(above, y, -limit),
        of_x: indicator(below.and(above)),
        of_limit: R::select(above, indicator(below.not()), R::splat(-1.0)),
    }
}

/// The unit vector of a vector v of K numbers, or a fallback if v is no longer than [`Precision::no_length`].
#[derive(Clone, Copy)]
pub(super) struct Unit<R: Real, const K: usize> {
    pub(super) value: [R; K],
    /// Is v too short, so that the fallback is used?
    pub(super) miss: R::Mask,
    /// v/√(v·v), or v/√(v·v + 1) if v is too short.
    direction: [R; K],
    /// 1/√(v·v), or 1/√(v·v + 1) if v is too short.
    per_length: R,
}

/// Dot product a · b of vectors of K numbers.
#[inline(always)]
pub(super) fn inner<R: Real, const K: usize>(a: [R; K], b: [R; K]) -> R {
    let mut sum = a[K - 1] * b[K - 1];
    for i in (0..K - 1).rev() {
        sum = a[i].mul_add(b[i], sum);
    }
    sum
}

/// The unit vector of v, or `fallback` if v is too short.
#[inline(always)]
pub(super) fn unit<R: Real, const K: usize>(v: [R; K], fallback: [R; K]) -> Unit<R, K> {
    let square = inner(v, v);
    let miss = square.gt(R::splat(R::precision().no_length().powi(2))).not();
    let weight = indicator::<R>(miss);
    let per_length = R::one() / (square + weight).sqrt();
    let (mut value, mut direction) = (v, v);
    for i in 0..K {
        direction[i] = v[i] * per_length;
        value[i] = weight.mul_add(fallback[i], direction[i]);
    }
    Unit { value, miss, direction, per_length }
}

impl<R: Real, const K: usize> Unit<R, K> {
    /// Vector-Jacobian product: the gradient of v, which is (1 − n nᵀ) n̄ / |v| for the gradient n̄ of the unit vector
    /// n.
    #[inline(always)]
    pub(super) fn vjp(&self, mut gradient: [R; K]) -> [R; K] {
        let along = inner(self.direction, gradient);
        for i in 0..K {
            gradient[i] = self.per_length * (-along).mul_add(self.direction[i], gradient[i]);
        }
        gradient
    }

    /// Jacobian-vector product: the change of the unit vector with those of v and of the fallback. It uses
    /// [`Unit::vjp`], which is symmetric.
    #[inline(always)]
    pub(super) fn jvp(&self, v: [R; K], fallback: [R; K]) -> [R; K] {
        let mut value = self.vjp(v);
        for i in 0..K {
            value[i] += R::select(self.miss, fallback[i], R::zero());
        }
        value
    }

    /// Vector-Jacobian product: the gradient of the fallback.
    #[inline(always)]
    pub(super) fn vjp_fallback(&self, gradient: [R; K]) -> [R; K] {
        choose(self.miss, gradient, [R::zero(); K])
    }
}
