//! The nearest points of cores that are apart, exact to rounding. It is the method of Gilbert, Johnson and Keerthi (GJK; *A Fast
//! Procedure for Computing the Distance Between Complex Objects in Three-Dimensional Space*, 1988) with another choice of the simplex.
//!
//! Up to four points pᵢ of B − A are known. The choice is the point, edge or triangle of this simplex whose direction n from the
//! origin maximises
//!
//! ```text
//! min n·pᵢ ≥ s(n)
//! ```
//!
//! The usual choice is by distance from the origin. But this distance hardly changes with n next to the right direction. So the
//! usual choice is exact only to the square root of rounding in n, and so are lengths along bodies that are nearly parallel.

use nalgebra::Vector3;

use super::core::Core;
use super::relative::{ClosestPoints, Relative};

/// The most steps. Polyhedra take ten, curved bodies up to forty.
const STEPS: usize = 100;
/// The search ends when the bounds of the distance are this close, as a part of the bodies' size.
pub(super) const CLOSE: f64 = 1e-15;

/// A point of A, a point of B, and the vector between them, which is a point of B − A.
#[derive(Clone, Copy)]
struct Pair {
    a: Vector3<f64>,
    b: Vector3<f64>,
    between: Vector3<f64>,
}

/// The nearest points of two cores, searched from the direction `towards`. For cores that overlap or touch, only the direction has
/// a meaning.
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

/// The witness points of a simplex: those of its points, edges and triangles whose vector between A and B is best aligned with n.
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

/// The lower bound min n·pᵢ over the points of a simplex.
fn least(simplex: &[Pair], n: &Vector3<f64>) -> f64 {
    simplex.iter().map(|pair| n.dot(&pair.between)).fold(f64::INFINITY, f64::min)
}

/// All points, edges and triangles of a simplex, as lists of corners.
fn subsets(simplex: &[Pair]) -> impl Iterator<Item = Vec<Pair>> {
    let sets = (1..1_usize << simplex.len()).filter(|set| set.count_ones() <= 3);
    sets.map(|set| (0..simplex.len()).filter(|i| set >> i & 1 == 1).map(|i| simplex[i]).collect())
}

/// The point, edge or triangle of a simplex with the largest bound, as its direction from the origin and its corners.
fn face(simplex: &[Pair]) -> Option<(Vector3<f64>, Vec<Pair>)> {
    let faces = subsets(simplex).filter_map(|corners| Some((across(&corners)?, corners)));
    faces.max_by(|x, y| least(simplex, &x.0).total_cmp(&least(simplex, &y.0)))
}

/// The unit vector from the origin that points towards a point, or is perpendicular to a line or plane and points towards it.
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

/// The barycentric weights of the point of an edge or triangle that is nearest to the origin.
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
