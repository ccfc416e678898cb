//! The two implementations of [`Real`]: one number, and a lane of `W`.

use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

use super::{Lane, Mask, Real, trigonometry};

/// `W` double-precision numbers, one per world. `FMA` says whether multiply-adds are fused.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub struct Wide<const W: usize, const FMA: bool>([f64; W]);

/// One double-precision number. `FMA` says whether multiply-adds are fused.
#[derive(Clone, Copy, Debug)]
pub struct Single<const FMA: bool>(f64);

/// `W` flags.
///
/// Stored as 64-bit words, all ones or zero, the form in which SIMD compares and blends have them.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub struct WideMask<const W: usize>([u64; W]);

macro_rules! lanewise {
    ($trait:ident, $method:ident, $assign:tt) => {
        impl<const W: usize, const FMA: bool> $trait for Wide<W, FMA> {
            type Output = Self;
            #[inline(always)]
            fn $method(mut self, other: Self) -> Self {
                for i in 0..W {
                    self.0[i] $assign other.0[i];
                }
                self
            }
        }
        impl<const FMA: bool> $trait for Single<FMA> {
            type Output = Self;
            #[inline(always)]
            fn $method(mut self, other: Self) -> Self {
                self.0 $assign other.0;
                self
            }
        }
    };
}
lanewise!(Add, add, +=);
lanewise!(Sub, sub, -=);
lanewise!(Mul, mul, *=);
lanewise!(Div, div, /=);

macro_rules! common {
    ([$($params:tt)*], $type:ty) => {
        impl<$($params)*> Neg for $type {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                Self::map(self, #[inline(always)] |x| -x)
            }
        }
        impl<$($params)*> AddAssign for $type {
            #[inline(always)]
            fn add_assign(&mut self, other: Self) {
                *self = *self + other;
            }
        }
        impl<$($params)*> SubAssign for $type {
            #[inline(always)]
            fn sub_assign(&mut self, other: Self) {
                *self = *self - other;
            }
        }
    };
}
common!([const W: usize, const FMA: bool], Wide<W, FMA>);
common!([const FMA: bool], Single<FMA>);

impl<const W: usize, const FMA: bool> Wide<W, FMA> {
    #[inline(always)]
    fn map(mut self, f: impl Fn(f64) -> f64) -> Self {
        for i in 0..W {
            self.0[i] = f(self.0[i]);
        }
        self
    }
}

impl<const FMA: bool> Single<FMA> {
    #[inline(always)]
    fn map(self, f: impl Fn(f64) -> f64) -> Self {
        Self(f(self.0))
    }
}

#[inline(always)]
fn fused<const FMA: bool>(x: f64, a: f64, b: f64) -> f64 {
    if FMA { x.mul_add(a, b) } else { x * a + b }
}

// `f64::min` and `max` promise more for NaN than one instruction gives.
#[inline(always)]
fn smaller(x: f64, y: f64) -> f64 {
    if x < y { x } else { y }
}

#[inline(always)]
fn larger(x: f64, y: f64) -> f64 {
    if x > y { x } else { y }
}

// SAFETY: an array of numbers.
unsafe impl<const W: usize, const FMA: bool> Lane for Wide<W, FMA> {
    const WIDTH: usize = W;

    #[inline(always)]
    fn get(self, i: usize) -> f64 {
        self.0[i]
    }
    #[inline(always)]
    fn set(&mut self, i: usize, value: f64) {
        self.0[i] = value;
    }
}

impl<const W: usize, const FMA: bool> Real for Wide<W, FMA> {
    type Mask = WideMask<W>;

