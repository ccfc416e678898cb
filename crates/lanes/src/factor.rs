//! Symmetric matrices with the sparsity of a tree, and their factor M = Lᵀ D L without fill-in.
//!
//! Entry (i, j) can be non-zero only if one of i and j is an ancestor of the other. A row holds an index's entries
//! with its ancestors, from the root down, and then itself. Eliminating the leaves first keeps that pattern
//! (Featherstone, ch. 6, tables 6.3 and 6.5).

use super::lane::{Real, Zip, clear};

/// Where the entries are.
#[derive(Clone, Debug)]
pub struct Pattern {
    rows: Vec<Row>,
    /// The column of each entry.
    columns: Vec<usize>,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    /// The degree of freedom that the row stands for.
    dof: usize,
    /// Its first entry.
    first: usize,
    /// Its ancestors: its diagonal entry comes after as many.
    depth: usize,
}

impl Pattern {
    /// The pattern of a forest, given each row's parent, smaller than itself, and its degree of freedom.
    pub fn new(parents: impl Iterator<Item = (Option<usize>, usize)>) -> Self {
        let mut rows: Vec<Row> = Vec::new();
        let mut columns: Vec<usize> = Vec::new();
        for (i, (parent, dof)) in parents.enumerate() {
            let (first, mut depth) = (columns.len(), 0);
            if let Some(parent) = parent {
                let Row { first, depth: above, .. } = rows[parent];
                columns.extend_from_within(first..=first + above);
                depth = above + 1;
            }
            columns.push(i);
            rows.push(Row { dof, first, depth });
        }
        Self { rows, columns }
    }

    /// Rows.
    pub fn n(&self) -> usize {
        self.rows.len()
    }

    /// Entries.
    pub fn n_entries(&self) -> usize {
        self.columns.len()
    }

    /// Entries of the leading `n` rows.
    #[inline(always)]
    pub fn n_leading_entries(&self, n: usize) -> usize {
        self.rows.get(n).map_or(self.columns.len(), |row| row.first)
    }

    /// Are the leading `n` rows coupled each with each? Entry (i, j ≤ i) then has the place i (i + 1) / 2 + j.
    pub fn is_dense(&self, n: usize) -> bool {
        n <= self.n() && self.rows[..n].iter().enumerate().all(|(i, row)| row.depth == i)
    }

    /// The degree of freedom of a row.
    #[inline(always)]
    pub fn dof(&self, i: usize) -> usize {
        self.rows[i].dof
    }

    /// Place of entry (i, j), one of them an ancestor of the other or both the same.
    #[inline(always)]
    pub fn at(&self, i: usize, j: usize) -> usize {
        let (low, high) = if i > j { (i, j) } else { (j, i) };
        self.rows[low].first + self.rows[high].depth
    }

    /// The ancestors of i, from the root down.
    #[inline(always)]
    pub fn above(&self, i: usize) -> &[usize] {
        let Row { first, depth, .. } = self.rows[i];
        &self.columns[first..first + depth]
    }

    /// Replaces M by its factor; the diagonal holds 1/D.
    ///
    /// A matrix that is not positive definite leaves a nonpositive, infinite or NaN 1/D.
    #[inline(always)]
    pub fn factor<R: Real>(&self, m: &mut [R]) {
        self.factor_leading(m, self.n());
    }

