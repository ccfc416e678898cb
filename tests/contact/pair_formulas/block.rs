//! Signed distance from points to an axis-aligned block |x_i| ≤ e_i of any dimension k: the core of boxes (k = 3),
//! and of cylinders in the half-plane of radius and height (k = 2).

use candle_core::{D, Result, Tensor};

use super::vectors::{clamp, dot, no_length, select, sign, unit};

/// Where points stand to their block.
pub(super) struct Nearest {
    /// Unit vector from the point to the block's surface if it is outside, into the block if it is inside (.., k).
    pub normal: Tensor,
    /// Signed distance (.., 1).
    pub gap: Tensor,
}

/// The one-hot mask (.., k) of the smallest of k numbers, the first of several equal ones.
fn smallest(values: &Tensor) -> Result<Tensor> {
    let k = values.dim(D::Minus1)? as u32;
    let index = values.detach().contiguous()?.argmin_keepdim(D::Minus1)?;
    let places = Tensor::arange(0, k, values.device())?;
    index.broadcast_eq(&places)?.to_dtype(values.dtype())
}

/// Points p (.., k) against blocks with half extents e (.., k).
///
/// Outside, y is p limited to the block, n = (y − p)/‖y − p‖, gap = n·(y − p). Inside, p leaves through the nearest
/// face i (the first of several): n = −sign(p_i) 1_i and gap = n·(y − p) with y_i = sign(p_i) e_i.
pub(super) fn nearest(p: &Tensor, e: &Tensor) -> Result<Nearest> {
    let side = sign(p)?;
    let apart = (clamp(p, e)? - p)?;
    let inside = apart.detach().sqr()?.sum_keepdim(D::Minus1)?.le(no_length(p.dtype()).powi(2))?;
    let to_face = (side.broadcast_mul(e)? - p)?;
    let exit = (smallest(&(&side * &to_face)?)? * &side)?.neg()?.detach();
    let normal = unit(&apart, &exit)?;
    let gap = dot(&normal, &select(&inside, &to_face, &apart)?)?;
    Ok(Nearest { normal, gap })
}
