//! Hulls of fewer vertices.

use fingertip::description::{Hull, Reduced, Scene};
use nalgebra::Vector3;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use support::larger;

fn direction(random: &mut ChaCha8Rng) -> Vector3<f64> {
    loop {
        let v = Vector3::from_fn(|_, _| random.random_range(-1.0..1.0));
        if (0.1..1.0).contains(&v.norm()) {
            return v.normalize();
        }
    }
}

fn reach(hull: &Hull, along: &Vector3<f64>) -> f64 {
    hull.vertices().iter().map(|&v| along.dot(&Vector3::from(v))).fold(f64::NEG_INFINITY, larger)
}

/// The distance of a point from a convex body is the most by which it is farther along a direction than the body
/// reaches. That is a concave function of the direction, which goes uphill from everywhere.
#[test]
fn what_is_left_out_is_told() {
    let [mut points_of, mut random] = [8, 9].map(ChaCha8Rng::seed_from_u64);
    for n in [12, 60, 400] {
        let points: Vec<[f64; 3]> =
            (0..n).map(|_| direction(&mut points_of).component_mul(&Vector3::new(0.03, 0.02, 0.01)).into()).collect();
        let hull = Hull::new(&points).unwrap();
        let (mut before, mut of_eight) = (f64::INFINITY, 0.0);
        for most in [4, 8, 16, 32, 64] {
            let Reduced { hull: reduced, sticks_out } = hull.reduced(most).unwrap();
            assert_eq!(reduced.vertices().len(), most.min(hull.vertices().len()));
            assert!(reduced.vertices().iter().all(|vertex| hull.vertices().contains(vertex)));
            let mut found = 0.0;
            for vertex in hull.vertices().iter().filter(|vertex| !reduced.vertices().contains(vertex)) {
                let out = |along: &Vector3<f64>| along.dot(&Vector3::from(*vertex)) - reach(&reduced, along);
                let mut best = Vector3::from(*vertex).normalize();
                for k in 0..4000 {
                    let along = (best + 0.997_f64.powi(k) * direction(&mut random)).normalize();
                    if out(&along) > out(&best) {
                        best = along;
                    }
                }
                found = larger(found, out(&best));
            }
            let is_right = (0.999 * sticks_out..=sticks_out + 1e-12).contains(&found);
            assert!(is_right, "{n} {most}: {found} of {sticks_out}");
            assert!(sticks_out <= before, "{n} {most}");
            before = sticks_out;
            if most == 8 {
                of_eight = sticks_out;
            }
        }
        // On a smooth surface it goes as one over their number: an eighth with 64 in place of 8, and twice that here.
        assert!(n != 400 || before < 0.25 * of_eight, "{before} of {of_eight}");
    }
    let cube = Hull::new(&[0, 1, 2, 3, 4, 5, 6, 7].map(|k| [0, 1, 2].map(|i| f64::from(k >> i & 1)))).unwrap();
    assert!(cube.reduced(3).unwrap_err().to_string().contains("expected at least 4, got 3"));
}

#[test]
fn scenes_limit_hulls() {
    let points: Vec<[f64; 3]> =
        (0..40).map(|k| 0.4 * f64::from(k)).map(|t| [0.03 * t.cos(), 0.03 * t.sin(), 0.01 * (7.0 * t).sin()]).collect();
    let scene = |more: &str| {
        let text = format!("[[object]]\nname = \"disc\"\nfreedom = \"free\"\nmass = 0.1\nhull = {points:?}\n{more}");
        Scene::from_toml(&text, "")
    };
    let notes = scene("hull_vertices = 12").unwrap().all_notes();
    assert!(notes.iter().any(|note| note.starts_with("disc: hull of 12 of ") && note.ends_with(" mm")), "{notes:?}");
    assert!(scene("").unwrap().all_notes().is_empty());
    let error = scene("hull_vertices = 3").unwrap_err().to_string();
    assert!(error.contains("object \"disc\": hull_vertices: expected at least 4, got 3"), "{error}");
}
