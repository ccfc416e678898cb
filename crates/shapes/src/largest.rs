//! Maxima that keep NaN; `f64::max` drops it.

use std::borrow::Borrow;

/// Numbers beyond this are as useless as infinite ones: products of a few of them overflow.
pub const USABLE: f64 = 1e30;

/// The larger one, or NaN where one of them is.
pub fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || a > b { a } else { b }
}

/// The largest absolute value: 0 of none, NaN where one of them is.
pub fn largest<T: Borrow<f64>>(values: impl IntoIterator<Item = T>) -> f64 {
    values.into_iter().map(|value| value.borrow().abs()).fold(0.0, larger)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_a_number_stays() {
        for values in [[f64::NAN, 1.0, 2.0], [1.0, f64::NAN, 2.0], [1.0, 2.0, -f64::NAN]] {
            assert!(largest(values).is_nan(), "{values:?}");
            assert!(larger(values[0], larger(values[1], values[2])).is_nan(), "{values:?}");
        }
        assert_eq!(largest([1.0, -3.0, 2.0]), 3.0);
        assert_eq!(largest::<f64>([]), 0.0);
        assert_eq!(larger(-2.0, f64::NEG_INFINITY), -2.0);
    }
}
