//! The manifold of configurations: q ⊕ δ, and gradients in tangent coordinates.
//!
//! Positions and joint coordinates add. The unit quaternion (w, x, y, z) of a floating or ball joint is multiplied from
//! the left by Exp(ω), with ω along the axes of the joint's frame (for a free object, the world's). The tangent ω moves
//! a unit quaternion q by q̇ = N ω, with N = ½ [−vᵀ; w 1 − [v]×] and NᵀN = ¼ 1.

use std::sync::Arc;

use candle_core::{D, DType, Device, Result, Tensor, bail};

use crate::tensor::operation::Kernels;
use crate::tensor::{cross, dot, index};
use fingertip_lanes::lane::Packed;

use super::manifold_op::ManifoldOp;
use super::points::{One, lanes, zeros};
use super::retraction::{Difference, Integrate, Map, Retraction};
use super::tree::{Coordinate, Tree};

/// The numbers of q and of the tangent, divided into those that add and quaternions.
#[derive(Clone, Debug)]
pub struct Manifold {
    nq: usize,
    nv: usize,
    /// Index tensors for quaternions; none if nothing rotates freely, where q ⊕ δ = q + δ.
    floating: Option<Floating>,
    retraction: Arc<Retraction>,
    kernels: Kernels,
    pub(super) coordinates: Vec<Coordinate>,
}

#[derive(Clone, Debug)]
struct Floating {
    n: usize,
    /// Places in q of the numbers that add; `plain_v` has their degrees of freedom.
    plain_q: Tensor,
    plain_v: Tensor,
    /// Places in q of each quaternion's four numbers; `quaternion_v` has its three degrees of freedom.
    quaternion_q: Tensor,
    quaternion_v: Tensor,
    /// Permutation from [plain, quaternions] back to the order of q; `order_v` is the one to the order of v.
    order_q: Tensor,
    order_v: Tensor,
}

