//! Contact points where flat sides meet.

use fingertip::collision::{Collider, Distance, MANIFOLD, World};
use fingertip::description::Shape;
use nalgebra::{Isometry3, UnitQuaternion};

use super::support::*;

/// Rounding of lengths below a metre.
const EXACT: f64 = 1e-14;
/// Rounding after a polished distance.
const CURVED: f64 = 1e-9;

fn manifold(a: &Shape, pose_a: &Isometry3<f64>, b: &Shape, pose_b: &Isometry3<f64>) -> Vec<Distance> {
    Collider::new(a).manifold(pose_a, &Collider::new(b), pose_b, f64::INFINITY)
}

/// Half width of the overlap, and the kinds that lie on a box of half height 0.1, each with its height and its points.
#[test]
fn bodies_on_a_box() {
    let below = Shape::cuboid([0.1, 0.1, 0.1]);
    let corner = |k: usize| [0, 1, 2].map(|i| if k >> i & 1 == 0 { -0.05 } else { 0.05 });
    let cube_hull = Shape::hull(&(0..8).map(corner).collect::<Vec<_>>()).unwrap();
    let lying = UnitQuaternion::from_axis_angle(&V3::x_axis(), std::f64::consts::FRAC_PI_2);
    let up = UnitQuaternion::identity();
    let cases = [
        (Shape::cuboid([0.05; 3]), up, 0.05, 4, 0.05),
        (cube_hull, up, 0.05, 4, 0.05),
        (Shape::rounded_cuboid([0.05; 3], 0.01), up, 0.05, 4, 0.04),
        (Shape::cuboid([0.2; 3]), up, 0.2, 4, 0.1),
        (Shape::cylinder(0.05, 0.02), up, 0.02, 4, 0.05),
        (Shape::cylinder(0.05, 0.02), lying, 0.05, 2, 0.02),
        (Shape::capsule(0.05, 0.03), lying, 0.05, 2, 0.03),
        (Shape::sphere(0.05), up, 0.05, 1, 0.0),
        (Shape::ellipsoid([0.05, 0.06, 0.07]), up, 0.07, 1, 0.0),
    ];
    for (shape, turn, height, count, reach) in cases {
        for gap in [-0.003, 0.0, 0.003] {
            let pose = Isometry3::from_parts([0.0, 0.0, 0.1 + height + gap].into(), turn);
            let contacts = manifold(&below, &Isometry3::identity(), &shape, &pose);
            assert_eq!(contacts.len(), count, "{shape:?} {gap} {contacts:?}");
            let middle: V3 = contacts.iter().map(|contact| contact.point_a).sum::<V3>() / count as f64;
            assert!(middle.xy().norm() < CURVED, "{shape:?} {gap} {contacts:?}");
            for c in &contacts {
                assert!((c.phi - gap).abs() < CURVED && (c.normal - V3::z()).norm() < CURVED, "{shape:?} {gap} {c:?}");
                assert!((c.point_b - c.point_a - c.normal * c.phi).norm() < EXACT, "{shape:?} {gap} {c:?}");
                assert!((c.point_a.z - 0.1).abs() < CURVED && c.point_a.xy().amax() < reach + CURVED, "{c:?}");
                assert!(count < 2 || c.point_a.xy().norm() > reach - CURVED, "{shape:?} {gap} {c:?}");
            }
        }
    }
}

/// Any two bodies: as many as promised, the deepest no deeper than along its normal, exchanged bodies alike.
#[test]
fn random_manifolds() {
    let mut random = Random::new(5);
    let mut several = 0;
    for kind_a in KINDS {
        for kind_b in KINDS.into_iter().chain(["halfspace"]) {
            for _ in 0..200 {
                let (a, mut b) = (random.body(kind_a, 0.2), random.body(kind_b, 0.2));
                let tilt = UnitQuaternion::from_scaled_axis(random.vector(0.05));
                b.pose.rotation = tilt * a.pose.rotation;
                let there = a.collider.manifold(&a.pose, &b.collider, &b.pose, f64::INFINITY);
                let back = b.collider.manifold(&b.pose, &a.collider, &a.pose, f64::INFINITY);
                assert!((1..=MANIFOLD).contains(&there.len()), "{there:?}");
                assert_eq!(there.len(), back.len());
                several += usize::from(there.len() > 1);
                let closest = a.collider.distance(&a.pose, &b.collider, &b.pose).unwrap();
                for (c, mirror) in there.iter().zip(&back) {
                    assert_eq!((c.phi, c.point_a, c.point_b), (mirror.phi, mirror.point_b, mirror.point_a));
                    assert!((c.point_b - c.point_a - c.normal * c.phi).norm() < EXACT);
                    let tilt = c.normal.cross(&closest.normal).norm();
                    assert!(
                        tilt < 0.09 && c.phi > closest.phi - 0.5 * tilt - CURVED,
                        "{kind_a} {kind_b} {c:?} {closest:?}"
                    );
                }
            }
        }
    }
    assert!(several > 2000, "{several}");
}

/// The sweep finds what testing all pairs finds, and leaves out what is excluded.
#[test]
fn world() {
    let mut random = Random::new(9);
    let bodies: Vec<Body> = (0..60).map(|k| random.body(KINDS[k % 7], 0.8)).collect();
    let mut world = World::new();
    let floor = random.body("halfspace", 0.1);
    let all: Vec<&Body> = bodies.iter().chain([&floor]).collect();
    all.iter().enumerate().for_each(|(k, body)| assert_eq!(world.add(k / 2, body.collider.clone()), k));
    world.exclude(3, 1);
    let poses: Vec<Isometry3<f64>> = all.iter().map(|body| body.pose).collect();
    let margin = 0.05;
    let mut expected = Vec::new();
    for (j, b) in all.iter().enumerate() {
        for (i, a) in all[..j].iter().enumerate() {
            let d = a.collider.distance(&a.pose, &b.collider, &b.pose).unwrap();
            if d.phi <= margin && i / 2 != j / 2 && (i / 2, j / 2) != (1, 3) {
                expected.push((i, j, d.phi));
            }
        }
    }
    let mut found: Vec<_> = world.near(&poses, margin).unwrap().iter().map(|n| (n.a, n.b, n.distance.phi)).collect();
    expected.sort_by_key(|pair| (pair.0, pair.1));
    found.sort_by_key(|pair| (pair.0, pair.1));
    assert_eq!(found, expected);
    let candidates = world.candidates(&poses, margin).unwrap().len();
    assert!(found.len() > 50 && candidates < 61 * 60 / 2 / 2, "{} {candidates}", found.len());
    assert!(world.near(&poses[1..], margin).is_err());
}
