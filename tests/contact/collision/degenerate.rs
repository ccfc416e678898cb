//! Poses and sizes at which directions, features or formulas run out.

use fingertip::collision::{Collider, Detail};
use fingertip::description::Shape;
use nalgebra::{Isometry3, Quaternion, UnitQuaternion};

use super::support::*;

/// GJK's tolerance, relative to the bodies' size, where features are not unique.
const TOLERANCE: f64 = 1e-6;

fn shapes(size: f64) -> Vec<(&'static str, Shape)> {
    let corners: Vec<[f64; 3]> =
        (0..8).map(|k| [0, 1, 2].map(|i| if k >> i & 1 == 0 { -size } else { size })).collect();
    vec![
        ("sphere", Shape::sphere(size)),
        ("capsule", Shape::capsule(size, size)),
        ("box", Shape::cuboid([size; 3])),
        ("rounded box", Shape::rounded_cuboid([size; 3], size / 4.0)),
        ("cylinder", Shape::cylinder(size, size)),
        ("ellipsoid", Shape::ellipsoid([size, size, 1.5 * size])),
        ("hull", Shape::hull(&corners).unwrap()),
        ("halfspace", Shape::HalfSpace),
    ]
}

/// Concentric, aligned, just touching and a hair apart or inside, from 0.1 mm to 100 m: finite, consistent, attained
/// along the normal, and not beaten along any axis.
#[test]
fn aligned_bodies() {
    let quarter = std::f64::consts::FRAC_PI_2;
    let turns = [[0.0; 3], [quarter, 0.0, 0.0], [0.0, quarter / 2.0, 0.0], [0.0, 0.0, 1e-9], [1e-5, 0.0, 0.0]];
    for size in [1e-4, 0.1, 100.0] {
        for ((name_a, a), (name_b, b)) in
            shapes(size).iter().flat_map(|a| shapes(size).into_iter().map(move |b| (a.clone(), b)))
        {
            for turn in turns {
                let turn = UnitQuaternion::from_scaled_axis(V3::from(turn));
                for along in [V3::x(), V3::z(), V3::new(1.0, 1.0, 0.0), V3::new(1.0, 1.0, 1.0)] {
                    for far in [0.0, 1e-15, 1e-9, 0.5, 2.0 - 1e-9, 2.0, 2.0 + 1e-12, 2.0 + 1e-9, 2.5, 5.0] {
                        let pose = Isometry3::from_parts((along * (far * size)).into(), turn);
                        let body =
                            |shape: &Shape, pose| Body { shape: shape.clone(), collider: Collider::new(shape), pose };
                        let (a, b) = (body(&a, Isometry3::identity()), body(&b, pose));
                        let what = format!("{name_a} {name_b} size {size}, {far} along {along:?}, turned {turn:?}");
                        let Some(d) = a.collider.distance(&a.pose, &b.collider, &b.pose) else {
                            assert!(name_a == "halfspace" && name_b == "halfspace", "{what}");
                            continue;
                        };
                        let tolerance = TOLERANCE * size;
                        let is_unit = (d.normal.norm() - 1.0).abs() < TOLERANCE;
                        let gap = d.point_b - d.point_a - d.normal * d.phi;
                        assert!(is_unit && gap.norm() < tolerance, "{what}: {d:?}");
                        let points = a.collider.manifold(&a.pose, &b.collider, &b.pose, Detail::ALL).unwrap().points;
                        for c in &points {
                            let between = c.point_b - c.point_a;
                            let gap = d.normal.dot(&between);
                            let is_along = (between - d.normal * gap).norm() < tolerance;
                            let is_gap = c.phi > gap - tolerance;
                            assert!(is_along && is_gap && gap > d.phi - tolerance, "{what}: {c:?} {d:?}");
                        }
                        let deepest = points.iter().min_by(|x, y| x.phi.total_cmp(&y.phi)).unwrap();
                        assert!(deepest.phi < d.phi + tolerance, "{what}: {points:?} {d:?}");
                        if [name_a, name_b].contains(&"halfspace") {
                            continue;
                        }
                        assert!((separation(&a, &b, &d.normal) - d.phi).abs() < tolerance, "{what}: {d:?}");
                        for k in 0..3 {
                            let of_b = b.pose.rotation * V3::ith(k, 1.0);
                            for n in [V3::ith(k, 1.0), -V3::ith(k, 1.0), of_b, -of_b, along.normalize()] {
                                assert!(separation(&a, &b, &n) < d.phi + tolerance, "{what}: {d:?} beaten by {n:?}");
                            }
                        }
                    }
                }
            }
        }
    }
}

/// An egg over the rim of a can, the normal 3e-6 from the can's axis: a small turn of it leads half around the rim.
/// What climbs from nearer to the axis stops on the way, 5 mm off.
#[test]
fn a_rim_nearly_across_the_normal() {
    let pose = |[i, j, k, w]: [f64; 4], place: [f64; 3]| {
        Isometry3::from_parts(place.into(), UnitQuaternion::from_quaternion(Quaternion::new(w, i, j, k)))
    };
    let body = |shape: Shape, pose| Body { collider: Collider::new(&shape), pose, shape };
    let can = body(
        Shape::cylinder(0.05364176891724501, 0.04907779621673051),
        pose(
            [-0.3391420487213957, -0.5866803652607104, -0.28156851259310955, -0.6793437955282419],
            [0.15188596399908993, 0.1432013979260563, 0.15859681200769105],
        ),
    );
    let egg = body(
        Shape::ellipsoid([0.054436483480466404, 0.1593634361500578, 0.06608219481509878]),
        pose(
            [-0.9146790225372587, 0.11346681277301282, 0.060282537157602845, -0.3832148011797835],
            [0.2707976180727018, 0.08530949723026661, 0.14467564350019002],
        ),
    );
    let mut random = Random::new(1);
    for _ in 0..1000 {
        let turn = UnitQuaternion::from_scaled_axis(random.vector(1e-6));
        let egg = body(egg.shape.clone(), egg.pose * turn);
        let found = can.collider.distance(&can.pose, &egg.collider, &egg.pose).unwrap();
        let off = can.surface(&found.point_a).abs().max(egg.surface(&found.point_b).abs());
        assert!(off < 1e-10, "{off:e}: {found:?}");
    }
}
