//! A single number as a lane of one world.

use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

use super::{Flags, Mask, Number, Packed, Real, State, trigonometry};

/// A lane of one world. `FMA` says whether multiply-adds are fused.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Single<N, const FMA: bool>(N);

super::arithmetic!([N: Number, const FMA: bool], Single<N, FMA>, |x, y| {
    add: Single(x.0 + y.0),
    sub: Single(x.0 - y.0),
    mul: Single(x.0 * y.0),
    div: Single(x.0 / y.0),
    neg: Single(-x.0),
});

// SAFETY: one number.
unsafe impl<N: Number, const FMA: bool> Packed for Single<N, FMA> {
    const WIDTH: usize = 1;

    #[inline(always)]
    fn get(self, _: usize) -> f64 {
        self.0.value()
    }
    #[inline(always)]
    fn set(&mut self, _: usize, value: f64) {
        self.0 = N::of(value);
    }
}

impl<N: Number, const FMA: bool> Real for Single<N, FMA> {
    type Mask = bool;
    type Number = N;
    const FAST: bool = FMA;

    #[inline(always)]
    fn splat(value: f64) -> Self {
        Self(N::of(value))
    }
    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        Self(if FMA { self.0.fused(a.0, b.0) } else { self.0 * a.0 + b.0 })
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Self(self.0.sqrt())
    }
    #[inline(always)]
    fn sin_cos(self) -> (Self, Self) {
        let (s, c) = trigonometry::sin_cos(Single::<f64, FMA>(self.0.value()));
        (Self(N::of(s.0)), Self(N::of(c.0)))
    }
    #[inline(always)]
    fn library_sin_cos(self) -> (Self, Self) {
        let (sin, cos) = self.0.sin_cos();
        (Self(sin), Self(cos))
    }
    #[inline(always)]
    fn ln(self) -> Self {
        Self(self.0.ln())
    }
    #[inline(always)]
    fn atan2(self, x: Self) -> Self {
        Self(self.0.atan2(x.0))
    }
    #[inline(always)]
    fn abs(self) -> Self {
        Self(self.0.abs())
    }
    // `f64::min` and `max` promise more for NaN than one instruction gives.
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        if self.0 < other.0 { self } else { other }
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        if self.0 > other.0 { self } else { other }
    }
    #[inline(always)]
    fn lt(self, other: Self) -> bool {
        self.0 < other.0
    }
    #[inline(always)]
    fn select(mask: bool, yes: Self, no: Self) -> Self {
        if mask { yes } else { no }
    }
    super::state::branches!(bool);

    #[inline(always)]
    fn call<T>(function: impl FnOnce() -> T) -> T {
        #[inline(never)]
        fn separate<T>(function: impl FnOnce() -> T) -> T {
            function()
        }
        if FMA {
            // SAFETY: `Group::run` hands kernels such numbers inside functions that are compiled for the instructions,
            // after it was found that the processor has them.
            unsafe { super::call_fused(function) }
        } else {
            separate(function)
        }
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
}

impl Flags for bool {
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
