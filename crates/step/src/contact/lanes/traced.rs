//! Formulas over [`Scalar`] with few operands and results, and their adjoints by a [`Tape`].

use std::cell::RefCell;

use super::scalar::{Scalar, Traced};
use super::tape::{Place, Slopes, Structure, Tape};
use fingertip_lanes::lane::{Real, Single, copy};

/// The most numbers that the tape of such a formula has.
const NUMBERS: usize = 320;

/// A formula with `N` operands and `M` results.
pub(super) trait Formula<const N: usize, const M: usize> {
    /// The M results for the operands v.
    fn of<S: Scalar>(&self, v: &[S; N]) -> [S; M];
    /// The places on its tape, which are the same for all operands: [`Places::new`], kept.
    fn places(&self) -> &'static Places<M>;
}

/// Vector-Jacobian products: the gradients of the operands, for each of K gradients of the results.
#[inline(always)]
pub(super) fn vjp<R: Real, const N: usize, const M: usize, const K: usize>(
    formula: &impl Formula<N, M>,
    v: &[R; N],
    grads: [&[R; M]; K],
) -> [[R; N]; K] {
    let Places { structure, results } = formula.places();
    let slopes = Slopes::new();
    let tape = Tape::new(&slopes);
    let mut traced = [tape.variable(R::zero()); N];
    for i in 0..N {
        traced[i] = tape.variable(v[i]);
    }
    formula.of(&traced);
    let mut all = [[R::zero(); N]; K];
    for i in 0..K {
        let mut by = [R::zero(); NUMBERS];
        for j in 0..M {
            by[results[j]] += grads[i][j];
        }
        tape.vjp(structure, 1, &mut by);
        copy(&mut all[i], &by[1..=N]);
    }
    all
}

/// The structure of the tape and the places of the results on it.
pub(super) struct Places<const M: usize> {
    structure: Structure,
    results: [usize; M],
}

impl<const M: usize> Places<M> {
    /// Traces a formula once, on arbitrary numbers: places do not depend on them.
    pub(super) fn new<const N: usize>(formula: &impl Formula<N, M>) -> Self {
        let structure = RefCell::default();
        let results = {
            let one = Single::<f64, false>::one();
            let traced = std::array::from_fn(|_| Traced { value: one, origin: Place::variable(&structure) });
            formula.of(&traced).map(|number| number.origin.place)
        };
        let mut structure = structure.into_inner();
        structure.set_results(std::iter::once(results));
        let places = Self { structure, results };
        assert!(places.results.iter().all(|&place| place < NUMBERS));
        places
    }
}
