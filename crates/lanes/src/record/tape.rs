//! The tape during a recording. It appends operations inside nested branches and loops, and simplifies them on the way:
//! constant folding, common subexpression elimination, and moving computations that do not depend on the time step out
//! of the loop over time.
//!
//! A simplified operation has the bits of the original, except for the sign and payload of NaN. So x + 0 becomes x only
//! if x cannot be −0, and x · 0 stays, as x may be infinite.

use std::collections::HashMap;

use crate::lane::Precision;

use super::op::{Id, Node, Op};
use super::trace::{Item, Kind, Region, Row, Variable};

/// The most nodes that a tape may have.
const LONGEST: usize = 1 << 24;
/// The most passes over the body of a loop in search of its variables. A recording that needs more fails.
const PASSES: usize = 64;

/// The nodes recorded so far, the open branches and loops, and the facts that are known inside them.
#[derive(Debug)]
pub(super) struct Tape {
    /// All nodes, in the order in which they were recorded.
    pub(super) nodes: Vec<Node>,
    /// The precision in which the next operations are recorded.
    pub(super) precision: Precision,
    /// The stage of each node, an index into `stages`.
    pub(super) stage_of: Vec<u16>,
    /// The names of the stages.
    pub(super) stages: Vec<String>,
    /// The stage that is recorded now.
    stage: usize,
    /// All regions; the first is the whole program.
    pub(super) regions: Vec<Region>,
    /// For each node: is it known that its number cannot be −0?
    not_negative_zero: Vec<bool>,
    /// For each node: may its value change from step to step of a loop over time?
    changes_in_time: Vec<bool>,
    /// For each number of the results: does each step of the loop over time write it? Empty if there is no such loop.
    pub(super) of_step: Vec<bool>,
    /// The rows of the operands.
    pub(super) operands: Vec<Row>,
    /// The open regions, from outside in.
    scopes: Vec<Scope>,
    /// The number of scopes outside the loop over time, while that loop is open.
    time: Option<usize>,
    /// The node that computes each operation, for common subexpression elimination.
    known: HashMap<Node, Id>,
    /// Flags whose value is known at this place: the conditions of the branches and loops around it.
    facts: Vec<(Id, bool)>,
    /// The reason why the program cannot be recorded, if there is one.
    pub(super) failure: Option<String>,
}

/// An open branch or loop.
#[derive(Debug)]
struct Scope {
    region: usize,
    /// Operations first recorded inside this scope. They are forgotten when it closes, as code outside may not have run
    /// them.
    own: Vec<Node>,
    /// The number of facts that already held outside.
    facts: usize,
}

/// A position on the tape, to which [`Tape::back`] can return.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    nodes: usize,
    regions: usize,
    items: usize,
}

impl Tape {
    /// An empty tape for numbers of a precision.
    pub(super) fn new(precision: Precision) -> Self {
        Self {
            nodes: Vec::new(),
            precision,
            stage_of: Vec::new(),
            stages: vec![String::from("operands")],
            stage: 0,
            regions: vec![Region { kind: Kind::Whole, items: Vec::new(), variables: Vec::new() }],
            not_negative_zero: Vec::new(),
            changes_in_time: Vec::new(),
            of_step: Vec::new(),
            operands: Vec::new(),
            scopes: vec![Scope { region: 0, own: Vec::new(), facts: 0 }],
            time: None,
            known: HashMap::new(),
            facts: Vec::new(),
            failure: None,
        }
    }

    /// Starts a stage: all nodes from here on belong to it. Stages of the same name are one.
    pub(super) fn stage(&mut self, name: &str) {
        self.stage = self.stages.iter().position(|other| other == name).unwrap_or(self.stages.len());
        if self.stage == self.stages.len() {
            self.stages.push(name.to_owned());
        }
    }

    /// The innermost open region.
    fn region(&self) -> usize {
        self.scopes[self.scopes.len() - 1].region
    }

    /// The node with this index.
    fn node(&self, id: Id) -> Node {
        self.nodes[id as usize]
    }

