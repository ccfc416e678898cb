//! Derivatives of distances and contact points against central differences.

use fingertip::collision::{Distance, DistanceGradient};
use fingertip::description::Shape;
use nalgebra::{Isometry3, Translation3, UnitQuaternion, Vector6};

use super::support::*;

/// Step in m and rad, and the error that it leaves in rates of size one: rounding/step, and step² times third derivatives
/// up to 1/(1 mm)².
const STEP: f64 = 1e-6;
const DIFFERENCE: f64 = 1e-5;
/// Where one-sided differences disagree by more, the pair changes its features within the step; below that, what they
/// disagree by bounds what central ones are off.
const KINK: f64 = 1e-3;
/// Kinks are as rare as the steps are small.
const KINKS: usize = 5;

fn moved(pose: &Isometry3<f64>, k: usize, step: f64) -> Isometry3<f64> {
    let twist = Vector6::ith(k, step);
    let turn = UnitQuaternion::from_scaled_axis(V3::new(twist[3], twist[4], twist[5]));
    let place = pose.translation.vector + V3::new(twist[0], twist[1], twist[2]);
    Isometry3::from_parts(Translation3::from(place), turn * pose.rotation)
}

fn resized(body: &Body, k: usize, step: f64) -> fingertip::collision::Collider {
    let mut sizes = body.shape.sizes();
    sizes[k] += step;
    fingertip::collision::Collider::with_sizes(&body.shape, sizes).unwrap()
}

fn weighted(d: &Distance, g: &DistanceGradient) -> f64 {
    g.phi * d.phi + g.point_a.dot(&d.point_a) + g.point_b.dot(&d.point_b) + g.normal.dot(&d.normal)
}

/// φ by J_n, then any mixture of φ, points and normal by `pull`, by motions and sizes of both bodies.
#[test]
fn gradients_are_central_differences() {
    let mut random = Random::new(3);
    let kinds: Vec<&str> = KINDS.into_iter().chain(["halfspace"]).collect();
    for (i, kind_a) in KINDS.into_iter().enumerate() {
        for kind_b in kinds[..=i].iter().chain(&kinds[7..]) {
            let (mut checked, mut kinks) = (0, 0);
            for _ in 0..60 {
                let (a, b) = (random.body(kind_a, 0.2), random.body(kind_b, 0.2));
                let at = |a: &Body, pose_a: &Isometry3<f64>, pose_b: &Isometry3<f64>| {
                    a.collider.distance(pose_a, &b.collider, pose_b).unwrap()
                };
                let here = at(&a, &a.pose, &b.pose);
                let mut vector = || random.vector(1.0);
                let mixed = DistanceGradient { phi: 0.7, point_a: vector(), point_b: vector(), normal: vector() };
                let alone = DistanceGradient { phi: 1.0, ..Default::default() };
                for g in [alone, mixed].iter() {
                    let pulled = here.pull((&a.collider, &a.pose), (&b.collider, &b.pose), g);
                    let mut compare = |got: f64, ahead: Distance, back: Distance| {
                        let [ahead, back, now] = [ahead, back, here].map(|d| weighted(&d, g));
                        let (left, right) = ((now - back) / STEP, (ahead - now) / STEP);
                        let want = (left + right) / 2.0;
                        let scale = 1.0 + want.abs().powi(2);
                        if (left - right).abs() > KINK * scale {
                            kinks += 1;
                            return;
                        }
                        checked += 1;
                        let error = (got - want).abs() - (left - right).abs();
                        assert!(error < DIFFERENCE * scale, "{kind_a} {kind_b}: {got} is not {want}, {here:?}");
                    };
                    for k in 0..6 {
                        let [ahead, back] = [STEP, -STEP].map(|step| at(&a, &moved(&a.pose, k, step), &b.pose));
                        compare(pulled[0].twist[k], ahead, back);
                        let [ahead, back] = [STEP, -STEP].map(|step| at(&a, &a.pose, &moved(&b.pose, k, step)));
                        compare(pulled[1].twist[k], ahead, back);
                    }
                    for k in 0..Shape::SIZES {
                        let is_size = |body: &Body| body.shape.sizes()[k] > 0.0;
                        if is_size(&a) {
                            let [ahead, back] = [STEP, -STEP]
                                .map(|step| resized(&a, k, step).distance(&a.pose, &b.collider, &b.pose).unwrap());
                            compare(pulled[0].sizes[k], ahead, back);
                        }
                        if is_size(&b) {
                            let [ahead, back] = [STEP, -STEP]
                                .map(|step| a.collider.distance(&a.pose, &resized(&b, k, step), &b.pose).unwrap());
                            compare(pulled[1].sizes[k], ahead, back);
                        }
                    }
                }
            }
            assert!(checked > 1000 && kinks <= KINKS, "{kind_a} {kind_b}: {checked} checked, {kinks} kinks");
        }
    }
}

/// Every contact of a manifold, on tilted faces, whose numbers keep their order within a step.
#[test]
fn gradients_of_manifolds() {
    let mut random = Random::new(4);
    let flat = ["capsule", "box", "rounded box", "cylinder", "hull"];
    for kind_a in flat {
        for kind_b in flat.into_iter().chain(["halfspace"]) {
            let (mut checked, mut kinks) = (0, 0);
            for _ in 0..150 {
                let (a, mut b) = (random.body(kind_a, 0.2), random.body(kind_b, 0.2));
                b.pose.rotation = UnitQuaternion::from_scaled_axis(random.vector(0.03)) * a.pose.rotation;
                let at = |pose_a: &Isometry3<f64>, pose_b: &Isometry3<f64>| {
                    a.collider.manifold(pose_a, &b.collider, pose_b, f64::INFINITY)
                };
                let here = at(&a.pose, &b.pose);
                if here.len() < 2 {
                    continue;
                }
                let mut vector = || random.vector(1.0);
                let g = DistanceGradient { phi: 0.7, point_a: vector(), point_b: vector(), normal: vector() };
                let pulled: Vec<_> =
                    here.iter().map(|d| d.pull((&a.collider, &a.pose), (&b.collider, &b.pose), &g)).collect();
                for (side, k) in (0..12).map(|k| (k / 6, k % 6)) {
                    let [ahead, back] = [STEP, -STEP].map(|step| match side {
                        0 => at(&moved(&a.pose, k, step), &b.pose),
                        _ => at(&a.pose, &moved(&b.pose, k, step)),
                    });
                    for (i, now) in here.iter().enumerate() {
                        let near = |all: &[Distance]| {
                            let d = all.iter().min_by(|x, y| {
                                let off = |d: &Distance| {
                                    (d.point_a - now.point_a).norm()
                                        + (d.point_b - now.point_b).norm()
                                        + (d.normal - now.normal).norm()
                                };
                                off(x).total_cmp(&off(y))
                            });
                            weighted(d.unwrap(), &g)
                        };
                        let now = weighted(now, &g);
                        let (left, right) = ((now - near(&back)) / STEP, (near(&ahead) - now) / STEP);
                        let want = (left + right) / 2.0;
                        let scale = 1.0 + want.abs().powi(2);
                        if (left - right).abs() > KINK * scale {
                            kinks += 1;
                            continue;
                        }
                        checked += 1;
                        let got = pulled[i][side].twist[k];
                        let error = (got - want).abs() - (left - right).abs();
                        assert!(error < DIFFERENCE * scale, "{kind_a} {kind_b}: {got} is not {want}, {:?}", here[i]);
                    }
                }
            }
            assert!(kinks * 100 <= checked, "{kind_a} {kind_b}: {checked} checked, {kinks} kinks");
        }
    }
}
