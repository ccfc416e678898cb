//! Mass distributions.

use nalgebra::{Isometry3, Matrix3, Vector3};

use super::check;
use crate::error::{Error, Result};

/// Mass distribution of a body.
#[derive(Clone, Debug, PartialEq)]
pub struct Inertia {
    /// Mass in kg, positive.
    pub mass: f64,
    /// Centre of mass in the body's frame, m.
    pub com: Vector3<f64>,
    /// Inertia about the centre of mass along the body's axes, kg·m². Symmetric and positive semidefinite.
    pub matrix: Matrix3<f64>,
}

/// Largest mass, kg.
pub const HEAVIEST: f64 = 1e9;

/// An eigenvalue of an inertia may be this far below zero, relative to the largest, because numbers in files are
/// rounded.
const NEGATIVE_ALLOWED: f64 = 1e-6;

impl Inertia {
    /// A point mass at the body's origin, kg.
    pub fn point(mass: f64) -> Self {
        Self { mass, com: Vector3::zeros(), matrix: Matrix3::zeros() }
    }

    /// This body seen from another frame, in which this body's frame has `pose`.
    pub fn moved(&self, pose: &Isometry3<f64>) -> Self {
        let r = pose.rotation.to_rotation_matrix();
        Self {
            mass: self.mass,
            com: pose * nalgebra::Point3::from(self.com) - nalgebra::Point3::origin(),
            matrix: r * self.matrix * r.inverse(),
        }
    }

    /// The inertia about a point instead of the centre of mass (parallel axes), kg·m².
    pub fn about(&self, point: &Vector3<f64>) -> Matrix3<f64> {
        let c = self.com - point;
        self.matrix + (Matrix3::identity() * c.norm_squared() - c * c.transpose()) * self.mass
    }

    /// Several bodies in one frame, joined to one; none if there is no mass.
    pub fn sum(parts: &[Self]) -> Option<Self> {
        let mass: f64 = parts.iter().map(|part| part.mass).sum();
        if mass <= 0.0 {
            return None;
        }
        let com = parts.iter().map(|part| part.com * part.mass).sum::<Vector3<f64>>() / mass;
        Some(Self { mass, com, matrix: parts.iter().map(|part| part.about(&com)).sum() })
    }

    /// Checks that this is a possible mass distribution.
    ///
    /// # Errors
    /// If the mass is not positive or is more than 1e9 kg, a number is not finite, or the matrix is not symmetric or
    /// has a negative eigenvalue. Principal moments that violate the triangle inequality are accepted, because real
    /// files have them.
    pub fn validate(&self) -> Result<()> {
        check::positive("mass", self.mass)?;
        check::at_most("mass", self.mass, HEAVIEST, "kg")?;
        check::position("centre of mass", &self.com)?;
        if !self.matrix.iter().all(|x| x.is_finite()) {
            return Err(Error::invalid("inertia", "expected six finite numbers"));
        }
        check::at_most("inertia", self.matrix.amax(), HEAVIEST * check::LONGEST.powi(2), "kg m^2")?;
        let largest = self.matrix.amax();
        if (self.matrix - self.matrix.transpose()).amax() > NEGATIVE_ALLOWED * largest {
            return Err(Error::invalid("inertia", "expected a symmetric matrix"));
        }
        let least = self.principal_moments()[0];
        if least < -NEGATIVE_ALLOWED * largest {
            return Err(Error::invalid(
                "inertia",
                format!("expected a positive semidefinite matrix, but one principal moment is {least:.3e} kg m^2"),
            ));
        }
        Ok(())
    }

    /// The principal moments in ascending order, kg·m². For a solid body, the largest is at most the sum of the others.
    pub fn principal_moments(&self) -> [f64; 3] {
        let mut moments: [f64; 3] = self.matrix.symmetric_eigenvalues().into();
        moments.sort_by(f64::total_cmp);
        moments
    }
}
