//! Function merging. Functions that do the same operations on different memory places or constants are of one kind.
//! Only one function of a kind is printed, together with a table of the offsets and constants that differ between its
//! instances.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use crate::lane::Precision;

use super::functions::{Function, Layout, Pool};
use super::op::{Id, Op};
use super::trace::{Item, Kind, Output, Region, Trace};

/// A number outside a function that the function reads or writes. Functions of one kind may differ in their slots
/// alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Slot {
    /// A constant or a number of an operand, which the function reads.
    Given(Id),
    /// The place in working memory of a node that another function computes or reads.
    Place(Id),
    /// A place in a row of results, which the function writes.
    Result { row: usize, place: usize },
}

/// A difference between functions of one kind: the column of the table that a slot is adjusted by.
#[derive(Clone, Copy, Debug)]
pub(super) enum Difference {
    /// The slot's index shifts by this column of [`Table::offsets`].
    Offset(usize),
    /// The slot is a constant: this column of [`Table::doubles`], or of [`Table::singles`] in single precision.
    Constant(usize),
}

/// The table of differences between functions of one kind, with a row per function and a column per difference.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// Differences of indices into memory and rows, relative to the first function.
    pub(super) offsets: Vec<Vec<isize>>,
    /// Constants of double precision.
    pub(super) doubles: Vec<Vec<f64>>,
    /// Constants of single precision.
    pub(super) singles: Vec<Vec<f64>>,
    /// The slots of the first function that differ in others, each with the column that says how.
    slots: HashMap<Slot, Difference>,
}

impl Table {
    /// Are all functions of this kind equal? Then the printed function needs no table.
    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The difference of a slot between the functions of this kind; `None` if it is the same in all.
    pub(super) fn difference(&self, slot: Slot) -> Option<Difference> {
        self.slots.get(&slot).copied()
    }
}

/// All functions of a trace, grouped by kind.
#[derive(Debug)]
pub(super) struct Kinds {
    /// The functions of each kind. The first one is printed for all of them.
    pub(super) functions: Vec<Vec<usize>>,
    /// For each function, its kind and its index among the functions of that kind.
    pub(super) of: Vec<(usize, usize)>,
    /// For each function of each kind, a map from the first function's slots to the function's own.
    slots: Vec<Vec<HashMap<Slot, Slot>>>,
}

impl Kinds {
    /// Groups functions that do the same operations in the same order, except for their slots.
    pub(super) fn new(trace: &Trace, layout: &Layout, functions: &[Function]) -> Self {
        let mut forms: HashMap<Vec<u64>, usize> = HashMap::new();
        // The functions of each form, with their slots in the order of use.
        let mut alike: Vec<Vec<(usize, Vec<Slot>)>> = Vec::new();
        for (k, function) in functions.iter().enumerate() {
            let mut form =
                Form { trace, layout, function: k, code: Vec::new(), slots: Vec::new(), locals: HashMap::new() };
            form.items(&function.items);
            let at = *forms.entry(form.code).or_insert(alike.len());
            if at == alike.len() {
                alike.push(Vec::new());
            }
            alike[at].push((k, form.slots));
        }
        let mut kinds = Self { functions: Vec::new(), of: vec![(0, 0); functions.len()], slots: Vec::new() };
        for mut alike in alike {
            // The first of a kind is to have the most slots that may differ.
            alike.sort_by_cached_key(|(_, slots)| Reverse(slots.iter().collect::<HashSet<_>>().len()));
            let first = kinds.functions.len();
            let mut firsts: Vec<Vec<Slot>> = Vec::new();
            for (k, slots) in alike {
                let found = firsts.iter().enumerate().find_map(|(n, of)| Some((first + n, same(of, &slots)?)));
                let (kind, same) = match found {
                    Some(found) => found,
                    None => {
                        let own = slots.iter().map(|&slot| (slot, slot)).collect();
                        firsts.push(slots);
                        kinds.functions.push(Vec::new());
                        kinds.slots.push(Vec::new());
                        (kinds.functions.len() - 1, own)
                    }
                };
                kinds.of[k] = (kind, kinds.functions[kind].len());
                kinds.functions[kind].push(k);
                kinds.slots[kind].push(same);
            }
        }
        kinds
    }

