//! Tables: what planar objects lie on, and how far its friction reaches.

use nalgebra::{Isometry3, UnitQuaternion, Vector2, Vector3};

use super::{Collision, Shape};

/// Corners of the polygon that stands for a circle.
const CORNERS: usize = 512;
/// The footprint is at least so many strips high.
const STRIPS: f64 = 512.0;
/// Gauss's points in (−1, 1), and their weights.
const GAUSS: [(f64, f64); 3] =
    [(-0.774_596_669_241_483_4, 5.0 / 9.0), (0.0, 8.0 / 9.0), (0.774_596_669_241_483_4, 5.0 / 9.0)];

/// A table under a planar object. Its friction resists sliding and turning together: with force f and torque τ about
/// the centre of mass, ‖f‖² + (τ/c)² ≤ F² (the ellipsoidal limit surface of Goyal, Ruina and Papadopoulos 1991, and
/// Howe and Cutkosky 1996), with F = μ m g, g being gravity's component along z.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Table {
    /// Friction coefficient μ; positive.
    pub friction: f64,
    /// The largest torque of friction over its largest force, c, m; positive. `None` is that of the object's footprint
    /// under uniform pressure: see [`Object::table_radius`](super::Object::table_radius).
    pub radius: Option<f64>,
}

/// The mean distance of the points that shapes cover of the x–y plane from one of them.
pub(super) fn mean_distance(collisions: &[Collision], from: Vector2<f64>) -> Option<f64> {
    let outline = |collision: &Collision| -> Vec<_> {
        convex(outline(&collision.shape, &collision.pose)).into_iter().map(|point| point - from).collect()
    };
    let parts: Vec<Vec<Vector2<f64>>> = collisions.iter().map(outline).filter(|part: &Vec<_>| part.len() > 2).collect();
    let mut heights: Vec<f64> = parts.iter().flatten().map(|point| point.y).collect();
    heights.sort_by(f64::total_cmp);
    let strip = (heights.last()? - heights.first()?) / STRIPS;
    let (mut area, mut moment) = (0.0, 0.0);
    for (low, high) in heights.iter().zip(&heights[1..]).filter(|(low, high)| high > low) {
        let n = ((high - low) / strip).ceil().max(1.0);
        let half = (high - low) / (2.0 * n);
        let mut middle = low + half;
        while middle < *high {
            for (at, weight) in GAUSS {
                let y = at.mul_add(half, middle);
                for [a, b] in covered(&parts, y) {
                    area += weight * half * (b - a);
                    moment += weight * half * (distances(b, y) - distances(a, y));
                }
            }
            middle += 2.0 * half;
        }
    }
    (area > 0.0).then(|| moment / area)
}

/// The integral of √(x² + y²) over x, from 0.
fn distances(x: f64, y: f64) -> f64 {
    let turned = if y == 0.0 { 0.0 } else { y * y * (x / y.abs()).asinh() };
    0.5 * x.mul_add(x.hypot(y), turned)
}

/// The intervals of x that convex polygons cover at a height, apart from each other.
fn covered(parts: &[Vec<Vector2<f64>>], y: f64) -> Vec<[f64; 2]> {
    let across = |part: &Vec<Vector2<f64>>| {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for (k, a) in part.iter().enumerate() {
            let b = part[(k + 1) % part.len()];
            if (a.y <= y) != (b.y <= y) {
                let x = a.x + (b.x - a.x) * (y - a.y) / (b.y - a.y);
                (low, high) = (low.min(x), high.max(x));
            }
        }
        (low < high).then_some([low, high])
    };
    let mut intervals: Vec<[f64; 2]> = parts.iter().filter_map(across).collect();
    intervals.sort_by(|a, b| a[0].total_cmp(&b[0]));
    let mut apart: Vec<[f64; 2]> = Vec::new();
    for [low, high] in intervals {
        match apart.last_mut() {
            Some(last) if low <= last[1] => last[1] = last[1].max(high),
            _ => apart.push([low, high]),
        }
    }
    apart
}

