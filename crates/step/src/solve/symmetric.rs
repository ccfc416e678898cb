//! Symmetric matrices of order N, stored by their lower triangle.

use fingertip_lanes::lane::{Real, Slot, State};

use super::vector::{scale, transform, zero};

/// A symmetric matrix of order N: the numbers on its diagonal and below it. Those above are not read.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Symmetric<R, const N: usize>([[R; N]; N]);

impl<R: Real, const N: usize> State<R> for Symmetric<R, N> {
    fn each(&mut self, f: &mut dyn FnMut(Slot<R>)) {
        for (i, row) in self.0.iter_mut().enumerate() {
            row[..=i].each(f);
        }
    }
}

impl<R: Real, const N: usize> Symmetric<R, N> {
    /// The matrix s 1, a multiple of the identity.
    #[inline(always)]
    pub(super) fn diagonal(s: R) -> Self {
        let mut rows = [zero(); N];
        for i in 0..N {
            rows[i][i] = s;
        }
        Self(rows)
    }

    /// `yes` where the mask is set, else `no`.
    #[inline(always)]
    pub(super) fn select(mask: R::Mask, yes: Self, no: Self) -> Self {
        let mut chosen = no;
        for i in 0..N {
            for j in 0..=i {
                chosen.0[i][j] = R::select(mask, yes.0[i][j], no.0[i][j]);
            }
        }
        chosen
    }

    /// self + s v vᵀ.
    #[inline(always)]
    pub(super) fn plus(mut self, s: R, v: [R; N]) -> Self {
        let scaled = scale(s, v);
        for i in 0..N {
            for j in 0..=i {
                self.0[i][j] = scaled[j].mul_add(v[i], self.0[i][j]);
            }
        }
        self
    }

    /// The whole matrix.
    #[inline(always)]
    pub(super) fn rows(&self) -> [[R; N]; N] {
        let mut rows = self.0;
        for i in 0..N {
            for j in 0..i {
                rows[j][i] = rows[i][j];
            }
        }
        rows
    }

    /// self · v.
    #[inline(always)]
    pub(super) fn times(&self, v: [R; N]) -> [R; N] {
        transform(&self.rows(), v)
    }
}