    /// [`Pattern::factor`] of the leading `n` rows and columns alone.
    #[inline(always)]
    pub fn factor_leading<R: Real>(&self, m: &mut [R], n: usize) {
        let mut left = n;
        while left > 0 {
            R::part();
            left -= 1;
            let Row { first, depth, .. } = self.rows[left];
            let (above, row) = m.split_at_mut(first);
            let pivot = R::one() / row[depth];
            row[depth] = pivot;
            let ancestors = &self.columns[first..first + depth];
            let Some((&parent, ancestors)) = ancestors.split_last() else { continue };
            // The entries up to d are still those of M: the ancestors come from the leaf up.
            self.take(above, (&mut *row, pivot), parent, depth - 1);
            if parent + 1 < left {
                for (d, &i) in ancestors.iter().enumerate().rev() {
                    self.take(above, (&mut *row, pivot), i, d);
                }
                continue;
            }
            // A row and its parent next to it go on together: what is above both is read and written once.
            left = parent;
            let (above, next) = above.split_at_mut(self.rows[parent].first);
            let next_pivot = R::one() / next[depth - 1];
            next[depth - 1] = next_pivot;
            for (d, &i) in ancestors.iter().enumerate().rev() {
                let (l, next_l) = (row[d] * pivot, next[d] * next_pivot);
                let other = self.rows[i].first;
                let both = row[..=d].iter().zip_inline(&next[..=d]);
                for (to, (&x, &y)) in above[other..=other + d].iter_mut().zip_inline(both) {
                    *to = (-next_l).mul_add(y, (-l).mul_add(x, *to));
                }
                (row[d], next[d]) = (l, next_l);
            }
        }
        R::part();
    }

    /// Takes a row out of that of its ancestor i, the d-th of them.
    #[inline(always)]
    fn take<R: Real>(&self, above: &mut [R], (row, pivot): (&mut [R], R), i: usize, d: usize) {
        let l = row[d] * pivot;
        let other = self.rows[i].first;
        for (to, &x) in above[other..=other + d].iter_mut().zip_inline(&row[..=d]) {
            *to = (-l).mul_add(x, *to);
        }
        row[d] = l;
    }

    /// Replaces the leading `n` rows and columns of a matrix M that is not symmetric by its factors, without pivoting. `lower` has the
    /// entries (i, j) with j above i and the diagonal, `upper` the entries (j, i) in the same places.
    ///
    /// A solve eliminates by one factor and substitutes by the other: M by the upper and the lower one, Mᵀ by the lower and the
    /// upper one.
    #[inline(always)]
    pub fn factor_pair_leading<R: Real>(&self, lower: &mut [R], upper: &mut [R], n: usize) {
        for &Row { first, depth, .. } in self.rows[..n].iter().rev() {
            let (lower_above, lower) = lower.split_at_mut(first);
            let (upper_above, upper) = upper.split_at_mut(first);
            let pivot = R::one() / lower[depth];
            lower[depth] = pivot;
            upper[depth] = pivot;
            let ancestors = &self.columns[first..first + depth];
            for (d, &i) in ancestors.iter().enumerate().rev() {
                let (l, u) = (lower[d] * pivot, upper[d] * pivot);
                let other = self.rows[i].first;
                for (to, &x) in lower_above[other..=other + d].iter_mut().zip_inline(&lower[..=d]) {
                    *to = (-u).mul_add(x, *to);
                }
                for (to, &x) in upper_above[other..=other + d].iter_mut().zip_inline(&upper[..=d]) {
                    *to = (-l).mul_add(x, *to);
                }
                lower[d] = l;
                upper[d] = u;
            }
        }
    }

    /// By how much a solution of M x = b amplifies the rounding of the numbers that M was summed from. The larger of
    ///
    /// - the largest part of M's diagonal that was taken away before it was a pivot, as 1 over what was left: so much the factor loses,
    /// - M's diagonal over `own`, that of its softest part: b may be as large as the stiffest makes it, and x have what that leaves.
    ///
    /// `sums` has a number for each row.
    #[inline(always)]
    pub fn growth<R: Real>(&self, [lower, upper]: [&[R]; 2], own: impl Fn(usize) -> R, sums: &mut [R]) -> R {
        clear(sums);
        let mut growth = R::one();
        for (i, &Row { first, depth, .. }) in self.rows.iter().enumerate().rev() {
            let inverse = lower[first + depth].abs();
            let pivot = R::one() / inverse;
            growth = growth.max(sums[i].mul_add(inverse, R::one())).max((sums[i] + pivot) / own(i));
            let ancestors = &self.columns[first..first + depth];
            for ((&l, &u), &j) in
                lower[first..first + depth].iter().zip_inline(&upper[first..first + depth]).zip_inline(ancestors)
            {
                sums[j] = (l * u).abs().mul_add(pivot, sums[j]);
            }
        }
        growth
    }