/// Points whose convex hull is the shape's shadow on the x–y plane; none of a half-space. Circles are polygons of the
/// same area.
fn outline(shape: &Shape, pose: &Isometry3<f64>) -> Vec<Vector2<f64>> {
    let ring = |place: Isometry3<f64>, x: f64, y: f64| -> Vec<Vector2<f64>> {
        #[expect(clippy::cast_precision_loss, reason = "a count")]
        let turn = std::f64::consts::TAU / CORNERS as f64;
        let size = (turn / turn.sin()).sqrt();
        #[expect(clippy::cast_precision_loss, reason = "a count")]
        let point = |k: usize| {
            let (sin, cos) = (turn * k as f64).sin_cos();
            (place * nalgebra::Point3::new(size * x * cos, size * y * sin, 0.0)).coords.xy()
        };
        (0..CORNERS).map(point).collect()
    };
    // A ball's shadow does not turn with the shape.
    let ball = |at: Vector3<f64>, radius: f64| {
        let place =
            Isometry3::from_parts((pose * nalgebra::Point3::from(at)).coords.into(), UnitQuaternion::identity());
        ring(place, radius, radius)
    };
    let at = |z: f64| pose * Isometry3::translation(0.0, 0.0, z);
    let around = |points: Vec<Vector3<f64>>, radius: f64| -> Vec<Vector2<f64>> {
        if radius > 0.0 {
            return points.into_iter().flat_map(|point| ball(point, radius)).collect();
        }
        points.into_iter().map(|point| (pose * nalgebra::Point3::from(point)).coords.xy()).collect()
    };
    match shape {
        Shape::Sphere { radius } => ball(Vector3::zeros(), *radius),
        Shape::Capsule { radius, half_length } => {
            around([-1.0, 1.0].map(|side| Vector3::new(0.0, 0.0, side * half_length)).into(), *radius)
        }
        Shape::Box { half_extents, rounding } => {
            let [x, y, z] = half_extents.map(|half| half - rounding);
            let side = |bit: usize, half: f64, k: usize| if k >> bit & 1 == 0 { half } else { -half };
            around((0..8).map(|k| Vector3::new(side(0, x, k), side(1, y, k), side(2, z, k))).collect(), *rounding)
        }
        Shape::Cylinder { radius, half_length } => {
            [-1.0, 1.0].into_iter().flat_map(|side| ring(at(side * half_length), *radius, *radius)).collect()
        }
        Shape::Ellipsoid { radii } => {
            // The shadow of A (unit ball) is that of the ball under the root of A Aᵀ in the plane.
            let scaled =
                pose.rotation.to_rotation_matrix().into_inner() * nalgebra::Matrix3::from_diagonal(&(*radii).into());
            let rows = scaled.fixed_rows::<2>(0).into_owned();
            let eigen = (rows * rows.transpose()).symmetric_eigen();
            let [x, y] = [eigen.eigenvalues[0], eigen.eigenvalues[1]].map(f64::sqrt);
            let middle = pose.translation.vector.xy();
            ring(Isometry3::identity(), x, y).into_iter().map(|point| middle + eigen.eigenvectors * point).collect()
        }
        Shape::Hull(_) | Shape::Grid(_) => {
            let vertices = shape.hulled().map_or(&[][..], |hull| hull.vertices());
            around(vertices.iter().map(|&vertex| vertex.into()).collect(), 0.0)
        }
        Shape::HalfSpace => Vec::new(),
    }
}

/// The corners of points' convex hull, in turn (Andrew's monotone chain).
fn convex(mut points: Vec<Vector2<f64>>) -> Vec<Vector2<f64>> {
    points.sort_by(|a, b| a.x.total_cmp(&b.x).then(a.y.total_cmp(&b.y)));
    let chain = |points: &mut dyn Iterator<Item = Vector2<f64>>| {
        let mut chain: Vec<Vector2<f64>> = Vec::new();
        for point in points {
            while let [.., a, b] = chain[..]
                && (b - a).perp(&(point - b)) <= 0.0
            {
                chain.pop();
            }
            chain.push(point);
        }
        chain.pop();
        chain
    };
    let mut around = chain(&mut points.iter().copied());
    around.extend(chain(&mut points.iter().rev().copied()));
    around
}
