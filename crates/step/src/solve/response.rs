//! The response A = (W⁻¹ + D)⁻¹ of a contact's force to a displacement, once the contact's private degrees of freedom
//! are eliminated.
//!
//! W = F² with the symmetric scaling F of the cone, see [`super::cone::FrictionCone::scaling`]; with their compliance D
//!
//! ```text
//! A = (W⁻¹ + D)⁻¹ = F (1 + F D F)⁻¹ F = Zᵀ E Z,   Z = L⁻¹ F,   1 + F D F = L E⁻¹ Lᵀ
//! ```
//!
//! which needs no W⁻¹: a force may lie as near to the boundary of its cone as rounding allows, and D may be singular.

use fingertip_lanes::lane::{Real, state};

use super::symmetric::Symmetric;
use super::vector::{axpy, dot, transform, transform_back, zero};

/// The response A = Zᵀ E Z of a contact's force to a displacement, in factors.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Response<R, const N: usize> {
    z: [[R; N]; N],
    /// E on the diagonal, and L below it.
    factors: [[R; N]; N],
}

state!(Response[N] { numbers: [], flags: [], states: [z, factors] });

impl<R: Real, const N: usize> Response<R, N> {
    /// Without private degrees of freedom: A = W.
    #[inline(always)]
    pub(super) fn rigid(scaling: &Symmetric<R, N>) -> Self {
        let mut factors = [zero(); N];
        for i in 0..N {
            factors[i][i] = R::one();
        }
        Self { z: scaling.rows(), factors }
    }

    /// [`Response::rigid`] without its L and E, which are 1.
    #[inline(always)]
    pub(super) fn set_rigid(&mut self, scaling: &Symmetric<R, N>) {
        self.z = scaling.rows();
    }

    /// The response of a contact with private degrees of freedom, from its scaling F and their compliance D.
    #[inline(always)]
    pub(super) fn compliant(scaling: &Symmetric<R, N>, compliance: &Symmetric<R, N>) -> Self {
        let mut z = scaling.rows();
        // What is left of 1 + F D F, below and on its diagonal.
        let mut left = [zero::<R, N>(); N];
        let mut factors = left;
        for i in 0..N {
            let moved = compliance.times(z[i]);
            for j in 0..=i {
                left[i][j] = dot(z[j], moved);
            }
        }
        for j in 0..N {
            for i in j..N {
                for k in 0..j {
                    left[i][j] = (-factors[j][k]).mul_add(left[i][k], left[i][j]);
                }
                factors[i][j] = if i == j { R::one() / (R::one() + left[j][j]) } else { left[i][j] * factors[j][j] };
            }
        }
        for i in 1..N {
            for k in 0..i {
                z[i] = axpy(-factors[i][k], z[k], z[i]);
            }
        }
        Self { z, factors }
    }

    /// L⁻¹ x.
    #[inline(always)]
    pub(super) fn down(&self, mut x: [R; N]) -> [R; N] {
        for i in 1..N {
            for k in 0..i {
                x[i] = (-self.factors[i][k]).mul_add(x[k], x[i]);
            }
        }
        x
    }

    /// L⁻ᵀ x.
    #[inline(always)]
    pub(super) fn up(&self, mut x: [R; N]) -> [R; N] {
        for i in (0..N - 1).rev() {
            for k in (i + 1..N).rev() {
                x[i] = (-self.factors[k][i]).mul_add(x[k], x[i]);
            }
        }
        x
    }

    /// Z x.
    #[inline(always)]
    pub(super) fn along(&self, x: [R; N]) -> [R; N] {
        transform(&self.z, x)
    }

    /// E x.
    #[inline(always)]
    pub(super) fn weighed(&self, mut x: [R; N]) -> [R; N] {
        for i in 0..N {
            x[i] = self.factors[i][i] * x[i];
        }
        x
    }

    /// Zᵀ x.
    #[inline(always)]
    pub(super) fn force(&self, x: [R; N]) -> [R; N] {
        transform_back(&self.z, x)
    }
}
