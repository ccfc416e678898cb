//! Sphere A, half-space B.

use candle_core::Result;

use super::vectors::Places;
use super::{Shapes, Witness, half_space};

/// One contact per pair.
pub(super) fn witness(a: &Shapes, b: &Shapes) -> Result<Witness> {
    half_space::under(&a.position()?, &a.length(0)?, &b.pose)
}
