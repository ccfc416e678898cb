//! Normal equations of states in a row, each tied to the next one alone.

use nalgebra::{Cholesky, DMatrix, DVector, Dyn};

/// Half the sum of squares of a linear problem over n states: ½ δᵀ H δ − bᵀ δ, with H in blocks.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    /// Blocks on the diagonal (nv, nv).
    pub(super) own: Vec<DMatrix<f64>>,
    /// Blocks below it: that of state k + 1 with state k.
    pub(super) below: Vec<DMatrix<f64>>,
    /// b (nv) of each.
    pub(super) right: Vec<DVector<f64>>,
}

/// A state by itself.
pub(super) struct Last {
    pub(super) covariance: DMatrix<f64>,
    pub(super) information: DMatrix<f64>,
    pub(super) delta: DVector<f64>,
}

/// The states from which all earlier ones are eliminated.
struct Reduced {
    factors: Vec<Cholesky<f64, Dyn>>,
    right: Vec<DVector<f64>>,
}

impl Chain {
    pub(super) fn new(n: usize, nv: usize) -> Self {
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
    pub(super) fn solve(&self, damping: f64) -> Option<Vec<DVector<f64>>> {
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
    pub(super) fn last(&self) -> Option<Last> {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the dense problem.
    #[test]
    fn blocks_solve_as_the_whole() {
        let (n, nv) = (4, 3);
        let mut seed = 1_u32;
        let mut random = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f64::from(seed >> 8) / f64::from(1 << 24) - 0.5
        };
        let mut chain = Chain::new(n, nv);
        let mut dense = DMatrix::<f64>::zeros(n * nv, n * nv);
        for k in 0..n {
            let factor = DMatrix::from_fn(nv, nv, |_, _| random());
            chain.own[k] = factor.tr_mul(&factor) + DMatrix::identity(nv, nv) * 2.0;
            chain.right[k] = DVector::from_fn(nv, |_, _| random());
            dense.view_mut((k * nv, k * nv), (nv, nv)).copy_from(&chain.own[k]);
            if k > 0 {
                chain.below[k - 1] = DMatrix::from_fn(nv, nv, |_, _| random());
                dense.view_mut((k * nv, (k - 1) * nv), (nv, nv)).copy_from(&chain.below[k - 1]);
                dense.view_mut(((k - 1) * nv, k * nv), (nv, nv)).copy_from(&chain.below[k - 1].transpose());
            }
        }
        let right = DVector::from_iterator(n * nv, chain.right.iter().flatten().copied());
        let inverse = dense.try_inverse().unwrap();
        let (whole, blocks) = (&inverse * right, chain.solve(0.0).unwrap());
        let off = (whole - DVector::from_iterator(n * nv, blocks.iter().flatten().copied())).amax();
        assert!(off < 1e-12, "{off}");
        let last = chain.last().unwrap();
        let off = (&last.covariance - inverse.view(((n - 1) * nv, (n - 1) * nv), (nv, nv))).amax();
        assert!(off < 1e-12, "{off}");
        let off = (last.delta - &chain.solve(0.0).unwrap()[n - 1]).amax();
        assert!(off < 1e-12, "{off}");
        let off = (last.information * last.covariance - DMatrix::identity(nv, nv)).amax();
        assert!(off < 1e-12, "{off}");
        chain.own[0].fill(0.0);
        assert!(chain.solve(0.0).is_none() && chain.last().is_none(), "H is not positive");
    }
}
