//! The signed distance of a mesh as a smooth function: cubic B-splines on a grid. It has continuous second derivatives,
//! so that a round fingertip feels one normal that turns smoothly, on concave meshes too.

mod build;
mod file;
mod sheets;

use std::sync::Arc;

use nalgebra::{Matrix3, Vector3};

use super::{Hull, Inertia, Triangles, check};
use crate::error::Result;

pub use sheets::{SHEETS, Sheet, SheetRates};

/// Settings of a mesh's distance grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GridSettings {
    /// By how much the grid's distances may be off, m: on the mesh, and outside of it as far as `reach`.
    pub tolerance: f64,
    /// How far from the mesh distances are known, m. Balls and capsules of larger radius should not touch it. None: a
    /// fifth of the diagonal of the mesh's box.
    pub reach: Option<f64>,
}

impl GridSettings {
    /// Distances within a tolerance, m, with the usual reach.
    pub fn within(tolerance: f64) -> Self {
        Self { tolerance, reach: None }
    }

    /// Checks the numbers.
    ///
    /// # Errors
    /// If a length is not positive or is more than 1e6 m.
    pub fn validate(&self) -> Result<()> {
        check::length("tolerance", self.tolerance)?;
        self.reach.map_or(Ok(()), |reach| check::length("reach", reach))
    }
}

/// The signed distance of a mesh on a grid, with what else a shape needs: its triangles, hull and mass.
#[derive(Clone, Debug, PartialEq)]
pub struct DistanceGrid {
    spline: Spline,
    mesh: Arc<Triangles>,
    hull: Arc<Hull>,
    solid: Inertia,
    reach: f64,
    error: f64,
}

/// The signed distance of a mesh at a point, with its first and second derivatives, in the mesh's frame.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GridDistance {
    /// Signed distance, m; negative inside.
    pub value: f64,
    /// The gradient of the distance, of length 1 but for the grid's error and where several points of the mesh are
    /// nearest.
    pub gradient: Vector3<f64>,
    /// The second derivatives of the distance, 1/m.
    pub hessian: Matrix3<f64>,
}

impl DistanceGrid {
    /// The signed distance at a point, m, in the mesh's frame. Outside of the grid it is that of the grid's nearest
    /// point and the distance from there, which is at least the true one.
    pub fn at(&self, point: &Vector3<f64>) -> GridDistance {
        self.spline.at(point)
    }

    /// How far from the mesh distances are known, m.
    pub fn reach(&self) -> f64 {
        self.reach
    }

    /// By how much distances were off at most where they were compared with the mesh, m: see
    /// [`GridSettings::tolerance`].
    pub fn error(&self) -> f64 {
        self.error
    }

    /// The number of nodes along x, y and z.
    pub fn nodes(&self) -> [usize; 3] {
        self.spline.nodes
    }

    /// The mesh.
    pub fn mesh(&self) -> &Triangles {
        &self.mesh
    }

    /// The mesh's convex hull.
    pub fn hull(&self) -> &Arc<Hull> {
        &self.hull
    }

    /// Inertia of what the mesh encloses, at unit density: its mass is the volume, m³.
    pub fn solid(&self) -> &Inertia {
        &self.solid
    }
}

/// A function as cubic B-splines on a grid (de Boor, A Practical Guide to Splines, 1978, ch. IX; natural ends).
#[derive(Clone, Debug, PartialEq)]
struct Spline {
    /// The first node, m.
    origin: Vector3<f64>,
    /// The distance of neighbouring nodes, m.
    spacing: f64,
    nodes: [usize; 3],
    /// One more than nodes on each side, along each axis; those along z are next to each other.
    coefficients: Vec<f32>,
}

/// The four B-splines that are not zero in a cell, or a derivative of them.
type Weights = [f64; 4];

impl Spline {
    /// The grid's nearest point, from the first node.
    #[inline(always)]
    fn nearest(&self, point: &Vector3<f64>) -> Vector3<f64> {
        let mut nearest = point - self.origin;
        for k in 0..3 {
            nearest[k] = nearest[k].clamp(0.0, (self.nodes[k] - 1) as f64 * self.spacing);
        }
        nearest
    }

    fn at(&self, point: &Vector3<f64>) -> GridDistance {
        self.to_order::<2>(point)
    }

