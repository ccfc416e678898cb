//! Cylinder A, half-space B: fixed points for standing, moving ones for lying and rolling.
//!
//! The point of a cap that is deepest below the plane, c ± h a − r m/‖m‖ with m = N − (N·a) a, is where a lying or
//! tilted cylinder touches; but it runs round the rim ever faster as the cylinder comes to stand upright (m → 0), where
//! it is not defined. So there are both: four rim points on each cap, fixed on the body, on which it stands; and
//! on each cap the deepest point, exact from a tilt σ = ‖m‖ of [`UPRIGHT`] on, and below it moved smoothly
//! (with a continuous derivative) to the middle of the cap, where it carries less than the fixed ones:
//!
//! ```text
//! c ± h a − r f m,   f = 1/σ for σ ≥ σ₀,   (2 − σ/σ₀)/σ₀ below.
//! ```
//!
//! The smallest φ of the ten is the exact signed distance for σ ≥ σ₀; below it is too large by less than 0.3 r σ₀.

use candle_core::{Result, Tensor};

use super::vectors::{Places, axis, constant, dot, no_length, rotate};
use super::{Shapes, Witness, half_space};

/// Tilt σ₀ in radians from the plane's normal up to which a cylinder counts as standing.
const UPRIGHT: f64 = 0.01;

/// The fixed points' directions, to be multiplied by (r, r, h).
const RIM: [[f64; 3]; 8] = [
    [1.0, 0.0, -1.0],
    [0.0, 1.0, -1.0],
    [-1.0, 0.0, -1.0],
    [0.0, -1.0, -1.0],
    [1.0, 0.0, 1.0],
    [0.0, 1.0, 1.0],
    [-1.0, 0.0, 1.0],
    [0.0, -1.0, 1.0],
];

/// Ten contacts per pair: the deepest point of the cap at −z and of that at +z, then the fixed points of −z and of +z.
pub(super) fn witness(a: &Shapes, b: &Shapes) -> Result<Witness> {
    let (centre, radius, half_length) = (a.position()?, a.length(0)?, a.length(1)?);
    let (up, axis_a) = (axis(&b.pose, 2)?, axis(&a.pose, 2)?);

    let level = (&up - axis_a.broadcast_mul(&dot(&up, &axis_a)?)?)?;
    let tilt_squared = dot(&level, &level)?;
    let tiny = (tilt_squared.ones_like()? * no_length(level.dtype()).powi(2))?;
    let tilt = tilt_squared.gt(&tiny)?.where_cond(&tilt_squared, &tiny)?.sqrt()?;
    let near_upright = tilt.affine(-1.0 / UPRIGHT.powi(2), 2.0 / UPRIGHT)?;
    let is_tilted = tilt.ge(UPRIGHT)?;
    let per_tilt = is_tilted.where_cond(&is_tilted.where_cond(&tilt, &tilt.ones_like()?)?.recip()?, &near_upright)?;
    let rim = level.broadcast_mul(&per_tilt)?.broadcast_mul(&radius)?;
    let reach = axis_a.broadcast_mul(&half_length)?;
    let lowest = (&centre - rim)?;
    let deepest = Tensor::stack(&[(&lowest - &reach)?, (&lowest + &reach)?], 2)?;

    let directions = Tensor::from_slice(RIM.as_flattened(), (8, 3), up.device())?.to_dtype(up.dtype())?;
    let lengths = Tensor::cat(&[&radius, &radius, &half_length], 2)?.unsqueeze(2)?;
    let fixed = rotate(&a.pose.unsqueeze(2)?, &lengths.broadcast_mul(&directions)?)?;
    let fixed = centre.unsqueeze(2)?.broadcast_add(&fixed)?;

    let points = Tensor::cat(&[&deepest, &fixed], 2)?;
    half_space::under_each(&points, &constant(&[0.0], &radius)?, &b.pose)
}
