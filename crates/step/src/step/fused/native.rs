//! Native kernels of a step: each is compiled when it is first asked for, with registers as wide as its number of
//! worlds fills. A cold start is a warm start from zero forces, so one kernel does both.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};

use candle_core::{Error, Result};

use fingertip_lanes::lane::{Arithmetic, InstructionSet, Precision};
use fingertip_lanes::native::Function;

use super::kernel::{Kernel, Recorder};

/// A compiled kernel, or the reason why it could not be compiled. Empty while its compilation runs.
type Made = Arc<OnceLock<std::result::Result<Arc<Function>, String>>>;

/// The native kernels of one plan that have been asked for so far.
pub(super) struct Native {
    set: InstructionSet,
    recorder: Recorder,
    kernels: Mutex<HashMap<(Kernel, Precision, usize), Made>>,
}

impl fmt::Debug for Native {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Native").field("set", &self.set).finish_non_exhaustive()
    }
}

impl Native {
    /// An empty set of kernels for an instruction set, which the processor has.
    pub(super) fn new(set: InstructionSet, recorder: Recorder) -> Self {
        Self { set, recorder, kernels: Mutex::default() }
    }

    /// A kernel for so many worlds; the first to ask for it compiles it, others wait.
    ///
    /// # Errors
    /// If it cannot be recorded or compiled.
    pub(super) fn function(&self, kernel: Kernel, precision: Precision, worlds: usize) -> Result<Arc<Function>> {
        let precision = kernel.precision(precision);
        let Arithmetic { set, .. } = Arithmetic { set: self.set, precision }.within(worlds);
        let made = {
            let mut kernels = self.kernels.lock().map_err(|_| Error::msg("native code: a thread has failed"))?;
            kernels.entry((kernel, precision, set.width())).or_default().clone()
        };
        let make = || {
            let trace = self.recorder.0(kernel, precision).map_err(|error| error.to_string())?;
            Ok(Arc::new(Function::new(&trace, precision, set)?))
        };
        made.get_or_init(make).clone().map_err(Error::msg)
    }
}
