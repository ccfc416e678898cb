//! Sphere A, cylinder B: a block in the half-plane of radius ρ and height z through the sphere's centre.
//!
//! A centre inside leaves through the nearest of mantle and caps; on the axis, where the half-plane is not defined,
//! it is the one of the cylinder's x axis.

use candle_core::{D, Result, Tensor};

use super::vectors::{Places, along, constant, dot, rotate, rotate_back, unit};
use super::{Shapes, Witness, block, core};

/// One contact per pair.
pub(super) fn witness(a: &Shapes, b: &Shapes) -> Result<Witness> {
    let centre = a.position()?;
    let p = rotate_back(&b.pose, &(&centre - b.position()?)?)?;
    let level = p.broadcast_mul(&constant(&[1.0, 1.0, 0.0], &p)?)?;
    let radial = unit(&level, &constant(&[1.0, 0.0, 0.0], &p)?)?;
    let radius_height = Tensor::cat(&[&dot(&radial, &p)?, &p.narrow(2, 2, 1)?], 2)?;

    let nearest = block::nearest(&radius_height, &b.size.narrow(2, 0, 2)?)?;
    let upward = nearest.normal.narrow(D::Minus1, 1, 1)?;
    let normal = along(
        &upward.broadcast_mul(&constant(&[0.0, 0.0, 1.0], &p)?)?,
        &nearest.normal.narrow(D::Minus1, 0, 1)?,
        &radial,
    )?;
    core::offset(&centre, &a.length(0)?, &nearest.gap, rotate(&b.pose, &normal)?)
}
