//! Mesh files (STL, OBJ, COLLADA), of which the convex hull is taken.

use std::path::{Path, PathBuf};

use nalgebra::Point3;

use super::{Shape, check, collada};
use crate::error::{Error, Result};

/// The convex hull of all vertices in a mesh file, scaled along x, y and z (a negative number mirrors). A COLLADA
/// file's geometries are where its scene puts them; its unit and up axis are not applied.
///
/// # Errors
/// A file that cannot be read, is none of STL, OBJ and COLLADA, or is flat or empty; the place is the file.
pub(super) fn hull(path: &Path, scale: [f64; 3]) -> Result<Shape> {
    let place = |error: Error| error.within(path.display());
    for factor in scale {
        check::finite("scale", factor).map_err(place)?;
        if factor == 0.0 {
            return Err(place(Error::invalid("scale", "expected three numbers other than zero, got 0")));
        }
    }
    let bytes = std::fs::read(path).map_err(|source| Error::file(path, source))?;
    let is_collada = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("dae"));
    let points = if is_collada { collada_points(&bytes) } else { vertices(path, &bytes) }.map_err(place)?;
    let points: Vec<[f64; 3]> = points.iter().map(|point| std::array::from_fn(|k| point[k] * scale[k])).collect();
    Shape::hull(&points).map_err(place)
}

fn collada_points(bytes: &[u8]) -> Result<Vec<Point3<f64>>> {
    let text =
        std::str::from_utf8(bytes).map_err(|error| Error::invalid("mesh", format!("expected UTF-8: {error}")))?;
    collada::points(text.trim_start_matches('\u{feff}'))
}

/// All vertices of an STL or OBJ file.
fn vertices(path: &Path, bytes: &[u8]) -> Result<Vec<Point3<f64>>> {
    let scene = mesh_loader::Loader::default().load_from_slice(bytes, path).map_err(|error| {
        let message = error.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
        Error::invalid("mesh", format!("expected STL, OBJ or COLLADA: {message}"))
    })?;
    let vertices = scene.meshes.iter().flat_map(|mesh| &mesh.vertices);
    Ok(vertices.map(|vertex| Point3::from(vertex.map(f64::from))).collect())
}

/// The file that a URDF's mesh name means, relative to the URDF's folder: a path, `file://…`, or `package://name/…`,
/// which is looked for in the folder, and then in each folder above, with and without the package's name. None if
/// there is no such file.
pub(super) fn find(filename: &str, folder: &Path) -> Option<PathBuf> {
    let exists = |path: PathBuf| path.is_file().then_some(path);
    let Some(inside) = filename.strip_prefix("package://") else {
        return exists(folder.join(filename.strip_prefix("file://").unwrap_or(filename)));
    };
    let (_, rest) = inside.split_once('/')?;
    let folder = folder.canonicalize().ok()?;
    folder.ancestors().find_map(|above| exists(above.join(rest)).or_else(|| exists(above.join(inside))))
}
