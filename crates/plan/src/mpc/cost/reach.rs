//! Costs that bring points on a robot close to an object.

use candle_core::Result;
use nalgebra::{DMatrix, DVector, Vector3};

use super::{Cost, Expansion};
use fingertip_step::kinematics::{FrameSpec, Points};
use fingertip_step::model::Model;

/// Σ max(0, |p_i − p_object| − distance)², m², over points p_i on bodies.
#[derive(Debug)]
pub struct Reach {
    points: Points,
    n: usize,
    distance: f64,
    nv: usize,
}

impl Reach {
    /// From points on bodies (body's name, position in its frame, m). `object` is a body; its origin is used.
    ///
    /// # Errors
    /// If a name is not a body's.
    pub fn new(model: &Model, points: &[(&str, [f64; 3])], object: &str, distance: f64) -> Result<Self> {
        let all = points.iter().copied().chain([(object, [0.0; 3])]);
        Ok(Self { points: self::points(model, all)?, n: points.len(), distance, nv: model.nv() })
    }

    /// The distance of point i from the object in excess of `distance`, m, and the unit vector from the object to the
    /// point.
    fn excess(&self, points: &[[f64; 3]], i: usize) -> (f64, [f64; 3]) {
        let (p, o) = (points[i], points[self.n]);
        let d: [f64; 3] = std::array::from_fn(|k| p[k] - o[k]);
        let length = d.iter().map(|x| x * x).sum::<f64>().sqrt();
        let inverse = if length > 0.0 { 1.0 / length } else { 0.0 };
        ((length - self.distance).max(0.0), d.map(|x| x * inverse))
    }
}

/// Points on bodies.
pub(super) fn points<'a>(model: &Model, points: impl Iterator<Item = (&'a str, [f64; 3])>) -> Result<Points> {
    let frame = |(name, xyz): (&str, [f64; 3])| {
        let body = model.tree.find(name)?;
        Ok::<_, fingertip_shapes::Error>(FrameSpec { xyz, ..FrameSpec::of_body(body) })
    };
    let frames = points.map(frame).collect::<fingertip_shapes::Result<Vec<_>>>()?;
    Ok(Points::new(&model.tree, &frames))
}

impl Cost for Reach {
    fn name(&self) -> &'static str {
        "reach"
    }

    fn value(&self, q: &[f64]) -> Result<f64> {
        let points = self.points.positions(q)?;
        Ok((0..self.n).map(|i| self.excess(&points, i).0.powi(2)).sum())
    }

    /// For `distance` = 0 the residual is the vector itself. Otherwise it is the vector's length, and sideways motion
    /// of a point costs nothing.
    fn expand(&self, q: &[f64], weight: f64, to: &mut Expansion) -> Result<()> {
        let (points, jacobian) = self.points.with_jacobian(q)?;
        let all = (0..self.n).map(|i| self.excess(&points, i));
        let far: Vec<(usize, (f64, [f64; 3]))> = all.enumerate().filter(|(_, (excess, _))| *excess > 0.0).collect();
        if far.is_empty() {
            return Ok(());
        }
        let origin = jacobian.rows(3 * self.n, 3);
        let m = if self.distance == 0.0 { 3 } else { 1 };
        let (mut residual, mut rows) = (DVector::zeros(m * far.len()), DMatrix::zeros(m * far.len(), self.nv));
        for (k, &(i, (excess, direction))) in far.iter().enumerate() {
            let (mut own, mut rows) = (residual.rows_mut(m * k, m), rows.rows_mut(m * k, m));
            let change = jacobian.rows(3 * i, 3) - origin;
            if self.distance == 0.0 {
                own.copy_from_slice(&direction.map(|x| excess * x));
                rows.copy_from(&change);
            } else {
                own[0] = excess;
                rows.tr_copy_from(&change.tr_mul(&Vector3::from(direction)));
            }
        }
        to.add_squares(weight, &residual, &rows);
        Ok(())
    }
}
