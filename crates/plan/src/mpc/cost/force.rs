//! A cost on the difference of contact forces from a desired size.

use nalgebra::{DMatrix, DVector};

use crate::mpc::simulator::Forces;
use fingertip_step::step::SparseRows;

/// Cost weight · (‖f‖ − size)² at the end of each control period, with f all forces of some contacts side by side. A
/// size of 0 asks for small forces. Another size asks to keep the contacts, with about that force.
#[derive(Clone, Debug)]
pub struct ContactForce {
    /// The contacts (see [`Model::contacts_between`](fingertip_step::model::Model::contacts_between)).
    pub contacts: Vec<usize>,
    /// The desired size, N.
    pub size: f64,
    /// The weight, 1/N².
    pub weight: f64,
}

/// The residual ‖f‖ − size and how it changes with (x, v).
pub(in crate::mpc) struct ForceRates {
    pub(in crate::mpc) residual: f64,
    pub(in crate::mpc) by_x: DVector<f64>,
    pub(in crate::mpc) by_v: DVector<f64>,
}

impl ContactForce {
    /// The cost of one row of forces (·, 3 nc), N, in any axes.
    pub fn value(&self, forces: &SparseRows, row: usize) -> f64 {
        let own = self.contacts.iter().flat_map(|contact| 3 * contact..3 * contact + 3);
        let squares = own.map(|column| forces.get(row, column).powi(2));
        self.weight * (squares.sum::<f64>().sqrt() - self.size).powi(2)
    }

    /// The residual and its derivatives by C and D. Forces that are zero have no direction, and give no derivative.
    pub(in crate::mpc) fn rates(&self, forces: &Forces) -> ForceRates {
        let Forces { contacts, lambda, c, d } = forces;
        let rows = || {
            let own = self.contacts.iter().filter_map(|contact| contacts.binary_search(contact).ok());
            own.flat_map(|k| 3 * k..3 * k + 3)
        };
        let length = rows().map(|i| lambda[i].powi(2)).sum::<f64>().sqrt();
        let inverse = if length > 0.0 { 1.0 / length } else { 0.0 };
        let along = |by: &DMatrix<f64>| {
            let mut sum = DVector::zeros(by.ncols());
            for i in rows() {
                sum.axpy(lambda[i] * inverse, &by.row(i).transpose(), 1.0);
            }
            sum
        };
        ForceRates { residual: length - self.size, by_x: along(c), by_v: along(d) }
    }
}
