//! The stiffness against rolling of a contact, and of what hangs from its contacts, by eigenvalues: with
//! docs/rolling.md as the only thing in common with the step's.

use fingertip::Model;
use fingertip::description::{Friction, JointKind, Shape};
use nalgebra::{Matrix3, Matrix3x2, SymmetricEigen, Vector3};

/// The curved surface of a rolling contact, in world axes: a rolling ellipsoid, or a fixed line.
pub enum Curved {
    /// A rolling ellipsoid with these axes as columns, and radii, m.
    Ellipsoid(Matrix3<f64>, Vector3<f64>),
    /// A fixed line with this axis and radius, m, on which a body rolls. The rolling body may be a line too, the second
    /// one.
    Line((Vector3<f64>, f64), Option<(Vector3<f64>, f64)>),
}

impl Curved {
    /// The curved surface between a shape and the other shape that it touches; none if the step has no rolling
    /// stiffness there. A shape is given with its pose's rotation and its sizes; the other one only if it is fixed.
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

/// A contact of a round body with what it rolls on.
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
    /// Inertia of its body about the centre of mass, along any axes, kg·m².
    pub inertia: Matrix3<f64>,
}

impl Rolling {
    /// Torque per rotation, N·m/rad; `factor` is ε/h².
    pub fn stiffness(&self, friction: Friction, kappa: f64, factor: f64) -> Matrix3<f64> {
        let n = self.normal;
        if self.load == 0.0 {
            return Matrix3::zeros();
        }
        let height = n.dot(&(self.point - self.centre)) + factor * inertia_at_least(self.inertia) / (2.0 * self.load);
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
        holds * force(self.phi, self.weight, self.load, friction, kappa)
    }
}

/// The force that balances the gap, at most ten times the load, N.
fn force(phi: f64, weight: f64, load: f64, friction: Friction, kappa: f64) -> f64 {
    if weight <= 0.0 {
        return 0.0;
    }
    let most = 10.0 * load;
    let share = weight * if friction == Friction::Coulomb { 1.0 } else { 2.0 };
    let pressed = kappa * phi * most;
    let gap = if pressed < 0.0 {
        0.5 * share * share / (pressed.hypot(share) - pressed)
    } else {
        0.5 * (pressed + pressed.hypot(share))
    };
    share * most / share.hypot(gap)
}

/// What an inertia is at least about any axis, by 1/tr I⁻¹, kg·m². 0 of none.
fn inertia_at_least(inertia: Matrix3<f64>) -> f64 {
    let axes = SymmetricEigen::new(inertia).eigenvalues;
    if axes.min() > 0.0 { 1.0 / axes.map(|of| 1.0 / of).sum() } else { 0.0 }
}

/// A body that may hang.
pub struct Hanging {
    /// Centre of mass, m.
    pub centre: Vector3<f64>,
    pub mass: f64,
    pub gravity: Vector3<f64>,
    /// Inertia about the centre of mass, along any axes, kg·m².
    pub inertia: Matrix3<f64>,
    /// Its contacts: normal out of the body, point on it, φ, weight.
    pub contacts: Vec<(Vector3<f64>, Vector3<f64>, f64, f64)>,
}

impl Hanging {
    /// May a body of a model hang from its contacts? One that moves freely, with no others on it, and is no ball.
    pub fn is_one(model: &Model, body: usize) -> bool {
        let tree = &model.tree;
        let shapes: Vec<_> = model.shapes.iter().filter(|shape| shape.body == body).map(|shape| &shape.shape).collect();
        let is_ball = matches!(shapes[..], [Shape::Sphere { .. }]);
        let is_free = matches!(tree.bodies[body].kind, JointKind::Floating | JointKind::Planar);
        let is_alone = tree.bodies[body].parent == 0 && (1..tree.bodies.len()).all(|k| tree.bodies[k].parent != body);
        let path = tree.path(body);
        let passive = tree.passive();
        let is_passive = path.iter().all(|&screw| passive.contains(&tree.screw_dof[screw]));
        model.params.rolling && is_free && is_alone && is_passive && !is_ball
    }

    /// Torque per rotation, N·m/rad; `factor` is ε/h².
    pub fn stiffness(&self, friction: Friction, kappa: f64, factor: f64) -> Matrix3<f64> {
        let pull = self.gravity.norm();
        if pull == 0.0 {
            return Matrix3::zeros();
        }
        let (up, weight) = (-self.gravity / pull, self.mass * pull);
        let (mut carried, mut moment, mut friction_height, mut across) = (0.0, 0.0, 0.0, 0.1 * weight);
        for (normal, point, phi, part) in &self.contacts {
            let pressed = force(*phi, *part, weight, friction, kappa);
            let (vertical, height) = (-pressed * normal.dot(&up), (point - self.centre).dot(&up));
            carried += vertical;
            moment += vertical * height;
            let level = pressed * normal.cross(&up).norm_squared();
            across += level;
            friction_height += level * height;
        }
        moment += (weight - carried) * friction_height / across;
        let borne = factor * (inertia_at_least(self.inertia) + moment * moment / (weight * pull));
        let lacks = (moment - borne).max(0.0);
        (Matrix3::identity() - up * up.transpose()) * (lacks * lacks / (lacks + 0.1 * borne))
    }
}
