//! Convex parts of a mesh that is not convex, and how far they differ from it.

use std::path::Path;

use nalgebra::{Point3, Vector3};

use super::boundary::{Boundary, samples};
use super::cut::SPACING;
use super::mesh::{MeshFile, Triangles, hulls};
use super::{Hull, Shape, check};
use crate::error::{Error, Result};
use crate::largest::largest;

/// Parts of the tolerance by which hulls may stick out as they are cut, from the first that is tried. What they then
/// stick out by is measured at more points.
const SETTINGS: [f64; 2] = [0.9, 0.6];

/// Settings of decomposing a mesh.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decompose {
    /// How far a part may stick out of the mesh, and the mesh out of all parts, m. Slits between parts may be as wide.
    pub tolerance: f64,
    /// The most parts, 1 to 1024.
    pub parts: usize,
    /// The most vertices of a part, at least 8. Those that matter least are dropped.
    pub vertices: usize,
}

/// A mesh as convex parts.
#[derive(Clone, Debug, PartialEq)]
pub struct Parts {
    /// The parts.
    pub hulls: Vec<Hull>,
    /// How far a part sticks out of the mesh at most, m.
    pub protrusion: f64,
    /// How far the mesh sticks out of all parts at most, m.
    pub uncovered: f64,
}

impl Decompose {
    /// At most 32 parts of at most 64 vertices.
    pub fn within(tolerance: f64) -> Self {
        Self { tolerance, parts: 32, vertices: 64 }
    }

    /// Checks the numbers.
    ///
    /// # Errors
    /// If one is out of its range.
    pub fn validate(&self) -> Result<()> {
        check::positive("tolerance", self.tolerance)?;
        if !(1..=1024).contains(&self.parts) {
            return Err(Error::invalid("parts", format!("expected 1 to 1024, got {}", self.parts)));
        }
        if self.vertices < 8 {
            return Err(Error::invalid("vertices", format!("expected at least 8, got {}", self.vertices)));
        }
        Ok(())
    }
}

impl Triangles {
    /// Cuts the mesh along planes into convex parts that differ from it by no more than the tolerance. What is inside
    /// is decided by winding numbers, so that small holes and overlaps do no harm. Coordinates are rounded to single
    /// precision, as mesh files have them.
    ///
    /// # Errors
    /// If a number of `how` is out of its range, if the mesh is empty or flat, or if no attempt keeps to the tolerance;
    /// the message then says how near the best one came.
    pub fn decompose(&self, how: &Decompose) -> Result<Parts> {
        how.validate()?;
        let surface = Boundary::new(self)?;
        let mut best: Option<Parts> = None;
        let whole = std::iter::once_with(|| vec![self.vertices.clone()]);
        let cut = SETTINGS.iter().map(|part| surface.cut(part * how.tolerance, how.parts));
        for points in whole.chain(cut) {
            let parts = surface.parts(&points, how)?;
            if parts.error() <= how.tolerance && parts.hulls.len() <= how.parts {
                return Ok(parts);
            }
            if best.as_ref().is_none_or(|best| parts.error() < best.error()) {
                best = Some(parts);
            }
        }
        let Parts { hulls, protrusion, uncovered } =
            best.ok_or_else(|| Error::invalid("mesh", "expected triangles"))?;
        let mm = |length: f64| format!("{:.3} mm", 1e3 * length);
        let message = format!(
            "expected parts that differ from the mesh by at most {}, got {} parts of at most {} vertices that stick out by {} and \
             leave {} uncovered: allow a larger tolerance, more parts or more vertices",
            mm(how.tolerance),
            hulls.len(),
            how.vertices,
            mm(protrusion),
            mm(uncovered)
        );
        Err(Error::invalid("decompose", message))
    }
}

impl MeshFile {
    /// The convex parts of this mesh, see [`Triangles::decompose`]. They are kept in the user's cache folder
    /// (`fingertip` in `$XDG_CACHE_HOME`, else in `~/.cache`), by the content of the file and how it is decomposed, and
    /// read from there the next time. A folder that cannot be written to is no error.
    ///
    /// # Errors
    /// As of [`MeshFile::read`] and [`Triangles::decompose`]. The error's place is the file.
    pub fn decompose(&self, how: &Decompose) -> Result<Vec<Shape>> {
        let Decompose { tolerance, parts, vertices } = *how;
        let settings = (tolerance.to_bits(), parts, vertices);
        let read = |path: &Path| hulls(path, [1.0; 3]).ok();
        let made = || Ok(self.read()?.decompose(how).map_err(|error| error.within(self.path.display()))?.hulls);
        let hulls = self.kept(["parts", "obj"], settings, read, made, |hulls| obj(hulls.iter()).into_bytes())?;
        Ok(hulls.into_iter().map(|hull| Shape::Hull(hull.into())).collect())
    }
}

