//! Capsule A against half-space B: two contacts of weight ½, one for the sphere at each end, the end at
//! negative z first.

use super::half_space;
use super::sides::{Contacts, Gradients, Motion, Reaction, Side};
use fingertip_lanes::lane::Real;
use fingertip_lanes::vector::{Vec3, add, dot, scale};

/// The vector from the capsule's origin to the end k of its axis, ∓h u in the world, and the sign of that end.
#[inline(always)]
fn arm<R: Real>(a: &Side<R>, k: usize) -> (Vec3<R>, R) {
    let sign = R::splat(if k == 0 { -1.0 } else { 1.0 });
    (scale(sign * a.size[1], a.pose.axes[2]), sign)
}

/// Computes the contacts of a capsule and a half-space.
#[inline(always)]
pub(super) fn witness<R: Real>(a: &Side<R>, b: &Side<R>, out: &mut Contacts<R>) {
    for k in 0..2 {
        let (arm, _) = arm(a, k);
        out.set(k, half_space::under(add(a.pose.p, arm), a.size[0], &b.pose));
    }
}

/// Vector-Jacobian product: adds the gradients of poses and sizes of a capsule and a half-space, given the gradient of
/// the contacts.
#[inline(always)]
pub(super) fn vjp<R: Real>(a: &Side<R>, b: &Side<R>, grad: &Gradients<R>, [on_a, on_b]: &mut [Reaction<R>; 2]) {
    for k in 0..2 {
        let (arm, sign) = arm(a, k);
        let (end, radius) = half_space::vjp_under(add(a.pose.p, arm), a.size[0], &b.pose, &grad.get(k), on_b);
        on_a.push(end);
        on_a.turn(arm, end);
        on_a.size[0] += radius;
        on_a.size[1] += sign * dot(a.pose.axes[2], end);
    }
}

/// Jacobian-vector product: the change of the contacts of a capsule and a half-space with the motions of both.
#[inline(always)]
pub(super) fn jvp<R: Real>(a: &Side<R>, b: &Side<R>, [by_a, by_b]: &[Motion<R>; 2], out: &mut Contacts<R>) {
    for k in 0..2 {
        let end = add(a.pose.p, arm(a, k).0);
        out.set(k, half_space::push_under(end, a.size[0], &b.pose, by_a.velocity(end), by_b));
    }
}
