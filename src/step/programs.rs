//! The programs of a step, recorded or run on plain numbers.

use candle_core::Result;

use super::fused::{Kernel, Plan};
use crate::math::lane::Precision;
use crate::math::record::{Row, Trace};
use crate::model::Model;

/// What a step computes with.
#[derive(Clone, Copy)]
pub(crate) struct Programs<'a> {
    pub(super) plan: &'a Plan,
    pub(super) model: &'a Model,
}

impl Programs<'_> {
    /// A program as the list of its operations: see [`Trace`].
    ///
    /// # Errors
    /// If a pair of shapes has no formula. The message names it.
    pub(crate) fn record(&self, kernel: Kernel, precision: Precision) -> Result<Trace> {
        self.plan.record(kernel, precision, |contact| self.model.contact_names(contact))
    }

    /// The rows of numbers that a program reads and writes.
    pub(crate) fn rows_of(&self, kernel: Kernel) -> [Vec<Row>; 2] {
        self.plan.rows_of(kernel)
    }

    /// What the row of a step consists of.
    pub(crate) fn row_parts(&self) -> Vec<Row> {
        self.plan.row_parts()
    }

    /// The results of a program on plain numbers of one world. The rows are those that [`Programs::rows_of`] lists, for
    /// as many steps as given if the program is a rollout. It runs in a lane of one world with fused multiply-adds. The
    /// result is `None` if this processor or this build has no such lane in that precision.
    ///
    /// # Errors
    /// If a row has a wrong length, or there are no steps.
    pub(crate) fn run(
        &self,
        kernel: Kernel,
        precision: Precision,
        n_steps: usize,
        operands: &[Vec<f64>],
    ) -> Result<Option<Vec<f64>>> {
        self.plan.run(kernel, precision, n_steps, operands)
    }
}
