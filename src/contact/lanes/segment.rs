//! The point of a segment c + t u, |t| ≤ h, that is closest to an axis-aligned block, with adjoint.
//!
//! Half the slope of the squared distance of p(t) = c + t u to the block,
//!
//! ```text
//! g(t) = Σ u_i (p_i − clamp(p_i, ±e_i)),
//! ```
//!
//! grows piecewise linearly, with corners where some p_i = ±e_i. The last corner (or end) with g ≤ 0 and the first with
//! g ≥ 0 enclose the minimum: in between only the axes i with |p_i| > e_i take part, and
//!
//! ```text
//! t = −Σ u_i (c_i − sign(p_i) e_i) / Σ u_i²       over these axes.
//! ```
//!
//! Where no axis takes part, because the core runs inside the block or along a face, t is the middle of that stretch.

use super::block::Nearest;
use super::total::{Limited, limited, sign};
use crate::math::lane::{Mask, Real, state};
use crate::math::vector::{Vec3, add, axpy, dot, zero};

/// Squared direction cosines up to this one count as zero: u is at right angles to the axis.
const RIGHT_ANGLE: f64 = 1e-24;

/// A capsule's core in the block's frame.
#[derive(Clone, Copy)]
pub(super) struct Segment<R> {
    pub(super) c: Vec3<R>,
    pub(super) u: Vec3<R>,
    pub(super) h: R,
}

/// The gradient of a [`Segment`].
pub(super) struct SegmentPull<R> {
    pub(super) c: Vec3<R>,
    pub(super) u: Vec3<R>,
    pub(super) h: R,
}

state!(SegmentPull { numbers: [h], flags: [], states: [c, u] });

impl<R: Real> SegmentPull<R> {
    #[inline(always)]
    pub(super) fn none() -> Self {
        Self { c: zero(), u: zero(), h: R::zero() }
    }
}

/// A point of the segment at the place t, with the normal and the gap to the block there; or the gradient of these.
pub(super) struct SegmentContact<R> {
    pub(super) t: R,
    pub(super) normal: Vec3<R>,
    pub(super) gap: R,
}

state!(SegmentContact { numbers: [t, gap], flags: [], states: [normal] });

/// The closest place.
#[derive(Clone, Copy)]
pub(super) struct Closest<R: Real> {
    pub(super) t: R,
    limited: Limited<R>,
    /// u without the components that count as zero, and without those of axes that take no part.
    u: Vec3<R>,
    active: Vec3<R>,
    side: Vec3<R>,
    to_face: Vec3<R>,
    is_flat: R::Mask,
    /// 1 where no axis takes part.
    slope: R,
    /// t before it is limited.
    free: R,
}

#[inline(always)]
pub(super) fn closest<R: Real>(segment: &Segment<R>, e: Vec3<R>) -> Closest<R> {
    let &Segment { c, h, mut u } = segment;
    for i in 0..3 {
        u[i] = R::select((u[i] * u[i]).gt(R::splat(RIGHT_ANGLE)), u[i], R::zero());
    }
    let middle = bracket(c, u, h, e);
    let p = axpy(middle, u, c);
    let (mut active, mut side, mut to_face) = (u, p, p);
    for i in 0..3 {
        active[i] = R::select(p[i].abs().gt(e[i]), u[i], R::zero());
        side[i] = sign(p[i]);
        to_face[i] = side[i] * e[i] - c[i];
    }
    let slope = dot(active, u);
    let is_flat = slope.gt(R::zero()).not();
    let slope = R::select(is_flat, R::one(), slope);
    let free = R::select(is_flat, middle, dot(active, to_face) / slope);
    let limited = limited(free, h);
    Closest { t: limited.value, limited, u, active, side, to_face, is_flat, slope, free }
}

/// The middle of the piece of [−h, h] on which the slope g of the squared distance meets zero.
#[inline(always)]
fn bracket<R: Real>(c: Vec3<R>, u: Vec3<R>, h: R, e: Vec3<R>) -> R {
    let zero = R::zero();
    let (mut before, mut after) = (-h, h);
    for k in 0..4 {
        let corners = if k < 3 {
            let moves = u[k].abs().gt(zero);
            let per_u = R::select(moves, R::one() / R::select(moves, u[k], R::one()), zero);
            [(e[k] - c[k]) * per_u, -(e[k] + c[k]) * per_u]
        } else {
            [-h, h]
        };
        for corner in corners {
            let t = limited(corner, h).value;
            let p = axpy(t, u, c);
            let mut outside = p;
            for i in 0..3 {
                outside[i] = p[i] - limited(p[i], e[i]).value;
            }
            let g = dot(outside, u);
            before = before.max(R::select(g.gt(zero), -h, t));
            after = after.min(R::select(g.lt(zero), h, t));
        }
    }
    (before + after).scale(0.5)
}

impl<R: Real> Closest<R> {
    /// Adds to the gradients of the segment and of e, given that of t.
    #[inline(always)]
    pub(super) fn pull(&self, t: R, to: &mut SegmentPull<R>, to_e: &mut Vec3<R>) {
        to.h += self.limited.of_limit * t;
        let through = R::select(self.is_flat, R::zero(), self.limited.of_x * t);
        let numerator = through / self.slope;
        let slope = -(self.free * numerator);
        for i in 0..3 {
            let takes_part = self.active[i].abs().gt(R::zero());
            let of_active = R::select(takes_part, numerator.mul_add(self.to_face[i], slope * self.u[i]), R::zero());
            to.u[i] += slope.mul_add(self.active[i], of_active);
            to.c[i] -= numerator * self.active[i];
            to_e[i] += self.side[i] * (numerator * self.active[i]);
        }
    }
}

/// From the gradient of the contact of the point at t, of which `nearest` is: adds to those of the segment and of e, gives that of t.
#[inline(always)]
pub(super) fn pull_nearest<R: Real>(
    segment: &Segment<R>,
    nearest: &Nearest<R, 3>,
    t: R,
    grad: SegmentContact<R>,
    to: &mut SegmentPull<R>,
    to_e: &mut Vec3<R>,
) -> R {
    let (p, e) = nearest.pull(grad.normal, grad.gap);
    to.c = add(to.c, p);
    to.u = axpy(t, p, to.u);
    *to_e = add(*to_e, e);
    grad.t + dot(segment.u, p)
}
