//! Derivatives of distances and contact points against central differences.

use fingertip::collision::{ContactPoint, Detail, Distance, DistanceGradient, MANIFOLD, Manifold, ManifoldGradient};
use fingertip::description::Shape;
use nalgebra::{Isometry3, Translation3, UnitQuaternion, Vector6};

use super::support::*;

/// Step in m and rad, and the error that it leaves in rates of size one: rounding/step, and step² times third
/// derivatives up to 1/(1 mm)².
const STEP: f64 = 1e-6;
const DIFFERENCE: f64 = 1e-5;
const LONGER: f64 = 1e-5;
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
                    let pulled = here.vjp((&a.collider, &a.pose), (&b.collider, &b.pose), g);
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

/// A capsule's side beside its end on a cylinder's rim, 3 µm from where the end would touch: a random scene in which a
/// first search found the end, and the gradient was that of a cap.
#[test]
fn a_side_beside_its_end() {
    let (radius, half_length) = (0.017467926148462425, 0.025048745669584864);
    let shapes = [Shape::capsule(0.017935061178598933, 0.010720627543008518), Shape::cylinder(radius, half_length)];
    let [capsule, cylinder] = shapes.each_ref().map(fingertip::collision::Collider::new);
    let axis = V3::new(-0.4607087130392127, -0.8626819502714224, -0.20863205507699067);
    let rim = V3::new(0.1531901654159383, 0.17976688498195045, -0.023882135354040657);
    let turn = UnitQuaternion::rotation_between(&V3::z(), &axis).unwrap();
    let (here, pose) =
        (Isometry3::identity(), Isometry3::from_parts((rim - axis.normalize() * half_length).into(), turn));
    let d = capsule.distance(&here, &cylinder, &pose).unwrap();
    assert!(d.normal.z.abs() < 1e-15 && d.point_a.z.abs() < 0.010720627543008518, "{d:?}");
    let step = 1e-7;
    for k in 0..3 {
        let g = DistanceGradient { normal: V3::ith(k, 1.0), point_a: V3::ith(k, 0.3), ..Default::default() };
        let pulled = d.vjp((&capsule, &here), (&cylinder, &pose), &g)[1].twist;
        for j in 0..6 {
            let [ahead, back] = [step, -step]
                .map(|step| weighted(&capsule.distance(&here, &cylinder, &moved(&pose, j, step)).unwrap(), &g));
            let want = (ahead - back) / (2.0 * step);
            assert!((pulled[j] - want).abs() < 1e-6 * (1.0 + want.abs()), "{k} {j}: {} is not {want}", pulled[j]);
        }
    }
}

/// As many as sixty scenes have.
const ENOUGH: usize = 800;

/// Compares the derivatives of all points and weights by motions and sizes of both bodies with central differences.
/// Returns how many it compared, and how many have a kink within the step.
fn check_manifold(name: &str, random: &mut Random, [mut a, mut b]: [Body; 2], detail: Detail) -> [usize; 2] {
    let here = a.collider.manifold(&a.pose, &b.collider, &b.pose, detail).unwrap();
    let (mut checked, mut kinks) = (0, 0);
    let n = here.points.len();
    let gradients: Vec<ManifoldGradient> = here
        .points
        .iter()
        .map(|_| {
            let mut vector = || random.vector(1.0);
            let (point_a, point_b, normal) = (vector(), vector(), vector());
            let mut number = || random.within(-1.0, 1.0);
            let contact = DistanceGradient { phi: number(), point_a, point_b, normal };
            ManifoldGradient { contact, weight: number() }
        })
        .collect();
    let total = |m: Manifold| -> Option<f64> {
        let of = |(point, g): (&ContactPoint, &ManifoldGradient)| {
            let ContactPoint { phi, point_a, point_b, weight } = *point;
            weighted(&Distance { phi, point_a, point_b, ..m.distance }, &g.contact) + g.weight * weight
        };
        (m.points.len() == n).then(|| m.points.iter().zip(&gradients).map(of).sum())
    };
    let pulled = here.vjp((&a.collider, &a.pose), (&b.collider, &b.pose), &gradients);
    let now = total(here.clone()).unwrap();
    for (side, k) in (0..20).map(|k| (k / 10, k % 10)) {
        let got = if k < 6 { pulled[side].twist[k] } else { pulled[side].sizes[k - 6] };
        let is_size = |body: &Body| k < 6 || body.shape.sizes()[k - 6] > 0.0;
        if !is_size([&a, &b][side]) {
            continue;
        }
        let mut at = |step: f64| {
            let body = if side == 0 { &mut a } else { &mut b };
            let (pose, collider) = (body.pose, body.collider.clone());
            if k < 6 {
                body.pose = moved(&pose, k, step);
            } else {
                body.collider = resized(body, k - 6, step);
            }
            let there = a.collider.manifold(&a.pose, &b.collider, &b.pose, detail).unwrap();
            let body = if side == 0 { &mut a } else { &mut b };
            (body.pose, body.collider) = (pose, collider);
            total(there)
        };
        let (Some(ahead), Some(back)) = (at(STEP), at(-STEP)) else {
            kinks += 1;
            continue;
        };
        let (left, right) = ((now - back) / STEP, (ahead - now) / STEP);
        let want = (left + right) / 2.0;
        let scale = (n as f64) * (1.0 + want.abs().powi(2));
        if (left - right).abs() > KINK * scale {
            kinks += 1;
            continue;
        }
        checked += 1;
        let error = (got - want).abs() - (left - right).abs();
        if error < DIFFERENCE * scale {
            continue;
        }
        // A polished normal is exact to 1e-9, of which shares make up to 1e-6: a longer step tells.
        let longer = at(LONGER).zip(at(-LONGER)).map(|(ahead, back)| (ahead - back) / (2.0 * LONGER));
        let is_right = longer.is_some_and(|want| (got - want).abs() < DIFFERENCE * scale);
        assert!(is_right, "{name} {side} {k}: {got} is not {want} or {longer:?}, {here:?}");
    }
    [checked, kinks]
}

