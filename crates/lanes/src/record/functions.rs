//! What a trace is cut into: functions, the steps of a driver that calls them, and places where numbers wait between them.

use crate::lane::Precision;

use super::op::Id;
use super::trace::{Item, Kind, Output, Region, Trace};

/// Operations of a function, at most; a branch or loop that has more is the driver's.
pub(super) const LENGTH: usize = 400;

/// What the driver does.
#[derive(Debug)]
pub(super) enum Step {
    /// Calls a function.
    Call(usize),
    /// Runs steps where a region's flag is set, or again and again.
    Region { region: usize, steps: Vec<Step> },
    /// Leaves the innermost loop, a region, where the flag is not set.
    LeaveUnless { region: usize, go: Id },
}

/// Operations of one stage in a row.
#[derive(Debug)]
pub(super) struct Function {
    pub(super) stage: u16,
    pub(super) items: Vec<Item>,
}

/// Kinds of working memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Pool {
    Double,
    Single,
    Flag,
}

impl Pool {
    pub(super) const ALL: [Self; 3] = [Self::Double, Self::Single, Self::Flag];

    /// Where results of a node wait.
    pub(super) fn of(trace: &Trace, id: Id) -> Self {
        let node = trace.nodes[id as usize];
        match node.precision {
            _ if node.op.is_flag() => Self::Flag,
            Precision::Double => Self::Double,
            Precision::Single => Self::Single,
        }
    }
}

/// Who computes what, and where it waits.
#[derive(Debug)]
pub(super) struct Layout {
    /// The function that computes each node; none for the driver's variables.
    pub(super) function_of: Vec<Option<usize>>,
    /// Where each node waits, if it does.
    pub(super) places: Vec<Option<usize>>,
    /// Must worlds that are not active keep what is in the place when the node is written there? Of a variable: when it starts.
    pub(super) is_masked: Vec<bool>,
    /// Places of each pool.
    pub(super) sizes: [usize; 3],
    /// The results that each node is where it is computed.
    pub(super) outputs: Vec<Vec<Output>>,
}

impl Function {
    pub(super) fn length(&self, trace: &Trace) -> usize {
        self.items.iter().map(|&item| size(trace, item)).sum()
    }
}

/// Is a result written where its node is computed? If not, then at the end of the step that it is of, or of the whole.
pub(super) fn is_prompt(trace: &Trace, in_time: &[bool], output: &Output) -> bool {
    !trace.nodes[output.id as usize].op.is_given() && in_time[output.id as usize] == output.of_step
}

/// Operations of an item.
pub(super) fn size(trace: &Trace, item: Item) -> usize {
    match item {
        Item::Node(_) => 1,
        Item::Region(region) => {
            let mut n = 0;
            trace.visit(region, &mut |_| n += 1);
            n
        }
        Item::LeaveUnless(_) | Item::Part => 0,
    }
}

pub(super) fn first_stage(trace: &Trace, region: usize) -> Option<u16> {
    let mut first = None;
    trace.visit(region, &mut |id| first = first.or(Some(trace.stage_of[id as usize])));
    first
}

/// What an item reads, and what it leaves.
pub(super) fn touched(trace: &Trace, item: Item, read: &mut Vec<Id>, written: &mut Vec<Id>) {
    match item {
        Item::Node(id) => {
            read.extend(trace.nodes[id as usize].arguments());
            written.push(id);
        }
        Item::LeaveUnless(go) => read.push(go),
        Item::Part => {}
        Item::Region(inner) => {
            let Region { kind, variables, items } = &trace.regions[inner];
            if let Kind::Branch { mask } = *kind {
                read.push(mask);
            }
            items.iter().for_each(|&item| touched(trace, item, read, written));
            for variable in variables {
                read.extend([variable.start, variable.exit, variable.end]);
                written.push(variable.id);
            }
        }
    }
}
