//! Traces as C, which is CUDA C too.

use std::collections::HashSet;
use std::fmt::Write;

use crate::math::lane::Precision;

use super::op::{Id, Node, Op};
use super::schedule::{Pool, Schedule, Step};
use super::trace::{Item, Kind, Region, Row, Trace, Variable};

/// What text in C starts with: the operations that it has no sign for.
pub(crate) const PRELUDE: &str = "\
#include <math.h>

#ifdef __FAST_MATH__
#error \"This code counts on the rounding that IEEE 754 asks for: compile without -ffast-math.\"
#endif
#if defined(__GNUC__)
#define STAGE static __attribute__((noinline)) void
#else
#define STAGE static void
#endif
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
";

/// What a function is printed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// C: working memory is a structure.
    C,
    /// CUDA: it is three pointers, see [`super::cuda`].
    Cuda,
}

/// A trace as a C function.
pub(crate) struct CFunction {
    /// Numbers of double precision, of single precision and flags in its working memory.
    pub(crate) sizes: [usize; 3],
    /// The functions that it calls.
    pub(crate) stages: String,
    /// Its name and arguments.
    pub(crate) signature: String,
    /// What it does, in braces.
    pub(crate) body: String,
}

impl CFunction {
    /// The type of its working memory, `NAME_work`.
    pub(crate) fn work(&self, name: &str) -> String {
        let [doubles, singles, flags] = self.sizes;
        let singles = if singles > 0 { format!("  float s[{singles}];\n") } else { String::new() };
        format!("typedef struct {{\n  double d[{}];\n{singles}  int f[{}];\n}} {name}_work;\n", doubles.max(1), flags.max(1))
    }

    /// Bytes of working memory.
    pub(crate) fn memory(&self) -> usize {
        let [doubles, singles, flags] = self.sizes;
        (8 * doubles.max(1) + 4 * singles + 4 * flags.max(1)).next_multiple_of(8)
    }
}

/// The trace as a C function of a name, whose numbers are of a precision.
pub(crate) fn print(trace: &Trace, name: &str, precision: Precision, target: Target) -> CFunction {
    let schedule = Schedule::new(trace);
    let mut outputs = vec![Vec::new(); trace.nodes.len()];
    let mut late = Vec::new();
    let mut next = trace.outputs.iter();
    for row in &trace.results {
        for (k, &id) in next.by_ref().take(row.width).enumerate() {
            let place = format!("{}[{k}]", row.name);
            match trace.nodes[id as usize].op {
                Op::Constant | Op::Input => late.push((place, id)),
                _ => outputs[id as usize].push(place),
            }
        }
    }
    let mut printer =
        Printer { trace, schedule: &schedule, name, number: number(precision), target, outputs, moves: Vec::new() };
    let mut stages = String::new();
    for function in 0..schedule.functions.len() {
        printer.function(function, &mut stages);
    }
    let mut body = String::from("{\n");
    printer.steps(&schedule.steps, 1, &mut body);
    printer.moves.iter().for_each(|function| stages.push_str(function));
    for (place, id) in late {
        let _ = writeln!(body, "  {place} = {};", printer.value(id, None));
    }
    body.push_str("}\n");

    let signature = printer.signature(name);
    CFunction { sizes: schedule.sizes, stages, signature, body }
}

/// The C type of numbers.
pub(crate) fn number(precision: Precision) -> &'static str {
    match precision {
        Precision::Double => "double",
        Precision::Single => "float",
    }
}

struct Printer<'a> {
    trace: &'a Trace,
    schedule: &'a Schedule,
    name: &'a str,
    number: &'static str,
    target: Target,
    /// The results that each node is.
    outputs: Vec<Vec<String>>,
    /// Functions that set variables of the driver.
    moves: Vec<String>,
}

/// Assignments in the driver, at most; a compiler takes long for thousands of them, which have functions of their own.
const MOVES: usize = 64;
/// Assignments in such a function, at most.
const MOVES_OF_FUNCTION: usize = 400;

