//! Automatic differentiation of a formula over [`Scalar`](super::scalar::Scalar). [`Slopes`] records the partial
//! derivatives of its operations for each input; [`Structure`] records, once for all inputs, which numbers are their
//! arguments.

use std::cell::{Cell, RefCell};
use std::mem::MaybeUninit;

use super::scalar::{Origin, Traced};
use fingertip_lanes::lane::{Real, Zip};

/// The most partial derivatives that a formula may have: a power of two, so that an index modulo it needs no bounds
/// check.
pub(super) const SLOPES: usize = 4096;

/// The partial derivatives of a formula's operations by their arguments, in the order of computation. That order is the
/// same for all inputs, so [`Structure`] says which number each belongs to.
pub(super) struct Slopes<R>([Cell<MaybeUninit<R>>; SLOPES]);

impl<R> Slopes<R> {
    #[inline(always)]
    pub(super) fn new() -> Self {
        Self([const { Cell::new(MaybeUninit::uninit()) }; SLOPES])
    }
}

/// The writer of partial derivatives to [`Slopes`]. The two are separate so that the compiler knows the place of each
/// derivative.
pub(super) struct Tape<'a, R> {
    slopes: &'a Slopes<R>,
    length: Cell<usize>,
}

impl<'a, R: Real> Tape<'a, R> {
    /// An empty tape that writes to these slopes.
    #[inline(always)]
    pub(super) fn new(slopes: &'a Slopes<R>) -> Self {
        Self { slopes, length: Cell::new(0) }
    }

    /// A variable that the formula is differentiated by.
    #[inline(always)]
    pub(super) fn variable(&self, value: R) -> Traced<R, &Self> {
        Traced { value, origin: self }
    }

    /// Jacobian-vector products (forward mode): the tangents of all numbers, given those of the variables, in `K`
    /// directions at once. Numbers that serve none of the results in `wanted` get the tangent 0.
    #[inline(always)]
    pub(super) fn jvp<const K: usize, const N: usize>(
        &self,
        structure: &Structure,
        wanted: Results,
        variables: &[[R; K]],
        rates: &mut Rates<R, K, N>,
    ) {
        self.check(structure);
        rates.all[0].write([R::zero(); K]);
        for (rate, &variable) in rates.all[1..].iter_mut().zip_inline(variables) {
            rate.write(variable);
        }
        let (mut place, mut arguments) = (1 + variables.len(), &structure.arguments[..]);
        let mut counts = &structure.counts[..];
        for run in &structure.runs {
            let (own_counts, later_counts) = counts.split_at(run.operations);
            let (mut of_run, later) = arguments.split_at(run.arguments);
            (counts, arguments) = (later_counts, later);
            if run.serves & wanted == 0 {
                for rate in &mut rates.all[place..place + run.operations] {
                    rate.write([R::zero(); K]);
                }
                place += run.operations;
                continue;
            }
            for &count in own_counts {
                let (own, later) = of_run.split_at(usize::from(count));
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
                (place, of_run) = (place + 1, later);
            }
        }
        rates.length = place;
    }

    /// Vector-Jacobian product (reverse mode): given gradients by all numbers, adds to the gradients of the variables.
    /// The gradients of results that are not in `wanted` must be 0.
    #[inline(always)]
    pub(super) fn vjp(&self, structure: &Structure, wanted: Results, gradients: &mut [R]) {
        self.check(structure);
        let (mut arguments, mut counts) = (&structure.arguments[..], &structure.counts[..]);
        for run in structure.runs.iter().rev() {
            let (earlier_counts, own_counts) = counts.split_at(counts.len() - run.operations);
            let (earlier, mut of_run) = arguments.split_at(arguments.len() - run.arguments);
            (counts, arguments) = (earlier_counts, earlier);
            if run.serves & wanted == 0 {
                continue;
            }
            for (operation, &count) in own_counts.iter().enumerate().rev() {
                let (earlier, own) = of_run.split_at(of_run.len() - usize::from(count));
                let gradient = gradients[1 + structure.variables + counts.len() + operation];
                for argument in own {
                    let of = usize::from(argument.of);
                    gradients[of] = self.slope(argument).mul_add(gradient, gradients[of]);
                }
                of_run = earlier;
            }
        }
    }

