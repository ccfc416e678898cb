//! Traces as C.

use std::collections::HashSet;
use std::fmt::Write;

use crate::math::lane::Precision;
use crate::math::program::Order;

use super::cuda::THREADS;
use super::kinds::{Difference, Slot, Table};
use super::op::{Id, Node, Op};
use super::schedule::{Pool, Schedule, Step, is_prompt};
use super::trace::{Item, Kind, Output, Region, Row, Trace, Variable};

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
#define TABLE static const
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
";

/// What text for registers starts with, once `DOUBLES` says how many numbers of double precision are in one and `SINGLE` whether
/// rows are of single precision.
#[cfg(feature = "native")]
pub(crate) const VECTOR_PRELUDE: &str = include_str!("vector.h");

/// A trace as a C function.
pub(crate) struct CFunction {
    /// The type of its working memory, `NAME_work`.
    pub(crate) work: String,
    /// The functions that it calls.
    pub(crate) stages: String,
    /// Its name and arguments.
    pub(crate) signature: String,
    /// What it does, in braces.
    pub(crate) body: String,
    /// Bytes of working memory.
    pub(crate) memory: usize,
    /// How many numbers of double precision, of single precision and flags that is.
    pub(crate) sizes: [usize; 3],
}

/// How many worlds the printed code computes at a time.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Worlds {
    /// One.
    One,
    /// One, in CUDA C: working memory is handed over by pointers to its three parts, see [`super::cuda`].
    Thread,
    /// As many as fill a register, with the operations of [`VECTOR_PRELUDE`].
    #[cfg(feature = "native")]
    Register,
}

/// The trace as a C function of a name, whose numbers are of a precision.
pub(crate) fn print(trace: &Trace, name: &str, precision: Precision, worlds: Worlds) -> CFunction {
    let operations: usize = trace.operations().iter().map(|(_, count)| count).sum();
    let schedule = Schedule::new(trace, worlds == Worlds::Thread || operations > LONG);
    let mut late = [Vec::new(), Vec::new()];
    for output in trace.outputs.iter().filter(|output| !is_prompt(trace, &schedule.in_time, output)) {
        late[usize::from(output.of_step)].push(*output);
    }
    let printer = Printer { trace, schedule: &schedule, name, precision, worlds, late };
    let mut stages = String::new();
    for kind in 0..schedule.kinds.functions.len() {
        printer.kind(kind, &mut stages);
    }
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
    let mut body = body.text;
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
    let signature = printer.signature(name, printer.has_steps().then_some(STEPS), None);
    CFunction { work, stages, signature, body, memory: memory.next_multiple_of(8), sizes: schedule.layout.sizes }
}

/// The argument of a function with a loop over time that says how many steps there are.
pub(crate) const STEPS: &str = "unsigned long long n_steps";

/// Operations of a trace from which on functions that are alike are one. To look for places costs a sixth of the time of shorter ones,
/// which compile in seconds anyway; GPUs have little room for instructions and gain by it always.
const LONG: usize = 30_000;

/// A number of a row; `in_time` in the step that the driver is at.
fn number_of(row: &Row, place: &str, in_time: bool) -> String {
    if in_time { format!("({} + t * {})[{place}]", row.name, row.step) } else { format!("{}[{place}]", row.name) }
}

/// Declares a table, if it has columns.
fn declare_table(of: &str, name: &str, rows: Vec<Vec<String>>, text: &mut String) {
    let columns = rows.first().map_or(0, Vec::len);
    if columns > 0 {
        let lines: Vec<String> = rows.iter().map(|row| format!("{{{}}}", row.join(", "))).collect();
        let _ = writeln!(text, "  TABLE {of} {name}[{}][{columns}] = {{{}}};", rows.len(), lines.join(", "));
    }
}

/// The driver's text.
struct Text {
    text: String,
    depth: usize,
    /// Is it in the loop over time?
    in_time: bool,
}

impl Text {
    fn line(&mut self, line: &str) {
        let pad = "  ".repeat(self.depth);
        let _ = writeln!(self.text, "{pad}{line}");
    }

