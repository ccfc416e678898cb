//! The barrier's step in lanes: on other instructions, recorded, or run on plain numbers.

use std::sync::Arc;

use candle_core::{Result, Tensor, bail};

use super::{ContactModel, Dynamic};
use crate::step::fused::Kernel;
use crate::step::programs::Programs;
use fingertip_lanes::lane::{InstructionSet, Precision};
use fingertip_lanes::record::{Row, Trace};

impl Dynamic {
    /// The step's programs, checked to include `kernel`.
    ///
    /// # Errors
    /// If the second-order step has no such program, or its contact is rigid.
    pub fn programs(&self, kernel: Kernel) -> Result<Programs<'_>> {
        if !Kernel::SECOND_ORDER.contains(&kernel) {
            bail!("{}: expected a program that the second-order step has: step, step_from or adjoint", kernel.name());
        }
        match self.params.contact {
            ContactModel::Barrier => Ok(Programs { plan: &self.plan, model: &self.model }),
            ContactModel::Rigid(_) => {
                bail!("{}: expected a second-order step with the barrier's contact", kernel.name())
            }
        }
    }

    /// A copy of this step that runs in lanes of a chosen width, for comparison. The default is the widest that the
    /// processor has. The results have the same bits, except on [`InstructionSet::Baseline`], which rounds twice where
    /// the others fuse multiply-adds.
    ///
    /// # Errors
    /// If the processor lacks the instructions.
    pub fn on(&self, set: InstructionSet) -> Result<Self> {
        if !set.is_available() {
            bail!("instruction set {}: this processor does not have it", set.name());
        }
        Ok(Self { plan: Arc::new(self.plan.on(set)), ..self.clone() })
    }

    /// A program of the step, one of [`Kernel::SECOND_ORDER`], as the list of its operations: see [`Trace`]. It reads
    /// q, v, τ, the parameters and the other rows of [`Dynamic::rows_of`]. In single precision only the step is
    /// available, and only as a record: lanes do not have it.
    ///
    /// # Errors
    /// If the step has no such program, contact is not the barrier's, or a pair of shapes has no formula; the message
    /// names the pair.
    pub fn record(&self, kernel: Kernel, precision: Precision) -> Result<Trace> {
        self.programs(kernel)?.record(kernel, precision)
    }

    /// The rows of numbers that a program reads and writes.
    ///
    /// # Errors
    /// If the step has no such program, or contact is not the barrier's.
    pub fn rows_of(&self, kernel: Kernel) -> Result<[Vec<Row>; 2]> {
        Ok(self.programs(kernel)?.rows_of(kernel))
    }

    /// The parts of the row that a step writes.
    ///
    /// # Errors
    /// If contact is not the barrier's.
    pub fn row_parts(&self) -> Result<Vec<Row>> {
        Ok(self.programs(Kernel::Step)?.row_parts())
    }

    /// Runs a program on plain numbers of one world, with the rows of [`Dynamic::rows_of`], in a lane of one world with
    /// fused multiply-adds. The result is `None` in single precision, and if this processor or build has no such lane.
    ///
    /// # Errors
    /// As [`Dynamic::rows_of`], or if a row has the wrong length.
    pub fn run_kernel(&self, kernel: Kernel, precision: Precision, operands: &[Vec<f64>]) -> Result<Option<Vec<f64>>> {
        self.programs(kernel)?.run(kernel, precision, 1, operands)
    }

    /// All parameters in one row (1 or B, n), one after the other as [`Parameters::NAMES`](crate::Parameters::NAMES)
    /// has them: the operand `par` of a recording.
    ///
    /// # Errors
    /// If a tensor operation fails.
    pub fn packed_parameters(&self) -> Result<Tensor> {
        Ok(self.par.clone())
    }
}
