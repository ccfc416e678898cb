//! Which nodes have one place: a variable of the driver's, what it starts as and what it becomes, as far as none of them is wanted
//! once the next is there. What would be copied from place to place is then written where it belongs.
//!
//! Sets of such nodes grow one by one; a set may be if everyone who reads one of its nodes finds that one in the place, along every
//! path through branches and loops. Worlds that a branch or a loop is not for keep what they have: see [`Coalesced::is_masked`].

use super::super::functions::{Function, Pool, Step, is_prompt, touched};
use super::super::op::Id;
use super::super::trace::{Item, Kind, Region, Trace, Variable};

/// Something that happens to places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// A function leaves the node.
    Write(Id),
    Read(Id),
    /// A region of the driver's starts, is left by some worlds, ends: its variables are set.
    Open(usize),
    Leave(usize),
    Close(usize),
}

/// What happens while a trace is run, in its order; loops once.
pub(super) struct Events<'a> {
    trace: &'a Trace,
    functions: &'a [Function],
    in_time: &'a [bool],
    function_of: &'a [Option<usize>],
    /// What happens, and in which region.
    all: Vec<(Event, usize)>,
    /// What happens to each node, and to each region.
    of: Vec<Vec<usize>>,
    of_region: Vec<Vec<usize>>,
    /// The region that each region of the driver's is in.
    parent: Vec<usize>,
}

/// Sets of nodes that have one place.
pub(super) struct Coalesced {
    /// Each node's set, by one of its nodes.
    set_of: Vec<Id>,
    members: Vec<Vec<Id>>,
    /// Must worlds that are not active keep what is in the place when the node is written there? Of a variable: when it starts.
    pub(super) is_masked: Vec<bool>,
}

impl Coalesced {
    /// The nodes of all sets.
    pub(super) fn sets(&self) -> impl Iterator<Item = &[Id]> {
        self.members.iter().filter(|members| !members.is_empty()).map(Vec::as_slice)
    }
}

impl<'a> Events<'a> {
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
        };
        events.follow(steps, 0);
        events.read_late(false, 0);
        events
    }

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

    /// Results that are written at the end of a step, or of the whole.
    fn read_late(&mut self, of_step: bool, within: usize) {
        let trace = self.trace;
        for output in trace.outputs.iter().filter(|output| output.of_step == of_step) {
            if !is_prompt(trace, self.in_time, output) {
                self.push(Event::Read(output.id), within);
            }
        }
    }

    /// What an item of a function reads from elsewhere, then what it leaves.
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

    /// Sets as large as may be, of nodes that wait: innermost regions first, which are run most.
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
                // Where the node is left; a variable starts outside of its region.
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

    fn depth(&self, mut region: usize) -> usize {
        let mut depth = 0;
        while region != 0 {
            (region, depth) = (self.parent[region], depth + 1);
        }
        depth
    }

    /// The branch or loop that a variable of the driver's is of.
    fn masked_region_of(&self, id: Id) -> Option<usize> {
        self.of[id as usize].iter().find_map(|&at| match self.all[at].0 {
            Event::Open(region) if self.has_variable(region, id) => {
                matches!(self.trace.regions[region].kind, Kind::Branch { .. } | Kind::Loop { .. }).then_some(region)
            }
            _ => None,
        })
    }

    fn has_variable(&self, region: usize, id: Id) -> bool {
        self.trace.regions[region].variables.iter().any(|variable| variable.id == id)
    }

    /// Makes one set of the sets of two nodes, if it may be.
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

    /// Does everyone who reads a node of the set find that one in the place?
    fn may_be(&self, set: &[Id]) -> bool {
        let mut events: Vec<usize> = set.iter().flat_map(|&id| self.of[id as usize].iter().copied()).collect();
        // The regions that they are in start and end.
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
        let mut walk = Walk { events: self, set, path: &events, at: 0 };
        walk.until_close(None).is_some()
    }
}

/// What a variable becomes at an event.
fn source(event: Event) -> fn(&Variable) -> Id {
    match event {
        Event::Open(_) => |variable| variable.start,
        Event::Leave(_) => |variable| variable.exit,
        _ => |variable| variable.end,
    }
}

/// Along the events that matter to a set. What is in its place is one of its nodes, or nobody knows.
struct Walk<'a> {
    events: &'a Events<'a>,
    set: &'a [Id],
    path: &'a [usize],
    at: usize,
}

impl Walk<'_> {
    /// From here to the end of the region: what is in the place then. Nothing if somebody does not find what is wanted.
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
                        // The branch itself reads what its variable starts as.
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

    /// Sets the variables of a region, all at once: the one that has this place, and whether it is copied there.
    fn set_variables(&self, event: Event, region: usize, holds: Option<Id>) -> Option<Option<(Id, bool)>> {
        let from = source(event);
        let (mut own, mut is_read) = (None, false);
        for variable in &self.events.trace.regions[region].variables {
            let source = from(variable);
            let [is_own, is_here] = [variable.id, source].map(|id| self.set.contains(&id));
            if is_here && holds != Some(source) {
                return None;
            }
            if is_own && own.replace((variable.id, !is_here)).is_some() {
                return None;
            }
            is_read |= is_here && !is_own;
        }
        // Copies are made one after the other.
        (!is_read || own.is_none_or(|(_, is_copied)| !is_copied)).then_some(own)
    }
}
