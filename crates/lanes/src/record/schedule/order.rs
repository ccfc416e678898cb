//! Instruction scheduling for registers of worlds. Kernels handle one contact or finger after the other, and the
//! operations of one form a dependency chain: a square root takes 21 cycles, a product 4. A processor looks only some
//! hundred operations ahead, which is not far enough to reach the next chain. Here, operations whose arguments are
//! ready move ahead of those that would wait.

use std::collections::HashMap;

use super::super::functions::{LENGTH, first_stage, size, touched};
use super::super::op::{Id, Op};
use super::super::trace::{Item, Kind, Region, Trace};

/// The scheduling window, in items: how far ahead of the first item that is left another one may be picked.
const WINDOW: usize = 400;

/// Returns the trace with the operations of each stage reordered for instruction-level parallelism.
pub(in super::super) fn ordered(trace: &Trace) -> Trace {
    let mut ordered = trace.clone();
    for (region, Region { items, .. }) in ordered.regions.iter_mut().enumerate() {
        items.clear();
        let stage = |item: &Item| match *item {
            Item::Node(id) => Some(trace.stage_of[id as usize]),
            Item::Region(inner) if is_short(trace, inner) => first_stage(trace, inner),
            _ => None,
        };
        let all = trace.regions[region].items.iter().filter(|item| !matches!(item, Item::Part)).copied();
        for run in all.collect::<Vec<_>>().chunk_by(|a, b| stage(a).is_some() && stage(a) == stage(b)) {
            items.extend(in_order(trace, run));
        }
    }
    ordered
}

/// Does this branch or loop fit into a function? Only those are moved as a whole.
fn is_short(trace: &Trace, region: usize) -> bool {
    matches!(trace.regions[region].kind, Kind::Branch { .. } | Kind::Loop { .. })
        && size(trace, Item::Region(region)) <= LENGTH
}

/// An item that is not scheduled yet.
struct Waiting {
    item: Item,
    /// The items that depend on this one.
    next: Vec<usize>,
    /// The number of unscheduled items that this one depends on.
    missing: usize,
    /// The cycle in which all arguments are ready.
    ready: usize,
}

/// List scheduling of the items of one stage, for a processor that starts one operation per cycle.
fn in_order(trace: &Trace, items: &[Item]) -> Vec<Item> {
    let mut waiting: Vec<Waiting> = Vec::new();
    let mut home: HashMap<Id, usize> = HashMap::new();
    for (at, &item) in items.iter().enumerate() {
        let (mut read, mut written) = (Vec::new(), Vec::new());
        touched(trace, item, &mut read, &mut written);
        let mut before: Vec<usize> = read.iter().filter_map(|id| home.get(id).copied()).collect();
        before.sort_unstable();
        before.dedup();
        before.iter().for_each(|&k| waiting[k].next.push(at));
        waiting.push(Waiting { item, next: Vec::new(), missing: before.len(), ready: 0 });
        home.extend(written.into_iter().map(|id| (id, at)));
    }
    let (mut order, mut is_done) = (Vec::new(), vec![false; items.len()]);
    let (mut now, mut first) = (0, 0);
    while order.len() < items.len() {
        while is_done[first] {
            first += 1;
        }
        let free = (first..items.len().min(first + WINDOW)).filter(|&k| !is_done[k] && waiting[k].missing == 0);
        // Picks the first item whose arguments are ready, or else the one whose arguments are ready first.
        let Some(k) = free.min_by_key(|&k| waiting[k].ready.max(now)) else { break };
        let (n, latency) = cost(trace, waiting[k].item);
        now = now.max(waiting[k].ready);
        let there = now + latency;
        now += n;
        is_done[k] = true;
        order.push(waiting[k].item);
        for next in std::mem::take(&mut waiting[k].next) {
            waiting[next].missing -= 1;
            waiting[next].ready = waiting[next].ready.max(there);
        }
    }
    order
}

/// The cycles that an item occupies before the next can start, and the cycles until its result is there.
fn cost(trace: &Trace, item: Item) -> (usize, usize) {
    let Item::Node(id) = item else { return (size(trace, item), size(trace, item)) };
    let latency = match trace.nodes[id as usize].op {
        Op::Div => 13,
        Op::Sqrt => 21,
        Op::Sin | Op::Cos | Op::Ln | Op::Atan2 => 50,
        _ => 4,
    };
    (1, latency)
}
