//! Contacts of rounded bodies: a core (a point, a segment, a box) and all points within a radius of it. With
//! derivatives.
//!
//! Only the signed distance and the witness points of the cores need thought; the radii are added here.

use super::sides::Contact;
use super::total::{Unit, unit};
use fingertip_lanes::lane::Real;
use fingertip_lanes::vector::{Vec3, add, axpy, dot, sub};

/// The contact of a pair, from the closest points of A's core (x_A) and B's surface (x_A + gap n): φ = gap − r_A, p_A =
/// x_A + r_A n, p_B = p_A + φ n.
#[inline(always)]
pub(super) fn offset<R: Real>(core_a: Vec3<R>, radius_a: R, gap: R, normal: Vec3<R>) -> Contact<R> {
    let phi = gap - radius_a;
    let point_a = axpy(radius_a, normal, core_a);
    Contact { normal, point_a, point_b: axpy(phi, normal, point_a), phi }
}

/// The gradients of the arguments of [`offset`].
pub(super) struct OffsetPull<R> {
    pub(super) core_a: Vec3<R>,
    pub(super) radius_a: R,
    pub(super) gap: R,
    pub(super) normal: Vec3<R>,
}

/// Vector-Jacobian product of [`offset`], given the gradient of the contact.
#[inline(always)]
pub(super) fn vjp_offset<R: Real>(radius_a: R, gap: R, normal: Vec3<R>, grad: &Contact<R>) -> OffsetPull<R> {
    let core_a = add(grad.point_a, grad.point_b);
    let phi = grad.phi + dot(normal, grad.point_b);
    OffsetPull {
        core_a,
        radius_a: dot(normal, core_a) - phi,
        gap: phi,
        normal: axpy(radius_a, core_a, axpy(gap - radius_a, grad.point_b, grad.normal)),
    }
}

/// Jacobian-vector product of [`offset`]: the change of the contact with those of its core point, its φ and its normal.
#[inline(always)]
pub(super) fn push_offset<R: Real>(
    contact: &Contact<R>,
    radius_a: R,
    core_a: Vec3<R>,
    phi: R,
    normal: Vec3<R>,
) -> Contact<R> {
    let point_a = axpy(radius_a, normal, core_a);
    let point_b = axpy(phi, contact.normal, axpy(contact.phi, normal, point_a));
    Contact { normal, point_a, point_b, phi }
}

/// The closest points x_A, x_B of two cores, and the radii about them.
#[derive(Clone, Copy)]
pub(super) struct Between<R> {
    pub(super) core_a: Vec3<R>,
    pub(super) radius_a: R,
    pub(super) core_b: Vec3<R>,
    pub(super) radius_b: R,
}

impl<R: Real> Between<R> {
    /// The vector from x_A to x_B, and its unit vector.
    #[inline(always)]
    fn normal(&self, fallback: Vec3<R>) -> (Vec3<R>, Unit<R, 3>) {
        let apart = sub(self.core_b, self.core_a);
        (apart, unit(apart, fallback))
    }

    /// The contact of the rounded bodies. If the core points coincide, its normal is `fallback`.
    #[inline(always)]
    pub(super) fn contact(&self, fallback: Vec3<R>) -> Contact<R> {
        let (apart, Unit { value: normal, .. }) = self.normal(fallback);
        Contact {
            normal,
            point_a: axpy(self.radius_a, normal, self.core_a),
            point_b: axpy(-self.radius_b, normal, self.core_b),
            phi: dot(normal, apart) - (self.radius_a + self.radius_b),
        }
    }

    /// Jacobian-vector product of [`Between::contact`]: the change of the contact with those of the core points and of
    /// the fallback.
    #[inline(always)]
    pub(super) fn jvp(&self, fallback: Vec3<R>, [core_a, core_b]: [Vec3<R>; 2], turn: Vec3<R>) -> Contact<R> {
        let (apart, unit) = self.normal(fallback);
        let change = sub(core_b, core_a);
        let normal = unit.jvp(change, turn);
        Contact {
            normal,
            point_a: axpy(self.radius_a, normal, core_a),
            point_b: axpy(-self.radius_b, normal, core_b),
            phi: dot(normal, apart) + dot(unit.value, change),
        }
    }

    /// Vector-Jacobian product of [`Between::contact`]: the gradients of the core points and radii, and of the
    /// fallback.
    #[inline(always)]
    pub(super) fn vjp(&self, fallback: Vec3<R>, grad: &Contact<R>) -> (Self, Vec3<R>) {
        let (apart, unit) = self.normal(fallback);
        let normal = axpy(grad.phi, apart, grad.normal);
        let normal = axpy(self.radius_a, grad.point_a, axpy(-self.radius_b, grad.point_b, normal));
        let force = axpy(grad.phi, unit.value, unit.vjp(normal));
        let pulls = Self {
            core_a: sub(grad.point_a, force),
            radius_a: dot(unit.value, grad.point_a) - grad.phi,
            core_b: add(grad.point_b, force),
            radius_b: -(dot(unit.value, grad.point_b) + grad.phi),
        };
        (pulls, unit.vjp_fallback(normal))
    }
}
