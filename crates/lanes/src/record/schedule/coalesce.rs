//! Register coalescing for working memory. A variable of the driver shares one place with its initial and final values
//! where that is safe. The values are then written straight to that place, and no copies are needed.
//!
//! Sets of such nodes grow pair by pair. Two sets may be joined if, along every path through branches and loops, each
//! read of a node in the set finds that node in the shared place. In a branch or loop, worlds that are not active must
//! keep their old content: see [`Coalesced::is_masked`].

use super::super::functions::{Function, Pool, Step, is_prompt, touched};
use super::super::op::Id;
use super::super::trace::{Item, Kind, Region, Trace, Variable};

/// A read or write of places in working memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// A function writes the node to its place.
    Write(Id),
    /// A function or the driver reads the node.
    Read(Id),
    /// The driver enters a region, which sets the region's variables to their initial values.
    Open(usize),
    /// Some worlds leave a loop early, which sets its variables to their exit values.
    Leave(usize),
    /// A branch or a pass of a loop ends, which sets the region's variables to their final values.
    Close(usize),
}

/// All reads and writes of a trace, in the order of execution. The body of a loop appears once.
pub(super) struct Events<'a> {
    trace: &'a Trace,
    functions: &'a [Function],
    in_time: &'a [bool],
    function_of: &'a [Option<usize>],
    /// Each event, with the region around it.
    all: Vec<(Event, usize)>,
    /// For each node, the indices of the events that touch it.
    of: Vec<Vec<usize>>,
    /// For each region, the indices of its [`Event::Open`], [`Event::Leave`] and [`Event::Close`] events.
    of_region: Vec<Vec<usize>>,
    /// For each region of the driver, the region around it.
    parent: Vec<usize>,
    /// For each node, the variables that are this node or take its value: the region and the index among its variables.
    variables: Vec<Vec<(usize, usize)>>,
}

/// Disjoint sets of nodes; the nodes of a set share one place.
pub(super) struct Coalesced {
    /// The set of each node, named by one of its members.
    set_of: Vec<Id>,
    /// The members of each set; empty for a node that names no set.
    members: Vec<Vec<Id>>,
    /// Must writing a node spare worlds that are not active, as they still need the old content of its place? For a
    /// variable, this is asked of its initial value.
    pub(super) is_masked: Vec<bool>,
}

impl Coalesced {
    /// The sets of nodes that share a place, those of a single node included.
    pub(super) fn sets(&self) -> impl Iterator<Item = &[Id]> {
        self.members.iter().filter(|members| !members.is_empty()).map(Vec::as_slice)
    }
}

