//! Numbers that a formula may be differentiated by: the formula is written once over [`Scalar`], and is computed on plain
//! lanes or with a [`Tape`](super::tape::Tape), which then has its tangents and adjoints.
//!
//! The operations are the same for all inputs: where values decide, both ways are computed and one is selected. A way that
//! is not taken must be finite nevertheless, as its derivatives are multiplied by zero.

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};
use std::ops::{Add, Div, Mul, Neg, Sub};

use crate::math::lane::{Real, inlined};

/// A number, or one that remembers what it was computed of.
pub(super) trait Scalar:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self>
{
    /// The lanes that it computes in.
    type Lane: Real;

    fn value(self) -> Self::Lane;
    /// A number that does not change, for formulas that this one is in.
    fn constant(self, value: Self::Lane) -> Self;
    /// Says that this is an argument of the operation whose [`Scalar::result`] comes next, and the derivative by it.
    fn by(self, slope: Self::Lane);
    /// The result of the operation whose arguments were said; this is one of them.
    fn result(self, value: Self::Lane) -> Self;

    /// self · factor.
    #[inline(always)]
    fn times(self, factor: Self::Lane) -> Self {
        self.by(factor);
        self.result(self.value() * factor)
    }
    /// self · a + b.
    #[inline(always)]
    fn fused(self, a: Self, b: Self) -> Self {
        let (x, y, z) = (self.value(), a.value(), b.value());
        self.by(y);
        a.by(x);
        b.by(Real::one());
        self.result(x.mul_add(y, z))
    }
    /// a · b.
    #[inline(always)]
    fn inner([a0, a1, a2]: V3<Self>, [b0, b1, b2]: V3<Self>) -> Self {
        let (x, y) = ([a0.value(), a1.value(), a2.value()], [b0.value(), b1.value(), b2.value()]);
        a0.by(y[0]);
        a1.by(y[1]);
        a2.by(y[2]);
        b0.by(x[0]);
        b1.by(x[1]);
        b2.by(x[2]);
        a0.result(x[0].mul_add(y[0], x[1].mul_add(y[1], x[2] * y[2])))
    }
    /// a · b in the plane.
    #[inline(always)]
    fn inner2([a0, a1]: V2<Self>, [b0, b1]: V2<Self>) -> Self {
        let (x, y) = ([a0.value(), a1.value()], [b0.value(), b1.value()]);
        a0.by(y[0]);
        a1.by(y[1]);
        b0.by(x[0]);
        b1.by(x[1]);
        a0.result(x[0].mul_add(y[0], x[1] * y[1]))
    }
    /// a · w of a constant w.
    #[inline(always)]
    fn weighted([a0, a1, a2]: V3<Self>, w: V3<Self::Lane>) -> Self {
        a0.by(w[0]);
        a1.by(w[1]);
        a2.by(w[2]);
        a0.result(a0.value().mul_add(w[0], a1.value().mul_add(w[1], a2.value() * w[2])))
    }
    /// a · w of a constant w in the plane.
    #[inline(always)]
    fn weighted2([a0, a1]: V2<Self>, w: V2<Self::Lane>) -> Self {
        a0.by(w[0]);
        a1.by(w[1]);
        a0.result(a0.value().mul_add(w[0], a1.value() * w[1]))
    }
    /// a₀ b₀ − a₁ b₁.
    #[inline(always)]
    fn difference([a0, a1]: [Self; 2], [b0, b1]: [Self; 2]) -> Self {
        let (x, y) = ([a0.value(), a1.value()], [b0.value(), b1.value()]);
        a0.by(y[0]);
        b0.by(x[0]);
        a1.by(-y[1]);
        b1.by(-x[1]);
        a0.result(x[0].mul_add(y[0], -(x[1] * y[1])))
    }
    /// self + Σ a_k b_k.
    #[inline(always)]
    fn plus_products<const N: usize>(self, a: [Self; N], b: [Self; N]) -> Self {
        let mut sum = self.value();
        self.by(Self::Lane::one());
        for k in 0..N {
            let (x, y) = (a[k].value(), b[k].value());
            a[k].by(y);
            b[k].by(x);
            sum = x.mul_add(y, sum);
        }
        self.result(sum)
    }
    /// The square root of a positive number.
    #[inline(always)]
    fn root(self) -> Self {
        let root = self.value().sqrt();
        self.by(Self::Lane::splat(0.5) / root);
        self.result(root)
    }
    /// The angle of the point (x, self) from the x axis.
    #[inline(always)]
    fn angle(self, x: Self) -> Self {
        let (across, along) = (self.value(), x.value());
        let square = across.mul_add(across, along * along);
        let inverse = Self::Lane::one() / square.max(Self::Lane::tiny());
        self.by(along * inverse);
        x.by(-(across * inverse));
        self.result(angle(across, along))
    }
    /// `yes` where the mask is set, else `no`.
    #[inline(always)]
    fn choose(mask: <Self::Lane as Real>::Mask, yes: Self, no: Self) -> Self {
        let (one, zero) = (Self::Lane::one(), Self::Lane::zero());
        yes.by(Self::Lane::select(mask, one, zero));
        no.by(Self::Lane::select(mask, zero, one));
        yes.result(Self::Lane::select(mask, yes.value(), no.value()))
    }
}

