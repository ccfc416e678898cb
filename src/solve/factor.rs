//! Sparse L D Lᵀ of a symmetric positive definite matrix in lanes.

use crate::math::lane::Real;

use super::structure::{Pattern, triangle};

impl Pattern {
    /// Factors the triangle `a` in place: L below the diagonal, 1/D on it.
    ///
    /// A matrix that is not positive definite leaves a nonpositive, infinite or NaN 1/D.
    #[inline(always)]
    pub(crate) fn factor<R: Real>(&self, a: &mut [R]) {
        for (k, rows) in self.0.iter().enumerate() {
            let inverse = R::one() / a[triangle(k, k)];
            a[triangle(k, k)] = inverse;
            // From the last row up: the rows above still hold A's column when a row needs them.
            for (n, &i) in rows.iter().enumerate().rev() {
                let l = a[triangle(i, k)] * inverse;
                for &j in &rows[..=n] {
                    a[triangle(i, j)] = (-l).mul_add(a[triangle(j, k)], a[triangle(i, j)]);
                }
                a[triangle(i, k)] = l;
            }
        }
    }

    /// xᵀA⁻¹x, given the factor of A; overwrites x.
    #[inline(always)]
    pub(crate) fn square<R: Real>(&self, factor: &[R], x: &mut [R]) -> R {
        let mut sum = R::zero();
        for (k, rows) in self.0.iter().enumerate() {
            let above = -x[k];
            for &i in rows {
                x[i] = above.mul_add(factor[triangle(i, k)], x[i]);
            }
            sum = (x[k] * x[k]).mul_add(factor[triangle(k, k)], sum);
        }
        sum
    }

    /// x ← A⁻¹ x, given the factor of A.
    #[inline(always)]
    pub(crate) fn solve<R: Real>(&self, factor: &[R], x: &mut [R]) {
        self.eliminate(factor, 0..self.0.len(), x);
        self.substitute(factor, [x]);
    }

    /// x ← L⁻¹ x; rows that are zero may be left out, see [`Pattern::reach`].
    #[inline(always)]
    pub(crate) fn eliminate<R: Real>(&self, factor: &[R], rows: impl Iterator<Item = usize>, x: &mut [R]) {
        for k in rows {
            let above = -x[k];
            for &i in &self.0[k] {
                x[i] = above.mul_add(factor[triangle(i, k)], x[i]);
            }
        }
    }

    /// x ← L⁻ᵀ D⁻¹ x for N vectors at once: their sums do not wait for each other.
    #[inline(always)]
    pub(crate) fn substitute<R: Real, const N: usize>(&self, factor: &[R], x: [&mut [R]; N]) {
        for (k, rows) in self.0.iter().enumerate().rev() {
            let mut sums = [factor[triangle(k, k)]; N];
            for n in 0..N {
                sums[n] = x[n][k] * sums[n];
            }
            for &i in rows {
                let l = factor[triangle(i, k)];
                for n in 0..N {
                    sums[n] = (-x[n][i]).mul_add(l, sums[n]);
                }
            }
            for n in 0..N {
                x[n][k] = sums[n];
            }
        }
    }

    /// The rows, ascending, that elimination makes nonzero when those in `nonzero` are.
    pub(crate) fn reach(&self, nonzero: impl Iterator<Item = usize>) -> Vec<usize> {
        let mut reached = vec![false; self.0.len()];
        nonzero.for_each(|row| reached[row] = true);
        for (k, rows) in self.0.iter().enumerate() {
            if reached[k] {
                rows.iter().for_each(|&row| reached[row] = true);
            }
        }
        (0..reached.len()).filter(|&row| reached[row]).collect()
    }
}
