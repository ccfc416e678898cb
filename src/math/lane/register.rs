//! Lanes that are one register of x86-64: four numbers with AVX2, eight with AVX-512.
//!
//! Arithmetic is written in the processor's own instructions: left to the compiler, loops over a lane's numbers are put
//! together again only in parts, and are four to eight times as much for it to read.

use std::arch::x86_64::{
    __m256d, __m512d, __mmask8, _CMP_LT_OQ, _mm256_add_pd, _mm256_and_pd, _mm256_andnot_pd, _mm256_blendv_pd,
    _mm256_castsi256_pd, _mm256_cmp_pd, _mm256_div_pd, _mm256_fmadd_pd, _mm256_max_pd, _mm256_min_pd,
    _mm256_movemask_pd, _mm256_mul_pd, _mm256_or_pd, _mm256_set1_epi64x, _mm256_set1_pd, _mm256_sqrt_pd, _mm256_sub_pd,
    _mm256_xor_pd, _mm512_abs_pd, _mm512_add_pd, _mm512_cmp_pd_mask, _mm512_div_pd, _mm512_fmadd_pd,
    _mm512_mask_blend_pd, _mm512_max_pd, _mm512_min_pd, _mm512_mul_pd, _mm512_set1_pd, _mm512_sqrt_pd, _mm512_sub_pd,
    _mm512_xor_pd,
};
use std::mem::transmute;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

use super::{Lane, Mask, Real, trigonometry};

/// Four numbers.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(in crate::math) struct Four(__m256d);

/// A mask as comparisons give it: all bits of a number or none.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(in crate::math) struct FourMask(__m256d);

/// Eight numbers.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(in crate::math) struct Eight(__m512d);

/// One bit per number.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(in crate::math) struct EightMask(__mmask8);

/// A lane from its instructions, as expressions in x and y (and z, mask).
macro_rules! register {
    (
        $Lane:ident, $Mask:ident, $width:literal, |$x:ident, $y:ident, $z:ident| {
            splat: $splat:path, add: $add:path, sub: $sub:path, mul: $mul:path, div: $div:path, fma: $fma:path,
            sqrt: $sqrt:path, min: $min:path, max: $max:path, neg: $neg:expr, abs: $abs:expr, lt: $lt:expr,
            select: $select:expr,
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
            fn to_array(self) -> [f64; $width] {
                // SAFETY: a register holds nothing but its numbers.
                unsafe { transmute(self) }
            }

            #[inline(always)]
            fn from_array(numbers: [f64; $width]) -> Self {
                // SAFETY: as above.
                unsafe { transmute(numbers) }
            }
        }

        // SAFETY: a register holds nothing but its numbers, in their order.
        unsafe impl Lane for $Lane {
            const WIDTH: usize = $width;

            #[inline(always)]
            fn get(self, i: usize) -> f64 {
                self.to_array()[i]
            }
            #[inline(always)]
            fn set(&mut self, i: usize, value: f64) {
                let mut numbers = self.to_array();
                numbers[i] = value;
                *self = Self::from_array(numbers);
            }
        }

        impl Real for $Lane {
            type Mask = $Mask;

            #[inline(always)]
            fn splat(value: f64) -> Self {
                Self(unsafe { $splat(value) })
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
                trigonometry::sin_cos(self)
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
        }
    };
}

register!(Four, FourMask, 4, |x, y, z| {
    splat: _mm256_set1_pd, add: _mm256_add_pd, sub: _mm256_sub_pd, mul: _mm256_mul_pd, div: _mm256_div_pd,
    fma: _mm256_fmadd_pd, sqrt: _mm256_sqrt_pd, min: _mm256_min_pd, max: _mm256_max_pd,
    neg: _mm256_xor_pd(x.0, _mm256_set1_pd(-0.0)),
    abs: _mm256_andnot_pd(_mm256_set1_pd(-0.0), x.0),
    lt: _mm256_cmp_pd::<_CMP_LT_OQ>(x.0, y.0),
    select: _mm256_blendv_pd(z.0, y.0, x.0),
});

register!(Eight, EightMask, 8, |x, y, z| {
    splat: _mm512_set1_pd, add: _mm512_add_pd, sub: _mm512_sub_pd, mul: _mm512_mul_pd, div: _mm512_div_pd,
    fma: _mm512_fmadd_pd, sqrt: _mm512_sqrt_pd, min: _mm512_min_pd, max: _mm512_max_pd,
    neg: _mm512_xor_pd(x.0, _mm512_set1_pd(-0.0)),
    abs: _mm512_abs_pd(x.0),
    lt: _mm512_cmp_pd_mask::<_CMP_LT_OQ>(x.0, y.0),
    select: _mm512_mask_blend_pd(x.0, z.0, y.0),
});

impl Mask for FourMask {
    #[inline(always)]
    fn splat(flag: bool) -> Self {
        Self(unsafe { _mm256_castsi256_pd(_mm256_set1_epi64x(-i64::from(flag))) })
    }
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        Self(unsafe { _mm256_and_pd(self.0, other.0) })
    }
    #[inline(always)]
    fn or(self, other: Self) -> Self {
        Self(unsafe { _mm256_or_pd(self.0, other.0) })
    }
    #[inline(always)]
    fn not(self) -> Self {
        Self(unsafe { _mm256_xor_pd(self.0, Self::splat(true).0) })
    }
    #[inline(always)]
    fn any(self) -> bool {
        unsafe { _mm256_movemask_pd(self.0) != 0 }
    }
    #[inline(always)]
    fn get(self, i: usize) -> bool {
        unsafe { _mm256_movemask_pd(self.0) >> i & 1 != 0 }
    }
    #[inline(always)]
    fn set(&mut self, i: usize, flag: bool) {
        // SAFETY: a register holds nothing but its numbers.
        let mut words: [i64; 4] = unsafe { transmute(self.0) };
        words[i] = -i64::from(flag);
        self.0 = unsafe { transmute::<[i64; 4], __m256d>(words) };
    }
}

impl Mask for EightMask {
    #[inline(always)]
    fn splat(flag: bool) -> Self {
        Self(if flag { u8::MAX } else { 0 })
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
        self.0 = self.0 & !(1 << i) | u8::from(flag) << i;
    }
}