impl<'a> Events<'a> {
    /// Lists the events of a trace that is cut into functions and steps.
    pub(super) fn new(
        trace: &'a Trace,
        (functions, steps): (&'a [Function], &[Step]),
        in_time: &'a [bool],
        function_of: &'a [Option<usize>],
    ) -> Self {
        let mut events = Self {
            trace,
            functions,
            in_time,
            function_of,
            all: Vec::new(),
            of: vec![Vec::new(); trace.nodes.len()],
            of_region: vec![Vec::new(); trace.regions.len()],
            parent: vec![0; trace.regions.len()],
            variables: vec![Vec::new(); trace.nodes.len()],
        };
        for (region, of) in trace.regions.iter().enumerate() {
            for (k, &Variable { id, start, exit, end }) in of.variables.iter().enumerate() {
                [id, start, exit, end].into_iter().for_each(|node| events.variables[node as usize].push((region, k)));
            }
        }
        events.follow(steps, 0);
        events.read_late(false, 0);
        events
    }

    /// Appends an event inside a region, and files it under the nodes and regions that it touches.
    fn push(&mut self, event: Event, region: usize) {
        let at = self.all.len();
        self.all.push((event, region));
        match event {
            Event::Write(id) | Event::Read(id) => self.of[id as usize].push(at),
            Event::Open(region) | Event::Leave(region) | Event::Close(region) => {
                self.of_region[region].push(at);
                for variable in &self.trace.regions[region].variables {
                    self.of[variable.id as usize].push(at);
                    let from = source(event)(variable);
                    if from != variable.id {
                        self.of[from as usize].push(at);
                    }
                }
            }
        }
    }

    /// Appends the events of steps that are inside the region `within`.
    fn follow(&mut self, steps: &[Step], within: usize) {
        for step in steps {
            match step {
                Step::Call(function) => {
                    let functions = self.functions;
                    for &item in &functions[*function].items {
                        self.item(item, *function, within);
                    }
                }
                Step::LeaveUnless { region, go } => {
                    self.push(Event::Read(*go), within);
                    self.push(Event::Leave(*region), within);
                }
                Step::Region { region, steps } => {
                    let Region { kind, variables, .. } = &self.trace.regions[*region];
                    self.parent[*region] = within;
                    self.push(Event::Open(*region), within);
                    if let Kind::Branch { mask } = *kind {
                        self.push(Event::Read(mask), *region);
                    }
                    self.follow(steps, *region);
                    if matches!(kind, Kind::Time { .. }) {
                        self.read_late(true, *region);
                    }
                    self.push(Event::Close(*region), within);
                    variables.iter().for_each(|variable| self.push(Event::Read(variable.id), within));
                }
            }
        }
    }

    /// Appends the reads of results that the driver writes at the end of a step (`of_step`) or of the program.
    fn read_late(&mut self, of_step: bool, within: usize) {
        let trace = self.trace;
        for output in trace.outputs.iter().filter(|output| output.of_step == of_step) {
            if !is_prompt(trace, self.in_time, output) {
                self.push(Event::Read(output.id), within);
            }
        }
    }

    /// Appends the reads of an item from outside its function, then its writes.
    fn item(&mut self, item: Item, function: usize, within: usize) {
        let (mut read, mut written) = (Vec::new(), Vec::new());
        touched(self.trace, item, &mut read, &mut written);
        for id in read {
            if self.function_of[id as usize] != Some(function) {
                self.push(Event::Read(id), within);
            }
        }
        written.into_iter().for_each(|id| self.push(Event::Write(id), within));
    }

    /// Coalesces nodes that need a place into sets as large as possible. Innermost regions come first, as they run most
    /// often.
    pub(super) fn coalesced(&self, waits: &[bool]) -> Coalesced {
        let n = self.trace.nodes.len();
        let mut sets = Coalesced {
            set_of: (0..n as Id).collect(),
            members: (0..n as Id).map(|id| if waits[id as usize] { vec![id] } else { Vec::new() }).collect(),
            is_masked: vec![false; n],
        };
        let mut regions: Vec<usize> = (0..self.of_region.len()).filter(|&r| !self.of_region[r].is_empty()).collect();
        regions.sort_by_key(|&region| std::cmp::Reverse(self.depth(region)));
        for from in [|v: &Variable| v.end, |v: &Variable| v.start, |v: &Variable| v.exit] {
            for &region in &regions {
                for variable in &self.trace.regions[region].variables {
                    self.join(&mut sets, variable.id, from(variable), waits);
                }
            }
        }
        for members in &sets.members {
            let masked: Vec<usize> = members.iter().filter_map(|&id| self.masked_region_of(id)).collect();
            for &id in members {
                // The region in which the node is written; for a variable, its initial value is set outside of its
                // region.
                let Some(&at) = self.of[id as usize].first() else { continue };
                let mut region = self.all[at].1;
                while region != 0 && !masked.contains(&region) {
                    region = self.parent[region];
                }
                sets.is_masked[id as usize] = region != 0;
            }
        }
        sets
    }

    /// The nesting depth of a region; 0 for the whole program.
    fn depth(&self, mut region: usize) -> usize {
        let mut depth = 0;
        while region != 0 {
            (region, depth) = (self.parent[region], depth + 1);
        }
        depth
    }

    /// The branch or loop of the driver that this node is a variable of, else `None`.
    fn masked_region_of(&self, id: Id) -> Option<usize> {
        self.of[id as usize].iter().find_map(|&at| match self.all[at].0 {
            Event::Open(region) if self.has_variable(region, id) => {
                matches!(self.trace.regions[region].kind, Kind::Branch { .. } | Kind::Loop { .. }).then_some(region)
            }
            _ => None,
        })
    }

    /// Is the node a variable of this region?
    fn has_variable(&self, region: usize, id: Id) -> bool {
        self.trace.regions[region].variables.iter().any(|variable| variable.id == id)
    }

    /// Joins the sets of two nodes if the result is safe.
    fn join(&self, sets: &mut Coalesced, a: Id, b: Id, waits: &[bool]) {
        let [to, from] = [a, b].map(|id| sets.set_of[id as usize]);
        let is_one = to == from;
        let is_kept = |id: Id| waits[id as usize] && !self.trace.nodes[id as usize].op.is_given();
        if is_one || !is_kept(a) || !is_kept(b) || Pool::of(self.trace, a) != Pool::of(self.trace, b) {
            return;
        }
        let (Some(own), Some(other)) = (sets.members.get(to as usize), sets.members.get(from as usize)) else { return };
        let set = [own.as_slice(), other.as_slice()].concat();
        if self.may_be(&set) {
            set.iter().for_each(|&id| sets.set_of[id as usize] = to);
            sets.members[to as usize] = set;
            sets.members[from as usize] = Vec::new();
        }
    }

    /// Is it safe for these nodes to share a place? That is so if each read of one of them finds that very node there.
    fn may_be(&self, set: &[Id]) -> bool {
        let mut events: Vec<usize> = set.iter().flat_map(|&id| self.of[id as usize].iter().copied()).collect();
        // Entry and exit of the regions around these events matter too.
        let mut regions: Vec<usize> = Vec::new();
        for &at in &events {
            let (event, mut region) = self.all[at];
            if let Event::Open(own) | Event::Leave(own) | Event::Close(own) = event {
                region = own;
            }
            while region != 0 && !regions.contains(&region) {
                regions.push(region);
                region = self.parent[region];
            }
        }
        for region in regions {
            events.extend(self.of_region[region].iter().filter(|&&at| !matches!(self.all[at].0, Event::Leave(_))));
        }
        events.sort_unstable();
        events.dedup();
        let mut set = set.to_vec();
        set.sort_unstable();
        let mut variables: Vec<(usize, usize)> =
            set.iter().flat_map(|&id| self.variables[id as usize].iter().copied()).collect();
        variables.sort_unstable();
        variables.dedup();
        let mut walk = Walk { events: self, set, variables, path: &events, at: 0 };
        walk.until_close(None).is_some()
    }
}

/// The value that a variable takes at an event: initial, exit or final.
fn source(event: Event) -> fn(&Variable) -> Id {
    match event {
        Event::Open(_) => |variable| variable.start,
        Event::Leave(_) => |variable| variable.exit,
        _ => |variable| variable.end,
    }
}

/// A walk over the events that touch a set of nodes. It tracks which node of the set, if any, the shared place holds.
struct Walk<'a> {
    events: &'a Events<'a>,
    /// The nodes, ascending.
    set: Vec<Id>,
    /// The variables that are one of the nodes or take its value: region and index among its variables, ascending.
    variables: Vec<(usize, usize)>,
    path: &'a [usize],
    /// The position in `path`.
    at: usize,
}