impl Parts {
    fn error(&self) -> f64 {
        self.protrusion.max(self.uncovered)
    }

    /// The parts as the text of an OBJ file, one object each: what [`hulls`](crate::hulls) reads.
    pub fn obj(&self) -> String {
        obj(self.hulls.iter())
    }
}

/// Hulls as the text of an OBJ file, one object each.
fn obj<'a>(hulls: impl Iterator<Item = &'a Hull>) -> String {
    let mut text = String::new();
    let mut first = 1;
    for (k, hull) in hulls.enumerate() {
        text.push_str(&format!("o part{}\n", k + 1));
        for [x, y, z] in hull.vertices() {
            text.push_str(&format!("v {x} {y} {z}\n"));
        }
        for face in hull.faces() {
            let corners: Vec<String> = face.corners.iter().map(|corner| (first + corner).to_string()).collect();
            text.push_str(&format!("f {}\n", corners.join(" ")));
        }
        first += hull.vertices().len();
    }
    text
}

impl Boundary<'_> {
    /// Makes hulls of points, and measures them. Flat parts are left out: they hold nothing.
    fn parts(&self, of: &[Vec<[f64; 3]>], how: &Decompose) -> Result<Parts> {
        let mut hulls = Vec::new();
        for points in of {
            let rounded: Vec<[f64; 3]> = points.iter().map(|point| point.map(|x| f64::from(x as f32))).collect();
            match Hull::new(&rounded) {
                Ok(hull) => hulls.push(simplified(&hull, how.tolerance / 2.0, how.vertices)?),
                Err(error) if of.len() == 1 => return Err(error),
                Err(_) => {}
            }
        }
        let protrusion = self.protrusion(&hulls);
        let uncovered =
            |vertex: &[f64; 3]| hulls.iter().map(|hull| outside(hull, vertex).max(0.0)).fold(f64::INFINITY, f64::min);
        let uncovered = largest(self.mesh.vertices.iter().map(uncovered));
        Ok(Parts { hulls, protrusion, uncovered })
    }

    /// The largest distance from the mesh of a point that is on a hull and outside of the mesh.
    fn protrusion(&self, hulls: &[Hull]) -> f64 {
        let mut most = 0.0;
        let corners = |hull: &Hull, i: usize| Vector3::from(hull.vertices()[i]);
        for hull in hulls {
            for face in hull.faces() {
                let a = corners(hull, face.corners[0]);
                for pair in face.corners[1..].windows(2) {
                    for point in samples([a, corners(hull, pair[0]), corners(hull, pair[1])], SPACING * self.size) {
                        let distance = self.distance(&point);
                        if distance > most && !self.contains(&point) {
                            most = distance;
                        }
                    }
                }
            }
        }
        most
    }
}

/// The hull of some of a hull's vertices: those that are farthest outside of what the others span, until all are within
/// a tolerance or there are `most`.
fn simplified(hull: &Hull, tolerance: f64, most: usize) -> Result<Hull> {
    let all = hull.vertices();
    let mut kept: Vec<usize> = Vec::new();
    for axis in 0..3 {
        let along = |i: &usize| all[*i][axis];
        let ends = [
            (0..all.len()).min_by(|i, j| along(i).total_cmp(&along(j))),
            (0..all.len()).max_by(|i, j| along(i).total_cmp(&along(j))),
        ];
        kept.extend(ends.into_iter().flatten());
    }
    kept.sort_unstable();
    kept.dedup();
    loop {
        let points: Vec<[f64; 3]> = kept.iter().map(|&i| all[i]).collect();
        let inner = Hull::new(&points).ok();
        if kept.len() >= most.min(all.len())
            && let Some(inner) = inner
        {
            return Ok(inner);
        }
        let height = |i: usize| match &inner {
            Some(inner) => outside(inner, &all[i]),
            None => away(&points, &all[i].into()),
        };
        let left = (0..all.len()).filter(|i| !kept.contains(i));
        let Some((height, next)) = left.map(|i| (height(i), i)).max_by(|a, b| a.0.total_cmp(&b.0)) else {
            return Ok(hull.clone());
        };
        match inner {
            Some(inner) if height <= tolerance => return Ok(inner),
            _ => kept.push(next),
        }
    }
}

/// How far a point is outside of the hull's farthest plane, at most its distance; negative inside.
fn outside(hull: &Hull, point: &[f64; 3]) -> f64 {
    hull.faces().iter().map(|face| face.height(&(*point).into())).fold(f64::NEG_INFINITY, f64::max)
}

/// The distance of a point from the nearest of others.
fn away(points: &[[f64; 3]], from: &Vector3<f64>) -> f64 {
    let to = |point: &[f64; 3]| nalgebra::distance(&Point3::from(*point), &Point3::from(*from));
    points.iter().map(to).fold(f64::INFINITY, f64::min)
}
