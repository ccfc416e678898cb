//! Sphere A against sphere B: one contact along the line of centres, or along world +z if the centres coincide.

use super::core::Between;
use super::sides::{Contacts, Gradients, Motion, Reaction, Side};
use fingertip_lanes::lane::Real;
use fingertip_lanes::vector::{Vec3, splat, zero};

/// Both centres and radii, and the normal for centres that coincide.
#[inline(always)]
fn between<R: Real>(a: &Side<R>, b: &Side<R>) -> (Between<R>, Vec3<R>) {
    let between = Between { core_a: a.pose.p, radius_a: a.size[0], core_b: b.pose.p, radius_b: b.size[0] };
    (between, splat([0.0, 0.0, 1.0]))
}

/// Computes the contact of two spheres.
#[inline(always)]
pub(super) fn witness<R: Real>(a: &Side<R>, b: &Side<R>, out: &mut Contacts<R>) {
    let (between, up) = between(a, b);
    out.set(0, between.contact(up));
}

/// Vector-Jacobian product: adds the gradients of poses and sizes of two spheres, given the gradient of the contact.
#[inline(always)]
pub(super) fn vjp<R: Real>(a: &Side<R>, b: &Side<R>, grad: &Gradients<R>, [on_a, on_b]: &mut [Reaction<R>; 2]) {
    let (between, up) = between(a, b);
    let (pulls, _) = between.vjp(up, &grad.get(0));
    on_a.push(pulls.core_a);
    on_a.size[0] += pulls.radius_a;
    on_b.push(pulls.core_b);
    on_b.size[0] += pulls.radius_b;
}

/// Jacobian-vector product: the change of the contact of two spheres with the motions of both.
#[inline(always)]
pub(super) fn jvp<R: Real>(a: &Side<R>, b: &Side<R>, [by_a, by_b]: &[Motion<R>; 2], out: &mut Contacts<R>) {
    let (between, up) = between(a, b);
    let cores = [by_a.velocity(a.pose.p), by_b.velocity(b.pose.p)];
    out.set(0, between.jvp(up, cores, zero()));
}
