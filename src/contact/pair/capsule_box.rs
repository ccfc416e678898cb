//! Capsule A, box B, rounded or not.
//!
//! In the box's frame A's core is p(t) = c + t u, |t| ≤ h, and half the slope of its squared distance to the block,
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

use candle_core::{D, DType, Result, Tensor};

use super::segment::Segment;
use super::{Shapes, Witness, block, core, penetration};
use crate::math::tensor::{along, axis, clamp, dot, rotate, rotate_back, select, sign};

/// Three contacts per pair: the exact signed distance of the bodies, then the sphere at the capsule's negative end and
/// that at its positive end against the box.
///
/// The ends let a capsule lie on a face, where the place of the least distance jumps from end to end as it rocks.
/// Where that place is an end, the first contact and that end's are the same.
pub(super) fn witness(a: &Shapes, b: &Shapes) -> Result<Witness> {
    let (centre, axis_a) = (a.position()?, axis(&a.pose, 2)?);
    let segment = Segment {
        centre: rotate_back(&b.pose, &(&centre - b.position()?)?)?,
        direction: rotate_back(&b.pose, &axis_a)?,
        half_length: a.length(1)?,
    };
    let e = b.box_core()?;

    let closest = closest(&segment, &e)?;
    let end = segment.half_length.broadcast_as(closest.shape())?;
    let t = Tensor::stack(&[&closest, &end.neg()?, &end], 2)?;
    let p = along(&segment.centre.unsqueeze(2)?, &t, &segment.direction.unsqueeze(2)?)?;
    let nearest = block::nearest(&p, &e.unsqueeze(2)?)?;

    let deep = penetration::of_segment(&segment, &e, &closest)?;
    let first = |values: &Tensor, deep: &Tensor| -> Result<Tensor> {
        let inside = nearest.inside.narrow(2, 0, 1)?;
        let first = select(&inside, &deep.unsqueeze(2)?, &values.narrow(2, 0, 1)?)?;
        Tensor::cat(&[&first, &values.narrow(2, 1, 2)?], 2)
    };
    let t = first(&t, &deep.t)?;
    let gap = first(&nearest.gap, &deep.gap)?.broadcast_sub(&b.length(3)?.unsqueeze(2)?)?;
    let normal = rotate(&b.pose.unsqueeze(2)?, &first(&nearest.normal, &deep.normal)?)?;
    let core_a = along(&centre.unsqueeze(2)?, &t, &axis_a.unsqueeze(2)?)?;
    core::offset_each(&core_a, &a.length(0)?, &gap, normal)
}

/// [`right_angle`] in `f64`.
pub(in crate::contact) const RIGHT_ANGLE: f64 = 1e-24;

/// Squared direction cosines up to this one count as zero: u is at right angles to the axis.
fn right_angle(dtype: DType) -> f64 {
    match dtype {
        DType::F32 => 1e-10,
        _ => RIGHT_ANGLE,
    }
}

/// t (B, n, 1) of the segment's point closest to the block, both in the block's frame.
fn closest(segment: &Segment, e: &Tensor) -> Result<Tensor> {
    let (c, h) = (&segment.centre, &segment.half_length);
    let oblique = segment.direction.detach().sqr()?.gt(right_angle(c.dtype()))?.to_dtype(c.dtype())?;
    let u = (&segment.direction * oblique)?;
    let middle = bracket(&c.detach(), &u.detach(), &h.detach(), &e.detach())?;

    let p = along(&c.detach(), &middle, &u.detach())?;
    let takes_part = p.abs()?.broadcast_gt(&e.detach())?.to_dtype(p.dtype())?;
    let active = (&u * takes_part)?;
    let slope = dot(&active, &u)?;
    let is_flat = slope.le(0.0)?;
    let slope = is_flat.where_cond(&slope.ones_like()?, &slope)?;
    let to_face = (sign(&p)?.broadcast_mul(e)? - c)?;
    let t = is_flat.where_cond(&middle, &(dot(&active, &to_face)? / slope)?)?;
    clamp(&t, h)
}

/// The middle (B, n, 1) of the piece of [−h, h] on which g meets zero.
fn bracket(c: &Tensor, u: &Tensor, h: &Tensor, e: &Tensor) -> Result<Tensor> {
    let is_across = u.eq(0.0)?;
    let per_u = is_across.where_cond(u, &is_across.where_cond(&u.ones_like()?, u)?.recip()?)?;
    let h = h.broadcast_as(c.narrow(2, 0, 1)?.shape())?;
    let corners = [(e.broadcast_sub(c)? * &per_u)?, (e.broadcast_add(c)?.neg()? * &per_u)?, h.neg()?, h.contiguous()?];
    let corners = clamp(&Tensor::cat(&corners, 2)?, &h)?;
    let p = along(&c.unsqueeze(2)?, &corners.unsqueeze(3)?, &u.unsqueeze(2)?)?;
    let outside = (&p - clamp(&p, &e.unsqueeze(2)?)?)?;
    let g = dot(&outside, &u.unsqueeze(2)?)?.squeeze(3)?;
    let h = h.broadcast_as(corners.shape())?;
    let before = select(&g.le(0.0)?, &corners, &h.neg()?)?.max_keepdim(D::Minus1)?;
    let after = select(&g.ge(0.0)?, &corners, &h)?.min_keepdim(D::Minus1)?;
    (before + after)? * 0.5
}
