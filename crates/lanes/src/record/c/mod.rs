//! Prints traces as C functions.

mod control;
mod expression;
mod printer;
mod text;

use std::fmt::Write;

use crate::lane::Precision;

use super::functions::{Pool, is_prompt};
use super::kinds::Slot;
use super::op::Id;
use super::schedule::Schedule;
#[cfg(feature = "native")]
use super::schedule::ordered;
use super::trace::{Row, Trace};
pub use expression::{literal, number};
use printer::{At, Printer};
pub use printer::{THREADS, Worlds};
use text::{Text, declare_table};

/// C functions for −x where x = fma(a, b, c). GCC 12 fuses the two into one instruction, which gives +0 instead of −0
/// where ab = −c. The text needs a definition of `INLINE` before it.
macro_rules! negated {
    () => {
        "\
INLINE double negated(double x)
{
  union { double number; unsigned long long bits; } all;
  all.number = x;
  all.bits ^= 1ull << 63;
  return all.number;
}
INLINE float negatedf(float x)
{
  union { float number; unsigned bits; } all;
  all.number = x;
  all.bits ^= 1u << 31;
  return all.number;
}
"
    };
}
pub(super) use negated;

/// The head of C text: includes, and macros for operations that C has no operator for.
pub const PRELUDE: &str = concat!(
    "\
#include <math.h>

#ifdef __FAST_MATH__
#error \"This code counts on the rounding that IEEE 754 asks for: compile without -ffast-math.\"
#endif
#if defined(__GNUC__)
#define STAGE static __attribute__((noinline)) void
#else
#define STAGE static void
#endif
#define TABLE static const
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define INLINE static inline
",
    negated!()
);

/// The head of text for registers of worlds. Before it, `DOUBLES` must be defined as the number of doubles in a
/// register, and `SINGLE` as whether rows are of single precision.
#[cfg(feature = "native")]
pub const VECTOR_PRELUDE: &str = include_str!("vector.h");

/// A trace printed as a C function.
pub struct CFunction {
    /// The definition of the working memory's type, `NAME_work`.
    pub work: String,
    /// The text of the functions that the main function calls.
    pub stages: String,
    /// The name and arguments of the main function.
    pub signature: String,
    /// The body of the main function, in braces.
    pub body: String,
    /// Bytes of working memory, for one world.
    pub memory: usize,
    /// The numbers of doubles, of singles and of flags in the working memory.
    pub sizes: [usize; 3],
}

/// Prints a trace as the C function `name`, with rows of the given precision.
pub fn print(trace: &Trace, name: &str, precision: Precision, worlds: Worlds) -> CFunction {
    let operations: usize = trace.operations().iter().map(|(_, count)| count).sum();
    let shortest = match worlds {
        Worlds::Thread => Some(SHORTEST),
        _ if operations <= LONG => None,
        Worlds::One => Some(SHORTEST_OF_C),
        #[cfg(feature = "native")]
        Worlds::Register => Some(SHORTEST),
    };
    #[cfg(feature = "native")]
    let in_order = (worlds == Worlds::Register && shortest.is_none()).then(|| ordered(trace));
    #[cfg(feature = "native")]
    let trace = in_order.as_ref().unwrap_or(trace);
    let schedule = Schedule::new(trace, shortest);
    let mut late = [Vec::new(), Vec::new()];
    for output in trace.outputs.iter().filter(|output| !is_prompt(trace, &schedule.in_time, output)) {
        late[usize::from(output.of_step)].push(*output);
    }
    let mut first = vec![Id::MAX; schedule.functions.len()];
    for (id, of) in schedule.layout.function_of.iter().enumerate() {
        if let Some(function) = *of {
            first[function] = first[function].min(id as Id);
        }
    }
    let mut printer = Printer { trace, schedule: &schedule, name, precision, worlds, first, late, uses: Vec::new() };
    let mut stages = String::new();
    printer.uses = (0..schedule.kinds.functions.len()).map(|kind| printer.kind(kind, &mut stages)).collect();
    let mut body = Text { text: String::from("{\n"), depth: 1, in_time: false };
    if printer.is_vector() {
        body.line("w->active = ALL;");
    }
    for &id in &schedule.constants {
        let place = printer.place(id, At::Driver, Slot::Place(id)).unwrap_or_default();
        body.line(&format!("{place} = {};", printer.value(id, At::Driver)));
    }
    printer.steps(&schedule.steps, &mut body);
    printer.write(&printer.late[0], &mut body);
    // Rows that this trace does not use are arguments all the same.
    let unused =
        printer.rows().filter(|row| !names(&body.text, row.name)).map(|row| format!("  (void){};\n", row.name));
    let mut body = body.text.replacen("{\n", &format!("{{\n{}", unused.collect::<String>()), 1);
    body.push_str("}\n");

    let [doubles, singles, flags] = schedule.layout.sizes;
    let types = Pool::ALL.map(|pool| printer.type_in(pool));
    let mut work = format!("typedef struct {{\n  {} d[{}];\n", types[0], doubles.max(1));
    if singles > 0 {
        let _ = writeln!(work, "  {} s[{singles}];", types[1]);
    }
    let _ = writeln!(work, "  {} f[{}];", types[2], flags.max(1));
    if printer.is_vector() {
        work.push_str(
            "  /* Worlds that the code is for where it is, and worlds that leave a loop. */\n  m_t active, leaving;\n",
        );
    }
    let _ = writeln!(work, "}} {name}_work;");
    let memory = 8 * doubles.max(1) + 4 * singles + 4 * flags.max(1);
    let all = vec![true; printer.rows().count() + 1];
    let signature = printer.signature(name, &all, printer.has_steps().then_some(STEPS), None);
    CFunction { work, stages, signature, body, memory: memory.next_multiple_of(8), sizes: schedule.layout.sizes }
}