    /// x ← M⁻¹ x, given the factor.
    #[inline(always)]
    pub fn solve<R: Real>(&self, factor: &[R], x: &mut [R]) {
        self.solve_leading([factor, factor], x, self.n());
    }

    /// [`Pattern::solve`] with factors of the leading `n` rows and columns alone, see [`Pattern::factor_pair_leading`]: those to
    /// eliminate and to substitute by, which are the same for a symmetric matrix.
    #[inline(always)]
    pub fn solve_leading<R: Real>(&self, [down, up]: [&[R]; 2], x: &mut [R], n: usize) {
        self.eliminate(down, x, n);
        self.substitute(up, x, n);
    }

    /// [`Pattern::factor_leading`] and [`Pattern::solve_leading`] for `N` leading rows that are dense, without loops.
    #[inline(always)]
    pub fn solve_dense<R: Real, const N: usize>(m: &mut [R], x: &mut [R]) {
        let (m, x) = (&mut m[..N * (N + 1) / 2], &mut x[..N]);
        let row = |i: usize| i * (i + 1) / 2;
        for i in (0..N).rev() {
            let pivot = R::one() / m[row(i) + i];
            let below = x[i];
            for j in (0..i).rev() {
                let l = m[row(i) + j] * pivot;
                for k in 0..=j {
                    m[row(j) + k] = (-l).mul_add(m[row(i) + k], m[row(j) + k]);
                }
                m[row(i) + j] = l;
                x[j] = (-below).mul_add(l, x[j]);
            }
            x[i] = below * pivot;
        }
        for i in 0..N {
            for j in 0..i {
                x[i] = (-m[row(i) + j]).mul_add(x[j], x[i]);
            }
        }
    }

    /// [`Pattern::factor_pair_leading`] and [`Pattern::solve_leading`] for `N` leading rows that are dense, without loops.
    #[inline(always)]
    pub fn solve_dense_pair<R: Real, const N: usize>(lower: &mut [R], upper: &mut [R], x: &mut [R]) {
        let entries = N * (N + 1) / 2;
        let (lower, upper, x) = (&mut lower[..entries], &mut upper[..entries], &mut x[..N]);
        let row = |i: usize| i * (i + 1) / 2;
        for i in (0..N).rev() {
            let pivot = R::one() / lower[row(i) + i];
            let below = x[i];
            for j in (0..i).rev() {
                let (l, u) = (lower[row(i) + j] * pivot, upper[row(i) + j] * pivot);
                for k in 0..=j {
                    lower[row(j) + k] = (-u).mul_add(lower[row(i) + k], lower[row(j) + k]);
                }
                for k in 0..j {
                    upper[row(j) + k] = (-l).mul_add(upper[row(i) + k], upper[row(j) + k]);
                }
                lower[row(i) + j] = l;
                x[j] = (-below).mul_add(u, x[j]);
            }
            x[i] = below * pivot;
        }
        for i in 0..N {
            for j in 0..i {
                x[i] = (-lower[row(i) + j]).mul_add(x[j], x[i]);
            }
        }
    }

    /// x ← D⁻¹ L⁻ᵀ x for an x that is zero from row `n` on.
    #[inline(always)]
    fn eliminate<R: Real>(&self, factor: &[R], x: &mut [R], n: usize) {
        for (i, &Row { first, depth, .. }) in self.rows[..n].iter().enumerate().rev() {
            let below = -x[i];
            for (&l, &j) in factor[first..first + depth].iter().zip_inline(&self.columns[first..first + depth]) {
                x[j] = below.mul_add(l, x[j]);
            }
            x[i] = x[i] * factor[first + depth];
        }
    }

