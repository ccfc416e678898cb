//! Collision shapes.

use std::path::Path;
use std::sync::Arc;

use nalgebra::{Isometry3, Vector3};

use super::mesh::{check_scale, scaled, vertices};
use super::{DistanceGrid, Hull, check};
use crate::error::{Error, Result};

/// A collision shape in its own frame, centred at the frame's origin. Lengths are in metres, positive and at most 1e6.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Ball.
    Sphere {
        /// Radius.
        radius: f64,
    },
    /// All points within `radius` of a segment on the z axis.
    Capsule {
        /// Radius.
        radius: f64,
        /// Half the length of the segment, caps not counted.
        half_length: f64,
    },
    /// Box with edges along the axes, optionally rounded.
    Box {
        /// Half the edge lengths, rounding included.
        half_extents: [f64; 3],
        /// Radius of the rounded edges and corners. It may be 0 and must be less than every half extent.
        rounding: f64,
    },
    /// Solid cylinder about the z axis.
    Cylinder {
        /// Radius.
        radius: f64,
        /// Half the height.
        half_length: f64,
    },
    /// Solid ellipsoid with its axes along x, y and z.
    Ellipsoid {
        /// Half the length of each axis.
        radii: [f64; 3],
    },
    /// Convex polyhedron. It need not be centred at the frame's origin.
    Hull(Arc<Hull>),
    /// A mesh by its signed distance, concave or not. It touches spheres and capsules; for all else it stands for its
    /// hull. It need not be centred at the frame's origin.
    Grid(Arc<DistanceGrid>),
    /// All points with z ≤ 0. The boundary plane goes through the frame's origin, and its outward normal is +z.
    HalfSpace,
}

impl Shape {
    /// The radius of a ball around the shape, m; infinite for a half-space.
    pub fn radius(&self) -> f64 {
        let [x, y, z, _] = self.sizes();
        match self {
            Self::Sphere { .. } => x,
            Self::Capsule { .. } => x + y,
            Self::Cylinder { .. } => x.hypot(y),
            Self::Box { .. } => x.hypot(y).hypot(z),
            Self::Ellipsoid { .. } => x.max(y).max(z),
            Self::HalfSpace => f64::INFINITY,
            Self::Hull(_) | Self::Grid(_) => {
                let points = self.hulled().map_or(&[][..], |hull| hull.vertices());
                let extent = |k: usize| {
                    let [low, high] = points.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], point| {
                        [low.min(point[k]), high.max(point[k])]
                    });
                    high - low
                };
                extent(0).hypot(extent(1)).hypot(extent(2)) / 2.0
            }
        }
    }

    /// A ball, m.
    pub fn sphere(radius: f64) -> Self {
        Self::Sphere { radius }
    }

    /// All points within `radius` of a segment of length 2 `half_length` along z, m.
    pub fn capsule(radius: f64, half_length: f64) -> Self {
        Self::Capsule { radius, half_length }
    }

    /// A box with sharp edges, given by its half extents, m.
    pub fn cuboid(half_extents: [f64; 3]) -> Self {
        Self::rounded_cuboid(half_extents, 0.0)
    }

    /// A box given by its half extents, rounding included, and the radius of its edges and corners, m.
    pub fn rounded_cuboid(half_extents: [f64; 3], rounding: f64) -> Self {
        Self::Box { half_extents, rounding }
    }

    /// A solid cylinder along z, m.
    pub fn cylinder(radius: f64, half_length: f64) -> Self {
        Self::Cylinder { radius, half_length }
    }

    /// A solid ellipsoid, given by half the lengths of its axes, m.
    pub fn ellipsoid(radii: [f64; 3]) -> Self {
        Self::Ellipsoid { radii }
    }

    /// The convex hull of points, m.
    ///
    /// # Errors
    /// As [`Hull::new`].
    pub fn hull(points: &[[f64; 3]]) -> Result<Self> {
        Ok(Self::Hull(Arc::new(Hull::new(points)?)))
    }

    /// Checks that the sizes are possible.
    ///
    /// # Errors
    /// If a size is not positive or is more than 1e6 m, or a rounding is negative or not less than every half extent.
    pub fn validate(&self) -> Result<()> {
        match *self {
            Self::Sphere { radius } => check::length("sphere radius", radius),
            Self::Capsule { radius, half_length } => {
                check::length("capsule radius", radius)?;
                check::length("capsule half length", half_length)
            }
            Self::Cylinder { radius, half_length } => {
                check::length("cylinder radius", radius)?;
                check::length("cylinder half length", half_length)
            }
            Self::Box { half_extents, rounding } => {
                half_extents.iter().try_for_each(|&half| check::length("box half extent", half))?;
                let least = half_extents.into_iter().fold(f64::INFINITY, f64::min);
                check::not_negative("box rounding", rounding)?;
                if rounding < least {
                    return Ok(());
                }
                Err(Error::invalid(
                    "box rounding",
                    format!("expected less than the smallest half extent {least}, got {rounding}"),
                ))
            }
            Self::Ellipsoid { radii } => radii.iter().try_for_each(|&radius| check::length("ellipsoid radius", radius)),
            Self::Hull(_) | Self::Grid(_) | Self::HalfSpace => Ok(()),
        }
    }

    /// Length of [`Shape::sizes`].
    pub const SIZES: usize = 4;

    /// The sizes, padded with zeros: sphere `[r]`, capsule and cylinder `[r, half length]`, box `[half x, half y, half
    /// z, rounding]`, ellipsoid `[radius x, radius y, radius z]`. A hull, a grid and a half-space have none.
    pub fn sizes(&self) -> [f64; Self::SIZES] {
        match *self {
            Self::Sphere { radius } => [radius, 0.0, 0.0, 0.0],
            Self::Capsule { radius, half_length } | Self::Cylinder { radius, half_length } => {
                [radius, half_length, 0.0, 0.0]
            }
            Self::Box { half_extents: [x, y, z], rounding } => [x, y, z, rounding],
            Self::Ellipsoid { radii: [x, y, z] } => [x, y, z, 0.0],
            Self::Hull(_) | Self::Grid(_) | Self::HalfSpace => [0.0; 4],
        }
    }

    /// The hull that the shape is, or that it has for others than spheres and capsules.
    pub fn hulled(&self) -> Option<&Arc<Hull>> {
        match self {
            Self::Hull(hull) => Some(hull),
            Self::Grid(grid) => Some(grid.hull()),
            _ => None,
        }
    }

    /// The shape's name in scene files.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Sphere { .. } => "sphere",
            Self::Capsule { .. } => "capsule",
            Self::Box { .. } => "box",
            Self::Cylinder { .. } => "cylinder",
            Self::Ellipsoid { .. } => "ellipsoid",
            Self::Hull(_) => "hull",
            Self::Grid(_) => "grid",
            Self::HalfSpace => "halfspace",
        }
    }
}

