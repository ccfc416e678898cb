//! Spheres against a half-space: what every shape comes down to there, by its end, corner or rim points.
//!
//! With the plane's point o and outward normal N: n = −N, from the body into the half-space, and gap = n·(o − x).

use candle_core::{Result, Tensor};

use super::vectors::{axis, dot, position};
use super::{Witness, core};

/// Contacts of spheres about points x (B, n, 3) of radii (1 or B, n, 1) against half-spaces with poses (B, n, 12).
pub(super) fn under(points: &Tensor, radius: &Tensor, half_space: &Tensor) -> Result<Witness> {
    let normal = axis(half_space, 2)?.neg()?;
    let gap = dot(&(position(half_space)? - points)?, &normal)?;
    core::offset(points, radius, &gap, normal)
}

/// The same for m spheres of one radius in each pair: points (B, n, m, 3), poses still (B, n, 12).
pub(super) fn under_each(points: &Tensor, radius: &Tensor, half_space: &Tensor) -> Result<Witness> {
    let normal = axis(half_space, 2)?.neg()?.unsqueeze(2)?;
    let gap = dot(&position(half_space)?.unsqueeze(2)?.broadcast_sub(points)?, &normal)?;
    core::offset_each(points, radius, &gap, normal.broadcast_as(points.shape())?)
}