impl Printer<'_> {
    fn node(&self, id: Id) -> Node {
        self.trace.nodes[id as usize]
    }

    fn signature(&self, name: &str) -> String {
        let number = self.number;
        let read = self.trace.operands.iter().map(|Row { name, .. }| format!("const {number} *restrict {name}"));
        let written = self.trace.results.iter().map(|Row { name, .. }| format!("{number} *restrict {name}"));
        let work = match self.target {
            Target::C => format!("{}_work *restrict w", self.name),
            Target::Cuda => format!("{}_work w", self.name),
        };
        format!("{name}({})", read.chain(written).chain([work]).collect::<Vec<_>>().join(", "))
    }

    fn function_name(&self, function: usize) -> String {
        let stage = usize::from(self.schedule.functions[function].stage);
        let words = self.trace.stages[stage].chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' });
        format!("{}_{}_{function}", self.name, words.collect::<String>().to_lowercase())
    }

    fn function(&self, function: usize, text: &mut String) {
        let _ = writeln!(text, "STAGE {}\n{{", self.signature(&self.function_name(function)));
        self.items(&self.schedule.functions[function].items, function, 1, text);
        text.push_str("}\n\n");
    }

    fn place(&self, id: Id) -> Option<String> {
        let place = self.schedule.places[id as usize]?;
        let pool = match Pool::of(self.trace, id) {
            Pool::Double => 'd',
            Pool::Single => 's',
            Pool::Flag => 'f',
        };
        Some(format!("w->{pool}[{place}]"))
    }

    /// A node's value in a function, or in the driver.
    fn value(&self, id: Id, function: Option<usize>) -> String {
        let node = self.node(id);
        match node.op {
            Op::Constant => literal(node.precision, f64::from_bits(node.bits)),
            Op::Flag => node.bits.to_string(),
            Op::Input => {
                let mut place = node.bits as usize;
                for Row { name, width } in &self.trace.operands {
                    if place < *width {
                        return format!("{name}[{place}]");
                    }
                    place -= width;
                }
                String::from("NAN")
            }
            _ => match self.place(id) {
                Some(place) if function.is_none() || self.schedule.function_of[id as usize] != function => place,
                _ => format!("v{id}"),
            },
        }
    }

    fn type_of(&self, id: Id) -> &'static str {
        match Pool::of(self.trace, id) {
            Pool::Double => "double",
            Pool::Single => "float",
            Pool::Flag => "int",
        }
    }

    fn items(&self, items: &[Item], function: usize, depth: usize, text: &mut String) {
        let pad = "  ".repeat(depth);
        for item in items {
            match *item {
                Item::Node(id) => {
                    let expression = self.expression(id, function);
                    let _ = writeln!(text, "{pad}const {} v{id} = {expression};", self.type_of(id));
                    self.leave(id, &pad, text);
                }
                Item::Region(region) => self.region(region, function, depth, text),
                Item::LeaveUnless(_) => {}
            }
        }
    }

    /// What others want of a node that is there.
    fn leave(&self, id: Id, pad: &str, text: &mut String) {
        for place in self.place(id).iter().chain(&self.outputs[id as usize]) {
            let _ = writeln!(text, "{pad}{place} = v{id};");
        }
    }

    /// A region inside a function.
    fn region(&self, region: usize, function: usize, depth: usize, text: &mut String) {
        let pad = "  ".repeat(depth);
        let Region { kind, items, variables } = &self.trace.regions[region];
        for Variable { id, start, .. } in variables {
            let _ = writeln!(text, "{pad}{} v{id} = {};", self.type_of(*id), self.value(*start, Some(function)));
        }
        let set = |from: fn(&Variable) -> Id, pad: &str, text: &mut String| {
            let to = |id: Id| format!("v{id}");
            let [copies, changes] = self.changes(variables, from, &to, &|id| self.value(id, Some(function)));
            copies.iter().chain(&changes).for_each(|line| {
                let _ = writeln!(text, "{pad}{line}");
            });
        };
        match *kind {
            Kind::Loop { most } => {
                let _ = writeln!(text, "{pad}for (int i{region} = 0; i{region} < {most}; ++i{region}) {{");
                let leaves = items.iter().position(|item| matches!(item, Item::LeaveUnless(_)));
                let (before, behind) = items.split_at(leaves.unwrap_or(0));
                self.items(before, function, depth + 1, text);
                if let Some(Item::LeaveUnless(go)) = behind.first() {
                    let _ = writeln!(text, "{pad}  if (!{}) {{", self.value(*go, Some(function)));
                    set(|variable| variable.exit, &format!("{pad}    "), text);
                    let _ = writeln!(text, "{pad}    break;\n{pad}  }}");
                }
                self.items(behind, function, depth + 1, text);
            }
            Kind::Branch { mask } => {
                let _ = writeln!(text, "{pad}if ({}) {{", self.value(mask, Some(function)));
                self.items(items, function, depth + 1, text);
            }
            Kind::Whole => {}
        }
        set(|variable| variable.end, &format!("{pad}  "), text);
        let _ = writeln!(text, "{pad}}}");
        for variable in variables {
            self.leave(variable.id, &pad, text);
        }
    }

    /// What sets variables, all at once: copies of those that others of them become, then what changes.
    fn changes(
        &self,
        variables: &[Variable],
        from: fn(&Variable) -> Id,
        to: &dyn Fn(Id) -> String,
        value: &dyn Fn(Id) -> String,
    ) -> [Vec<String>; 2] {
        let changes: Vec<(Id, Id)> =
            variables.iter().map(|v| (v.id, from(v))).filter(|(id, from)| id != from).collect();
        let own: HashSet<Id> = changes.iter().map(|(id, _)| *id).collect();
        let copy = |&(id, from): &(Id, Id)| format!("const {} n{id} = {};", self.type_of(id), value(from));
        let change = |&(id, from): &(Id, Id)| {
            let value = if own.contains(&from) { format!("n{id}") } else { value(from) };
            format!("{} = {value};", to(id))
        };
        let copies = changes.iter().filter(|(_, from)| own.contains(from)).map(copy).collect();
        [copies, changes.iter().map(change).collect()]
    }

    /// The same in the driver.
    fn set(&mut self, variables: &[Variable], from: fn(&Variable) -> Id, depth: usize, text: &mut String) {
        let pad = "  ".repeat(depth);
        let value = |id: Id| self.value(id, None);
        let [copies, changes] = self.changes(variables, from, &value, &value);
        if changes.len() <= MOVES {
            copies.iter().chain(&changes).for_each(|line| {
                let _ = writeln!(text, "{pad}{line}");
            });
            return;
        }
        // With copies, all in one function.
        let most = if copies.is_empty() { MOVES_OF_FUNCTION } else { changes.len() };
        for changes in changes.chunks(most) {
            let name = format!("{}_set_{}", self.name, self.moves.len());
            let lines: Vec<String> = copies.iter().chain(changes).map(|line| format!("  {line}\n")).collect();
            let signature = self.signature(&name);
            self.moves.push(format!("STAGE {signature}\n{{\n{}}}\n\n", lines.concat()));
            let _ = writeln!(text, "{pad}{name}({});", self.arguments());
        }
    }

    fn arguments(&self) -> String {
        let rows = self.trace.operands.iter().chain(&self.trace.results).map(|row| row.name);
        rows.chain(["w"]).collect::<Vec<_>>().join(", ")
    }

    fn steps(&mut self, steps: &[Step], depth: usize, text: &mut String) {
        let pad = "  ".repeat(depth);
        let trace = self.trace;
        for step in steps {
            match step {
                Step::Call(function) => {
                    let _ = writeln!(text, "{pad}{}({});", self.function_name(*function), self.arguments());
                }
                Step::LeaveUnless { region, go } => {
                    let _ = writeln!(text, "{pad}if (!{}) {{", self.value(*go, None));
                    self.set(&trace.regions[*region].variables, |variable| variable.exit, depth + 1, text);
                    let _ = writeln!(text, "{pad}  break;\n{pad}}}");
                }
                Step::Region { region, steps } => {
                    let Region { kind, variables, .. } = &trace.regions[*region];
                    self.set(variables, |variable| variable.start, depth, text);
                    match *kind {
                        Kind::Branch { mask } => {
                            let _ = writeln!(text, "{pad}if ({}) {{", self.value(mask, None));
                        }
                        Kind::Loop { most } => {
                            let _ = writeln!(text, "{pad}for (int i{region} = 0; i{region} < {most}; ++i{region}) {{");
                        }
                        Kind::Whole => {}
                    }
                    self.steps(steps, depth + 1, text);
                    self.set(variables, |variable| variable.end, depth + 1, text);
                    let _ = writeln!(text, "{pad}}}");
                    for variable in variables {
                        for place in &self.outputs[variable.id as usize] {
                            let _ = writeln!(text, "{pad}{place} = {};", self.value(variable.id, None));
                        }
                    }
                }
            }
        }
    }

    fn expression(&self, id: Id, function: usize) -> String {
        let node = self.node(id);
        let [a, b, c] = node.arguments;
        let value = |id: Id| self.value(id, Some(function));
        // Of the functions of math.h.
        let suffix = if node.precision == Precision::Single { "f" } else { "" };
        match node.op {
            Op::Constant | Op::Flag | Op::Input | Op::Variable | Op::FlagVariable => value(id),
            Op::Add => format!("{} + {}", value(a), value(b)),
            Op::Sub => format!("{} - {}", value(a), value(b)),
            Op::Mul => format!("{} * {}", value(a), value(b)),
            Op::Div => format!("{} / {}", value(a), value(b)),
            Op::Neg => format!("-{}", value(a)),
            Op::Fma => format!("fma{suffix}({}, {}, {})", value(a), value(b), value(c)),
            Op::Sqrt => format!("sqrt{suffix}({})", value(a)),
            Op::Sin => format!("sin{suffix}({})", value(a)),
            Op::Cos => format!("cos{suffix}({})", value(a)),
            Op::Ln => format!("log{suffix}({})", value(a)),
            Op::Atan2 => format!("atan2{suffix}({}, {})", value(a), value(b)),
            Op::Abs => format!("fabs{suffix}({})", value(a)),
            Op::Min => format!("MIN({}, {})", value(a), value(b)),
            Op::Max => format!("MAX({}, {})", value(a), value(b)),
            Op::Lt => format!("{} < {}", value(a), value(b)),
            Op::Select => format!("{} ? {} : {}", value(a), value(b), value(c)),
            Op::And => format!("{} & {}", value(a), value(b)),
            Op::Or => format!("{} | {}", value(a), value(b)),
            Op::Not => format!("!{}", value(a)),
            Op::Widen => format!("(double){}", value(a)),
            Op::Narrow => format!("(float){}", value(a)),
        }
    }
}

/// A number as C reads it back to the last bit.
pub(crate) fn literal(precision: Precision, x: f64) -> String {
    let number = match (x.is_nan(), x.is_infinite()) {
        (true, _) => String::from("NAN"),
        (_, true) => String::from("INFINITY"),
        #[expect(clippy::cast_possible_truncation, reason = "it is a number of single precision")]
        _ if precision == Precision::Single => format!("{:e}f", (x as f32).abs()),
        _ => format!("{:e}", x.abs()),
    };
    if x.is_sign_negative() && !x.is_nan() { format!("(-{number})") } else { number }
}
