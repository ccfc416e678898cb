//! Recorded distances of another library, and independent bounds.

use fingertip::collision;
use fingertip::description::Shape;
use nalgebra::{Isometry3, Matrix3, Rotation3, Translation3, UnitQuaternion};
use serde_json::Value;

use super::support::*;
use support::values;

/// Rounding of recorded numbers, for pairs that the other library solves exactly.
const EXACT: f64 = 1e-12;
/// The other library's own error on curved shapes, whose distances it finds by iteration.
const ITERATIVE: f64 = 1e-5;
/// The error that ITERATIVE leaves in the normal, √(2 ITERATIVE/R).
const ITERATIVE_NORMAL: f64 = 1e-2;
/// Error of the recorded bound, an optimiser's result.
const BOUND: f64 = 1e-8;

fn shape(value: &Value) -> (&str, Shape) {
    let (kind, sizes) = value.as_object().unwrap().iter().next().unwrap();
    if kind == "hull" {
        let points: Vec<[f64; 3]> =
            sizes.as_array().unwrap().iter().map(|point| values(point).try_into().unwrap()).collect();
        return (kind, Shape::hull(&points).unwrap());
    }
    let shape = match (kind.as_str(), &values(sizes)[..]) {
        ("sphere", &[radius]) => Shape::sphere(radius),
        ("capsule", &[radius, half]) => Shape::capsule(radius, half),
        ("cylinder", &[radius, half]) => Shape::cylinder(radius, half),
        ("box", &[x, y, z]) => Shape::cuboid([x, y, z]),
        ("ellipsoid", &[x, y, z]) => Shape::ellipsoid([x, y, z]),
        _ => Shape::HalfSpace,
    };
    (kind, shape)
}

fn pose(value: &Value) -> Isometry3<f64> {
    let p = values(value);
    let rotation = Rotation3::from_matrix(&Matrix3::from_column_slice(&p[3..]));
    Isometry3::from_parts(Translation3::new(p[0], p[1], p[2]), UnitQuaternion::from_rotation_matrix(&rotation))
}

#[test]
fn recorded_distances() {
    let file: Value = serde_json::from_str(include_str!("../../golden/collision.json")).unwrap();
    let rows = file["pairs"].as_array().unwrap();
    let (mut exact, mut curved) = (0, 0);
    for (i, row) in rows.iter().enumerate() {
        let ((kind_a, a), (kind_b, b)) = (shape(&row["a"]), shape(&row["b"]));
        let d = collision::distance(&a, &pose(&row["pose_a"]), &b, &pose(&row["pose_b"])).unwrap();
        let what = format!("row {i}: {kind_a} {kind_b}, {row}\n{d:?}");
        if let Some(bound) = row["bound"].as_f64() {
            assert!(d.phi > bound - BOUND, "{what}");
        }
        if row["reliable"] != true {
            continue;
        }
        let is_exact = ["sphere", "capsule"].contains(&kind_a) && ["sphere", "capsule"].contains(&kind_b);
        let is_exact = is_exact || kind_b == "halfspace" && !["ellipsoid", "hull"].contains(&kind_a);
        *if is_exact { &mut exact } else { &mut curved } += 1;
        let tolerance = if is_exact { EXACT } else { ITERATIVE };
        assert!((d.phi - row["phi"].as_f64().unwrap()).abs() < tolerance, "{what}");
        let normal = V3::from_vec(values(&row["normal"]));
        assert!((d.normal - normal).norm() < ITERATIVE_NORMAL, "{what}");
    }
    assert!(exact > 20 && curved > 150, "{exact} {curved}");
}

#[test]
fn two_half_spaces_are_an_error() {
    let (floor, here) = (Shape::HalfSpace, Isometry3::identity());
    let error = collision::distance(&floor, &here, &floor, &here).unwrap_err().to_string();
    assert!(error.contains("half-space"), "{error}");
    let nowhere = Isometry3::translation(f64::NAN, 0.0, 0.0);
    let error = collision::distance(&Shape::sphere(1.0), &nowhere, &floor, &here).unwrap_err().to_string();
    assert!(error.contains("A: pose"), "{error}");
}
