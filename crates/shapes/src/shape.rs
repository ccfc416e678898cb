//! Collision shapes.

use std::sync::Arc;

use nalgebra::{Isometry3, Translation3, Unit, UnitQuaternion, Vector3};

use super::{Decompose, DistanceGrid, GridSettings, Hull, MeshFile, Surface, check};
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
    /// A mesh by its signed distance, concave or not. It touches spheres and capsules; for all else it stands for its hull. It need not
    /// be centred at the frame's origin.
    Grid(Arc<DistanceGrid>),
    /// All points with z ≤ 0. The boundary plane goes through the frame's origin, and its outward normal is +z.
    HalfSpace,
}

/// A collision shape on a body.
#[derive(Clone, Debug, PartialEq)]
pub struct Collision {
    /// The shape.
    pub shape: Shape,
    /// The shape's frame in the body's frame.
    pub pose: Isometry3<f64>,
    /// Rules of what the shape may touch, and its friction. None: everything, with the scene's.
    pub surface: Option<Surface>,
    /// Which kinds of shapes it may touch.
    pub partners: Partners,
    /// The file whose vertices the shape is the hull of, if it is that of a whole file.
    pub mesh: Option<MeshFile>,
}

/// Which kinds of shapes a collision shape may touch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Partners {
    /// All kinds.
    #[default]
    All,
    /// Spheres and capsules: it is the distance grid of a mesh.
    Round,
    /// All but spheres and capsules: it is the hull or a part of a mesh that has a distance grid.
    Edged,
}

impl Partners {
    /// May the shape touch one like this?
    pub fn include(self, other: &Shape) -> bool {
        let is_round = matches!(other, Shape::Sphere { .. } | Shape::Capsule { .. });
        match self {
            Self::All => true,
            Self::Round => is_round,
            Self::Edged => !is_round,
        }
    }
}

impl Shape {
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

impl Collision {
    /// A shape with this frame in the body's frame.
    pub fn new(shape: Shape, pose: Isometry3<f64>) -> Self {
        Self { shape, pose, surface: None, partners: Partners::All, mesh: None }
    }

    /// The convex parts of its mesh in its place; itself if it is of none. See [`MeshFile::decompose`].
    ///
    /// # Errors
    /// As of [`MeshFile::decompose`].
    pub fn decompose(&self, how: &Decompose) -> Result<Vec<Self>> {
        let Some(mesh) = &self.mesh else { return Ok(vec![self.clone()]) };
        let part = |shape| Self { shape, mesh: None, ..self.clone() };
        Ok(mesh.decompose(how)?.into_iter().map(part).collect())
    }

    /// The distance grid of its mesh for spheres and capsules, and itself for all other shapes; itself alone if it is of none. See
    /// [`MeshFile::grid`].
    ///
    /// # Errors
    /// As of [`MeshFile::grid`].
    pub fn gridded(&self, how: &GridSettings) -> Result<Vec<Self>> {
        let Some(mesh) = &self.mesh else { return Ok(vec![self.clone()]) };
        let shape = Shape::Grid(mesh.grid(how)?.into());
        let grid = Self { shape, partners: Partners::Round, mesh: None, ..self.clone() };
        Ok(vec![grid, Self { partners: Partners::Edged, ..self.clone() }])
    }

    /// A mesh's distance grid, and the shapes that stand for the mesh where others than spheres and capsules touch it: its hull or its
    /// convex parts.
    pub fn with_grid(grid: DistanceGrid, others: Vec<Shape>) -> Vec<Self> {
        let edged = others.into_iter().map(|shape| Self { partners: Partners::Edged, ..Self::centred(shape) });
        let grid = Self { partners: Partners::Round, ..Self::centred(Shape::Grid(grid.into())) };
        std::iter::once(grid).chain(edged).collect()
    }

    /// A shape whose frame is that of the body.
    pub fn centred(shape: Shape) -> Self {
        Self::new(shape, Isometry3::identity())
    }

    /// A shape at this position in the body's frame, with the body's axes.
    pub fn at(shape: Shape, position: [f64; 3]) -> Self {
        Self::new(shape, Translation3::from(position).into())
    }

    /// All points with normal · x ≤ offset · ‖normal‖, m. None for a zero normal.
    pub fn half_space(normal: [f64; 3], offset: f64) -> Option<Self> {
        let normal = Unit::try_new(Vector3::from(normal), 0.0)?;
        let turn = UnitQuaternion::rotation_between_axis(&Vector3::z_axis(), &normal);
        // Half a turn about any axis across z where the normal points down.
        let turn = turn.unwrap_or_else(|| UnitQuaternion::from_axis_angle(&Vector3::x_axis(), std::f64::consts::PI));
        let pose = Isometry3::from_parts((normal.into_inner() * offset).into(), turn);
        Some(Self::new(Shape::HalfSpace, pose))
    }

    /// Checks the shape and its pose.
    ///
    /// # Errors
    /// If a length or the pose is not possible.
    pub fn validate(&self) -> Result<()> {
        self.shape.validate()?;
        if let Some(surface) = &self.surface {
            check::not_negative("friction", surface.mu)?;
            check::not_negative("torsional friction", surface.torsion)?;
        }
        check::finite_pose("shape", &self.pose)
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
