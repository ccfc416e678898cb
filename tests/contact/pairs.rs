//! Signed distances, normals and witness points of shape pairs against closed forms, support functions, recorded
//! numbers and parry.

use candle_core::DType;
use fingertip::contact::pair::PairFunction;
use fingertip::description::Shape;
use parry3d_f64::math::{Pose, Rotation, Vector};
use parry3d_f64::shape::{Ball, Capsule, Cuboid, Cylinder, HalfSpace, RoundCuboid, Shape as ParryShape};
use support::pairs::*;
use support::values;

/// Rounding of lengths below a metre, through a few tens of operations.
const ROUNDING: f64 = 1e-13;
/// coal's own error on curved shapes, whose distances it finds by iteration; parry's is up to 2e-5 apart and 1e-3 of
/// the depth inside.
const ITERATIVE: f64 = 1e-5;
/// An error ε in φ leaves √(2 ε R) in the place on a round body.
const ITERATIVE_PLACE: f64 = 3e-3;

fn random_pairs(kinds: (&str, &str), n: usize, reach: f64) -> Vec<(Body, Body)> {
    let mut random = Random::new(7);
    (0..n).map(|_| random.pair(kinds, reach)).collect()
}

#[test]
fn each_contact_lies_on_both_surfaces_along_its_normal() {
    for kinds in PAIRS {
        let pairs = random_pairs(kinds, 300, 0.5);
        let (mut inside, mut outside) = (0, 0);
        for ((a, b), contacts) in pairs.iter().zip(contacts(&pairs, DType::F64)) {
            for c in &contacts {
                let gap = add(c.point_b, -1.0, c.point_a);
                assert!(norm(add(gap, -c.phi, c.normal)) < ROUNDING, "{kinds:?} {c:?}");
                assert!((norm(c.normal) - 1.0).abs() < ROUNDING, "{kinds:?} {c:?}");
            }
            let c = nearest(&contacts);
            let (on_a, on_b) = (a.distance_to(c.point_a), b.distance_to(c.point_b));
            assert!(on_a.abs() < ROUNDING && on_b.abs() < ROUNDING, "{kinds:?} {on_a} {on_b}\n{c:?}\n{a:?}\n{b:?}");
            *if c.phi < 0.0 { &mut inside } else { &mut outside } += 1;
        }
        assert!(inside > 20 && outside > 20, "{kinds:?}: {inside} penetrating, {outside} apart");
    }
}

