//! Mesh files (STL, OBJ, COLLADA), of which the convex hull is taken.

use std::path::{Path, PathBuf};

use nalgebra::Point3;

use super::{Shape, check, collada, file, stl};
use crate::error::{Error, Result};

/// The convex hull of all vertices in a mesh file, scaled along x, y and z (a negative number mirrors). A COLLADA
/// file's geometries are where its scene puts them; its unit and up axis are not applied.
///
/// # Errors
/// A file that cannot be read, is larger than 512 MiB, is none of STL, OBJ and COLLADA or a damaged one, or is flat or
/// empty; the place is the file.
pub(super) fn hull(path: &Path, scale: [f64; 3]) -> Result<Shape> {
    let place = |error: Error| error.within(path.display());
    for factor in scale {
        check::finite("scale", factor).map_err(place)?;
        check::at_most("scale", factor, check::LONGEST, "in size").map_err(place)?;
        if factor == 0.0 {
            return Err(place(Error::invalid("scale", "expected three numbers other than zero, got 0")));
        }
    }
    let bytes = file::bytes(path, file::LARGEST_MESH)?;
    let is = |name: &str| path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(name));
    let points = if is("dae") {
        collada_points(&bytes)
    } else if is("stl") {
        stl::points(&bytes)
    } else if is("obj") {
        obj_points(path, &bytes)
    } else {
        Err(Error::invalid("mesh", "expected a name that ends with .stl, .obj or .dae"))
    };
    drop(bytes);
    let points = points.map_err(place)?;
    let points: Vec<[f64; 3]> = points.into_iter().map(|point| std::array::from_fn(|k| point[k] * scale[k])).collect();
    Shape::hull(&points).map_err(place)
}

fn collada_points(bytes: &[u8]) -> Result<Vec<Point3<f64>>> {
    let text =
        std::str::from_utf8(bytes).map_err(|error| Error::invalid("mesh", format!("expected UTF-8: {error}")))?;
    collada::points(text.trim_start_matches('\u{feff}'))
}

/// The vertices of an OBJ file's faces. Material files that it names are not read.
fn obj_points(path: &Path, bytes: &[u8]) -> Result<Vec<Point3<f64>>> {
    let no_materials = |_: &Path| -> std::io::Result<Vec<u8>> { Err(std::io::ErrorKind::Unsupported.into()) };
    let scene = mesh_loader::obj::from_slice(bytes, Some(path), no_materials).map_err(|error| {
        let message = error.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
        Error::invalid("OBJ", message)
    })?;
    let vertices = scene.meshes.iter().flat_map(|mesh| &mesh.vertices);
    Ok(vertices.map(|vertex| Point3::from(vertex.map(f64::from))).collect())
}

/// Where the files are that a URDF names.
pub(super) struct Places<'a> {
    /// The URDF's folder.
    pub(super) folder: &'a Path,
    /// Folders in which packages are.
    pub(super) packages: &'a [PathBuf],
}

impl Places<'_> {
    /// The file that a URDF's mesh name means: a path from the URDF's folder, `file://…`, or `package://name/…`, which is
    /// looked for in the packages' folders, the URDF's and every one above, with and without the package's name.
    ///
    /// # Errors
    /// Where it was looked for, if there is no such file.
    pub(super) fn find(&self, filename: &str) -> std::result::Result<PathBuf, String> {
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
