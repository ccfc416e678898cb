//! The stiffness against rolling of a contact, by eigenvalues: with docs/rolling.md as the only thing in common with the step's.

use fingertip::description::{Friction, Shape};
use nalgebra::{Matrix3, Matrix3x2, SymmetricEigen, Vector3};

/// The curved surface of a rolling contact, in world axes: a rolling ellipsoid, or a fixed line.
pub enum Curved {
    /// A rolling ellipsoid with these axes as columns, and radii, m.
    Ellipsoid(Matrix3<f64>, Vector3<f64>),
    /// A fixed line with this axis and radius, m, on which a body rolls. The rolling body may be a line too, the second one.
    Line((Vector3<f64>, f64), Option<(Vector3<f64>, f64)>),
}

impl Curved {
    /// The curved surface between a shape and the other shape that it touches; none if the step has no rolling stiffness there. A shape
    /// is given with its pose's rotation and its sizes; the other one only if it is fixed.
    pub fn of(
        (shape, turn, sizes): (&Shape, Matrix3<f64>, &[f64]),
        on: Option<(&Shape, Matrix3<f64>, &[f64])>,
    ) -> Option<Self> {
        let line = |shape: &Shape, turn: &Matrix3<f64>, sizes: &[f64]| {
            let is_line = matches!(shape, Shape::Cylinder { .. } | Shape::Capsule { .. });
            is_line.then(|| (turn.column(2).into_owned(), sizes[0]))
        };
        match shape {
            Shape::Ellipsoid { .. } => Some(Self::Ellipsoid(turn, Vector3::from_column_slice(&sizes[..3]))),
            Shape::Sphere { .. } | Shape::HalfSpace => None,
            _ => {
                let (other, turn_of_other, sizes_of_other) = on?;
                let below = line(other, &turn_of_other, sizes_of_other)?;
                Some(Self::Line(below, line(shape, &turn, sizes)))
            }
        }
    }
}

/// A contact.
pub struct Rolling {
    /// Out of what rolls.
    pub normal: Vector3<f64>,
    /// On what rolls, m.
    pub point: Vector3<f64>,
    /// Gap, m, and weight of the contact.
    pub phi: f64,
    pub weight: f64,
    /// Centre of mass of its body, m.
    pub centre: Vector3<f64>,
    pub curved: Curved,
    /// Weight of its body, N.
    pub load: f64,
}

impl Rolling {
    /// Torque per rotation, N·m/rad.
    pub fn stiffness(&self, friction: Friction, kappa: f64) -> Matrix3<f64> {
        let n = self.normal;
        let height = n.dot(&(self.point - self.centre));
        let held = |radius: f64, size: f64| {
            let lacks = (radius - height).max(0.0);
            lacks * lacks / (lacks + 1e-3 * size)
        };
        let holds = match &self.curved {
            Curved::Ellipsoid(axes, radii) => {
                let squares = axes * Matrix3::from_diagonal(&radii.component_mul(radii)) * axes.transpose();
                let s = n.dot(&(squares * n)).sqrt();
                let far = squares * n / s;
                let across = n.cross(&Vector3::ith(n.iamin(), 1.0)).normalize();
                let basis = Matrix3x2::from_columns(&[across, n.cross(&across)]);
                let curvature = basis.transpose() * (squares - far * far.transpose()) * basis / s;
                let SymmetricEigen { eigenvalues, eigenvectors } = SymmetricEigen::new(curvature);
                let each = eigenvalues.iter().zip(eigenvectors.column_iter());
                each.map(|(&radius, direction)| {
                    let axis = n.cross(&(basis * direction));
                    axis * axis.transpose() * held(radius, s)
                })
                .sum::<Matrix3<f64>>()
            }
            &Curved::Line((axis, radius), own) => {
                let (side, about) = (axis.cross(&n), n.cross(&axis).cross(&n));
                let upright = side.norm_squared();
                let own = own.map_or(0.0, |(own, radius)| {
                    (upright - own.dot(&side).powi(2)) * own.cross(&n).norm_squared() / radius
                });
                about * about.transpose() * (upright * held(1.0 / (1.0 / radius + own), radius))
            }
        };
        holds * self.force(friction, kappa)
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
