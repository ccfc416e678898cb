//! The core of a shape: the shape without its rounding. With its support function and related queries.

use std::cmp::Ordering;
use std::sync::Arc;

use nalgebra::Vector3;

use crate::{Hull, Shape};

/// A convex body in its own frame; a shape is all points within a radius of its core.
#[derive(Clone, Debug)]
pub(super) enum Core {
    Point,
    /// Segment on the z axis, by half its length.
    Segment(f64),
    /// Box, by its half extents.
    Box(Vector3<f64>),
    Cylinder {
        radius: f64,
        half_length: f64,
    },
    /// Ellipsoid, by its radii.
    Ellipsoid(Vector3<f64>),
    Hull(Arc<Hull>),
    /// All points with z ≤ 0.
    HalfSpace,
}

impl Core {
    /// The core of a shape whose sizes are `sizes`, as [`Shape::sizes`] orders them, and the radius around it.
    pub(super) fn of(shape: &Shape, sizes: [f64; Shape::SIZES]) -> (Self, f64) {
        let [x, y, z, rounding] = sizes;
        match shape {
            Shape::Sphere { .. } => (Self::Point, x),
            Shape::Capsule { .. } => (Self::Segment(y), x),
            Shape::Box { .. } => (Self::Box(Vector3::new(x, y, z).add_scalar(-rounding)), rounding),
            Shape::Cylinder { .. } => (Self::Cylinder { radius: x, half_length: y }, 0.0),
            Shape::Ellipsoid { .. } => (Self::Ellipsoid(Vector3::new(x, y, z)), 0.0),
            Shape::Hull(hull) => (Self::Hull(hull.clone()), 0.0),
            Shape::Grid(grid) => (Self::Hull(grid.hull().clone()), 0.0),
            Shape::HalfSpace => (Self::HalfSpace, 0.0),
        }
    }

    /// Are the sizes positive?
    pub(super) fn is_solid(&self) -> bool {
        let positive = |x: f64| x > 0.0 && x.is_finite();
        match self {
            Self::Point | Self::Hull(_) | Self::HalfSpace => true,
            Self::Segment(half) => positive(*half),
            Self::Box(v) | Self::Ellipsoid(v) => v.iter().all(|&x| positive(x)),
            Self::Cylinder { radius, half_length } => positive(*radius) && positive(*half_length),
        }
    }

    /// Is the core the convex hull of some points?
    pub(super) fn is_polyhedral(&self) -> bool {
        matches!(self, Self::Point | Self::Segment(_) | Self::Box(_) | Self::Hull(_))
    }

    /// A point in the middle of the core.
    pub(super) fn middle(&self) -> Vector3<f64> {
        match self {
            Self::Hull(hull) => hull.middle(),
            _ => Vector3::zeros(),
        }
    }

    /// A point of the core that is farthest along `direction` (of any length). The origin for a half-space.
    #[inline]
    pub(super) fn support(&self, direction: &Vector3<f64>) -> Vector3<f64> {
        match self {
            Self::Point | Self::HalfSpace => Vector3::zeros(),
            Self::Segment(half) => Vector3::new(0.0, 0.0, half.copysign(direction.z)),
            Self::Box(half) => {
                Vector3::new(half.x.copysign(direction.x), half.y.copysign(direction.y), half.z.copysign(direction.z))
            }
            Self::Cylinder { radius, half_length } => {
                let across = direction.xy();
                let rim = across.try_normalize(f64::MIN_POSITIVE).unwrap_or(nalgebra::Vector2::x()) * *radius;
                Vector3::new(rim.x, rim.y, half_length.copysign(direction.z))
            }
            Self::Ellipsoid(radii) => {
                let scaled = radii.component_mul(direction);
                let length = scaled.norm();
                if length > 0.0 { radii.component_mul(&scaled) / length } else { Vector3::new(radii.x, 0.0, 0.0) }
            }
            Self::Hull(hull) => Vector3::from(hull.vertices()[hull.farthest(direction)]),
        }
    }

    /// Is the point inside the core, or outside by at most `tolerance`?
    #[inline]
    pub(super) fn contains(&self, p: &Vector3<f64>, tolerance: f64) -> bool {
        match self {
            Self::Point => p.norm() <= tolerance,
            Self::Segment(half) => p.z.abs() <= half + tolerance && p.xy().norm() <= tolerance,
            Self::Box(half) => (0..3).all(|k| p[k].abs() <= half[k] + tolerance),
            Self::Cylinder { radius, half_length } => {
                p.z.abs() <= half_length + tolerance && p.xy().norm() <= radius + tolerance
            }
            Self::Ellipsoid(radii) => {
                let length = p.component_div(radii).norm();
                p.norm() * (length - 1.0) <= tolerance * length
            }
            Self::Hull(hull) => hull.planes().contain(p, tolerance),
            Self::HalfSpace => p.z <= tolerance,
        }
    }

    /// The farthest distance of the core from its frame's origin; 0 for a half-space.
    #[inline]
    pub(super) fn reach(&self) -> f64 {
        match self {
            Self::Point | Self::HalfSpace => 0.0,
            Self::Segment(half) => *half,
            Self::Box(half) => half.norm(),
            Self::Cylinder { radius, half_length } => radius.hypot(*half_length),
            Self::Ellipsoid(radii) => radii.max(),
            Self::Hull(hull) => hull.reach(),
        }
    }

    /// Rank in a fixed order of kinds, so that one function serves both orders of a pair.
    fn rank(&self) -> u8 {
        match self {
            Self::Point => 0,
            Self::Segment(_) => 1,
            Self::Box(_) => 2,
            Self::Cylinder { .. } => 3,
            Self::Ellipsoid(_) => 4,
            Self::Hull(_) => 5,
            Self::HalfSpace => 6,
        }
    }

    /// The numbers that a core of this type is given by, followed by zeros.
    pub(super) fn sizes(&self) -> [f64; 3] {
        match self {
            Self::Point | Self::Hull(_) | Self::HalfSpace => [0.0; 3],
            Self::Segment(half) => [*half, 0.0, 0.0],
            Self::Box(v) | Self::Ellipsoid(v) => (*v).into(),
            Self::Cylinder { radius, half_length } => [*radius, *half_length, 0.0],
        }
    }

    /// A fixed order of cores, by type and then by size. Any order will do, as long as it does not depend on which body
    /// comes first.
    #[inline(always)]
    pub(super) fn order(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Point, Self::Point) => Ordering::Equal,
            (Self::Segment(a), Self::Segment(b)) => number(*a, *b),
            (Self::Hull(a), Self::Hull(b)) if Arc::ptr_eq(a, b) => Ordering::Equal,
            (Self::Hull(a), Self::Hull(b)) => numbers(a.vertices().as_flattened(), b.vertices().as_flattened()),
            _ => self.rank().cmp(&other.rank()).then_with(|| numbers(&self.sizes(), &other.sizes())),
        }
    }
}

/// The total order of two numbers, fast if they are equal.
#[inline]
pub(super) fn number(a: f64, b: f64) -> Ordering {
    if a.to_bits() == b.to_bits() { Ordering::Equal } else { a.total_cmp(&b) }
}

/// The lexicographic order of two lists of numbers.
#[inline]
pub(super) fn numbers(a: &[f64], b: &[f64]) -> Ordering {
    for k in 0..a.len().min(b.len()) {
        if a[k].to_bits() != b[k].to_bits() {
            return a[k].total_cmp(&b[k]);
        }
    }
    a.len().cmp(&b.len())
}
