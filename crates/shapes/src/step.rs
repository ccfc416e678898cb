//! Smooth steps, by which weights of contacts come and go.

use crate::number::Number;

/// A smooth step F from 0 at −1 and below to 1 at 1 and above. It is twice continuously differentiable, and F(x) +
/// F(−x) = 1.
#[inline]
pub(crate) fn step<S: Number>(x: S) -> S {
    if x.value() <= -1.0 {
        return S::constant(0.0);
    }
    if x.value() >= 1.0 {
        return S::constant(1.0);
    }
    let square = x * x;
    let slope = S::constant(15.0) + square * (square * S::constant(3.0) - S::constant(10.0));
    S::constant(0.5) + x * slope * S::constant(1.0 / 16.0)
}

/// A smooth step from 0 at `low` and below to 1 at `high` and above.
#[inline]
pub(crate) fn rise<S: Number>(x: S, [low, high]: [f64; 2]) -> S {
    step((x + x - S::constant(low + high)) * S::constant(1.0 / (high - low)))
}
