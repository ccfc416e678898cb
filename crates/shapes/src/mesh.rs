//! Mesh files (STL, OBJ, COLLADA, GLB). Collision meshes become their convex hulls; visual meshes keep their triangles.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use nalgebra::Point3;

use super::{Hull, check, collada, file, glb, obj, stl};
use crate::error::{Error, Result};

/// The most triangles of a visual mesh.
const MOST_TRIANGLES: usize = 200_000;

/// A mesh file named by a description.
#[derive(Clone, Debug, PartialEq)]
pub struct MeshFile {
    /// The path of the mesh file.
    pub path: PathBuf,
    /// Scale along x, y and z; a negative number mirrors.
    pub scale: [f64; 3],
}

/// A mesh.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Triangles {
    /// Vertices without repetition, m.
    pub vertices: Vec<[f64; 3]>,
    /// Three indices into `vertices` for each triangle.
    pub faces: Vec<[usize; 3]>,
}

impl MeshFile {
    /// Checks the scale.
    ///
    /// # Errors
    /// If a factor is zero, infinite or NaN.
    pub fn validate(&self) -> Result<()> {
        self.scale.iter().try_for_each(|&factor| {
            check::finite("scale", factor)?;
            check::at_most("scale", factor, check::LONGEST, "in size")
        })
    }

    /// Reads the triangles of an STL, OBJ, COLLADA or GLB file. The transforms of a COLLADA or GLB file's scene and its
    /// unit are applied, its up axis is not: y of a GLB file, which is up there, is y of the mesh.
    ///
    /// # Errors
    /// If the file cannot be read, is larger than 512 MiB, has more than 200,000 triangles, is none of these,
    /// or is damaged. The error's place is the file.
    pub fn read(&self) -> Result<Triangles> {
        let place = |error: Error| error.within(self.path.display());
        let corners = corners(&self.path)?;
        if corners.len() / 3 > MOST_TRIANGLES {
            let message = format!("expected at most {MOST_TRIANGLES} triangles, got {}", corners.len() / 3);
            return Err(place(Error::invalid("mesh", message)));
        }
        let mut mesh = Triangles::default();
        let mut places = HashMap::new();
        let mut at = |corner: &Point3<f64>| {
            let vertex: [f64; 3] = std::array::from_fn(|k| corner[k] * self.scale[k]);
            if vertex.iter().any(|x| !x.is_finite()) {
                return Err(place(Error::invalid("mesh", "expected finite numbers")));
            }
            Ok(*places.entry(vertex.map(f64::to_bits)).or_insert_with(|| {
                mesh.vertices.push(vertex);
                mesh.vertices.len() - 1
            }))
        };
        let mut faces = Vec::with_capacity(corners.len() / 3);
        for [a, b, c] in corners.as_chunks::<3>().0 {
            let face = [at(a)?, at(b)?, at(c)?];
            // A mirrored triangle looks the other way.
            let mirrored = self.scale.iter().product::<f64>() < 0.0;
            faces.push(if mirrored { [face[0], face[2], face[1]] } else { face });
        }
        mesh.faces = faces;
        Ok(mesh)
    }
}

/// The corners of all triangles in a file, three for each. The error's place is the file.
fn corners(path: &Path) -> Result<Vec<Point3<f64>>> {
    let bytes = file::bytes(path, file::LARGEST_MESH)?;
    let corners = kind(path).and_then(|kind| match kind {
        Kind::Stl => stl::corners(&bytes),
        Kind::Obj => obj::corners(path, &bytes),
        Kind::Collada => collada_text(&bytes).and_then(collada::corners),
        Kind::Glb => glb::corners(&bytes),
    });
    corners.map_err(|error| error.within(path.display()))
}

/// The format by a file's name.
#[derive(Clone, Copy)]
enum Kind {
    Stl,
    Obj,
    Collada,
    Glb,
}

fn kind(path: &Path) -> Result<Kind> {
    let is = |name: &str| path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(name));
    let kinds = [("stl", Kind::Stl), ("obj", Kind::Obj), ("dae", Kind::Collada), ("glb", Kind::Glb)];
    let found = kinds.into_iter().find(|(name, _)| is(name)).map(|(_, kind)| kind);
    found.ok_or_else(|| Error::invalid("mesh", "expected a name that ends with .stl, .obj, .dae or .glb"))
}

