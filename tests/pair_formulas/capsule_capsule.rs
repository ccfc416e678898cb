//! Capsule A, capsule B: crossing axes are parted along their common perpendicular u_A × u_B, overlapping parallel
//! ones along A's x axis.

use candle_core::Result;

use super::segment::{self, Segment};
use super::vectors::{Places, axis, unit};
use super::{Shapes, Witness, core};

/// One contact per pair; of parallel capsules in the middle of their common stretch.
pub(super) fn witness(a: &Shapes, b: &Shapes) -> Result<Witness> {
    let (core_a, core_b, across) = segment::closest(&Segment::of_capsules(a)?, &Segment::of_capsules(b)?)?;
    let fallback = unit(&across, &axis(&a.pose, 0)?)?;
    core::between(&core_a, &a.length(0)?, &core_b, &b.length(0)?, &fallback)
}
