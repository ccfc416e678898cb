//! Closest points of segments x(s) = c + s u, |s| ≤ h, u a unit vector: the cores of capsules.

use candle_core::{DType, Result, Tensor};

use super::Shapes;
use super::vectors::{Places, along, axis, clamp, cross, dot, select};

/// A capsule's core.
pub(super) struct Segment {
    /// c (B, n, 3).
    pub centre: Tensor,
    /// u (B, n, 3).
    pub direction: Tensor,
    /// h (1 or B, n, 1).
    pub half_length: Tensor,
}

impl Segment {
    /// The cores of capsules.
    pub(super) fn of_capsules(capsules: &Shapes) -> Result<Self> {
        Ok(Self { centre: capsules.position()?, direction: axis(&capsules.pose, 2)?, half_length: capsules.length(1)? })
    }

    /// x(s) for s (B, n, 1).
    pub(super) fn at(&self, s: &Tensor) -> Result<Tensor> {
        along(&self.centre, s, &self.direction)
    }

    /// The parameter s of the point closest to each of the given points (B, n, 3).
    pub(super) fn closest_to(&self, points: &Tensor) -> Result<Tensor> {
        clamp(&dot(&self.direction, &(points - &self.centre)?)?, &self.half_length)
    }

    /// Both ends (B, n, 2, 3), the negative one first.
    pub(super) fn ends(&self) -> Result<Tensor> {
        let reach = self.direction.broadcast_mul(&self.half_length)?;
        Tensor::stack(&[(&self.centre - &reach)?, (&self.centre + &reach)?], 2)
    }
}

/// [`parallel`] in `f64`.
const PARALLEL: f64 = 1e-16;

/// Segments count as parallel up to this squared sine of their angle, where rounding leaves nothing of the place
/// at which their lines come closest.
fn parallel(dtype: DType) -> f64 {
    match dtype {
        DType::F32 => 1e-8,
        _ => PARALLEL,
    }
}

/// Closest points (x_A, x_B) of pairs of segments, and a direction (B, n, 3) at right angles to u_A, and to u_B too
/// where the segments cross.
///
/// The lines come closest where, with d = c_B − c_A and b = u_A·u_B,
///
/// ```text
/// s (1 − b²) = u_A·d − b u_B·d,   t = b s − u_B·d;
/// ```
///
/// s limited to A gives t, t limited to B gives s again (Ericson, *Real-Time Collision Detection*, §5.1.9).
/// Parallel segments start from the middle of their common stretch.
pub(super) fn closest(a: &Segment, b: &Segment) -> Result<(Tensor, Tensor, Tensor)> {
    let apart = (&b.centre - &a.centre)?;
    let cosine = dot(&a.direction, &b.direction)?;
    let (along_a, along_b) = (dot(&a.direction, &apart)?, dot(&b.direction, &apart)?);
    let across = cross(&a.direction, &b.direction)?;
    let sine_squared = dot(&across, &across)?;
    let are_parallel = sine_squared.le(parallel(cosine.dtype()))?;

    let sine_squared = are_parallel.where_cond(&sine_squared.ones_like()?, &sine_squared)?;
    let crossing = ((&along_a - (&cosine * &along_b)?)? / sine_squared)?;
    let first = clamp(&along_a.broadcast_sub(&b.half_length)?, &a.half_length)?;
    let last = clamp(&along_a.broadcast_add(&b.half_length)?, &a.half_length)?;
    let middle = ((first + last)? * 0.5)?;

    let s = clamp(&select(&are_parallel, &middle, &crossing)?, &a.half_length)?;
    let t = clamp(&((&cosine * s)? - along_b)?, &b.half_length)?;
    let s = clamp(&((cosine * &t)? + along_a)?, &a.half_length)?;
    Ok((a.at(&s)?, b.at(&t)?, across))
}
