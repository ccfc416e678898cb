//! Contact frames.

use candle_core::{D, Result, Tensor};

use crate::math::tensor::{components, sign};

/// Rows n, t₁, t₂ = n × t₁ (B, nc, 3, 3) for unit normals (B, nc, 3).
pub fn frame(normal: &Tensor) -> Result<Tensor> {
    let [x, y, z] = components(normal)?;
    let s = sign(&z)?;
    let a = (&s + &z)?.recip()?.neg()?;
    let b = ((&x * &y)? * &a)?;
    let t1 = Tensor::cat(&[((&s * x.sqr()?)? * &a)?.affine(1.0, 1.0)?, (&s * &b)?, (&s * &x)?.neg()?], D::Minus1)?;
    let t2 = Tensor::cat(&[b, (&s + (y.sqr()? * &a)?)?, y.neg()?], D::Minus1)?;
    Tensor::stack(&[normal, &t1, &t2], 2)
}