impl<R: Real> Scalar for R {
    type Lane = R;

    #[inline(always)]
    fn value(self) -> R {
        self
    }
    #[inline(always)]
    fn constant(self, value: R) -> R {
        value
    }
    #[inline(always)]
    fn by(self, _: R) {}
    #[inline(always)]
    fn result(self, value: R) -> R {
        value
    }
}

/// A number's record of the operation that produced it.
pub(super) trait Origin<R: Real>: Copy {
    /// [`Scalar::by`].
    fn by(self, slope: R);
    /// [`Scalar::result`].
    fn result(self) -> Self;
    /// Of no operation.
    fn constant(self) -> Self;
}

/// A number with its origin.
#[derive(Clone, Copy)]
pub(super) struct Traced<R, O> {
    pub(super) value: R,
    pub(super) origin: O,
}

impl<R: Real, O: Origin<R>> Scalar for Traced<R, O> {
    type Lane = R;

    #[inline(always)]
    fn value(self) -> R {
        self.value
    }
    #[inline(always)]
    fn constant(self, value: R) -> Self {
        Self { value, origin: self.origin.constant() }
    }
    #[inline(always)]
    fn by(self, slope: R) {
        self.origin.by(slope);
    }
    #[inline(always)]
    fn result(self, value: R) -> Self {
        Self { value, origin: self.origin.result() }
    }
}

impl<R: Real, O: Origin<R>> Add for Traced<R, O> {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.by(R::one());
        other.by(R::one());
        self.result(self.value + other.value)
    }
}

impl<R: Real, O: Origin<R>> Sub for Traced<R, O> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self.by(R::one());
        other.by(R::splat(-1.0));
        self.result(self.value - other.value)
    }
}

impl<R: Real, O: Origin<R>> Mul for Traced<R, O> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self.by(other.value);
        other.by(self.value);
        self.result(self.value * other.value)
    }
}

impl<R: Real, O: Origin<R>> Div for Traced<R, O> {
    type Output = Self;
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        let (value, inverse) = (self.value / other.value, R::one() / other.value);
        self.by(inverse);
        other.by(-(value * inverse));
        self.result(value)
    }
}

impl<R: Real, O: Origin<R>> Neg for Traced<R, O> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        self.by(R::splat(-1.0));
        self.result(-self.value)
    }
}

/// The angle of the point (x, y) from the x axis, from −π to π: within 3 · 10⁻¹⁶ of itself, with the same bits on every machine. The rational
/// approximation is that of Moshier's Cephes library, `atan.c`, for |t| ≤ 0.66.
#[inline(always)]
fn angle<R: Real>(y: R, x: R) -> R {
    const P: [f64; 5] = [
        -0.875_060_860_003_190_4,
        -16.157_537_187_333_652,
        -75.008_557_923_147_05,
        -122.886_668_449_013_61,
        -64.850_219_049_420_25,
    ];
    const Q: [f64; 6] = [
        1.0,
        24.858_464_901_423_066,
        165.027_009_831_698_85,
        432.881_060_491_290_27,
        485.390_399_635_913_7,
        194.550_657_148_261_4,
    ];
    let (zero, one) = (R::zero(), R::one());
    let (across, along) = (y.abs(), x.abs());
    let is_steep = along.lt(across);
    let (least, most) = (R::select(is_steep, along, across), R::select(is_steep, across, along));
    let is_there = most.gt(zero);
    let is_wide = least.gt(most.scale(0.66));
    let numerator = R::select(is_wide, least - most, least);
    let denominator = R::select(is_wide, least + most, R::select(is_there, most, one));
    let t = numerator / denominator;
    let z = t * t;
    let (mut p, mut q) = (R::splat(P[0]), R::splat(Q[0]));
    for k in 1..5 {
        p = p.mul_add(z, R::splat(P[k]));
    }
    for k in 1..6 {
        q = q.mul_add(z, R::splat(Q[k]));
    }
    let near = t.mul_add(z * (p / q), t);
    let octant = R::select(is_wide, near + R::splat(FRAC_PI_4), near);
    let quadrant = R::select(is_steep, R::splat(FRAC_PI_2) - octant, octant);
    let half = R::select(x.lt(zero), R::splat(PI) - quadrant, quadrant);
    R::select(y.lt(zero), -half, half)
}

