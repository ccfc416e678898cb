//! Lanes that fill one SIMD register of x86-64: four doubles with AVX2, eight with AVX-512, twice as many singles.
//!
//! Arithmetic is written as processor intrinsics. If it is left to the compiler, loops over the numbers of a lane are
//! vectorised only in parts, and give the compiler four to eight times as much code to read.

use std::arch::x86_64::*;
use std::mem::transmute;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

use super::{Flags, Mask, Number, Packed, Real, State, trigonometry};

/// A lane of four doubles in an AVX2 register.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct Four(__m256d);

/// The mask of [`Four`]: a register in which all bits of a number are set, or none.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct FourMask(__m256d);

/// A lane of eight doubles in an AVX-512 register.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct Eight(__m512d);

/// The mask of [`Eight`]: one bit per world.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct EightMask(__mmask8);

/// A lane of eight singles in an AVX2 register.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct EightF32(__m256);

/// The mask of [`EightF32`]: a register in which all bits of a number are set, or none.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct EightF32Mask(__m256);

/// A lane of sixteen singles in an AVX-512 register.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct SixteenF32(__m512);

/// The mask of [`SixteenF32`]: one bit per world.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct SixteenF32Mask(__mmask16);

/// Implements a lane type, given its instructions as expressions in x and y (and z, mask).
macro_rules! register {
    (
        $Lane:ident, $Mask:ident, $features:literal, [$number:ty; $width:literal], |$x:ident, $y:ident, $z:ident| {
            splat: $splat:path, add: $add:path, sub: $sub:path, mul: $mul:path, div: $div:path, fma: $fma:path,
            sqrt: $sqrt:path, min: $min:path, max: $max:path, neg: $neg:expr, abs: $abs:expr, lt: $lt:expr,
            select: $select:expr, sin_cos: $sin_cos:expr,
        }
    ) => {
        // SAFETY, here and below: `Group::run` hands kernels these lanes inside functions that are compiled for the
        // instructions, after it was found that the processor has them; nothing else makes such a lane.
        super::arithmetic!([], $Lane, |$x, $y| {
            add: $Lane(unsafe { $add($x.0, $y.0) }),
            sub: $Lane(unsafe { $sub($x.0, $y.0) }),
            mul: $Lane(unsafe { $mul($x.0, $y.0) }),
            div: $Lane(unsafe { $div($x.0, $y.0) }),
            neg: $Lane(unsafe { $neg }),
        });

        impl $Lane {
            #[inline(always)]
            fn to_array(self) -> [$number; $width] {
                // SAFETY: a register holds nothing but its numbers.
                unsafe { transmute(self) }
            }

            #[inline(always)]
            fn from_array(numbers: [$number; $width]) -> Self {
                // SAFETY: as above.
                unsafe { transmute(numbers) }
            }
        }

        // SAFETY: a register holds nothing but its numbers, in their order.
        unsafe impl Packed for $Lane {
            const WIDTH: usize = $width;

            #[inline(always)]
            fn get(self, i: usize) -> f64 {
                self.to_array()[i].value()
            }
            #[inline(always)]
            fn set(&mut self, i: usize, value: f64) {
                let mut numbers = self.to_array();
                numbers[i] = Number::of(value);
                *self = Self::from_array(numbers);
            }
        }

        impl Real for $Lane {
            type Mask = $Mask;
            type Number = $number;

            #[inline(always)]
            fn splat(value: f64) -> Self {
                Self(unsafe { $splat(Number::of(value)) })
            }
            #[inline(always)]
            fn mul_add(self, a: Self, b: Self) -> Self {
                Self(unsafe { $fma(self.0, a.0, b.0) })
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                Self(unsafe { $sqrt(self.0) })
            }
            #[inline(always)]
            fn sin_cos(self) -> (Self, Self) {
                let $x = self;
                $sin_cos
            }
            #[inline(always)]
            fn library_sin_cos(self) -> (Self, Self) {
                let (mut sin, mut cos) = (self.to_array(), self.to_array());
                for i in 0..$width {
                    (sin[i], cos[i]) = sin[i].sin_cos();
                }
                (Self::from_array(sin), Self::from_array(cos))
            }
            #[inline(always)]
            fn ln(self) -> Self {
                let mut numbers = self.to_array();
                for x in &mut numbers {
                    *x = x.ln();
                }
                Self::from_array(numbers)
            }
            #[inline(always)]
            fn atan2(self, x: Self) -> Self {
                let (mut numbers, x) = (self.to_array(), x.to_array());
                for i in 0..$width {
                    numbers[i] = numbers[i].atan2(x[i]);
                }
                Self::from_array(numbers)
            }
            #[inline(always)]
            fn abs(self) -> Self {
                let $x = self;
                Self(unsafe { $abs })
            }
            #[inline(always)]
            fn min(self, other: Self) -> Self {
                Self(unsafe { $min(self.0, other.0) })
            }
            #[inline(always)]
            fn max(self, other: Self) -> Self {
                Self(unsafe { $max(self.0, other.0) })
            }
            #[inline(always)]
            fn lt(self, other: Self) -> $Mask {
                let ($x, $y) = (self, other);
                $Mask(unsafe { $lt })
            }
            #[inline(always)]
            fn select(mask: $Mask, yes: Self, no: Self) -> Self {
                let ($x, $y, $z) = (mask, yes, no);
                Self(unsafe { $select })
            }
            super::state::branches!($Mask);

            #[inline(always)]
            fn call<T>(function: impl FnOnce() -> T) -> T {
                #[inline(never)]
                #[target_feature(enable = $features)]
                fn compiled<T>(function: impl FnOnce() -> T) -> T {
                    function()
                }
                unsafe { compiled(function) }
            }
        }
    };
}

