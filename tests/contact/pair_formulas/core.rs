//! Round bodies: a core (a point, a segment, a box) and all that is within a radius of it.
//!
//! Of two such bodies only the cores' signed distance and witness points need thought; the radii follow: where gap is
//! the signed distance from A's core to B's surface,
//!
//! ```text
//! φ = gap − r_A,   p_A = x_A + r_A n,   p_B = p_A + φ n.
//! ```

use candle_core::{D, Result, Tensor};

use super::Witness;
use super::vectors::{along, dot, unit};

/// Contacts of pairs whose closest points are x_A on A's core and x_A + gap n on B's surface.
///
/// x_A and n (B, n, 3), gap (B, n, 1), r_A (1 or B, n, 1).
pub(super) fn offset(core_a: &Tensor, radius_a: &Tensor, gap: &Tensor, normal: Tensor) -> Result<Witness> {
    let phi = gap.broadcast_sub(radius_a)?;
    let point_a = along(core_a, radius_a, &normal)?;
    let point_b = along(&point_a, &phi, &normal)?;
    Ok(Witness { point_a, point_b, normal, phi: phi.squeeze(D::Minus1)? })
}

/// The same with m contacts per pair in a dimension of their own: x_A and n (B, n, m, 3), gap (B, n, m, 1),
/// r_A (1 or B, n, 1).
pub(super) fn offset_each(core_a: &Tensor, radius_a: &Tensor, gap: &Tensor, normal: Tensor) -> Result<Witness> {
    let (b, n, m, _) = core_a.dims4()?;
    let Witness { point_a, point_b, normal, phi } = offset(core_a, &radius_a.unsqueeze(2)?, gap, normal)?;
    Ok(Witness {
        point_a: point_a.reshape((b, n * m, 3))?,
        point_b: point_b.reshape((b, n * m, 3))?,
        normal: normal.reshape((b, n * m, 3))?,
        phi: phi.reshape((b, n * m))?,
    })
}

/// Contacts of pairs whose cores' closest points are given, in the direction `fallback` where these coincide.
///
/// The cores are n·(x_B − x_A) apart, which is ‖x_B − x_A‖ with a gradient that is n even where the points coincide.
pub(super) fn between(
    core_a: &Tensor,
    radius_a: &Tensor,
    core_b: &Tensor,
    radius_b: &Tensor,
    fallback: &Tensor,
) -> Result<Witness> {
    let apart = (core_b - core_a)?;
    let normal = unit(&apart, fallback)?;
    let phi = dot(&normal, &apart)?.broadcast_sub(&radius_a.broadcast_add(radius_b)?)?.squeeze(2)?;
    let point_a = along(core_a, radius_a, &normal)?;
    let point_b = core_b.broadcast_sub(&normal.broadcast_mul(radius_b)?)?;
    Ok(Witness { point_a, point_b, normal, phi })
}
