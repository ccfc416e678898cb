//! Prints traces as CUDA kernels: one thread for each world, 32 threads per block.

use std::fmt::Write;

use crate::lane::Precision;

use super::c::{CFunction, STEPS, THREADS, Worlds, negated, number, print};
use super::trace::{Row, Trace};

/// The head of the CUDA text: macros and definitions that the kernels use. It includes no files, as NVRTC has none.
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

/// A trace printed as a CUDA kernel. Working memory is interleaved: the same number of all threads of a block is
/// contiguous, so that their loads coalesce.
pub struct Kernel {
    /// The CUDA text of the kernel, to stand behind [`PRELUDE`].
    pub text: String,
    /// The name of the kernel function.
    pub name: String,
    /// Bytes of working memory for each block.
    pub memory: usize,
}

/// Prints a trace as the CUDA kernel `NAME_worlds`, with rows of the given precision.
///
/// Arguments of the kernel, in this order: each operand, followed by the distance between its rows in numbers (0: one
/// row for all worlds); the results, whose rows follow each other without gaps; the number of steps, if the trace has a
/// loop over time; the number of worlds n; a pointer to another number of worlds, which is used if it is smaller than
/// n, or null; working memory of [`Kernel::memory`] bytes for each block. Any number of blocks computes all worlds, as
/// each loops over its share.
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

/// Byte offsets of the three arrays in a block's working memory. Numbers of double precision start at 0.
struct Places {
    singles: usize,
    flags: usize,
    end: usize,
}

impl Places {
    /// The offsets for arrays of these lengths per thread.
    fn new([doubles, singles, flags]: [usize; 3]) -> Self {
        let threads = THREADS as usize;
        let singles_at = 8 * threads * doubles;
        let flags_at = singles_at + 4 * threads * singles;
        Self { singles: singles_at, flags: flags_at, end: flags_at + 4 * threads * flags.max(1) }
    }
}
