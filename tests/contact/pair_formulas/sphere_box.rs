//! Sphere A, box B, rounded or not: a centre inside the box's core leaves through the nearest face.

use candle_core::Result;

use super::vectors::{Places, rotate, rotate_back};
use super::{Shapes, Witness, block, core};

/// One contact per pair.
pub(super) fn witness(a: &Shapes, b: &Shapes) -> Result<Witness> {
    let centre = a.position()?;
    let p = rotate_back(&b.pose, &(&centre - b.position()?)?)?;
    let nearest = block::nearest(&p, &b.box_core()?)?;
    let gap = nearest.gap.broadcast_sub(&b.length(3)?)?;
    core::offset(&centre, &a.length(0)?, &gap, rotate(&b.pose, &nearest.normal)?)
}
