//! What was recorded: operations in branches and loops, and what they compute.

use crate::order::Order;

use super::op::{Id, Node, Op};

/// Something in a region.
#[derive(Clone, Copy, Debug)]
pub enum Item {
    Node(Id),
    Region(usize),
    /// The loop ends here where the flag is not set.
    LeaveUnless(Id),
    /// Here starts or ends what may be like another part.
    Part,
}

/// What a region is.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Whole,
    /// Where the flag is set.
    Branch {
        mask: Id,
    },
    /// So often at most.
    Loop {
        most: usize,
    },
    /// Once for each step.
    Time {
        order: Order,
    },
}

/// A branch, a loop, or the whole.
#[derive(Clone, Debug)]
pub struct Region {
    pub kind: Kind,
    pub items: Vec<Item>,
    pub variables: Vec<Variable>,
}

/// What a region leaves.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    /// The node that it is: behind a branch; in a loop and behind it.
    pub id: Id,
    /// What it is before.
    pub start: Id,
    /// What it becomes where a loop is left; itself if nothing happens to it.
    pub exit: Id,
    /// What it becomes at the end of a branch, and of each pass through a loop.
    pub end: Id,
}

/// An operand or a result: a row of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// What it is called.
    pub name: &'static str,
    /// How many numbers it has where there is one step.
    pub width: usize,
    /// How many more it has for each further step of a rollout.
    pub step: usize,
}

impl Row {
    /// A row that has the same numbers however many steps there are.
    pub fn new(name: &'static str, width: usize) -> Self {
        Self { name, width, step: 0 }
    }

    /// Numbers for so many steps.
    pub fn length(&self, n_steps: usize) -> usize {
        self.width + self.step * n_steps - self.step
    }
}

/// A program as operations, for one world.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The operations, in the order in which they were done.
    pub nodes: Vec<Node>,
    /// Names of the stages.
    pub stages: Vec<String>,
    /// The stage of each operation, an index into `stages`.
    pub stage_of: Vec<u16>,
    /// The first is the whole; of the others those that are an item of another matter.
    pub regions: Vec<Region>,
    pub(super) operands: Vec<Row>,
    pub(super) results: Vec<Row>,
    /// The results' numbers, row after row.
    pub outputs: Vec<Output>,
}

/// A number of the results.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    pub id: Id,
    /// The result's row, and the place in it where it is of the first step.
    pub row: usize,
    pub place: usize,
    /// Does each step write it?
    pub of_step: bool,
}

impl Trace {
    /// The row of operands with this place among all, and the place in it.
    pub(super) fn operand_of(&self, mut place: usize) -> Option<(usize, usize)> {
        for (row, of) in self.operands.iter().enumerate() {
            if place < of.width {
                return Some((row, place));
            }
            place -= of.width;
        }
        None
    }

    /// Has it a loop over time? Then rows are as long as the number of steps asks for.
    pub fn has_steps(&self) -> bool {
        self.regions[0].items.iter().any(|item| match *item {
            Item::Region(inner) => matches!(self.regions[inner].kind, Kind::Time { .. }),
            _ => false,
        })
    }

    /// The rows that the program reads.
    pub fn operands(&self) -> &[Row] {
        &self.operands
    }

    /// The rows that it writes.
    pub fn results(&self) -> &[Row] {
        &self.results
    }

    /// How many operations each stage has; those in loops and branches count once.
    pub fn operations(&self) -> Vec<(&str, usize)> {
        let mut counts = vec![0; self.stages.len()];
        self.visit(0, &mut |id| counts[usize::from(self.stage_of[id as usize])] += 1);
        self.stages.iter().map(String::as_str).zip(counts).filter(|(_, count)| *count > 0).collect()
    }

    /// Calls `f` for each operation of a region and of those in it.
    pub fn visit(&self, region: usize, f: &mut impl FnMut(Id)) {
        for item in &self.regions[region].items {
            match *item {
                Item::Node(id) => f(id),
                Item::Region(inner) => self.visit(inner, f),
                Item::LeaveUnless(_) | Item::Part => {}
            }
        }
    }

    /// The results of one world: its operands' numbers one after the other, in; the results' likewise, out. Numbers that are
    /// missing are NaN. This is for tests; printed and compiled it takes a hundredth of the time.
    pub fn run(&self, operands: &[f64]) -> Vec<f64> {
        self.run_steps(operands, 1)
    }

    /// [`Trace::run`] of a rollout's kernel, whose rows are as long as so many steps ask for.
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

/// A trace that is run.
struct Run<'a> {
    trace: &'a Trace,
    values: Vec<f64>,
    operands: &'a [f64],
    n_steps: usize,
    /// Where each result's row starts.
    starts: Vec<usize>,
    results: Vec<f64>,
}

impl Run<'_> {
    /// What a node is before anything is computed, in step t.
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

    /// Writes the results of step t, or those that are no step's.
    fn write(&mut self, of_step: bool, t: usize) {
        for output in self.trace.outputs.iter().filter(|output| output.of_step == of_step) {
            let place = self.starts[output.row] + output.place + t * self.trace.results[output.row].step;
            self.results[place] = self.values[output.id as usize];
        }
    }

    /// False if a loop was left.
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

    /// Sets a region's variables, all at once: one may become what another was.
    fn set(&mut self, region: usize, from: fn(&Variable) -> Id) {
        let variables = &self.trace.regions[region].variables;
        let next: Vec<f64> = variables.iter().map(|variable| self.values[from(variable) as usize]).collect();
        variables.iter().zip(next).for_each(|(variable, x)| self.values[variable.id as usize] = x);
    }

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
