//! Symmetric matrices with the sparsity of a tree, and their factor M = Lᵀ D L without fill-in.
//!
//! Entry (i, j) can be non-zero only if one of i and j is an ancestor of the other. A row holds an index's entries
//! with its ancestors and itself, in the order of their depth. Eliminating the leaves first keeps that pattern
//! (Featherstone, ch. 6, tables 6.3 and 6.5).

use crate::math::lane::Real;

/// Where the entries are.
#[derive(Debug)]
pub struct Pattern {
    rows: Vec<Row>,
    len: usize,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    parent: Option<usize>,
    /// The degree of freedom that the row stands for.
    dof: usize,
    first: usize,
    depth: usize,
}

impl Pattern {
    /// The pattern of a forest, given each row's parent, smaller than itself, and its degree of freedom.
    pub fn new(rows: impl Iterator<Item = (Option<usize>, usize)>) -> Self {
        let mut pattern = Self { rows: Vec::new(), len: 0 };
        for (parent, dof) in rows {
            let depth = parent.map_or(0, |parent| pattern.rows[parent].depth + 1);
            pattern.rows.push(Row { parent, dof, first: pattern.len, depth });
            pattern.len += depth + 1;
        }
        pattern
    }

    /// Rows.
    pub fn n(&self) -> usize {
        self.rows.len()
    }

    /// Entries.
    pub fn len(&self) -> usize {
        self.len
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

    /// The ancestors of i, from its parent up.
    #[inline(always)]
    pub fn above(&self, i: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(
            self.rows[i].parent,
            #[inline(always)]
            |&j| self.rows[j].parent,
        )
    }

    /// Replaces M by its factor; the diagonal holds 1/D.
    #[inline(always)]
    pub fn factor<R: Real>(&self, m: &mut [R]) {
        for k in (0..self.n()).rev() {
            let row = self.rows[k].first;
            let pivot = R::one() / m[row + self.rows[k].depth];
            m[row + self.rows[k].depth] = pivot;
            let mut next = self.rows[k].parent;
            while let Some(i) = next {
                let Row { parent, first, depth, .. } = self.rows[i];
                let l = m[row + depth] * pivot;
                // The entries above i of row k are still those of M: i goes from the leaf up.
                for d in 0..=depth {
                    m[first + d] = (-l).mul_add(m[row + d], m[first + d]);
                }
                m[row + depth] = l;
                next = parent;
            }
        }
    }

    /// x ← M⁻¹ x, given the factor.
    #[inline(always)]
    pub fn solve<R: Real>(&self, factor: &[R], x: &mut [R]) {
        self.solve_from(factor, x, self.n());
    }

    /// [`Pattern::solve`] for an x that is zero from row `n` on.
    #[inline(always)]
    fn solve_from<R: Real>(&self, factor: &[R], x: &mut [R], n: usize) {
        for i in (0..n).rev() {
            let Row { parent, first, depth, .. } = self.rows[i];
            let mut next = parent;
            while let Some(j) = next {
                x[j] = (-factor[first + self.rows[j].depth]).mul_add(x[i], x[j]);
                next = self.rows[j].parent;
            }
            x[i] = x[i] * factor[first + depth];
        }
        for i in 0..self.n() {
            let Row { parent, first, .. } = self.rows[i];
            let mut next = parent;
            while let Some(j) = next {
                x[i] = (-factor[first + self.rows[j].depth]).mul_add(x[j], x[i]);
                next = self.rows[j].parent;
            }
        }
    }

    /// M⁻¹, row by row and symmetric, given the factor.
    #[inline(always)]
    pub fn inverse<R: Real>(&self, factor: &[R], inverse: &mut [R]) {
        let n = self.n();
        inverse.fill(R::zero());
        for (i, column) in inverse.chunks_exact_mut(n.max(1)).enumerate() {
            column[i] = R::one();
            self.solve_from(factor, column, i + 1);
        }
    }
}
