//! Building blocks of contact weights: steps with continuous second derivatives, and distances from borders. At a kink,
//! the derivative is the mean of those on both sides.

use super::scalar::{Scalar, V2};
use super::total::sign;
use fingertip_lanes::lane::{Mask, Real};

/// A smooth step F from 0 at −1 to 1 at 1, with F(0) = 1/2 and F(x) + F(−x) = 1.
#[inline(always)]
pub(super) fn step<S: Scalar>(x: S) -> S {
    let one = S::Lane::one();
    let t = x.value().min(one).max(-one);
    let square = t * t;
    let rest = one - square;
    x.by((rest * rest).scale(15.0 / 16.0));
    let odd = square.mul_add(square.mul_add(S::Lane::splat(3.0), S::Lane::splat(-10.0)), S::Lane::splat(15.0));
    x.result(t.mul_add(odd.scale(1.0 / 16.0), S::Lane::splat(0.5)))
}

/// A smooth step from 0 at 0 to 1 at 1.
#[inline(always)]
pub(super) fn inner_step<S: Scalar>(x: S) -> S {
    let one = S::Lane::one();
    let t = x.value().min(one).max(S::Lane::zero());
    let rest = t * (one - t);
    x.by((rest * rest).scale(30.0));
    let polynomial = t.mul_add(t.scale(6.0) - S::Lane::splat(15.0), S::Lane::splat(10.0));
    x.result(t * t * t * polynomial)
}

/// The hump (1 − x)³ for x ≤ 1, and 0 beyond.
#[inline(always)]
pub(super) fn hump<S: Scalar>(x: S) -> S {
    let rest = (S::Lane::one() - x.value()).max(S::Lane::zero());
    let square = rest * rest;
    x.by(square.scale(-3.0));
    x.result(square * rest)
}

/// The derivative of max(x, 0): 1 if x is positive, 0 if it is negative, 1/2 at 0.
#[inline(always)]
fn part<R: Real>(x: R) -> R {
    R::select(x.gt(R::zero()), R::one(), R::select(x.lt(R::zero()), R::zero(), R::splat(0.5)))
}

/// The smaller of two numbers.
#[inline(always)]
pub(super) fn lesser<S: Scalar>(a: S, b: S) -> S {
    let (x, y) = (a.value(), b.value());
    a.by(part(y - x));
    b.by(part(x - y));
    a.result(x.min(y))
}

/// The larger of two numbers.
#[inline(always)]
pub(super) fn greater<S: Scalar>(a: S, b: S) -> S {
    let (x, y) = (a.value(), b.value());
    a.by(part(x - y));
    b.by(part(y - x));
    a.result(x.max(y))
}

/// The number x limited to [−limit, limit].
#[inline(always)]
pub(super) fn clamped<S: Scalar>(x: S, limit: S) -> S {
    let (value, most) = (x.value(), limit.value());
    let beyond = part(value.abs() - most);
    x.by(S::Lane::one() - beyond);
    limit.by(sign(value) * beyond);
    x.result(value.min(most).max(-most))
}

/// The distance of x from the nearer end of [−limit, limit]; negative outside.
#[inline(always)]
pub(super) fn within<S: Scalar>(x: S, limit: S) -> S {
    x.by(-sign(x.value()));
    limit.by(S::Lane::one());
    x.result(limit.value() - x.value().abs())
}

/// The signed distance of a point to the border of the rectangle with these half sizes: positive inside, negative
/// outside.
#[inline(always)]
pub(super) fn inside<S: Scalar>(at: V2<S>, half: V2<S>) -> S {
    let [x, y] = [at[0].value(), at[1].value()];
    let (a, b) = (x.abs() - half[0].value(), y.abs() - half[1].value());
    let (zero, one) = (S::Lane::zero(), S::Lane::one());
    // Beyond a corner both axes count; elsewhere only the one along which the point is farther out.
    let is_corner = a.gt(zero).and(b.gt(zero));
    let distance = S::Lane::select(is_corner, a.mul_add(a, b * b), one).sqrt();
    let of_a = S::Lane::select(is_corner, a / distance, part(a - b));
    let of_b = S::Lane::select(is_corner, b / distance, part(b - a));
    at[0].by(-(sign(x) * of_a));
    half[0].by(of_a);
    at[1].by(-(sign(y) * of_b));
    half[1].by(of_b);
    at[0].result(-S::Lane::select(is_corner, distance, a.max(b)))
}
