//! Capsule A, half-space B.

use candle_core::Result;

use super::segment::Segment;
use super::vectors::Places;
use super::{Shapes, Witness, half_space};

/// Two contacts per pair, one for each end sphere, the negative end first: a lying capsule rests on both.
pub(super) fn witness(a: &Shapes, b: &Shapes) -> Result<Witness> {
    half_space::under_each(&Segment::of_capsules(a)?.ends()?, &a.length(0)?, &b.pose)
}
