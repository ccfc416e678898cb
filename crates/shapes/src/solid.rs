//! Mass distributions of solid bodies.
//!
//! Spheres, capsules, boxes and rounded boxes are all the same body: a box core with half extents (a, b, c) grown by a
//! radius r. Its pieces are the core, six slabs, twelve quarter cylinders and eight octants of a ball. With unit
//! density the volume is
//!
//! V = 8abc + 8r (ab + bc + ca) + 2πr² (a + b + c) + 4πr³/3,
//!
//! and the second moment along x, from the same pieces (the others by permutation),
//!
//! ∫x² = a²/3 (8abc + 8ra(b + c) + 2πr²a) + 8bc ((a + r)³ − a³)/3
//!     + 2 (b + c) (πr²a² + 8ar³/3 + πr⁴/4) + 4πr³a²/3 + πr⁴a + 4πr⁵/15.

use std::f64::consts::PI;

use nalgebra::{Matrix3, Vector3};

use super::{Collision, Inertia, Partners, Shape};

impl Inertia {
    /// The solid of unit density within a closed surface of triangles, whose corners go around to the left seen from
    /// outside: its mass is the volume, m³.
    ///
    /// Sum over the tetrahedra of the origin and each triangle (a, b, c), of volume V = a·(b × c)/6:
    /// ∫x = V (a + b + c)/4 and ∫xxᵀ = V (aaᵀ + bbᵀ + ccᵀ + (a + b + c)(a + b + c)ᵀ)/20.
    pub(crate) fn enclosed(triangles: impl IntoIterator<Item = [Vector3<f64>; 3]>) -> Self {
        let (mut mass, mut first, mut second) = (0.0, Vector3::zeros(), Matrix3::zeros());
        for [a, b, c] in triangles {
            let (volume, sum) = (a.dot(&b.cross(&c)) / 6.0, a + b + c);
            mass += volume;
            first += sum * (volume / 4.0);
            let outer = |v: Vector3<f64>| v * v.transpose();
            second += (outer(a) + outer(b) + outer(c) + outer(sum)) * (volume / 20.0);
        }
        let com = first / mass;
        let second = second - com * com.transpose() * mass;
        Self { mass, com, matrix: Matrix3::identity() * second.trace() - second }
    }

    /// A solid whose mass, kg, is its volume in m³; none for a half-space, which is infinite.
    pub fn unit_density(shape: &Shape) -> Option<Self> {
        match shape {
            Shape::Hull(hull) => return Some(hull.solid()),
            Shape::Grid(grid) => return Some(grid.solid().clone()),
            _ => {}
        }
        let (mass, [x, y, z]) = moments(shape)?;
        let matrix = Matrix3::from_diagonal(&Vector3::new(y + z, z + x, x + y)) * mass;
        Some(Self { mass, com: Vector3::zeros(), matrix })
    }

    /// A solid body of uniform density, kg; none for a half-space, which is infinite.
    pub fn solid(shape: &Shape, mass: f64) -> Option<Self> {
        let Self { mass: volume, com, matrix } = Self::unit_density(shape)?;
        Some(Self { mass, com, matrix: matrix * (mass / volume) })
    }

    /// Several solid bodies of the same uniform density, with a total mass in kg; overlaps count twice. Shapes beside a
    /// distance grid of the same mesh do not count. None without any shape, or with a half-space among them.
    pub fn solid_compound(collisions: &[Collision], mass: f64) -> Option<Self> {
        let parts = collisions
            .iter()
            .filter(|part| part.partners != Partners::Edged)
            .map(|part| Some(Self::unit_density(&part.shape)?.moved(&part.pose)))
            .collect::<Option<Vec<_>>>()?;
        let Self { mass: volume, com, matrix } = Self::sum(&parts)?;
        Some(Self { mass, com, matrix: matrix * (mass / volume) })
    }
}

/// Volume, and the mean of (x², y², z²) over a solid that is symmetric about its frame's planes; none for others.
fn moments(shape: &Shape) -> Option<(f64, [f64; 3])> {
    match *shape {
        Shape::Sphere { radius } => Some(grown_box([0.0; 3], radius)),
        Shape::Capsule { radius, half_length } => Some(grown_box([0.0, 0.0, half_length], radius)),
        Shape::Box { half_extents, rounding } => Some(grown_box(half_extents.map(|x| x - rounding), rounding)),
        Shape::Cylinder { radius, half_length } => {
            let across = radius * radius / 4.0;
            let volume = 2.0 * PI * radius * radius * half_length;
            Some((volume, [across, across, half_length * half_length / 3.0]))
        }
        Shape::Ellipsoid { radii } => {
            let [a, b, c] = radii;
            Some((4.0 / 3.0 * PI * a * b * c, radii.map(|radius| radius * radius / 5.0)))
        }
        Shape::Hull(_) | Shape::Grid(_) | Shape::HalfSpace => None,
    }
}

