//! Box A (rounded or not) against half-space B: eight contacts of weight ¼, one for the sphere in each corner. The bits
//! of k are the signs of corner k, bit 0 for x (0 for −, 1 for +).

use super::half_space;
use super::sides::{Contacts, Gradients, Motion, Reaction, Side};
use fingertip_lanes::lane::Real;
use fingertip_lanes::vector::{Vec3, add, rotate, rotate_back};

/// The vector v with the signs of corner k.
#[inline(always)]
fn signed<R: Real>(k: usize, mut v: Vec3<R>) -> Vec3<R> {
    for i in 0..3 {
        v[i] = v[i].scale(if k >> i & 1 == 0 { -1.0 } else { 1.0 });
    }
    v
}

/// Computes the contacts of a box and a half-space.
#[inline(always)]
pub(super) fn witness<R: Real>(a: &Side<R>, b: &Side<R>, out: &mut Contacts<R>) {
    let e = a.box_core();
    for k in 0..8 {
        let corner = add(a.pose.p, rotate_back(&a.pose.axes, signed(k, e)));
        out.set(k, half_space::under(corner, a.size[3], &b.pose));
    }
}

/// Vector-Jacobian product: adds the gradients of poses and sizes of a box and a half-space, given the gradient of the
/// contacts.
#[inline(always)]
pub(super) fn vjp<R: Real>(a: &Side<R>, b: &Side<R>, grad: &Gradients<R>, [on_a, on_b]: &mut [Reaction<R>; 2]) {
    let e = a.box_core();
    for k in 0..8 {
        let arm = rotate_back(&a.pose.axes, signed(k, e));
        let (corner, radius) = half_space::vjp_under(add(a.pose.p, arm), a.size[3], &b.pose, &grad.get(k), on_b);
        on_a.push(corner);
        on_a.turn(arm, corner);
        on_a.size[3] += radius;
        on_a.grow_box_core(signed(k, rotate(&a.pose.axes, corner)));
    }
}

/// Jacobian-vector product: the change of the contacts of a box and a half-space with the motions of both.
#[inline(always)]
pub(super) fn jvp<R: Real>(a: &Side<R>, b: &Side<R>, [by_a, by_b]: &[Motion<R>; 2], out: &mut Contacts<R>) {
    let e = a.box_core();
    for k in 0..8 {
        let corner = add(a.pose.p, rotate_back(&a.pose.axes, signed(k, e)));
        out.set(k, half_space::push_under(corner, a.size[3], &b.pose, by_a.velocity(corner), by_b));
    }
}
