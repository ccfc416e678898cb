//! The programs of a step, recorded or run on plain numbers.

use candle_core::Result;

use super::fused::{Kernel, Plan};
use crate::model::Model;
use fingertip_lanes::lane::Precision;
use fingertip_lanes::record::{Row, Trace};

/// A step's kernels as programs: they can be recorded as a list of operations, or run on plain numbers.
#[derive(Clone, Copy)]
pub struct Programs<'a> {
    pub(super) plan: &'a Plan,
    pub(super) model: &'a Model,
}

impl Programs<'_> {
    /// A program as the list of its operations: see [`Trace`].
    ///
    /// # Errors
    /// If a pair of shapes has no formula; the message names the pair.
    pub fn record(&self, kernel: Kernel, precision: Precision) -> Result<Trace> {
        self.plan.record(kernel, precision, |contact| self.model.contact_names(contact))
    }

    /// The rows of numbers that a program reads and writes.
    pub fn rows_of(&self, kernel: Kernel) -> [Vec<Row>; 2] {
        self.plan.rows_of(kernel)
    }

    /// The parts of a step's row.
    pub fn row_parts(&self) -> Vec<Row> {
        self.plan.row_parts()
    }

    /// Runs a program on plain numbers of one world. The rows are those of [`Programs::rows_of`]; a rollout's program
    /// has the given number of steps. It runs in a lane of one world with fused multiply-adds. The result is `None` if
    /// this processor or build has no such lane of that precision.
    ///
    /// # Errors
    /// If a row has the wrong length, or the number of steps is 0.
    pub fn run(
        &self,
        kernel: Kernel,
        precision: Precision,
        n_steps: usize,
        operands: &[Vec<f64>],
    ) -> Result<Option<Vec<f64>>> {
        self.plan.run(kernel, precision, n_steps, operands)
    }
}