/// On tilted faces.
#[test]
fn gradients_of_manifolds() {
    let mut random = Random::new(4);
    let flat = ["capsule", "box", "rounded box", "cylinder", "hull"];
    for kind_a in flat {
        for kind_b in flat.into_iter().chain(["halfspace"]) {
            let name = format!("{kind_a} {kind_b}");
            let (mut checked, mut kinks) = (0, 0);
            // Few hulls show a capsule a side.
            for _ in 0..600 {
                if checked > ENOUGH {
                    break;
                }
                let (a, mut b) = (random.body(kind_a, 0.2), random.body(kind_b, 0.2));
                b.pose.rotation = UnitQuaternion::from_scaled_axis(random.vector(0.03)) * a.pose.rotation;
                let here = a.collider.manifold(&a.pose, &b.collider, &b.pose, Detail::ALL).unwrap();
                if here.points.len() < 2 {
                    continue;
                }
                let more = check_manifold(&name, &mut random, [a, b], Detail::ALL);
                (checked, kinks) = (checked + more[0], kinks + more[1]);
            }
            println!("{name}: {checked} checked, {kinks} kinks");
            // Lines along each other, or upright on a plane, meet in one point.
            let is_line = |kind: &str| ["capsule", "cylinder"].contains(&kind);
            let is_upright = (kind_a, kind_b) == ("capsule", "halfspace");
            let is_one = is_upright || is_line(kind_a) && is_line(kind_b) && [kind_a, kind_b].contains(&"capsule");
            // Crossings of nearly parallel edges bend by more than differences can tell from a kink.
            assert!(is_one || checked > 100 && kinks * 5 <= checked, "{name}: {checked} checked, {kinks} kinks");
        }
    }
}

/// Where the closest points come to stand for all others.
#[test]
fn gradients_of_manifolds_of_bodies_that_are_apart() {
    let mut random = Random::new(14);
    let (mut checked, mut kinks) = (0, 0);
    for k in 0..400 {
        let (a, mut b) = (random.body("hull", 0.2), random.body(["hull", "box"][k % 2], 0.2));
        let apart = |b: &Body| a.collider.distance(&a.pose, &b.collider, &b.pose).unwrap();
        let Distance { normal, phi, .. } = apart(&b);
        b.pose.translation.vector += normal * (random.within(0.01, 0.05) - phi);
        let phi = apart(&b).phi;
        let detail = Detail {
            all: phi - random.within(0.002, 0.01),
            closest: phi + random.within(0.002, 0.01),
            reach: phi + random.within(0.02, 0.05),
            beyond: false,
            points: [5, MANIFOLD][k / 2 % 2],
        };
        let more = check_manifold("apart", &mut random, [a, b], detail);
        (checked, kinks) = (checked + more[0], kinks + more[1]);
    }
    println!("{checked} checked, {kinks} kinks");
    assert!(checked > 1000 && kinks * 5 <= checked, "{checked} checked, {kinks} kinks");
}