/// The vertices in a mesh file, each once.
///
/// # Errors
/// As [`hull`](super::hull), but for flat meshes.
pub fn vertices(path: &Path) -> Result<Vec<[f64; 3]>> {
    let bytes = file::bytes(path, file::LARGEST_MESH)?;
    let points = kind(path).and_then(|kind| match kind {
        Kind::Stl => stl::corners(&bytes),
        Kind::Obj => obj::points(path, &bytes),
        Kind::Collada => collada_text(&bytes).and_then(collada::points),
        Kind::Glb => glb::corners(&bytes),
    });
    drop(bytes);
    Ok(distinct(points.map_err(|error| error.within(path.display()))?))
}

/// The convex parts of an OBJ file: the hull of each of its objects or groups, scaled as by [`hull`](crate::hull()).
///
/// # Errors
/// As of [`hull`](crate::hull()); for a part, the error's place is the file and the part's name.
pub fn hulls(path: &Path, scale: [f64; 3]) -> Result<Vec<Hull>> {
    let place = |error: Error| error.within(path.display());
    check_scale(scale).map_err(place)?;
    if !matches!(kind(path).map_err(place)?, Kind::Obj) {
        return Err(place(Error::invalid("parts", "expected an OBJ file, whose objects are the parts")));
    }
    let parts = obj::parts(path, &file::bytes(path, file::LARGEST_MESH)?).map_err(place)?;
    if parts.is_empty() {
        return Err(place(Error::invalid("parts", "expected objects with faces, got none")));
    }
    let part = |(name, points): (String, _)| {
        Hull::new(&scaled(&distinct(points), scale)).map_err(|error| place(error.within(name)))
    };
    parts.into_iter().map(part).collect()
}

pub(super) fn check_scale(scale: [f64; 3]) -> Result<()> {
    for factor in scale {
        check::finite("scale", factor)?;
        check::at_most("scale", factor, check::LONGEST, "in size")?;
        if factor == 0.0 {
            return Err(Error::invalid("scale", "expected three numbers other than zero, got 0"));
        }
    }
    Ok(())
}

/// The points without repetition: a file has a vertex again for each triangle that it is in.
fn distinct(points: Vec<Point3<f64>>) -> Vec<[f64; 3]> {
    let mut seen = HashSet::new();
    let points = points.into_iter().map(|point| point.coords.data.0[0]);
    points.filter(|point| seen.insert(point.map(f64::to_bits))).collect()
}

pub(super) fn scaled(points: &[[f64; 3]], scale: [f64; 3]) -> Vec<[f64; 3]> {
    points.iter().map(|point| std::array::from_fn(|k| point[k] * scale[k])).collect()
}

fn collada_text(bytes: &[u8]) -> Result<&str> {
    let text =
        std::str::from_utf8(bytes).map_err(|error| Error::invalid("mesh", format!("expected UTF-8: {error}")))?;
    Ok(text.trim_start_matches('\u{feff}'))
}

/// The places of the files that a URDF names.
pub struct Places<'a> {
    /// The URDF's folder.
    pub folder: &'a Path,
    /// Folders that contain packages.
    pub packages: &'a [PathBuf],
}

impl Places<'_> {
    /// The file for a mesh name in a URDF: a path from the URDF's folder, `file://…`, or `package://name/…`. A package
    /// is looked for in the packages' folders, the URDF's folder and every folder above it, with and without the
    /// package's name.
    ///
    /// # Errors
    /// If there is no such file. The message lists where it was looked for.
    pub fn find(&self, filename: &str) -> std::result::Result<PathBuf, String> {
        let Some(inside) = filename.strip_prefix("package://") else {
            let path = self.folder.join(filename.strip_prefix("file://").unwrap_or(filename));
            return if path.is_file() { Ok(path) } else { Err(format!("there is no file {}", path.display())) };
        };
        let rest = inside.split_once('/').map_or(inside, |(_, rest)| rest);
        // The folder of a bare file name is empty.
        let own = Path::new(".").join(self.folder);
        let own = own.canonicalize().unwrap_or(own);
        let mut folders = self.packages.iter().map(PathBuf::as_path).chain(own.ancestors());
        let within = |folder: &Path| [inside, rest].map(|path| folder.join(path)).into_iter().find(|p| p.is_file());
        folders.find_map(within).ok_or_else(|| {
            let listed: String = self.packages.iter().map(|folder| format!("{}, ", folder.display())).collect();
            let or = if rest == inside { String::new() } else { format!(" or {rest}") };
            format!("there is no {inside}{or} in {listed}{} or a folder above it", own.display())
        })
    }
}
