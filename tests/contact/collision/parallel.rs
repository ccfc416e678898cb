//! Bodies that are parallel up to 10⁻⁵ to 10⁻¹³ rad: their faces, edges and axes are almost, but not quite, one.

use fingertip::collision::Collider;
use fingertip::description::Shape;
use nalgebra::{Isometry3, UnitQuaternion};

use super::support::*;

const KINDS: [&str; 6] = ["capsule", "box", "rounded box", "cylinder", "ellipsoid", "hull"];
const PAIRS: usize = 1000;
/// Of the bodies' size: what is promised of a distance.
const EXACT: f64 = 1e-11;

/// A shape of a kind, which reaches this far along its axes, if it is not round.
fn shape(kind: &str, half: V3) -> Shape {
    match kind {
        "capsule" => Shape::capsule(half.x, half.z),
        "box" => Shape::cuboid(half.into()),
        "rounded box" => Shape::rounded_cuboid(half.into(), half.min() / 2.0),
        "cylinder" => Shape::cylinder(half.x, half.z),
        "ellipsoid" => Shape::ellipsoid(half.into()),
        _ => {
            let corner = |k: usize| V3::from_fn(|i, _| if k >> i & 1 == 0 { half[i] } else { -half[i] });
            Shape::hull(&(0..8).map(|k| corner(k).into()).collect::<Vec<[f64; 3]>>()).unwrap()
        }
    }
}

/// Where along an axis sides, ends or middles of bodies of these half lengths meet, or rims along a diagonal, but for
/// at most 10⁻³ m; or anywhere.
fn place(random: &mut Random, half_a: f64, half_b: f64) -> f64 {
    let small = [0.0, 1.0, -1.0][random.index(3)] * 10_f64.powf(random.within(-13.0, -3.0));
    let anywhere = random.within(0.0, 0.2);
    let met = [0.0, half_a + half_b, half_a - half_b, half_a.hypot(half_b), anywhere][random.index(5)];
    [-1.0, 1.0][random.index(2)] * (met + small)
}

/// A turn of B by ε about its middle moves no point of it by more than ε times its reach, and the distance changes by
/// no more than that. So each is held to the distance of the parallel bodies. No direction next to the normal separates
/// by more.
#[test]
fn nearly_parallel_pairs() {
    let mut random = Random::new(8);
    for (i, kind_a) in KINDS.into_iter().enumerate() {
        for kind_b in &KINDS[..=i] {
            for _ in 0..PAIRS {
                let half_a = V3::from_fn(|_, _| random.within(0.005, 0.1));
                let half_b = if random.index(4) == 0 { half_a } else { half_a.map(|_| random.within(0.005, 0.1)) };
                let pose = random.pose(0.1);
                let between = V3::from_fn(|k, _| place(&mut random, half_a[k], half_b[k]));
                let [x, z] = [0; 2].map(|_| random.index(4) as f64 * std::f64::consts::FRAC_PI_2);
                let turn = UnitQuaternion::from_euler_angles(x, 0.0, z);
                let tilt = 10_f64.powf(random.within(-13.0, -5.0));
                let tilted = UnitQuaternion::from_scaled_axis(random.direction() * tilt) * turn;
                let body = |kind: &str, half: V3, pose| {
                    let shape = shape(kind, half);
                    Body { collider: Collider::new(&shape), shape, pose }
                };
                let a = body(kind_a, half_a, pose);
                let [parallel, b] =
                    [turn, tilted].map(|turn| body(kind_b, half_b, pose * Isometry3::from_parts(between.into(), turn)));
                let of = |b: &Body| a.collider.distance(&a.pose, &b.collider, &b.pose).unwrap();
                let (aligned, found) = (of(&parallel), of(&b));
                // A capsule reaches farther by its radius.
                let reach = half_b.norm() + half_b.x;
                let exact = EXACT * (half_a.norm() + half_b.norm());
                let what =
                    || format!("tilt {tilt:e} {found:?} {aligned:?}\n{:?} {:?} {between:?} {turn:?}", a.shape, b.shape);
                let off = (found.phi - aligned.phi).abs() - tilt * reach;
                assert!(off < exact, "{off:e} {}", what());
                for k in 0..10 {
                    let n = (found.normal + random.direction() * 0.1_f64.powi(k)).normalize();
                    let beaten = separation(&a, &b, &n) - found.phi;
                    assert!(beaten < exact, "{beaten:e} {}", what());
                }
            }
        }
    }
}
