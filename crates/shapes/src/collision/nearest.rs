//! The nearest points of cores that are apart, to rounding: the method of Gilbert, Johnson and Keerthi (*A Fast Procedure for
//! Computing the Distance Between Complex Objects in Three-Dimensional Space*, 1988) with another choice of the simplex.
//!
//! Of up to four points of B − A, found so far, the point, edge or triangle next to the origin has the direction n that
//! maximises
//!
//! ```text
//! min n·pᵢ ≥ s(n)
//! ```
//!
//! and is chosen by that. Distances from the origin, by which it is chosen otherwise, hardly change with n next to the right one: by
//! them, n is right only to the root of rounding, and lengths along bodies that are nearly parallel only to that.

use nalgebra::Vector3;

use super::core::Core;
use super::relative::{ClosestPoints, Relative};

/// Polyhedra take ten steps, curved bodies up to forty.
const STEPS: usize = 100;
/// Bounds of the distance from both sides, in parts of the bodies' size.
pub(super) const CLOSE: f64 = 1e-15;

/// Points of A and of B, and from the one to the other.
#[derive(Clone, Copy)]
struct Pair {
    a: Vector3<f64>,
    b: Vector3<f64>,
    between: Vector3<f64>,
}

/// The nearest points, searched from a direction on. Of cores that overlap or touch it gives a direction at best.
pub(super) fn nearest(a: &Core, b: &Core, relative: &Relative, towards: &Vector3<f64>, size: f64) -> ClosestPoints {
    let farthest = |n: &Vector3<f64>| {
        let (a, b) = (a.support(n), relative.support(b, &-n));
        Pair { a, b, between: b - a }
    };
    let mut simplex = vec![farthest(towards)];
    let (mut separation, mut normal, mut found) = (f64::NEG_INFINITY, *towards, simplex.clone());
    for _ in 0..STEPS {
        let Some((n, corners)) = face(&simplex) else { break };
        let new = farthest(&n);
        let here = n.dot(&new.between);
        if here > separation {
            (separation, normal, found) = (here, n, simplex);
        }
        if least(&corners, &n) - here <= CLOSE * size {
            break;
        }
        simplex = corners;
        simplex.push(new);
    }
    points(&found, normal)
}

/// The points of a simplex that are along n, best of all choices of its corners.
fn points(simplex: &[Pair], normal: Vector3<f64>) -> ClosestPoints {
    let all = subsets(simplex).map(|corners| {
        let (mut point_a, mut point_b) = (Vector3::zeros(), Vector3::zeros());
        for (pair, weight) in corners.iter().zip(weights(&corners)) {
            point_a += pair.a * weight;
            point_b += pair.b * weight;
        }
        ClosestPoints { normal, point_a, point_b }
    });
    let aside = |points: &ClosestPoints| {
        let between = points.point_b - points.point_a;
        (between - normal * normal.dot(&between)).norm_squared()
    };
    let none = ClosestPoints { normal, point_a: simplex[0].a, point_b: simplex[0].b };
    all.fold(none, |best, next| if aside(&next) < aside(&best) { next } else { best })
}

/// min n·pᵢ.
fn least(simplex: &[Pair], n: &Vector3<f64>) -> f64 {
    simplex.iter().map(|pair| n.dot(&pair.between)).fold(f64::INFINITY, f64::min)
}

/// All points, edges and triangles of a simplex.
fn subsets(simplex: &[Pair]) -> impl Iterator<Item = Vec<Pair>> {
    let sets = (1..1_usize << simplex.len()).filter(|set| set.count_ones() <= 3);
    sets.map(|set| (0..simplex.len()).filter(|i| set >> i & 1 == 1).map(|i| simplex[i]).collect())
}

/// The direction of the simplex's point, edge or triangle next to the origin, and its corners.
fn face(simplex: &[Pair]) -> Option<(Vector3<f64>, Vec<Pair>)> {
    let faces = subsets(simplex).filter_map(|corners| Some((across(&corners)?, corners)));
    faces.max_by(|x, y| least(simplex, &x.0).total_cmp(&least(simplex, &y.0)))
}

/// The unit vector from the origin across a point, a line or a plane.
fn across(corners: &[Pair]) -> Option<Vector3<f64>> {
    let from = corners[0].between;
    let edge = |k: usize| corners[k].between - from;
    let n = match corners.len() {
        1 => from,
        2 => {
            let across = |v: Vector3<f64>| v - edge(1) * (edge(1).dot(&v) / edge(1).norm_squared());
            // Of a short vector, rounding leaves a part along the edge.
            across(across(from).try_normalize(f64::MIN_POSITIVE)?)
        }
        _ => {
            let n = edge(1).cross(&edge(2));
            n * 1_f64.copysign(n.dot(&from))
        }
    };
    n.try_normalize(f64::MIN_POSITIVE)
}

/// The weights of a point, an edge's ends or a triangle's corners in their nearest point to the origin.
fn weights(corners: &[Pair]) -> Vec<f64> {
    let at = |k: usize| corners[k].between;
    let parts: Vec<f64> = match corners.len() {
        1 => vec![1.0],
        2 => {
            let edge = at(1) - at(0);
            vec![edge.dot(&at(1)), -edge.dot(&at(0))]
        }
        _ => {
            let n = (at(1) - at(0)).cross(&(at(2) - at(0)));
            [(1, 2), (2, 0), (0, 1)].map(|(j, k)| n.dot(&at(j).cross(&at(k)))).to_vec()
        }
    };
    let sign = parts.iter().sum::<f64>();
    let parts: Vec<f64> = parts.iter().map(|part| (part * sign.signum()).max(0.0)).collect();
    let whole: f64 = parts.iter().sum();
    parts.iter().map(|part| part / whole).collect()
}