impl Manifold {
    /// The manifold of a forest's configurations.
    ///
    /// # Errors
    /// If the index tensors cannot be created on the device.
    pub fn new(tree: &Tree, device: &Device) -> Result<Self> {
        let (mut plain_q, mut plain_v) = (Vec::new(), Vec::new());
        let (mut quaternion_q, mut quaternion_v) = (Vec::new(), Vec::new());
        for coordinate in &tree.coordinates {
            let (q, v) = (coordinate.q, coordinate.v);
            let turn = coordinate.kind.quaternion();
            let plain = turn.unwrap_or(coordinate.kind.nv());
            plain_q.extend(q..q + plain);
            plain_v.extend(v..v + plain);
            if let Some(at) = turn {
                quaternion_q.extend(q + at..q + at + 4);
                quaternion_v.extend(v + at..v + at + 3);
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
        let (retraction, coordinates) = (Arc::new(Retraction::new(tree)), tree.coordinates.clone());
        Ok(Self { nq: tree.nq, nv: tree.nv, floating, retraction, kernels: Kernels::default(), coordinates })
    }

    /// q ⊕ δ (B, nq) of q (B or 1, nq) and δ (B or 1, nv). The resulting quaternions have unit length. Differentiable.
    ///
    /// # Errors
    /// If the shapes are wrong, or the types are not both `f32` or both `f64`.
    pub fn integrate(&self, q: &Tensor, delta: &Tensor) -> Result<Tensor> {
        check("q ⊕ δ", [("q", q, self.nq), ("delta", delta, self.nv)])?;
        match &self.floating {
            None => q.broadcast_add(delta),
            Some(_) => q.apply_op2(delta, ManifoldOp::<Integrate>::operation(&self.retraction, &self.kernels)),
        }
    }

    /// The δ (B, nv) with `from` ⊕ δ = `to` up to the quaternions' sign, both (B or 1, nq). Angles are not wrapped.
    /// Rotations turn by at most π; for a rotation by exactly π there are two such δ, and value and gradient are those
    /// of one of them. Differentiable.
    ///
    /// # Errors
    /// As [`Manifold::integrate`].
    pub fn difference(&self, from: &Tensor, to: &Tensor) -> Result<Tensor> {
        check("difference", [("from", from, self.nq), ("to", to, self.nq)])?;
        from.apply_op2(to, ManifoldOp::<Difference>::operation(&self.retraction, &self.kernels))
    }

    /// q ⊕ δ of plain numbers, nq and nv of them.
    ///
    /// # Errors
    /// If the lengths are wrong.
    pub fn plus(&self, q: &[f64], delta: &[f64]) -> Result<Vec<f64>> {
        lengths("q ⊕ δ", [("q", q, self.nq), ("delta", delta, self.nv)])?;
        let mut out = zeros(self.nq);
        Integrate::value(&self.retraction, &lanes(q), &lanes(delta), &mut out);
        Ok(One::numbers(&out).to_vec())
    }

    /// [`Manifold::difference`] of plain numbers, nq each: the δ with `from` ⊕ δ = `to`.
    ///
    /// # Errors
    /// If the lengths are wrong.
    pub fn minus(&self, to: &[f64], from: &[f64]) -> Result<Vec<f64>> {
        lengths("difference", [("to", to, self.nq), ("from", from, self.nq)])?;
        let mut out = zeros(self.nv);
        Difference::value(&self.retraction, &lanes(from), &lanes(to), &mut out);
        Ok(One::numbers(&out).to_vec())
    }

    /// Converts a gradient with respect to q's numbers (B, nq), at q (B or 1, nq), to tangent coordinates (B, nv). For
    /// quaternions, whose length need not be one, it is |q| Nᵀ ḡ.
    ///
    /// # Errors
    /// As [`Manifold::integrate`].
    pub fn to_tangent(&self, q: &Tensor, gradient: &Tensor) -> Result<Tensor> {
        let b = check("to_tangent", [("q", q, self.nq), ("gradient", gradient, self.nq)])?;
        let gradient = gradient.broadcast_as((b, self.nq))?.contiguous()?;
        let Some(f) = &self.floating else { return Ok(gradient) };
        let plain = gradient.index_select(&f.plain_q, 1)?;
        let (w, v) = split(&f.numbers(&q.broadcast_as((b, self.nq))?)?)?;
        let (grad_w, grad_v) = split(&f.numbers(&gradient)?)?;
        // Nᵀ ḡ = ½ (−v ḡ_w + w ḡ_v + v × ḡ_v)
        let turned = ((w.broadcast_mul(&grad_v)? - v.broadcast_mul(&grad_w)?)? + cross(&v, &grad_v)?)?;
        f.assemble(&plain, &(turned * 0.5)?, &f.order_v)
    }

    /// Converts a gradient in tangent coordinates (B, nv), at q (B or 1, nq), to one with respect to q's numbers (B,
    /// nq). For quaternions it is 4 N ω̄ / |q|, which has no component along the quaternion. The inverse of
    /// [`Manifold::to_tangent`].
    ///
    /// # Errors
    /// As [`Manifold::integrate`].
    pub fn from_tangent(&self, q: &Tensor, gradient: &Tensor) -> Result<Tensor> {
        let b = check("from_tangent", [("q", q, self.nq), ("gradient", gradient, self.nv)])?;
        let gradient = gradient.broadcast_as((b, self.nv))?.contiguous()?;
        let Some(f) = &self.floating else { return Ok(gradient) };
        let plain = gradient.index_select(&f.plain_v, 1)?;
        let [near_one, largest] = f.scaled(&q.broadcast_as((b, self.nq))?)?;
        let per_square = near_one.broadcast_div(&near_one.sqr()?.sum_keepdim(D::Minus1)?)?;
        let (w, v) = split(&per_square.broadcast_div(&largest)?)?;
        let omega = f.tangents(&gradient)?;
        let scalar = dot(&v, &omega)?.neg()?;
        let vector = (w.broadcast_mul(&omega)? - cross(&v, &omega)?)?;
        let turned = (Tensor::cat(&[scalar, vector], D::Minus1)? * 2.0)?;
        f.assemble(&plain, &turned, &f.order_q)
    }

    /// The number of coordinates in q.
    pub fn nq(&self) -> usize {
        self.nq
    }

    /// The number of degrees of freedom.
    pub fn nv(&self) -> usize {
        self.nv
    }
}

impl Floating {
    /// The quaternions' numbers (B, n, 4) in q.
    fn numbers(&self, q: &Tensor) -> Result<Tensor> {
        q.contiguous()?.index_select(&self.quaternion_q, 1)?.reshape(((), self.n, 4))
    }

    /// The quaternions' numbers (B, n, 4) over the largest of each, so that squares neither vanish nor overflow, and
    /// the largest (B, n, 1), without gradient: no direction depends on it.
    fn scaled(&self, q: &Tensor) -> Result<[Tensor; 2]> {
        let numbers = self.numbers(q)?;
        let largest = numbers.detach().abs()?.max_keepdim(D::Minus1)?;
        Ok([numbers.broadcast_div(&largest)?, largest])
    }

    /// Rotations (B, n, 3) of tangents (B, nv).
    fn tangents(&self, tangent: &Tensor) -> Result<Tensor> {
        tangent.contiguous()?.index_select(&self.quaternion_v, 1)?.reshape(((), self.n, 3))
    }

    fn assemble(&self, plain: &Tensor, turned: &Tensor, order: &Tensor) -> Result<Tensor> {
        Tensor::cat(&[plain, &turned.flatten_from(1)?], 1)?.index_select(order, 1)
    }
}

/// The number of worlds of two operands of these names and widths, each with a row per world or one for all.
///
/// # Errors
/// If an operand has another shape or type.
fn check(map: &str, operands: [(&str, &Tensor, usize); 2]) -> Result<usize> {
    let (mut worlds, first) = (1, operands[0].1.dtype());
    for (name, tensor, width) in operands {
        let rows = match tensor.dims() {
            &[rows, n] if n == width && (rows == 1 || worlds == 1 || rows == worlds) => rows,
            shape if worlds == 1 => bail!("{map}: {name}: expected shape (1 or B, {width}), got {shape:?}"),
            shape => bail!("{map}: {name}: expected shape ({worlds}, {width}) or (1, {width}), got {shape:?}"),
        };
        worlds = if worlds == 1 { rows } else { worlds };
        match (first, tensor.dtype()) {
            (DType::F32, DType::F32) | (DType::F64, DType::F64) => {}
            (DType::F32 | DType::F64, other) if name != operands[0].0 => {
                bail!("{map}: {name}: expected {first:?}, as {} is, got {other:?}", operands[0].0)
            }
            (_, other) => bail!("{map}: {name}: expected f32 or f64, got {other:?}"),
        }
    }
    Ok(worlds)
}

fn lengths(map: &str, operands: [(&str, &[f64], usize); 2]) -> Result<()> {
    match operands.into_iter().find(|(_, numbers, n)| numbers.len() != *n) {
        Some((name, numbers, n)) => bail!("{map}: {name}: expected {n} numbers, got {}", numbers.len()),
        None => Ok(()),
    }
}

/// Scalar (.., 1) and vector part (.., 3).
fn split(quaternion: &Tensor) -> Result<(Tensor, Tensor)> {
    Ok((quaternion.narrow(D::Minus1, 0, 1)?, quaternion.narrow(D::Minus1, 1, 3)?))
}
