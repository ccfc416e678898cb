//! Configurations live on a manifold: q ⊕ δ, and gradients in tangent coordinates.
//!
//! Positions and joint coordinates add; the unit quaternion (w, x, y, z) of a floating joint is multiplied from the left
//! by Exp(ω), with ω along the axes of the joint's frame (the world's, for a free object). For a unit quaternion q the
//! tangent ω moves it by q̇ = N ω with N = ½ [−vᵀ; w 1 − [v]×], NᵀN = ¼ 1.

use candle_core::{D, Device, Result, Tensor};

use crate::contact::index;
use crate::math::tensor::{cross, dot};

use super::tree::Tree;

/// The numbers of q and of the tangent, sorted into those that add and quaternions.
#[derive(Clone, Debug)]
pub struct Manifold {
    nq: usize,
    nv: usize,
    /// None if nothing rotates freely: then q ⊕ δ = q + δ.
    floating: Option<Floating>,
}

#[derive(Clone, Debug)]
struct Floating {
    n: usize,
    /// Numbers of q that add, and their degrees of freedom.
    plain_q: Tensor,
    plain_v: Tensor,
    /// Four numbers of q, three degrees of freedom for each quaternion.
    quaternion_q: Tensor,
    quaternion_v: Tensor,
    /// From [plain, quaternions] back to the order of q, of v.
    order_q: Tensor,
    order_v: Tensor,
}

/// Below this θ² the series are exact to rounding: the first term left out is θ¹⁰/10¹⁰.
const SERIES: f64 = 1e-2;

impl Manifold {
    /// The manifold of a forest's configurations.
    ///
    /// # Errors
    /// If the index tensors cannot be made on the device.
    pub fn new(tree: &Tree, device: &Device) -> Result<Self> {
        let (mut plain_q, mut plain_v) = (Vec::new(), Vec::new());
        let (mut quaternion_q, mut quaternion_v) = (Vec::new(), Vec::new());
        for coordinate in &tree.coordinates {
            let (q, v) = (coordinate.q, coordinate.v);
            if coordinate.kind.nq() == coordinate.kind.nv() {
                plain_q.extend(q..q + coordinate.kind.nq());
                plain_v.extend(v..v + coordinate.kind.nv());
            } else {
                plain_q.extend(q..q + 3);
                plain_v.extend(v..v + 3);
                quaternion_q.extend(q + 3..q + 7);
                quaternion_v.extend(v + 3..v + 6);
            }
        }
        let inverse = |first: &[usize], second: &[usize]| {
            let mut order = vec![0; first.len() + second.len()];
            first.iter().chain(second).enumerate().for_each(|(k, &i)| order[i] = k);
            index(order.into_iter(), device)
        };
        let floating = (!quaternion_q.is_empty())
            .then(|| {
                Ok::<_, candle_core::Error>(Floating {
                    n: quaternion_q.len() / 4,
                    order_q: inverse(&plain_q, &quaternion_q)?,
                    order_v: inverse(&plain_v, &quaternion_v)?,
                    plain_q: index(plain_q.into_iter(), device)?,
                    plain_v: index(plain_v.into_iter(), device)?,
                    quaternion_q: index(quaternion_q.into_iter(), device)?,
                    quaternion_v: index(quaternion_v.into_iter(), device)?,
                })
            })
            .transpose()?;
        Ok(Self { nq: tree.nq, nv: tree.nv, floating })
    }

    /// q ⊕ δ (B, nq) of q (B, nq) and δ (B, nv). Quaternions come out with unit length. Differentiable.
    ///
    /// # Errors
    /// If the shapes are not as said.
    pub fn integrate(&self, q: &Tensor, delta: &Tensor) -> Result<Tensor> {
        let Some(f) = &self.floating else { return q + delta };
        let plain =
            (q.contiguous()?.index_select(&f.plain_q, 1)? + delta.contiguous()?.index_select(&f.plain_v, 1)?)?;
        let turned = multiply(&exponential(&f.tangents(delta)?)?, &f.quaternions(q)?)?;
        f.assemble(&plain, &turned, &f.order_q)
    }

    /// A gradient with respect to q's numbers (B, nq), at q (B, nq), in tangent coordinates (B, nv): Nᵀ ḡ for quaternions.
    ///
    /// # Errors
    /// If the shapes are not as said.
    pub fn to_tangent(&self, q: &Tensor, gradient: &Tensor) -> Result<Tensor> {
        let Some(f) = &self.floating else { return Ok(gradient.clone()) };
        let plain = gradient.contiguous()?.index_select(&f.plain_q, 1)?;
        let (w, v) = split(&f.quaternions(q)?)?;
        let (grad_w, grad_v) =
            split(&gradient.contiguous()?.index_select(&f.quaternion_q, 1)?.reshape(((), f.n, 4))?)?;
        // Nᵀ ḡ = ½ (−v ḡ_w + w ḡ_v + v × ḡ_v)
        let turned = ((w.broadcast_mul(&grad_v)? - v.broadcast_mul(&grad_w)?)? + cross(&v, &grad_v)?)?;
        f.assemble(&plain, &(turned * 0.5)?, &f.order_v)
    }

