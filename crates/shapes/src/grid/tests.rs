use std::f64::consts::TAU;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::Shape;

/// A torus about z.
const RING: f64 = 0.03;
const TUBE: f64 = 0.012;
/// How far the triangles of [`torus`] are inside of it: the sagitta of their longest side, and of a half across it.
const FACETS: f64 = 4e-5;

/// The error is measured at some points: between them it is larger by as much where the distance has a crease.
const MEASURED: f64 = 1.3;

fn torus(around: usize, across: usize) -> Triangles {
    let mut mesh = Triangles::default();
    for i in 0..around {
        for j in 0..across {
            let (u, v) = (TAU * i as f64 / around as f64, TAU * j as f64 / across as f64);
            let from_axis = RING + TUBE * v.cos();
            mesh.vertices.push([from_axis * u.cos(), from_axis * u.sin(), TUBE * v.sin()]);
            let at = |i: usize, j: usize| (i % around) * across + j % across;
            mesh.faces.push([at(i, j), at(i + 1, j), at(i + 1, j + 1)]);
            mesh.faces.push([at(i, j), at(i + 1, j + 1), at(i, j + 1)]);
        }
    }
    mesh
}

fn cuboid(half: [f64; 3]) -> Triangles {
    let hull = Shape::cuboid(half);
    let Shape::Box { half_extents: [x, y, z], .. } = hull else { panic!("a box") };
    let signs = [-1.0, 1.0];
    let corners =
        signs.into_iter().flat_map(|i| signs.into_iter().flat_map(move |j| signs.map(|k| [i * x, j * y, k * z])));
    let corners: Vec<[f64; 3]> = corners.collect();
    let hull = Hull::new(&corners).unwrap();
    let faces = hull.faces().iter().flat_map(|face| {
        face.corners[1..].windows(2).map(|pair| [face.corners[0], pair[0], pair[1]]).collect::<Vec<_>>()
    });
    Triangles { vertices: hull.vertices().to_vec(), faces: faces.collect() }
}

fn random_points(scale: [f64; 3], n: usize) -> Vec<Vector3<f64>> {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    (0..n).map(|_| Vector3::from_fn(|k, _| scale[k] * random.random_range(-1.0..1.0))).collect()
}

/// The distance to a torus in closed form, in its hole too.
#[test]
fn the_distance_to_a_torus() {
    let tolerance = 3e-4;
    let grid = DistanceGrid::new(torus(120, 48), &GridSettings::within(tolerance)).unwrap();
    assert!(grid.error() <= tolerance);
    let mut most = 0.0_f64;
    for point in random_points([0.05, 0.05, 0.02], 20_000) {
        let true_value = (point.xy().norm() - RING).hypot(point.z) - TUBE;
        // Half as deep as the tube is thick, and not beyond the reach.
        if (-TUBE / 2.0..grid.reach()).contains(&true_value) {
            most = most.max((grid.at(&point).value - true_value).abs());
        }
    }
    assert!(most <= MEASURED * tolerance + FACETS, "{most}");
    let volume = TAU * RING * TAU / 2.0 * TUBE * TUBE;
    assert!((grid.solid().mass / volume - 1.0).abs() < 5e-3, "{}", grid.solid().mass / volume);
}

/// A box has edges, which a spline rounds off; its distance is a closed form on both sides.
#[test]
fn the_distance_to_a_box() {
    let half = [0.02, 0.03, 0.01];
    let tolerance = 2e-4;
    let grid = DistanceGrid::new(cuboid(half), &GridSettings { tolerance, reach: Some(0.01) }).unwrap();
    let mut most = 0.0_f64;
    for point in random_points([0.03, 0.04, 0.02], 20_000) {
        let q = point.abs() - Vector3::from(half);
        let true_value = q.sup(&Vector3::zeros()).norm() + q.max().min(0.0);
        if (-1e-3..0.01).contains(&true_value) {
            most = most.max((grid.at(&point).value - true_value).abs());
        }
    }
    assert!(most <= MEASURED * tolerance, "{most}");
}

/// Gradient and second derivatives are those of the value, inside the grid and beyond its sides, edges and corners.
#[test]
fn derivatives_against_differences() {
    let grid = DistanceGrid::new(torus(60, 24), &GridSettings::within(1e-3)).unwrap();
    let h = 1e-5;
    let mut worst = [0.0_f64; 2];
    for point in random_points([0.1; 3], 2000) {
        let found = grid.at(&point);
        for k in 0..3 {
            let step = Vector3::ith(k, h);
            let side = |point: Vector3<f64>| {
                let Spline { origin, spacing, nodes, .. } = &grid.spline;
                let end = origin[k] + (nodes[k] - 1) as f64 * spacing;
                (point[k] > origin[k], point[k] < end)
            };
            // Where the grid ends, the gradient jumps, and then bends the more the nearer that is.
            let beyond = (point - grid.spline.origin - grid.spline.nearest(&point)).norm();
            if side(point + step) != side(point - step) || (beyond > 0.0 && beyond < 0.01) {
                continue;
            }
            let [ahead, behind] = [grid.at(&(point + step)), grid.at(&(point - step))];
            let by_value = (ahead.value - behind.value) / (2.0 * h);
            let by_gradient = (ahead.gradient - behind.gradient) / (2.0 * h);
            worst[0] = worst[0].max((found.gradient[k] - by_value).abs());
            worst[1] = worst[1].max((found.hessian.column(k) - by_gradient).amax());
        }
    }
    // The third derivative is piecewise constant and some 1e5 / m²: a difference of the value is off by h²/6 times it.
    assert!(worst[0] < 5e-6 && worst[1] < 0.1, "{worst:?}");
}

/// Faces that look inwards make the same grid.
#[test]
fn the_side_that_faces_look_to_does_not_matter() {
    let out = torus(40, 16);
    let mut inwards = out.clone();
    inwards.faces.iter_mut().for_each(|face| face.swap(0, 1));
    let [one, other] = [out, inwards].map(|mesh| DistanceGrid::new(mesh, &GridSettings::within(1e-3)).unwrap());
    assert_eq!(one.spline, other.spline);
    assert!((one.solid().matrix - other.solid().matrix).amax() < 1e-12 * one.solid().matrix.amax());
}

#[test]
fn what_cannot_be_said_within_the_tolerance() {
    let error = DistanceGrid::new(torus(20, 8), &GridSettings::within(1e-6)).unwrap_err().to_string();
    assert!(error.contains("expected distances within 0.001 mm") && error.contains("mm with fewer"), "{error}");
    let far = GridSettings { tolerance: 1e-3, reach: Some(10.0) };
    let error = DistanceGrid::new(torus(20, 8), &far).unwrap_err().to_string();
    assert!(error.contains("expected a reach") && error.contains("got 10000.000 mm around a mesh of"), "{error}");
    let open = Triangles { faces: torus(20, 8).faces[..10].to_vec(), ..torus(20, 8) };
    assert!(DistanceGrid::new(open, &GridSettings::within(1e-3)).is_err());
    for tolerance in [0.0, -1.0, f64::NAN] {
        assert!(DistanceGrid::new(torus(20, 8), &GridSettings::within(tolerance)).is_err());
    }
}