register!(Four, FourMask, "avx2,fma", [f64; 4], |x, y, z| {
    splat: _mm256_set1_pd, add: _mm256_add_pd, sub: _mm256_sub_pd, mul: _mm256_mul_pd, div: _mm256_div_pd,
    fma: _mm256_fmadd_pd, sqrt: _mm256_sqrt_pd, min: _mm256_min_pd, max: _mm256_max_pd,
    neg: _mm256_xor_pd(x.0, _mm256_set1_pd(-0.0)),
    abs: _mm256_andnot_pd(_mm256_set1_pd(-0.0), x.0),
    lt: _mm256_cmp_pd::<_CMP_LT_OQ>(x.0, y.0),
    select: _mm256_blendv_pd(z.0, y.0, x.0),
    sin_cos: trigonometry::sin_cos(x),
});

register!(Eight, EightMask, "avx2,fma,avx512f,avx512dq,avx512vl", [f64; 8], |x, y, z| {
    splat: _mm512_set1_pd, add: _mm512_add_pd, sub: _mm512_sub_pd, mul: _mm512_mul_pd, div: _mm512_div_pd,
    fma: _mm512_fmadd_pd, sqrt: _mm512_sqrt_pd, min: _mm512_min_pd, max: _mm512_max_pd,
    neg: _mm512_xor_pd(x.0, _mm512_set1_pd(-0.0)),
    abs: _mm512_abs_pd(x.0),
    lt: _mm512_cmp_pd_mask::<_CMP_LT_OQ>(x.0, y.0),
    select: _mm512_mask_blend_pd(x.0, z.0, y.0),
    sin_cos: trigonometry::sin_cos(x),
});

register!(EightF32, EightF32Mask, "avx2,fma", [f32; 8], |x, y, z| {
    splat: _mm256_set1_ps, add: _mm256_add_ps, sub: _mm256_sub_ps, mul: _mm256_mul_ps, div: _mm256_div_ps,
    fma: _mm256_fmadd_ps, sqrt: _mm256_sqrt_ps, min: _mm256_min_ps, max: _mm256_max_ps,
    neg: _mm256_xor_ps(x.0, _mm256_set1_ps(-0.0)),
    abs: _mm256_andnot_ps(_mm256_set1_ps(-0.0), x.0),
    lt: _mm256_cmp_ps::<_CMP_LT_OQ>(x.0, y.0),
    select: _mm256_blendv_ps(z.0, y.0, x.0),
    sin_cos: x.sin_cos_by_halves(),
});

register!(SixteenF32, SixteenF32Mask, "avx2,fma,avx512f,avx512dq,avx512vl", [f32; 16], |x, y, z| {
    splat: _mm512_set1_ps, add: _mm512_add_ps, sub: _mm512_sub_ps, mul: _mm512_mul_ps, div: _mm512_div_ps,
    fma: _mm512_fmadd_ps, sqrt: _mm512_sqrt_ps, min: _mm512_min_ps, max: _mm512_max_ps,
    neg: _mm512_xor_ps(x.0, _mm512_set1_ps(-0.0)),
    abs: _mm512_abs_ps(x.0),
    lt: _mm512_cmp_ps_mask::<_CMP_LT_OQ>(x.0, y.0),
    select: _mm512_mask_blend_ps(x.0, z.0, y.0),
    sin_cos: x.sin_cos_by_halves(),
});

