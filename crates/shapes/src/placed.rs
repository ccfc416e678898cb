//! Collision shapes on bodies.

use nalgebra::{Isometry3, Translation3, Unit, UnitQuaternion, Vector3};

use super::{Decompose, DistanceGrid, GridSettings, MeshFile, Reduced, Shape, Surface, check};
use crate::error::Result;

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

impl Collision {
    /// A shape with this frame in the body's frame.
    pub fn new(shape: Shape, pose: Isometry3<f64>) -> Self {
        Self { shape, pose, surface: None, partners: Partners::All, mesh: None }
    }

    /// Leaves a hull so many of its vertices at most: see [`Hull::reduced`](super::Hull::reduced). Says what that
    /// leaves out, if anything.
    ///
    /// # Errors
    /// As of [`Hull::reduced`](super::Hull::reduced).
    pub fn reduce_hull(&mut self, most: usize) -> Result<Option<String>> {
        let Shape::Hull(hull) = &self.shape else { return Ok(None) };
        let Reduced { hull: reduced, sticks_out } = hull.reduced(most)?;
        let [left, all] = [&reduced, &**hull].map(|hull| hull.vertices().len());
        let said =
            format!("hull of {left} of {all} vertices: the others stick out by up to {:.3} mm", 1e3 * sticks_out);
        self.shape = Shape::Hull(reduced.into());
        Ok((left < all).then_some(said))
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

    /// The distance grid of its mesh for spheres and capsules, and itself for all other shapes; itself alone if it is
    /// of none. See [`MeshFile::grid`].
    ///
    /// # Errors
    /// As of [`MeshFile::grid`].
    pub fn gridded(&self, how: &GridSettings) -> Result<Vec<Self>> {
        let Some(mesh) = &self.mesh else { return Ok(vec![self.clone()]) };
        let shape = Shape::Grid(mesh.grid(how)?.into());
        let grid = Self { shape, partners: Partners::Round, mesh: None, ..self.clone() };
        Ok(vec![grid, Self { partners: Partners::Edged, ..self.clone() }])
    }

    /// A mesh's distance grid, and the shapes that stand for the mesh where others than spheres and capsules touch it:
    /// its hull or its convex parts.
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
