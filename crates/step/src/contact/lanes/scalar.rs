//! Numbers for automatic differentiation. A formula is written once over [`Scalar`]. It is computed on plain lanes, or
//! on numbers with a [`Tape`](super::tape::Tape), which then gives tangents and adjoints.
//!
//! The operations are the same for all inputs: where values decide, both ways are computed and one is selected. A way
//! that is not taken must be finite nevertheless, as its derivatives are multiplied by zero.

use std::ops::{Add, Div, Mul, Neg, Sub};

use fingertip_lanes::lane::{Real, inlined};

/// A number of a formula: a plain lane, or a lane whose derivatives are recorded.
pub(super) trait Scalar:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self>
{
    /// The plain lanes that this number computes in.
    type Lane: Real;

    /// The number without its derivatives.
    fn value(self) -> Self::Lane;
    /// A constant for use with this number: it has the given value and no derivative.
    fn constant(self, value: Self::Lane) -> Self;
    /// Records an argument of the next operation: this number, and the partial derivative by it. [`Scalar::result`]
    /// must follow.
    fn by(self, slope: Self::Lane);
    /// The result of the operation whose arguments were just recorded; this number is one of them.
    fn result(self, value: Self::Lane) -> Self;

    /// self · factor, for a constant factor.
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
    /// Dot product a · b of vectors in space.
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
    /// Dot product a · b of vectors in a plane.
    #[inline(always)]
    fn inner2([a0, a1]: V2<Self>, [b0, b1]: V2<Self>) -> Self {
        let (x, y) = ([a0.value(), a1.value()], [b0.value(), b1.value()]);
        a0.by(y[0]);
        a1.by(y[1]);
        b0.by(x[0]);
        b1.by(x[1]);
        a0.result(x[0].mul_add(y[0], x[1] * y[1]))
    }
    /// Dot product a · w with a constant vector w.
    #[inline(always)]
    fn weighted([a0, a1, a2]: V3<Self>, w: V3<Self::Lane>) -> Self {
        a0.by(w[0]);
        a1.by(w[1]);
        a2.by(w[2]);
        a0.result(a0.value().mul_add(w[0], a1.value().mul_add(w[1], a2.value() * w[2])))
    }
    /// Dot product a · w with a constant vector w in a plane.
    #[inline(always)]
    fn weighted2([a0, a1]: V2<Self>, w: V2<Self::Lane>) -> Self {
        a0.by(w[0]);
        a1.by(w[1]);
        a0.result(a0.value().mul_add(w[0], a1.value() * w[1]))
    }
    /// The difference of products a₀ b₀ − a₁ b₁.
    #[inline(always)]
    fn difference([a0, a1]: [Self; 2], [b0, b1]: [Self; 2]) -> Self {
        let (x, y) = ([a0.value(), a1.value()], [b0.value(), b1.value()]);
        a0.by(y[0]);
        b0.by(x[0]);
        a1.by(-y[1]);
        b1.by(-x[1]);
        a0.result(x[0].mul_add(y[0], -(x[1] * y[1])))
    }
    /// The square root of a positive number.
    #[inline(always)]
    fn root(self) -> Self {
        let root = self.value().sqrt();
        self.by(Self::Lane::splat(0.5) / root);
        self.result(root)
    }
    /// `yes` in worlds where the mask is set, `no` in the others.
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

/// The origin of a number: where it stands on a tape, and how its operation is recorded there.
pub(super) trait Origin<R: Real>: Copy {
    /// Records an argument and the partial derivative by it, see [`Scalar::by`].
    fn by(self, slope: R);
    /// The origin of the result of the operation just recorded, see [`Scalar::result`].
    fn result(self) -> Self;
    /// The origin of a constant.
    fn constant(self) -> Self;
}

/// A number with its origin on a tape.
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

/// A vector in space.
pub(super) type V3<S> = [S; 3];
/// A vector in a plane.
pub(super) type V2<S> = [S; 2];

/// Dot product a · b.
#[inline(always)]
pub(super) fn dot<S: Scalar>(a: V3<S>, b: V3<S>) -> S {
    S::inner(a, b)
}

/// Dot product a · b with a constant vector b.
#[inline(always)]
pub(super) fn dot_constant<S: Scalar>(a: V3<S>, b: V3<S::Lane>) -> S {
    S::weighted(a, b)
}

/// Cross product a × b.
#[inline(always)]
pub(super) fn cross<S: Scalar>(a: V3<S>, b: V3<S>) -> V3<S> {
    let part = inlined(
        #[inline(always)]
        |k: usize, l: usize| S::difference([a[k], a[l]], [b[l], b[k]]),
    );
    [part(1, 2), part(2, 0), part(0, 1)]
}

/// Vector difference a − b.
#[inline(always)]
pub(super) fn sub<S: Scalar>(a: V3<S>, b: V3<S>) -> V3<S> {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

/// Scaled sum of vectors s a + b.
#[inline(always)]
pub(super) fn axpy<S: Scalar>(s: S, a: V3<S>, b: V3<S>) -> V3<S> {
    [s.fused(a[0], b[0]), s.fused(a[1], b[1]), s.fused(a[2], b[2])]
}

/// Scaled vector s a.
#[inline(always)]
pub(super) fn scale<S: Scalar>(s: S, a: V3<S>) -> V3<S> {
    [s * a[0], s * a[1], s * a[2]]
}

/// Scaled vector s a, for a constant s.
#[inline(always)]
pub(super) fn times<S: Scalar>(s: S::Lane, a: V3<S>) -> V3<S> {
    [a[0].times(s), a[1].times(s), a[2].times(s)]
}

/// Weighted sum of vectors Σ w_k a_k, for constant weights w.
#[inline(always)]
pub(super) fn combined<S: Scalar>(weights: V3<S::Lane>, axes: &[V3<S>; 3]) -> V3<S> {
    let component = inlined(
        #[inline(always)]
        |i: usize| S::weighted([axes[0][i], axes[1][i], axes[2][i]], weights),
    );
    [component(0), component(1), component(2)]
}

/// The vector `yes` in worlds where the mask is set, `no` in the others.
#[inline(always)]
pub(super) fn choose<S: Scalar>(mask: <S::Lane as Real>::Mask, yes: V3<S>, no: V3<S>) -> V3<S> {
    [S::choose(mask, yes[0], no[0]), S::choose(mask, yes[1], no[1]), S::choose(mask, yes[2], no[2])]
}

/// The vector without its derivatives.
#[inline(always)]
pub(super) fn values<S: Scalar>(a: V3<S>) -> V3<S::Lane> {
    [a[0].value(), a[1].value(), a[2].value()]
}
