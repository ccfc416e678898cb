//! Symmetric 3×3 matrices in six numbers.

use fingertip_lanes::lane::{Real, Slot, State, Zip};
use fingertip_lanes::vector::{Mat3, Vec3, rotate, scale};

/// The six stored numbers of a symmetric matrix: xx, xy, yy, xz, yz, zz.
const SYMMETRIC: usize = 6;

/// A symmetric 3×3 matrix.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Symmetric<R>([R; SYMMETRIC]);

impl<R: Real> State<R> for Symmetric<R> {
    fn each(&mut self, f: &mut dyn FnMut(Slot<R>)) {
        self.0.each(f);
    }
}

impl<R: Real> Symmetric<R> {
    /// The matrix s 1, a multiple of the identity.
    #[inline(always)]
    pub(super) fn diagonal(s: R) -> Self {
        let zero = R::zero();
        Self([s, zero, s, zero, zero, s])
    }

    /// `yes` where the mask is set, else `no`.
    #[inline(always)]
    pub(super) fn select(mask: R::Mask, yes: Self, no: Self) -> Self {
        let mut chosen = no;
        for (x, &yes) in chosen.0.iter_mut().zip_inline(&yes.0) {
            *x = R::select(mask, yes, *x);
        }
        chosen
    }

    /// self + s v vᵀ.
    #[inline(always)]
    pub(super) fn plus(self, s: R, v: Vec3<R>) -> Self {
        let [x, y, z] = scale(s, v);
        let [xx, xy, yy, xz, yz, zz] = self.0;
        Self([
            x.mul_add(v[0], xx),
            x.mul_add(v[1], xy),
            y.mul_add(v[1], yy),
            x.mul_add(v[2], xz),
            y.mul_add(v[2], yz),
            z.mul_add(v[2], zz),
        ])
    }

    /// The whole matrix.
    #[inline(always)]
    pub(super) fn rows(&self) -> Mat3<R> {
        let [xx, xy, yy, xz, yz, zz] = self.0;
        [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
    }

    /// self · v.
    #[inline(always)]
    pub(super) fn times(&self, v: Vec3<R>) -> Vec3<R> {
        rotate(&self.rows(), v)
    }
}
