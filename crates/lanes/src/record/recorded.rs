//! The number type that records: kernels run on [`Recorded`] numbers, and each operation appends a node to this
//! thread's tape.

use std::cell::RefCell;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

use crate::lane::{Lane, Mask, Precision, Real, Slot, State, arithmetic, sin_cos};

use super::op::{Id, Op};
use super::tape::{Branch, Tape};
use super::trace::Kind;

thread_local! {
    /// The tape of the recording that runs on this thread.
    static TAPE: RefCell<Tape> = RefCell::new(Tape::new(Precision::Double));
}

/// A recorded number: the tape node that will compute it. Its value is not known while recording.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Recorded(Id);

/// A recorded flag: the tape node that will compute it.
#[derive(Clone, Copy, Debug)]
pub struct RecordedMask(Id);

/// Appends an operation to the tape of this thread. It is a call and never inlined, as kernels consist of thousands of
/// operations.
#[inline(never)]
fn append(op: Op, a: Id, b: Id, c: Id) -> Id {
    with(|tape| tape.operation(op, tape.precision, &[a, b, c][..op.arity()]))
}

/// Appends a constant to the tape of this thread, rounded to the tape's precision.
#[inline(never)]
fn constant(x: f64) -> Id {
    with(|tape| tape.constant(tape.precision, tape.precision.rounded(x)))
}

/// Begins a branch on the tape of this thread.
#[inline(never)]
fn open_branch(mask: RecordedMask) -> Branch {
    with(|tape| tape.open_branch(mask.0))
}

/// Ends a branch whose state was `before` and is `end`; gives the state that follows.
#[inline(never)]
fn close_branch(region: usize, before: &[Id], end: &[Id]) -> Vec<Id> {
    with(|tape| tape.close_branch(region, before, end))
}

/// Calls `f` with the tape of this thread.
pub(super) fn with<T>(f: impl FnOnce(&mut Tape) -> T) -> T {
    TAPE.with_borrow_mut(f)
}

/// Takes this thread's tape and puts an empty one for numbers of the given precision in its place.
pub(super) fn replace(precision: Precision) -> Tape {
    TAPE.replace(Tape::new(precision))
}

impl Recorded {
    /// The number that a node computes.
    pub(super) fn of(id: Id) -> Self {
        Self(id)
    }

    /// The node that computes this number.
    pub(super) fn id(self) -> Id {
        self.0
    }

    /// Records an operation that gives a number.
    #[inline(always)]
    fn operation(op: Op, arguments: &[Id]) -> Self {
        let argument = |k: usize| arguments.get(k).copied().unwrap_or(0);
        Self(append(op, argument(0), argument(1), argument(2)))
    }

    /// Records an operation that gives a flag.
    #[inline(always)]
    fn flag(op: Op, arguments: &[Id]) -> RecordedMask {
        RecordedMask(Self::operation(op, arguments).0)
    }
}

arithmetic!([], Recorded, |x, y| {
    add: Recorded::operation(Op::Add, &[x.0, y.0]),
    sub: Recorded::operation(Op::Sub, &[x.0, y.0]),
    mul: Recorded::operation(Op::Mul, &[x.0, y.0]),
    div: Recorded::operation(Op::Div, &[x.0, y.0]),
    neg: Recorded::operation(Op::Neg, &[x.0]),
});

/// Rows hold node indices in place of numbers. A number read from an operand is its index among all operands; a number
/// written to a result is its node.
impl Lane for Recorded {
    const WIDTH: usize = 1;

    fn exchange<const R: usize, const S: usize>(
        read: [&[Self]; R],
        set: [&mut [Self]; S],
        f: impl FnOnce([&[f64]; R], [&mut [f64]; S]),
    ) {
        if R > 0 && S > 0 {
            with(|tape| tape.failure.get_or_insert_with(|| String::from("a query that branches as it likes")).clone());
            return;
        }
        let nodes = read.map(|lanes| lanes.iter().map(|x| f64::from(x.0)).collect::<Vec<_>>());
        let mut places = set.each_ref().map(|lanes| vec![0.0; lanes.len()]);
        f(nodes.each_ref().map(Vec::as_slice), places.each_mut().map(Vec::as_mut_slice));
        for (lanes, places) in set.into_iter().zip(places) {
            for (x, place) in lanes.iter_mut().zip(places) {
                *x = Self(with(|tape| tape.input(tape.precision, place as u64)));
            }
        }
    }
}

/// The tape nodes of all numbers and flags in a state, in the order of [`State::each`].
fn nodes<S: State<Recorded> + ?Sized>(state: &mut S) -> Vec<Id> {
    let mut nodes = Vec::new();
    state.each(&mut |slot| {
        nodes.push(match slot {
            Slot::Number(x) => x.0,
            Slot::Flag(mask) => mask.0,
        });
    });
    nodes
}

