//! Sparse symmetric matrices over a kinematic tree, and their factorization M = Lᵀ D L without fill-in.
//!
//! Entry (i, j) can be non-zero only if one of i and j is an ancestor of the other. A row stores its entries with its
//! ancestors, from the root down, and then its diagonal entry. Eliminating leaves first keeps that pattern
//! (Featherstone, ch. 6, tables 6.3 and 6.5).

use super::lane::{Real, Zip, clear};

/// The sparsity pattern of a matrix over a forest, and the operations on matrices with that pattern.
#[derive(Clone, Debug)]
pub struct Pattern {
    rows: Vec<Row>,
    /// The column of each entry.
    columns: Vec<usize>,
}

/// A row of a matrix: the places of its entries in the list of all entries.
#[derive(Clone, Copy, Debug)]
struct Row {
    /// The degree of freedom that the row stands for.
    dof: usize,
    /// The place of the row's first entry.
    first: usize,
    /// The number of ancestors of the row. The diagonal entry is at `first + depth`.
    depth: usize,
}

impl Pattern {
    /// The pattern of a forest. For each row, `parents` gives its parent row, which must come before it, and the degree
    /// of freedom that it stands for.
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

    /// The number of rows.
    pub fn n(&self) -> usize {
        self.rows.len()
    }

    /// The number of stored entries.
    pub fn n_entries(&self) -> usize {
        self.columns.len()
    }

    /// The number of stored entries in the leading `n` rows.
    #[inline(always)]
    pub fn n_leading_entries(&self, n: usize) -> usize {
        self.rows.get(n).map_or(self.columns.len(), |row| row.first)
    }

    /// Is each of the leading `n` rows coupled with each other one? Then entry (i, j ≤ i) has the place i (i + 1) / 2 +
    /// j.
    pub fn is_dense(&self, n: usize) -> bool {
        n <= self.n() && self.rows[..n].iter().enumerate().all(|(i, row)| row.depth == i)
    }

    /// The degree of freedom that row `i` stands for.
    #[inline(always)]
    pub fn dof(&self, i: usize) -> usize {
        self.rows[i].dof
    }

    /// The place of entry (i, j), where one of the rows is an ancestor of the other, or both are the same.
    #[inline(always)]
    pub fn at(&self, i: usize, j: usize) -> usize {
        let (low, high) = if i > j { (i, j) } else { (j, i) };
        self.rows[low].first + self.rows[high].depth
    }

    /// The ancestors of row `i`, from the root down.
    #[inline(always)]
    pub fn above(&self, i: usize) -> &[usize] {
        let Row { first, depth, .. } = self.rows[i];
        &self.columns[first..first + depth]
    }

    /// Replaces M by its factors in place: L below the diagonal, 1/D on it.
    ///
    /// If M is not positive definite, some 1/D is nonpositive, infinite or NaN.
    #[inline(always)]
    pub fn factor<R: Real>(&self, m: &mut [R]) {
        self.factor_leading(m, self.n());
    }

    /// [`Pattern::factor`] for the leading `n` rows and columns alone.
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

    /// One elimination step: subtracts a row's contribution from the row of its ancestor `i`, which is the d-th of its
    /// ancestors.
    #[inline(always)]
    fn take<R: Real>(&self, above: &mut [R], (row, pivot): (&mut [R], R), i: usize, d: usize) {
        let l = row[d] * pivot;
        let other = self.rows[i].first;
        for (to, &x) in above[other..=other + d].iter_mut().zip_inline(&row[..=d]) {
            *to = (-l).mul_add(x, *to);
        }
        row[d] = l;
    }

    /// Factors the leading `n` rows and columns of a nonsymmetric matrix M in place, without pivoting. `lower` has the
    /// entries (i, j) with j an ancestor of i, and the diagonal; `upper` has the entries (j, i) in the same places.
    ///
    /// [`Pattern::solve_leading`] solves with M if it gets `[upper, lower]`, and with Mᵀ if it gets `[lower, upper]`.
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

    /// By how much a solution of M x = b amplifies rounding errors in the terms that M was summed from. It is the
    /// largest, over the rows, of two numbers:
    ///
    /// - M's diagonal entry over the pivot that elimination leaves of it: so much precision the factorization loses;
    /// - M's diagonal entry over `own`, the row's softest term: b may be as large as the stiffest term makes it, and x
    ///   has the digits that are left.
    ///
    /// `sums` is working memory of one number per row.
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

    /// Solves M x = b in place: x ← M⁻¹ x, given the factors of M.
    #[inline(always)]
    pub fn solve<R: Real>(&self, factor: &[R], x: &mut [R]) {
        self.solve_leading([factor, factor], x, self.n());
    }

    /// [`Pattern::solve`] for the leading `n` rows and columns alone. `down` holds the factor to eliminate with, `up`
    /// the one to substitute with: the same for a symmetric matrix, see [`Pattern::factor_pair_leading`] for others.
    #[inline(always)]
    pub fn solve_leading<R: Real>(&self, [down, up]: [&[R]; 2], x: &mut [R], n: usize) {
        self.eliminate(down, x, n);
        self.substitute(up, x, n);
    }

    /// [`Pattern::factor_leading`] and [`Pattern::solve_leading`] in one, unrolled for `N` leading rows that are dense.
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

    /// [`Pattern::factor_pair_leading`] and [`Pattern::solve_leading`] in one, unrolled for `N` leading rows that are
    /// dense.
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

    /// Elimination: x ← D⁻¹ L⁻ᵀ x, for an x that is zero from row `n` on.
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

    /// Substitution: x ← L⁻¹ x, in the leading `n` rows.
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

    /// The elimination of [`Pattern::solve_leading`] for N vectors side by side, all rows, so that their sums are
    /// independent of each other. It leaves the factor 1/D to [`Pattern::substitute_blocks`]. `reach` are the rows that
    /// elimination makes nonzero, as [`Pattern::reach`] gives them.
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

    /// The substitution that follows [`Pattern::eliminate_block`], for M blocks of N vectors, one block after the
    /// other.
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

    /// The rows that elimination makes nonzero if those in `nonzero` are: these and all their ancestors, in descending
    /// order.
    pub fn reach(&self, nonzero: impl Iterator<Item = usize>) -> Vec<usize> {
        let mut reached = vec![false; self.n()];
        for i in nonzero {
            // If a row is reached, all of its ancestors are.
            let way = std::iter::once(i).chain(self.above(i).iter().rev().copied());
            for j in way {
                if std::mem::replace(&mut reached[j], true) {
                    break;
                }
            }
        }
        (0..reached.len()).rev().filter(|&i| reached[i]).collect()
    }

    /// The quadratic form xᵀ M⁻¹ x, given the factors of M. Overwrites x.
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

    /// The inverse M⁻¹ as a dense symmetric matrix, row by row, given the factors of M.
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
