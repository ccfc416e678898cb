//! Dual numbers for forward-mode differentiation: the same code gives values and their exact
//! derivatives.

use std::fmt::Debug;
use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

use nalgebra::Vector3;

/// A plain number, or a dual number with its derivatives. All operations are inlined; as calls they would mostly move
/// numbers around. Vectors use the functions below, because nalgebra's are not always inlined.
pub(crate) trait Number:
    Copy
    + Debug
    + PartialEq
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + 'static
{
    /// How many derivatives a number carries: none or first ones.
    const ORDER: usize;
    /// A number with this value, whose derivatives are zero.
    fn constant(value: f64) -> Self;
    /// The value without the derivatives.
    fn value(self) -> f64;
    /// Square root. At zero, the derivatives are zero.
    fn sqrt(self) -> Self;
}

impl Number for f64 {
    const ORDER: usize = 0;

    #[inline(always)]
    fn constant(value: f64) -> Self {
        value
    }

    #[inline(always)]
    fn value(self) -> f64 {
        self
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        self.sqrt()
    }
}

/// A dual number: a value with N derivatives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Dual<const N: usize> {
    pub(crate) value: f64,
    pub(crate) rates: [f64; N],
}

impl<const N: usize> Dual<N> {
    /// The chain rule for f(x, y), given its value, ∂f/∂x and ∂f/∂y.
    #[inline(always)]
    fn chain(value: f64, (x, by_x): (&Self, f64), (y, by_y): (&Self, f64)) -> Self {
        let mut rates = [0.0; N];
        for k in 0..N {
            rates[k] = x.rates[k] * by_x + y.rates[k] * by_y;
        }
        Self { value, rates }
    }

    /// The chain rule for f(self), given its value and its derivative.
    #[inline(always)]
    fn scaled(&self, value: f64, slope: f64) -> Self {
        let mut rates = [0.0; N];
        for k in 0..N {
            rates[k] = self.rates[k] * slope;
        }
        Self { value, rates }
    }
}

impl<const N: usize> Number for Dual<N> {
    const ORDER: usize = 1;

    #[inline(always)]
    fn constant(value: f64) -> Self {
        Self { value, rates: [0.0; N] }
    }

    #[inline(always)]
    fn value(self) -> f64 {
        self.value
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        let root = self.value.sqrt();
        self.scaled(root, if root > 0.0 { 0.5 / root } else { 0.0 })
    }
}

impl<const N: usize> Add for Dual<N> {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self::chain(self.value + other.value, (&self, 1.0), (&other, 1.0))
    }
}

impl<const N: usize> Sub for Dual<N> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self::chain(self.value - other.value, (&self, 1.0), (&other, -1.0))
    }
}

impl<const N: usize> Mul for Dual<N> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        Self::chain(self.value * other.value, (&self, other.value), (&other, self.value))
    }
}

impl<const N: usize> Div for Dual<N> {
    type Output = Self;
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        let (value, inverse) = (self.value / other.value, 1.0 / other.value);
        Self::chain(value, (&self, inverse), (&other, -value * inverse))
    }
}

impl<const N: usize> Neg for Dual<N> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        self.scaled(-self.value, -1.0)
    }
}

impl<const N: usize> AddAssign for Dual<N> {
    #[inline(always)]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl<const N: usize> SubAssign for Dual<N> {
    #[inline(always)]
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl<const N: usize> MulAssign for Dual<N> {
    #[inline(always)]
    fn mul_assign(&mut self, other: Self) {
        *self = *self * other;
    }
}

/// Dot product a · b.
#[inline(always)]
pub(crate) fn dot<S: Number>(a: &Vector3<S>, b: &Vector3<S>) -> S {
    a.x * b.x + a.y * b.y + a.z * b.z
}

/// Cross product a × b.
#[inline(always)]
pub(crate) fn cross<S: Number>(a: &Vector3<S>, b: &Vector3<S>) -> Vector3<S> {
    Vector3::new(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x)
}

/// Vector difference a − b.
#[inline(always)]
pub(crate) fn sub<S: Number>(a: &Vector3<S>, b: &Vector3<S>) -> Vector3<S> {
    Vector3::new(a.x - b.x, a.y - b.y, a.z - b.z)
}

/// Vector sum a + s b.
#[inline(always)]
pub(crate) fn along<S: Number>(a: &Vector3<S>, b: &Vector3<S>, s: S) -> Vector3<S> {
    Vector3::new(a.x + b.x * s, a.y + b.y * s, a.z + b.z * s)
}

/// The unit vector along v.
#[inline(always)]
pub(crate) fn unit<S: Number>(v: &Vector3<S>) -> Vector3<S> {
    let inverse = S::constant(1.0) / dot(v, v).sqrt();
    Vector3::new(v.x * inverse, v.y * inverse, v.z * inverse)
}

/// The values of a vector, without the derivatives.
#[inline(always)]
pub(crate) fn values<S: Number>(v: &Vector3<S>) -> Vector3<f64> {
    Vector3::new(v.x.value(), v.y.value(), v.z.value())
}

/// A vector with these values, whose derivatives are zero.
#[inline(always)]
pub(crate) fn constant<S: Number>(v: &Vector3<f64>) -> Vector3<S> {
    Vector3::new(S::constant(v.x), S::constant(v.y), S::constant(v.z))
}
