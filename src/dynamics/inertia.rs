//! Ten numbers of a body's inertia, in which its forces are linear, from mass, centre of mass and inertia tensor.

use candle_core::{D, Result, Tensor};

use crate::description::Inertia;

/// M, M c and the inertia about the body frame's origin, J = I_c + M (c² 1 − c cᵀ).
pub(super) fn ten(inertia: &Inertia) -> [f64; 10] {
    let Inertia { mass, com, matrix } = inertia;
    let about = |i: usize, j: usize| {
        let shift = if i == j { com.norm_squared() } else { 0.0 } - com[i] * com[j];
        // A matrix that is symmetric up to rounding.
        0.5 * (matrix[(i, j)] + matrix[(j, i)]) + mass * shift
    };
    let [x, y, z] = [mass * com.x, mass * com.y, mass * com.z];
    [*mass, x, y, z, about(0, 0), about(0, 1), about(0, 2), about(1, 1), about(1, 2), about(2, 2)]
}

/// Inertias (B, 10 n) as [`super::Dynamics::with_inertias`] takes them, from the masses (B, n) in kg, the centres of mass
/// (B, n, 3) in m and the inertias about them (B, n, 6) as xx, xy, xz, yy, yz, zz in kg·m², all in the bodies' frames.
/// Gradients reach all three.
///
/// # Errors
/// If the shapes are not as said.
pub fn inertias_of(mass: &Tensor, com: &Tensor, tensor: &Tensor) -> Result<Tensor> {
    let (b, n) = mass.dims2()?;
    for (name, tensor, width) in [("com", com, 3), ("tensor", tensor, 6)] {
        if tensor.dims() != [b, n, width] {
            candle_core::bail!("{name}: expected shape ({b}, {n}, {width}), got {:?}", tensor.shape());
        }
    }
    let mass = mass.unsqueeze(D::Minus1)?;
    let first = com.broadcast_mul(&mass)?;
    let axis = |of: &Tensor, k: usize| of.narrow(D::Minus1, k, 1);
    let product = |i: usize, j: usize| axis(&first, i)? * axis(com, j)?;
    let (xx, yy, zz) = (product(0, 0)?, product(1, 1)?, product(2, 2)?);
    let shift =
        [(&yy + &zz)?, product(0, 1)?.neg()?, product(0, 2)?.neg()?, (&xx + &zz)?, product(1, 2)?.neg()?, (&xx + &yy)?];
    let about = (tensor + Tensor::cat(&shift, D::Minus1)?)?;
    Tensor::cat(&[&mass, &first, &about], D::Minus1)?.reshape((b, 10 * n))
}
