//! Sparse symmetric matrices over a kinematic tree, and their factorization M = Lᵀ D L without fill-in.
//!
//! Entry (i, j) can be non-zero only if one of i and j is an ancestor of the other. A row stores its entries with its
//! ancestors, from the root down, and then its diagonal entry. Eliminating leaves first keeps that pattern
//! (Featherstone, ch. 6, tables 6.3 and 6.5).

use super::lane::{Mask, Pairs, Real, Zip, clear};

/// In rows with at least so many ancestors, elimination passes over numbers that are zero in every world of a lane: of
/// all the bodies that may touch each other, few do.
const WIDE: usize = 32;

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

/// Numbers of a row that are looked at together: twice as many as sums that do not wait for each other.
const CHUNK: usize = 16;

/// Are these numbers zero in every world of a lane?
#[inline(always)]
fn are_nowhere<R: Real>(numbers: [R; 2]) -> bool {
    let sum = numbers[0].abs() + numbers[1].abs();
    R::is_nowhere(sum.gt(R::zero()).or(sum.is_finite().not()))
}

/// Are the numbers of these two parts of rows zero in every world of a lane?
#[inline(always)]
fn are_chunks_nowhere<R: Real>(row: &[R; CHUNK], other: &[R; CHUNK]) -> bool {
    let mut sums = [R::zero(); CHUNK / 2];
    for (k, sum) in sums.iter_mut().enumerate() {
        let l = k + CHUNK / 2;
        *sum = (row[k].abs() + row[l].abs()) + (other[k].abs() + other[l].abs());
    }
    let [a, b, c, d, e, f, g, h] = sums;
    are_nowhere([(a + b) + (c + d), (e + f) + (g + h)])
}

/// The first place, or one shortly before it, at which not both rows are zero in every world of a lane; 0 for rows that
/// are not [`WIDE`].
#[inline(always)]
fn first_somewhere<R: Real>(row: &[R], other: &[R]) -> usize {
    let mut first = 0;
    if row.len() >= WIDE {
        for (row, other) in row.as_chunks::<CHUNK>().0.iter().zip_inline(other.as_chunks::<CHUNK>().0) {
            if !are_chunks_nowhere(row, other) {
                break;
            }
            first += CHUNK;
        }
    }
    first.min(row.len().saturating_sub(1))
}

/// Rows that are eliminated together where they are wide: those of a free body.
const BLOCK: usize = 6;
/// The columns that they are subtracted from together.
const CHUNK_OF_BLOCK: usize = 8;

