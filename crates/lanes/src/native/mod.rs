//! Recorded programs as native code: printed as C, for SIMD registers of worlds or for one world at a time, then
//! compiled by the machine's C compiler and loaded as a shared library.
//!
//! The code does the same operations in the same order as lanes, so results are equal bit for bit. It is faster as it
//! contains no lookups in tables, and all that is known in advance is computed in advance. In branches and loops,
//! worlds that are not active keep their values by selection, as in lanes.

mod compiler;
#[cfg(test)]
mod tests;

use std::ffi::{c_ulonglong, c_void};
use std::ops::Range;

use libloading::Library;

use crate::lane::{InstructionSet, Number, Precision};
use crate::record::c::{PRELUDE, STEPS, VECTOR_PRELUDE, Worlds, print};
use crate::record::{Row, Trace};
use compiler::Code;
pub use compiler::check;

use super::program::share;
use super::rows::{Output, Rows};
use super::scratch::{Block, Blocks};

/// The signature of the compiled function: pointers to the rows of operands and results, the number of time steps, the
/// working memory.
type Entry = unsafe extern "C" fn(*const *mut c_void, c_ulonglong, *mut c_void);

/// The name of the compiled function in the library.
const ENTRY: &str = "fingertip_run";
/// The name of the constant in the library that holds the size of the working memory in bytes.
const MEMORY: &str = "fingertip_memory";

/// A recorded program, compiled to native code and loaded.
pub struct Function {
    entry: Entry,
    /// The size of the working memory, in bytes.
    memory: usize,
    precision: Precision,
    /// The number of worlds that one call computes.
    worlds: usize,
    /// The rows of the operands, in the order of the code's arguments.
    operands: Vec<Row>,
    /// The rows of the results, in the order of the code's arguments.
    results: Vec<Row>,
    _library: Library,
}

/// The widest instruction set of this processor that native code can use; `None` if it has only the baseline, which
/// lacks fused multiply-adds and so gives other bits.
pub fn widest() -> Option<InstructionSet> {
    InstructionSet::ALL.into_iter().rev().find(|set| *set != InstructionSet::Baseline && set.is_there())
}

/// The C code of a trace, for the registers of an instruction set.
fn code(trace: &Trace, precision: Precision, set: InstructionSet) -> Code {
    const NAME: &str = "kernel";
    // A single world needs no register type.
    let is_one = set.width() == 1 && precision == Precision::Double;
    let code = print(trace, NAME, precision, if is_one { Worlds::One } else { Worlds::Register });
    let number = match precision {
        _ if is_one => "double",
        Precision::Double => "d_t",
        Precision::Single => "s_t",
    };
    let prelude = if is_one {
        format!("{PRELUDE}#undef STAGE\n#define STAGE __attribute__((noinline, visibility(\"hidden\"))) void\n")
    } else {
        let is_single = u8::from(precision == Precision::Single);
        format!("#define DOUBLES {}\n#define SINGLE {is_single}\n{VECTOR_PRELUDE}", set.width())
    };
    let n = trace.operands().len() + trace.results().len();
    let rows: Vec<String> = (0..n).map(|k| format!("({number} *)rows[{k}]")).collect();
    let steps = if trace.has_steps() { ", n_steps" } else { "" };
    let stages: Vec<String> = code.stages.split("STAGE ").skip(1).map(|text| format!("STAGE {text}")).collect();
    let declared: String = stages.iter().filter_map(|text| Some(format!("{};\n", text.lines().next()?))).collect();
    Code {
        head: format!("{prelude}\n{}\n{declared}\n", code.work),
        stages,
        last: format!(
            "static void {}\n{}\n\
             const unsigned long long {MEMORY} = sizeof({NAME}_work);\n\
             void {ENTRY}(void *const *rows, {STEPS}, void *work)\n{{\n  {NAME}({}{steps}, ({NAME}_work *)work);\n}}\n",
            code.signature,
            code.body,
            rows.join(", ")
        ),
    }
}

impl Function {
    /// Compiles a trace, or loads it from the cache of compiled code.
    ///
    /// # Errors
    /// The message of the compiler, the file system or the loader.
    pub fn new(trace: &Trace, precision: Precision, set: InstructionSet) -> Result<Self, String> {
        let library = compiler::library(&code(trace, precision, set))?;
        let missing = |error: libloading::Error| format!("native code that was just made: {error}");
        // SAFETY: the library was made of the text above, which declares both as they are declared here.
        let (entry, memory) = unsafe {
            let entry = *library.get::<Entry>(ENTRY.as_bytes()).map_err(missing)?;
            let memory = **library.get::<*const c_ulonglong>(MEMORY.as_bytes()).map_err(missing)?;
            (entry, memory)
        };
        let memory = usize::try_from(memory).map_err(|error| error.to_string())?;
        let worlds = if precision == Precision::Single { 2 * set.width() } else { set.width() };
        let (operands, results) = (trace.operands().to_vec(), trace.results().to_vec());
        Ok(Self { entry, memory, precision, worlds, operands, results, _library: library })
    }

