//! Kernels as programs on rows of numbers: recorded, for those that compile them too, or run in lanes.

#[cfg(any(feature = "native", feature = "cuda"))]
use std::sync::Arc;

use candle_core::{Device, Result, bail};

use crate::solve::{Accuracy, Law};
use fingertip_lanes::lane::{Arithmetic, InstructionSet, Precision};
use fingertip_lanes::program::{Program, record, run_parts_on};
use fingertip_lanes::record::{Trace, places};
use fingertip_lanes::rows::Rows;

use super::hold::Hold;
use super::jacobian::{Forces, Linearize};
use super::kernel::Kernel;
#[cfg(any(feature = "native", feature = "cuda"))]
use super::kernel::Recorder;
use super::plan::Plan;
use super::program::{Backward, Forward};
use super::rollout::backward::{self, Cost};
use super::rollout::forward;
use super::stages::Operands;

impl Plan {
    /// Calls `f` with a program on one world's operands.
    fn with_program<T>(
        &self,
        kernel: Kernel,
        n_steps: usize,
        data: &[Vec<f64>],
        f: impl FnOnce(&dyn Program) -> T,
    ) -> T {
        let (inputs, rest) = data[1..].split_at(self.equations.inputs(self).len());
        let data = [&[data[0].clone(), inputs.concat()], rest].concat();
        let row = |k: usize| Rows::from_slice(&data[k], 1, data[k].len());
        let is_warm = matches!(kernel, Kernel::WarmStep | Kernel::WarmJacobians | Kernel::Hold | Kernel::RoughHold);
        let warm = is_warm.then(|| row(3));
        let operands = Operands { q: row(0), u: row(1), par: row(2), warm };
        match kernel {
            Kernel::Step | Kernel::WarmStep => f(&Forward { plan: self, operands: &operands }),
            Kernel::Adjoint => f(&Backward { plan: self, operands, result: row(3), grad: row(4) }),
            Kernel::Jacobians | Kernel::WarmJacobians => {
                f(&Linearize { plan: self, operands, forces: Some(Forces::Rows), accuracy: Accuracy::Fine })
            }
            Kernel::Hold => {
                f(&Hold { plan: self, operands: &operands, n_steps, accuracy: Accuracy::Fine, lists: false })
            }
            Kernel::RoughHold => {
                f(&Hold { plan: self, operands: &operands, n_steps, accuracy: Accuracy::Rough, lists: false })
            }
            Kernel::Rollout => f(&forward::Forward { plan: self, operands: &operands, n_steps, lists: false }),
            Kernel::RolloutAdjoint | Kernel::RolloutForceAdjoint => f(&backward::Backward {
                forward: forward::Forward { plan: self, operands: &operands, n_steps, lists: false },
                states: row(0),
                force: row(3),
                listed: None,
                limit_force: row(4),
                info: row(5),
                cost: if kernel == Kernel::RolloutAdjoint { Cost::States } else { Cost::Forces },
                grad: row(6),
            }),
        }
    }