    /// Appends a node without looking for an equal one.
    fn append(&mut self, node: Node) -> Id {
        if self.nodes.len() >= LONGEST {
            self.failure.get_or_insert_with(|| format!("expected {LONGEST} operations at most"));
            return 0;
        }
        let id = self.nodes.len() as Id;
        let positive = self.cannot_be_negative_zero(&node);
        let in_time = matches!(node.op, Op::InputOfStep | Op::Variable | Op::FlagVariable);
        let changes = in_time || node.arguments().iter().any(|&id| self.changes_in_time[id as usize]);
        self.nodes.push(node);
        self.not_negative_zero.push(positive);
        self.changes_in_time.push(changes);
        self.stage_of.push(self.stage as u16);
        id
    }

    /// Records a node and returns its index, or that of an equal node that is known here. Inside a loop over time, a
    /// node that is the same in all steps is placed before the loop.
    fn place(&mut self, node: Node) -> Id {
        if let Some(&id) = self.known.get(&node) {
            return id;
        }
        let id = self.append(node);
        self.known.insert(node, id);
        if node.op.is_computed() {
            let innermost = self.scopes.len() - 1;
            let scope =
                self.time.filter(|_| !self.changes_in_time[id as usize]).map_or(innermost, |outside| outside - 1);
            self.scopes[scope].own.push(node);
            let region = self.scopes[scope].region;
            self.regions[region].items.push(Item::Node(id));
        }
        id
    }

    /// Records a node without arguments.
    fn given(&mut self, op: Op, precision: Precision, bits: u64) -> Id {
        self.place(Node { op, precision, arguments: [0; 3], bits })
    }

    /// Records a constant.
    pub(super) fn constant(&mut self, precision: Precision, x: f64) -> Id {
        self.given(Op::Constant, precision, x.to_bits())
    }

    /// Records a constant flag.
    pub(super) fn flag(&mut self, flag: bool) -> Id {
        self.given(Op::Flag, Precision::Double, u64::from(flag))
    }

    /// Records the number with this index among all operands.
    pub(super) fn input(&mut self, precision: Precision, place: u64) -> Id {
        let op = if self.time.is_some() && self.has_steps(place as usize) { Op::InputOfStep } else { Op::Input };
        self.given(op, precision, place)
    }

    /// Does the operand number with this index change from step to step of a rollout?
    fn has_steps(&self, mut place: usize) -> bool {
        for row in &self.operands {
            if place < row.width {
                return row.step > 0;
            }
            place -= row.width;
        }
        false
    }

    /// Can the result of this operation be proven not to be −0?
    fn cannot_be_negative_zero(&self, node: &Node) -> bool {
        let [a, b, _] = node.arguments;
        let never = |id: Id| self.not_negative_zero[id as usize];
        match node.op {
            Op::Constant => node.bits != (-0.0_f64).to_bits(),
            Op::Abs => true,
            Op::Mul => a == b,
            // With a zero factor the result is c plus a zero, which is −0 only if c is −0.
            Op::Fma => (self.is_zero(a) || self.is_zero(b)) && never(node.arguments[2]),
            Op::Add => never(a) || never(b),
            Op::Sub | Op::Sqrt | Op::Widen => never(a),
            Op::Min | Op::Max => never(a) && never(b),
            Op::Select => never(b) && never(node.arguments[2]),
            _ => false,
        }
    }

    /// Is the node the constant 0 or −0?
    fn is_zero(&self, id: Id) -> bool {
        self.node(id).constant() == Some(0.0)
    }

    /// The value of a flag that is constant or follows from the conditions around this place, else `None`.
    fn fact(&self, id: Id) -> Option<bool> {
        let known = self.node(id).flag();
        known.or_else(|| self.facts.iter().rev().find(|(of, _)| *of == id).map(|(_, flag)| *flag))
    }