    /// Makes each of `n` functions a kind of its own: no function merging.
    pub(super) fn apart(n: usize) -> Self {
        Self {
            functions: (0..n).map(|k| vec![k]).collect(),
            of: (0..n).map(|k| (k, 0)).collect(),
            slots: vec![vec![HashMap::new()]; n],
        }
    }

    /// The constants that must be stored in working memory: a function of the same kind reads a memory place or an
    /// operand where these stand.
    pub(super) fn constants(&self, trace: &Trace) -> Vec<Id> {
        let is_constant = |slot: &Slot| constant(trace, *slot).is_some();
        let mut all = Vec::new();
        for slots in &self.slots {
            for slot in slots[0].keys() {
                let given = slots.iter().map(|slots| slots[slot]);
                if given.clone().any(|slot| !is_constant(&slot)) {
                    all.extend(given.filter(is_constant).filter_map(|slot| match slot {
                        Slot::Given(id) => Some(id),
                        Slot::Place(_) | Slot::Result { .. } => None,
                    }));
                }
            }
        }
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Builds the table of offsets and constants that differ between the functions of one kind.
    pub(super) fn table(&self, trace: &Trace, layout: &Layout, kind: usize) -> Table {
        let slots = &self.slots[kind];
        let n = slots.len();
        let (mut offsets, mut doubles, mut singles) = (vec![Vec::new(); n], vec![Vec::new(); n], vec![Vec::new(); n]);
        let mut differences = HashMap::new();
        let mut known: HashMap<Vec<isize>, usize> = HashMap::new();
        let mut own: Vec<Slot> = slots[0].keys().copied().collect();
        own.sort_unstable();
        for slot in own {
            let given = slots.iter().map(|slots| slots[&slot]);
            let constants: Option<Vec<(Precision, u64)>> = given.clone().map(|slot| constant(trace, slot)).collect();
            if let Some(constants) = constants {
                if constants.iter().any(|constant| *constant != constants[0]) {
                    let to = if constants[0].0 == Precision::Double { &mut doubles } else { &mut singles };
                    differences.insert(slot, Difference::Constant(to[0].len()));
                    to.iter_mut().zip(constants).for_each(|(to, (_, bits))| to.push(f64::from_bits(bits)));
                }
                continue;
            }
            let place = |slot: Slot| match slot {
                Slot::Given(id) => layout.places[id as usize].unwrap_or(trace.nodes[id as usize].bits as usize),
                Slot::Place(id) => layout.places[id as usize].unwrap_or(0),
                Slot::Result { place, .. } => place,
            } as isize;
            let column: Vec<isize> = given.map(|other| place(other) - place(slot)).collect();
            if column.iter().any(|&offset| offset != 0) || constant(trace, slot).is_some() {
                let next = offsets[0].len();
                let at = *known.entry(column.clone()).or_insert(next);
                if at == next {
                    offsets.iter_mut().zip(column).for_each(|(to, offset)| to.push(offset));
                }
                differences.insert(slot, Difference::Offset(at));
            }
        }
        Table { offsets, doubles, singles, slots: differences }
    }
}

/// Maps each slot in `of` to the slot at the same position in `slots`, or `None` if a slot would have two images.
fn same(of: &[Slot], slots: &[Slot]) -> Option<HashMap<Slot, Slot>> {
    let mut same = HashMap::new();
    let agree = of.iter().zip(slots).all(|(&of, &slot)| *same.entry(of).or_insert(slot) == slot);
    agree.then_some(same)
}

/// The precision and bits of a slot that is a constant, else `None`.
fn constant(trace: &Trace, slot: Slot) -> Option<(Precision, u64)> {
    match slot {
        Slot::Given(id) => {
            let node = trace.nodes[id as usize];
            node.constant().map(|_| (node.precision, node.bits))
        }
        Slot::Place(_) | Slot::Result { .. } => None,
    }
}

/// The form of a function: a code of its operations with the slots left out. Functions with equal forms are candidates
/// for merging.
struct Form<'a> {
    trace: &'a Trace,
    layout: &'a Layout,
    function: usize,
    /// The operations as words; equal codes mean equal operations.
    code: Vec<u64>,
    /// The slots in the order of their use, each as often as it is used.
    slots: Vec<Slot>,
    /// Nodes that the function computes itself, numbered in the order of their first use.
    locals: HashMap<Id, usize>,
}

