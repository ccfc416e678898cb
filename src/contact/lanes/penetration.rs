//! How a segment that runs through an axis-aligned block |x_i| ≤ e_i leaves it on the shortest way.
//!
//! The block widened by the segment is a polytope whose faces are normal to the block's axes and to u × 1_i, so that the
//! depth of the segment c + t u, |t| ≤ h, is the least, over these six unit vectors o (turned so that o·c ≥ 0), of
//!
//! ```text
//! depth(o) = Σ e_j |o_j| + h |o·u| − o·c.
//! ```
//!
//! With adjoint.

use super::block;
use super::segment::{Segment, SegmentPull};
use super::total::{Limited, Unit, limited, neg, sign, unit};
use crate::math::lane::{Mask, Real};
use crate::math::vector::{Vec3, add, axpy, cross, dot, scale, splat};

/// u counts as parallel to a face up to this |o·u|, and a face comes before an edge up to this difference in depth in metres: over a
/// face to which u is parallel the two are the same way out.
const LEVEL: f64 = 1e-12;

/// The shortest way out.
pub(super) struct Deep<R: Real> {
    /// −o, into the block; o = sense · way.
    pub(super) normal: Vec3<R>,
    way: Vec3<R>,
    sense: R,
    /// Minus the depth.
    pub(super) gap: R,
    /// Place on the segment of its witness point.
    pub(super) t: R,
    /// One-hot: the axis i of o ∝ u × 1_i; zero if o is a face's normal.
    edge: Vec3<R>,
    is_edge: R::Mask,
    /// Is o a face's normal to which u is at right angles?
    is_level: R::Mask,
    at_edge: Place<R>,
    limited: Limited<R>,
}

/// t = numerator / slope on the edge's plane.
#[derive(Clone, Copy)]
struct Place<R> {
    /// u without its component along the edge.
    edge: Vec3<R>,
    to_edge: Vec3<R>,
    slope: R,
    t: R,
}

/// The unit vectors u × 1_i/‖u × 1_i‖ as the tensor operations give them.
#[inline(always)]
fn across<R: Real>(u: Vec3<R>, edge: Vec3<R>) -> Unit<R, 3> {
    unit(cross(u, edge), splat([1.0, 0.0, 0.0]))
}

/// The way out; `inside` is a place on the segment that lies in the block. Without meaning for segments outside.
#[inline(always)]
pub(super) fn of_segment<R: Real>(segment: &Segment<R>, e: Vec3<R>, inside: R) -> Deep<R> {
    let &Segment { c, u, h } = segment;
    let axes: [Vec3<R>; 3] = [splat([1.0, 0.0, 0.0]), splat([0.0, 1.0, 0.0]), splat([0.0, 0.0, 1.0])];
    let mut ways = [axes[0]; 6];
    let mut ranks = [R::zero(); 6];
    for k in 0..6 {
        ways[k] = if k < 3 { axes[k] } else { across(u, axes[k - 3]).value };
        ranks[k] = depth(segment, e, ways[k]) - R::splat(if k < 3 { LEVEL } else { 0.0 });
    }
    let chosen = block::smallest(ranks);
    let mut way = scale(chosen[0], ways[0]);
    for k in 1..6 {
        way = axpy(chosen[k], ways[k], way);
    }
    let sense = sign(dot(way, c));
    let out = scale(sense, way);

    let edge = [chosen[3], chosen[4], chosen[5]];
    let is_edge = (edge[0] + edge[1] + edge[2]).gt(R::splat(0.5));
    let along_u = dot(out, u);
    let is_level = along_u.abs().gt(R::splat(LEVEL)).or(is_edge).not();
    let at_face = R::select(is_level, inside, -(sign(along_u) * h));
    let at_edge = place(segment, e, out, edge, is_edge);
    let limited = limited(R::select(is_edge, at_edge.t, at_face), h);
    let gap = -depth(segment, e, way);
    Deep { normal: neg(out), way, sense, gap, t: limited.value, edge, is_edge, is_level, at_edge, limited }
}

/// Σ e_j |o_j| + h |o·u| − |o·c|.
#[inline(always)]
fn depth<R: Real>(&Segment { c, u, h }: &Segment<R>, e: Vec3<R>, o: Vec3<R>) -> R {
    dot([o[0].abs(), o[1].abs(), o[2].abs()], e) + (dot(o, u).abs() * h - dot(o, c).abs())
}

#[inline(always)]
fn place<R: Real>(segment: &Segment<R>, e: Vec3<R>, out: Vec3<R>, edge: Vec3<R>, is_edge: R::Mask) -> Place<R> {
    let (mut across, mut to_edge) = (segment.u, segment.c);
    for i in 0..3 {
        across[i] = (R::one() - edge[i]) * segment.u[i];
        to_edge[i] = sign(out[i]) * e[i] - segment.c[i];
    }
    let slope = R::select(is_edge, dot(across, segment.u), R::one());
    Place { edge: across, to_edge, slope, t: dot(across, to_edge) / slope }
}

impl<R: Real> Deep<R> {
    /// Adds to the gradients of the segment and of e, given those of normal, gap and t; gives that of `inside`.
    #[allow(clippy::too_many_arguments, reason = "operands, results and gradients of a kernel")]
    #[inline(always)]
    pub(super) fn pull(
        &self,
        segment: &Segment<R>,
        e: Vec3<R>,
        normal: Vec3<R>,
        gap: R,
        t: R,
        to: &mut SegmentPull<R>,
        to_e: &mut Vec3<R>,
    ) -> R {
        let &Segment { c, u, h } = segment;
        let zero = R::zero();

        // Depth as a function of the way before it is turned, so that at a kink the branch is the tensor operations'.
        let (way, sense) = (self.way, self.sense);
        let (along_u, along_c) = (dot(way, u), dot(way, c));
        let (sense_u, sense_c) = (sign(along_u) * h, sign(along_c));
        let depth = axpy(sense_u, u, scale(-sense_c, c));
        let mut grad_way = axpy(-sense, normal, scale(-gap, depth));
        for i in 0..3 {
            to_e[i] -= gap * way[i].abs();
            grad_way[i] -= gap * (sign(way[i]) * e[i]);
        }
        to.h -= gap * along_u.abs();
        to.u = axpy(-(gap * sense_u), way, to.u);
        to.c = axpy(gap * sense_c, way, to.c);
        to.u = add(to.u, cross(self.edge, across(u, self.edge).pull(grad_way)));

        let through = self.limited.of_x * t;
        let at_face = R::select(self.is_level.or(self.is_edge), zero, through);
        to.h += self.limited.of_limit * t - sign(sense * along_u) * at_face;
        let Place { edge, to_edge, slope, t: place } = self.at_edge;
        let numerator = R::select(self.is_edge, through, zero) / slope;
        let slope = -(place * numerator);
        let grad_edge = axpy(numerator, to_edge, scale(slope, u));
        to.u = axpy(slope, edge, to.u);
        to.c = axpy(-numerator, edge, to.c);
        for i in 0..3 {
            to.u[i] += (R::one() - self.edge[i]) * grad_edge[i];
            to_e[i] += sign(sense * way[i]) * (numerator * edge[i]);
        }
        R::select(self.is_level, through, zero)
    }
}
