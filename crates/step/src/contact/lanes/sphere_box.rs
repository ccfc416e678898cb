//! Sphere A against box B (rounded or not): one contact. If the sphere's centre is inside the box's core, the normal is
//! that of the nearest face.

use super::block::{self, Nearest};
use super::core;
use super::sides::{Contacts, Gradients, Motion, Reaction, Side};
use fingertip_lanes::lane::Real;
use fingertip_lanes::vector::{Vec3, add, rotate, rotate_back, sub};

/// The vector d from the box's origin to the sphere's centre, in the world, and the signed distance of that centre to
/// the box's core.
#[inline(always)]
fn nearest<R: Real>(a: &Side<R>, b: &Side<R>) -> (Vec3<R>, Nearest<R, 3>) {
    let d = sub(a.pose.p, b.pose.p);
    (d, block::nearest(rotate(&b.pose.axes, d), b.box_core()))
}

/// Computes the contact of a sphere and a box.
#[inline(always)]
pub(super) fn witness<R: Real>(a: &Side<R>, b: &Side<R>, out: &mut Contacts<R>) {
    let (_, nearest) = nearest(a, b);
    let normal = rotate_back(&b.pose.axes, nearest.normal());
    out.set(0, core::offset(a.pose.p, a.size[0], nearest.gap - b.size[3], normal));
}

/// Vector-Jacobian product: adds the gradients of poses and sizes of a sphere and a box, given the gradient of the
/// contact.
#[inline(always)]
pub(super) fn vjp<R: Real>(a: &Side<R>, b: &Side<R>, grad: &Gradients<R>, [on_a, on_b]: &mut [Reaction<R>; 2]) {
    let (d, nearest) = nearest(a, b);
    let normal = rotate_back(&b.pose.axes, nearest.normal());
    let pulls = core::vjp_offset(a.size[0], nearest.gap - b.size[3], normal, &grad.get(0));
    let (p, e) = nearest.vjp(rotate(&b.pose.axes, pulls.normal), pulls.gap);
    let force = rotate_back(&b.pose.axes, p);
    on_a.push(add(pulls.core_a, force));
    on_a.size[0] += pulls.radius_a;
    on_b.carry(d, force);
    on_b.turn(normal, pulls.normal);
    on_b.grow_box_core(e);
    on_b.size[3] -= pulls.gap;
}

/// Jacobian-vector product: the change of the contact of a sphere and a box with the motions of both.
#[inline(always)]
pub(super) fn jvp<R: Real>(a: &Side<R>, b: &Side<R>, [by_a, by_b]: &[Motion<R>; 2], out: &mut Contacts<R>) {
    let (_, nearest) = nearest(a, b);
    let axes = &b.pose.axes;
    let normal = rotate_back(axes, nearest.normal());
    let contact = core::offset(a.pose.p, a.size[0], nearest.gap - b.size[3], normal);
    let core_a = by_a.velocity(a.pose.p);
    let (turn, gap) = nearest.jvp(rotate(axes, sub(core_a, by_b.velocity(a.pose.p))));
    let turn = add(by_b.turn(normal), rotate_back(axes, turn));
    out.set(0, core::push_offset(&contact, a.size[0], core_a, gap, turn));
}