impl Shape {
    /// The most contacts that it has with a plane at once.
    pub fn contacts_on_plane(&self) -> usize {
        match self {
            Self::Sphere { .. } | Self::Ellipsoid { .. } => 1,
            Self::Capsule { .. } => 2,
            Self::Box { .. } | Self::Hull(_) | Self::Grid(_) => 4,
            // Four on the rim.
            Self::Cylinder { .. } => 4,
            Self::HalfSpace => 0,
        }
    }

    /// The shape's range along an axis of the frame in which it has this pose, m.
    pub fn ends(&self, pose: &Isometry3<f64>, axis: usize) -> (f64, f64) {
        let along: Vector3<f64> = pose.rotation.inverse() * Vector3::ith_axis(axis).into_inner();
        let middle = pose.translation.vector[axis];
        let half = match self {
            Self::Sphere { radius } => *radius,
            Self::Capsule { radius, half_length } => radius + half_length * along.z.abs(),
            Self::Cylinder { radius, half_length } => radius * along.xy().norm() + half_length * along.z.abs(),
            Self::Box { half_extents, rounding } => {
                let core = half_extents.map(|half| half - rounding);
                rounding + Vector3::from(core).dot(&along.abs())
            }
            Self::Ellipsoid { radii } => Vector3::from(*radii).component_mul(&along).norm(),
            Self::Hull(_) | Self::Grid(_) => {
                let vertices = self.hulled().map_or(&[][..], |hull| hull.vertices());
                let heights = vertices.iter().map(|&vertex| Vector3::from(vertex).dot(&along));
                let (low, high) = heights.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)));
                return (middle + low, middle + high);
            }
            Self::HalfSpace => f64::INFINITY,
        };
        (middle - half, middle + half)
    }
}

/// The convex hull of all vertices in a mesh file, scaled along x, y and z (a negative number mirrors). The
/// transforms of a COLLADA or GLB file's scene and its unit are applied; its up axis is not.
///
/// # Errors
/// If the file cannot be read, is larger than 512 MiB, is not STL, OBJ, COLLADA or GLB, is damaged, or is flat or
/// empty. The error's place is the file.
pub fn hull(path: &Path, scale: [f64; 3]) -> Result<Shape> {
    let place = |error: Error| error.within(path.display());
    check_scale(scale).map_err(place)?;
    Shape::hull(&scaled(&vertices(path)?, scale)).map_err(place)
}
