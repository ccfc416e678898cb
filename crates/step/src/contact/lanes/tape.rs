//! The record of a formula over [`Scalar`](super::scalar::Scalar): the derivatives of its operations, which give its tangents and adjoints,
//! and once, for all inputs, which numbers are their arguments.

use std::cell::{Cell, RefCell};
use std::mem::MaybeUninit;

use super::scalar::{Origin, Traced};
use fingertip_lanes::lane::{Real, Zip};

/// Derivatives of operations by their arguments at most: a power of two, so that a place among them needs no check.
pub(super) const SLOPES: usize = 4096;

/// The derivatives of a formula's operations by their arguments, in the order in which they are computed: the same for all inputs, so
/// that [`Structure`] says once what each is of.
pub(super) struct Slopes<R>([Cell<MaybeUninit<R>>; SLOPES]);

impl<R> Slopes<R> {
    #[inline(always)]
    pub(super) fn new() -> Self {
        Self([const { Cell::new(MaybeUninit::uninit()) }; SLOPES])
    }
}

/// Where slopes are written. Apart from them, so that the compiler knows the place of each.
pub(super) struct Tape<'a, R> {
    slopes: &'a Slopes<R>,
    length: Cell<usize>,
}

impl<'a, R: Real> Tape<'a, R> {
    #[inline(always)]
    pub(super) fn new(slopes: &'a Slopes<R>) -> Self {
        Self { slopes, length: Cell::new(0) }
    }

    /// A number that the formula is differentiated by.
    #[inline(always)]
    pub(super) fn variable(&self, value: R) -> Traced<R, &Self> {
        Traced { value, origin: self }
    }

    /// How all numbers change, given how the variables do, in `K` directions at once.
    #[inline(always)]
    pub(super) fn push<const K: usize, const N: usize>(
        &self,
        structure: &Structure,
        variables: &[[R; K]],
        rates: &mut Rates<R, K, N>,
    ) {
        self.check(structure);
        rates.all[0].write([R::zero(); K]);
        for (rate, &variable) in rates.all[1..].iter_mut().zip_inline(variables) {
            rate.write(variable);
        }
        let (mut place, mut arguments) = (1 + variables.len(), &structure.arguments[..]);
        for &count in &structure.counts {
            let (own, later) = arguments.split_at(usize::from(count));
            let (written, free) = rates.all.split_at_mut(place);
            let mut rate = [R::zero(); K];
            for argument in own {
                // SAFETY: all places before this one are written.
                let by = unsafe { written[usize::from(argument.of)].assume_init_ref() };
                let slope = self.slope(argument);
                for k in 0..K {
                    rate[k] = slope.mul_add(by[k], rate[k]);
                }
            }
            free[0].write(rate);
            (place, arguments) = (place + 1, later);
        }
        rates.length = place;
    }

    /// Adds to the gradients of the variables those of what was computed of them, given gradients by all numbers.
    #[inline(always)]
    pub(super) fn pull(&self, structure: &Structure, gradients: &mut [R]) {
        self.check(structure);
        let mut arguments = &structure.arguments[..];
        for (operation, &count) in structure.counts.iter().enumerate().rev() {
            let (earlier, own) = arguments.split_at(arguments.len() - usize::from(count));
            let gradient = gradients[1 + structure.variables + operation];
            for argument in own {
                let of = usize::from(argument.of);
                gradients[of] = self.slope(argument).mul_add(gradient, gradients[of]);
            }
            arguments = earlier;
        }
    }

    /// Are all slopes there that the structure speaks of?
    #[inline(always)]
    fn check(&self, structure: &Structure) {
        assert!(structure.slopes <= self.length.get());
    }

    #[inline(always)]
    fn slope(&self, argument: &Argument) -> R {
        // SAFETY: arguments' slopes are those before the structure's `slopes`, slopes before `length` are written, and `check` has compared
        // both.
        unsafe { self.slopes.0[usize::from(argument.slope) % SLOPES].get().assume_init() }
    }
}

impl<R: Real> Origin<R> for &Tape<'_, R> {
    #[inline(always)]
    fn by(self, slope: R) {
        let at = self.length.get();
        self.slopes.0[at % SLOPES].set(MaybeUninit::new(slope));
        self.length.set(at + 1);
    }
    #[inline(always)]
    fn result(self) -> Self {
        self
    }
    #[inline(always)]
    fn constant(self) -> Self {
        self
    }
}

/// How the at most `N` numbers of a formula change in `K` directions, in their places: without zeros in them beforehand, which took longer than
/// many an operation.
pub(super) struct Rates<R, const K: usize, const N: usize> {
    all: [MaybeUninit<[R; K]>; N],
    /// Those before are written.
    length: usize,
}

impl<R: Real, const K: usize, const N: usize> Rates<R, K, N> {
    #[inline(always)]
    pub(super) fn new() -> Self {
        Self { all: [const { MaybeUninit::uninit() }; N], length: 0 }
    }

    /// That of the number in a place.
    #[inline(always)]
    pub(super) fn get(&self, place: usize) -> &[R; K] {
        assert!(place < self.length);
        // SAFETY: places before `length` are written.
        unsafe { self.all[place].assume_init_ref() }
    }
}

/// Which numbers the operations of a formula have as arguments. Place 0 stands for constants, then come the variables.
#[derive(Default)]
pub(super) struct Structure {
    variables: usize,
    /// Of each operation with other arguments than constants, how many of these it has.
    counts: Vec<u16>,
    arguments: Vec<Argument>,
    /// The arguments of these operations; those beyond are of the next one.
    counted: usize,
    slopes: usize,
}

struct Argument {
    slope: u16,
    of: u16,
}

/// A number's place in the [`Structure`] that comes about.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) place: usize,
    structure: &'a RefCell<Structure>,
}

impl<'a> Place<'a> {
    /// The next of the variables.
    pub(super) fn variable(structure: &'a RefCell<Structure>) -> Self {
        structure.borrow_mut().variables += 1;
        Self { place: structure.borrow().variables, structure }
    }
}

impl<R: Real> Origin<R> for Place<'_> {
    #[inline(never)]
    fn by(self, _: R) {
        let all = &mut *self.structure.borrow_mut();
        if self.place > 0 {
            all.arguments.push(Argument { slope: all.slopes as u16, of: self.place as u16 });
        }
        all.slopes += 1;
    }
    #[inline(never)]
    fn result(self) -> Self {
        let all = &mut *self.structure.borrow_mut();
        let count = all.arguments.len() - all.counted;
        if count == 0 {
            return Self { place: 0, ..self };
        }
        all.counts.push(count as u16);
        all.counted += count;
        Self { place: all.variables + all.counts.len(), ..self }
    }
    #[inline(always)]
    fn constant(self) -> Self {
        Self { place: 0, ..self }
    }
}

impl Structure {
    /// Numbers, with the place of constants, and slopes.
    #[cfg(test)]
    pub(super) fn size(&self) -> [usize; 2] {
        [1 + self.variables + self.counts.len(), self.slopes]
    }
}
