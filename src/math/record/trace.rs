//! What is left of a tape: what matters for the results, in branches and loops, and what it computes.

use std::collections::BTreeMap;

use super::op::{Id, Node, Op};
use super::tape::Tape;

/// Something in a region.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Item {
    Node(Id),
    Region(usize),
    /// The loop ends here where the flag is not set.
    LeaveUnless(Id),
}

/// What a region is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Whole,
    /// Where the flag is set.
    Branch {
        mask: Id,
    },
    /// So often at most.
    Loop {
        most: usize,
    },
}

/// A branch, a loop, or the whole.
#[derive(Clone, Debug)]
pub(crate) struct Region {
    pub(crate) kind: Kind,
    pub(crate) items: Vec<Item>,
    pub(crate) variables: Vec<Variable>,
}

/// What a region leaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Variable {
    /// The node that it is: behind a branch; in a loop and behind it.
    pub(crate) id: Id,
    /// What it is before.
    pub(crate) start: Id,
    /// What it becomes where a loop is left; itself if nothing happens to it.
    pub(crate) exit: Id,
    /// What it becomes at the end of a branch, and of each pass through a loop.
    pub(crate) end: Id,
}

/// An operand or a result: a row of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// What it is called.
    pub name: &'static str,
    /// How many numbers it has.
    pub width: usize,
}

/// A program as operations, for one world.
#[derive(Clone, Debug)]
pub struct Trace {
    pub(crate) nodes: Vec<Node>,
    pub(crate) stages: Vec<String>,
    pub(crate) stage_of: Vec<u16>,
    /// The first is the whole; of the others those that are an item of another matter.
    pub(crate) regions: Vec<Region>,
    pub(super) operands: Vec<Row>,
    pub(super) results: Vec<Row>,
    /// The results' numbers, row after row.
    pub(crate) outputs: Vec<Id>,
}

impl Trace {
    /// What of a tape matters for its outputs.
    pub(super) fn new(tape: Tape, operands: Vec<Row>, results: Vec<Row>, outputs: Vec<Id>) -> Self {
        let Tape { nodes, stages, stage_of, mut regions, .. } = tape;
        let live = live(&nodes, &regions, &outputs);
        for region in (0..regions.len()).rev() {
            let Region { mut items, mut variables, kind } = regions[region].clone();
            variables.retain(|variable| live[variable.id as usize]);
            items.retain(|item| match *item {
                Item::Node(id) => live[id as usize],
                // Regions stand behind those that they are in.
                Item::Region(inner) => !regions[inner].variables.is_empty(),
                Item::LeaveUnless(_) => true,
            });
            regions[region] = Region { kind, items, variables };
        }
        Self { nodes, stages, stage_of, regions, operands, results, outputs }
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
    pub(crate) fn visit(&self, region: usize, f: &mut impl FnMut(Id)) {
        for item in &self.regions[region].items {
            match *item {
                Item::Node(id) => f(id),
                Item::Region(inner) => self.visit(inner, f),
                Item::LeaveUnless(_) => {}
            }
        }
    }

    /// The results of one world: its operands' numbers one after the other, in; the results' likewise, out. Numbers that are
    /// missing are NaN. This is for tests; printed and compiled it takes a hundredth of the time.
    pub fn run(&self, operands: &[f64]) -> Vec<f64> {
        let mut values: Vec<f64> = self.nodes.iter().map(|node| given(node, operands)).collect();
        self.run_region(0, &mut values);
        self.outputs.iter().map(|&id| values[id as usize]).collect()
    }

    /// False if a loop was left.
    fn run_region(&self, region: usize, values: &mut [f64]) -> bool {
        for item in &self.regions[region].items {
            match *item {
                Item::Node(id) => {
                    let Node { op, precision, arguments, .. } = self.nodes[id as usize];
                    values[id as usize] = op.value(precision, arguments.map(|id| values[id as usize]));
                }
                Item::Region(inner) => self.run_inner(inner, values),
                Item::LeaveUnless(go) => {
                    if values[go as usize] == 0.0 {
                        return false;
                    }
                }
            }
        }
        true
    }

    fn run_inner(&self, region: usize, values: &mut [f64]) {
        let Region { kind, variables, .. } = &self.regions[region];
        // All at once: one may become what another was.
        let set = |values: &mut [f64], from: fn(&Variable) -> Id| {
            let next: Vec<f64> = variables.iter().map(|variable| values[from(variable) as usize]).collect();
            variables.iter().zip(next).for_each(|(variable, x)| values[variable.id as usize] = x);
        };
        set(values, |variable| variable.start);
        match *kind {
            Kind::Whole => {}
            Kind::Branch { mask } => {
                if values[mask as usize] != 0.0 {
                    self.run_region(region, values);
                    set(values, |variable| variable.end);
                }
            }
            Kind::Loop { most } => {
                for _ in 0..most {
                    if !self.run_region(region, values) {
                        set(values, |variable| variable.exit);
                        break;
                    }
                    set(values, |variable| variable.end);
                }
            }
        }
    }
}

fn given(node: &Node, operands: &[f64]) -> f64 {
    match node.op {
        Op::Constant => f64::from_bits(node.bits),
        Op::Flag => f64::from(u8::from(node.bits != 0)),
        Op::Input => operands.get(node.bits as usize).map_or(f64::NAN, |&x| node.precision.rounded(x)),
        _ => f64::NAN,
    }
}

/// The nodes that outputs depend on.
fn live(nodes: &[Node], regions: &[Region], outputs: &[Id]) -> Vec<bool> {
    let mut parent = vec![0; regions.len()];
    let mut variable_of = BTreeMap::new();
    let mut leaves = vec![None; regions.len()];
    let mut home = vec![0; nodes.len()];
    for (region, Region { items, variables, .. }) in regions.iter().enumerate() {
        variables.iter().for_each(|variable| {
            variable_of.insert(variable.id, (*variable, region));
        });
        for item in items {
            match *item {
                Item::Node(id) => home[id as usize] = region,
                Item::Region(inner) => parent[inner] = region,
                Item::LeaveUnless(go) => leaves[region] = Some(go),
            }
        }
    }
    let mut live = vec![false; nodes.len()];
    let mut is_needed = vec![false; regions.len()];
    let mut next: Vec<Id> = outputs.to_vec();
    while let Some(id) = next.pop() {
        if std::mem::replace(&mut live[id as usize], true) {
            continue;
        }
        next.extend(nodes[id as usize].arguments());
        let mut region = home[id as usize];
        if let Some(&(Variable { start, exit, end, .. }, of)) = variable_of.get(&id) {
            next.extend([start, exit, end]);
            region = of;
        }
        while region != 0 && !std::mem::replace(&mut is_needed[region], true) {
            if let Kind::Branch { mask } = regions[region].kind {
                next.push(mask);
            }
            next.extend(leaves[region]);
            region = parent[region];
        }
    }
    live
}
