//! Results of solves, and the report on each world.

use candle_core::{Result, Tensor};
use fingertip_lanes::pool;
use rayon::prelude::*;

use super::memory::INFO;
use super::status::Status;
use crate::tensor::numbers;

/// Result of a solve, as tensors.
#[derive(Clone, Debug)]
pub struct Solution {
    /// δ (B, nv). Differentiable.
    pub delta: Tensor,
    /// Contact force on B in world axes (B, nc, 3), N; if contacts resist turning, (B, nc, 4) with the torque on B
    /// about the normal, N·m. Differentiable.
    pub force: Tensor,
    /// Force of each joint limit (B, nl), N or N·m. It is ≥ 0 and points away from the limit. Forces of dry friction
    /// follow, of either sign, then three of each table. Differentiable.
    pub limit_force: Tensor,
    /// The solver's scaled forces (B, 3 nc + nl, or 4 nc + nl if contacts resist turning): a warm start for a problem
    /// nearby. No gradient.
    pub warm: Tensor,
    /// The whole result of the operation. No gradient.
    pub(super) packed: Tensor,
    /// The first column of the report in `packed`.
    pub(super) info: usize,
}

/// So many numbers of reports are read at once. More are worth all threads.
const MANY: usize = 1 << 18;

/// Report on one world's contact solve: status, iterations, residual.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Report {
    /// The outcome of the solve: solved, or why there is no solution.
    pub status: Status,
    /// The number of Newton iterations.
    pub iterations: usize,
    /// Relative residual of the optimality conditions, from 0 to 1. It is the larger of two: that of the force balance,
    /// relative to its largest term, and that of the contacts, relative to their slacks. A slack is a difference of
    /// lengths and has only the digits that these leave. 0 if there is no solution.
    pub residual: f64,
    /// For a world that is [`Status::Unsettled`], how far its answer is from Coulomb's law, m: the largest gap μ‖ν_t‖
    /// that slip opens at a contact by the relaxed law. 0 if the answer follows the scene's own law.
    pub slip_gap: f64,
}

impl Solution {
    /// Each world's report.
    ///
    /// # Errors
    /// If the numbers cannot be fetched from the device.
    pub fn report(&self) -> Result<Vec<Report>> {
        Report::read(&self.packed.narrow(1, self.info, INFO)?)
    }
}

impl Report {
    /// Reads reports from rows (n, [`INFO`]).
    pub(crate) fn read(info: &Tensor) -> Result<Vec<Self>> {
        Ok(Self::by_step(info, 1)?.pop().unwrap_or_default())
    }

    /// Reads reports of so many steps of worlds from rows (B, T [`INFO`]): for each step, those of all worlds.
    pub(crate) fn by_step(info: &Tensor, n_steps: usize) -> Result<Vec<Vec<Self>>> {
        let (worlds, width) = info.dims2()?;
        let of_step = |numbers: &[f64], t: usize, to: &mut Vec<Self>| {
            to.extend(numbers.chunks_exact(width).flat_map(|row| Self::of(&row[t * INFO..][..INFO])));
        };
        let mut by_step: Vec<Vec<Self>> = (0..n_steps).map(|_| Vec::with_capacity(worlds)).collect();
        if info.elem_count() <= MANY {
            let numbers = numbers(info)?;
            by_step.iter_mut().enumerate().for_each(|(t, to)| of_step(&numbers, t, to));
            return Ok(by_step);
        }
        // Memory that is as large as all of them comes from the system anew each time, which takes longer than to fill
        // it.
        let at_once = (MANY / width).max(1);
        for first in (0..worlds).step_by(at_once) {
            let part = info.narrow(0, first, at_once.min(worlds - first))?;
            // Candle fetches all that a view's tensor has.
            let numbers = numbers(&part.force_contiguous()?)?;
            pool::share(|| by_step.par_iter_mut().enumerate().for_each(|(t, to)| of_step(&numbers, t, to)));
        }
        Ok(by_step)
    }

    /// Writes the report as [`INFO`] numbers.
    pub(crate) fn row(&self) -> [f64; INFO] {
        #[expect(clippy::cast_precision_loss, reason = "a count")]
        [self.status.code(), self.iterations as f64, self.residual, self.slip_gap]
    }

    /// Reads reports from [`INFO`] numbers each: see [`Report::row`].
    pub(crate) fn of(rows: &[f64]) -> impl Iterator<Item = Self> {
        rows.as_chunks().0.iter().copied().map(Self::of_row)
    }

    /// Reads a report from its numbers: see [`Report::row`].
    pub(crate) fn of_row([status, iterations, residual, slip_gap]: [f64; INFO]) -> Self {
        Self {
            status: Status::from_code(status),
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
            iterations: iterations as usize,
            residual,
            slip_gap,
        }
    }
}
