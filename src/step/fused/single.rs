//! Single precision, where tensors are of it: fast, and never the last word.
//!
//! Twice as many worlds fit a register. Forces near the boundary of their cone and contacts far stiffer than the joints ask for
//! more digits than there are: worlds that do not come out as solved are done again in double precision, so that no world
//! fails for its number type.

use candle_core::DType;

use crate::math::lane::{Arithmetic, InstructionSet, Precision};
use crate::solve::Status;

use super::stages::Operands;

/// Does a world's report say so?
pub(super) fn is_solved(info: &[f64]) -> bool {
    info.first() == Some(&Status::Solved.code())
}

/// Runs a program over all worlds in the arithmetic of `dtype`, and over those that are not solved in double precision.
pub(super) fn solve_all<const N: usize>(
    set: InstructionSet,
    dtype: DType,
    worlds: usize,
    operands: &Operands,
    widths: [usize; N],
    program: impl Fn(&Operands, Arithmetic, usize) -> [Vec<f64>; N],
    solved: impl Fn(&[Vec<f64>; N], usize) -> bool,
) -> [Vec<f64>; N] {
    let arithmetic = Arithmetic::new(set, dtype);
    let mut parts = program(operands, arithmetic, worlds);
    if arithmetic.precision == Precision::Double {
        return parts;
    }
    let left: Vec<usize> = (0..worlds).filter(|&world| !solved(&parts, world)).collect();
    if !left.is_empty() {
        let again = program(&operands.of_worlds(&left), set.into(), left.len());
        for ((part, again), width) in parts.iter_mut().zip(again).zip(widths) {
            for (row, &world) in again.chunks_exact(width.max(1)).zip(&left) {
                part[world * width..(world + 1) * width].copy_from_slice(row);
            }
        }
    }
    parts
}
