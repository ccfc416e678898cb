//! Floor 4: distances of convex bodies, one pair at a time, in plain `f64`.
//!
//! For any two of sphere, capsule, box, rounded box, cylinder, ellipsoid, convex hull and half-space: the signed distance
//! with its witness points, normal and derivatives ([`distance()`], [`Collider`]), and several contact points where flat sides
//! meet ([`Collider::manifold`]).
//!
//! ```
//! use fingertip::{collision, description::Shape};
//! use nalgebra::Isometry3;
//!
//! # fn main() -> fingertip::Result<()> {
//! let (box_, egg) = (Shape::cuboid([0.1, 0.1, 0.1]), Shape::ellipsoid([0.02, 0.02, 0.03]));
//! let (at, above) = (Isometry3::identity(), Isometry3::translation(0.0, 0.0, 0.15));
//! let near = collision::distance(&box_, &at, &egg, &above)?;
//! assert!((near.phi - 0.02).abs() < 1e-15 && (near.normal.z - 1.0).abs() < 1e-15);
//! # Ok(())
//! # }
//! ```
//!
//! A body is a core (point, segment, box, cylinder, ellipsoid, polyhedron) and a radius around it. Two cores' distance is
//! from a formula where there is one; that of boxes and segments from the separating axes, see `axes.rs`, where a vertex is
//! over a face or edges cross; theirs to cylinders from the few directions in which these may be nearest, see `cylinder.rs`;
//! that of ellipsoids by Newton's method alone, see `smooth.rs`; else GJK and EPA (of the crate `parry3d-f64`) find out which
//! features touch, and Newton's method makes the answer exact, see `polish.rs`.
//!
//! The signed distance of convex bodies is the largest separation s(n) = min_B n·x − max_A n·x over all unit vectors n, its
//! maximiser the normal: the closest points' distance when apart, minus the shortest translation that parts them when not.

mod axes;
mod closed;
mod collider;
mod core;
mod cylinder;
mod feature;
mod frame;
mod manifold;
mod number;
mod overlap;
mod patch;
mod polish;
mod pull;
mod query;
mod sensitivity;
mod smooth;
mod tilt;

use nalgebra::{Isometry3, Vector3, Vector6};

use crate::description::Shape;
use crate::error::{Error, Result};

pub use collider::Collider;
pub(crate) use manifold::NEAR;
pub use manifold::{ContactPoint, LIGHT, MANIFOLD, Manifold};
pub(crate) use patch::TILT;
pub use pull::ManifoldGradient;
pub(crate) use pull::{ContactRates, ManifoldRates};
pub use sensitivity::{BodyGradient, DistanceGradient};
pub(crate) use tilt::NONE;

/// Where two bodies A and B are nearest, or part on the shortest way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distance {
    /// Signed distance φ, m; positive apart, minus the depth inside.
    pub phi: f64,
    /// Witness point on A in the world, m.
    pub point_a: Vector3<f64>,
    /// Witness point on B in the world, m; `point_b − point_a = phi · normal`.
    pub point_b: Vector3<f64>,
    /// Unit normal from A to B.
    pub normal: Vector3<f64>,
}

impl Distance {
    /// ∂φ by the twists (v, ω) of A and of B, along the world's axes, v that of each body's `origin`: the normal's row
    /// J_n of the contact Jacobian, −(n, (p_A − o_A) × n) and (n, (p_B − o_B) × n). Exact wherever φ has a
    /// derivative, as closest points are stationary.
    pub fn gradient(&self, origin_a: &Vector3<f64>, origin_b: &Vector3<f64>) -> [Vector6<f64>; 2] {
        let side = |point: &Vector3<f64>, origin: &Vector3<f64>| {
            let (n, moment) = (self.normal, (point - origin).cross(&self.normal));
            Vector6::new(n.x, n.y, n.z, moment.x, moment.y, moment.z)
        };
        [-side(&self.point_a, origin_a), side(&self.point_b, origin_b)]
    }

    fn swapped(self) -> Self {
        Self { phi: self.phi, point_a: self.point_b, point_b: self.point_a, normal: -self.normal }
    }
}

/// Signed distance of two shapes in the world. For many queries make [`Collider`]s once.
///
/// # Errors
/// A shape that is not valid, a pose that is not finite, or two half-spaces.
pub fn distance(a: &Shape, pose_a: &Isometry3<f64>, b: &Shape, pose_b: &Isometry3<f64>) -> Result<Distance> {
    for (side, shape, pose) in [("A", a, pose_a), ("B", b, pose_b)] {
        shape.validate().map_err(|error| error.within(side))?;
        if !pose.to_homogeneous().iter().all(|x| x.is_finite()) {
            return Err(Error::invalid(format!("{side}: pose"), "expected finite numbers"));
        }
    }
    let apart = Collider::new(a).distance(pose_a, &Collider::new(b), pose_b);
    apart.ok_or_else(|| Error::invalid("distance", "expected at most one half-space, got two"))
}
