//! The contact frame F: rows n, t₁, t₂ = n × t₁, for every unit normal.
//!
//! Duff, Burgess, Christensen, Hery, Kensler, Liani, Villemin, *Building an Orthonormal Basis, Revisited* (JCGT 6(1),
//! 2017): with σ = 1 for n_z ≥ [`JUMP`], else −1, and a = −1/(σ + n_z), b = a n_x n_y,
//!
//! ```text
//! t₁ = (1 + σ a n_x², σ b, −σ n_x),   t₂ = (b, σ + a n_y², −n_y).
//! ```
//!
//! |σ + n_z| > 0.7, so nothing here divides by zero. The frame is smooth except for a jump where n_z is [`JUMP`]. There
//! it is away from walls and from all that is flat along two axes of the world, where n_z is 0 but for its rounding.

use candle_core::{D, Result, Tensor};

use crate::tensor::{components, sign};

/// The n_z at which the frame jumps: that of no plane whose tilt is a whole number of degrees or a ratio of small
/// numbers.
pub const JUMP: f64 = -0.2957;

/// Frames (B, nc, 3, 3), rows n, t₁, t₂, of unit normals (B, nc, 3).
///
/// # Errors
/// If the normals have another shape.
pub fn frame(normal: &Tensor) -> Result<Tensor> {
    let (b, nc, _) = normal.dims3()?;
    let [x, y, z] = components(normal)?;
    let side = sign(&(&z - JUMP)?)?;
    let a = (&side + &z)?.recip()?.neg()?;
    let (ax, ay) = ((&a * &x)?, (&a * &y)?);
    let xy = (&ax * &y)?;
    let rows = [
        normal,
        &((&ax * &x)? * &side)?.affine(1.0, 1.0)?,
        &(&xy * &side)?,
        &(&x * &side)?.neg()?,
        &xy,
        &((ay * &y)? + &side)?,
        &y.neg()?,
    ];
    Tensor::cat(&rows, D::Minus1)?.reshape((b, nc, 3, 3))
}
