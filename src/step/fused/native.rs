//! The step's kernels as native code, each compiled when it is first asked for. A cold start is one from forces of zero: one
//! kernel does for both.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};

use candle_core::{DType, Error, Result, bail};

use crate::math::lane::{InstructionSet, Precision};
use crate::math::native::{Function, widest};

use super::plan::Plan;
use super::record::Kernel;

/// A kernel that was asked for, or why there is none.
type Made = Arc<OnceLock<std::result::Result<Arc<Function>, String>>>;

/// Kernels of one plan, those that were asked for.
pub(super) struct Native {
    set: InstructionSet,
    kernels: Mutex<HashMap<(Kernel, Precision), Made>>,
}

impl fmt::Debug for Native {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Native").field("set", &self.set).finish_non_exhaustive()
    }
}

impl Native {
    /// A kernel; the first to ask for it compiles it, others wait.
    ///
    /// # Errors
    /// If it cannot be recorded or compiled.
    pub(super) fn function(&self, plan: &Plan, kernel: Kernel, precision: Precision) -> Result<Arc<Function>> {
        let precision = kernel.precision(precision);
        let made = {
            let mut kernels = self.kernels.lock().map_err(|_| Error::msg("native code: a thread has failed"))?;
            kernels.entry((kernel, precision)).or_default().clone()
        };
        let make = || {
            let trace = plan.record(kernel, precision, |_| ("", "")).map_err(|error| error.to_string())?;
            Ok(Arc::new(Function::new(&trace, precision, self.set)?))
        };
        made.get_or_init(make).clone().map_err(Error::msg)
    }
}

impl Plan {
    /// The same plan with kernels compiled for an instruction set, or the widest that the processor has.
    ///
    /// # Errors
    /// If the processor lacks the set or fused multiply-adds, if a kernel cannot be recorded (`names` are those of a contact),
    /// or if the step cannot be compiled.
    pub(in super::super) fn native<'a>(
        &self,
        set: Option<InstructionSet>,
        dtype: DType,
        names: impl Fn(usize) -> (&'a str, &'a str),
    ) -> Result<Self> {
        let set = match set {
            Some(set) if set.is_there() && set != InstructionSet::Baseline => set,
            Some(set) => bail!(
                "native code: expected instructions of this processor with fused multiply-adds, got {}",
                set.name()
            ),
            None => match widest() {
                Some(set) => set,
                None => bail!("native code: expected a processor with fused multiply-adds, got one without"),
            },
        };
        let native = Native { set, kernels: Mutex::default() };
        let plan = Self { native: Some(Arc::new(native)), ..self.clone() };
        let precision = plan.arithmetic(dtype).precision;
        plan.record(Kernel::WarmStep, precision, names)?;
        if let Some(native) = &plan.native {
            native.function(&plan, Kernel::WarmStep, precision)?;
        }
        Ok(plan)
    }
}
