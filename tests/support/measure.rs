//! Numbers out of tensors and JSON, and how far apart they are. No maximum here drops what is not a number.

use candle_core::{DType, Device, Tensor};
use fingertip::math::lane::InstructionSet;
use nalgebra::{DMatrix, DVector};
use serde_json::Value;

pub use fingertip::math::largest::{larger, largest};

/// The instruction sets that this processor has.
pub fn sets() -> impl Iterator<Item = InstructionSet> {
    InstructionSet::ALL.into_iter().filter(|set| set.is_available())
}

/// The numbers of a tensor, row by row of its first dimension.
pub fn rows(tensor: &Tensor) -> Vec<Vec<f64>> {
    tensor.flatten_from(1).unwrap().to_dtype(DType::F64).unwrap().to_vec2().unwrap()
}

/// All numbers of a tensor.
pub fn numbers(tensor: &Tensor) -> Vec<f64> {
    tensor.flatten_all().unwrap().to_dtype(DType::F64).unwrap().to_vec1().unwrap()
}

/// A tensor of one row.
pub fn row(values: &[f64]) -> Tensor {
    Tensor::from_slice(values, (1, values.len()), &Device::Cpu).unwrap()
}

/// All numbers of a JSON value, of lists in lists in their order.
pub fn values(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(parts) => parts.iter().flat_map(values).collect(),
        other => vec![other.as_f64().unwrap_or_else(|| panic!("expected a number, got {other}"))],
    }
}

/// A list of numbers.
pub fn vector(value: &Value) -> DVector<f64> {
    DVector::from_vec(values(value))
}

/// A list of rows.
pub fn matrix(value: &Value) -> DMatrix<f64> {
    let rows = value.as_array().unwrap();
    DMatrix::from_row_iterator(rows.len(), rows[0].as_array().unwrap().len(), values(value))
}

/// The largest difference of two lists of the same length.
#[track_caller]
pub fn apart(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    largest(a.iter().zip(b).map(|(a, b)| a - b))
}

/// The middle and the largest of some numbers, at least one and none negative.
pub fn median_and_max(values: impl IntoIterator<Item = f64>) -> (f64, f64) {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    (sorted[sorted.len() / 2], largest(sorted))
}
