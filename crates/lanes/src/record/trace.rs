//! A trace: the result of recording a program. It holds operations, nested in branches and loops, and an interpreter
//! for them.

use crate::order::Order;

use super::op::{Id, Node, Op};

/// An entry of a region, executed in order.
#[derive(Clone, Copy, Debug)]
pub enum Item {
    /// Computes this node.
    Node(Id),
    /// Executes this branch or loop.
    Region(usize),
    /// Leaves the innermost loop where this flag is not set.
    LeaveUnless(Id),
    /// Marks where a part, one pass of a [`Real::parts`](crate::lane::Real::parts) loop, starts or ends. Parts may be
    /// alike and are candidates for function merging.
    Part,
}

/// The kind of control flow that a region is: a branch, a loop, or `Whole`, the whole program.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Whole,
    /// A branch: executed where the flag `mask` is set.
    Branch {
        mask: Id,
    },
    /// A loop of at most `most` passes, left by [`Item::LeaveUnless`].
    Loop {
        most: usize,
    },
    /// The loop over the time steps of a rollout, one pass per step.
    Time {
        order: Order,
    },
}

/// A branch, a loop, or the whole program, with its entries and the variables that it sets.
#[derive(Clone, Debug)]
pub struct Region {
    pub kind: Kind,
    pub items: Vec<Item>,
    pub variables: Vec<Variable>,
}

/// A number or flag that a branch or loop sets, like a phi node: its values on entry, at an early exit and at the end
/// of a pass.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    /// The node that stands for the variable: behind a branch, and inside and behind a loop.
    pub id: Id,
    /// The value before the region.
    pub start: Id,
    /// The value where a loop is left by [`Item::LeaveUnless`]; equal to `id` if the exit does not change it.
    pub exit: Id,
    /// The value at the end of a branch, and at the end of each pass through a loop.
    pub end: Id,
}

/// An operand or a result: a row of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The name of the row in printed code.
    pub name: &'static str,
    /// The number of numbers in the row when there is one time step.
    pub width: usize,
    /// The number of numbers that each further step of a rollout adds; 0 if the row does not depend on the step.
    pub step: usize,
}

impl Row {
    /// A row of `width` numbers, however many steps there are.
    pub fn new(name: &'static str, width: usize) -> Self {
        Self { name, width, step: 0 }
    }

    /// The length of the row for `n_steps` steps.
    pub fn length(&self, n_steps: usize) -> usize {
        self.width + self.step * n_steps - self.step
    }
}

/// A recorded program: its operations for one world, with branches and loops.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The operations, in the order in which they were recorded.
    pub nodes: Vec<Node>,
    /// The names of the program's stages.
    pub stages: Vec<String>,
    /// The stage of each node, an index into `stages`.
    pub stage_of: Vec<u16>,
    /// The regions. The first is the whole program; others count only if they are an item of another region.
    pub regions: Vec<Region>,
    pub(super) operands: Vec<Row>,
    pub(super) results: Vec<Row>,
    /// The node of each number of the results, row after row.
    pub outputs: Vec<Output>,
}

/// One number of the results.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    pub id: Id,
    /// The result's row, and the number's index in the part of that row that belongs to the first step.
    pub row: usize,
    pub place: usize,
    /// Is the number written in each time step?
    pub of_step: bool,
}

impl Trace {
    /// The row that holds the number with this index among all operands, and the index in that row.
    pub(super) fn operand_of(&self, mut place: usize) -> Option<(usize, usize)> {
        for (row, of) in self.operands.iter().enumerate() {
            if place < of.width {
                return Some((row, place));
            }
            place -= of.width;
        }
        None
    }

    /// Does the trace contain a loop over time? Then the lengths of its rows depend on the number of steps.
    pub fn has_steps(&self) -> bool {
        self.regions[0].items.iter().any(|item| match *item {
            Item::Region(inner) => matches!(self.regions[inner].kind, Kind::Time { .. }),
            _ => false,
        })
    }

    /// The rows that the program reads, in the order of its arguments.
    pub fn operands(&self) -> &[Row] {
        &self.operands
    }

    /// The rows that the program writes, in the order of its arguments.
    pub fn results(&self) -> &[Row] {
        &self.results
    }

    /// The number of operations in each stage. Those in loops and branches count once.
    pub fn operations(&self) -> Vec<(&str, usize)> {
        let mut counts = vec![0; self.stages.len()];
        self.visit(0, &mut |id| counts[usize::from(self.stage_of[id as usize])] += 1);
        self.stages.iter().map(String::as_str).zip(counts).filter(|(_, count)| *count > 0).collect()
    }

    /// Calls `f` for each operation of a region and of the regions inside it.
    pub fn visit(&self, region: usize, f: &mut impl FnMut(Id)) {
        for item in &self.regions[region].items {
            match *item {
                Item::Node(id) => f(id),
                Item::Region(inner) => self.visit(inner, f),
                Item::LeaveUnless(_) | Item::Part => {}
            }
        }
    }

