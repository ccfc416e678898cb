//! Distances of convex bodies, one pair at a time, in plain `f64`.
//!
//! The bodies are any two of sphere, capsule, box, rounded box, cylinder, ellipsoid, convex hull and half-space (but
//! not two half-spaces). [`distance()`] and [`Collider`] give the signed distance with its witness points, normal and
//! derivatives. [`Collider::manifold`] gives several contact points where flat sides meet.
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
//! A body is a core (point, segment, box, cylinder, ellipsoid, polyhedron) and a radius around it. The distance of two
//! cores is computed in one of these ways:
//!
//! - by a formula, where there is one;
//! - for boxes and segments, from the separating axes, if a vertex is over a face or edges cross (`axes.rs`);
//! - for a cylinder and a box or segment, from the few directions in which they may be nearest (`cylinder.rs`);
//! - for ellipsoids, by Newton's method alone (`smooth.rs`);
//! - otherwise GJK and EPA (from the crate `parry3d-f64`) find the features that touch, and Newton's method makes the
//!   answer exact (`polish.rs`);
//! - where it does not, as for features that are nearly parallel, a GJK that is right to rounding (`nearest.rs`).
//!
//! Of a hull's edge that lies along another edge or over a face many points are closest: the distance has the middle of
//! what both have in common (`common.rs`).
//!
//! The signed distance of convex bodies is the largest separation s(n) = min_B n·x − max_A n·x over all unit vectors n;
//! the maximiser is the normal. For bodies that are apart it is the distance of the closest points. For bodies that
//! overlap it is minus the length of the shortest translation that separates them.

mod axes;
mod body;
mod choice;
mod closed;
mod collider;
mod common;
mod core;
mod cylinder;
mod detail;
mod distance;
mod edges;
mod feature;
mod frame;
mod heights;
mod manifold;
mod nearest;
mod points;
mod polish;
mod query;
mod relative;
mod seen;
mod sensitivity;
mod side;
mod smooth;
mod vjp;

use nalgebra::Isometry3;

use crate::Shape;
use crate::error::{Error, Result};

pub use collider::Collider;
pub use detail::{Detail, MANIFOLD};
pub use distance::Distance;
pub use manifold::{ContactPoint, Manifold};
pub use sensitivity::{BodyGradient, DistanceGradient};
pub use vjp::ManifoldGradient;
pub use vjp::{ContactRates, ManifoldRates};

/// Signed distance of two shapes in the world. For many queries, make the [`Collider`]s once.
///
/// # Errors
/// If a shape is not valid, a pose is not finite, or both shapes are half-spaces.
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
