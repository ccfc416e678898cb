//! The point of a segment c + t u, |t| ≤ h, that is closest to an axis-aligned block |x_i| ≤ e_i.
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
//! Where no axis takes part, because the segment runs inside the block or along a face, t is the middle of that
//! stretch.

use super::total::{Limited, indicator, limited, sign};
use fingertip_lanes::lane::{Mask, Real};
use fingertip_lanes::vector::{Vec3, axpy, dot};

/// Squared direction cosines up to this one count as zero: the segment is at right angles to the axis.
const RIGHT_ANGLE: f64 = 1e-24;

/// A segment c + t u, |t| ≤ h, in the block's frame: the axis of a capsule.
#[derive(Clone, Copy)]
pub(super) struct Segment<R> {
    pub(super) c: Vec3<R>,
    pub(super) u: Vec3<R>,
    pub(super) h: R,
}

/// The closest point of a segment to a block, and the features that it depends on.
pub(super) struct Closest<R: Real> {
    /// The place along the segment, from −h to h.
    pub(super) t: R,
    /// The sign of the segment's end at which the point is; 0 if it is between the ends.
    pub(super) end: R,
    /// For each axis, 1 if the point is beside the block along it, so that the axis takes part in the distance; else 0.
    pub(super) takes_part: Vec3<R>,
    /// For each axis, the sign of the side of the block that the point is on.
    pub(super) side: Vec3<R>,
    /// Does no axis take part, so that the segment runs inside the block or along a face?
    pub(super) is_flat: R::Mask,
}

/// The point of the segment that is closest to the block with half extents e.
#[inline(always)]
pub(super) fn closest<R: Real>(segment: &Segment<R>, e: Vec3<R>) -> Closest<R> {
    let &Segment { c, h, mut u } = segment;
    for i in 0..3 {
        u[i] = R::select((u[i] * u[i]).gt(R::splat(RIGHT_ANGLE)), u[i], R::zero());
    }
    let middle = bracket(c, u, h, e);
    let p = axpy(middle, u, c);
    let (mut active, mut side, mut to_face, mut takes_part) = (u, p, p, p);
    for i in 0..3 {
        active[i] = R::select(p[i].abs().gt(e[i]), u[i], R::zero());
        takes_part[i] = indicator(active[i].abs().gt(R::zero()));
        side[i] = sign(p[i]);
        to_face[i] = side[i] * e[i] - c[i];
    }
    let slope = dot(active, u);
    let is_flat = slope.gt(R::zero()).not();
    let slope = R::select(is_flat, R::one(), slope);
    let free = R::select(is_flat, middle, dot(active, to_face) / slope);
    let Limited { value: t, of_x, of_limit } = limited(free, h);
    let end = R::select(of_x.gt(R::zero()), R::zero(), of_limit);
    Closest { t, end, takes_part, side, is_flat }
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