    #[inline(always)]
    fn splat(value: f64) -> Self {
        Self([value; W])
    }
    #[inline(always)]
    fn mul_add(mut self, a: Self, b: Self) -> Self {
        for i in 0..W {
            self.0[i] = fused::<FMA>(self.0[i], a.0[i], b.0[i]);
        }
        self
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        self.map(f64::sqrt)
    }
    #[inline(always)]
    fn sin_cos(self) -> (Self, Self) {
        trigonometry::sin_cos(self)
    }
    #[inline(always)]
    fn ln(self) -> Self {
        self.map(f64::ln)
    }
    #[inline(always)]
    fn atan2(mut self, x: Self) -> Self {
        for i in 0..W {
            self.0[i] = self.0[i].atan2(x.0[i]);
        }
        self
    }
    #[inline(always)]
    fn abs(self) -> Self {
        self.map(f64::abs)
    }
    #[inline(always)]
    fn min(mut self, other: Self) -> Self {
        for i in 0..W {
            self.0[i] = smaller(self.0[i], other.0[i]);
        }
        self
    }
    #[inline(always)]
    fn max(mut self, other: Self) -> Self {
        for i in 0..W {
            self.0[i] = larger(self.0[i], other.0[i]);
        }
        self
    }
    #[inline(always)]
    fn lt(self, other: Self) -> WideMask<W> {
        let mut mask = WideMask([0; W]);
        for i in 0..W {
            mask.0[i] = if self.0[i] < other.0[i] { u64::MAX } else { 0 };
        }
        mask
    }
    #[inline(always)]
    fn select(mask: WideMask<W>, yes: Self, mut no: Self) -> Self {
        for i in 0..W {
            no.0[i] = if mask.0[i] != 0 { yes.0[i] } else { no.0[i] };
        }
        no
    }
}

// SAFETY: one number.
unsafe impl<const FMA: bool> Lane for Single<FMA> {
    const WIDTH: usize = 1;

    #[inline(always)]
    fn get(self, _: usize) -> f64 {
        self.0
    }
    #[inline(always)]
    fn set(&mut self, _: usize, value: f64) {
        self.0 = value;
    }
}

impl<const FMA: bool> Real for Single<FMA> {
    type Mask = bool;

    #[inline(always)]
    fn splat(value: f64) -> Self {
        Self(value)
    }
    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        Self(fused::<FMA>(self.0, a.0, b.0))
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        self.map(f64::sqrt)
    }
    #[inline(always)]
    fn sin_cos(self) -> (Self, Self) {
        trigonometry::sin_cos(self)
    }
    #[inline(always)]
    fn ln(self) -> Self {
        self.map(f64::ln)
    }
    #[inline(always)]
    fn atan2(self, x: Self) -> Self {
        Self(self.0.atan2(x.0))
    }
    #[inline(always)]
    fn abs(self) -> Self {
        self.map(f64::abs)
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        Self(smaller(self.0, other.0))
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        Self(larger(self.0, other.0))
    }
    #[inline(always)]
    fn lt(self, other: Self) -> bool {
        self.0 < other.0
    }
    #[inline(always)]
    fn select(mask: bool, yes: Self, no: Self) -> Self {
        if mask { yes } else { no }
    }
}

impl Mask for bool {
    #[inline(always)]
    fn splat(flag: bool) -> Self {
        flag
    }
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        self & other
    }
    #[inline(always)]
    fn or(self, other: Self) -> Self {
        self | other
    }
    #[inline(always)]
    fn not(self) -> Self {
        !self
    }
    #[inline(always)]
    fn any(self) -> bool {
        self
    }
    #[inline(always)]
    fn get(self, _: usize) -> bool {
        self
    }
    #[inline(always)]
    fn set(&mut self, _: usize, flag: bool) {
        *self = flag;
    }
}

impl<const W: usize> Mask for WideMask<W> {
    #[inline(always)]
    fn splat(flag: bool) -> Self {
        Self([if flag { u64::MAX } else { 0 }; W])
    }
    #[inline(always)]
    fn and(mut self, other: Self) -> Self {
        for i in 0..W {
            self.0[i] &= other.0[i];
        }
        self
    }
    #[inline(always)]
    fn or(mut self, other: Self) -> Self {
        for i in 0..W {
            self.0[i] |= other.0[i];
        }
        self
    }
    #[inline(always)]
    fn not(mut self) -> Self {
        for i in 0..W {
            self.0[i] = !self.0[i];
        }
        self
    }
    #[inline(always)]
    fn any(self) -> bool {
        let mut any = 0;
        for i in 0..W {
            any |= self.0[i];
        }
        any != 0
    }
    #[inline(always)]
    fn get(self, i: usize) -> bool {
        self.0[i] != 0
    }
    #[inline(always)]
    fn set(&mut self, i: usize, flag: bool) {
        self.0[i] = if flag { u64::MAX } else { 0 };
    }
}
