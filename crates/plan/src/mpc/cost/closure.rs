//! A cost that keeps points on a robot on all sides of an object.

use candle_core::Result;
use nalgebra::{DMatrix, DVector, Matrix3, Vector3};

use super::{Cost, Expansion};
use fingertip_step::kinematics::Points;
use fingertip_step::model::Model;

/// ‖Σ w_i d_i/‖d_i‖‖², without unit, with d_i from the object's origin to point i on a body. It is 0 if the weighted
/// directions are in balance, as the forces of a grasp must be. This is the term of Jin 2024 (arXiv 2408.07855) that
/// keeps fingertips on different sides; there all weights are 1.
#[derive(Debug)]
pub struct Closure {
    points: Points,
    weights: Vec<f64>,
}

/// Within this distance of the origin, m, a direction loses weight; at the origin it is undefined.
const NEAR: f64 = 1e-3;

impl Closure {
    /// From points on bodies (body's name, position in its frame, m), each with its weight. `object` is a body; its
    /// origin is used.
    ///
    /// # Errors
    /// If a name is not a body's, or the numbers of weights and points differ.
    pub fn new(model: &Model, points: &[(&str, [f64; 3])], weights: &[f64], object: &str) -> Result<Self> {
        if weights.len() != points.len() {
            candle_core::bail!("closure: expected {} weights, got {}", points.len(), weights.len());
        }
        let all = points.iter().copied().chain([(object, [0.0; 3])]);
        Ok(Self { points: super::reach::points(model, all)?, weights: weights.to_vec() })
    }

    /// d and 1/√(‖d‖² + NEAR²) of each point.
    fn directions(&self, points: &[[f64; 3]]) -> Vec<(Vector3<f64>, f64)> {
        let origin = Vector3::from(points[self.weights.len()]);
        let one = |p: &[f64; 3]| {
            let d = Vector3::from(*p) - origin;
            (d, 1.0 / (d.norm_squared() + NEAR * NEAR).sqrt())
        };
        points[..self.weights.len()].iter().map(one).collect()
    }

    fn residual(&self, directions: &[(Vector3<f64>, f64)]) -> Vector3<f64> {
        directions.iter().zip(&self.weights).map(|((d, inverse), weight)| d * (inverse * weight)).sum()
    }
}

impl Cost for Closure {
    fn name(&self) -> &'static str {
        "closure"
    }

    fn value(&self, q: &[f64]) -> Result<f64> {
        Ok(self.residual(&self.directions(&self.points.positions(q)?)).norm_squared())
    }

    fn expand(&self, q: &[f64], weight: f64, to: &mut Expansion) -> Result<()> {
        let (points, jacobian) = self.points.with_jacobian(q)?;
        let directions = self.directions(&points);
        let origin = jacobian.rows(3 * self.weights.len(), 3);
        let mut change = DMatrix::zeros(3, jacobian.ncols());
        for (i, ((d, inverse), own)) in directions.iter().zip(&self.weights).enumerate() {
            let unit = d * *inverse;
            let across = (Matrix3::identity() - unit * unit.transpose()) * (inverse * own);
            change += across * (jacobian.rows(3 * i, 3) - origin);
        }
        let residual = self.residual(&directions);
        to.add_squares(weight, &DVector::from_column_slice(residual.as_slice()), &change);
        Ok(())
    }
}
