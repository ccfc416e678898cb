//! The surface of a mesh: distances from it, and what it encloses.

use std::f64::consts::PI;

use nalgebra::Vector3;
use parry3d_f64::math::Vector;
use parry3d_f64::query::PointQuery;
use parry3d_f64::shape::TriMesh;

use super::hull_face::extent;
use super::mesh::Triangles;
use crate::error::{Error, Result};

/// The most points along an edge of a triangle that [`samples`] takes.
const MOST_POINTS: usize = 64;

/// The surface of a mesh.
pub(super) struct Boundary<'a> {
    pub(super) mesh: &'a Triangles,
    /// The triangles in a tree, for distances and cuts.
    tree: TriMesh,
    /// The diagonal of its box, m.
    pub(super) size: f64,
}

impl<'a> Boundary<'a> {
    /// The surface of these triangles.
    ///
    /// # Errors
    /// If there are none, or if one has a corner that is no vertex.
    pub(super) fn new(mesh: &'a Triangles) -> Result<Self> {
        let empty = || Error::invalid("mesh", "expected triangles, got none");
        if mesh.faces.is_empty() {
            return Err(empty());
        }
        let points: Vec<Vector> = mesh.vertices.iter().map(|&[x, y, z]| Vector::new(x, y, z)).collect();
        let n = mesh.vertices.len();
        let missing = |i: usize| Error::invalid("mesh", format!("expected faces of its {n} vertices, got vertex {i}"));
        let index = |i: usize| u32::try_from(i).ok().filter(|_| i < n).ok_or_else(|| missing(i));
        let face = |&[a, b, c]: &[usize; 3]| Ok([index(a)?, index(b)?, index(c)?]);
        let faces = mesh.faces.iter().map(face).collect::<Result<Vec<_>>>()?;
        let tree = TriMesh::new(points, faces).map_err(|_| empty())?;
        let size = extent(&mesh.vertices.iter().map(|&vertex| vertex.into()).collect::<Vec<_>>());
        Ok(Self { mesh, tree, size })
    }

    /// Distance of a point from the surface, m.
    pub(super) fn distance(&self, point: &Vector3<f64>) -> f64 {
        self.tree.distance_to_local_point(Vector::new(point.x, point.y, point.z), false)
    }

    /// Is a point inside? The surface then fills more than half of what is seen from there, also where a few triangles
    /// lack.
    pub(super) fn contains(&self, point: &Vector3<f64>) -> bool {
        self.solid_angle(point) > 2.0 * PI
    }

    /// The solid angle that the surface fills, seen from a point: 4π inside of a closed one, 0 outside.
    ///
    /// Solid angle of a triangle: van Oosterom and Strackee, IEEE Trans. Biomed. Eng. 30 (1983), eq. 8.
    pub(super) fn solid_angle(&self, point: &Vector3<f64>) -> f64 {
        let mut angle = 0.0;
        for face in &self.mesh.faces {
            let [a, b, c] = face.map(|i| Vector3::from(self.mesh.vertices[i]) - point);
            let (la, lb, lc) = (a.norm(), b.norm(), c.norm());
            let over = a.dot(&b.cross(&c));
            let under = la * lb * lc + a.dot(&b) * lc + b.dot(&c) * la + c.dot(&a) * lb;
            angle += 2.0 * over.atan2(under);
        }
        angle.abs()
    }
}

/// Points of a triangle, no farther apart than `spacing` along its edges if that takes no more than [`MOST_POINTS`].
pub(super) fn samples([a, b, c]: [Vector3<f64>; 3], spacing: f64) -> impl Iterator<Item = Vector3<f64>> {
    let longest = (b - a).norm().max((c - b).norm()).max((a - c).norm());
    let n = ((longest / spacing).ceil() as usize).clamp(1, MOST_POINTS);
    let along = move |i: usize, j: usize| a + (b - a) * (i as f64 / n as f64) + (c - a) * (j as f64 / n as f64);
    (0..=n).flat_map(move |i| (0..=n - i).map(move |j| along(i, j)))
}
