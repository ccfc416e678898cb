//! Tests of recording: simplifications keep every bit, and traces with all kinds of branches and loops give the results
//! of lanes.

use crate::lane::{InstructionSet, Lane, Mask, Precision, Real, State, state};
use crate::program::{Group, Program, Stage, record, run_on};
use crate::rows::{Output, Rows};

use super::{Row, Trace, places};

/// A program of one stage, which applies a function to the numbers of a row.
pub struct Function<'a, F>(pub Rows<'a>, pub F);

/// A function of `IN` numbers with `OUT` results, generic over the number type.
pub(crate) trait Of: Sync {
    const IN: usize;
    const OUT: usize;
    fn of<R: Real>(&self, x: &[R]) -> Vec<R>;
}

impl<F: Of> Stage for Function<'_, F> {
    fn run<R: Lane>(&self, first: usize, _: &mut [R], out: &mut Output) {
        let mut x = vec![R::zero(); F::IN];
        self.0.load_all(first, 0, &mut x);
        out.store_all(first, 0, &self.1.of(&x));
    }
}

impl<F: Of> Program for Function<'_, F> {
    fn scratch(&self) -> usize {
        0
    }
    fn group(&self, group: &mut Group) {
        group.run(self);
    }
}

pub(crate) fn recorded<F: Of>(f: F) -> Trace {
    let names = places(0, F::IN);
    let row = |name, width| vec![Row::new(name, width)];
    let program = Function(Rows::from_slice(&names, 1, F::IN), f);
    record(&program, Precision::Double, row("x", F::IN), row("y", F::OUT)).unwrap()
}

/// Asserts that a trace has the bits of a lane of one world, at all combinations of some special numbers.
fn compare<F: Of + Copy>(f: F) -> Trace {
    const NUMBERS: [f64; 9] = [0.0, -0.0, 1.0, -1.5, 3.0, 1e-320, f64::INFINITY, f64::NAN, 40.0];
    let trace = recorded(f);
    let all = NUMBERS.len().pow(F::IN as u32);
    for k in 0..all {
        let x: Vec<f64> = (0..F::IN).map(|i| NUMBERS[k / NUMBERS.len().pow(i as u32) % NUMBERS.len()]).collect();
        let expected = run_on(InstructionSet::Fma, &Function(Rows::from_slice(&x, 1, F::IN), f), 1, F::OUT);
        let found = trace.run(&x);
        #[cfg(feature = "native")]
        let found = found.into_iter().chain(super::schedule::ordered(&trace).run(&x));
        for (found, expected) in found.into_iter().zip(expected.iter().cycle()) {
            // The sign and payload of a NaN do not matter.
            let same = found.to_bits() == expected.to_bits() || (found.is_nan() && expected.is_nan());
            assert!(same, "at {x:?}: {found:e}, expected {expected:e}");
        }
    }
    trace
}

fn n_operations(trace: &Trace) -> usize {
    trace.operations().iter().map(|(_, count)| count).sum()
}

/// Simplifications that must keep the sign of zeros, and NaN.
#[derive(Clone, Copy)]
struct Folds;

impl Of for Folds {
    const IN: usize = 2;
    const OUT: usize = 12;
    fn of<R: Real>(&self, x: &[R]) -> Vec<R> {
        let (x, y) = (x[0], x[1]);
        let (zero, one, minus) = (R::zero(), R::one(), R::splat(-0.0));
        vec![
            x + zero,
            zero + x.abs(),
            x - zero,
            x * zero,
            x * one,
            x.mul_add(y, zero),
            x.mul_add(y, minus),
            -(-x),
            x + -y,
            zero - x,
            R::select(x.lt(y), R::select(x.lt(y), x, y), zero),
            R::select(x.lt(y).not(), y, x),
        ]
    }
}

#[test]
fn folding_keeps_every_bit() {
    if !InstructionSet::Fma.is_available() {
        return;
    }
    let trace = compare(Folds);
    // x + 0, |x|, x · 0, two multiply-adds or products, x − y, 0 − x, x < y, two selections.
    assert_eq!(n_operations(&trace), 10, "{:?}", trace.operations());
}

/// A loop that swaps two numbers and is left in the middle of a pass, with a branch inside.
#[derive(Clone, Copy)]
struct Loops;

struct Pair<R: Real> {
    a: R,
    b: R,
    passes: R,
    untouched: R,
    going: R::Mask,
}

state!(Pair { numbers: [a, b, passes, untouched], flags: [going], states: [] });

impl Of for Loops {
    const IN: usize = 2;
    const OUT: usize = 4;
    fn of<R: Real>(&self, x: &[R]) -> Vec<R> {
        let mut pair =
            Pair { a: x[0], b: x[1], passes: R::zero(), untouched: x[0] * x[1], going: R::Mask::splat(true) };
        R::repeat(
            6,
            &mut pair,
            |pair| {
                pair.passes += R::one();
                pair.going = pair.a.lt(R::splat(30.0));
                pair.going
            },
            |pair| {
                (pair.a, pair.b) = (R::select(pair.going, pair.b, pair.a), R::select(pair.going, pair.a, pair.b));
                let small = pair.going.and(pair.b.lt(R::one()));
                let old = pair.a;
                R::when(small, &mut [&mut pair.a, &mut pair.b].map(Cell), |cells| {
                    *cells[1].0 = R::select(small, old + *cells[1].0, *cells[1].0);
                });
            },
        );
        vec![pair.a, pair.b, pair.passes, pair.untouched]
    }
}

/// A state of one number.
struct Cell<'a, R>(&'a mut R);

impl<R: Real> State<R> for [Cell<'_, R>; 2] {
    fn each(&mut self, f: &mut dyn FnMut(crate::lane::Slot<R>)) {
        self.iter_mut().for_each(|cell| f(crate::lane::Slot::Number(cell.0)));
    }
}

#[test]
fn loops_and_branches_are_left_where_lanes_leave_them() {
    if InstructionSet::Fma.is_available() {
        let trace = compare(Loops);
        // A number that does not change is not a variable.
        let variables = trace.regions.iter().map(|region| region.variables.len()).max();
        assert_eq!(variables, Some(3));
    }
}

/// Sine and cosine of angles of all sizes.
#[derive(Clone, Copy)]
struct Angles;

impl Of for Angles {
    const IN: usize = 1;
    const OUT: usize = 2;
    fn of<R: Real>(&self, x: &[R]) -> Vec<R> {
        let (sin, cos) = (x[0] * R::splat(4e4)).sin_cos();
        vec![sin, cos]
    }
}

#[test]
fn far_angles_go_to_the_library() {
    if InstructionSet::Fma.is_available() {
        let trace = compare(Angles);
        assert_eq!(trace.regions.iter().filter(|region| !region.variables.is_empty()).count(), 1);
    }
}
