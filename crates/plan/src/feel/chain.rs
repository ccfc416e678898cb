//! Normal equations of states in a row, each tied to the next one alone.

use nalgebra::{Cholesky, DMatrix, DVector, Dyn};

/// Half the sum of squares of a linear problem over n states: ½ δᵀ H δ − bᵀ δ, with H in blocks.
#[derive(Clone, Debug)]
pub struct Chain {
    /// Blocks on the diagonal (nv, nv).
    pub own: Vec<DMatrix<f64>>,
    /// Blocks below it: that of state k + 1 with state k.
    pub below: Vec<DMatrix<f64>>,
    /// b (nv) of each.
    pub right: Vec<DVector<f64>>,
}

/// A state by itself.
pub struct Last {
    /// The covariance (nv, nv).
    pub covariance: DMatrix<f64>,
    /// The inverse of the covariance.
    pub information: DMatrix<f64>,
    /// δ (nv).
    pub delta: DVector<f64>,
}

/// The states from which all earlier ones are eliminated.
struct Reduced {
    factors: Vec<Cholesky<f64, Dyn>>,
    right: Vec<DVector<f64>>,
}

impl Chain {
    /// `n` states of `nv` degrees of freedom, all zero.
    pub fn new(n: usize, nv: usize) -> Self {
        let square = || DMatrix::zeros(nv, nv);
        Self {
            own: (0..n).map(|_| square()).collect(),
            below: (1..n).map(|_| square()).collect(),
            right: (0..n).map(|_| DVector::zeros(nv)).collect(),
        }
    }

    /// Eliminates state after state, with a diagonal that grows by `damping` of itself; none if H is not positive.
    fn reduced(&self, damping: f64) -> Option<Reduced> {
        let mut reduced = Reduced { factors: Vec::new(), right: Vec::new() };
        for (k, own) in self.own.iter().enumerate() {
            let mut own = own + DMatrix::from_diagonal(&(own.diagonal() * damping));
            let mut right = self.right[k].clone();
            if let Some(before) = reduced.factors.last() {
                let below = &self.below[k - 1];
                own -= below * before.solve(&below.transpose());
                right -= below * before.solve(&reduced.right[k - 1]);
            }
            reduced.factors.push(symmetric(own).cholesky()?);
            reduced.right.push(right);
        }
        Some(reduced)
    }

    /// The δ of each state.
    pub fn solve(&self, damping: f64) -> Option<Vec<DVector<f64>>> {
        let Reduced { factors, right } = self.reduced(damping)?;
        let mut all: Vec<DVector<f64>> = Vec::with_capacity(right.len());
        for k in (0..right.len()).rev() {
            let own = match all.last() {
                Some(next) => factors[k].solve(&(&right[k] - self.below[k].tr_mul(next))),
                None => factors[k].solve(&right[k]),
            };
            all.push(own);
        }
        all.reverse();
        all.iter().flatten().all(|x| x.is_finite()).then_some(all)
    }

    /// What all that is known says of the last state: its covariance (nv, nv), the inverse of that, and δ.
    pub fn last(&self) -> Option<Last> {
        let Reduced { mut factors, mut right } = self.reduced(0.0)?;
        let (factor, right) = (factors.pop()?, right.pop()?);
        let last = Last {
            covariance: symmetric(factor.inverse()),
            information: symmetric(factor.l() * factor.l().transpose()),
            delta: factor.solve(&right),
        };
        last.covariance.iter().chain(last.delta.iter()).all(|x| x.is_finite()).then_some(last)
    }

    /// The part of the first n states.
    pub(super) fn part(&self, n: usize) -> Self {
        let Self { own, below, right } = self;
        Self { own: own[..n].to_vec(), below: below[..n - 1].to_vec(), right: right[..n].to_vec() }
    }
}

/// The mean of a matrix and its transpose.
fn symmetric(of: DMatrix<f64>) -> DMatrix<f64> {
    (&of + of.transpose()) * 0.5
}