/// to −= Σ l row of a block's rows from the column `from` on, the last row first.
#[inline(always)]
fn subtract<R: Real>(to: &mut [R], rows: &[&mut [R]; BLOCK], (from, l): (usize, [R; BLOCK])) {
    let end = from + to.len();
    let rows = [
        &rows[0][from..end],
        &rows[1][from..end],
        &rows[2][from..end],
        &rows[3][from..end],
        &rows[4][from..end],
        &rows[5][from..end],
    ];
    let n = to.len();
    let (chunks, rest) = to.as_chunks_mut::<CHUNK_OF_BLOCK>();
    for (at, to) in chunks.iter_mut().enumerate() {
        let mut sums = *to;
        for k in (0..BLOCK).rev() {
            let row = &rows[k].as_chunks::<CHUNK_OF_BLOCK>().0[at];
            for j in 0..CHUNK_OF_BLOCK {
                sums[j] = (-l[k]).mul_add(row[j], sums[j]);
            }
        }
        *to = sums;
    }
    let start = n - rest.len();
    for (j, to) in rest.iter_mut().enumerate() {
        for k in (0..BLOCK).rev() {
            *to = (-l[k]).mul_add(rows[k][start + j], *to);
        }
    }
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
            if self.is_block(left) {
                left -= BLOCK - 1;
                self.take_block(m, left);
                continue;
            }
            let (above, row) = m.split_at_mut(first);
            let pivot = R::one() / row[depth];
            row[depth] = pivot;
            let ancestors = &self.columns[first..first + depth];
            let Some((&parent, ancestors)) = ancestors.split_last() else { continue };
            // The entries up to d are still those of M: the ancestors come from the leaf up.
            self.take(above, (&mut *row, pivot), parent, (0, depth - 1));
            if parent + 1 < left {
                let start = first_somewhere(&row[..depth - 1], &row[..depth - 1]);
                for (d, &i) in ancestors[start.min(depth - 1)..].iter().enumerate().rev() {
                    self.take(above, (&mut *row, pivot), i, (start, start + d));
                }
                continue;
            }
            // A row and its parent next to it go on together: what is above both is read and written once.
            left = parent;
            let (above, next) = above.split_at_mut(self.rows[parent].first);
            let next_pivot = R::one() / next[depth - 1];
            next[depth - 1] = next_pivot;
            let start = first_somewhere(&row[..depth - 1], &next[..depth - 1]);
            for (d, &i) in ancestors[start..].iter().enumerate().rev() {
                let d = start + d;
                if depth > WIDE && are_nowhere([row[d], next[d]]) {
                    continue;
                }
                let (l, next_l) = (row[d] * pivot, next[d] * next_pivot);
                let other = self.rows[i].first;
                let both = row[start..=d].iter().zip_inline(&next[start..=d]);
                for (to, (&x, &y)) in above[other + start..=other + d].iter_mut().zip_inline(both) {
                    *to = (-next_l).mul_add(y, (-l).mul_add(x, *to));
                }
                (row[d], next[d]) = (l, next_l);
            }
        }
        R::part();
    }

    /// Are this row and the [`BLOCK`] − 1 before it wide, each the parent of the next?
    #[inline(always)]
    fn is_block(&self, last: usize) -> bool {
        let Row { first, depth, .. } = self.rows[last];
        // Ancestors are in ascending order.
        depth >= WIDE + BLOCK && self.columns[first + depth + 1 - BLOCK] == last + 1 - BLOCK
    }

    /// The elimination of the block of rows that begins with `top`: what is above all of them is read and written once.
    #[inline(always)]
    fn take_block<R: Real>(&self, m: &mut [R], top: usize) {
        let Row { first, depth, .. } = self.rows[top];
        let (above, rest) = m.split_at_mut(first);
        let (a, rest) = rest.split_at_mut(depth + 1);
        let (b, rest) = rest.split_at_mut(depth + 2);
        let (c, rest) = rest.split_at_mut(depth + 3);
        let (d, rest) = rest.split_at_mut(depth + 4);
        let (e, rest) = rest.split_at_mut(depth + 5);
        let (f, _) = rest.split_at_mut(depth + 6);
        let start = first_somewhere(&a[..depth], &b[..depth])
            .min(first_somewhere(&c[..depth], &d[..depth]))
            .min(first_somewhere(&e[..depth], &f[..depth]));
        let mut rows = [a, b, c, d, e, f];
        let mut pivots = [R::zero(); BLOCK];
        for k in (0..BLOCK).rev() {
            let (others, row) = rows.split_at_mut(k);
            let row = &mut *row[0];
            let pivot = R::one() / row[depth + k];
            (pivots[k], row[depth + k]) = (pivot, pivot);
            for (j, other) in others.iter_mut().enumerate().rev() {
                let l = row[depth + j] * pivot;
                for (to, &x) in other[start..=depth + j].iter_mut().zip_inline(&row[start..=depth + j]) {
                    *to = (-l).mul_add(x, *to);
                }
                row[depth + j] = l;
            }
        }
        for (d, &i) in self.columns[first + start..first + depth].iter().enumerate().rev() {
            let d = start + d;
            let mut l = [R::zero(); BLOCK];
            let mut sizes = [R::zero(); 2];
            for k in 0..BLOCK {
                l[k] = rows[k][d];
                sizes[k % 2] += l[k].abs();
            }
            if are_nowhere(sizes) {
                continue;
            }
            for k in 0..BLOCK {
                l[k] = l[k] * pivots[k];
            }
            // In whole chunks: before the start are zeros.
            let more = (start + CHUNK_OF_BLOCK - (d + 1) % CHUNK_OF_BLOCK) % CHUNK_OF_BLOCK;
            let from = start.saturating_sub(more);
            subtract(&mut above[self.rows[i].first + from..=self.rows[i].first + d], &rows, (from, l));
            for k in 0..BLOCK {
                rows[k][d] = l[k];
            }
        }
    }

    /// One elimination step: subtracts a row's contribution from the row of its ancestor `i`, which is the d-th of its
    /// ancestors. What is before `start` is zero.
    #[inline(always)]
    fn take<R: Real>(&self, above: &mut [R], (row, pivot): (&mut [R], R), i: usize, (start, d): (usize, usize)) {
        if d >= WIDE && are_nowhere([row[d], row[d]]) {
            return;
        }
        let l = row[d] * pivot;
        let other = self.rows[i].first;
        for (to, &x) in above[other + start..=other + d].iter_mut().zip_inline(&row[start..=d]) {
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
            let start = first_somewhere(&lower[..depth], &upper[..depth]);
            for (d, &i) in ancestors[start..].iter().enumerate().rev() {
                let d = start + d;
                if depth > WIDE && are_nowhere([lower[d], upper[d]]) {
                    continue;
                }
                let (l, u) = (lower[d] * pivot, upper[d] * pivot);
                let other = self.rows[i].first;
                for (to, &x) in lower_above[other + start..=other + d].iter_mut().zip_inline(&lower[start..=d]) {
                    *to = (-u).mul_add(x, *to);
                }
                for (to, &x) in upper_above[other + start..=other + d].iter_mut().zip_inline(&upper[start..=d]) {
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
        for (i, row) in self.rows[..n].iter().enumerate().rev() {
            let below = -x[i];
            for (&l, &j) in self.below_diagonal(factor, row) {
                x[j] = below.mul_add(l, x[j]);
            }
            x[i] = x[i] * factor[row.first + row.depth];
        }
    }

    /// Substitution: x ← L⁻¹ x, in the leading `n` rows.
    #[inline(always)]
    fn substitute<R: Real>(&self, factor: &[R], x: &mut [R], n: usize) {
        for (i, row) in self.rows[..n].iter().enumerate() {
            let mut sum = x[i];
            for (&l, &j) in self.below_diagonal(factor, row) {
                sum = (-l).mul_add(x[j], sum);
            }
            x[i] = sum;
        }
    }

    /// A row of L without its diagonal, and the columns, but for zeros that it may begin with.
    #[inline(always)]
    fn below_diagonal<'a, R: Real>(
        &'a self,
        factor: &'a [R],
        &Row { first, depth, .. }: &Row,
    ) -> Pairs<std::slice::Iter<'a, R>, std::slice::Iter<'a, usize>> {
        let (row, columns) = (&factor[first..first + depth], &self.columns[first..first + depth]);
        let start = first_somewhere(row, row);
        row[start..].iter().zip_inline(&columns[start..])
    }

    /// The elimination of [`Pattern::solve_leading`] for N vectors side by side, all rows, so that their sums are
    /// independent of each other. It leaves the factor 1/D to [`Pattern::substitute_blocks`]. `reach` are the rows that
    /// elimination makes nonzero, as [`Pattern::reach`] gives them.
    #[inline(always)]
    pub fn eliminate_block<R: Real, const N: usize>(&self, down: &[R], reach: &[usize], x: &mut [[R; N]]) {
        for &i in R::parts(reach) {
            let below = x[i];
            for (&l, &j) in self.below_diagonal(down, &self.rows[i]) {
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
        for (i, row) in R::parts(self.rows.iter().enumerate()) {
            let mut sums = [[R::zero(); N]; M];
            for m in 0..M {
                for n in 0..N {
                    sums[m][n] = x[m * n_rows + i][n] * up[row.first + row.depth];
                }
            }
            for (&l, &j) in self.below_diagonal(up, row) {
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
        for (i, row) in self.rows.iter().enumerate().rev() {
            let below = -x[i];
            for (&l, &j) in self.below_diagonal(factor, row) {
                x[j] = below.mul_add(l, x[j]);
            }
            sum = (x[i] * x[i]).mul_add(factor[row.first + row.depth], sum);
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

#[cfg(test)]
mod tests {
    use super::super::lane::{Packed, Single};
    use super::*;

    type R = Single<f64, true>;

    const N: usize = 70;

    /// A matrix of blocks on the diagonal and a few entries far from it, row by row; the lower triangle has `tilt` more
    /// than the upper one.
    fn matrix(tilt: f64) -> Vec<[f64; N]> {
        let mut m = vec![[0.0; N]; N];
        for i in 0..N {
            m[i][i] = 9.0 + i as f64 / 7.0;
            for j in 0..i {
                if i / 6 == j / 6 || (i * j + i + j) % 97 == 0 {
                    m[j][i] = ((i * 31 + j * 17) % 13) as f64 / 13.0 - 0.4;
                    m[i][j] = m[j][i] + tilt;
                }
            }
        }
        m
    }

    /// The entries of a triangle in the order of a pattern.
    fn entries(pattern: &Pattern, entry: impl Fn(usize, usize) -> f64) -> Vec<R> {
        let mut all = vec![R::zero(); pattern.n_entries()];
        for i in 0..N {
            for j in 0..=i {
                all[pattern.at(i, j)] = R::splat(entry(i, j));
            }
        }
        all
    }

    #[test]
    fn wide_matrices_with_few_numbers_are_solved_as_any_other() {
        let pattern = Pattern::new((0..N).map(|i| (i.checked_sub(1), i)));
        let b: Vec<f64> = (0..N).map(|i| (i * i % 11) as f64 - 5.0).collect();
        let worst = |m: &[[f64; N]], x: &[R]| {
            let row = |i: usize| m[i].iter().zip(x).map(|(m, x)| m * x.get(0)).sum::<f64>();
            (0..N).map(|i| (row(i) - b[i]).abs()).fold(0.0, f64::max)
        };
        let right = || b.iter().map(|&b| R::splat(b)).collect::<Vec<_>>();

        let m = matrix(0.0);
        let (mut factor, mut x) = (entries(&pattern, |i, j| m[i][j]), right());
        pattern.factor(&mut factor);
        pattern.solve(&factor, &mut x);
        assert!(worst(&m, &x) < 1e-13, "{}", worst(&m, &x));

        let m = matrix(0.3);
        let [mut lower, mut upper] = [entries(&pattern, |i, j| m[i][j]), entries(&pattern, |i, j| m[j][i])];
        let mut x = right();
        pattern.factor_pair_leading(&mut lower, &mut upper, N);
        pattern.solve_leading([&upper, &lower], &mut x, N);
        assert!(worst(&m, &x) < 1e-13, "{}", worst(&m, &x));
    }

    #[test]
    fn what_is_no_number_is_not_passed_over() {
        let pattern = Pattern::new((0..N).map(|i| (i.checked_sub(1), i)));
        let mut factor = entries(&pattern, |i, j| if i == j { 1.0 } else { 0.0 });
        factor[pattern.at(N - 1, 3)] = R::splat(f64::NAN);
        pattern.factor(&mut factor);
        assert!(factor[pattern.at(3, 3)].get(0).is_nan());
    }
}
