//! Functions of one kind: the same operations on what stands in other places. One of them is printed, with a table of what
//! differs in the others.

use std::collections::HashMap;

use crate::math::lane::Precision;

use super::op::{Id, Op};
use super::schedule::{Function, Layout, Pool};
use super::trace::{Item, Kind, Region, Trace};

/// What a function has from elsewhere, or leaves there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Slot {
    /// A constant, or a number of an operand.
    Given(Id),
    /// The place where a node waits.
    Place(Id),
    /// A place in a row of results.
    Result { row: usize, place: usize },
}

/// How a slot differs among the functions of a kind.
#[derive(Clone, Copy, Debug)]
pub(super) enum Difference {
    /// Its place is further by this column of [`Table::offsets`].
    Offset(usize),
    /// It is the constant in this column of [`Table::doubles`], or of [`Table::singles`].
    Constant(usize),
}

/// What differs among the functions of a kind: a row for each of them.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) offsets: Vec<Vec<isize>>,
    pub(super) doubles: Vec<Vec<f64>>,
    pub(super) singles: Vec<Vec<f64>>,
    /// The slots of the first function that differ in others.
    slots: HashMap<Slot, Difference>,
}

impl Table {
    /// Is there anything?
    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    pub(super) fn difference(&self, slot: Slot) -> Option<Difference> {
        self.slots.get(&slot).copied()
    }
}

/// All kinds of functions.
#[derive(Debug)]
pub(super) struct Kinds {
    /// The functions of each kind, the first of which is printed.
    pub(super) functions: Vec<Vec<usize>>,
    pub(super) tables: Vec<Table>,
    /// The kind of each function, and which of its functions it is.
    pub(super) of: Vec<(usize, usize)>,
}

impl Kinds {
    pub(super) fn new(trace: &Trace, layout: &Layout, functions: &[Function]) -> Self {
        let mut known: HashMap<Vec<u64>, usize> = HashMap::new();
        let (mut kinds, mut slots): (Vec<Vec<usize>>, Vec<Vec<Vec<Slot>>>) = Default::default();
        let mut of = Vec::new();
        for (k, function) in functions.iter().enumerate() {
            let mut form = Form {
                trace,
                layout,
                function: k,
                code: Vec::new(),
                slots: Vec::new(),
                known: HashMap::new(),
                locals: HashMap::new(),
            };
            form.items(&function.items);
            let kind = *known.entry(form.code).or_insert(kinds.len());
            if kind == kinds.len() {
                kinds.push(Vec::new());
                slots.push(Vec::new());
            }
            of.push((kind, kinds[kind].len()));
            kinds[kind].push(k);
            slots[kind].push(form.slots);
        }
        let tables = slots.iter().map(|slots| table(trace, layout, slots)).collect();
        Self { functions: kinds, tables, of }
    }
}

/// What differs among functions, given the slots of each.
fn table(trace: &Trace, layout: &Layout, slots: &[Vec<Slot>]) -> Table {
    let mut table = Table {
        offsets: vec![Vec::new(); slots.len()],
        doubles: vec![Vec::new(); slots.len()],
        singles: vec![Vec::new(); slots.len()],
        slots: HashMap::new(),
    };
    let mut known: HashMap<Vec<isize>, usize> = HashMap::new();
    for (k, &first) in slots[0].iter().enumerate() {
        let node = |slot: Slot| match slot {
            Slot::Given(id) | Slot::Place(id) => Some(trace.nodes[id as usize]),
            Slot::Result { .. } => None,
        };
        if let Some(node) = node(first).filter(|node| node.op == Op::Constant) {
            let values: Vec<u64> = slots.iter().filter_map(|slots| Some(node_bits(trace, slots[k])?)).collect();
            if values.iter().any(|&bits| bits != values[0]) {
                let to = if node.precision == Precision::Double { &mut table.doubles } else { &mut table.singles };
                table.slots.insert(first, Difference::Constant(to[0].len()));
                to.iter_mut().zip(values).for_each(|(to, bits)| to.push(f64::from_bits(bits)));
            }
            continue;
        }
        let place = |slot: Slot| match slot {
            Slot::Given(id) => trace.nodes[id as usize].bits as isize,
            Slot::Place(id) => layout.places[id as usize].unwrap_or(0) as isize,
            Slot::Result { place, .. } => place as isize,
        };
        let offsets: Vec<isize> = slots.iter().map(|slots| place(slots[k]) - place(first)).collect();
        if offsets.iter().any(|&offset| offset != 0) {
            let column = *known.entry(offsets.clone()).or_insert(table.offsets[0].len());
            if column == table.offsets[0].len() {
                table.offsets.iter_mut().zip(offsets).for_each(|(to, offset)| to.push(offset));
            }
            table.slots.insert(first, Difference::Offset(column));
        }
    }
    table
}

