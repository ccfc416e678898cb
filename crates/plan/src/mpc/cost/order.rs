//! A cost that keeps points on a robot in an order.

use candle_core::Result;
use nalgebra::{DMatrix, DVector, RowVector3, Vector3};

use super::{Cost, Expansion};
use fingertip_step::kinematics::Points;
use fingertip_step::model::Model;

/// Σ max(0, distance − a·(p_{i+1} − p_i))², m², over points p_i on bodies that come one after the other along the unit
/// axis a. Fingers whose tips stay in the order in which they grow do not cross.
#[derive(Debug)]
pub struct Order {
    points: Points,
    axis: RowVector3<f64>,
    distance: f64,
    nv: usize,
}

impl Order {
    /// From bodies, whose origins are the points, an axis in the world, of any length but 0, and the least distance of
    /// neighbours along it, m.
    ///
    /// # Errors
    /// If a name is not a body's.
    pub fn new(model: &Model, bodies: &[&str], axis: [f64; 3], distance: f64) -> Result<Self> {
        let axis = RowVector3::from(axis).normalize();
        let points = super::reach::points(model, bodies.iter().map(|&name| (name, [0.0; 3])))?;
        Ok(Self { points, axis, distance, nv: model.nv() })
    }

    /// The neighbours that are too near, by the first of the two, and by how much, m.
    fn near(&self, points: &[[f64; 3]]) -> Vec<(usize, f64)> {
        let along = |p: &[f64; 3]| (self.axis * Vector3::from(*p)).x;
        let lacking = points.windows(2).map(|two| self.distance - (along(&two[1]) - along(&two[0])));
        lacking.enumerate().filter(|(_, lacking)| *lacking > 0.0).collect()
    }
}

impl Cost for Order {
    fn name(&self) -> &'static str {
        "order"
    }

    fn value(&self, q: &[f64]) -> Result<f64> {
        Ok(self.near(&self.points.positions(q)?).iter().map(|(_, lacking)| lacking * lacking).sum())
    }

    fn expand(&self, q: &[f64], weight: f64, to: &mut Expansion) -> Result<()> {
        let (points, jacobian) = self.points.with_jacobian(q)?;
        let near = self.near(&points);
        if near.is_empty() {
            return Ok(());
        }
        let mut rows = DMatrix::zeros(near.len(), self.nv);
        for (mut row, (i, _)) in rows.row_iter_mut().zip(&near) {
            row.copy_from(&(self.axis * (jacobian.rows(3 * i, 3) - jacobian.rows(3 * i + 3, 3))));
        }
        let residual = DVector::from_iterator(near.len(), near.iter().map(|(_, lacking)| *lacking));
        to.add_squares(weight, &residual, &rows);
        Ok(())
    }
}