    /// Can all pairs be recorded?
    ///
    /// # Errors
    /// If the contacts of a pair come from a query that branches as it likes, as of all pairs without a formula but
    /// boxes; the message names the pair, by a contact's names.
    fn check_pairs<'a>(&self, names: impl Fn(usize) -> (&'a str, &'a str)) -> Result<()> {
        let Some(pair) = self.pairs.searched() else { return Ok(()) };
        let (a, b) = names(pair.first);
        bail!(
            "record: expected pairs whose contacts have a formula, got \"{a}\" and \"{b}\", whose closest points are \
             searched for; exclude the pair or give them other shapes"
        )
    }

    /// Records a program as a trace, the list of its operations.
    ///
    /// # Errors
    /// If the contacts of a pair come from a query that branches as it likes, as of all pairs without a formula but
    /// boxes; the message names the pair, by a contact's names.
    pub(in super::super) fn record<'a>(
        &self,
        kernel: Kernel,
        precision: Precision,
        names: impl Fn(usize) -> (&'a str, &'a str),
    ) -> Result<Trace> {
        self.check_pairs(names)?;
        if kernel.precision(precision) == Precision::Single && !self.structure.has_single_precision() {
            let friction = self.structure.friction;
            let why = match friction.has_single_precision() {
                true => "torsional friction".to_owned(),
                false => format!("the friction law {}", friction.name()),
            };
            bail!("record: expected double precision, got single: {why} asks for it");
        }
        let operands = self.operand_rows(kernel);
        let mut first = 0;
        let data: Vec<Vec<f64>> = operands
            .iter()
            .map(|row| {
                first += row.width;
                places(first - row.width, row.width)
            })
            .collect();
        self.with_program(kernel, 1, &data, |program| {
            record(program, kernel.precision(precision), operands, self.result_rows(kernel))
        })
        .or_else(|reason| bail!("record: this step cannot be recorded: {reason}"))
    }

    /// Runs a kernel of one world for so many steps on plain numbers, and gives its result rows one after the other. It
    /// runs in the narrowest lane with fused multiply-adds; the result is `None` where this processor or build has no
    /// such lane of that precision.
    ///
    /// # Errors
    /// If a row is of another length than [`Plan::rows_of`] says, or there is no step.
    pub(in super::super) fn run(
        &self,
        kernel: Kernel,
        precision: Precision,
        n_steps: usize,
        operands: &[Vec<f64>],
    ) -> Result<Option<Vec<f64>>> {
        if n_steps == 0 {
            bail!("{}: expected one step or more, got none", kernel.name());
        }
        let [rows, _] = self.rows_of(kernel);
        let (expected, got): (Vec<_>, Vec<_>) =
            (rows.iter().map(|row| row.length(n_steps)).collect(), operands.iter().map(Vec::len).collect());
        if expected != got {
            bail!("{}: expected operands of {expected:?} numbers, got {got:?}", kernel.name());
        }
        let precision = kernel.precision(precision);
        let arithmetic = Arithmetic::new(InstructionSet::Fma, precision);
        let has_lanes = self.equations.has_single_precision() || precision == Precision::Double;
        if !has_lanes || !arithmetic.set.is_available() || arithmetic.precision != precision {
            return Ok(None);
        }
        let widths: Vec<usize> = self.result_rows(kernel).iter().map(|row| row.length(n_steps)).collect();
        let mut all = [0; 6];
        all[..widths.len()].copy_from_slice(&widths);
        let parts = self.with_program(kernel, n_steps, operands, |program| run_parts_on(arithmetic, program, 1, all));
        Ok(Some(parts.concat()))
    }

    /// A recorder of this plan's kernels, for compilers. All pairs must have formulas, see `Plan::check_pairs`.
    #[cfg(any(feature = "native", feature = "cuda"))]
    fn recorder(&self) -> Recorder {
        let plan = self.on(self.set);
        Recorder(Arc::new(move |kernel, precision| plan.record(kernel, precision, |_| ("", ""))))
    }

    /// A copy of this plan with native kernels compiled for an instruction set, or for the widest one that the
    /// processor has.
    ///
    /// # Errors
    /// If the processor lacks the set or fused multiply-adds, if a kernel cannot be recorded (`names` are those of a
    /// contact), or if there is no compiler.
    #[cfg(feature = "native")]
    pub(in super::super) fn native<'a>(
        &self,
        set: Option<InstructionSet>,
        dtype: candle_core::DType,
        names: impl Fn(usize) -> (&'a str, &'a str),
    ) -> Result<Self> {
        let set = match set {
            Some(set) if set.is_there() && set != InstructionSet::Baseline => set,
            Some(set) => bail!(
                "native code: expected instructions of this processor with fused multiply-adds, got {}",
                set.name()
            ),
            None => match fingertip_lanes::native::widest() {
                Some(set) => set,
                None => bail!("native code: expected a processor with fused multiply-adds, got one without"),
            },
        };
        fingertip_lanes::native::check().map_err(candle_core::Error::msg)?;
        let native = Arc::new(super::native::Native::new(set, self.recorder()));
        let plan = Self { native: Some(native), ..self.clone() };
        plan.record(Kernel::WarmStep, plan.arithmetic(dtype).precision, names)?;
        Ok(plan)
    }

    /// This plan with kernels for a device: the plan itself on the CPU, recorded kernels on a GPU.
    ///
    /// # Errors
    /// As [`Plan::check_pairs`]; if the GPU cannot be used.
    pub(in super::super) fn on_device<'a>(
        self,
        device: &Device,
        names: impl Fn(usize) -> (&'a str, &'a str),
    ) -> Result<Self> {
        if device.is_cpu() {
            return Ok(self);
        }
        self.check_pairs(names)?;
        #[cfg(feature = "cuda")]
        if let Device::Cuda(device) = device {
            let gpu = Some((Arc::new(crate::cuda::Gpu::new(device)?), self.recorder()));
            return Ok(Self { gpu, ..self });
        }
        Ok(self)
    }
}
