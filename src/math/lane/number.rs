//! The numbers of lanes.

use std::ops::{Add, Div, Mul, Neg, Sub};

use crate::math::tensor::no_length;

use candle_core::DType;

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
    /// Which of the two it is.
    const PRECISION: Precision;
    /// The smallest positive number of full precision.
    const TINY: f64;
    /// See [`no_length`].
    const NO_LENGTH: f64;
    /// The distance from 1 to the next number.
    const EPSILON: f64;
    /// Times this, a number out of the range that the kernels compute in, beyond about 1e30, is infinite.
    const OUT_OF_RANGE: f64;
    /// The nearest number.
    fn of(value: f64) -> Self;
    /// The number in double precision.
    fn value(self) -> f64;
    /// `self · a + b`, rounded once.
    fn fused(self, a: Self, b: Self) -> Self;
    /// Square root.
    fn sqrt(self) -> Self;
    /// Sine and cosine.
    fn sin_cos(self) -> (Self, Self);
    /// Natural logarithm.
    fn ln(self) -> Self;
    /// The angle of the point (x, self) from the x axis.
    fn atan2(self, x: Self) -> Self;
    /// Absolute value.
    fn abs(self) -> Self;
}

macro_rules! number {
    ($type:ident, $dtype:ident, $precision:ident, $out_of_range:literal) => {
        impl Number for $type {
            const PRECISION: Precision = Precision::$precision;
            const TINY: f64 = $type::MIN_POSITIVE as f64;
            const NO_LENGTH: f64 = no_length(DType::$dtype);
            const EPSILON: f64 = $type::EPSILON as f64;
            const OUT_OF_RANGE: f64 = $out_of_range;

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

number!(f64, F64, Double, 1e278);
number!(f32, F32, Single, 1e8);
