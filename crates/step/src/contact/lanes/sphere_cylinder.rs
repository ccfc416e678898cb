//! Sphere A against cylinder B: one contact. The cylinder is a block in the half-plane of radius ρ and height z that
//! contains the sphere's centre. If the centre is on the axis, it is the half-plane of the cylinder's x axis.

use super::block::{self, Nearest};
use super::core;
use super::sides::{Contacts, Gradients, Motion, Reaction, Side};
use super::total::{Unit, unit};
use fingertip_lanes::lane::Real;
use fingertip_lanes::vector::{Vec3, add, axpy, dot, rotate, rotate_back, scale, sub};

/// The sphere's centre relative to the cylinder, and its signed distance.
struct Placed<R: Real> {
    /// The vector from the cylinder's origin to the sphere's centre, in the world.
    d: Vec3<R>,
    /// The sphere's centre in the cylinder's frame.
    p: Vec3<R>,
    /// The radial unit vector in the cylinder's frame.
    radial: Unit<R, 3>,
    /// The signed distance in the half-plane of radius and height.
    nearest: Nearest<R, 2>,
    /// The unit vector from the sphere's centre to the cylinder's surface, in the world.
    normal: Vec3<R>,
}

/// Finds the sphere's centre relative to the cylinder, and its signed distance.
#[inline(always)]
fn place<R: Real>(a: &Side<R>, b: &Side<R>) -> Placed<R> {
    let d = sub(a.pose.p, b.pose.p);
    let p = rotate(&b.pose.axes, d);
    let radial = unit([p[0], p[1], R::zero()], [R::one(), R::zero(), R::zero()]);
    let nearest = block::nearest([dot(radial.value, p), p[2]], [b.size[0], b.size[1]]);
    let [outward, upward] = nearest.normal();
    let [x, y, _] = radial.value;
    let normal = rotate_back(&b.pose.axes, [outward * x, outward * y, upward]);
    Placed { d, p, radial, nearest, normal }
}

/// Computes the contact of a sphere and a cylinder.
#[inline(always)]
pub(super) fn witness<R: Real>(a: &Side<R>, b: &Side<R>, out: &mut Contacts<R>) {
    let placed = place(a, b);
    out.set(0, core::offset(a.pose.p, a.size[0], placed.nearest.gap, placed.normal));
}

/// Vector-Jacobian product: adds the gradients of poses and sizes of a sphere and a cylinder, given the gradient of the
/// contact.
#[inline(always)]
pub(super) fn vjp<R: Real>(a: &Side<R>, b: &Side<R>, grad: &Gradients<R>, [on_a, on_b]: &mut [Reaction<R>; 2]) {
    let Placed { d, p, radial, nearest, normal } = place(a, b);
    let pulls = core::vjp_offset(a.size[0], nearest.gap, normal, &grad.get(0));
    let local = rotate(&b.pose.axes, pulls.normal);
    let [outward, _] = nearest.normal();
    let (place, size) = nearest.vjp([dot(radial.value, local), local[2]], pulls.gap);
    let level = radial.vjp(axpy(place[0], p, scale(outward, local)));
    let [x, y, _] = axpy(place[0], radial.value, level);
    let force = rotate_back(&b.pose.axes, [x, y, place[1]]);
    on_a.push(add(pulls.core_a, force));
    on_a.size[0] += pulls.radius_a;
    on_b.carry(d, force);
    on_b.turn(normal, pulls.normal);
    on_b.size[0] += size[0];
    on_b.size[1] += size[1];
}

/// Jacobian-vector product: the change of the contact of a sphere and a cylinder with the motions of both.
#[inline(always)]
pub(super) fn jvp<R: Real>(a: &Side<R>, b: &Side<R>, [by_a, by_b]: &[Motion<R>; 2], out: &mut Contacts<R>) {
    let Placed { p, radial, nearest, normal, .. } = place(a, b);
    let contact = core::offset(a.pose.p, a.size[0], nearest.gap, normal);
    let core_a = by_a.velocity(a.pose.p);
    // In the cylinder's frame, where the fallback of the radial vector stands still.
    let moved = rotate(&b.pose.axes, sub(core_a, by_b.velocity(a.pose.p)));
    let swung = radial.jvp([moved[0], moved[1], R::zero()], [R::zero(); 3]);
    let (change, gap) = nearest.jvp([dot(radial.value, moved) + dot(swung, p), moved[2]]);
    let [outward, _] = nearest.normal();
    let [x, y, _] = axpy(change[0], radial.value, scale(outward, swung));
    let turn = add(by_b.turn(normal), rotate_back(&b.pose.axes, [x, y, change[1]]));
    out.set(0, core::push_offset(&contact, a.size[0], core_a, gap, turn));
}
