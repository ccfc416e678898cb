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
use fingertip_lanes::vector::{Mat3, Vec3, axpy, dot, rotate, rotate_back, zero};

use super::symmetric::Symmetric;

/// The response A = Zᵀ E Z of a contact's force to a displacement, in factors.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Response<R> {
    z: Mat3<R>,
    e: Vec3<R>,
    /// L below its diagonal: (2, 1), (3, 1), (3, 2).
    l: Vec3<R>,
}

state!(Response { numbers: [], flags: [], states: [z, e, l] });

impl<R: Real> Response<R> {
    /// Without private degrees of freedom: A = W.
    #[inline(always)]
    pub(super) fn rigid(scaling: &Symmetric<R>) -> Self {
        Self { z: scaling.rows(), e: [R::one(); 3], l: zero() }
    }

    /// [`Response::rigid`] without its L and E, which are 1.
    #[inline(always)]
    pub(super) fn set_rigid(&mut self, scaling: &Symmetric<R>) {
        self.z = scaling.rows();
    }

    /// The response of a contact with private degrees of freedom, from its scaling F and their compliance D.
    #[inline(always)]
    pub(super) fn compliant(scaling: &Symmetric<R>, compliance: &Symmetric<R>) -> Self {
        let [x, y, z] = scaling.rows();
        let (moved_x, moved_y, moved_z) = (compliance.times(x), compliance.times(y), compliance.times(z));
        let one = R::one();
        let (xy, xz, yz) = (dot(x, moved_y), dot(x, moved_z), dot(y, moved_z));
        let first = one / (one + dot(x, moved_x));
        let (l_yx, l_zx) = (xy * first, xz * first);
        let second = one / (one + (-l_yx).mul_add(xy, dot(y, moved_y)));
        let below = (-l_yx).mul_add(xz, yz);
        let l_zy = below * second;
        let third = one / (one + (-l_zy).mul_add(below, (-l_zx).mul_add(xz, dot(z, moved_z))));
        let y = axpy(-l_yx, x, y);
        Self { z: [x, y, axpy(-l_zy, y, axpy(-l_zx, x, z))], e: [first, second, third], l: [l_yx, l_zx, l_zy] }
    }

    /// L⁻¹ x.
    #[inline(always)]
    pub(super) fn down(&self, x: Vec3<R>) -> Vec3<R> {
        let [l_yx, l_zx, l_zy] = self.l;
        let y = (-l_yx).mul_add(x[0], x[1]);
        [x[0], y, (-l_zy).mul_add(y, (-l_zx).mul_add(x[0], x[2]))]
    }

    /// L⁻ᵀ x.
    #[inline(always)]
    pub(super) fn up(&self, x: Vec3<R>) -> Vec3<R> {
        let [l_yx, l_zx, l_zy] = self.l;
        let y = (-l_zy).mul_add(x[2], x[1]);
        [(-l_yx).mul_add(y, (-l_zx).mul_add(x[2], x[0])), y, x[2]]
    }

    /// Z x.
    #[inline(always)]
    pub(super) fn along(&self, x: Vec3<R>) -> Vec3<R> {
        rotate(&self.z, x)
    }

    /// E x.
    #[inline(always)]
    pub(super) fn weighed(&self, x: Vec3<R>) -> Vec3<R> {
        [self.e[0] * x[0], self.e[1] * x[1], self.e[2] * x[2]]
    }

    /// Zᵀ x.
    #[inline(always)]
    pub(super) fn force(&self, x: Vec3<R>) -> Vec3<R> {
        rotate_back(&self.z, x)
    }
}
