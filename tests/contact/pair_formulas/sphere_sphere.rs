//! Sphere A, sphere B: along the line of centres, along world +z where the centres coincide.

use candle_core::Result;

use super::vectors::{Places, constant};
use super::{Shapes, Witness, core};

/// One contact per pair.
pub(super) fn witness(a: &Shapes, b: &Shapes) -> Result<Witness> {
    let up = constant(&[0.0, 0.0, 1.0], &a.pose)?;
    core::between(&a.position()?, &a.length(0)?, &b.position()?, &b.length(0)?, &up)
}
