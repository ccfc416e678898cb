//! Meshes that are not convex, made of outlines.

use std::f64::consts::PI;

use fingertip::description::Triangles;

/// The torus: the radius of the circle, and that of the tube, m.
pub const TORUS: [f64; 2] = [0.04, 0.012];
/// The cup's outer radius at its rim, its height and the thickness of its bottom, m.
pub const CUP: [f64; 3] = [0.045, 0.1, 0.005];

/// The surface of revolution of a closed outline of (radius, height).
pub fn revolved(outline: &[[f64; 2]], around: usize) -> Triangles {
    let n = outline.len();
    let mut mesh = Triangles::default();
    for k in 0..around {
        let (sin, cos) = (2.0 * PI * k as f64 / around as f64).sin_cos();
        mesh.vertices.extend(outline.iter().map(|[r, z]| [r * cos, r * sin, *z]));
    }
    let at = |k: usize, i: usize| n * (k % around) + i % n;
    for k in 0..around {
        for i in 0..n {
            mesh.faces.push([at(k, i), at(k + 1, i), at(k + 1, i + 1)]);
            mesh.faces.push([at(k, i), at(k + 1, i + 1), at(k, i + 1)]);
        }
    }
    mesh
}

pub fn torus() -> Triangles {
    let [circle, tube] = TORUS;
    let at = |k: usize| {
        let (sin, cos) = (2.0 * PI * k as f64 / 24.0).sin_cos();
        [circle + tube * cos, tube * sin]
    };
    revolved(&(0..24).map(at).collect::<Vec<_>>(), 48)
}

pub fn cup() -> Triangles {
    let [rim, height, bottom] = CUP;
    let axis = 1e-5;
    revolved(&[[axis, 0.0], [0.04, 0.0], [rim, height], [rim - 0.004, height], [0.036, bottom], [axis, bottom]], 24)
}

/// The text of an OBJ file.
pub fn obj(mesh: &Triangles) -> String {
    let vertices = mesh.vertices.iter().map(|[x, y, z]| format!("v {x} {y} {z}\n"));
    vertices
        .chain(mesh.faces.iter().map(|face| format!("f {} {} {}\n", face[0] + 1, face[1] + 1, face[2] + 1)))
        .collect()
}

/// Where a point is in the solid torus: its distance from the surface, negative inside, m.
pub fn torus_height([x, y, z]: [f64; 3]) -> f64 {
    let [circle, tube] = TORUS;
    (x.hypot(y) - circle).hypot(z) - tube
}
