//! What bounds a shape.

use fingertip_lanes::vector::Vec3;
use fingertip_scene::Shape;

/// A bounding volume of a shape, in its own frame.
#[derive(Clone, Copy, Debug)]
pub enum Bound {
    /// A ball about the origin. Its radius follows from the sizes.
    Ball(Round),
    /// A box about this centre, m, by half of its sides, and the radius of a ball about it.
    Fixed { centre: Vec3<f64>, half: Vec3<f64>, radius: f64 },
    /// The half-space itself.
    HalfSpace,
}

/// A shape whose sizes may vary.
#[derive(Clone, Copy, Debug)]
pub enum Round {
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
                let [low, high] = [f64::min, f64::max].map(|of| {
                    let along = |k: usize| points.iter().map(move |point| point[k]).reduce(of).unwrap_or(0.0);
                    [0, 1, 2].map(along)
                });
                let centre = [0, 1, 2].map(|k| (low[k] + high[k]) / 2.0);
                let half = [0, 1, 2].map(|k| (high[k] - low[k]) / 2.0);
                let from_centre =
                    |point: &Vec3<f64>| (0..3).map(|k| (point[k] - centre[k]).powi(2)).sum::<f64>().sqrt();
                let radius = points.iter().map(from_centre).fold(0.0, f64::max);
                Self::Fixed { centre, half, radius }
            }
        }
    }
}
