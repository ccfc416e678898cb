//! `fingertip decompose`: a mesh as convex parts.

use std::path::PathBuf;

use fingertip::description::{Decompose, MeshFile, Parts};

use super::{Exit, Outcome};

/// Cuts a mesh into convex parts, and says how far they differ from it.
///
/// A scene does the same by itself with `mesh = "cup.obj", decompose = { tolerance = 0.001 }`. The file that this
/// command writes is for scenes with `mesh = "parts.obj", parts = true`, and for other programs: one object for each
/// part.
#[derive(clap::Args)]
pub struct Args {
    /// Mesh (STL, OBJ, COLLADA or GLB).
    mesh: PathBuf,

    /// How far a part may stick out of the mesh, and the mesh out of all parts, m.
    #[arg(long, value_name = "M", default_value_t = 0.001)]
    tolerance: f64,

    /// Into how many parts a mesh is cut at most.
    #[arg(long, value_name = "N", default_value_t = 32)]
    parts: usize,

    /// The most vertices of a part.
    #[arg(long, value_name = "N", default_value_t = 64)]
    vertices: usize,

    /// Scale of the mesh: 0.001 for a file in mm.
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0)]
    scale: f64,

    /// The parts, as an OBJ file.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub fn run(args: &Args) -> Outcome {
    let &Args { tolerance, parts, vertices, scale, .. } = args;
    let mesh = MeshFile { path: args.mesh.clone(), scale: [scale; 3] };
    mesh.validate()?;
    let triangles = mesh.read()?;
    let name = args.mesh.display();
    let found = triangles
        .decompose(&Decompose { tolerance, parts, vertices })
        .map_err(|error| error.within(args.mesh.display()))?;
    let Parts { hulls, protrusion, uncovered } = &found;
    let (mm, total) = (|length: f64| 1e3 * length, hulls.iter().map(|hull| hull.vertices().len()).sum::<usize>());
    println!("{name}: {} triangles as {} convex parts with {total} vertices", triangles.faces.len(), hulls.len());
    println!(
        "sticking out of the mesh by at most {:.3} mm, leaving at most {:.3} mm of it",
        mm(*protrusion),
        mm(*uncovered)
    );
    if let Some(path) = &args.out {
        std::fs::write(path, found.obj()).map_err(|error| format!("{}: {error}", path.display()))?;
        println!("parts      {}", path.display());
    }
    Ok(Exit::Success)
}
