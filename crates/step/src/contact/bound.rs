//! What bounds a shape.

use fingertip_lanes::vector::Vec3;
use fingertip_scene::Shape;

/// A bounding volume of a shape, in its own frame.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bound {
    /// A ball about the origin. Its radius follows from the sizes.
    Ball(Round),
    /// A ball about this centre with this radius, m.
    Fixed(Vec3<f64>, f64),
    /// The half-space itself.
    HalfSpace,
}

/// A shape whose sizes may vary.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Round {
    Sphere,
    Capsule,
    Cylinder,
    Box,
    Ellipsoid,
}

impl Bound {
    pub(crate) fn new(shape: &Shape) -> Self {
        match shape {
            Shape::Sphere { .. } => Self::Ball(Round::Sphere),
            Shape::Capsule { .. } => Self::Ball(Round::Capsule),
            Shape::Cylinder { .. } => Self::Ball(Round::Cylinder),
            Shape::Box { .. } => Self::Ball(Round::Box),
            Shape::Ellipsoid { .. } => Self::Ball(Round::Ellipsoid),
            Shape::HalfSpace => Self::HalfSpace,
            Shape::Hull(_) | Shape::Grid(_) => {
                let points = shape.hulled().map_or(&[][..], |hull| hull.vertices());
                let centre = std::array::from_fn(|k| {
                    let low = points.iter().map(|point| point[k]).fold(f64::INFINITY, f64::min);
                    let high = points.iter().map(|point| point[k]).fold(f64::NEG_INFINITY, f64::max);
                    (low + high) / 2.0
                });
                let from_centre =
                    |point: &Vec3<f64>| (0..3).map(|k| (point[k] - centre[k]).powi(2)).sum::<f64>().sqrt();
                Self::Fixed(centre, points.iter().map(from_centre).fold(0.0, f64::max))
            }
        }
    }
}