fn node_bits(trace: &Trace, slot: Slot) -> Option<u64> {
    match slot {
        Slot::Given(id) => Some(trace.nodes[id as usize].bits),
        Slot::Place(_) | Slot::Result { .. } => None,
    }
}

/// What a function does, but for the places of what it works on.
struct Form<'a> {
    trace: &'a Trace,
    layout: &'a Layout,
    function: usize,
    code: Vec<u64>,
    slots: Vec<Slot>,
    known: HashMap<Slot, usize>,
    locals: HashMap<Id, usize>,
}

/// Words of a form that start something.
#[derive(Clone, Copy)]
enum Word {
    Operation,
    Local,
    Slot,
    Bits,
    Result,
    Branch,
    Loop,
    Leave,
    End,
}

impl Form<'_> {
    fn word(&mut self, word: Word, what: usize) {
        self.code.extend([word as u64, what as u64]);
    }

    fn slot(&mut self, slot: Slot) {
        let next = self.slots.len();
        let place = *self.known.entry(slot).or_insert(next);
        if place == next {
            self.slots.push(slot);
        }
        self.word(Word::Slot, place);
    }

    /// Something that an operation takes.
    fn argument(&mut self, id: Id) {
        let node = self.trace.nodes[id as usize];
        match node.op {
            Op::Flag => self.word(Word::Bits, node.bits as usize),
            // There may be no name for these in a table.
            Op::Constant if !f64::from_bits(node.bits).is_finite() => self.word(Word::Bits, node.bits as usize),
            Op::Constant => {
                self.word(Word::Operation, node.precision as usize);
                self.slot(Slot::Given(id));
            }
            Op::Input | Op::InputOfStep => {
                let row = self.trace.operand_of(node.bits as usize).map_or(usize::MAX, |(row, _)| row);
                self.word(Word::Operation, row);
                self.slot(Slot::Given(id));
            }
            _ if self.layout.function_of[id as usize] == Some(self.function) => {
                let next = self.locals.len();
                let local = *self.locals.entry(id).or_insert(next);
                self.word(Word::Local, local);
            }
            _ => {
                self.word(Word::Operation, Pool::of(self.trace, id) as usize);
                self.slot(Slot::Place(id));
            }
        }
    }

    /// Where what was computed is left.
    fn leave(&mut self, id: Id) {
        self.argument(id);
        if self.layout.places[id as usize].is_some() {
            self.slot(Slot::Place(id));
        }
        for output in &self.layout.outputs[id as usize] {
            self.word(Word::Result, output.row);
            self.slot(Slot::Result { row: output.row, place: output.place });
        }
    }

    fn items(&mut self, items: &[Item]) {
        for item in items {
            match *item {
                Item::Node(id) => {
                    let node = self.trace.nodes[id as usize];
                    self.word(Word::Operation, node.op as usize);
                    self.word(Word::Operation, node.precision as usize);
                    node.arguments().iter().for_each(|&id| self.argument(id));
                    self.leave(id);
                }
                Item::Region(region) => self.region(region),
                Item::LeaveUnless(go) => {
                    self.word(Word::Leave, 0);
                    self.argument(go);
                }
                Item::Part => {}
            }
        }
        self.word(Word::End, 0);
    }

    fn region(&mut self, region: usize) {
        let trace = self.trace;
        let Region { kind, items, variables } = &trace.regions[region];
        match *kind {
            Kind::Branch { mask } => {
                self.word(Word::Branch, variables.len());
                self.argument(mask);
            }
            Kind::Loop { most } => {
                self.word(Word::Loop, variables.len());
                self.word(Word::Bits, most);
            }
            // Neither is in a function.
            Kind::Whole | Kind::Time { .. } => self.word(Word::Bits, region),
        }
        for variable in variables {
            self.argument(variable.start);
            self.argument(variable.id);
        }
        self.items(items);
        for variable in variables {
            self.argument(variable.exit);
            self.argument(variable.end);
            self.leave(variable.id);
        }
    }
}