    /// Notes that a flag has this value from here to the end of the scope, and what follows for the flags that it is
    /// made of.
    fn learn(&mut self, id: Id, flag: bool) {
        self.facts.push((id, flag));
        let Node { op, arguments: [a, b, _], .. } = self.node(id);
        match (op, flag) {
            (Op::And, true) | (Op::Or, false) => {
                self.learn(a, flag);
                self.learn(b, flag);
            }
            (Op::Not, _) => self.learn(a, !flag),
            _ => {}
        }
    }

    /// Records an operation in its simplest form, and returns the node of its result.
    pub(super) fn operation(&mut self, op: Op, precision: Precision, arguments: &[Id]) -> Id {
        let mut all = [0; 3];
        all[..arguments.len()].copy_from_slice(arguments);
        let constants = all.map(|id| self.nodes.get(id as usize).and_then(Node::constant));
        let constants = &constants[..arguments.len()];
        if constants.iter().all(Option::is_some) {
            let mut numbers = [0.0; 3];
            numbers.iter_mut().zip(constants).for_each(|(to, x)| *to = x.unwrap_or(0.0));
            let value = op.value(precision, numbers);
            return if op.is_flag() { self.flag(value != 0.0) } else { self.constant(precision, value) };
        }
        let folded = match op {
            Op::And | Op::Or | Op::Not => self.fold_flags(op, all),
            Op::Select => return self.select(precision, all),
            _ => self.fold_numbers(op, precision, all, constants),
        };
        if let Some(id) = folded {
            return id;
        }
        if matches!(op, Op::Add | Op::Mul | Op::Fma | Op::And | Op::Or) && all[0] > all[1] {
            all.swap(0, 1);
        }
        self.place(Node { op, precision, arguments: all, bits: 0 })
    }

    /// Simplifies an operation on numbers. Gives an equal node, or `None` if nothing applies.
    fn fold_numbers(&mut self, op: Op, precision: Precision, all: [Id; 3], constants: &[Option<f64>]) -> Option<Id> {
        let [a, b, c] = all;
        let is = |k: usize, x: f64| constants.get(k).copied().flatten().map(f64::to_bits) == Some(x.to_bits());
        let never = |id: Id| self.not_negative_zero[id as usize];
        let negated = |id: Id| (self.node(id).op == Op::Neg).then(|| self.node(id).arguments[0]);
        match op {
            Op::Add if is(0, -0.0) || (is(0, 0.0) && never(b)) => Some(b),
            Op::Add if is(1, -0.0) || (is(1, 0.0) && never(a)) => Some(a),
            Op::Sub if is(1, 0.0) || (is(1, -0.0) && never(a)) => Some(a),
            Op::Sub if is(0, -0.0) => Some(self.operation(Op::Neg, precision, &[b])),
            Op::Mul if is(0, 1.0) => Some(b),
            Op::Mul | Op::Div if is(1, 1.0) => Some(a),
            Op::Mul if is(0, -1.0) => Some(self.operation(Op::Neg, precision, &[b])),
            Op::Mul | Op::Div if is(1, -1.0) => Some(self.operation(Op::Neg, precision, &[a])),
            Op::Fma if constants[..2].iter().all(Option::is_some) && (self.is_zero(a) || self.is_zero(b)) => {
                let product = self.operation(Op::Mul, precision, &[a, b]);
                Some(self.operation(Op::Add, precision, &[product, c]))
            }
            Op::Fma if is(2, -0.0) => Some(self.operation(Op::Mul, precision, &[a, b])),
            Op::Fma if is(0, 1.0) => Some(self.operation(Op::Add, precision, &[b, c])),
            Op::Fma if is(1, 1.0) => Some(self.operation(Op::Add, precision, &[a, c])),
            Op::Neg => negated(a),
            Op::Abs => match (negated(a), self.node(a).op) {
                (Some(x), _) => Some(self.operation(Op::Abs, precision, &[x])),
                (None, Op::Abs) => Some(a),
                _ => None,
            },
            Op::Add => match (negated(a), negated(b)) {
                (_, Some(b)) => Some(self.operation(Op::Sub, precision, &[a, b])),
                (Some(a), None) => Some(self.operation(Op::Sub, precision, &[b, a])),
                (None, None) => None,
            },
            Op::Sub => negated(b).map(|b| self.operation(Op::Add, precision, &[a, b])),
            Op::Lt if a == b => Some(self.flag(false)),
            _ => None,
        }
    }