/// Only the name and arguments of the C function for a trace, without an implementation: for callers that write the
/// body themselves.
pub fn declared(trace: &Trace, name: &str, precision: Precision) -> CFunction {
    let number = number(precision);
    let read = trace.operands.iter().map(|row| format!("const {number} *restrict {}", row.name));
    let written = trace.results.iter().map(|row| format!("{number} *restrict {}", row.name));
    let all: Vec<String> = read.chain(written).chain([format!("{name}_work *restrict w")]).collect();
    let signature = format!("{name}({})", all.join(", "));
    CFunction { work: String::new(), stages: String::new(), signature, body: String::new(), memory: 0, sizes: [0; 3] }
}

/// The argument of a function with a loop over time that says how many steps there are.
pub const STEPS: &str = "unsigned long long n_steps";

/// Traces with more operations than this have equal functions merged. Looking up places in tables would cost shorter
/// traces a sixth of their speed, and they compile in seconds anyway. On GPUs, merging is always on: they have little
/// room for instructions.
const LONG: usize = 30_000;
/// The fewest operations of a function that is called in several places; a call takes about as long as ten of them.
const SHORTEST: usize = 40;
/// [`SHORTEST`] in C for one world, which should be short rather than fast.
const SHORTEST_OF_C: usize = 16;

impl Printer<'_> {
    /// The name and arguments of a function: the rows and the working memory that it uses, the number of steps and the
    /// instance number.
    fn signature(&self, name: &str, uses: &[bool], steps: Option<&str>, instance: Option<&str>) -> String {
        let number = self.number_type();
        let read = self.trace.operands.iter().map(|Row { name, .. }| format!("const {number} *restrict {name}"));
        let written = self.trace.results.iter().map(|Row { name, .. }| format!("{number} *restrict {name}"));
        let work = match self.worlds {
            Worlds::Thread => format!("{}_work w", self.name),
            _ => format!("{}_work *restrict w", self.name),
        };
        let rows = read.chain(written).zip(uses).filter(|(_, used)| **used).map(|(row, _)| row);
        let work = uses.last().is_some_and(|&used| used).then_some(work);
        let all: Vec<_> = rows.chain(steps.map(str::to_owned)).chain(work).chain(instance.map(str::to_owned)).collect();
        format!("{name}({})", if all.is_empty() { String::from("void") } else { all.join(", ") })
    }

    /// The name of the function that is printed for this one, made of the program's and the stage's name.
    fn function_name(&self, function: usize) -> String {
        let function = self.printed(function);
        let stage = usize::from(self.schedule.functions[function].stage);
        let words = self.trace.stages[stage].chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' });
        format!("{}_{}_{function}", self.name, words.collect::<String>().to_lowercase())
    }

    /// Prints the one function for all functions of a kind. Returns which rows it uses and, last, whether it uses the
    /// working memory.
    fn kind(&self, kind: usize, text: &mut String) -> Vec<bool> {
        let function = self.schedule.kinds.functions[kind][0];
        let table = &self.schedule.tables[kind];
        let name = self.function_name(function);
        let instance = (!table.is_empty()).then_some("int k");
        let mut body = String::new();
        self.items(&self.schedule.functions[function].items, (function, control::ACTIVE), 1, &mut body);
        let uses: Vec<bool> = self.rows().map(|row| row.name).chain(["w"]).map(|name| names(&body, name)).collect();
        let _ = writeln!(text, "STAGE {}\n{{", self.signature(&name, &uses, None, instance));
        let offsets = table.offsets.iter().map(|row| row.iter().map(isize::to_string).collect());
        declare_table("int", "offset", offsets.collect(), text);
        for (precision, name, rows) in
            [(Precision::Double, "constant", &table.doubles), (Precision::Single, "single", &table.singles)]
        {
            let rows = rows.iter().map(|row| row.iter().map(|&x| literal(precision, x)).collect());
            declare_table(number(precision), name, rows.collect(), text);
        }
        text.push_str(&body);
        text.push_str("}\n\n");
        uses
    }
}

/// Does the C text mention a variable of this name? Fields of the working memory do not count.
fn names(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(name).any(|(at, _)| {
        let (before, behind) = (&text[..at], &text[at + name.len()..]);
        !before.ends_with(is_part) && !before.ends_with("->") && !before.ends_with('.') && !behind.starts_with(is_part)
    })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::PRELUDE;

    /// −(2 · 3 − 6) is −0, however the compiler finds its instructions.
    #[test]
    fn zeros_have_their_sign() {
        if !Command::new("cc").arg("--version").output().is_ok_and(|output| output.status.success()) {
            println!("skipped: there is no C compiler cc");
            return;
        }
        let main = "__attribute__((noinline)) double f(double a, double b, double c) { return negated(fma(a, b, c)); }\n\
            __attribute__((noinline)) float g(float a, float b, float c) { return negatedf(fmaf(a, b, c)); }\n\
            int main(void) { return !(signbit(f(2, 3, -6)) && signbit(g(2, 3, -6)) && f(1, 2, 1) == -3); }\n";
        let folder = std::env::temp_dir().join(format!("fingertip_zeros_{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (text, program) = (folder.join("zeros.c"), folder.join("zeros"));
        std::fs::write(&text, format!("{PRELUDE}{main}")).unwrap();
        for level in ["-O0", "-O1", "-O2", "-O3"] {
            let mut compile = Command::new("cc");
            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("fma") {
                compile.arg("-mfma");
            }
            let output =
                compile.args([level, "-ffp-contract=off"]).arg(&text).arg("-o").arg(&program).arg("-lm").output();
            let output = output.unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            assert!(Command::new(&program).status().unwrap().success(), "{level}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
