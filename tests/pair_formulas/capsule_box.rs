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
//!
//! The first contact has the normal n of the shortest way out. In an overlap the ends would leave by ways of their own, which
//! can oppose it: of a pill through a plate, one end up and the other down. So the ends' contacts follow the first one
//! the more, the deeper the overlap. Where the bodies' cores may be r apart and the gap to the box's core is g₀ for the
//! whole core of the capsule and g for its end p alone, in the direction m,
//!
//! ```text
//! f(g) = 0 for g ≥ r, 1 for g ≤ (1 − f₀) r, a cubic between with level ends
//! normal  (1 − f(g₀)) m + f(g₀) n, of unit length
//! gap     (1 − f(g)) g + f(g) s,   s = −Σ e_i |n_i| − n·p       how far the end is from the box along n
//! ```
//!
//! Nothing follows while the bodies are apart. No end's φ is below the first contact's. From the depth f₀ r on all normals
//! are n, so that moving along it opens every contact, whatever the friction; above, where the cores are apart, m·n ≥ g₀/g
//! keeps it opening them all for friction coefficients up to 3.

use candle_core::{D, DType, Result, Tensor};

use super::block::Nearest;
use super::segment::Segment;
use super::vectors::{Places, along, axis, clamp, constant, dot, no_length, rotate, rotate_back, select, sign, unit};
use super::{Shapes, Witness, block, core, penetration};

/// f₀: the depth, as a part of the radii, from which on the ends' normals are the first contact's.
const FOLLOWING: f64 = 0.25;

/// Three contacts per pair: the exact signed distance of the bodies, then the sphere at the capsule's negative end and
/// that at its positive end against the box.
///
/// The ends let a capsule lie on a face, where the place of the least distance jumps from end to end as it rocks.
/// Where that place is an end and the bodies are apart, the first contact and that end's are the same.
pub(super) fn witness(a: &Shapes, b: &Shapes) -> Result<Witness> {
    let (centre, axis_a) = (a.position()?, axis(&a.pose, 2)?);
    let segment = Segment {
        centre: rotate_back(&b.pose, &(&centre - b.position()?)?)?,
        direction: rotate_back(&b.pose, &axis_a)?,
        half_length: a.length(1)?,
    };
    let e = b.box_core()?;

    let closest = closest(&segment, &e)?;
    let nearest = block::nearest(&segment.at(&closest)?, &e)?;
    let deep = penetration::of_segment(&segment, &e, &closest)?;
    let first = |deep: &Tensor, outside: &Tensor| select(&nearest.inside, deep, outside)?.unsqueeze(2);
    let (t, gap) = (first(&deep.t, &closest)?, first(&deep.gap, &nearest.gap)?);
    let normal = first(&deep.normal, &nearest.normal)?;

    let rounding = b.length(3)?.unsqueeze(2)?;
    let radii = a.length(0)?.unsqueeze(2)?.broadcast_add(&rounding)?;
    let ends = ends(&segment.ends()?, &e.unsqueeze(2)?, &normal, &gap, &radii)?;
    let end = segment.half_length.broadcast_as(closest.shape())?.unsqueeze(2)?;
    let t = Tensor::cat(&[&t, &end.neg()?, &end], 2)?;
    let gap = Tensor::cat(&[&gap, &ends.gap], 2)?.broadcast_sub(&rounding)?;
    let normal = rotate(&b.pose.unsqueeze(2)?, &Tensor::cat(&[&normal, &ends.normal], 2)?)?;
    let core_a = along(&centre.unsqueeze(2)?, &t, &axis_a.unsqueeze(2)?)?;
    core::offset_each(&core_a, &a.length(0)?, &gap, normal)
}

/// The ends p (B, n, 2, 3) against blocks with half extents e (1 or B, n, 1, 3), given the first contact's normal
/// (B, n, 1, 3), its gap (B, n, 1, 1) and the radii about both cores (1 or B, n, 1, 1).
fn ends(p: &Tensor, e: &Tensor, normal: &Tensor, gap: &Tensor, radii: &Tensor) -> Result<Nearest> {
    let own = block::nearest(p, e)?;
    let turn = following(gap, radii)?;
    let apart = normal.broadcast_sub(&own.normal)?;
    let turned = unit(&along(&own.normal, &turn, &apart)?, normal)?;
    let separation = (dot(&normal.abs()?, e)?.broadcast_add(&dot(normal, p)?)?).neg()?;
    let gap = along(&own.gap, &following(&own.gap, radii)?, &(separation - &own.gap)?)?;
    Ok(Nearest { normal: turned, gap, inside: own.inside })
}

/// f (.., 1) of gaps between cores.
fn following(gap: &Tensor, radii: &Tensor) -> Result<Tensor> {
    let tiny = (radii.ones_like()? * no_length(radii.dtype()))?;
    let radii = radii.gt(&tiny)?.where_cond(radii, &tiny)?;
    let x = gap.broadcast_div(&radii)?.affine(-2.0 / FOLLOWING, 2.0 / FOLLOWING - 1.0)?;
    let x = clamp(&x, &constant(&[1.0], &x)?)?;
    (&x * x.sqr()?.affine(-0.25, 0.75)?)? + 0.5
}

/// [`right_angle`] in `f64`.
const RIGHT_ANGLE: f64 = 1e-24;

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
