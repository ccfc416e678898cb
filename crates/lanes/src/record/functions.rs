//! The parts of a scheduled trace: functions, the driver's steps that call them, and the layout of working memory
//! between them.

use crate::lane::Precision;

use super::op::Id;
use super::trace::{Item, Kind, Output, Region, Trace};

/// The most operations in one function. The driver executes longer branches and loops itself.
pub(super) const LENGTH: usize = 400;

/// A step of the driver, which calls functions and does the control flow that is too long for one function.
#[derive(Debug)]
pub(super) enum Step {
    /// Calls the function with this index.
    Call(usize),
    /// A branch or loop of the driver: executes the steps where its flag is set, or repeatedly.
    Region { region: usize, steps: Vec<Step> },
    /// Leaves the innermost loop, which is `region`, where the flag `go` is not set.
    LeaveUnless { region: usize, go: Id },
}

/// A function of printed code: consecutive operations of one stage.
#[derive(Debug)]
pub(super) struct Function {
    pub(super) stage: u16,
    pub(super) items: Vec<Item>,
}

/// The three arrays of working memory, one for each type of number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Pool {
    Double,
    Single,
    Flag,
}

impl Pool {
    /// All arrays, in the order in which [`Layout::sizes`] has their lengths.
    pub(super) const ALL: [Self; 3] = [Self::Double, Self::Single, Self::Flag];

    /// The array in which the result of a node is stored.
    pub(super) fn of(trace: &Trace, id: Id) -> Self {
        let node = trace.nodes[id as usize];
        match node.precision {
            _ if node.op.is_flag() => Self::Flag,
            Precision::Double => Self::Double,
            Precision::Single => Self::Single,
        }
    }
}

/// The layout of working memory: which function computes each node, and where nodes that several functions use are
/// stored.
#[derive(Debug)]
pub(super) struct Layout {
    /// The function that computes each node; `None` for variables of the driver's branches and loops.
    pub(super) function_of: Vec<Option<usize>>,
    /// The index of each node in its array of working memory; `None` if only the function that computes it needs it.
    pub(super) places: Vec<Option<usize>>,
    /// Must writing a node spare worlds that are not active, as they still need the old content of its place? For a
    /// variable, this is asked of its initial value.
    pub(super) is_masked: Vec<bool>,
    /// The length of each array, in the order of [`Pool::ALL`].
    pub(super) sizes: [usize; 3],
    /// The results that each node is written to as soon as it is computed.
    pub(super) outputs: Vec<Vec<Output>>,
}

impl Function {
    /// The number of operations in the function.
    pub(super) fn length(&self, trace: &Trace) -> usize {
        self.items.iter().map(|&item| size(trace, item)).sum()
    }
}

/// Is this result written where its node is computed? If not, the driver writes it at the end of the step or of the
/// whole program.
pub(super) fn is_prompt(trace: &Trace, in_time: &[bool], output: &Output) -> bool {
    !trace.nodes[output.id as usize].op.is_given() && in_time[output.id as usize] == output.of_step
}

/// The number of operations in an item, with those of the regions inside it.
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

/// The stage of a region's first operation; `None` if the region is empty.
pub(super) fn first_stage(trace: &Trace, region: usize) -> Option<u16> {
    let mut first = None;
    trace.visit(region, &mut |id| first = first.or(Some(trace.stage_of[id as usize])));
    first
}

/// Collects the nodes that an item reads, and those that it computes or sets.
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
