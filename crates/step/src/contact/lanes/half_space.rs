//! The contact of a sphere with a half-space: n = −N and gap = n·(o − x), with x the sphere's centre, o the plane's
//! point and N its outward normal.

use super::core;
use super::sides::{Contact, Motion, Reaction};
use super::total::neg;
use crate::kinematics::Pose;
use fingertip_lanes::lane::Real;
use fingertip_lanes::vector::{Vec3, axpy, dot, scale, sub};

/// The contact of a sphere about x (side A) with the half-space (side B).
#[inline(always)]
pub(super) fn under<R: Real>(x: Vec3<R>, radius: R, plane: &Pose<R>) -> Contact<R> {
    let normal = neg(plane.axes[2]);
    core::offset(x, radius, dot(normal, sub(plane.p, x)), normal)
}

/// Jacobian-vector product of [`under`]: the change of the contact with the velocity of x and the motion of the plane.
#[inline(always)]
pub(super) fn push_under<R: Real>(
    x: Vec3<R>,
    radius: R,
    plane: &Pose<R>,
    velocity: Vec3<R>,
    motion: &Motion<R>,
) -> Contact<R> {
    let contact = under(x, radius, plane);
    let phi = dot(contact.normal, sub(motion.velocity(x), velocity));
    core::push_offset(&contact, radius, velocity, phi, motion.turn(contact.normal))
}

/// Vector-Jacobian product of [`under`]: returns the gradients of x and the radius, and adds to the reaction on the
/// half-space.
#[inline(always)]
pub(super) fn vjp_under<R: Real>(
    x: Vec3<R>,
    radius: R,
    plane: &Pose<R>,
    grad: &Contact<R>,
    on_plane: &mut Reaction<R>,
) -> (Vec3<R>, R) {
    let normal = neg(plane.axes[2]);
    let down = sub(plane.p, x);
    let pulls = core::vjp_offset(radius, dot(normal, down), normal, grad);
    on_plane.push(scale(pulls.gap, normal));
    on_plane.turn(normal, axpy(pulls.gap, down, pulls.normal));
    (axpy(-pulls.gap, normal, pulls.core_a), pulls.radius_a)
}