/// Implements the conversion of a register of singles into two registers of doubles, and back.
macro_rules! halves {
    ($Lane:ident, $Half:ident, |$x:ident, $low:ident, $high:ident| {
        low: $to_low:expr, high: $to_high:expr, joined: $joined:expr,
    }) => {
        impl $Lane {
            #[inline(always)]
            fn halves(self) -> [$Half; 2] {
                let $x = self.0;
                // SAFETY: see `register`.
                unsafe { [$Half($to_low), $Half($to_high)] }
            }

            #[inline(always)]
            fn joined($Half($low): $Half, $Half($high): $Half) -> Self {
                // SAFETY: see `register`.
                Self(unsafe { $joined })
            }

            /// Sine and cosine by way of double precision, as single precision has too few digits for reducing the
            /// angle to a quadrant.
            #[inline(always)]
            fn sin_cos_by_halves(self) -> (Self, Self) {
                let [low, high] = self.halves();
                let ((low_sin, low_cos), (high_sin, high_cos)) =
                    (trigonometry::sin_cos(low), trigonometry::sin_cos(high));
                (Self::joined(low_sin, high_sin), Self::joined(low_cos, high_cos))
            }
        }
    };
}

halves!(EightF32, Four, |x, low, high| {
    low: _mm256_cvtps_pd(_mm256_castps256_ps128(x)),
    high: _mm256_cvtps_pd(_mm256_extractf128_ps::<1>(x)),
    joined: _mm256_set_m128(_mm256_cvtpd_ps(high), _mm256_cvtpd_ps(low)),
});

halves!(SixteenF32, Eight, |x, low, high| {
    low: _mm512_cvtps_pd(_mm512_castps512_ps256(x)),
    high: _mm512_cvtps_pd(_mm512_extractf32x8_ps::<1>(x)),
    joined: _mm512_insertf32x8::<1>(_mm512_castps256_ps512(_mm512_cvtpd_ps(low)), _mm512_cvtpd_ps(high)),
});

/// Implements a mask that is an AVX2 register.
macro_rules! wide_mask {
    ($Mask:ident, [$word:ty; $width:literal], $register:ty, {
        and: $and:path, or: $or:path, xor: $xor:path, movemask: $movemask:path,
    }) => {
        impl Mask for $Mask {
            #[inline(always)]
            fn splat(flag: bool) -> Self {
                // SAFETY: a register holds nothing but its words.
                Self(unsafe { transmute::<[$word; $width], $register>([-<$word>::from(flag); $width]) })
            }
            #[inline(always)]
            fn and(self, other: Self) -> Self {
                Self(unsafe { $and(self.0, other.0) })
            }
            #[inline(always)]
            fn or(self, other: Self) -> Self {
                Self(unsafe { $or(self.0, other.0) })
            }
            #[inline(always)]
            fn not(self) -> Self {
                Self(unsafe { $xor(self.0, Self::splat(true).0) })
            }
        }

        impl Flags for $Mask {
            #[inline(always)]
            fn any(self) -> bool {
                unsafe { $movemask(self.0) != 0 }
            }
            #[inline(always)]
            fn get(self, i: usize) -> bool {
                unsafe { $movemask(self.0) >> i & 1 != 0 }
            }
            #[inline(always)]
            fn set(&mut self, i: usize, flag: bool) {
                // SAFETY: a register holds nothing but its words.
                let mut words: [$word; $width] = unsafe { transmute(self.0) };
                words[i] = -<$word>::from(flag);
                self.0 = unsafe { transmute::<[$word; $width], $register>(words) };
            }
        }
    };
}

wide_mask!(FourMask, [i64; 4], __m256d, {
    and: _mm256_and_pd, or: _mm256_or_pd, xor: _mm256_xor_pd, movemask: _mm256_movemask_pd,
});

wide_mask!(EightF32Mask, [i32; 8], __m256, {
    and: _mm256_and_ps, or: _mm256_or_ps, xor: _mm256_xor_ps, movemask: _mm256_movemask_ps,
});

/// Implements a mask with one bit per number.
macro_rules! bit_mask {
    ($Mask:ident, $bits:ident) => {
        impl Mask for $Mask {
            #[inline(always)]
            fn splat(flag: bool) -> Self {
                Self(if flag { $bits::MAX } else { 0 })
            }
            #[inline(always)]
            fn and(self, other: Self) -> Self {
                Self(self.0 & other.0)
            }
            #[inline(always)]
            fn or(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }
            #[inline(always)]
            fn not(self) -> Self {
                Self(!self.0)
            }
        }

        impl Flags for $Mask {
            #[inline(always)]
            fn any(self) -> bool {
                self.0 != 0
            }
            #[inline(always)]
            fn get(self, i: usize) -> bool {
                self.0 >> i & 1 != 0
            }
            #[inline(always)]
            fn set(&mut self, i: usize, flag: bool) {
                self.0 = self.0 & !(1 << i) | $bits::from(flag) << i;
            }
        }
    };
}

bit_mask!(EightMask, u8);
bit_mask!(SixteenF32Mask, u16);
