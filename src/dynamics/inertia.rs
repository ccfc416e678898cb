//! Ten numbers of a body's inertia, in which its forces are linear, from mass, centre of mass and inertia tensor.

use candle_core::{D, Result, Tensor};

use crate::description::Inertia;
use crate::math::lane::Real;
use crate::math::vector::{Vec3, add, dot, scale};

use super::links::INERTIA;

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

/// [`ten`] in lanes, of a mass, a centre of mass, and xx, xy, xz, yy, yz, zz about it.
#[inline(always)]
pub(crate) fn ten_of<R: Real>(mass: R, com: Vec3<R>, tensor: [R; 6]) -> [R; INERTIA] {
    let first = scale(mass, com);
    let ([x, y, z], [xx, xy, xz, yy, yz, zz]) = (com, tensor);
    let [fx, fy, fz] = first;
    let (sx, sy, sz) = (fx * x, fy * y, fz * z);
    let about = [xx + (sy + sz), xy - fx * y, xz - fx * z, yy + (sx + sz), yz - fy * z, zz + (sx + sy)];
    [mass, fx, fy, fz, about[0], about[1], about[2], about[3], about[4], about[5]]
}

/// The gradients of mass, centre of mass and tensor, given those of [`ten_of`].
#[inline(always)]
pub(crate) fn pull_ten<R: Real>(mass: R, com: Vec3<R>, grad: &[R; INERTIA]) -> (R, Vec3<R>, [R; 6]) {
    let [of_mass, fx, fy, fz, xx, xy, xz, yy, yz, zz] = *grad;
    let (first, [x, y, z]) = ([fx, fy, fz], com);
    // The shift over M is a quadratic form in c: this is its slope, and half of its product with c its value.
    let slope = [
        (yy + zz).scale(2.0) * x - (xy * y + xz * z),
        (xx + zz).scale(2.0) * y - (xy * x + yz * z),
        (xx + yy).scale(2.0) * z - (xz * x + yz * y),
    ];
    let of_mass = of_mass + dot(first, com) + dot(slope, com).scale(0.5);
    (of_mass, scale(mass, add(first, slope)), [xx, xy, xz, yy, yz, zz])
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
