//! The shortest way out of an axis-aligned block |x_i| ≤ e_i for a segment that runs through it.
//!
//! The block widened by the segment (their Minkowski sum) is a polytope whose faces are normal to the block's axes and
//! to u × 1_i. So the depth of the segment c + t u, |t| ≤ h, is the least, over these six unit vectors o (turned so
//! that o·c ≥ 0), of
//!
//! ```text
//! depth(o) = Σ e_j |o_j| + h |o·u| − o·c.
//! ```

use super::block;
use super::segment::Segment;
use super::total::{sign, unit};
use fingertip_lanes::lane::Real;
use fingertip_lanes::vector::{Vec3, axpy, cross, dot, scale, splat};

/// A face is preferred to an edge if its depth is larger by no more than this, in metres. Over a face to which u is
/// parallel, the two are the same way out.
const LEVEL: f64 = 1e-12;

/// The shortest way out: the unit vector o, as a face's normal or as the cross product of the segment and an edge.
pub(super) struct Way<R> {
    /// The vector o if it is a face's normal, else zero.
    pub(super) side: Vec3<R>,
    /// One-hot: the axis i if o is along ± u × 1_i; zero if o is a face's normal.
    pub(super) edge: Vec3<R>,
    /// The sign by which o was turned so that o·c ≥ 0: 1 or −1.
    pub(super) sense: R,
}

/// The shortest way out for a segment that runs through the block. For other segments the result has no meaning.
#[inline(always)]
pub(super) fn of_segment<R: Real>(segment: &Segment<R>, e: Vec3<R>) -> Way<R> {
    let axes: [Vec3<R>; 3] = [splat([1.0, 0.0, 0.0]), splat([0.0, 1.0, 0.0]), splat([0.0, 0.0, 1.0])];
    let mut ways = [axes[0]; 6];
    let mut ranks = [R::zero(); 6];
    for k in 0..6 {
        ways[k] = if k < 3 { axes[k] } else { unit(cross(segment.u, axes[k - 3]), axes[0]).value };
        ranks[k] = depth(segment, e, ways[k]) - R::splat(if k < 3 { LEVEL } else { 0.0 });
    }
    let chosen = block::smallest(ranks);
    let mut way = scale(chosen[0], ways[0]);
    for k in 1..6 {
        way = axpy(chosen[k], ways[k], way);
    }
    let sense = sign(dot(way, segment.c));
    let [x, y, z, i, j, k] = chosen;
    Way { side: scale(sense, [x, y, z]), edge: [i, j, k], sense }
}

/// The depth of the segment in the block along ±o: Σ e_j |o_j| + h |o·u| − |o·c|.
#[inline(always)]
fn depth<R: Real>(&Segment { c, u, h }: &Segment<R>, e: Vec3<R>, o: Vec3<R>) -> R {
    dot([o[0].abs(), o[1].abs(), o[2].abs()], e) + (dot(o, u).abs() * h - dot(o, c).abs())
}
