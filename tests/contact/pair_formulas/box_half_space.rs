//! Box A, rounded or not, half-space B.

use candle_core::{Result, Tensor};

use super::vectors::{Places, rotate};
use super::{Shapes, Witness, half_space};

/// Eight contacts per pair, one for the sphere in each corner (of radius 0 in a sharp box): corner k has the signs of
/// k's bits, bit 0 for x.
pub(super) fn witness(a: &Shapes, b: &Shapes) -> Result<Witness> {
    let signs: Vec<f64> = (0..8).flat_map(|k| (0..3).map(move |i| if k >> i & 1 == 0 { -1.0 } else { 1.0 })).collect();
    let signs = Tensor::from_vec(signs, (8, 3), a.pose.device())?.to_dtype(a.pose.dtype())?;
    let corners = a.box_core()?.unsqueeze(2)?.broadcast_mul(&signs)?;
    let corners = a.position()?.unsqueeze(2)?.broadcast_add(&rotate(&a.pose.unsqueeze(2)?, &corners)?)?;
    half_space::under_each(&corners, &a.length(3)?, &b.pose)
}
