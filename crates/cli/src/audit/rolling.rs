//! The stiffness against rolling of an ellipsoid's contact, by eigenvalues: with docs/rolling.md as the only thing in common with
//! the step's.

use fingertip::description::Friction;
use nalgebra::{Matrix3, Matrix3x2, SymmetricEigen, Vector3};

/// A contact of an ellipsoid.
pub struct Rolling {
    /// Out of the ellipsoid.
    pub normal: Vector3<f64>,
    /// On the ellipsoid, m.
    pub point: Vector3<f64>,
    /// Gap, m, and weight of the contact.
    pub phi: f64,
    pub weight: f64,
    /// Centre of mass of the ellipsoid's body, m.
    pub centre: Vector3<f64>,
    /// The ellipsoid's axes as columns, and its radii, m.
    pub axes: Matrix3<f64>,
    pub radii: Vector3<f64>,
    /// Weight of its body, N.
    pub load: f64,
}

impl Rolling {
    /// Torque per rotation, N·m/rad.
    pub fn stiffness(&self, friction: Friction, kappa: f64) -> Matrix3<f64> {
        let n = self.normal;
        let squares =
            self.axes * Matrix3::from_diagonal(&self.radii.component_mul(&self.radii)) * self.axes.transpose();
        let s = n.dot(&(squares * n)).sqrt();
        let far = squares * n / s;
        let height = n.dot(&(self.point - self.centre));
        let across = n.cross(&Vector3::ith(n.iamin(), 1.0)).normalize();
        let basis = Matrix3x2::from_columns(&[across, n.cross(&across)]);
        let curvature = basis.transpose() * (squares - far * far.transpose()) * basis / s;
        let SymmetricEigen { eigenvalues, eigenvectors } = SymmetricEigen::new(curvature);
        let mut held = Matrix3::zeros();
        for (radius, direction) in eigenvalues.iter().zip(eigenvectors.column_iter()) {
            let lacks = (radius - height).max(0.0);
            let axis = n.cross(&(basis * direction));
            held += axis * axis.transpose() * (lacks * lacks / (lacks + 1e-3 * s));
        }
        held * self.force(friction, kappa)
    }

    /// The force that balances the gap, at most ten times the weight, N.
    fn force(&self, friction: Friction, kappa: f64) -> f64 {
        if self.weight <= 0.0 {
            return 0.0;
        }
        let most = 10.0 * self.load;
        let share = self.weight * if friction == Friction::Coulomb { 1.0 } else { 2.0 };
        let pressed = kappa * self.phi * most;
        let gap = if pressed < 0.0 {
            0.5 * share * share / (pressed.hypot(share) - pressed)
        } else {
            0.5 * (pressed + pressed.hypot(share))
        };
        share * most / share.hypot(gap)
    }
}
