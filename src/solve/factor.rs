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
        for (k, rows) in self.0.iter().enumerate() {
            let above = -x[k];
            for &i in rows {
                x[i] = above.mul_add(factor[triangle(i, k)], x[i]);
            }
        }
        for (k, rows) in self.0.iter().enumerate().rev() {
            let mut sum = x[k] * factor[triangle(k, k)];
            for &i in rows {
                sum = (-x[i]).mul_add(factor[triangle(i, k)], sum);
            }
            x[k] = sum;
        }
    }

    /// [`Pattern::solve`] for N vectors side by side, so that their sums do not wait for each other. `reach` are the rows
    /// that elimination makes nonzero, as [`Pattern::reach`] has them.
    #[inline(always)]
    pub(crate) fn solve_block<R: Real, const N: usize>(&self, factor: &[R], reach: &[usize], x: &mut [[R; N]]) {
        for &k in reach {
            let above = x[k];
            for &i in &self.0[k] {
                let (l, below) = (-factor[triangle(i, k)], &mut x[i]);
                for n in 0..N {
                    below[n] = above[n].mul_add(l, below[n]);
                }
            }
        }
        for (k, rows) in self.0.iter().enumerate().rev() {
            let (inverse, mut sums) = (factor[triangle(k, k)], x[k]);
            for sum in &mut sums {
                *sum = *sum * inverse;
            }
            for &i in rows {
                let (l, below) = (-factor[triangle(i, k)], &x[i]);
                for n in 0..N {
                    sums[n] = below[n].mul_add(l, sums[n]);
                }
            }
            x[k] = sums;
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
