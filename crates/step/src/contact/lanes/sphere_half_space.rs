//! Sphere A against half-space B: one contact.

use super::half_space;
use super::sides::{Contacts, Gradients, Motion, Reaction, Side};
use fingertip_lanes::lane::Real;

/// Computes the contact of a sphere and a half-space.
#[inline(always)]
pub(super) fn witness<R: Real>(a: &Side<R>, b: &Side<R>, out: &mut Contacts<R>) {
    out.set(0, half_space::under(a.pose.p, a.size[0], &b.pose));
}

/// Vector-Jacobian product: adds the gradients of poses and sizes of a sphere and a half-space, given the gradient of
/// the contact.
#[inline(always)]
pub(super) fn vjp<R: Real>(a: &Side<R>, b: &Side<R>, grad: &Gradients<R>, [on_a, on_b]: &mut [Reaction<R>; 2]) {
    let (centre, radius) = half_space::vjp_under(a.pose.p, a.size[0], &b.pose, &grad.get(0), on_b);
    on_a.push(centre);
    on_a.size[0] += radius;
}

/// Jacobian-vector product: the change of the contact of a sphere and a half-space with the motions of both.
#[inline(always)]
pub(super) fn jvp<R: Real>(a: &Side<R>, b: &Side<R>, [by_a, by_b]: &[Motion<R>; 2], out: &mut Contacts<R>) {
    out.set(0, half_space::push_under(a.pose.p, a.size[0], &b.pose, by_a.velocity(a.pose.p), by_b));
}
