//! How a trace is cut into functions that a compiler takes in seconds, and where numbers wait between them.
//!
//! Compilers take more than twice as long for a function of twice the length. A function here has a few hundred operations, with
//! the branches and loops among them that are short; longer ones are in the hands of a driver that calls the functions. What one
//! function leaves for another, or for the driver, has a place in the working memory. Places are used again once the last one who
//! wants what is there has had it.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::math::lane::Precision;

use super::kinds::{Kinds, Table};
use super::op::Id;
use super::trace::{Item, Kind, Output, Region, Trace};

/// Operations of a function, at most; a branch or loop that has more is the driver's.
const LENGTH: usize = 400;
/// Operations of a function that is called in several places, at least.
const SHORTEST: usize = 40;

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

/// A trace cut into functions.
#[derive(Debug)]
pub(super) struct Schedule {
    pub(super) functions: Vec<Function>,
    pub(super) steps: Vec<Step>,
    /// Is each node computed in the loop over time?
    pub(super) in_time: Vec<bool>,
    pub(super) layout: Layout,
    pub(super) kinds: Kinds,
    /// What differs among the functions of each kind.
    pub(super) tables: Vec<Table>,
    /// Constants that wait in memory from the start, as functions of their kind have other numbers in their place.
    pub(super) constants: Vec<Id>,
}

/// Who computes what, and where it waits.
#[derive(Debug)]
pub(super) struct Layout {
    /// The function that computes each node; none for the driver's variables.
    pub(super) function_of: Vec<Option<usize>>,
    /// Where each node waits, if it does.
    pub(super) places: Vec<Option<usize>>,
    /// Places of each pool.
    pub(super) sizes: [usize; 3],
    /// The results that each node is where it is computed.
    pub(super) outputs: Vec<Vec<Output>>,
}

