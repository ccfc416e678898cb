//! The programs of the fused form: recorded, or run on plain numbers.

use candle_core::{Result, Tensor};

use super::Quasidynamic;
use crate::step::fused::Kernel;
use crate::step::programs::Programs;
use fingertip_lanes::lane::Precision;
use fingertip_lanes::record::{Row, Trace};

impl Quasidynamic {
    /// The programs of the fused form; `asked` says in an error what they are needed for.
    ///
    /// # Errors
    /// If the step has no fused form.
    pub fn programs(&self, asked: &str) -> Result<Programs<'_>> {
        Ok(Programs { plan: &self.fused_form(asked)?.plan, model: &self.model })
    }

    /// A program of the fused form as the list of its operations: see [`Trace`].
    ///
    /// In single precision only the step is available.
    ///
    /// # Errors
    /// If the step has no fused form, or if a pair of shapes has no formula; the message names the pair.
    pub fn record(&self, kernel: Kernel, precision: Precision) -> Result<Trace> {
        self.programs("record")?.record(kernel, precision)
    }

    /// The rows of numbers that a program reads and writes.
    ///
    /// # Errors
    /// If the step has no fused form.
    pub fn rows_of(&self, kernel: Kernel) -> Result<[Vec<Row>; 2]> {
        Ok(self.programs(kernel.name())?.rows_of(kernel))
    }

    /// Runs a program on plain numbers of one world. The rows are those of [`Quasidynamic::rows_of`]; a rollout's
    /// program has the given number of steps. It runs in a lane of one world with fused multiply-adds. The result is
    /// `None` if this processor or build has no such lane of that precision.
    ///
    /// # Errors
    /// If the step has no fused form, a row has the wrong length, or the number of steps is 0.
    pub fn run_kernel(
        &self,
        kernel: Kernel,
        precision: Precision,
        n_steps: usize,
        operands: &[Vec<f64>],
    ) -> Result<Option<Vec<f64>>> {
        self.programs(kernel.name())?.run(kernel, precision, n_steps, operands)
    }

    /// All parameters in one row (1 or B, n), one after the other as [`Parameters::NAMES`](crate::Parameters::NAMES)
    /// has them: the operand `par` of a recording.
    ///
    /// # Errors
    /// If a tensor operation fails.
    pub fn packed_parameters(&self) -> Result<Tensor> {
        self.parameters.packed()
    }
}
