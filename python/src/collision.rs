//! Distances of two shapes, without a scene.

use fingertip::collision::Collider;
use fingertip::description::Shape as Of;
use nalgebra::{Isometry3, Quaternion, Translation3, UnitQuaternion};
use pyo3::prelude::*;

use crate::arrays::{Array, Lazy, Numbers, Worlds};
use crate::error::{Error, OrRaise, detached};

/// A convex shape in its own frame, centred at the frame's origin; lengths in m.
#[pyclass(frozen, eq, module = "fingertip.collision")]
#[derive(PartialEq)]
pub struct Shape(Of);

/// Closest points of two shapes, for one pair of poses or for N.
#[pyclass(frozen, module = "fingertip.collision")]
pub struct Distance {
    phi: Vec<f64>,
    normal: Vec<f64>,
    point_a: Vec<f64>,
    point_b: Vec<f64>,
    poses: Worlds,
    made: [Lazy; 4],
}

#[pymethods]
impl Shape {
    /// A ball.
    #[staticmethod]
    fn sphere(radius: f64) -> PyResult<Self> {
        Self::checked(Of::sphere(radius))
    }

    /// All points within `radius` of a segment of length 2 `half_length` along z.
    #[staticmethod]
    fn capsule(radius: f64, half_length: f64) -> PyResult<Self> {
        Self::checked(Of::capsule(radius, half_length))
    }

    /// A box, given by its half extents (3,), rounding included, and the radius of its edges and corners.
    #[staticmethod]
    #[pyo3(signature = (half_extents, rounding=0.0))]
    fn r#box(half_extents: &Bound<PyAny>, rounding: f64) -> PyResult<Self> {
        Self::checked(Of::rounded_cuboid(Numbers::triple("half_extents", half_extents)?, rounding))
    }

    /// A solid cylinder along z.
    #[staticmethod]
    fn cylinder(radius: f64, half_length: f64) -> PyResult<Self> {
        Self::checked(Of::cylinder(radius, half_length))
    }

    /// A solid ellipsoid, given by half the lengths of its axes (3,).
    #[staticmethod]
    fn ellipsoid(radii: &Bound<PyAny>) -> PyResult<Self> {
        Self::checked(Of::ellipsoid(Numbers::triple("radii", radii)?))
    }

    /// The convex hull of points (N, 3).
    #[staticmethod]
    fn hull(points: &Bound<PyAny>) -> PyResult<Self> {
        let (points, _) = Numbers::rows("points", points, 3)?;
        Self::checked(Of::hull(points.as_slice().as_chunks().0).or_raise()?)
    }

    /// All points with z ≤ 0.
    #[staticmethod]
    fn halfspace() -> Self {
        Self(Of::HalfSpace)
    }

    fn __repr__(&self) -> String {
        match &self.0 {
            Of::Hull(hull) => format!("<fingertip.collision.Shape Hull of {} vertices>", hull.vertices().len()),
            Of::Grid(grid) => format!("<fingertip.collision.Shape Grid of {:?} nodes>", grid.nodes()),
            other => format!("<fingertip.collision.Shape {other:?}>"),
        }
    }
}

impl Shape {
    fn checked(shape: Of) -> PyResult<Self> {
        shape.validate().or_raise()?;
        Ok(Self(shape))
    }
}

#[pymethods]
impl Distance {
    /// Signed distance (N,), m: positive apart, minus the depth of an overlap.
    #[getter]
    fn phi<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        self.made[0].get(py, &self.phi, &self.poses.shape(&[]))
    }

    /// Unit normal from A to B (N, 3).
    #[getter]
    fn normal<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        self.made[1].get(py, &self.normal, &self.poses.shape(&[3]))
    }

    /// Witness point on A (N, 3), m, in the world.
    #[getter]
    fn point_a<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        self.made[2].get(py, &self.point_a, &self.poses.shape(&[3]))
    }

    /// Witness point on B (N, 3), m, in the world: `point_b - point_a = phi * normal`.
    #[getter]
    fn point_b<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        self.made[3].get(py, &self.point_b, &self.poses.shape(&[3]))
    }
}

/// Signed distance of two shapes at poses (x, y, z, qw, qx, qy, qz) in the world, m: each (7,), or (N, 7) for N pairs.
#[pyfunction]
pub fn distance(
    py: Python,
    shape_a: &Bound<Shape>,
    pose_a: &Bound<PyAny>,
    shape_b: &Bound<Shape>,
    pose_b: &Bound<PyAny>,
) -> PyResult<Distance> {
    let ((a, poses_a), (b, poses_b)) = (Numbers::rows("pose_a", pose_a, 7)?, Numbers::rows("pose_b", pose_b, 7)?);
    let poses = match (poses_a, poses_b) {
        (Worlds::One, poses) | (poses, Worlds::One) => poses,
        (Worlds::Batch(a), Worlds::Batch(b)) if a == b => poses_a,
        (a, b) => {
            let (a, b) = (a.count(), b.count());
            return Err(Error::new_err(format!("pose_b: expected {a} poses, as many as pose_a has, or one, got {b}")));
        }
    };
    let (a, b) = (isometries("pose_a", a.as_slice())?, isometries("pose_b", b.as_slice())?);
    let (shape_a, shape_b) = (&shape_a.get().0, &shape_b.get().0);
    let all = detached(py, || {
        let (side_a, side_b) = (Collider::new(shape_a), Collider::new(shape_b));
        let near = |(a, b)| side_a.distance(a, &side_b, b);
        let pairs = a.iter().cycle().zip(b.iter().cycle()).take(poses.count());
        let all: Option<Vec<_>> = pairs.map(near).collect();
        all.ok_or_else(|| fingertip::Error::invalid("distance", "expected at most one half-space, got two"))
    })?;
    let points = |of: fn(&fingertip::collision::Distance) -> [f64; 3]| all.iter().flat_map(of).collect();
    Ok(Distance {
        phi: all.iter().map(|near| near.phi).collect(),
        normal: points(|near| near.normal.into()),
        point_a: points(|near| near.point_a.into()),
        point_b: points(|near| near.point_b.into()),
        poses,
        made: Default::default(),
    })
}

fn isometries(what: &str, rows: &[f64]) -> PyResult<Vec<Isometry3<f64>>> {
    let one = |&[x, y, z, w, i, j, k]: &[f64; 7]| {
        let rotation = UnitQuaternion::try_new(Quaternion::new(w, i, j, k), 0.0);
        let pose = Isometry3::from_parts(Translation3::new(x, y, z), rotation?);
        pose.to_homogeneous().iter().all(|x| x.is_finite()).then_some(pose)
    };
    let wrong = || Error::new_err(format!("{what}: expected finite numbers and a quaternion other than zero"));
    rows.as_chunks().0.iter().map(|row| one(row).ok_or_else(wrong)).collect()
}
