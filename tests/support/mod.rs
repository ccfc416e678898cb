//! What the tests of the step share: random states of the shipped scenes, and the step's problem written a second time.
#![allow(dead_code, reason = "each test file uses its part")]

pub mod clarabel;
pub mod differences;
pub mod oracle;
pub mod quadruped;
pub mod states;

use candle_core::{DType, Tensor};

/// The numbers of a tensor, row by row of its first dimension.
pub fn rows(tensor: &Tensor) -> Vec<Vec<f64>> {
    tensor.flatten_from(1).unwrap().to_dtype(DType::F64).unwrap().to_vec2().unwrap()
}

/// All numbers of a tensor.
pub fn numbers(tensor: &Tensor) -> Vec<f64> {
    tensor.flatten_all().unwrap().to_dtype(DType::F64).unwrap().to_vec1().unwrap()
}

/// The largest absolute value.
pub fn largest(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().fold(0.0, |max: f64, x| if x.is_nan() { f64::NAN } else { max.max(x.abs()) })
}

/// The middle and the largest of some numbers.
pub fn median_and_max(values: impl IntoIterator<Item = f64>) -> (f64, f64) {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    (sorted[sorted.len() / 2], sorted[sorted.len() - 1])
}