    /// Simplifies an operation on flags. Gives an equal node, or `None` if nothing applies.
    fn fold_flags(&mut self, op: Op, [a, b, _]: [Id; 3]) -> Option<Id> {
        if op == Op::Not {
            let Node { op, arguments, .. } = self.node(a);
            return match self.fact(a) {
                Some(flag) => Some(self.flag(!flag)),
                None => (op == Op::Not).then_some(arguments[0]),
            };
        }
        if a == b {
            return Some(a);
        }
        // A false argument decides an "and", a true one an "or".
        let decides = op == Op::Or;
        for (x, other) in [(a, b), (b, a)] {
            match self.fact(x) {
                Some(flag) if flag == decides => return Some(self.flag(decides)),
                Some(_) => return Some(other),
                None => {}
            }
        }
        None
    }

    /// Records a selection, simplified: known masks, negated masks and nested selections by the same mask are resolved.
    fn select(&mut self, precision: Precision, [mut mask, mut yes, mut no]: [Id; 3]) -> Id {
        while let Node { op: Op::Not, arguments: [inner, ..], .. } = self.node(mask) {
            mask = inner;
            std::mem::swap(&mut yes, &mut no);
        }
        if let Some(flag) = self.fact(mask) {
            return if flag { yes } else { no };
        }
        // select(m, select(m, x, y), z)
        let same =
            |id: Id| (self.node(id).op == Op::Select && self.node(id).arguments[0] == mask).then(|| self.node(id));
        yes = same(yes).map_or(yes, |node| node.arguments[1]);
        no = same(no).map_or(no, |node| node.arguments[2]);
        if yes == no {
            return yes;
        }
        self.place(Node { op: Op::Select, precision, arguments: [mask, yes, no], bits: 0 })
    }

    /// Opens a region inside the innermost one.
    fn open(&mut self, kind: Kind) -> usize {
        self.regions.push(Region { kind, items: Vec::new(), variables: Vec::new() });
        let region = self.regions.len() - 1;
        self.scopes.push(Scope { region, own: Vec::new(), facts: self.facts.len() });
        region
    }

    /// Closes the innermost region, and forgets the operations and facts that hold only inside it.
    fn close(&mut self) {
        if let Some(Scope { region, own, facts }) = self.scopes.pop() {
            own.iter().for_each(|node| {
                self.known.remove(node);
            });
            self.facts.truncate(facts);
            let parent = self.region();
            self.regions[parent].items.push(Item::Region(region));
        }
    }

    /// A new variable, of the same type as the node `like`.
    fn variable(&mut self, like: Id) -> Id {
        let Node { op, precision, .. } = self.node(like);
        let op = if op.is_flag() { Op::FlagVariable } else { Op::Variable };
        let bits = self.nodes.len() as u64;
        self.append(Node { op, precision, arguments: [0; 3], bits })
    }

    /// Marks here where a part starts or ends: see [`Item::Part`].
    pub(super) fn part(&mut self) {
        let region = self.region();
        self.regions[region].items.push(Item::Part);
    }

    /// Opens a branch for the worlds where `mask` is set. No region is opened if the mask is known.
    pub(super) fn open_branch(&mut self, mask: Id) -> Branch {
        match self.fact(mask) {
            Some(true) => Branch::Always,
            Some(false) => Branch::Never,
            None => {
                let region = self.open(Kind::Branch { mask });
                self.learn(mask, true);
                Branch::Region(region)
            }
        }
    }

