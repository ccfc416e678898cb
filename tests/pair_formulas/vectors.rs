//! Small vectors as tensors: the last dimension is x, y, z, scalars keep theirs (.., 1). Every function is made of differentiable
//! candle operations, and values and gradients are finite for finite input.

use candle_core::{D, DType, Result, Tensor};
use fingertip::contact::pair::Shapes;

/// A constant with the type and on the device of `like`, of shape (1, .., 1, k): it broadcasts against `like`.
pub(super) fn constant(values: &[f64], like: &Tensor) -> Result<Tensor> {
    let mut shape = vec![1; like.rank()];
    if let Some(last) = shape.last_mut() {
        *last = values.len();
    }
    Tensor::from_slice(values, shape, like.device())?.to_dtype(like.dtype())
}

/// Lengths up to this one, in metres, count as zero where a direction is asked for: far below any length that matters
/// and above the rounding of coordinates of a few centimetres.
pub(super) const fn no_length(dtype: DType) -> f64 {
    match dtype {
        DType::F32 => 1e-8,
        _ => 1e-14,
    }
}

/// a · b (.., 1).
pub(super) fn dot(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    a.broadcast_mul(b)?.sum_keepdim(D::Minus1)
}

/// a × b (.., 3).
pub(super) fn cross(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let turned = |v: &Tensor| -> Result<[Tensor; 2]> {
        let [x, y, z] = components(v)?;
        Ok([Tensor::cat(&[&y, &z, &x], D::Minus1)?, Tensor::cat(&[&z, &x, &y], D::Minus1)?])
    };
    let ([a_yzx, a_zxy], [b_yzx, b_zxy]) = (turned(a)?, turned(b)?);
    a_yzx.broadcast_mul(&b_zxy)? - a_zxy.broadcast_mul(&b_yzx)?
}

/// The components (.., 1) of vectors (.., 3).
pub(super) fn components(v: &Tensor) -> Result<[Tensor; 3]> {
    let last = v.rank() - 1;
    Ok([v.narrow(last, 0, 1)?, v.narrow(last, 1, 1)?, v.narrow(last, 2, 1)?])
}

/// a + s b, with s (.., 1).
pub(super) fn along(a: &Tensor, s: &Tensor, b: &Tensor) -> Result<Tensor> {
    a.broadcast_add(&s.broadcast_mul(b)?)
}

/// `yes` where `mask` (u8) is not zero, `no` elsewhere; all three broadcast to `mask`'s and `yes`'s common shape.
///
/// The branch that is not taken gets a gradient of exactly zero, which becomes NaN if that branch divides by zero:
/// replace the argument of the division, not its result.
pub(super) fn select(mask: &Tensor, yes: &Tensor, no: &Tensor) -> Result<Tensor> {
    let shape = mask.shape().broadcast_shape_binary_op(yes.shape(), "select")?;
    let shape = shape.broadcast_shape_binary_op(no.shape(), "select")?;
    mask.broadcast_as(&shape)?.where_cond(&yes.broadcast_as(&shape)?, &no.broadcast_as(&shape)?)
}

/// The unit vector of v, or `fallback` where v is no longer than [`no_length`].
///
/// With miss = 1 there and 0 elsewhere this is v/√(v·v + miss) + miss · fallback: neither a division by zero nor a
/// branch, the gradient is the exact (1 − n nᵀ)/|v| elsewhere and 1 there.
pub(super) fn unit(v: &Tensor, fallback: &Tensor) -> Result<Tensor> {
    let square = v.sqr()?.sum_keepdim(D::Minus1)?;
    let miss = square.le(no_length(v.dtype()).powi(2))?.to_dtype(v.dtype())?;
    let per_length = (square + &miss)?.sqrt()?.recip()?;
    v.broadcast_mul(&per_length)? + miss.broadcast_mul(fallback)?
}

/// x limited to [−limit, limit]; at and beyond the limit the gradient goes to the limit.
pub(super) fn clamp(x: &Tensor, limit: &Tensor) -> Result<Tensor> {
    let limit = limit.broadcast_as(x.shape())?;
    let opposite = limit.neg()?;
    let x = x.lt(&limit)?.where_cond(x, &limit)?;
    x.gt(&opposite)?.where_cond(&x, &opposite)
}

/// The sign of x as a constant without gradient: −1 below zero, else +1.
pub(super) fn sign(x: &Tensor) -> Result<Tensor> {
    x.detach().ge(0.0)?.to_dtype(x.dtype())?.affine(2.0, -1.0)
}

/// Positions (.., 3) of poses (.., 12): position, then the columns of the rotation matrix.
pub(super) fn position(pose: &Tensor) -> Result<Tensor> {
    pose.narrow(D::Minus1, 0, 3)
}

/// Column `k` (0, 1, 2) of the rotation matrices of poses: the frame's axis in the world (.., 3).
pub(super) fn axis(pose: &Tensor, k: usize) -> Result<Tensor> {
    pose.narrow(D::Minus1, 3 + 3 * k, 3)
}

/// R v: vectors in the frames of poses (.., 12) to the world.
pub(super) fn rotate(pose: &Tensor, v: &Tensor) -> Result<Tensor> {
    let [x, y, z] = components(v)?;
    let rotated = x.broadcast_mul(&axis(pose, 0)?)?;
    along(&along(&rotated, &y, &axis(pose, 1)?)?, &z, &axis(pose, 2)?)
}

/// Rᵀ v: vectors in the world to the frames of poses (.., 12).
pub(super) fn rotate_back(pose: &Tensor, v: &Tensor) -> Result<Tensor> {
    let axes = pose.narrow(D::Minus1, 3, 9)?;
    let mut shape = axes.dims().to_vec();
    shape.pop();
    shape.extend([3, 3]);
    let axes = axes.reshape(shape)?;
    axes.broadcast_mul(&v.unsqueeze(v.rank() - 1)?)?.sum(D::Minus1)
}

/// What the formulas ask of shapes.
pub(super) trait Places {
    /// Positions (B, n, 3).
    fn position(&self) -> Result<Tensor>;
    /// Number `k` of the sizes (1 or B, n, 1).
    fn length(&self, k: usize) -> Result<Tensor>;
    /// Half extents of boxes without their rounding (1 or B, n, 3).
    fn box_core(&self) -> Result<Tensor>;
}

impl Places for Shapes {
    fn position(&self) -> Result<Tensor> {
        position(&self.pose)
    }

    fn length(&self, k: usize) -> Result<Tensor> {
        self.size.narrow(2, k, 1)
    }

    fn box_core(&self) -> Result<Tensor> {
        self.size.narrow(2, 0, 3)?.broadcast_sub(&self.length(3)?)
    }
}
