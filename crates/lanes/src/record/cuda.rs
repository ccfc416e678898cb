//! Traces as CUDA kernels: a thread for each world, 32 threads to a block.

use std::fmt::Write;

use crate::lane::Precision;

use super::c::{CFunction, STEPS, THREADS, Worlds, negated, number, print};
use super::trace::{Row, Trace};

/// What the text starts with: NVRTC has no files to include.
pub const PRELUDE: &str = concat!(
    "\
#define restrict __restrict__
#define STAGE static __device__ __noinline__ void
#define TABLE static const
#ifdef __CUDACC_RTC__
#define INFINITY __longlong_as_double(0x7ff0000000000000ll)
#define NAN __longlong_as_double(0x7ff8000000000000ll)
#endif
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
typedef unsigned long long Count;
#define INLINE static __device__ __inline__
",
    negated!()
);

/// A trace as a kernel. A number of a thread's working memory stands beside those of the block's other threads, so that all of them
/// are read at once.
pub struct Kernel {
    /// Its text, to stand behind [`PRELUDE`].
    pub text: String,
    /// What it is called.
    pub name: String,
    /// Bytes of working memory that each block wants.
    pub memory: usize,
}

/// The trace as a kernel `NAME_worlds`, whose numbers are of a precision.
///
/// Its arguments: each operand and the distance between its rows, in numbers (0: one row for all worlds); the results, whose rows
/// follow each other; the number of steps, if its rows have many; the number of worlds n; a place that holds another number of
/// worlds, which counts if it is smaller, or null; working memory of [`Kernel::memory`] bytes for each block. Any number of
/// blocks does all worlds.
pub fn kernel(trace: &Trace, name: &str, precision: Precision) -> Kernel {
    let CFunction { sizes, stages, signature, body, .. } = print(trace, name, precision, Worlds::Thread);
    let number = number(precision);
    let Places { singles: at_singles, flags: at_flags, end } = Places::new(sizes);
    let read = trace.operands().iter().map(|row| format!("const {number} *restrict {0}, Count {0}_stride", row.name));
    let written = trace.results().iter().map(|row| format!("{number} *restrict {}", row.name));
    let (steps, handed) = if trace.has_steps() { (format!(", {STEPS}"), ", n_steps") } else { Default::default() };
    let arguments = read.chain(written).collect::<Vec<_>>().join(", ");
    let of_world = trace.operands().iter().map(|row| format!("{0} + world * {0}_stride", row.name));
    let to_world = trace.results().iter().map(|Row { name, width, step }| match step {
        0 => format!("{name} + world * {width}"),
        _ => format!("{name} + world * ({} + n_steps * {step})", width - step),
    });
    let rows = of_world.chain(to_world).collect::<Vec<_>>().join(", ");
    let mut text = String::new();
    let _ = write!(
        text,
        "struct {name}_work {{\n  double *d;\n  float *s;\n  int *f;\n}};\n\n\
         {stages}static __device__ void {signature}\n{body}\n\
         /* {end} bytes of memory for each block of {THREADS} threads */\n\
         extern \"C\" __global__ void __launch_bounds__({THREADS}) {name}_worlds({arguments}{steps}, Count n, const unsigned *count, \
         char *memory)\n{{\n  \
         char *const own = memory + blockIdx.x * (Count){end};\n  \
         const {name}_work work = {{(double *)own + threadIdx.x, (float *)(own + {at_singles}) + threadIdx.x, \
         (int *)(own + {at_flags}) + threadIdx.x}};\n  \
         if (count && *count < n) n = *count;\n  \
         for (Count world = blockIdx.x * (Count)blockDim.x + threadIdx.x; world < n; world += gridDim.x * (Count)blockDim.x)\n    \
         {name}({rows}{handed}, work);\n}}\n",
    );
    Kernel { text, name: format!("{name}_worlds"), memory: end }
}

/// Where the pools of a block's working memory start, in bytes.
struct Places {
    singles: usize,
    flags: usize,
    end: usize,
}

impl Places {
    fn new([doubles, singles, flags]: [usize; 3]) -> Self {
        let threads = THREADS as usize;
        let singles_at = 8 * threads * doubles;
        let flags_at = singles_at + 4 * threads * singles;
        Self { singles: singles_at, flags: flags_at, end: flags_at + 4 * threads * flags.max(1) }
    }
}