    /// x ← L⁻¹ x in the leading `n` rows.
    #[inline(always)]
    fn substitute<R: Real>(&self, factor: &[R], x: &mut [R], n: usize) {
        for (i, &Row { first, depth, .. }) in self.rows[..n].iter().enumerate() {
            let mut sum = x[i];
            for (&l, &j) in factor[first..first + depth].iter().zip_inline(&self.columns[first..first + depth]) {
                sum = (-l).mul_add(x[j], sum);
            }
            x[i] = sum;
        }
    }

    /// The first half of [`Pattern::solve_leading`], of all rows, for N vectors side by side, so that their sums do not wait for each other;
    /// 1/D is left to [`Pattern::substitute_blocks`]. `reach` are the rows that elimination makes nonzero, as [`Pattern::reach`] has them.
    #[inline(always)]
    pub fn eliminate_block<R: Real, const N: usize>(&self, down: &[R], reach: &[usize], x: &mut [[R; N]]) {
        for &i in R::parts(reach) {
            let Row { first, depth, .. } = self.rows[i];
            let below = x[i];
            for (&l, &j) in down[first..first + depth].iter().zip_inline(&self.columns[first..first + depth]) {
                for n in 0..N {
                    x[j][n] = below[n].mul_add(-l, x[j][n]);
                }
            }
        }
    }

    /// The second half for M such blocks, one after the other.
    #[inline(always)]
    pub fn substitute_blocks<R: Real, const N: usize, const M: usize>(&self, up: &[R], x: &mut [[R; N]]) {
        let n_rows = self.n();
        for (i, &Row { first, depth, .. }) in R::parts(self.rows.iter().enumerate()) {
            let mut sums = [[R::zero(); N]; M];
            for m in 0..M {
                for n in 0..N {
                    sums[m][n] = x[m * n_rows + i][n] * up[first + depth];
                }
            }
            for (&l, &j) in up[first..first + depth].iter().zip_inline(&self.columns[first..first + depth]) {
                for m in 0..M {
                    for n in 0..N {
                        sums[m][n] = x[m * n_rows + j][n].mul_add(-l, sums[m][n]);
                    }
                }
            }
            for m in 0..M {
                x[m * n_rows + i] = sums[m];
            }
        }
    }

    /// The rows, descending, that elimination makes nonzero when those in `nonzero` are.
    pub fn reach(&self, nonzero: impl Iterator<Item = usize>) -> Vec<usize> {
        let mut reached = vec![false; self.n()];
        for i in nonzero {
            // Where one is reached, all above it are.
            let way = std::iter::once(i).chain(self.above(i).iter().rev().copied());
            for j in way {
                if std::mem::replace(&mut reached[j], true) {
                    break;
                }
            }
        }
        (0..reached.len()).rev().filter(|&i| reached[i]).collect()
    }

    /// xᵀM⁻¹x, given the factor; overwrites x.
    #[inline(always)]
    pub fn square<R: Real>(&self, factor: &[R], x: &mut [R]) -> R {
        let mut sum = R::zero();
        for (i, &Row { first, depth, .. }) in self.rows.iter().enumerate().rev() {
            let below = -x[i];
            for (&l, &j) in factor[first..first + depth].iter().zip_inline(&self.columns[first..first + depth]) {
                x[j] = below.mul_add(l, x[j]);
            }
            sum = (x[i] * x[i]).mul_add(factor[first + depth], sum);
        }
        sum
    }

    /// M⁻¹, row by row and symmetric, given the factor.
    #[inline(always)]
    pub fn inverse<R: Real>(&self, factor: &[R], inverse: &mut [R]) {
        let n = self.n();
        clear(inverse);
        for (i, column) in R::parts(inverse.chunks_exact_mut(n.max(1)).enumerate()) {
            column[i] = R::one();
            self.eliminate(factor, column, i + 1);
            self.substitute(factor, column, n);
        }
    }
}