    /// The function and its derivatives up to this order; those of higher order are zero.
    fn to_order<const ORDER: usize>(&self, point: &Vector3<f64>) -> GridDistance {
        let inside = self.nearest(point);
        let found = self.inside::<ORDER>(&inside);
        let beyond = point - self.origin - inside;
        let far = beyond.norm();
        if far > 0.0 { found.beyond(&beyond, far) } else { found }
    }

    /// The function at a point from the first node, no farther than the last.
    #[inline(always)]
    fn inside<const ORDER: usize>(&self, from_origin: &Vector3<f64>) -> GridDistance {
        let mut cell = [0; 3];
        let mut weights = [[[0.0; 4]; 3]; 3];
        for k in 0..3 {
            let u = from_origin[k] / self.spacing;
            cell[k] = (u as usize).min(self.nodes[k] - 2);
            weights[k] = basis(u - cell[k] as f64);
        }
        let (ny, nz) = (self.nodes[1] + 2, self.nodes[2] + 2);
        let [x, y, z] = weights;
        // Sums of coefficients times splines along x and y, or times derivatives of them: by x and y as often as in BY.
        const BY: [[usize; 2]; 6] = [[0, 0], [1, 0], [0, 1], [2, 0], [0, 2], [1, 1]];
        let mut sums = [[0.0; 4]; 6];
        for i in 0..4 {
            let mut of_y = [[0.0; 4]; 3];
            for j in 0..4 {
                let start = ((cell[0] + i) * ny + cell[1] + j) * nz + cell[2];
                let Some(&[a, b, c, d]) = self.coefficients[start..].first_chunk() else { continue };
                let row = [f64::from(a), f64::from(b), f64::from(c), f64::from(d)];
                for by_y in 0..=ORDER {
                    add(&mut of_y[by_y], &row, y[by_y][j]);
                }
            }
            for k in 0..const { [1, 3, 6][ORDER] } {
                add(&mut sums[k], &of_y[BY[k][1]], x[BY[k][0]][i]);
            }
        }
        let along = |sum: usize, by_z: usize| {
            let ([a, b, c, d], [p, q, r, s]) = (sums[sum], z[by_z]);
            (a * p + b * q) + (c * r + d * s)
        };
        let (h, mut found) = (self.spacing, GridDistance { value: along(0, 0), ..GridDistance::default() });
        if ORDER > 0 {
            found.gradient = Vector3::new(along(1, 0), along(2, 0), along(0, 1)) / h;
        }
        if ORDER > 1 {
            let [xx, yy, zz] = [along(3, 0), along(4, 0), along(0, 2)];
            let [yz, zx, xy] = [along(2, 1), along(1, 1), along(5, 0)];
            found.hessian = Matrix3::new(xx, xy, zx, xy, yy, yz, zx, yz, zz) / (h * h);
        }
        found
    }
}

/// Adds weighted numbers.
#[inline(always)]
fn add(sum: &mut Weights, numbers: &Weights, weight: f64) {
    for k in 0..4 {
        sum[k] += numbers[k] * weight;
    }
}

impl GridDistance {
    /// This at the grid's nearest point, continued to a point that is farther by the vector `beyond` of length `far`,
    /// m.
    fn beyond(self, beyond: &Vector3<f64>, far: f64) -> Self {
        let along = beyond / far;
        let Self { value, gradient, hessian } = self;
        let is_beyond = |k: usize| beyond[k] != 0.0;
        let gradient = Vector3::from_fn(|k, _| if is_beyond(k) { along[k] } else { gradient[k] });
        let hessian = Matrix3::from_fn(|i, j| match (is_beyond(i), is_beyond(j)) {
            (true, true) => (if i == j { 1.0 } else { 0.0 } - along[i] * along[j]) / far,
            (false, false) => hessian[(i, j)],
            _ => 0.0,
        });
        Self { value: value + far, gradient, hessian }
    }
}

/// The uniform cubic B-splines at the place t of a cell, 0 to 1, and their first and second derivatives by t.
#[inline(always)]
fn basis(t: f64) -> [Weights; 3] {
    let s = 1.0 - t;
    [
        [s * s * s / 6.0, 2.0 / 3.0 - t * t * (1.0 - t / 2.0), 2.0 / 3.0 - s * s * (1.0 - s / 2.0), t * t * t / 6.0],
        [-s * s / 2.0, t * (1.5 * t - 2.0), -s * (1.5 * s - 2.0), t * t / 2.0],
        [s, 3.0 * t - 2.0, 3.0 * s - 2.0, t],
    ]
}

#[cfg(test)]
mod tests;
