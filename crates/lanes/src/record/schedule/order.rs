//! The order of operations in registers. Kernels do one contact, one finger after the other, and what one of them does waits for
//! itself: for a root 21 cycles, for a product 4. A processor looks some hundred operations ahead, which is not far enough to find
//! the next. Here an operation that would wait lets later ones go first.

use std::collections::HashMap;

use super::super::functions::{LENGTH, first_stage, size, touched};
use super::super::op::{Id, Op};
use super::super::trace::{Item, Kind, Region, Trace};

/// How far behind the first operation that is left others may be that go before it.
const WINDOW: usize = 400;

/// The trace with its operations in that order, stage by stage.
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

/// Is it part of a function?
fn is_short(trace: &Trace, region: usize) -> bool {
    matches!(trace.regions[region].kind, Kind::Branch { .. } | Kind::Loop { .. })
        && size(trace, Item::Region(region)) <= LENGTH
}

/// An item that is not in the order yet.
struct Waiting {
    item: Item,
    /// Who waits for it.
    next: Vec<usize>,
    /// For how many it waits.
    missing: usize,
    /// When what it takes is there.
    ready: usize,
}

/// Items of one stage, as a processor that starts one in each cycle would like to find them.
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
        // The first that has all it takes by now, else the one that has it first.
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

/// Cycles until the next can start, and until the result is there.
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