/// φ is the greatest separation of the bodies over all directions: no direction may beat the normal that is returned.
#[test]
fn signed_distance_is_the_greatest_separation() {
    let mut random = Random::new(11);
    for kinds in PAIRS {
        let pairs = random_pairs(kinds, 200, 0.45);
        for ((a, b), contacts) in pairs.iter().zip(contacts(&pairs, DType::F64)) {
            let c = nearest(&contacts);
            if kinds.1 == "half-space" {
                let n = b.axis(2);
                let lowest = dot(b.position(), n) + a.support(add([0.0; 3], -1.0, n));
                assert!((c.phi + lowest).abs() < ROUNDING, "{kinds:?} {} {lowest}", c.phi);
                continue;
            }
            let separation = |n: V3| -b.support(add([0.0; 3], -1.0, n)) - a.support(n);
            assert!((separation(c.normal) - c.phi).abs() < ROUNDING, "{kinds:?} {c:?} {}", separation(c.normal));
            for k in 0..300 {
                let width = [2.0, 0.1, 1e-3][k % 3];
                let n = unit(add(c.normal, width, random.direction()));
                assert!(separation(n) < c.phi + ROUNDING, "{kinds:?} {c:?} is beaten by {n:?} with {}", separation(n));
            }
            for k in 0..3 {
                for n in [b.axis(k), cross(a.axis(2), b.axis(k))] {
                    for n in [n, add([0.0; 3], -1.0, n)] {
                        assert!(separation(unit(n)) < c.phi + ROUNDING, "{kinds:?} {c:?} is beaten by {n:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn recorded_numbers() {
    let file: serde_json::Value = serde_json::from_str(include_str!("../golden/pairs.json")).unwrap();
    let rows = file["pairs"].as_array().unwrap();
    assert_eq!(rows.len(), 50);
    let v3 = |v: &serde_json::Value| -> V3 { values(v).try_into().unwrap() };
    let body = |shape: &serde_json::Value, pose: &serde_json::Value| {
        let (kind, size) = shape.as_object().unwrap().iter().next().unwrap();
        let s = values(size);
        let shape = match kind.as_str() {
            "sphere" => Shape::Sphere { radius: s[0] },
            "capsule" => Shape::Capsule { radius: s[0], half_length: s[1] },
            "box" => Shape::Box { half_extents: [s[0], s[1], s[2]], rounding: s[3] },
            "cylinder" => Shape::Cylinder { radius: s[0], half_length: s[1] },
            _ => Shape::HalfSpace,
        };
        Body { size: shape.sizes(), shape, pose: values(pose).try_into().unwrap() }
    };
    for row in rows {
        let (a, b) = (body(&row["a"], &row["pose_a"]), body(&row["b"], &row["pose_b"]));
        if PairFunction::find(&a.shape, &b.shape).is_none() {
            continue;
        }
        let c = nearest(&contacts(&[(a.clone(), b.clone())], DType::F64)[0]);
        let name = format!("{} {}", a.shape.name(), b.shape.name());
        let exact = matches!(b.shape, Shape::HalfSpace | Shape::Sphere { .. });
        let phi = row["phi"].as_f64().unwrap();
        assert!((c.phi - phi).abs() < if exact { 1e-12 } else { ITERATIVE }, "{name} {} {phi}", c.phi);
        assert!(c.phi > row["bound"].as_f64().unwrap() - 1e-9, "{name}: {} below {}", c.phi, row["bound"]);
        let tolerance = if exact { 1e-12 } else { ITERATIVE_PLACE };
        for (ours, theirs) in [(c.normal, "normal"), (c.point_a, "point_a"), (c.point_b, "point_b")] {
            let off = norm(add(ours, -1.0, v3(&row[theirs])));
            assert!(off < tolerance, "{name} {theirs} is {off} off");
        }
    }
}

fn parry(body: &Body) -> (Pose, Box<dyn ParryShape>) {
    let v = |a: V3| Vector::new(a[0], a[1], a[2]);
    let s = body.size;
    let turned = parry3d_f64::math::Matrix::from_cols(v(body.axis(0)), v(body.axis(1)), v(body.axis(2)));
    let mut pose = Pose::from_parts(v(body.position()), Rotation::from_mat3(&turned));
    let about_y = |pose: Pose| pose * Pose::from_rotation(Rotation::from_rotation_x(std::f64::consts::FRAC_PI_2));
    let shape: Box<dyn ParryShape> = match body.shape {
        Shape::Sphere { .. } => Box::new(Ball::new(s[0])),
        Shape::Capsule { .. } => Box::new(Capsule::new_z(s[1], s[0])),
        Shape::Box { .. } if s[3] > 0.0 => Box::new(RoundCuboid {
            inner_shape: Cuboid::new(Vector::new(s[0] - s[3], s[1] - s[3], s[2] - s[3])),
            border_radius: s[3],
        }),
        Shape::Box { .. } => Box::new(Cuboid::new(Vector::new(s[0], s[1], s[2]))),
        Shape::Cylinder { .. } => {
            pose = about_y(pose);
            Box::new(Cylinder::new(s[1], s[0]))
        }
        _ => Box::new(HalfSpace::new(Vector::new(0.0, 0.0, 1.0))),
    };
    (pose, shape)
}

#[test]
fn parry_agrees() {
    for kinds in PAIRS {
        let mut compared = 0;
        let pairs = random_pairs(kinds, 100, 0.4);
        for ((a, b), contacts) in pairs.iter().zip(contacts(&pairs, DType::F64)) {
            let c = nearest(&contacts);
            let ((pose_a, shape_a), (pose_b, shape_b)) = (parry(a), parry(b));
            // The half-space goes first: parry 0.31 forgets to turn the pose round where it comes second.
            let theirs = parry3d_f64::query::contact(&pose_b, &*shape_b, &pose_a, &*shape_a, 1.0).unwrap();
            let Some(theirs) = theirs else { continue };
            compared += 1;
            let tolerance = 4.0 * ITERATIVE + 2e-3 * (-c.phi).max(0.0);
            assert!((theirs.dist - c.phi).abs() < tolerance, "{kinds:?} {} {}\n{a:?}\n{b:?}", c.phi, theirs.dist);
        }
        assert!(compared > 90, "{kinds:?}: {compared}");
    }
}

#[test]
fn swapped_bodies_swap_the_witness() {
    for kinds in PAIRS {
        let pairs = random_pairs(kinds, 5, 0.4);
        let swapped: Vec<_> = pairs.iter().map(|(a, b)| (b.clone(), a.clone())).collect();
        for (one, other) in contacts(&pairs, DType::F64).iter().zip(contacts(&swapped, DType::F64)) {
            for (c, d) in one.iter().zip(other) {
                assert!((c.phi - d.phi).abs() < ROUNDING);
                assert!(norm(add(c.normal, 1.0, d.normal)) < ROUNDING, "{kinds:?}");
                assert!(norm(add(c.point_a, -1.0, d.point_b)) < ROUNDING, "{kinds:?}");
                assert!(norm(add(c.point_b, -1.0, d.point_a)) < ROUNDING, "{kinds:?}");
            }
        }
    }
}

#[test]
fn a_world_alone_is_the_world_in_a_batch() {
    for kinds in PAIRS {
        let pairs = random_pairs(kinds, 3, 0.4);
        for (pair, together) in pairs.iter().zip(contacts(&pairs, DType::F64)) {
            for (c, d) in contacts(std::slice::from_ref(pair), DType::F64)[0].iter().zip(together) {
                assert_eq!(c.numbers(), d.numbers(), "{kinds:?}");
            }
        }
    }
}

#[test]
fn single_precision_is_close() {
    /// Rounding of coordinates of half a metre in f32, through a few tens of operations.
    const SINGLE: f64 = 2e-6;
    for kinds in PAIRS {
        let pairs = random_pairs(kinds, 50, 0.4);
        for (c, d) in contacts(&pairs, DType::F64).iter().zip(contacts(&pairs, DType::F32)) {
            let (c, d) = (nearest(c), nearest(&d));
            assert!((c.phi - d.phi).abs() < SINGLE, "{kinds:?} {} {}", c.phi, d.phi);
        }
    }
}

#[test]
fn pairs_without_a_function() {
    let capsule = Shape::Capsule { radius: 0.01, half_length: 0.05 };
    assert!(PairFunction::find(&Shape::HalfSpace, &Shape::HalfSpace).is_none());
    assert!(PairFunction::find(&capsule, &capsule).is_none(), "its contacts have weights");
}