    /// Interprets the trace for one world. `operands` are the numbers of all operand rows, one row after the other; the
    /// returned results likewise. Operands that are missing count as NaN. This is for tests: printed and compiled code
    /// takes a hundredth of the time.
    pub fn run(&self, operands: &[f64]) -> Vec<f64> {
        self.run_steps(operands, 1)
    }

    /// [`Trace::run`] for a rollout of `n_steps` steps: rows have the lengths that [`Row::length`] gives.
    pub fn run_steps(&self, operands: &[f64], n_steps: usize) -> Vec<f64> {
        let mut starts = vec![0];
        for row in &self.results {
            starts.push(starts[starts.len() - 1] + row.length(n_steps));
        }
        let results = vec![f64::NAN; starts[starts.len() - 1]];
        let mut run = Run { trace: self, values: Vec::new(), operands, n_steps, starts, results };
        run.values = self.nodes.iter().map(|node| run.given(node, 0)).collect();
        run.region(0);
        run.write(false, 0);
        run.results
    }
}

/// The state of the interpreter that runs a trace.
struct Run<'a> {
    trace: &'a Trace,
    /// The current value of each node; flags are 0 or 1.
    values: Vec<f64>,
    operands: &'a [f64],
    n_steps: usize,
    /// The start of each result's row in `results`.
    starts: Vec<usize>,
    results: Vec<f64>,
}

impl Run<'_> {
    /// The value of a constant, flag or input in step t; NaN for all other nodes.
    fn given(&self, node: &Node, t: usize) -> f64 {
        match node.op {
            Op::Constant => f64::from_bits(node.bits),
            Op::Flag => f64::from(u8::from(node.bits != 0)),
            Op::Input | Op::InputOfStep => {
                let (mut place, mut start) = (node.bits as usize, 0);
                for row in &self.trace.operands {
                    if place < row.width {
                        let number = self.operands.get(start + place + t * row.step);
                        return number.map_or(f64::NAN, |&x| node.precision.rounded(x));
                    }
                    place -= row.width;
                    start += row.length(self.n_steps);
                }
                f64::NAN
            }
            _ => f64::NAN,
        }
    }

    /// Writes results: those of step t if `of_step` is set, else those that belong to no step.
    fn write(&mut self, of_step: bool, t: usize) {
        for output in self.trace.outputs.iter().filter(|output| output.of_step == of_step) {
            let place = self.starts[output.row] + output.place + t * self.trace.results[output.row].step;
            self.results[place] = self.values[output.id as usize];
        }
    }

    /// Executes the items of a region. Returns false if a loop was left by [`Item::LeaveUnless`].
    fn region(&mut self, region: usize) -> bool {
        let trace = self.trace;
        for item in &trace.regions[region].items {
            match *item {
                Item::Node(id) => {
                    let Node { op, precision, arguments, .. } = trace.nodes[id as usize];
                    let arguments = arguments.map(|id| self.values[id as usize]);
                    self.values[id as usize] = op.value(precision, arguments);
                }
                Item::Region(inner) => self.inner(inner),
                Item::LeaveUnless(go) => {
                    if self.values[go as usize] == 0.0 {
                        return false;
                    }
                }
                Item::Part => {}
            }
        }
        true
    }

    /// Sets the variables of a region simultaneously, as the new value of one may be the old value of another.
    fn set(&mut self, region: usize, from: fn(&Variable) -> Id) {
        let variables = &self.trace.regions[region].variables;
        let next: Vec<f64> = variables.iter().map(|variable| self.values[from(variable) as usize]).collect();
        variables.iter().zip(next).for_each(|(variable, x)| self.values[variable.id as usize] = x);
    }

    /// Executes a branch or loop inside another region.
    fn inner(&mut self, region: usize) {
        self.set(region, |variable| variable.start);
        match self.trace.regions[region].kind {
            Kind::Whole => {}
            Kind::Branch { mask } => {
                if self.values[mask as usize] != 0.0 {
                    self.region(region);
                    self.set(region, |variable| variable.end);
                }
            }
            Kind::Loop { most } => {
                for _ in 0..most {
                    if !self.region(region) {
                        self.set(region, |variable| variable.exit);
                        break;
                    }
                    self.set(region, |variable| variable.end);
                }
            }
            Kind::Time { order } => {
                for t in order.steps(self.n_steps) {
                    for (id, node) in self.trace.nodes.iter().enumerate() {
                        if node.op == Op::InputOfStep {
                            self.values[id] = self.given(node, t);
                        }
                    }
                    self.region(region);
                    self.write(true, t);
                    self.set(region, |variable| variable.end);
                }
            }
        }
    }
}
