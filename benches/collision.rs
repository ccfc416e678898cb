//! One distance of ready colliders, and one manifold: 256 random poses each, a third of them inside; and distances
//! along a path through these poses, each begun from the answer before.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use fingertip::collision::{Collider, Detail};
use fingertip::description::Shape;
use nalgebra::{Isometry3, Quaternion, Translation3, UnitQuaternion, Vector3};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const POSES: usize = 256;
/// Steps from a pose to the next on the path, a few millimetres and degrees each, and poses on it.
const STEPS: usize = 32;
const PATH: usize = 1024;

fn poses(random: &mut ChaCha8Rng) -> Vec<[Isometry3<f64>; 2]> {
    let mut number = || random.random_range(-1.0..1.0);
    let mut pose = |reach: f64| {
        let q = UnitQuaternion::from_quaternion(Quaternion::new(number(), number(), number(), number()));
        Isometry3::from_parts(Translation3::from(Vector3::from_fn(|_, _| reach * number())), q)
    };
    (0..POSES).map(|_| [pose(0.15), pose(0.15)]).collect()
}

fn path(poses: &[[Isometry3<f64>; 2]]) -> Vec<[Isometry3<f64>; 2]> {
    let between = |ends: &[[Isometry3<f64>; 2]], t: f64| [0, 1].map(|i| ends[0][i].lerp_slerp(&ends[1][i], t));
    let steps = poses.windows(2).flat_map(|ends| (0..STEPS).map(move |k| between(ends, k as f64 / STEPS as f64)));
    steps.take(PATH).collect()
}

/// Points all over a ball of 0.1 m, evenly, so that all are on its hull.
fn globe(n: usize) -> Vec<[f64; 3]> {
    let golden = std::f64::consts::PI * (3.0 - 5_f64.sqrt());
    let point = |k: usize| {
        let z = 1.0 - (2 * k + 1) as f64 / n as f64;
        let (sin, cos) = (golden * k as f64).sin_cos();
        let across = 0.1 * (1.0 - z * z).sqrt();
        [across * cos, across * sin, 0.1 * z]
    };
    (0..n).map(point).collect()
}

fn distances(criterion: &mut Criterion) {
    let mut random = ChaCha8Rng::seed_from_u64(2);
    let mut points = || (0..20).map(|_| std::array::from_fn(|_| random.random_range(-0.1..0.1))).collect::<Vec<_>>();
    let hull = Shape::hull(&points()).expect("points in space");
    let round = Shape::hull(&globe(1000)).expect("points in space");
    let (sphere, capsule) = (Shape::sphere(0.08), Shape::capsule(0.05, 0.08));
    let (cuboid, cylinder) = (Shape::cuboid([0.1, 0.08, 0.06]), Shape::cylinder(0.06, 0.08));
    let ellipsoid = Shape::ellipsoid([0.1, 0.08, 0.06]);
    let pairs = [
        ("sphere-box", &sphere, &cuboid),
        ("capsule-capsule", &capsule, &capsule),
        ("capsule-box", &capsule, &cuboid),
        ("box-box", &cuboid, &cuboid),
        ("cylinder-box", &cylinder, &cuboid),
        ("ellipsoid-ellipsoid", &ellipsoid, &ellipsoid),
        ("hull-hull", &hull, &hull),
        ("sphere-hull of 1000", &sphere, &round),
    ];
    let poses = poses(&mut random);
    let mut group = criterion.benchmark_group("collision");
    group.warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(2));
    group.throughput(Throughput::Elements(POSES as u64));
    for (name, a, b) in pairs {
        let (a, b) = (Collider::new(a), Collider::new(b));
        group.bench_function(format!("distance/{name}"), |bencher| {
            bencher.iter(|| {
                poses.iter().map(|[p, q]| black_box(&a).distance(p, &b, q).map_or(0.0, |d| d.phi)).sum::<f64>()
            });
        });
    }
    let along = path(&poses);
    group.throughput(Throughput::Elements(PATH as u64));
    for (name, a, b) in &pairs[2..] {
        let (a, b) = (Collider::new(a), Collider::new(b));
        group.bench_function(format!("path/{name}"), |bencher| {
            let start = a.distance(&along[0][0], &b, &along[0][1]).expect("no half-spaces");
            bencher.iter(|| {
                let next = |before, [p, q]: &[Isometry3<f64>; 2]| {
                    black_box(&a).distance_from(p, &b, q, &before).expect("no half-spaces")
                };
                along.iter().fold(start, next)
            });
        });
    }
    group.throughput(Throughput::Elements(POSES as u64));
    let cube = Collider::new(&cuboid);
    group.bench_function("manifold/box-box", |bencher| {
        bencher.iter(|| {
            poses
                .iter()
                .map(|[p, q]| black_box(&cube).manifold(p, &cube, q, Detail::ALL).map_or(0, |m| m.points.len()))
                .sum::<usize>()
        });
    });
    group.finish();
}

criterion_group!(benches, distances);
criterion_main!(benches);