impl Walk<'_> {
    /// Walks on to the end of the current region. Returns the node that the place then holds (`Some(None)` if unknown),
    /// or `None` if a read does not find its node.
    fn until_close(&mut self, mut holds: Option<Id>) -> Option<Option<Id>> {
        while let Some(&at) = self.path.get(self.at) {
            self.at += 1;
            match self.events.all[at].0 {
                Event::Write(id) => holds = Some(id),
                Event::Read(id) if holds == Some(id) => {}
                Event::Read(_) => return None,
                event @ Event::Leave(region) => {
                    self.set_variables(event, region, holds)?;
                }
                Event::Close(_) => return Some(holds),
                event @ Event::Open(region) => {
                    let own = self.set_variables(event, region, holds)?;
                    let kind = self.events.trace.regions[region].kind;
                    let is_loop = matches!(kind, Kind::Loop { .. } | Kind::Time { .. });
                    let starts_in_place = own.is_some_and(|(_, is_copied)| !is_copied);
                    let before = match own {
                        // The branch itself reads the initial value of its variable.
                        Some(_) if starts_in_place && !is_loop => holds,
                        Some((id, _)) => Some(id),
                        None => holds,
                    };
                    let start = self.at;
                    let mut after = self.until_close(before)?;
                    let close = Event::Close(region);
                    if own.is_none() && after != before {
                        if is_loop {
                            self.at = start;
                            after = self.until_close(None)?;
                        }
                        self.set_variables(close, region, after)?;
                        holds = None;
                    } else {
                        self.set_variables(close, region, after)?;
                        holds = own.map_or(after, |(id, _)| Some(id));
                    }
                }
            }
        }
        Some(holds)
    }

    /// Sets the variables of a region simultaneously. Returns the variable that owns the shared place, if any, and
    /// whether its value is copied there; `None` if a value is not found in the place.
    fn set_variables(&self, event: Event, region: usize, holds: Option<Id>) -> Option<Option<(Id, bool)>> {
        let from = source(event);
        let (mut own, mut is_read) = (None, false);
        let first = self.variables.partition_point(|&(other, _)| other < region);
        let touched = self.variables[first..].iter().take_while(|&&(other, _)| other == region);
        for &(_, k) in touched {
            let variable = &self.events.trace.regions[region].variables[k];
            let source = from(variable);
            let [is_own, is_here] = [variable.id, source].map(|id| self.set.binary_search(&id).is_ok());
            if is_here && holds != Some(source) {
                return None;
            }
            if is_own && own.replace((variable.id, !is_here)).is_some() {
                return None;
            }
            is_read |= is_here && !is_own;
        }
        // Copies are made one after the other, so a copy into the place may destroy a value that another variable still
        // reads.
        (!is_read || own.is_none_or(|(_, is_copied)| !is_copied)).then_some(own)
    }
}
