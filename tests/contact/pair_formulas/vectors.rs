//! What the formulas ask of vectors as tensors, besides [`fingertip::math::tensor`]: all of it is total and
//! differentiable.

use candle_core::{D, Result, Tensor};
use fingertip::contact::pair::Shapes;
pub(super) use fingertip::math::tensor::{
    along, axis, clamp, constant, dot, no_length, position, rotate, rotate_back, select, sign,
};

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