    /// Closes a branch. Given the state before it and at its end, returns the state behind it: a new variable for each
    /// number that changed.
    pub(super) fn close_branch(&mut self, region: usize, before: &[Id], end: &[Id]) -> Vec<Id> {
        let merged = before.iter().zip(end).map(|(&start, &end)| {
            if start == end {
                return start;
            }
            let id = self.variable(start);
            self.regions[region].variables.push(Variable { id, start, exit: id, end });
            id
        });
        let merged = merged.collect();
        self.close();
        merged
    }

    /// The current position on the tape.
    pub(super) fn mark(&self) -> Mark {
        let items = self.regions[self.region()].items.len();
        Mark { nodes: self.nodes.len(), regions: self.regions.len(), items }
    }

    /// Removes everything that was recorded after the mark.
    pub(super) fn back(&mut self, Mark { nodes, regions, items }: Mark) {
        self.nodes.truncate(nodes);
        self.not_negative_zero.truncate(nodes);
        self.changes_in_time.truncate(nodes);
        self.stage_of.truncate(nodes);
        self.regions.truncate(regions);
        let region = self.region();
        self.regions[region].items.truncate(items);
        self.known.retain(|_, id| (*id as usize) < nodes);
    }

    /// Opens a loop. A new variable takes the place of each number of `before` that is carried from pass to pass, as
    /// `carried` says.
    pub(super) fn open_loop(&mut self, kind: Kind, before: &[Id], carried: &[bool]) -> (usize, Vec<Id>) {
        if matches!(kind, Kind::Time { .. }) {
            self.time = Some(self.scopes.len());
        }
        let of = before.iter().zip(carried);
        let ids: Vec<Id> = of.map(|(&id, &carried)| if carried { self.variable(id) } else { id }).collect();
        let region = self.open(kind);
        let variables = ids.iter().zip(before).zip(carried).filter(|(_, carried)| **carried);
        self.regions[region].variables =
            variables.map(|((&id, &start), _)| Variable { id, start, exit: id, end: id }).collect();
        (region, ids)
    }

    /// Records the exit of a loop: a world leaves it where the flag `go` is not set, with the state `now`.
    pub(super) fn leave_unless(&mut self, region: usize, go: Id, now: &[Id], carried: &[bool]) {
        let exits = now.iter().zip(carried).filter(|(_, carried)| **carried);
        for (variable, (&exit, _)) in self.regions[region].variables.iter_mut().zip(exits) {
            variable.exit = exit;
        }
        self.regions[region].items.push(Item::LeaveUnless(go));
        self.learn(go, true);
    }

    /// Closes a loop whose body ends with the state `end`.
    pub(super) fn close_loop(&mut self, region: usize, end: &[Id], carried: &[bool]) {
        let ends = end.iter().zip(carried).filter(|(_, carried)| **carried);
        for (variable, (&end, _)) in self.regions[region].variables.iter_mut().zip(ends) {
            variable.end = end;
        }
        self.close();
        self.time = self.time.filter(|&scopes| scopes < self.scopes.len());
    }

    /// For each number of a closed loop's state: is it carried from pass to pass and really changed by the loop?
    pub(super) fn changed(&self, region: usize, carried: &[bool]) -> Vec<bool> {
        let mut variables = self.regions[region].variables.iter();
        let changes = |variable: &Variable| variable.exit != variable.id || variable.end != variable.id;
        carried.iter().map(|&carried| carried && variables.next().is_some_and(changes)).collect()
    }

    /// Fails the recording if the body of a loop had to be recorded too often. Returns whether to go on.
    pub(super) fn check_passes(&mut self, passes: usize) -> bool {
        if passes > PASSES {
            self.failure.get_or_insert_with(|| String::from("a loop whose variables do not become known"));
        }
        self.failure.is_none()
    }
}

/// The result of [`Tape::open_branch`].
pub(super) enum Branch {
    /// The mask is always set: the body is recorded without a branch.
    Always,
    /// The mask is never set: the body is left out.
    Never,
    /// The mask is not known: the body is recorded into this new region.
    Region(usize),
}
