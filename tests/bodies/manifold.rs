//! A step on the manifold of configurations, against its definition as a tensor program.

use candle_core::{D, DType, Device, Result, Tensor, Var};
use fingertip::description::{Object, Scene, Shape};
use fingertip::kinematics::{Manifold, Tree};
use fingertip::math::tensor::{cross, dot};

/// Below this θ² the series are exact to rounding: the first term left out is θ¹⁰/10¹⁰.
const SERIES: f64 = 1e-2;

/// q ⊕ δ of free bodies, seven numbers and six degrees of freedom each.
fn integrate(q: &Tensor, delta: &Tensor) -> Result<Tensor> {
    let mut parts = Vec::new();
    for body in 0..q.dim(1)? / 7 {
        let (q, delta) = (q.narrow(1, 7 * body, 7)?, delta.narrow(1, 6 * body, 6)?);
        parts.push((q.narrow(1, 0, 3)? + delta.narrow(1, 0, 3)?)?);
        let quaternion = q.narrow(1, 3, 4)?;
        let unit = quaternion.broadcast_div(&quaternion.sqr()?.sum_keepdim(D::Minus1)?.sqrt()?)?;
        parts.push(multiply(&exponential(&delta.narrow(1, 3, 3)?)?, &unit)?);
    }
    Tensor::cat(&parts, 1)
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

/// Scalar (.., 1) and vector part (.., 3).
fn split(quaternion: &Tensor) -> Result<(Tensor, Tensor)> {
    Ok((quaternion.narrow(D::Minus1, 0, 1)?, quaternion.narrow(D::Minus1, 1, 3)?))
}

/// The product of quaternions (.., 4).
fn multiply(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let ((aw, av), (bw, bv)) = (split(a)?, split(b)?);
    let scalar = (aw.mul(&bw)? - dot(&av, &bv)?)?;
    let vector = ((aw.broadcast_mul(&bv)? + bw.broadcast_mul(&av)?)? + cross(&av, &bv)?)?;
    Tensor::cat(&[scalar, vector], D::Minus1)
}

/// The kernel and the definition, values and gradients, from no rotation to nearly two turns.
#[test]
fn both_forms_of_a_step_agree() -> Result<()> {
    let ball = |name: &str| Object::rigid(name, Shape::Sphere { radius: 0.1 }, 1.0);
    let manifold = Manifold::new(&Tree::new(&Scene::new().object(ball("a")).object(ball("b")))?, &Device::Cpu)?;
    let q = Var::from_tensor(&(manifold.random(6, 1, DType::F64, &Device::Cpu)? * 1.7)?)?;
    let scales = Tensor::new(&[[0.0], [1e-9], [0.05], [0.3], [1.0], [6.0]], &Device::Cpu)?;
    let direction = manifold.random(6, 2, DType::F64, &Device::Cpu)?.narrow(1, 0, 12)?;
    let delta = Var::from_tensor(&direction.broadcast_mul(&scales)?)?;
    let results = [integrate(&q, &delta)?, manifold.integrate(&q, &delta)?];
    let weights = (manifold.random(6, 3, DType::F64, &Device::Cpu)? + 0.3)?;
    let mut all = Vec::new();
    for next in results {
        let grads = (&next * &weights)?.sum_all()?.backward()?;
        let of = |x: &Var| grads.get(x).cloned().ok_or_else(|| candle_core::Error::Msg("no gradient".into()));
        all.push([next.flatten_all()?, of(&q)?.flatten_all()?, of(&delta)?.flatten_all()?]);
    }
    for (program, fused) in all[0].iter().zip(&all[1]) {
        let worst = (program - fused)?.abs()?.max(0)?.to_scalar::<f64>()?;
        // The program's derivative of sin(θ/2)/θ loses digits where it leaves its series at θ = 0.1.
        assert!(worst < 1e-12, "{worst:e}");
    }
    Ok(())
}