/// A vector of such numbers.
pub(super) type V3<S> = [S; 3];
/// One in a plane.
pub(super) type V2<S> = [S; 2];

/// a · b.
#[inline(always)]
pub(super) fn dot<S: Scalar>(a: V3<S>, b: V3<S>) -> S {
    S::inner(a, b)
}

/// a · b of a constant b.
#[inline(always)]
pub(super) fn dot_constant<S: Scalar>(a: V3<S>, b: V3<S::Lane>) -> S {
    S::weighted(a, b)
}

/// a × b.
#[inline(always)]
pub(super) fn cross<S: Scalar>(a: V3<S>, b: V3<S>) -> V3<S> {
    let part = inlined(
        #[inline(always)]
        |k: usize, l: usize| S::difference([a[k], a[l]], [b[l], b[k]]),
    );
    [part(1, 2), part(2, 0), part(0, 1)]
}

/// a × b of a constant b.
#[inline(always)]
pub(super) fn cross_constant<S: Scalar>(a: V3<S>, b: V3<S::Lane>) -> V3<S> {
    let part = inlined(
        #[inline(always)]
        |k: usize, l: usize| S::weighted2([a[k], a[l]], [b[l], -b[k]]),
    );
    [part(1, 2), part(2, 0), part(0, 1)]
}

/// a − b.
#[inline(always)]
pub(super) fn sub<S: Scalar>(a: V3<S>, b: V3<S>) -> V3<S> {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

/// s a + b.
#[inline(always)]
pub(super) fn axpy<S: Scalar>(s: S, a: V3<S>, b: V3<S>) -> V3<S> {
    [s.fused(a[0], b[0]), s.fused(a[1], b[1]), s.fused(a[2], b[2])]
}

/// s a.
#[inline(always)]
pub(super) fn scale<S: Scalar>(s: S, a: V3<S>) -> V3<S> {
    [s * a[0], s * a[1], s * a[2]]
}

/// s a of a constant s.
#[inline(always)]
pub(super) fn times<S: Scalar>(s: S::Lane, a: V3<S>) -> V3<S> {
    [a[0].times(s), a[1].times(s), a[2].times(s)]
}

/// Component by component `yes` where the mask is set, else `no`.
#[inline(always)]
pub(super) fn choose<S: Scalar>(mask: <S::Lane as Real>::Mask, yes: V3<S>, no: V3<S>) -> V3<S> {
    [S::choose(mask, yes[0], no[0]), S::choose(mask, yes[1], no[1]), S::choose(mask, yes[2], no[2])]
}

/// Their values.
#[inline(always)]
pub(super) fn values<S: Scalar>(a: V3<S>) -> V3<S::Lane> {
    [a[0].value(), a[1].value(), a[2].value()]
}

/// a · b in the plane.
#[inline(always)]
pub(super) fn dot2<S: Scalar>(a: V2<S>, b: V2<S>) -> S {
    S::inner2(a, b)
}

/// The third component of a × b.
#[inline(always)]
pub(super) fn cross2<S: Scalar>(a: V2<S>, b: V2<S>) -> S {
    S::difference(a, [b[1], b[0]])
}

/// a − b in the plane.
#[inline(always)]
pub(super) fn sub2<S: Scalar>(a: V2<S>, b: V2<S>) -> V2<S> {
    [a[0] - b[0], a[1] - b[1]]
}

#[cfg(test)]
mod tests {
    use super::Scalar;
    use crate::math::lane::{Packed, Real, Single};

    /// All around, and where the formula changes.
    #[test]
    fn angles_are_the_librarys() {
        type Number = Single<f64, true>;
        let steps = (-400..=400).map(|k| f64::from(k) / 97.0);
        let all: Vec<f64> = steps.chain([0.66, 1.0, -1.0, 1e-300, -1e-12, 1e12]).collect();
        for &y in &all {
            for &x in &all {
                let found = Number::splat(y).angle(Number::splat(x)).get(0);
                assert!((found - y.atan2(x)).abs() <= 2.0 * f64::EPSILON * y.atan2(x).abs().max(1e-300), "{y} {x}");
            }
        }
        assert_eq!(Number::splat(0.0).angle(Number::splat(0.0)).get(0), 0.0);
    }
}
