//! Sphere A, capsule B: a centre on the capsule's axis is pushed out along the capsule's x axis.

use candle_core::Result;

use super::segment::Segment;
use super::vectors::{Places, axis};
use super::{Shapes, Witness, core};

/// One contact per pair.
pub(super) fn witness(a: &Shapes, b: &Shapes) -> Result<Witness> {
    let centre = a.position()?;
    let segment = Segment::of_capsules(b)?;
    let closest = segment.at(&segment.closest_to(&centre)?)?;
    core::between(&centre, &a.length(0)?, &closest, &b.length(0)?, &axis(&b.pose, 0)?)
}