impl Schedule {
    /// With `shares` functions that are alike are one.
    pub(super) fn new(trace: &Trace, shares: bool) -> Self {
        let in_time = in_time(trace);
        let mut pieces = Vec::new();
        let steps = cut(trace, 0, &mut pieces);
        let layout = Layout::new(trace, &pieces, &steps, &in_time);
        let kinds_of = |layout: &Layout, functions: &[Function]| {
            if shares { Kinds::new(trace, layout, functions) } else { Kinds::apart(functions.len()) }
        };
        let kinds = kinds_of(&layout, &pieces);
        let mut runs = Vec::new();
        collect(&steps, &mut |run| {
            runs.push(run.iter().map(|&piece| Run::new(trace, &pieces, &kinds, piece)).collect());
        });
        merge(&mut runs, kinds.functions.len());
        let mut functions = Vec::new();
        let mut runs = runs.into_iter();
        let steps = join(steps, &mut runs, &mut pieces, &mut functions);
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
    fn new(trace: &Trace, functions: &[Function], steps: &[Step], in_time: &[bool]) -> Self {
        let mut lives = Lives::new(trace, functions, in_time);
        lives.follow(steps, None);
        lives.now += 1;
        lives.write_late(false, None);
        let (places, sizes) = lives.places();
        let mut outputs = vec![Vec::new(); trace.nodes.len()];
        for output in trace.outputs.iter().filter(|output| is_prompt(trace, in_time, output)) {
            outputs[output.id as usize].push(*output);
        }
        Self { function_of: lives.function_of, places, sizes, outputs }
    }
}

impl Function {
    fn length(&self, trace: &Trace) -> usize {
        self.items.iter().map(|&item| size(trace, item)).sum()
    }
}

/// Is a result written where its node is computed? If not, then at the end of the step that it is of, or of the whole.
pub(super) fn is_prompt(trace: &Trace, in_time: &[bool], output: &Output) -> bool {
    !trace.nodes[output.id as usize].op.is_given() && in_time[output.id as usize] == output.of_step
}

/// Which nodes the loop over time computes; its own variables are not among them.
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

/// Operations of an item.
fn size(trace: &Trace, item: Item) -> usize {
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

/// A region as steps of the driver, its functions as short as its parts.
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

/// Pieces that follow each other, to be one function.
#[derive(Debug)]
struct Run {
    pieces: Vec<usize>,
    stage: u16,
    /// Runs of a kind are alike.
    kind: usize,
    length: usize,
}

impl Run {
    fn new(trace: &Trace, pieces: &[Function], kinds: &Kinds, piece: usize) -> Self {
        let Function { stage, .. } = pieces[piece];
        Self { pieces: vec![piece], stage, kind: kinds.of[piece].0, length: pieces[piece].length(trace) }
    }

    fn fits(&self, next: &Self) -> bool {
        self.stage == next.stage && self.length + next.length <= LENGTH
    }

    fn extend(&mut self, next: Self, kind: usize) {
        self.pieces.extend(next.pieces);
        (self.length, self.kind) = (self.length + next.length, kind);
    }
}

/// Calls `f` with the pieces that follow each other without a step of the driver's in between, from the first to the last.
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

/// Joins runs: first those of two kinds that are mostly found one behind the other, then all that are not repeated, or are short.
fn merge(all: &mut [Vec<Run>], mut n_kinds: usize) {
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
                    // Of three that are the same two are a pair.
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
    let is_alone = |run: &Run| count.get(run.kind).is_some_and(|&n| n > 1) && run.length >= SHORTEST;
    for runs in all {
        let mut k = 1;
        while k < runs.len() {
            if !is_alone(&runs[k - 1]) && !is_alone(&runs[k]) && runs[k - 1].fits(&runs[k]) {
                let next = runs.remove(k);
                // It is like no other now, as likely as not.
                runs[k - 1].extend(next, usize::MAX);
            } else {
                k += 1;
            }
        }
    }
}

/// Steps that call functions made of runs of pieces.
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

fn first_stage(trace: &Trace, region: usize) -> Option<u16> {
    let mut first = None;
    trace.visit(region, &mut |id| first = first.or(Some(trace.stage_of[id as usize])));
    first
}

/// From when to when each node is wanted, in the driver's steps.
struct Lives<'a> {
    trace: &'a Trace,
    functions: &'a [Function],
    in_time: &'a [bool],
    function_of: Vec<Option<usize>>,
    born: Vec<usize>,
    last: Vec<usize>,
    /// Is it wanted by others than the function that computes it?
    waits: Vec<bool>,
    now: usize,
    /// Loops: when they start and end, and which they are in.
    loops: Vec<(usize, usize, Option<usize>)>,
    /// Uses: who, when, by which function, in which loop.
    uses: Vec<(Id, usize, Option<usize>, Option<usize>)>,
    /// The driver's variables: what each starts as, and until when that may be wanted if both are to have one place.
    starts: HashMap<Id, (Id, usize)>,
}

impl<'a> Lives<'a> {
    fn new(trace: &'a Trace, functions: &'a [Function], in_time: &'a [bool]) -> Self {
        let n = trace.nodes.len();
        Self {
            trace,
            functions,
            in_time,
            function_of: vec![None; n],
            born: vec![0; n],
            last: vec![0; n],
            waits: vec![false; n],
            now: 0,
            loops: Vec::new(),
            uses: Vec::new(),
            starts: HashMap::new(),
        }
    }

    fn follow(&mut self, steps: &[Step], within: Option<usize>) {
        let trace = self.trace;
        for step in steps {
            self.now += 1;
            match step {
                Step::Call(function) => {
                    let functions = self.functions;
                    self.function(&functions[*function].items, *function, within);
                }
                Step::LeaveUnless { region, go } => {
                    self.wanted(*go, None, within);
                    let variables = &trace.regions[*region].variables;
                    variables.iter().for_each(|variable| self.wanted(variable.exit, None, within));
                }
                Step::Region { region, steps } => {
                    let Region { kind, variables, .. } = &trace.regions[*region];
                    let start = self.now;
                    for variable in variables {
                        self.wanted(variable.start, None, within);
                        (self.born[variable.id as usize], self.waits[variable.id as usize]) = (start, true);
                    }
                    let inner = match kind {
                        Kind::Loop { .. } | Kind::Time { .. } => {
                            self.loops.push((start, start, within));
                            Some(self.loops.len() - 1)
                        }
                        Kind::Branch { mask } => {
                            self.wanted(*mask, None, within);
                            within
                        }
                        Kind::Whole => within,
                    };
                    self.follow(steps, inner);
                    self.now += 1;
                    // A branch changes its variables at its end, a loop from its start on.
                    let until = if matches!(kind, Kind::Branch { .. }) { self.now - 1 } else { start };
                    self.starts.extend(variables.iter().map(|variable| (variable.id, (variable.start, until))));
                    if matches!(kind, Kind::Time { .. }) {
                        self.write_late(true, inner);
                    }
                    for variable in variables {
                        self.wanted(variable.end, None, inner);
                        // Results are written behind the region.
                        self.wanted(variable.id, None, inner);
                    }
                    if let (Kind::Loop { .. } | Kind::Time { .. }, Some(inner)) = (kind, inner) {
                        self.loops[inner].1 = self.now;
                    }
                }
            }
        }
    }

