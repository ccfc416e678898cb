//! Scalar numbers, `f32` and `f64`, that lanes are made of.

use std::ops::{Add, Div, Mul, Neg, Sub};

use super::Precision;

/// A number of single or double precision, with the standard library's functions.
pub trait Number:
    Copy
    + Send
    + Sync
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + std::fmt::Debug
    + 'static
{
    /// Single or double precision.
    const PRECISION: Precision;
    /// The number of this type that is nearest to `value`.
    fn of(value: f64) -> Self;
    /// The number in double precision.
    fn value(self) -> f64;
    /// Multiply-add `self · a + b`, rounded once.
    fn fused(self, a: Self, b: Self) -> Self;
    /// Square root.
    fn sqrt(self) -> Self;
    /// Sine and cosine.
    fn sin_cos(self) -> (Self, Self);
    /// Natural logarithm.
    fn ln(self) -> Self;
    /// The angle of the point (x, self) from the x axis, from −π to π.
    fn atan2(self, x: Self) -> Self;
    /// Absolute value.
    fn abs(self) -> Self;
}

macro_rules! number {
    ($type:ident, $precision:ident) => {
        impl Number for $type {
            const PRECISION: Precision = Precision::$precision;

            #[inline(always)]
            #[allow(clippy::cast_possible_truncation, reason = "that is what single precision is")]
            fn of(value: f64) -> Self {
                value as $type
            }
            #[inline(always)]
            fn value(self) -> f64 {
                f64::from(self)
            }
            #[inline(always)]
            fn fused(self, a: Self, b: Self) -> Self {
                self.mul_add(a, b)
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                $type::sqrt(self)
            }
            #[inline(always)]
            fn sin_cos(self) -> (Self, Self) {
                $type::sin_cos(self)
            }
            #[inline(always)]
            fn ln(self) -> Self {
                $type::ln(self)
            }
            #[inline(always)]
            fn atan2(self, x: Self) -> Self {
                $type::atan2(self, x)
            }
            #[inline(always)]
            fn abs(self) -> Self {
                $type::abs(self)
            }
        }
    };
}

number!(f64, Double);
number!(f32, Single);
