//! Joins the pieces of a trace into functions. Functions are made as long as allowed, but repeated pieces stay apart so
//! that they can be merged.

use std::collections::BTreeMap;

use super::super::functions::{Function, LENGTH, Step};
use super::super::kinds::Kinds;
use super::super::trace::Trace;

/// Joins pieces into functions, and rewrites the steps to call them. A function that is called in several places has at
/// least `shortest` operations.
pub(super) fn joined(
    trace: &Trace,
    steps: Vec<Step>,
    pieces: &mut [Function],
    kinds: &Kinds,
    shortest: usize,
) -> (Vec<Function>, Vec<Step>) {
    let mut runs = Vec::new();
    collect(&steps, &mut |run| {
        runs.push(run.iter().map(|&piece| Run::new(trace, pieces, kinds, piece)).collect());
    });
    merge(&mut runs, kinds.functions.len(), shortest);
    let mut functions = Vec::new();
    let steps = join(steps, &mut runs.into_iter(), pieces, &mut functions);
    (functions, steps)
}

/// Consecutive pieces that will become one function.
#[derive(Debug)]
struct Run {
    /// The pieces, in the order of execution.
    pieces: Vec<usize>,
    stage: u16,
    /// Runs with the same number do the same operations and can be merged into one function.
    kind: usize,
    /// The number of operations.
    length: usize,
}

impl Run {
    /// A run of one piece.
    fn new(trace: &Trace, pieces: &[Function], kinds: &Kinds, piece: usize) -> Self {
        let Function { stage, .. } = pieces[piece];
        Self { pieces: vec![piece], stage, kind: kinds.of[piece].0, length: pieces[piece].length(trace) }
    }

    /// Can `next` be appended without mixing stages or exceeding the length of a function?
    fn fits(&self, next: &Self) -> bool {
        self.stage == next.stage && self.length + next.length <= LENGTH
    }

    /// Appends the pieces of `next`; the result is of the given kind.
    fn extend(&mut self, next: Self, kind: usize) {
        self.pieces.extend(next.pieces);
        (self.length, self.kind) = (self.length + next.length, kind);
    }
}

/// Calls `f` with each sequence of pieces that are called without control flow of the driver in between, in order.
fn collect(steps: &[Step], f: &mut impl FnMut(&[usize])) {
    let mut pieces = Vec::new();
    for step in steps {
        match step {
            Step::Call(piece) => pieces.push(*piece),
            Step::LeaveUnless { .. } => f(&std::mem::take(&mut pieces)),
            Step::Region { steps, .. } => {
                f(&std::mem::take(&mut pieces));
                collect(steps, f);
            }
        }
    }
    f(&pieces);
}

/// Joins runs in two passes: first two kinds that nearly always follow each other, then all neighbours that are not
/// repeated or are short.
fn merge(all: &mut [Vec<Run>], mut n_kinds: usize, shortest: usize) {
    let mut count = vec![0; n_kinds];
    all.iter().flatten().for_each(|run| count[run.kind] += 1);
    loop {
        let mut pairs: BTreeMap<[usize; 2], usize> = BTreeMap::new();
        for runs in all.iter() {
            let mut k = 1;
            while k < runs.len() {
                let pair = [runs[k - 1].kind, runs[k].kind];
                if runs[k - 1].fits(&runs[k]) {
                    *pairs.entry(pair).or_default() += 1;
                    // In a, a, a only two can be paired.
                    k += usize::from(pair[0] == pair[1]);
                }
                k += 1;
            }
        }
        let is_wanted = |&(&[a, b], &n): &(&[usize; 2], &usize)| {
            n > 1 && a != b && [a, b].iter().all(|&kind| 3 * (count[kind] - n) <= n)
        };
        let Some((&pair, &n)) = pairs.iter().find(is_wanted) else { break };
        for runs in all.iter_mut() {
            let mut k = 1;
            while k < runs.len() {
                if [runs[k - 1].kind, runs[k].kind] == pair && runs[k - 1].fits(&runs[k]) {
                    let next = runs.remove(k);
                    runs[k - 1].extend(next, n_kinds);
                }
                k += 1;
            }
        }
        count[pair[0]] -= n;
        count[pair[1]] -= n;
        count.push(n);
        n_kinds += 1;
    }
    let is_alone = |run: &Run| count.get(run.kind).is_some_and(|&n| n > 1) && run.length >= shortest;
    for runs in all {
        let mut k = 1;
        while k < runs.len() {
            if !is_alone(&runs[k - 1]) && !is_alone(&runs[k]) && runs[k - 1].fits(&runs[k]) {
                let next = runs.remove(k);
                // A joined run is probably unlike all others.
                runs[k - 1].extend(next, usize::MAX);
            } else {
                k += 1;
            }
        }
    }
}

/// Rewrites steps so that they call one function per run, in place of one per piece.
fn join(
    steps: Vec<Step>,
    runs: &mut impl Iterator<Item = Vec<Run>>,
    pieces: &mut [Function],
    functions: &mut Vec<Function>,
) -> Vec<Step> {
    let mut joined = Vec::new();
    let call =
        |runs: Option<Vec<Run>>, joined: &mut Vec<Step>, functions: &mut Vec<Function>, pieces: &mut [Function]| {
            for run in runs.into_iter().flatten() {
                let items = run.pieces.iter().flat_map(|&piece| std::mem::take(&mut pieces[piece].items)).collect();
                joined.push(Step::Call(functions.len()));
                functions.push(Function { stage: run.stage, items });
            }
        };
    for step in steps {
        match step {
            Step::Call(_) => {}
            Step::LeaveUnless { .. } => {
                call(runs.next(), &mut joined, functions, pieces);
                joined.push(step);
            }
            Step::Region { region, steps } => {
                call(runs.next(), &mut joined, functions, pieces);
                let steps = join(steps, runs, pieces, functions);
                joined.push(Step::Region { region, steps });
            }
        }
    }
    call(runs.next(), &mut joined, functions, pieces);
    joined
}