/// The tags in a form's code, each followed by one number.
#[derive(Clone, Copy)]
enum Word {
    Operation,
    Precision,
    /// An argument that the function computes itself, by its local number.
    Local,
    /// A constant or a number in working memory, which is a slot.
    Number,
    /// A number of an operand, which is a slot.
    Operand,
    /// A flag or a constant that must be equal in all functions of a kind.
    Bits,
    /// A result that is kept in working memory, which is a slot.
    Kept,
    /// A result that is written to a row of results, which is a slot.
    Result,
    Branch,
    Loop,
    Leave,
    End,
}

impl Form<'_> {
    /// Appends a tag and its number to the code.
    fn word(&mut self, word: Word, what: usize) {
        self.code.extend([word as u64, what as u64]);
    }

    /// Appends a tag and its number, and the slot that it stands for.
    fn slot(&mut self, word: Word, what: usize, slot: Slot) {
        self.word(word, what);
        self.slots.push(slot);
    }

    /// Appends an argument of an operation.
    fn argument(&mut self, id: Id) {
        let node = self.trace.nodes[id as usize];
        match node.op {
            Op::Flag => self.word(Word::Bits, node.bits as usize),
            // NaN and infinity may have no literal in a constant table.
            Op::Constant if !f64::from_bits(node.bits).is_finite() => self.word(Word::Bits, node.bits as usize),
            Op::Constant => self.slot(Word::Number, Pool::of(self.trace, id) as usize, Slot::Given(id)),
            Op::Input | Op::InputOfStep => {
                let row = self.trace.operand_of(node.bits as usize).map_or(usize::MAX, |(row, _)| row);
                self.slot(Word::Operand, row, Slot::Given(id));
            }
            _ if self.layout.function_of[id as usize] == Some(self.function) => {
                let next = self.locals.len();
                let local = *self.locals.entry(id).or_insert(next);
                self.word(Word::Local, local);
            }
            _ => self.slot(Word::Number, Pool::of(self.trace, id) as usize, Slot::Place(id)),
        }
    }

    /// Appends where the result of a node is stored: in working memory, in rows of results, in both or nowhere.
    fn leave(&mut self, id: Id) {
        self.argument(id);
        if self.layout.places[id as usize].is_some() {
            let is_masked = usize::from(self.layout.is_masked[id as usize]);
            self.slot(Word::Kept, is_masked, Slot::Place(id));
        }
        for output in &self.layout.outputs[id as usize] {
            let &Output { row, place, .. } = output;
            self.slot(Word::Result, row, Slot::Result { row, place });
        }
    }

    /// Appends the items of a region or function, and an end mark.
    fn items(&mut self, items: &[Item]) {
        for item in items {
            match *item {
                Item::Node(id) => {
                    let node = self.trace.nodes[id as usize];
                    self.word(Word::Operation, node.op as usize);
                    self.word(Word::Precision, node.precision as usize);
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

    /// Appends a branch or loop: its kind, its variables and its items.
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
            // Functions contain neither the whole trace nor the loop over time.
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