    /// A gradient in tangent coordinates (B, nv), at q (B, nq), as one with respect to q's numbers (B, nq): 4 N ω̄ for
    /// quaternions, which has no part along the quaternion. The inverse of [`Manifold::to_tangent`].
    ///
    /// # Errors
    /// If the shapes are not as said.
    pub fn from_tangent(&self, q: &Tensor, gradient: &Tensor) -> Result<Tensor> {
        let Some(f) = &self.floating else { return Ok(gradient.clone()) };
        let plain = gradient.contiguous()?.index_select(&f.plain_v, 1)?;
        let (w, v) = split(&f.quaternions(q)?)?;
        let omega = f.tangents(gradient)?;
        let scalar = dot(&v, &omega)?.neg()?;
        let vector = (w.broadcast_mul(&omega)? - cross(&v, &omega)?)?;
        let turned = (Tensor::cat(&[scalar, vector], D::Minus1)? * 2.0)?;
        f.assemble(&plain, &turned, &f.order_q)
    }

    /// Numbers in q.
    pub fn nq(&self) -> usize {
        self.nq
    }

    /// Degrees of freedom.
    pub fn nv(&self) -> usize {
        self.nv
    }
}

impl Floating {
    /// Unit quaternions (B, n, 4) of q.
    fn quaternions(&self, q: &Tensor) -> Result<Tensor> {
        let quaternions = q.contiguous()?.index_select(&self.quaternion_q, 1)?.reshape(((), self.n, 4))?;
        let norm = quaternions.sqr()?.sum_keepdim(D::Minus1)?.sqrt()?;
        quaternions.broadcast_div(&norm)
    }

    /// Rotations (B, n, 3) of tangents (B, nv).
    fn tangents(&self, tangent: &Tensor) -> Result<Tensor> {
        tangent.contiguous()?.index_select(&self.quaternion_v, 1)?.reshape(((), self.n, 3))
    }

    fn assemble(&self, plain: &Tensor, turned: &Tensor, order: &Tensor) -> Result<Tensor> {
        Tensor::cat(&[plain, &turned.flatten_from(1)?], 1)?.index_select(order, 1)
    }
}

/// Scalar (.., 1) and vector part (.., 3).
fn split(quaternion: &Tensor) -> Result<(Tensor, Tensor)> {
    Ok((quaternion.narrow(D::Minus1, 0, 1)?, quaternion.narrow(D::Minus1, 1, 3)?))
}

/// The unit quaternion of a rotation vector ω (.., 3): (cos θ/2, ω sin(θ/2)/θ), θ = |ω|.
fn exponential(omega: &Tensor) -> Result<Tensor> {
    let square = omega.sqr()?.sum_keepdim(D::Minus1)?;
    let small = square.lt(SERIES)?;
    let polynomial = |coefficients: [f64; 5]| -> Result<Tensor> {
        let mut sum = square.affine(coefficients[4], coefficients[3])?;
        for &c in coefficients[..3].iter().rev() {
            sum = sum.mul(&square)?.affine(1.0, c)?;
        }
        Ok(sum)
    };
    let sine_series = polynomial([0.5, -1.0 / 48.0, 1.0 / 3840.0, -1.0 / 645_120.0, 1.0 / 185_794_560.0])?;
    let cosine_series = polynomial([1.0, -1.0 / 8.0, 1.0 / 384.0, -1.0 / 46_080.0, 1.0 / 10_321_920.0])?;
    // The root's argument is replaced before, not after: its derivative at 0 is infinite.
    let angle = small.where_cond(&square.ones_like()?, &square)?.sqrt()?;
    let half = (&angle * 0.5)?;
    let sine = small.where_cond(&sine_series, &(half.sin()? / &angle)?)?;
    let cosine = small.where_cond(&cosine_series, &half.cos()?)?;
    Tensor::cat(&[cosine, omega.broadcast_mul(&sine)?], D::Minus1)
}

/// The product of quaternions (.., 4).
fn multiply(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let ((aw, av), (bw, bv)) = (split(a)?, split(b)?);
    let scalar = (aw.mul(&bw)? - dot(&av, &bv)?)?;
    let vector = ((aw.broadcast_mul(&bv)? + bw.broadcast_mul(&av)?)? + cross(&av, &bv)?)?;
    Tensor::cat(&[scalar, vector], D::Minus1)
}
