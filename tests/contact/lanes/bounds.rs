//! What is out of reach has the contact of the balls around the shapes.

use fingertip::collision::Detail;
use fingertip::description::Shape;
use fingertip_lanes::lane::{Packed, Real, Single};
use fingertip_lanes::vector::Vec3;
use fingertip_step::inner::{ConvexPair, GEOMETRY, are_boxes_apart, convex};
use nalgebra::{Isometry3, Translation3, UnitQuaternion, Vector3};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

type R = Single<f64, true>;
/// Poses and sizes of both shapes.
type Placed = [(Isometry3<f64>, [f64; Shape::SIZES]); 2];

fn lanes(of: impl IntoIterator<Item = f64>) -> Vec<R> {
    of.into_iter().map(R::splat).collect()
}

fn plain(of: &[R]) -> Vec<f64> {
    of.iter().map(|x| x.get(0)).collect()
}

/// Poses and sizes as a kernel takes them.
fn places(of: &Placed) -> [(Vec<R>, Vec<R>); 2] {
    of.each_ref().map(|(pose, sizes)| {
        let axes = pose.rotation.to_rotation_matrix();
        (lanes(pose.translation.vector.iter().chain(axes.matrix().iter()).copied()), lanes(*sizes))
    })
}

/// Contacts, weights and the nearest points.
fn witness(pair: &ConvexPair, of: &Placed) -> [Vec<R>; 3] {
    let places = places(of);
    let places = places.each_ref().map(|(pose, sizes)| (&pose[..], &sizes[..]));
    let mut out = [GEOMETRY * pair.contacts(), pair.contacts(), GEOMETRY].map(|n| vec![R::zero(); n]);
    let [contacts, weights, nearest] = &mut out;
    convex::witness(pair, places, (contacts, weights), nearest, None);
    out
}

/// The gradients of both shapes' poses, by twists about their origins, and sizes.
fn vjp(pair: &ConvexPair, of: &Placed, nearest: &[R], gradient: &[f64]) -> ([Vec<f64>; 2], [Vec<f64>; 2]) {
    let places = places(of);
    let places = places.each_ref().map(|(pose, sizes)| (&pose[..], &sizes[..]));
    let (contacts, weights) = gradient.split_at(GEOMETRY * pair.contacts());
    let gradient = (&lanes(contacts.iter().copied())[..], &lanes(weights.iter().copied())[..]);
    let (mut wrenches, mut sizes) = ([[R::zero(); 6]; 2], [[R::zero(); Shape::SIZES]; 2]);
    convex::vjp(pair, places, nearest, gradient, &mut wrenches, &mut sizes);
    (wrenches.map(|on| plain(&on)), sizes.map(|on| plain(&on)))
}

/// Moves a pose by a twist (v, ω) about its origin.
fn moved(of: &Isometry3<f64>, k: usize, by: f64) -> Isometry3<f64> {
    let mut twist = [0.0; 6];
    twist[k] = by;
    let turn = UnitQuaternion::from_scaled_axis(Vector3::new(twist[3], twist[4], twist[5]));
    let to = of.translation.vector + Vector3::new(twist[0], twist[1], twist[2]);
    Isometry3::from_parts(Translation3::from(to), turn * of.rotation)
}