/// See the module's documentation: volume and mean squares of a box core grown by r.
fn grown_box(core: [f64; 3], r: f64) -> (f64, [f64; 3]) {
    let [a, b, c] = core;
    let volume = 8.0 * a * b * c
        + 8.0 * r * (a * b + b * c + c * a)
        + 2.0 * PI * r * r * (a + b + c)
        + 4.0 / 3.0 * PI * r.powi(3);
    let along = |a: f64, b: f64, c: f64| {
        let inner = 8.0 * a * b * c + 8.0 * r * a * (b + c) + 2.0 * PI * r * r * a;
        let slabs = 8.0 * b * c * ((a + r).powi(3) - a.powi(3)) / 3.0;
        let edges = 2.0 * (b + c) * (PI * r * r * a * a + 8.0 * a * r.powi(3) / 3.0 + PI * r.powi(4) / 4.0);
        let corners = 4.0 / 3.0 * PI * r.powi(3) * a * a + PI * r.powi(4) * a + 4.0 / 15.0 * PI * r.powi(5);
        (a * a / 3.0 * inner + slabs + edges + corners) / volume
    };
    (volume, [along(a, b, c), along(b, c, a), along(c, a, b)])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Closed forms are exact except for rounding.
    const EXACT: f64 = 1e-14;
    /// The midpoint rule on a grid of 120³ cells cuts cells at the surface.
    const GRID: f64 = 2e-3;

    fn diagonal(shape: &Shape) -> [f64; 3] {
        Inertia::solid(shape, 1.0).unwrap().matrix.diagonal().into()
    }

    #[test]
    fn textbook_bodies() {
        let (m, r, l) = (1.0_f64, 0.3_f64, 0.5_f64);
        let ball = 0.4 * m * r * r;
        // A capsule as a cylinder of height 2l and two half balls, their centres of mass 3r/8 from their bases.
        let (cylinder, cap) = (2.0 * l * PI * r * r, 4.0 / 3.0 * PI * r.powi(3));
        let (cylinder, cap) = (cylinder / (cylinder + cap), cap / (cylinder + cap));
        let spin = cylinder * r * r / 2.0 + cap * 0.4 * r * r;
        let swing = cylinder * (r * r / 4.0 + l * l / 3.0) + cap * (0.4 * r * r + l * l + 0.75 * l * r);
        let cases = [
            (Shape::sphere(r), [ball; 3]),
            (Shape::cuboid([0.1, 0.2, 0.3]), [0.13 / 3.0, 0.1 / 3.0, 0.05 / 3.0]),
            (Shape::capsule(r, l), [swing, swing, spin]),
            (Shape::ellipsoid([0.1, 0.2, 0.3]), [0.13 / 5.0, 0.1 / 5.0, 0.05 / 5.0]),
            (Shape::cylinder(r, l), [r * r / 4.0 + l * l / 3.0, r * r / 4.0 + l * l / 3.0, r * r / 2.0]),
        ];
        for (shape, expected) in cases {
            for (got, want) in diagonal(&shape).iter().zip(expected) {
                assert!((got - want).abs() < EXACT, "{shape:?}: {got} is not {want}");
            }
        }
        assert_eq!(Inertia::solid(&Shape::HalfSpace, 1.0), None);
    }

    #[test]
    fn rounded_box_against_a_grid() {
        let (half, rounding, n) = ([0.5_f64, 0.4, 0.3], 0.2, 120);
        let mut parts = [0.0; 4];
        let at = |i: usize, h: f64| h * ((2 * i + 1) as f64 / n as f64 - 1.0);
        for (i, j, k) in (0..n * n * n).map(|m| (m / n / n, m / n % n, m % n)) {
            let p = [at(i, half[0]), at(j, half[1]), at(k, half[2])];
            let outside: f64 = (0..3).map(|d| (p[d].abs() - half[d] + rounding).max(0.0).powi(2)).sum();
            if outside <= rounding * rounding {
                parts[0] += 1.0;
                (0..3).for_each(|d| parts[d + 1] += p[d] * p[d]);
            }
        }
        let [count, x, y, z] = parts;
        let expected = [(y + z) / count, (z + x) / count, (x + y) / count];
        for (got, want) in diagonal(&Shape::rounded_cuboid(half, rounding)).iter().zip(expected) {
            assert!((got - want).abs() < GRID * want, "{got} is not {want}");
        }
    }

    #[test]
    fn two_half_boxes_make_one() {
        let half = Shape::cuboid([0.1, 0.2, 0.15]);
        let parts = [-0.15, 0.15].map(|z| Collision::at(half.clone(), [1.0, 0.0, z]));
        let joined = Inertia::solid_compound(&parts, 2.0).unwrap();
        let whole = Inertia::solid(&Shape::cuboid([0.1, 0.2, 0.3]), 2.0).unwrap();
        assert!((joined.matrix - whole.matrix).amax() < EXACT);
        assert!((joined.com - Vector3::x()).amax() < EXACT);
    }
}
