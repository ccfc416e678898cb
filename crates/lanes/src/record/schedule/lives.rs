//! Liveness analysis and linear-scan allocation of working memory: when each node is needed, and which place it has
//! from then to then.

use super::super::functions::{Function, Pool, Step, is_prompt};
use super::super::op::Id;
use super::super::trace::{Item, Kind, Region, Trace};

/// The lifetime of each node, in driver steps: when it is computed, and all its uses.
pub(super) struct Lives<'a> {
    trace: &'a Trace,
    functions: &'a [Function],
    in_time: &'a [bool],
    pub(super) function_of: Vec<Option<usize>>,
    /// The driver step that computes each node.
    born: Vec<usize>,
    /// For each node: must it have a place because it is a variable of the driver?
    waits: Vec<bool>,
    /// The driver step that is being visited.
    pub(super) now: usize,
    /// The driver's loops: first step, last step, and the index of the loop around.
    loops: Vec<(usize, usize, Option<usize>)>,
    /// All uses of nodes: the node, the driver step, the function that reads it (`None` for the driver), and the
    /// innermost loop.
    uses: Vec<(Id, usize, Option<usize>, Option<usize>)>,
}

impl<'a> Lives<'a> {
    /// Lifetimes before any driver step is visited.
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

    /// Visits driver steps in order, and notes where nodes are computed and used.
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
                        // Results that the variable is written to are written behind the region.
                        self.wanted(variable.id, None, inner);
                    }
                    if let (Kind::Loop { .. } | Kind::Time { .. }, Some(inner)) = (kind, inner) {
                        self.loops[inner].1 = self.now;
                    }
                }
            }
        }
    }

    /// Notes the uses of results that the driver writes late: at the end of a step if `of_step` is set, else at the end
    /// of the program.
    pub(super) fn write_late(&mut self, of_step: bool, within: Option<usize>) {
        for output in &self.trace.outputs {
            if output.of_step == of_step && !is_prompt(self.trace, self.in_time, output) {
                self.wanted(output.id, None, within);
            }
        }
    }

    /// Notes what the items of a function compute and use.
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

    /// Notes that a function computes a node in the current step.
    fn compute(&mut self, id: Id, function: usize) {
        self.function_of[id as usize] = Some(function);
        self.born[id as usize] = self.now;
    }

    /// Notes a use of a node in the current step, by a function or by the driver.
    fn wanted(&mut self, id: Id, by: Option<usize>, within: Option<usize>) {
        if !self.trace.nodes[id as usize].op.is_given() {
            self.uses.push((id, self.now, by, within));
        }
    }

    /// For each node: is it used outside the function that computes it, so that it needs a place in working memory?
    pub(super) fn waits(&self) -> Vec<bool> {
        let mut waits = self.waits.clone();
        for &(id, _, by, _) in &self.uses {
            let id = id as usize;
            waits[id] |= by.is_none() || by != self.function_of[id];
        }
        waits
    }

    /// Linear-scan allocation. Assigns one place to each set of coalesced nodes, and returns the places and the length
    /// of each array.
    pub(super) fn places<'b>(&self, sets: impl Iterator<Item = &'b [Id]>) -> (Vec<Option<usize>>, [usize; 3]) {
        let mut last = vec![0; self.born.len()];
        for &(id, now, _, mut within) in &self.uses {
            let id = id as usize;
            let mut until = now;
            // A node from before a loop is needed again in the next pass.
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
            // For each place, the last step in which it is in use.
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
