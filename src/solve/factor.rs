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
}
