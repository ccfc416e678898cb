//! Where numbers wait between functions, and until when.

use super::super::functions::{Function, Pool, Step, is_prompt};
use super::super::op::Id;
use super::super::trace::{Item, Kind, Region, Trace};

/// From when to when each node is wanted, in the driver's steps.
pub(super) struct Lives<'a> {
    trace: &'a Trace,
    functions: &'a [Function],
    in_time: &'a [bool],
    pub(super) function_of: Vec<Option<usize>>,
    born: Vec<usize>,
    /// Is it wanted by others than the function that computes it?
    waits: Vec<bool>,
    pub(super) now: usize,
    /// Loops: when they start and end, and which they are in.
    loops: Vec<(usize, usize, Option<usize>)>,
    /// Uses: who, when, by which function, in which loop.
    uses: Vec<(Id, usize, Option<usize>, Option<usize>)>,
}

impl<'a> Lives<'a> {
    pub(super) fn new(trace: &'a Trace, functions: &'a [Function], in_time: &'a [bool]) -> Self {
        let n = trace.nodes.len();
        Self {
            trace,
            functions,
            in_time,
            function_of: vec![None; n],
            born: vec![0; n],
            waits: vec![false; n],
            now: 0,
            loops: Vec::new(),
            uses: Vec::new(),
        }
    }

    pub(super) fn follow(&mut self, steps: &[Step], within: Option<usize>) {
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
    pub(super) fn write_late(&mut self, of_step: bool, within: Option<usize>) {
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

    /// Who waits for others than the function that computes it.
    pub(super) fn waits(&self) -> Vec<bool> {
        let mut waits = self.waits.clone();
        for &(id, _, by, _) in &self.uses {
            let id = id as usize;
            waits[id] |= by.is_none() || by != self.function_of[id];
        }
        waits
    }

    /// Places for sets of nodes that share one, and how many there are of each pool.
    pub(super) fn places<'b>(&self, sets: impl Iterator<Item = &'b [Id]>) -> (Vec<Option<usize>>, [usize; 3]) {
        let mut last = vec![0; self.born.len()];
        for &(id, now, _, mut within) in &self.uses {
            let id = id as usize;
            let mut until = now;
            // What was there before a loop is wanted in its next pass too.
            while let Some((start, end, outer)) = within.map(|within| self.loops[within]) {
                if self.born[id] <= start {
                    until = until.max(end);
                }
                within = outer;
            }
            last[id] = last[id].max(until);
        }
        let of = |set: &[Id], time: &[usize]| set.iter().map(|&id| time[id as usize]).collect::<Vec<_>>();
        let mut order: Vec<(usize, usize, &[Id])> = sets
            .map(|set| {
                let first = of(set, &self.born).into_iter().min().unwrap_or(0);
                (first, of(set, &last).into_iter().max().unwrap_or(0), set)
            })
            .collect();
        order.sort_by_key(|&(born, _, set)| (born, set[0]));
        let mut places: Vec<Option<usize>> = vec![None; self.born.len()];
        let sizes = Pool::ALL.map(|pool| {
            // When each place is free again.
            let mut free: Vec<usize> = Vec::new();
            for &(born, last, set) in order.iter().filter(|(_, _, set)| Pool::of(self.trace, set[0]) == pool) {
                let place = free.iter().position(|&last| last < born).unwrap_or(free.len());
                if place == free.len() {
                    free.push(0);
                }
                free[place] = last;
                set.iter().for_each(|&id| places[id as usize] = Some(place));
            }
            free.len()
        });
        (places, sizes)
    }
}
