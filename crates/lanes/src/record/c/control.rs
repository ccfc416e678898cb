//! Prints control flow: calls, branches and loops, and the copying of variables and results.

use std::collections::HashSet;
use std::fmt::Write;

use crate::lane::Precision;
use crate::order::Order;

use super::super::functions::{Pool, Step};
use super::super::kinds::Slot;
use super::super::op::Id;
use super::super::trace::{Item, Kind, Output, Region, Row, Variable};
use super::printer::{At, Printer};
use super::text::{Text, declare_table, number_of};

/// The fewest copies between places in the driver for which a table and a loop are printed in place of single
/// assignments.
const MOVES: usize = 8;
/// The C variable with the mask of active worlds: those for which the current code runs.
pub(super) const ACTIVE: &str = "w->active";

impl Printer<'_> {
    /// The C expression of a place in the results, to assign to.
    pub(super) fn result(&self, &Output { row, place, of_step, .. }: &Output, at: At) -> String {
        let index = self.index(place, Slot::Result { row, place }, at);
        number_of(&self.trace.results[row], &index, at == At::Driver && of_step)
    }

    /// Prints the driver's writing of results. Numbers that stand in working memory are copied by a table and a loop,
    /// if there are many.
    pub(super) fn write(&self, outputs: &[Output], text: &mut Text) {
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

    /// Prints a table of the given rows, and a loop that executes `line` for each row `moved[i]`.
    pub(super) fn by_table(&self, rows: Vec<Vec<String>>, line: &str, text: &mut Text) {
        let n = rows.len();
        text.open("{");
        declare_table("int", "moved", rows, &mut text.text);
        text.open(&format!("for (int i = 0; i < {n}; ++i) {{"));
        text.line(line);
        text.close();
        text.close();
    }

    /// The assignment of `value` to `to` where the mask is set; other worlds keep their content. Without a mask it is a
    /// plain assignment.
    pub(super) fn blended(&self, id: Id, mask: Option<&str>, to: &str, value: String) -> String {
        let node = self.node(id);
        match mask {
            None => format!("{to} = {value};"),
            Some(mask) if node.op.is_flag() => format!("{to} = MERGE({mask}, {value}, {to});"),
            Some(mask) => format!("{to} = SELECT_{}({mask}, {value}, {to});", self.letter(node.precision)),
        }
    }

    /// Prints the items of a function or region, for the worlds in the mask `active`.
    pub(super) fn items(&self, items: &[Item], (function, active): (usize, &str), depth: usize, text: &mut String) {
        let pad = "  ".repeat(depth);
        for item in items {
            match *item {
                Item::Node(id) => {
                    let (expression, name) = (self.expression(id, function), self.local(id, function));
                    let _ = writeln!(text, "{pad}const {} {name} = {expression};", self.type_of(id));
                    self.leave(id, function, &pad, text);
                }
                Item::Region(region) => self.region(region, (function, active), depth, text),
                Item::LeaveUnless(_) | Item::Part => {}
            }
        }
    }

    /// The mask for writing to a node's place, if worlds that are not active must keep the old content.
    fn kept_worlds(&self, id: Id) -> Option<&'static str> {
        (self.is_vector() && self.schedule.layout.is_masked[id as usize]).then_some(ACTIVE)
    }

    /// Prints the storing of a computed node: in its place in working memory and in results, as far as others need it.
    pub(super) fn leave(&self, id: Id, function: usize, pad: &str, text: &mut String) {
        let (at, name) = (At::Function(function), self.local(id, function));
        if let Some(place) = self.place(id, at, Slot::Place(id)) {
            let _ = writeln!(text, "{pad}{}", self.blended(id, self.kept_worlds(id), &place, name.clone()));
        }
        for output in &self.schedule.layout.outputs[id as usize] {
            let _ = writeln!(text, "{pad}{} = {name};", self.result(output, at));
        }
    }

    /// Prints a branch or loop inside a function, for the worlds in the mask `active`.
    pub(super) fn region(&self, region: usize, (function, active): (usize, &str), depth: usize, text: &mut String) {
        let pad = "  ".repeat(depth);
        let Region { kind, items, variables } = &self.trace.regions[region];
        for Variable { id, start, .. } in variables {
            let (start, name) = (self.value(*start, At::Function(function)), self.local(*id, function));
            let _ = writeln!(text, "{pad}{} {name} = {start};", self.type_of(*id));
        }
        // The mask of the worlds inside the region.
        let (own, is_vector) = (format!("a{region}"), self.is_vector());
        let set = |from: fn(&Variable) -> Id, mask: &str, pad: &str, text: &mut String| {
            let to = |id: Id| self.local(id, function);
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

    /// The variables that need an assignment, each with its new value, and the set of these variables. Variables that
    /// keep their value, or whose new value already stands in their place, need none.
    pub(super) fn changed(
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

    /// Statements that set variables simultaneously, in the worlds of a mask: first copies of the values that other
    /// assignments overwrite, then the assignments.
    pub(super) fn changes(
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

    /// Prints the setting of a region's variables in the driver. Moves between places in memory use a table and a loop,
    /// if there are many.
    pub(super) fn set(&self, variables: &[Variable], from: fn(&Variable) -> Id, mask: Option<&str>, text: &mut Text) {
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

    /// The arguments of a call from the driver: the rows and working memory that the function uses, and the instance
    /// number.
    fn arguments(&self, function: usize, in_time: bool, instance: Option<String>) -> String {
        let uses = &self.uses[self.schedule.kinds.of[function].0];
        let of = |row: &Row| match row.step {
            0 => row.name.to_owned(),
            step if in_time => format!("{} + t * {step}", row.name),
            _ => row.name.to_owned(),
        };
        let all =
            self.rows().map(of).chain([String::from("w")]).zip(uses).filter(|(_, used)| **used).map(|(name, _)| name);
        all.chain(instance).collect::<Vec<_>>().join(", ")
    }

    /// Prints steps of the driver.
    pub(super) fn steps(&self, steps: &[Step], text: &mut Text) {
        let trace = self.trace;
        // Consecutive instances of one kind are called in a loop.
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
                    let call = format!("{name}({});", self.arguments(*function, text.in_time, instance));
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
                    for mask in [None, Some(ACTIVE)] {
                        let own = variables.iter().filter(|variable| self.kept_worlds(variable.id) == mask);
                        self.set(&own.copied().collect::<Vec<_>>(), |variable| variable.start, mask, text);
                    }
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
                    self.set(variables, |variable| variable.end, is_masked.then_some(ACTIVE), text);
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
}
