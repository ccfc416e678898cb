//! Steps of `f32` tensors in single precision: worlds that it does not solve are solved again in double precision.
//!
//! Twice as many worlds fit a register. Forces near the boundary of their cone and contacts far stiffer than the joints
//! ask for more digits than there are: worlds that do not come out as solved are done again in double precision, so
//! that no world fails for its number type.

use candle_core::Result;

use crate::solve::Status;
use fingertip_lanes::lane::{Arithmetic, Precision};

use super::stages::Operands;

/// Does a world's report say that it is solved?
pub(super) fn is_solved(info: &[f64]) -> bool {
    info.first() == Some(&Status::Solved.code())
}

/// Runs a program over all worlds. If that was in single precision, runs it again in double precision over the worlds
/// that are not solved.
pub(super) fn solve_all<const N: usize>(
    arithmetic: Arithmetic,
    worlds: usize,
    operands: &Operands,
    widths: [usize; N],
    program: impl Fn(&Operands, Arithmetic, usize) -> Result<[Vec<f64>; N]>,
    solved: impl Fn(&[Vec<f64>; N], usize) -> bool,
) -> Result<[Vec<f64>; N]> {
    let mut parts = program(operands, arithmetic, worlds)?;
    if arithmetic.precision == Precision::Double {
        return Ok(parts);
    }
    let left: Vec<usize> = (0..worlds).filter(|&world| !solved(&parts, world)).collect();
    if !left.is_empty() {
        let again = program(&operands.of_worlds(&left), arithmetic.set.into(), left.len())?;
        for ((part, again), width) in parts.iter_mut().zip(again).zip(widths) {
            for (row, &world) in again.chunks_exact(width.max(1)).zip(&left) {
                part[world * width..(world + 1) * width].copy_from_slice(row);
            }
        }
    }
    Ok(parts)
}