#[test]
fn what_is_out_of_reach_is_no_nearer_than_its_ball_and_has_the_balls_gradient() {
    let hull = Shape::hull(&[[0.0; 3], [0.1, 0.0, 0.0], [0.0, 0.07, 0.0], [0.02, 0.01, 0.12]]).unwrap();
    let shapes = [
        hull,
        Shape::HalfSpace,
        Shape::sphere(0.03),
        Shape::capsule(0.01, 0.04),
        Shape::cylinder(0.02, 0.03),
        Shape::cuboid([0.02, 0.03, 0.04]),
        Shape::ellipsoid([0.02, 0.05, 0.03]),
    ];
    let (mut random, mut far, mut boxes) = (ChaCha8Rng::seed_from_u64(3), 0, 0);
    let reach = 0.05;
    for (a, b) in shapes.iter().flat_map(|a| shapes.iter().map(move |b| (a, b))) {
        if [a, b] == [&Shape::HalfSpace; 2] {
            continue;
        }
        let within = |reach: f64| ConvexPair::new(a, b, Detail { reach, ..Detail::ALL });
        let (near, cut) = (within(f64::INFINITY), within(reach));
        let n = GEOMETRY * cut.contacts();
        for _ in 0..20 {
            let mut place = |shape: &Shape| {
                let away = if *shape == Shape::HalfSpace { 0.02 } else { 0.4 };
                let mut vector = |most: f64| -> Vec3<f64> { std::array::from_fn(|_| random.random_range(-most..most)) };
                let (at, turn) = (vector(away), vector(2.0));
                (Isometry3::new(at.into(), Vector3::from(turn)), shape.sizes())
            };
            let at = [place(a), place(b)];
            let (exact, found) = (witness(&near, &at), witness(&cut, &at));
            let least = |of: &[Vec<R>; 3]| {
                let phi = plain(&of[0]).into_iter().skip(9).step_by(GEOMETRY);
                phi.zip(plain(&of[1]))
                    .filter(|(_, weight)| *weight > 0.0)
                    .map(|(phi, _)| phi)
                    .fold(f64::INFINITY, f64::min)
            };
            let [true_distance, distance] = [&exact, &found].map(least);
            let placed = places(&at);
            let placed = placed.each_ref().map(|(pose, sizes)| (&pose[..], &sizes[..]));
            if cut.bounds().is_some_and(|(bounds, reach)| are_boxes_apart(bounds, placed, reach)) {
                boxes += 1;
                assert!(true_distance > reach, "{a:?} {b:?} {true_distance}");
            }
            // A pair that is searched for has nearest points. Of the others it has those that are within reach.
            let is_near = plain(&found[2]).iter().any(|x| *x != 0.0);
            if is_near || plain(&exact[0]) == plain(&found[0]) {
                assert!(distance > reach || (distance - true_distance).abs() < 1e-12, "{a:?} {b:?} {distance}");
                continue;
            }
            far += 1;
            assert!(distance > reach && distance <= true_distance + 1e-12, "{a:?} {b:?} {distance} {true_distance}");
            let gradient: Vec<f64> = (0..n + cut.contacts()).map(|_| random.random_range(-1.0..1.0)).collect();
            // The φ of unused contacts and the weights are constants.
            let loss = |at: &Placed| {
                let contacts = plain(&witness(&cut, at)[0]);
                let of = contacts.iter().zip(&gradient).enumerate().filter(|(k, _)| k % GEOMETRY < 9 || *k == 9);
                of.map(|(_, (x, g))| x * g).sum::<f64>()
            };
            let (wrenches, sizes) = vjp(&cut, &at, &found[2], &gradient);
            let step = 1e-6;
            let slope = |of: &dyn Fn(&mut Placed, f64)| {
                let [plus, minus] = [step, -step].map(|by| {
                    let mut at = at;
                    of(&mut at, by);
                    loss(&at)
                });
                (plus - minus) / (2.0 * step)
            };
            for side in 0..2 {
                for k in 0..6 {
                    let slope = slope(&|at, by| at[side].0 = moved(&at[side].0, k, by));
                    assert!((slope - wrenches[side][k]).abs() < 1e-6, "{slope} {}", wrenches[side][k]);
                }
                let fixed = matches!([a, b][side], Shape::Hull(_) | Shape::HalfSpace);
                for k in 0..if fixed { 0 } else { 3 } {
                    let slope = slope(&|at, by| at[side].1[k] += by);
                    assert!((slope - sizes[side][k]).abs() < 1e-6, "{slope} {}", sizes[side][k]);
                }
            }
        }
    }
    assert!(far > 200 && boxes > far - 100, "{far} {boxes}");
}