    /// Asserts that all partial derivatives that the structure refers to are recorded.
    #[inline(always)]
    fn check(&self, structure: &Structure) {
        assert!(structure.slopes <= self.length.get());
    }

    /// The partial derivative by an argument.
    #[inline(always)]
    fn slope(&self, argument: &Argument) -> R {
        // SAFETY: arguments' slopes are those before the structure's `slopes`, slopes before `length` are written, and
        // `check` has compared both.
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

/// The tangents of the at most `N` numbers of a formula in `K` directions. The memory is not cleared beforehand, as
/// that would take longer than many operations.
pub(super) struct Rates<R, const K: usize, const N: usize> {
    all: [MaybeUninit<[R; K]>; N],
    /// The number of tangents that are written.
    length: usize,
}

impl<R: Real, const K: usize, const N: usize> Rates<R, K, N> {
    #[inline(always)]
    pub(super) fn new() -> Self {
        Self { all: [const { MaybeUninit::uninit() }; N], length: 0 }
    }

    /// The tangent of the number in this place.
    #[inline(always)]
    pub(super) fn get(&self, place: usize) -> &[R; K] {
        assert!(place < self.length);
        // SAFETY: places before `length` are written.
        unsafe { self.all[place].assume_init_ref() }
    }
}

/// A set of a formula's results: bit k stands for result k, which may be several numbers.
pub(super) type Results = u32;

/// The structure of a formula: which numbers are the arguments of each operation. Place 0 stands for constants, then
/// come the variables, then the results of operations.
#[derive(Default)]
pub(super) struct Structure {
    /// The number of variables.
    variables: usize,
    /// The number of non-constant arguments of each operation that has any.
    counts: Vec<u16>,
    /// The non-constant arguments of all operations, in order.
    arguments: Vec<Argument>,
    /// The number of arguments that belong to complete operations; those beyond belong to the next one.
    counted: usize,
    /// The number of partial derivatives, those by constants included.
    slopes: usize,
    /// The operations in order, cut where the results change that they serve.
    runs: Vec<Run>,
}

/// Operations in a row that serve the same results.
struct Run {
    operations: usize,
    arguments: usize,
    /// The results that depend on these operations.
    serves: Results,
}

/// An argument of an operation: the index of the partial derivative, and the place of the number.
struct Argument {
    slope: u16,
    of: u16,
}

/// The place of a number in a [`Structure`] that is being recorded.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) place: usize,
    structure: &'a RefCell<Structure>,
}

impl<'a> Place<'a> {
    /// The place of a new variable.
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
    /// Sets the results of the formula, each with the places of its numbers. To be called once, when all operations are
    /// recorded.
    pub(super) fn set_results(&mut self, results: impl Iterator<Item = impl IntoIterator<Item = usize>>) {
        let mut serves = vec![0; 1 + self.variables + self.counts.len()];
        for (k, places) in results.enumerate() {
            for place in places {
                serves[place] |= 1 << k;
            }
        }
        let mut arguments = &self.arguments[..self.counted];
        for (operation, &count) in self.counts.iter().enumerate().rev() {
            let (earlier, own) = arguments.split_at(arguments.len() - usize::from(count));
            for argument in own {
                serves[usize::from(argument.of)] |= serves[1 + self.variables + operation];
            }
            arguments = earlier;
        }
        for (&count, &serves) in self.counts.iter().zip(&serves[1 + self.variables..]) {
            if self.runs.last().is_none_or(|run| run.serves != serves) {
                self.runs.push(Run { operations: 0, arguments: 0, serves });
            }
            let run = self.runs.last_mut().expect("a run was just added");
            run.operations += 1;
            run.arguments += usize::from(count);
        }
    }

    /// The number of numbers, that for constants included, and the number of partial derivatives.
    pub(super) fn size(&self) -> [usize; 2] {
        [1 + self.variables + self.counts.len(), self.slopes]
    }
}
