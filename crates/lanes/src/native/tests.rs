//! Random programs of branches and loops: native code and the interpreter give the bits of lanes.

use crate::lane::{InstructionSet, Mask, Precision, Real};
use crate::program::run_on;
use crate::record::tests::{self, Of, recorded};
use crate::rows::Rows;

use super::{Function, compiler, widest};

/// The number of numbers that a random program reads and writes.
const NUMBERS: usize = 60;
const WORLDS: usize = 37;

/// A statement of a random program on an array x of numbers.
#[derive(Debug)]
enum Statement {
    /// x[to] = f(x[a], x[b]), where `kind` says which function f is.
    Set { to: usize, kind: usize, a: usize, b: usize },
    /// A branch: runs the body where x[a] < x[b].
    When { a: usize, b: usize, body: Vec<Statement> },
    /// A loop of at most `most` passes: runs `head`, ends unless x[a] < limit, then runs `body`.
    Repeat { most: usize, a: usize, limit: f64, head: Vec<Statement>, body: Vec<Statement> },
}

/// A random program.
#[derive(Debug)]
struct Made(Vec<Statement>);

/// A random number generator for integers, by Knuth (The Art of Computer Programming, volume 2, 3.3.4, line 26).
struct Chance(u64);

impl Chance {
    /// A random integer from 0 to n − 1.
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }

    /// `n` random statements. About one in sixty is a branch or loop, with statements inside. Some of these are longer
    /// than a function may be, some are short enough to be inside of one.
    fn statements(&mut self, n: usize, depth: usize) -> Vec<Statement> {
        let mut all = Vec::new();
        for _ in 0..n {
            let (a, b) = (self.below(NUMBERS), self.below(NUMBERS));
            let inner = |chance: &mut Self| {
                let n = [5, 60, 400][chance.below(3)];
                chance.statements(n, depth + 1)
            };
            all.push(match self.below(120) {
                0 if depth < 3 => Statement::When { a, b, body: inner(self) },
                1 if depth < 3 => {
                    let (head, body) = (self.statements(3, 3), inner(self));
                    Statement::Repeat { most: self.below(5) + 1, a, limit: 0.3, head, body }
                }
                _ => Statement::Set { to: self.below(NUMBERS), kind: self.below(7), a, b },
            });
        }
        all
    }
}

/// Runs statements in the worlds of a mask.
fn run<R: Real>(statements: &[Statement], mask: R::Mask, x: &mut [R]) {
    for statement in statements {
        match statement {
            &Statement::Set { to, kind, a, b } => {
                let (a, b) = (x[a], x[b]);
                let value = match kind {
                    0 => b,
                    1 => (a + b).scale(0.5),
                    2 => a.mul_add(b, R::splat(-0.25)),
                    3 => a - b.scale(0.75),
                    4 => a.min(b),
                    5 => R::select(a.lt(R::splat(0.5)), b, a),
                    _ => a.abs() / (b * b + R::one()),
                };
                // Limits keep values bounded. A moved value has no limits, so that it stays the same node.
                let value = if kind == 0 { b } else { value.max(R::splat(-4.0)).min(R::splat(4.0)) };
                x[to] = R::select(mask, value, x[to]);
            }
            Statement::When { a, b, body } => {
                let mask = mask.and(x[*a].lt(x[*b]));
                R::when(mask, x, |x| run(body, mask, x));
            }
            Statement::Repeat { most, a, limit, head, body } => {
                let mut going = Going { x: &mut *x, mask };
                R::repeat(
                    *most,
                    &mut going,
                    |going| {
                        run(head, going.mask, going.x);
                        going.mask = going.mask.and(going.x[*a].lt(R::splat(*limit)));
                        going.mask
                    },
                    |going| run(body, going.mask, going.x),
                );
            }
        }
    }
}

/// The state of a loop: all numbers, and the mask of the worlds that go on.
struct Going<'a, R: Real> {
    x: &'a mut [R],
    mask: R::Mask,
}

impl<R: Real> crate::lane::State<R> for Going<'_, R> {
    fn each(&mut self, f: &mut dyn FnMut(crate::lane::Slot<R>)) {
        self.x.each(f);
        f(crate::lane::Slot::Flag(&mut self.mask));
    }
}

impl Of for &Made {
    const IN: usize = NUMBERS;
    const OUT: usize = NUMBERS;
    fn of<R: Real>(&self, x: &[R]) -> Vec<R> {
        let mut x = x.to_vec();
        run(&self.0, R::Mask::splat(true), &mut x);
        x
    }
}

#[test]
fn programs_made_by_chance_have_the_bits_of_the_lanes() {
    let Some(set) = widest().filter(|_| compiler::library(&compiler::tests::nothing()).is_ok()) else {
        println!("skipped: no fused multiply-adds, or no C compiler");
        return;
    };
    for seed in 0..10 {
        let mut chance = Chance(seed);
        let made = Made(chance.statements(500, 0));
        let x: Vec<f64> = (0..WORLDS * NUMBERS).map(|_| chance.below(4001) as f64 / 1000.0 - 2.0).collect();
        let rows = Rows::from_slice(&x, WORLDS, NUMBERS);
        let expected = run_on(InstructionSet::Fma, &tests::Function(rows, &made), WORLDS, NUMBERS);
        let trace = recorded(&made);
        for world in 0..WORLDS {
            let of = |all: &[f64]| all[world * NUMBERS..][..NUMBERS].to_vec();
            assert_eq!(trace.run(&of(&x)), of(&expected), "seed {seed}, world {world}, interpreted");
        }
        let native = Function::new(&trace, Precision::Double, set).unwrap();
        let [found] = native.run::<1>(1, &[&Rows::from_slice(&x, WORLDS, NUMBERS)], WORLDS);
        assert_eq!(found, expected, "seed {seed}");
    }
}