/// Sets all numbers and flags of a state to the given tape nodes, in the order of [`State::each`].
fn put<S: State<Recorded> + ?Sized>(state: &mut S, nodes: &[Id]) {
    let mut nodes = nodes.iter();
    state.each(&mut |slot| {
        if let Some(&id) = nodes.next() {
            match slot {
                Slot::Number(x) => x.0 = id,
                Slot::Flag(mask) => mask.0 = id,
            }
        }
    });
}

impl Real for Recorded {
    type Mask = RecordedMask;
    type Number = f64;

    fn precision() -> Precision {
        with(|tape| tape.precision)
    }
    fn splat(value: f64) -> Self {
        Self(constant(value))
    }
    fn mul_add(self, a: Self, b: Self) -> Self {
        Self::operation(Op::Fma, &[self.0, a.0, b.0])
    }
    fn sqrt(self) -> Self {
        Self::operation(Op::Sqrt, &[self.0])
    }
    fn sin_cos(self) -> (Self, Self) {
        let precision = Self::precision();
        if precision == Precision::Double {
            return sin_cos(self);
        }
        with(|tape| tape.precision = Precision::Double);
        let (sin, cos) = sin_cos(Self::operation(Op::Widen, &[self.0]));
        with(|tape| tape.precision = precision);
        (Self::operation(Op::Narrow, &[sin.0]), Self::operation(Op::Narrow, &[cos.0]))
    }
    fn library_sin_cos(self) -> (Self, Self) {
        (Self::operation(Op::Sin, &[self.0]), Self::operation(Op::Cos, &[self.0]))
    }
    fn ln(self) -> Self {
        Self::operation(Op::Ln, &[self.0])
    }
    fn atan2(self, x: Self) -> Self {
        Self::operation(Op::Atan2, &[self.0, x.0])
    }
    fn abs(self) -> Self {
        Self::operation(Op::Abs, &[self.0])
    }
    fn min(self, other: Self) -> Self {
        Self::operation(Op::Min, &[self.0, other.0])
    }
    fn max(self, other: Self) -> Self {
        Self::operation(Op::Max, &[self.0, other.0])
    }
    fn lt(self, other: Self) -> RecordedMask {
        Self::flag(Op::Lt, &[self.0, other.0])
    }
    fn select(mask: RecordedMask, yes: Self, no: Self) -> Self {
        Self::operation(Op::Select, &[mask.0, yes.0, no.0])
    }

    #[inline(always)]
    fn call<T>(function: impl FnOnce() -> T) -> T {
        #[inline(never)]
        fn recorded<T>(function: impl FnOnce() -> T) -> T {
            function()
        }
        recorded(function)
    }
    fn part() {
        with(Tape::part);
    }

    fn when<S: State<Self> + ?Sized>(mask: RecordedMask, state: &mut S, body: impl Fn(&mut S)) {
        let region = match open_branch(mask) {
            Branch::Never => return,
            Branch::Always => None,
            Branch::Region(region) => Some((region, nodes(state))),
        };
        // In one place: a body is thousands of operations, each compiled where it is called.
        body(state);
        if let Some((region, before)) = region {
            let end = nodes(state);
            put(state, &close_branch(region, &before, &end));
        }
    }

    /// Records a loop. At first all of the state counts as a loop variable. The body is recorded again without the
    /// variables that it did not change, until all that are left change.
    fn repeat<S: State<Self> + ?Sized>(
        most: usize,
        state: &mut S,
        go: impl Fn(&mut S) -> RecordedMask,
        body: impl Fn(&mut S),
    ) {
        let before = nodes(state);
        let mut carried = vec![true; before.len()];
        let start = with(|tape| tape.mark());
        for pass in 1.. {
            let (region, variables) = with(|tape| tape.open_loop(Kind::Loop { most }, &before, &carried));
            put(state, &variables);
            let mask = go(state);
            let now = nodes(state);
            with(|tape| tape.leave_unless(region, mask.0, &now, &carried));
            body(state);
            let end = nodes(state);
            with(|tape| tape.close_loop(region, &end, &carried));
            put(state, &variables);
            let changed = with(|tape| tape.changed(region, &carried));
            if changed == carried || !with(|tape| tape.check_passes(pass)) {
                return;
            }
            carried = changed;
            with(|tape| tape.back(start));
        }
    }
}

impl Mask for RecordedMask {
    fn splat(flag: bool) -> Self {
        Self(with(|tape| tape.flag(flag)))
    }
    fn and(self, other: Self) -> Self {
        Recorded::flag(Op::And, &[self.0, other.0])
    }
    fn or(self, other: Self) -> Self {
        Recorded::flag(Op::Or, &[self.0, other.0])
    }
    fn not(self) -> Self {
        Recorded::flag(Op::Not, &[self.0])
    }
}