    fn open(&mut self, line: &str) {
        self.line(line);
        self.depth += 1;
    }

    fn close(&mut self) {
        self.depth -= 1;
        self.line("}");
    }
}

/// The C type of numbers.
pub(crate) fn number(precision: Precision) -> &'static str {
    match precision {
        Precision::Double => "double",
        Precision::Single => "float",
    }
}

/// Where in the code something is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    /// In the function with this number.
    Function(usize),
    Driver,
}

impl At {
    fn is_function(self, function: Option<usize>) -> bool {
        matches!(self, Self::Function(here) if function == Some(here))
    }
}

struct Printer<'a> {
    trace: &'a Trace,
    schedule: &'a Schedule,
    name: &'a str,
    precision: Precision,
    worlds: Worlds,
    /// The results that are written at the end of the whole and of each step.
    late: [Vec<Output>; 2],
}

/// Assignments in the driver from one place to another that a table is made for, at least.
const MOVES: usize = 8;

impl Printer<'_> {
    fn node(&self, id: Id) -> Node {
        self.trace.nodes[id as usize]
    }

    /// Is there a loop over time?
    fn has_steps(&self) -> bool {
        self.trace.has_steps()
    }

    fn signature(&self, name: &str, steps: Option<&str>, instance: Option<&str>) -> String {
        let number = self.number_type();
        let read = self.trace.operands.iter().map(|Row { name, .. }| format!("const {number} *restrict {name}"));
        let written = self.trace.results.iter().map(|Row { name, .. }| format!("{number} *restrict {name}"));
        let work = match self.worlds {
            Worlds::Thread => format!("{}_work w", self.name),
            _ => format!("{}_work *restrict w", self.name),
        };
        let steps = steps.map(str::to_owned);
        let all = read.chain(written).chain(steps).chain([work]).chain(instance.map(str::to_owned));
        format!("{name}({})", all.collect::<Vec<_>>().join(", "))
    }

    /// The table of what differs among functions like this one.
    fn table(&self, function: usize) -> &Table {
        &self.schedule.tables[self.schedule.kinds.of[function].0]
    }

    /// The function that is printed for this one.
    fn printed(&self, function: usize) -> usize {
        self.schedule.kinds.functions[self.schedule.kinds.of[function].0][0]
    }

    fn function_name(&self, function: usize) -> String {
        let function = self.printed(function);
        let stage = usize::from(self.schedule.functions[function].stage);
        let words = self.trace.stages[stage].chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' });
        format!("{}_{}_{function}", self.name, words.collect::<String>().to_lowercase())
    }

    /// The function for all functions of a kind.
    fn kind(&self, kind: usize, text: &mut String) {
        let function = self.schedule.kinds.functions[kind][0];
        let table = &self.schedule.tables[kind];
        let name = self.function_name(function);
        let instance = (!table.is_empty()).then_some("int k");
        let _ = writeln!(text, "STAGE {}\n{{", self.signature(&name, None, instance));
        let offsets = table.offsets.iter().map(|row| row.iter().map(isize::to_string).collect());
        declare_table("int", "offset", offsets.collect(), text);
        for (precision, name, rows) in
            [(Precision::Double, "constant", &table.doubles), (Precision::Single, "single", &table.singles)]
        {
            let rows = rows.iter().map(|row| row.iter().map(|&x| literal(precision, x)).collect());
            declare_table(number(precision), name, rows.collect(), text);
        }
        self.items(&self.schedule.functions[function].items, (function, "w->active"), 1, text);
        text.push_str("}\n\n");
    }

    /// A place in a row or in working memory, in a function that may be one of several.
    fn index(&self, place: usize, slot: Slot, at: At) -> String {
        let difference = match at {
            At::Function(function) => self.table(function).difference(slot),
            At::Driver => None,
        };
        match difference {
            Some(Difference::Offset(column)) => format!("{place} + offset[k][{column}]"),
            _ => place.to_string(),
        }
    }

    /// Is the constant in memory, as other functions have a number in its place?
    fn is_in_memory(&self, id: Id, at: At) -> bool {
        match at {
            At::Function(function) => {
                matches!(self.table(function).difference(Slot::Given(id)), Some(Difference::Offset(_)))
            }
            At::Driver => false,
        }
    }

    fn place(&self, id: Id, at: At, slot: Slot) -> Option<String> {
        let place = self.schedule.layout.places[id as usize]?;
        Some(self.at(Pool::of(self.trace, id), &self.index(place, slot, at)))
    }

    /// What is in a place of working memory.
    fn at(&self, pool: Pool, index: &str) -> String {
        let pool = match pool {
            Pool::Double => 'd',
            Pool::Single => 's',
            Pool::Flag => 'f',
        };
        match self.worlds {
            // Beside the other threads' numbers.
            Worlds::Thread => format!("w.{pool}[({index}) * {THREADS}]"),
            _ => format!("w->{pool}[{index}]"),
        }
    }

    /// A node's value.
    fn value(&self, id: Id, at: At) -> String {
        let node = self.node(id);
        match node.op {
            Op::Constant if self.is_in_memory(id, at) => self.place(id, at, Slot::Given(id)).unwrap_or_default(),
            Op::Constant if self.is_vector() => {
                let kind = self.letter(node.precision);
                format!("SPLAT_{kind}({})", self.constant(id, at))
            }
            Op::Constant => self.constant(id, at),
            Op::Flag if self.is_vector() => String::from(if node.bits == 0 { "NONE" } else { "ALL" }),
            Op::Flag => node.bits.to_string(),
            Op::Input => self.input(id, at, false),
            Op::InputOfStep => self.input(id, at, at == At::Driver),
            _ => match self.place(id, at, Slot::Place(id)) {
                Some(place) if !at.is_function(self.schedule.layout.function_of[id as usize]) => place,
                _ => format!("v{id}"),
            },
        }
    }

    /// A constant's text.
    fn constant(&self, id: Id, at: At) -> String {
        let node = self.node(id);
        let difference = match at {
            At::Function(function) => self.table(function).difference(Slot::Given(id)),
            At::Driver => None,
        };
        match (difference, node.precision) {
            (Some(Difference::Constant(column)), Precision::Double) => format!("constant[k][{column}]"),
            (Some(Difference::Constant(column)), Precision::Single) => format!("single[k][{column}]"),
            _ => literal(node.precision, f64::from_bits(node.bits)),
        }
    }

    /// A number of an operand; in the loop over time the driver finds its own step in the row, and hands others that step's part.
    fn input(&self, id: Id, at: At, in_driver: bool) -> String {
        match self.trace.operand_of(self.node(id).bits as usize) {
            Some((row, place)) => {
                number_of(&self.trace.operands[row], &self.index(place, Slot::Given(id), at), in_driver)
            }
            None => String::from("NAN"),
        }
    }

    /// The place of a result, as [`Printer::input`].
    fn result(&self, &Output { row, place, of_step, .. }: &Output, at: At) -> String {
        let index = self.index(place, Slot::Result { row, place }, at);
        number_of(&self.trace.results[row], &index, at == At::Driver && of_step)
    }

    /// Writes results in the driver: what stands in one place after the other by tables, if there is much of it.
    fn write(&self, outputs: &[Output], text: &mut Text) {
        let pool = if self.precision == Precision::Double { Pool::Double } else { Pool::Single };
        let place = |output: &Output| {
            let is_number = Pool::of(self.trace, output.id) == pool && !self.node(output.id).op.is_given();
            self.schedule.layout.places[output.id as usize].filter(|_| is_number)
        };
        for row in 0..self.trace.results.len() {
            let of_row = || outputs.iter().filter(|output| output.row == row);
            let from_places: Vec<Vec<String>> = of_row()
                .filter_map(|output| Some(vec![output.place.to_string(), place(output)?.to_string()]))
                .collect();
            let is_table = from_places.len() >= MOVES;
            for output in of_row().filter(|output| !is_table || place(output).is_none()) {
                text.line(&format!("{} = {};", self.result(output, At::Driver), self.value(output.id, At::Driver)));
            }
            if let (true, Some(Output { of_step, .. })) = (is_table, of_row().next()) {
                let to = number_of(&self.trace.results[row], "moved[i][0]", *of_step);
                self.by_table(from_places, &format!("{to} = {};", self.at(pool, "moved[i][1]")), text);
            }
        }
    }

    /// A line for each row `moved[i]` of a table.
    fn by_table(&self, rows: Vec<Vec<String>>, line: &str, text: &mut Text) {
        let n = rows.len();
        text.open("{");
        declare_table("int", "moved", rows, &mut text.text);
        text.open(&format!("for (int i = 0; i < {n}; ++i) {{"));
        text.line(line);
        text.close();
        text.close();
    }

    fn is_vector(&self) -> bool {
        !matches!(self.worlds, Worlds::One | Worlds::Thread)
    }

    /// Of the numbers in rows.
    fn number_type(&self) -> &'static str {
        self.type_in(if self.precision == Precision::Double { Pool::Double } else { Pool::Single })
    }

    fn type_of(&self, id: Id) -> &'static str {
        self.type_in(Pool::of(self.trace, id))
    }

    fn type_in(&self, pool: Pool) -> &'static str {
        match (pool, self.is_vector()) {
            (Pool::Double, true) if self.precision == Precision::Single => "w_t",
            (Pool::Double, true) => "d_t",
            (Pool::Single, true) => "s_t",
            (Pool::Flag, true) => "m_t",
            (Pool::Double, false) => "double",
            (Pool::Single, false) => "float",
            (Pool::Flag, false) => "int",
        }
    }

    /// The letter of a register's operations.
    fn letter(&self, precision: Precision) -> char {
        match (precision, self.precision) {
            (Precision::Single, _) => 'S',
            (Precision::Double, Precision::Single) => 'W',
            (Precision::Double, Precision::Double) => 'D',
        }
    }

    /// What takes the place of a number or flag where worlds of a mask go on and others do not.
    fn blended(&self, id: Id, mask: Option<&str>, to: &str, value: String) -> String {
        let node = self.node(id);
        match mask {
            None => format!("{to} = {value};"),
            Some(mask) if node.op.is_flag() => format!("{to} = MERGE({mask}, {value}, {to});"),
            Some(mask) => format!("{to} = SELECT_{}({mask}, {value}, {to});", self.letter(node.precision)),
        }
    }

    /// Items of a function, for worlds of a mask.
    fn items(&self, items: &[Item], (function, active): (usize, &str), depth: usize, text: &mut String) {
        let pad = "  ".repeat(depth);
        for item in items {
            match *item {
                Item::Node(id) => {
                    let expression = self.expression(id, function);
                    let _ = writeln!(text, "{pad}const {} v{id} = {expression};", self.type_of(id));
                    self.leave(id, function, &pad, text);
                }
                Item::Region(region) => self.region(region, (function, active), depth, text),
                Item::LeaveUnless(_) | Item::Part => {}
            }
        }
    }

    /// What others want of a node that is there.
    fn leave(&self, id: Id, function: usize, pad: &str, text: &mut String) {
        let at = At::Function(function);
        let results = self.schedule.layout.outputs[id as usize].iter().map(|output| self.result(output, at));
        for place in self.place(id, at, Slot::Place(id)).into_iter().chain(results) {
            let _ = writeln!(text, "{pad}{place} = v{id};");
        }
    }

    /// A region inside a function, for worlds of a mask.
    fn region(&self, region: usize, (function, active): (usize, &str), depth: usize, text: &mut String) {
        let pad = "  ".repeat(depth);
        let Region { kind, items, variables } = &self.trace.regions[region];
        for Variable { id, start, .. } in variables {
            let start = self.value(*start, At::Function(function));
            let _ = writeln!(text, "{pad}{} v{id} = {start};", self.type_of(*id));
        }
        // The worlds that are in the region.
        let (own, is_vector) = (format!("a{region}"), self.is_vector());
        let set = |from: fn(&Variable) -> Id, mask: &str, pad: &str, text: &mut String| {
            let to = |id: Id| format!("v{id}");
            let value = |id: Id| self.value(id, At::Function(function));
            let (changes, own) = Self::changed(variables, from, |id, from| to(id) == value(from));
            let [copies, changes] = self.changes(&changes, (&own, is_vector.then_some(mask)), &to, &value);
            copies.iter().chain(&changes).for_each(|line| {
                let _ = writeln!(text, "{pad}{line}");
            });
        };
        match *kind {
            Kind::Loop { most } => {
                if is_vector {
                    let _ = writeln!(text, "{pad}m_t {own} = {active};");
                }
                let _ = writeln!(text, "{pad}for (int i{region} = 0; i{region} < {most}; ++i{region}) {{");
                let leaves = items.iter().position(|item| matches!(item, Item::LeaveUnless(_)));
                let (before, behind) = items.split_at(leaves.unwrap_or(0));
                self.items(before, (function, &own), depth + 1, text);
                if let Some(Item::LeaveUnless(go)) = behind.first() {
                    let go = self.value(*go, At::Function(function));
                    if is_vector {
                        let _ = writeln!(text, "{pad}  const m_t l{region} = AND({own}, NOT({go}));");
                        let _ = writeln!(text, "{pad}  {own} = AND({own}, NOT(l{region}));");
                        set(|variable| variable.exit, &format!("l{region}"), &format!("{pad}  "), text);
                        let _ = writeln!(text, "{pad}  if (!ANY({own})) break;");
                    } else {
                        let _ = writeln!(text, "{pad}  if (!{go}) {{");
                        set(|variable| variable.exit, "", &format!("{pad}    "), text);
                        let _ = writeln!(text, "{pad}    break;\n{pad}  }}");
                    }
                }
                self.items(behind, (function, &own), depth + 1, text);
            }
            Kind::Branch { mask } => {
                let mask = self.value(mask, At::Function(function));
                if is_vector {
                    let _ = writeln!(text, "{pad}const m_t {own} = AND({mask}, {active});\n{pad}if (ANY({own})) {{");
                } else {
                    let _ = writeln!(text, "{pad}if ({mask}) {{");
                }
                self.items(items, (function, &own), depth + 1, text);
            }
            Kind::Whole | Kind::Time { .. } => {}
        }
        set(|variable| variable.end, &own, &format!("{pad}  "), text);
        let _ = writeln!(text, "{pad}}}");
        for variable in variables {
            self.leave(variable.id, function, &pad, text);
        }
    }

    /// The variables that something happens to, and what: those that become what they are where they are are none.
    fn changed(
        variables: &[Variable],
        from: fn(&Variable) -> Id,
        is_there: impl Fn(Id, Id) -> bool,
    ) -> (Vec<(Id, Id)>, HashSet<Id>) {
        let changes: Vec<(Id, Id)> = variables.iter().map(|variable| (variable.id, from(variable))).collect();
        let changes: Vec<(Id, Id)> =
            changes.into_iter().filter(|&(id, from)| id != from && !is_there(id, from)).collect();
        let own = changes.iter().map(|(id, _)| *id).collect();
        (changes, own)
    }

    /// What sets variables, all at once, in worlds of a mask: copies of those that others of them become, then what changes.
    fn changes(
        &self,
        changes: &[(Id, Id)],
        (own, mask): (&HashSet<Id>, Option<&str>),
        to: &dyn Fn(Id) -> String,
        value: &dyn Fn(Id) -> String,
    ) -> [Vec<String>; 2] {
        let copy = |&(id, from): &(Id, Id)| format!("const {} n{id} = {};", self.type_of(id), value(from));
        let change = |&(id, from): &(Id, Id)| {
            let value = if own.contains(&from) { format!("n{id}") } else { value(from) };
            self.blended(id, mask, &to(id), value)
        };
        let copies = changes.iter().filter(|(_, from)| own.contains(from)).map(copy).collect();
        [copies, changes.iter().map(change).collect()]
    }

    /// The same in the driver: what goes from one place to another by tables.
    fn set(&self, variables: &[Variable], from: fn(&Variable) -> Id, mask: Option<&str>, text: &mut Text) {
        let mask = mask.filter(|_| self.is_vector());
        let value = |id: Id| self.value(id, At::Driver);
        let (changes, own) = Self::changed(variables, from, |id, from| value(id) == value(from));
        let mut moves: [Vec<(Id, Id)>; 3] = Default::default();
        let mut rest = Vec::new();
        for (id, from) in changes {
            if own.contains(&from) || self.node(from).op.is_given() {
                rest.push((id, from));
            } else {
                moves[Pool::of(self.trace, id) as usize].push((id, from));
            }
        }
        for moves in &mut moves {
            if moves.len() < MOVES {
                rest.append(moves);
            }
        }
        let [copies, changes] = self.changes(&rest, (&own, mask), &value, &value);
        copies.iter().for_each(|line| text.line(line));
        for moves in moves.iter().filter(|moves| !moves.is_empty()) {
            let place = |id: Id| self.schedule.layout.places[id as usize].unwrap_or(0).to_string();
            let rows = moves.iter().map(|&(id, from)| vec![place(id), place(from)]).collect();
            let pool = Pool::of(self.trace, moves[0].0);
            let [to, from] = [0, 1].map(|column| self.at(pool, &format!("moved[i][{column}]")));
            self.by_table(rows, &self.blended(moves[0].0, mask, &to, from), text);
        }
        changes.iter().for_each(|line| text.line(line));
    }

    /// What the driver hands to its functions.
    fn arguments(&self, in_time: bool, instance: Option<String>) -> String {
        let rows = self.trace.operands.iter().chain(&self.trace.results);
        let of = |row: &Row| match row.step {
            0 => row.name.to_owned(),
            step if in_time => format!("{} + t * {step}", row.name),
            _ => row.name.to_owned(),
        };
        rows.map(of).chain([String::from("w")]).chain(instance).collect::<Vec<_>>().join(", ")
    }

    fn steps(&self, steps: &[Step], text: &mut Text) {
        let trace = self.trace;
        // Functions of a kind that follow each other in its order are called in a loop, from the first of them on.
        let of = |step: &Step| match step {
            Step::Call(function) => Some(self.schedule.kinds.of[*function]),
            _ => None,
        };
        let is_next = |a: &Step, b: &Step| of(a).is_some_and(|(kind, n)| of(b) == Some((kind, n + 1)));
        for run in steps.chunk_by(is_next) {
            let step = &run[0];
            match step {
                Step::Call(function) => {
                    let (name, first) = (self.function_name(*function), self.schedule.kinds.of[*function].1);
                    let is_one = self.table(*function).is_empty();
                    let instance = match run.len() {
                        _ if is_one => None,
                        1 => Some(first.to_string()),
                        _ => Some(String::from("i")),
                    };
                    let call = format!("{name}({});", self.arguments(text.in_time, instance));
                    if run.len() > 1 {
                        text.line(&format!("for (int i = {first}; i < {}; ++i) {call}", first + run.len()));
                    } else {
                        text.line(&call);
                    }
                }
                Step::LeaveUnless { region, go } => {
                    let (go, variables) = (self.value(*go, At::Driver), &trace.regions[*region].variables);
                    if self.is_vector() {
                        text.line(&format!("w->leaving = AND(w->active, NOT({go}));"));
                        text.line("w->active = AND(w->active, NOT(w->leaving));");
                        self.set(variables, |variable| variable.exit, Some("w->leaving"), text);
                        text.line("if (!ANY(w->active)) break;");
                    } else {
                        text.open(&format!("if (!{go}) {{"));
                        self.set(variables, |variable| variable.exit, None, text);
                        text.line("break;");
                        text.close();
                    }
                }
                Step::Region { region, steps } => {
                    let Region { kind, variables, .. } = &trace.regions[*region];
                    self.set(variables, |variable| variable.start, None, text);
                    let is_masked = self.is_vector() && matches!(kind, Kind::Branch { .. } | Kind::Loop { .. });
                    if is_masked {
                        text.line(&format!("const m_t s{region} = w->active;"));
                    }
                    match *kind {
                        Kind::Branch { mask } if is_masked => {
                            text.line(&format!("w->active = AND(w->active, {});", self.value(mask, At::Driver)));
                            text.open("if (ANY(w->active)) {");
                        }
                        Kind::Branch { mask } => text.open(&format!("if ({}) {{", self.value(mask, At::Driver))),
                        Kind::Loop { most } => {
                            text.open(&format!("for (int i{region} = 0; i{region} < {most}; ++i{region}) {{"));
                        }
                        Kind::Time { order: Order::Forward } => {
                            text.open("for (unsigned long long t = 0; t < n_steps; ++t) {");
                        }
                        Kind::Time { order: Order::Backward } => {
                            text.open("for (unsigned long long t = n_steps; t-- > 0;) {");
                        }
                        Kind::Whole => text.open("{"),
                    }
                    let outside = text.in_time;
                    text.in_time |= matches!(kind, Kind::Time { .. });
                    self.steps(steps, text);
                    if matches!(kind, Kind::Time { .. }) {
                        self.write(&self.late[1], text);
                    }
                    self.set(variables, |variable| variable.end, is_masked.then_some("w->active"), text);
                    text.in_time = outside;
                    text.close();
                    if is_masked {
                        text.line(&format!("w->active = s{region};"));
                    }
                    let outputs = variables
                        .iter()
                        .flat_map(|variable| self.schedule.layout.outputs[variable.id as usize].iter().copied());
                    self.write(&outputs.collect::<Vec<_>>(), text);
                }
            }
        }
    }

    /// An operation on registers.
    fn operation(&self, id: Id, function: usize) -> String {
        let node = self.node(id);
        let arguments: Vec<String> =
            node.arguments().iter().map(|&id| self.value(id, At::Function(function))).collect();
        let name = match node.op {
            Op::Constant | Op::Flag | Op::Input | Op::InputOfStep | Op::Variable | Op::FlagVariable => {
                return self.value(id, At::Function(function));
            }
            Op::And => "AND",
            Op::Or => "OR",
            Op::Not => "NOT",
            Op::Widen => "WIDEN",
            Op::Narrow => "NARROW",
            Op::Add => "ADD",
            Op::Sub => "SUB",
            Op::Mul => "MUL",
            Op::Div => "DIV",
            Op::Neg => "NEG",
            Op::Fma => "FMA",
            Op::Sqrt => "SQRT",
            Op::Sin => "SIN",
            Op::Cos => "COS",
            Op::Ln => "LN",
            Op::Atan2 => "ATAN2",
            Op::Abs => "ABS",
            Op::Min => "MIN",
            Op::Max => "MAX",
            Op::Lt => "LT",
            Op::Select => "SELECT",
        };
        let kind = match node.op {
            Op::And | Op::Or | Op::Not | Op::Widen | Op::Narrow => String::new(),
            _ => format!("_{}", self.letter(node.precision)),
        };
        format!("{name}{kind}({})", arguments.join(", "))
    }

    fn expression(&self, id: Id, function: usize) -> String {
        if self.is_vector() {
            return self.operation(id, function);
        }
        let node = self.node(id);
        let [a, b, c] = node.arguments;
        let value = |id: Id| self.value(id, At::Function(function));
        // Of the functions of math.h.
        let suffix = if node.precision == Precision::Single { "f" } else { "" };
        match node.op {
            Op::Constant | Op::Flag | Op::Input | Op::InputOfStep | Op::Variable | Op::FlagVariable => value(id),
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
