//! Meshes that are not convex, made of outlines.

use std::f64::consts::PI;

use fingertip::description::Triangles;

/// The torus: the radius of the circle, and that of the tube, m.
pub const TORUS: [f64; 2] = [0.04, 0.012];
/// The cup's outer radius at its rim, its height and the thickness of its bottom, m.
pub const CUP: [f64; 3] = [0.045, 0.1, 0.005];

/// The middle of the mug's handle in x and z, and the radii of its circle and its tube, m.
pub const MUG_HANDLE: ([f64; 2], [f64; 2]) = ([0.037, 0.045], [0.028, 0.006]);

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

/// A block with a groove along y, whose walls meet at the origin and lean by an angle from the vertical, rad.
pub fn groove(lean: f64) -> Triangles {
    let (top, below, length) = (0.025, 0.01, 0.03);
    let (inner, outer) = (top * lean.tan(), top * lean.tan() + 0.01);
    let outline =
        [[0.0, 0.0], [-inner, top], [-outer, top], [-outer, -below], [outer, -below], [outer, top], [inner, top]];
    let n = outline.len();
    let mut mesh = Triangles::default();
    mesh.vertices.extend([-length, length].iter().flat_map(|y| outline.map(|[x, z]| [x, *y, z])));
    for i in 0..n {
        let j = (i + 1) % n;
        mesh.faces.extend([[i, j, n + j], [i, n + j, n + i]]);
        if i > 0 && j > 0 {
            mesh.faces.extend([[0, j, i], [n, n + i, n + j]]);
        }
    }
    mesh
}

/// A round block with a hollow that is half of a sphere of this radius, m, about the origin.
pub fn hollow(radius: f64) -> Triangles {
    let (axis, arc) = (1e-5, 24);
    let mut outline = vec![[axis, -radius - 0.005], [radius + 0.01, -radius - 0.005], [radius + 0.01, 0.0]];
    outline.extend((0..=arc).map(|k| {
        let (sin, cos) = (0.5 * PI * k as f64 / arc as f64).sin_cos();
        [(radius * cos).max(axis), -radius * sin]
    }));
    revolved(&outline, 48)
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

/// A mug: a cup of 4 cm with a handle of which the ends are in its wall, in the plane of x and z.
pub fn mug() -> Triangles {
    let axis = 1e-5;
    let mut mesh =
        revolved(&[[axis, 0.0], [0.038, 0.0], [0.04, 0.09], [0.036, 0.09], [0.034, 0.006], [axis, 0.006]], 32);
    let ([middle_x, middle_z], [circle, tube]) = MUG_HANDLE;
    let (around, across) = (24, 12);
    let first = mesh.vertices.len();
    let at = |k: usize, i: usize| first + k * across + i % across;
    for k in 0..=around {
        let (sin, cos) = (PI * (k as f64 / around as f64 - 0.5)).sin_cos();
        for i in 0..across {
            let (up, out) = (2.0 * PI * i as f64 / across as f64).sin_cos();
            let from_middle = circle + tube * out;
            mesh.vertices.push([middle_x + from_middle * cos, tube * up, middle_z + from_middle * sin]);
            if k < around {
                mesh.faces.push([at(k, i), at(k, i + 1), at(k + 1, i + 1)]);
                mesh.faces.push([at(k, i), at(k + 1, i + 1), at(k + 1, i)]);
            }
        }
    }
    for i in 1..across - 1 {
        mesh.faces.push([at(0, 0), at(0, i + 1), at(0, i)]);
        mesh.faces.push([at(around, 0), at(around, i), at(around, i + 1)]);
    }
    mesh
}