    /// Runs the code over `worlds` worlds, on all threads. Returns one matrix per result, one row per world, as
    /// [`Trace::run_steps`] gives them.
    ///
    /// # Panics
    /// If the rows of the operands do not fit the trace.
    pub fn run<const N: usize>(&self, n_steps: usize, operands: &[&Rows], worlds: usize) -> [Vec<f64>; N] {
        match self.precision {
            Precision::Double => self.run_in::<f64, N>(n_steps, operands, worlds),
            Precision::Single => self.run_in::<f32, N>(n_steps, operands, worlds),
        }
    }

    fn run_in<T: Number, const N: usize>(&self, n_steps: usize, operands: &[&Rows], worlds: usize) -> [Vec<f64>; N] {
        let lengths = |rows: &[Row]| -> Vec<usize> { rows.iter().map(|row| row.length(n_steps)).collect() };
        let (read, written) = (lengths(&self.operands), lengths(&self.results));
        assert!(
            n_steps > 0
                && operands.iter().zip(&read).all(|(rows, &length)| rows.width() >= length)
                && written.len() == N,
            "operands of another program"
        );
        let mut widths = [0; N];
        widths.copy_from_slice(&written);
        let sizes = read.iter().chain(&written).map(|&length| length * self.worlds * size_of::<T>());
        let sizes: Vec<usize> = sizes.collect();
        let memory = || Memory::new(&sizes, self.memory, operands.len());
        share(worlds, widths, memory, |memory, out| self.chunk::<T>(n_steps, operands, &read, memory, out)).0
    }

    /// Computes some worlds on one thread, as many at a time as a register holds.
    fn chunk<T: Number>(
        &self,
        n_steps: usize,
        operands: &[&Rows],
        read: &[usize],
        memory: &mut Memory,
        out: &mut Output,
    ) {
        let range = out.worlds.clone();
        for first in range.step_by(self.worlds) {
            for (k, (rows, &length)) in operands.iter().zip(read).enumerate() {
                // A row for all worlds is gathered only once.
                if !memory.is_filled[k] {
                    rows.gather(first, 0, self.worlds, memory.numbers::<T>(k, length * self.worlds));
                    memory.is_filled[k] = rows.rows() == 1;
                }
            }
            let (rows, work) = memory.starts();
            // SAFETY: the code reads and writes as many numbers of each row as were asked for above for so many steps,
            // and as much working memory as it said; all are aligned as registers are, and none overlaps another.
            unsafe { (self.entry)(rows.as_ptr(), n_steps as c_ulonglong, work) };
            for part in 0..out.parts.len() {
                let n = out.parts[part].width * self.worlds;
                out.scatter::<T>(part, first, self.worlds, memory.numbers::<T>(operands.len() + part, n));
            }
        }
    }
}

/// The memory in which one thread runs compiled code: operands, results and working memory.
struct Memory {
    blocks: Blocks,
    /// The range of blocks that each operand and result occupies.
    places: Vec<Range<usize>>,
    /// For each operand: is a row that all worlds share in place already?
    is_filled: Vec<bool>,
}

impl Memory {
    /// Memory for operands and results of the given sizes in bytes, and for `work` bytes of working memory.
    fn new(sizes: &[usize], work: usize, n_operands: usize) -> Self {
        let blocks = |bytes: usize| bytes.div_ceil(size_of::<Block>());
        let mut end = 0;
        let place = |&size: &usize| {
            let start = end;
            end += blocks(size);
            start..end
        };
        let places = sizes.iter().map(place).collect();
        Self { blocks: Blocks::new(end + blocks(work)), places, is_filled: vec![false; n_operands] }
    }

    /// Pointers to the operands and results, aligned like registers, and to the working memory behind them.
    fn starts(&mut self) -> (Vec<*mut c_void>, *mut c_void) {
        let end = self.places.last().map_or(0, |last| last.end);
        let (parts, work) = self.blocks.all().split_at_mut(end);
        let first = parts.as_mut_ptr();
        // `wrapping_add` stays inside: places are of these blocks.
        let starts = self.places.iter().map(|place| first.wrapping_add(place.start).cast());
        (starts.collect(), work.as_mut_ptr().cast())
    }

    /// The first `n` numbers of an operand or result, by its index.
    fn numbers<T: Number>(&mut self, part: usize, n: usize) -> &mut [T] {
        let blocks = &mut self.blocks.all()[self.places[part].clone()];
        assert!(n * size_of::<T>() <= size_of_val(blocks));
        // SAFETY: the memory is large enough, as asserted, aligned and of numbers, for which all bits are good.
        unsafe { std::slice::from_raw_parts_mut(blocks.as_mut_ptr().cast(), n) }
    }
}
