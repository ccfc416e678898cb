//! A number that records what is done with it.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

use crate::math::lane::{Lane, Mask, Number, Precision, Real, Slot, State, arithmetic, sin_cos};

use super::op::{Id, Op};
use super::tape::{Branch, Tape};
use super::trace::Kind;

thread_local! {
    /// The tape of the recording that this thread is at.
    static TAPE: RefCell<Tape> = RefCell::new(Tape::new());
}

/// A node of the tape: what a number will be, not what it is.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Recorded<N> {
    id: Id,
    of: PhantomData<N>,
}

/// The same of a flag.
#[derive(Clone, Copy, Debug)]
pub struct RecordedMask(Id);

/// Appends an operation to the tape of this thread. A call and no more, as kernels consist of thousands of them.
#[inline(never)]
fn append(op: Op, precision: Precision, a: Id, b: Id, c: Id) -> Id {
    with(|tape| tape.operation(op, precision, &[a, b, c][..op.arity()]))
}

#[inline(always)]
fn appended<N: Number>(op: Op, arguments: &[Id]) -> Id {
    let argument = |k: usize| arguments.get(k).copied().unwrap_or(0);
    append(op, N::PRECISION, argument(0), argument(1), argument(2))
}

/// Likewise for a constant.
#[inline(never)]
fn constant(precision: Precision, x: f64) -> Id {
    with(|tape| tape.constant(precision, x))
}

/// Calls `f` with the tape of this thread.
pub(super) fn with<T>(f: impl FnOnce(&mut Tape) -> T) -> T {
    TAPE.with_borrow_mut(f)
}

/// The tape of this thread, with an empty one in its place.
pub(super) fn take() -> Tape {
    TAPE.replace(Tape::new())
}

impl<N: Number> Recorded<N> {
    pub(super) fn of(id: Id) -> Self {
        Self { id, of: PhantomData }
    }

    pub(super) fn id(self) -> Id {
        self.id
    }

    #[inline(always)]
    fn operation(op: Op, arguments: &[Id]) -> Self {
        Self::of(appended::<N>(op, arguments))
    }

    #[inline(always)]
    fn flag(op: Op, arguments: &[Id]) -> RecordedMask {
        RecordedMask(appended::<N>(op, arguments))
    }

    /// The same number in double precision.
    fn wide(self) -> Recorded<f64> {
        match N::PRECISION {
            Precision::Double => Recorded::of(self.id),
            Precision::Single => Recorded::operation(Op::Widen, &[self.id]),
        }
    }

    fn narrow(wide: Recorded<f64>) -> Self {
        match N::PRECISION {
            Precision::Double => Self::of(wide.id),
            Precision::Single => Self::operation(Op::Narrow, &[wide.id]),
        }
    }
}

arithmetic!([N: Number], Recorded<N>, |x, y| {
    add: Recorded::operation(Op::Add, &[x.id, y.id]),
    sub: Recorded::operation(Op::Sub, &[x.id, y.id]),
    mul: Recorded::operation(Op::Mul, &[x.id, y.id]),
    div: Recorded::operation(Op::Div, &[x.id, y.id]),
    neg: Recorded::operation(Op::Neg, &[x.id]),
});

/// Numbers of operands are their places, numbers of results the nodes that they are.
impl<N: Number> Lane for Recorded<N> {
    const WIDTH: usize = 1;

    fn exchange<const R: usize, const S: usize>(
        read: [&[Self]; R],
        set: [&mut [Self]; S],
        f: impl FnOnce([&[N]; R], [&mut [N]; S]),
    ) {
        if R > 0 && S > 0 {
            with(|tape| tape.failure.get_or_insert_with(|| String::from("a query that branches as it likes")).clone());
            return;
        }
        let nodes = read.map(|lanes| lanes.iter().map(|x| N::of(f64::from(x.id))).collect::<Vec<_>>());
        let mut places = set.each_ref().map(|lanes| vec![N::of(0.0); lanes.len()]);
        f(nodes.each_ref().map(Vec::as_slice), places.each_mut().map(Vec::as_mut_slice));
        for (lanes, places) in set.into_iter().zip(places) {
            for (x, place) in lanes.iter_mut().zip(places) {
                *x = Self::of(with(|tape| tape.input(N::PRECISION, place.value() as u64)));
            }
        }
    }
}

/// The nodes that a state is.
fn nodes<N: Number, S: State<Recorded<N>> + ?Sized>(state: &mut S) -> Vec<Id> {
    let mut nodes = Vec::new();
    state.each(&mut |slot| {
        nodes.push(match slot {
            Slot::Number(x) => x.id,
            Slot::Flag(mask) => mask.0,
        });
    });
    nodes
}

/// Makes a state of as many nodes.
fn put<N: Number, S: State<Recorded<N>> + ?Sized>(state: &mut S, nodes: &[Id]) {
    let mut nodes = nodes.iter();
    state.each(&mut |slot| {
        if let Some(&id) = nodes.next() {
            match slot {
                Slot::Number(x) => x.id = id,
                Slot::Flag(mask) => mask.0 = id,
            }
        }
    });
}

impl<N: Number> Real for Recorded<N> {
    type Mask = RecordedMask;
    type Number = N;

    fn splat(value: f64) -> Self {
        Self::of(constant(N::PRECISION, N::of(value).value()))
    }
    fn mul_add(self, a: Self, b: Self) -> Self {
        Self::operation(Op::Fma, &[self.id, a.id, b.id])
    }
    fn sqrt(self) -> Self {
        Self::operation(Op::Sqrt, &[self.id])
    }
    fn sin_cos(self) -> (Self, Self) {
        let (sin, cos) = sin_cos(self.wide());
        (Self::narrow(sin), Self::narrow(cos))
    }
    fn library_sin_cos(self) -> (Self, Self) {
        (Self::operation(Op::Sin, &[self.id]), Self::operation(Op::Cos, &[self.id]))
    }
    fn ln(self) -> Self {
        Self::operation(Op::Ln, &[self.id])
    }
    fn atan2(self, x: Self) -> Self {
        Self::operation(Op::Atan2, &[self.id, x.id])
    }
    fn abs(self) -> Self {
        Self::operation(Op::Abs, &[self.id])
    }
    fn min(self, other: Self) -> Self {
        Self::operation(Op::Min, &[self.id, other.id])
    }
    fn max(self, other: Self) -> Self {
        Self::operation(Op::Max, &[self.id, other.id])
    }
    fn lt(self, other: Self) -> RecordedMask {
        Self::flag(Op::Lt, &[self.id, other.id])
    }
    fn select(mask: RecordedMask, yes: Self, no: Self) -> Self {
        Self::operation(Op::Select, &[mask.0, yes.id, no.id])
    }

    fn part() {
        with(Tape::part);
    }

    fn when<S: State<Self> + ?Sized>(mask: RecordedMask, state: &mut S, body: impl Fn(&mut S)) {
        match with(|tape| tape.open_branch(mask.0)) {
            Branch::Never => {}
            Branch::Always => body(state),
            Branch::Region(region) => {
                let before = nodes(state);
                body(state);
                let end = nodes(state);
                put(state, &with(|tape| tape.close_branch(region, &before, &end)));
            }
        }
    }

    /// Everything in the state is a variable at first; what does not change is none in the next pass over the body, until all
    /// that is left changes.
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
        Recorded::<f64>::flag(Op::And, &[self.0, other.0])
    }
    fn or(self, other: Self) -> Self {
        Recorded::<f64>::flag(Op::Or, &[self.0, other.0])
    }
    fn not(self) -> Self {
        Recorded::<f64>::flag(Op::Not, &[self.0])
    }
}
