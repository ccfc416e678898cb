//! Sphere A against capsule B: one contact. If the sphere's centre is on the capsule's axis, the normal is along the
//! capsule's x axis.

use super::core::Between;
use super::sides::{Contacts, Gradients, Motion, Reaction, Side};
use super::total::{Limited, limited};
use fingertip_lanes::lane::Real;
use fingertip_lanes::vector::{Vec3, add, axpy, dot, scale, sub};

/// The place s of the closest point along the capsule's axis, and the closest points of both cores.
#[inline(always)]
fn closest<R: Real>(a: &Side<R>, b: &Side<R>) -> (Limited<R>, Between<R>) {
    let s = limited(dot(b.pose.axes[2], sub(a.pose.p, b.pose.p)), b.size[1]);
    let core_b = axpy(s.value, b.pose.axes[2], b.pose.p);
    (s, Between { core_a: a.pose.p, radius_a: a.size[0], core_b, radius_b: b.size[0] })
}

/// Computes the contact of a sphere and a capsule.
#[inline(always)]
pub(super) fn witness<R: Real>(a: &Side<R>, b: &Side<R>, out: &mut Contacts<R>) {
    out.set(0, closest(a, b).1.contact(b.pose.axes[0]));
}

/// Vector-Jacobian product: adds the gradients of poses and sizes of a sphere and a capsule, given the gradient of the
/// contact.
#[inline(always)]
pub(super) fn vjp<R: Real>(a: &Side<R>, b: &Side<R>, grad: &Gradients<R>, [on_a, on_b]: &mut [Reaction<R>; 2]) {
    let (s, between) = closest(a, b);
    let (pulls, fallback) = between.vjp(b.pose.axes[0], &grad.get(0));
    let axis = b.pose.axes[2];
    let place = dot(axis, pulls.core_b);
    let along = s.of_x * place;
    let along_axis: Vec3<R> = scale(along, axis);
    on_a.push(add(pulls.core_a, along_axis));
    on_a.size[0] += pulls.radius_a;
    on_b.push(sub(pulls.core_b, along_axis));
    on_b.turn(axis, axpy(s.value, pulls.core_b, scale(along, sub(a.pose.p, b.pose.p))));
    on_b.turn(b.pose.axes[0], fallback);
    on_b.size[0] += pulls.radius_b;
    on_b.size[1] += s.of_limit * place;
}

/// Jacobian-vector product: the change of the contact of a sphere and a capsule with the motions of both.
#[inline(always)]
pub(super) fn jvp<R: Real>(a: &Side<R>, b: &Side<R>, [by_a, by_b]: &[Motion<R>; 2], out: &mut Contacts<R>) {
    let (s, between) = closest(a, b);
    let axis = b.pose.axes[2];
    let core_a = by_a.velocity(a.pose.p);
    // The velocity of the closest point along the capsule's axis.
    let slide = s.of_x * dot(axis, sub(core_a, by_b.velocity(a.pose.p)));
    let core_b = axpy(slide, axis, by_b.velocity(between.core_b));
    out.set(0, between.jvp(b.pose.axes[0], [core_a, core_b], by_b.turn(b.pose.axes[0])));
}
