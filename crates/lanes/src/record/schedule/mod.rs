//! Scheduling: cuts a trace into functions that a compiler takes in seconds, and allocates working memory for numbers
//! between them.
//!
//! Compilers take more than twice as long for a function of twice the length. So a function has at most a few hundred
//! operations, with the short branches and loops among them. A driver calls the functions and executes the longer
//! branches and loops. A number that one function leaves for another, or for the driver, has a place in working memory.
//! A place is used again after the last use of its number.

mod coalesce;
mod lives;
#[cfg(feature = "native")]
mod order;
mod runs;

use super::functions::{Function, LENGTH, Layout, Pool, Step, first_stage, is_prompt, size};
use super::kinds::{Kinds, Table};
use super::op::Id;
use super::trace::{Item, Kind, Trace};
use coalesce::Events;
use lives::Lives;
#[cfg(feature = "native")]
pub(super) use order::ordered;
use runs::joined;

/// A trace cut into functions and driver steps, with the layout of working memory.
#[derive(Debug)]
pub(super) struct Schedule {
    pub(super) functions: Vec<Function>,
    /// The driver's steps, in the order of execution.
    pub(super) steps: Vec<Step>,
    /// For each node: is it computed inside the loop over time?
    pub(super) in_time: Vec<bool>,
    pub(super) layout: Layout,
    /// The functions grouped by kind; one function of each kind is printed.
    pub(super) kinds: Kinds,
    /// For each kind, the offsets and constants that differ between its functions.
    pub(super) tables: Vec<Table>,
    /// Constants that must be stored in working memory, as other functions of the same kind read a number from memory
    /// or an operand there.
    pub(super) constants: Vec<Id>,
}

impl Schedule {
    /// Cuts a trace into functions. With `Some(shortest)`, equal functions of at least that many operations are merged
    /// into one; with `None`, none are.
    pub(super) fn new(trace: &Trace, shortest: Option<usize>) -> Self {
        let in_time = in_time(trace);
        let mut pieces = Vec::new();
        let steps = cut(trace, 0, &mut pieces);
        let layout = Layout::new(trace, &pieces, &steps, &in_time);
        let kinds_of = |layout: &Layout, functions: &[Function]| {
            if shortest.is_some() { Kinds::new(trace, layout, functions) } else { Kinds::apart(functions.len()) }
        };
        let kinds = kinds_of(&layout, &pieces);
        let (functions, steps) = joined(trace, steps, &mut pieces, &kinds, shortest.unwrap_or(usize::MAX));
        let mut layout = Layout::new(trace, &functions, &steps, &in_time);
        let kinds = kinds_of(&layout, &functions);
        let constants = kinds.constants(trace);
        for &id in &constants {
            let size = &mut layout.sizes[Pool::of(trace, id) as usize];
            layout.places[id as usize] = Some(*size);
            *size += 1;
        }
        let tables = (0..kinds.functions.len()).map(|kind| kinds.table(trace, &layout, kind)).collect();
        Self { functions, steps, in_time, layout, kinds, tables, constants }
    }
}

impl Layout {
    /// Allocates working memory by linear scan over the lifetimes of nodes, after nodes that can share a place are
    /// coalesced.
    fn new(trace: &Trace, functions: &[Function], steps: &[Step], in_time: &[bool]) -> Self {
        let mut lives = Lives::new(trace, functions, in_time);
        lives.follow(steps, None);
        lives.now += 1;
        lives.write_late(false, None);
        let coalesced = Events::new(trace, (functions, steps), in_time, &lives.function_of).coalesced(&lives.waits());
        let (places, sizes) = lives.places(coalesced.sets());
        let mut outputs = vec![Vec::new(); trace.nodes.len()];
        for output in trace.outputs.iter().filter(|output| is_prompt(trace, in_time, output)) {
            outputs[output.id as usize].push(*output);
        }
        Self { function_of: lives.function_of, places, is_masked: coalesced.is_masked, sizes, outputs }
    }
}

/// For each node: is it computed inside the loop over time? The variables of that loop itself are not.
fn in_time(trace: &Trace) -> Vec<bool> {
    let mut all = vec![false; trace.nodes.len()];
    let is_time = |region: &usize| matches!(trace.regions[*region].kind, Kind::Time { .. });
    let mut open: Vec<usize> = (0..trace.regions.len()).filter(is_time).collect();
    while let Some(region) = open.pop() {
        for item in &trace.regions[region].items {
            match *item {
                Item::Node(id) => all[id as usize] = true,
                Item::Region(inner) => {
                    trace.regions[inner].variables.iter().for_each(|variable| all[variable.id as usize] = true);
                    open.push(inner);
                }
                Item::LeaveUnless(_) | Item::Part => {}
            }
        }
    }
    all
}

/// Cuts a region into driver steps. A function ends at each part boundary, stage boundary and length limit.
fn cut(trace: &Trace, region: usize, functions: &mut Vec<Function>) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut items: Vec<Item> = Vec::new();
    let (mut stage, mut n) = (0, 0);
    let flush = |items: &mut Vec<Item>, stage: u16, steps: &mut Vec<Step>, functions: &mut Vec<Function>| {
        if !items.is_empty() {
            steps.push(Step::Call(functions.len()));
            functions.push(Function { stage, items: std::mem::take(items) });
        }
    };
    for &item in &trace.regions[region].items {
        let (own, size) = match item {
            Item::Node(id) => (trace.stage_of[id as usize], 1),
            Item::Region(inner) => (first_stage(trace, inner).unwrap_or(stage), size(trace, item)),
            Item::Part => {
                flush(&mut items, stage, &mut steps, functions);
                n = 0;
                continue;
            }
            Item::LeaveUnless(go) => {
                flush(&mut items, stage, &mut steps, functions);
                n = 0;
                steps.push(Step::LeaveUnless { region, go });
                continue;
            }
        };
        if own != stage || n + size > LENGTH {
            flush(&mut items, stage, &mut steps, functions);
            (stage, n) = (own, 0);
        }
        match item {
            Item::Region(inner) if size > LENGTH || matches!(trace.regions[inner].kind, Kind::Time { .. }) => {
                let inner_steps = cut(trace, inner, functions);
                steps.push(Step::Region { region: inner, steps: inner_steps });
            }
            _ => {
                items.push(item);
                n += size;
            }
        }
    }
    flush(&mut items, stage, &mut steps, functions);
    steps
}