    /// Results that are written at the end of a step, or of the whole.
    fn write_late(&mut self, of_step: bool, within: Option<usize>) {
        for output in &self.trace.outputs {
            if output.of_step == of_step && !is_prompt(self.trace, self.in_time, output) {
                self.wanted(output.id, None, within);
            }
        }
    }

    fn function(&mut self, items: &[Item], function: usize, within: Option<usize>) {
        let trace = self.trace;
        let by = Some(function);
        for item in items {
            match *item {
                Item::Node(id) => {
                    self.compute(id, function);
                    for &argument in trace.nodes[id as usize].arguments() {
                        self.wanted(argument, by, within);
                    }
                }
                Item::LeaveUnless(go) => self.wanted(go, by, within),
                Item::Part => {}
                Item::Region(inner) => {
                    let Region { kind, variables, items } = &trace.regions[inner];
                    if let Kind::Branch { mask } = kind {
                        self.wanted(*mask, by, within);
                    }
                    for variable in variables {
                        self.compute(variable.id, function);
                        for id in [variable.start, variable.exit, variable.end] {
                            self.wanted(id, by, within);
                        }
                    }
                    self.function(items, function, within);
                }
            }
        }
    }

    fn compute(&mut self, id: Id, function: usize) {
        self.function_of[id as usize] = Some(function);
        self.born[id as usize] = self.now;
    }

    fn wanted(&mut self, id: Id, by: Option<usize>, within: Option<usize>) {
        if !self.trace.nodes[id as usize].op.is_given() {
            self.uses.push((id, self.now, by, within));
        }
    }

    /// Places for all that wait, and how many there are of each pool.
    fn places(&mut self) -> (Vec<Option<usize>>, [usize; 3]) {
        for &(id, now, by, mut within) in &self.uses {
            let id = id as usize;
            self.waits[id] |= by.is_none() || by != self.function_of[id];
            let mut until = now;
            // What was there before a loop is wanted in its next pass too.
            while let Some((start, end, outer)) = within.map(|within| self.loops[within]) {
                if self.born[id] <= start {
                    until = until.max(end);
                }
                within = outer;
            }
            self.last[id] = self.last[id].max(until);
        }
        let mut order: Vec<usize> = (0..self.waits.len()).filter(|&id| self.waits[id]).collect();
        order.sort_by_key(|&id| self.born[id]);
        let mut places: Vec<Option<usize>> = vec![None; self.waits.len()];
        let mut given_on = HashSet::new();
        let sizes = Pool::ALL.map(|pool| {
            // When each place is free again.
            let mut free: Vec<usize> = Vec::new();
            for &id in order.iter().filter(|&&id| Pool::of(self.trace, id as Id) == pool) {
                // A variable stays where its start is, if nobody else wants that any more.
                let start = self.starts.get(&(id as Id)).filter(|(start, until)| self.last[*start as usize] <= *until);
                if let Some((place, start)) = start.and_then(|&(start, _)| Some((places[start as usize]?, start)))
                    && given_on.insert(start)
                {
                    free[place] = self.last[id];
                    places[id] = Some(place);
                    continue;
                }
                let place = free.iter().position(|&last| last < self.born[id]).unwrap_or(free.len());
                if place == free.len() {
                    free.push(0);
                }
                free[place] = self.last[id];
                places[id] = Some(place);
            }
            free.len()
        });
        (places, sizes)
    }
}
