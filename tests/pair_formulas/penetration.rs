//! How a segment that runs through an axis-aligned block |x_i| ≤ e_i leaves it on the shortest way.
//!
//! The block widened by the segment is a polytope whose faces are normal to the block's axes and to u × 1_i, so that the
//! depth of the segment c + t u, |t| ≤ h, is the least, over these six unit vectors o (turned so that o·c ≥ 0), of
//!
//! ```text
//! depth(o) = Σ e_j |o_j| + h |o·u| − o·c.
//! ```

use candle_core::{D, DType, Result, Tensor};

use super::block;
use super::segment::Segment;
use super::vectors::{clamp, constant, dot, select, sign, unit};

/// The shortest way out.
pub(super) struct Deep {
    /// −o, into the block (B, n, 3).
    pub normal: Tensor,
    /// Minus the depth (B, n, 1).
    pub gap: Tensor,
    /// Place on the segment of its witness point (B, n, 1).
    pub t: Tensor,
}

/// [`level`] in `f64`.
const LEVEL: f64 = 1e-12;

/// u counts as parallel to a face up to this |o·u|, and a face comes before an edge up to this difference in depth in
/// metres: over a face to which u is parallel the two are the same way out.
fn level(dtype: DType) -> f64 {
    match dtype {
        DType::F32 => 1e-5,
        _ => LEVEL,
    }
}

/// The way out for segments that meet the block; `inside` (B, n, 1) is a place on the segment that lies in the block,
/// in the middle of the common stretch. For segments outside the block finite numbers without meaning.
///
/// The segment's witness point is the end that is deepest along −o; the middle of the stretch where u is parallel
/// to the face; and for o = u × 1_i/‖u × 1_i‖, the point closest to the block's edge there: with y_j = sign(o_j) e_j,
///
/// ```text
/// t = Σ u_j (y_j − c_j) / Σ u_j²      over j ≠ i.
/// ```
pub(super) fn of_segment(segment: &Segment, e: &Tensor, inside: &Tensor) -> Result<Deep> {
    let (c, u, h) = (&segment.centre, &segment.direction, &segment.half_length);
    let (b, n, _) = c.dims3()?;
    let axes = constant(&[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0], c)?.reshape((1, 1, 3, 3))?;
    let across = cross_with_axes(u)?;
    let across = unit(&across, &axes.narrow(2, 0, 1)?)?;
    let ways = Tensor::cat(&[&axes.broadcast_as((b, n, 3, 3))?.contiguous()?, &across], 2)?;

    let (c_each, u_each, e_each) = (c.unsqueeze(2)?, u.unsqueeze(2)?, e.unsqueeze(2)?);
    let depth = (dot(&ways.abs()?, &e_each)?
        + (dot(&ways, &u_each)?.abs()?.broadcast_mul(&h.unsqueeze(2)?)? - dot(&ways, &c_each)?.abs()?)?)?
    .squeeze(3)?;
    let preference = level(u.dtype());
    let preference = constant(&[preference, preference, preference, 0.0, 0.0, 0.0], &depth)?;
    let chosen = block::smallest(&depth.broadcast_sub(&preference)?)?;
    let way = ways.broadcast_mul(&chosen.unsqueeze(3)?)?.sum(2)?;
    let out = way.broadcast_mul(&sign(&dot(&way, c)?)?)?;
    let gap = (dot(&depth, &chosen)?).neg()?;

    let along_u = dot(&out, u)?.detach();
    let end = sign(&along_u)?.neg()?.broadcast_mul(h)?;
    let at_face = select(&along_u.abs()?.le(level(u.dtype()))?, inside, &end)?;
    let edge = (chosen.narrow(2, 3, 3)?.affine(-1.0, 1.0)? * u)?;
    let slope = dot(&edge, u)?;
    let is_edge = chosen.narrow(2, 3, 3)?.contiguous()?.sum_keepdim(D::Minus1)?.gt(0.5)?;
    let slope = is_edge.where_cond(&slope, &slope.ones_like()?)?;
    let at_edge = (dot(&edge, &(sign(&out)?.broadcast_mul(e)? - c)?)? / slope)?;
    let t = clamp(&select(&is_edge, &at_edge, &at_face)?, h)?;
    Ok(Deep { normal: out.neg()?, gap, t })
}

/// u × 1_i for i = x, y, z (B, n, 3, 3).
fn cross_with_axes(u: &Tensor) -> Result<Tensor> {
    let (b, n, _) = u.dims3()?;
    #[rustfmt::skip]
    let rows = [
        0.0, 0.0, 0.0,   0.0, 0.0, 1.0,   0.0, -1.0, 0.0,
        0.0, 0.0, -1.0,  0.0, 0.0, 0.0,   1.0, 0.0, 0.0,
        0.0, 1.0, 0.0,   -1.0, 0.0, 0.0,  0.0, 0.0, 0.0,
    ];
    let rows = Tensor::from_slice(&rows, (9, 3), u.device())?.to_dtype(u.dtype())?;
    dot(&rows, &u.unsqueeze(2)?)?.reshape((b, n, 3, 3))
}
