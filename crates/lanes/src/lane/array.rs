//! Lanes as arrays of numbers, for processors whose SIMD registers have no lane type here. The compiler vectorises
//! them.

use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

use super::{Flags, Mask, Number, Packed, Real, State, trigonometry};

/// A lane of `W` numbers in an array, with fused multiply-adds.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(crate) struct Array<N, const W: usize>([N; W]);

/// One flag for each world of an [`Array`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArrayMask<const W: usize>([bool; W]);

impl<N: Number, const W: usize> Array<N, W> {
    /// The lane whose number in world i is f(i).
    #[inline(always)]
    fn each(f: impl Fn(usize) -> N) -> Self {
        let mut numbers = [N::of(0.0); W];
        for i in 0..W {
            numbers[i] = f(i);
        }
        Self(numbers)
    }
}

impl<const W: usize> ArrayMask<W> {
    /// The mask whose flag in world i is f(i).
    #[inline(always)]
    fn each(f: impl Fn(usize) -> bool) -> Self {
        let mut flags = [false; W];
        for i in 0..W {
            flags[i] = f(i);
        }
        Self(flags)
    }
}

impl<N: Number, const W: usize> Array<N, W> {
    /// Rounds a lane of doubles to this lane's precision.
    #[inline(always)]
    fn narrow(wide: Array<f64, W>) -> Self {
        Self::each(
            #[inline(always)]
            |i| N::of(wide.0[i]),
        )
    }
}

super::arithmetic!([N: Number, const W: usize], Array<N, W>, |x, y| {
    add: Array::each(#[inline(always)] |i| x.0[i] + y.0[i]),
    sub: Array::each(#[inline(always)] |i| x.0[i] - y.0[i]),
    mul: Array::each(#[inline(always)] |i| x.0[i] * y.0[i]),
    div: Array::each(#[inline(always)] |i| x.0[i] / y.0[i]),
    neg: Array::each(#[inline(always)] |i| -x.0[i]),
});

// SAFETY: an array of numbers.
unsafe impl<N: Number, const W: usize> Packed for Array<N, W> {
    const WIDTH: usize = W;

    #[inline(always)]
    fn get(self, i: usize) -> f64 {
        self.0[i].value()
    }
    #[inline(always)]
    fn set(&mut self, i: usize, value: f64) {
        self.0[i] = N::of(value);
    }
}

impl<N: Number, const W: usize> Real for Array<N, W> {
    type Mask = ArrayMask<W>;
    type Number = N;

    #[inline(always)]
    fn splat(value: f64) -> Self {
        Self([N::of(value); W])
    }
    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        Self::each(
            #[inline(always)]
            |i| self.0[i].fused(a.0[i], b.0[i]),
        )
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Self::each(
            #[inline(always)]
            |i| self.0[i].sqrt(),
        )
    }
    #[inline(always)]
    fn sin_cos(self) -> (Self, Self) {
        let wide = Array::<f64, W>::each(
            #[inline(always)]
            |i| self.0[i].value(),
        );
        let (s, c) = trigonometry::sin_cos(wide);
        (Self::narrow(s), Self::narrow(c))
    }
    #[inline(always)]
    fn library_sin_cos(self) -> (Self, Self) {
        let (mut sin, mut cos) = (self, self);
        for i in 0..W {
            (sin.0[i], cos.0[i]) = self.0[i].sin_cos();
        }
        (sin, cos)
    }
    #[inline(always)]
    fn ln(self) -> Self {
        Self::each(
            #[inline(always)]
            |i| self.0[i].ln(),
        )
    }
    #[inline(always)]
    fn atan2(self, x: Self) -> Self {
        Self::each(
            #[inline(always)]
            |i| self.0[i].atan2(x.0[i]),
        )
    }
    #[inline(always)]
    fn abs(self) -> Self {
        Self::each(
            #[inline(always)]
            |i| self.0[i].abs(),
        )
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        Self::select(self.lt(other), self, other)
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        Self::select(self.gt(other), self, other)
    }
    #[inline(always)]
    fn lt(self, other: Self) -> ArrayMask<W> {
        ArrayMask::each(
            #[inline(always)]
            |i| self.0[i] < other.0[i],
        )
    }
    #[inline(always)]
    fn select(mask: ArrayMask<W>, yes: Self, no: Self) -> Self {
        Self::each(
            #[inline(always)]
            |i| if mask.0[i] { yes.0[i] } else { no.0[i] },
        )
    }
    super::state::branches!(ArrayMask<W>);

    #[inline(always)]
    fn call<T>(function: impl FnOnce() -> T) -> T {
        // SAFETY: as for `Single`.
        unsafe { super::call_fused(function) }
    }
}

impl<const W: usize> Mask for ArrayMask<W> {
    #[inline(always)]
    fn splat(flag: bool) -> Self {
        Self([flag; W])
    }
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        Self::each(
            #[inline(always)]
            |i| self.0[i] & other.0[i],
        )
    }
    #[inline(always)]
    fn or(self, other: Self) -> Self {
        Self::each(
            #[inline(always)]
            |i| self.0[i] | other.0[i],
        )
    }
    #[inline(always)]
    fn not(self) -> Self {
        Self::each(
            #[inline(always)]
            |i| !self.0[i],
        )
    }
}

impl<const W: usize> Flags for ArrayMask<W> {
    #[inline(always)]
    fn any(self) -> bool {
        let mut any = false;
        for i in 0..W {
            any |= self.0[i];
        }
        any
    }
    #[inline(always)]
    fn get(self, i: usize) -> bool {
        self.0[i]
    }
    #[inline(always)]
    fn set(&mut self, i: usize, flag: bool) {
        self.0[i] = flag;
    }
}
