//! Round bodies: a core (a point, a segment, a box) and all that is within a radius of it.
//!
//! Of two such bodies only the cores' signed distance and witness points need thought; the radii follow: where gap is
//! the signed distance from A's core to B's surface,
//!
//!     φ = gap − r_A,   p_A = x_A + r_A n,   p_B = p_A + φ n.

use candle_core::{Result, Tensor};

use super::Witness;
use crate::math::tensor::{along, dot, unit};

/// Contacts of pairs whose closest points are x_A on A's core and x_A + gap n on B's surface.
///
/// x_A and n (B, n, 3), gap (B, n, 1), r_A (1 or B, n, 1).
pub(super) fn offset(core_a: &Tensor, radius_a: &Tensor, gap: &Tensor, normal: Tensor) -> Result<Witness> {
    let phi = gap.broadcast_sub(radius_a)?;
    let point_a = along(core_a, radius_a, &normal)?;
    let point_b = along(&point_a, &phi, &normal)?;
    Ok(Witness { point_a, point_b, normal, phi: phi.squeeze(2)? })
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
    let gap = dot(&normal, &apart)?.broadcast_sub(radius_b)?;
    offset(core_a, radius_a, &gap, normal)
}
