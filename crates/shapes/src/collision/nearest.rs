//! The nearest points of cores that are apart, exact to rounding. It is the method of Gilbert, Johnson and Keerthi
//! (GJK; *A Fast Procedure for Computing the Distance Between Complex Objects in Three-Dimensional Space*, 1988) with
//! another choice of the simplex.
//!
//! Up to four points pᵢ of B − A are known. The choice is the point, edge or triangle of this simplex whose direction n
//! from the origin maximises
//!
//! ```text
//! min n·pᵢ ≥ s(n)
//! ```
//!
//! The usual choice is by distance from the origin. But this distance hardly changes with n next to the right
//! direction. So the usual choice is exact only to the square root of rounding in n, and so are lengths along bodies
//! that are nearly parallel. It is cheaper, so it comes first ([`apart`]), and the choice by direction makes its answer
//! exact.

use nalgebra::Vector3;

use super::core::Core;
use super::relative::{ClosestPoints, Relative};

/// The most steps. Polyhedra take ten, curved bodies up to forty.
const STEPS: usize = 100;
/// The search ends when the bounds of the distance are this close, as a part of the bodies' size.
pub(super) const CLOSE: f64 = 1e-15;
/// The quick search ends when the square of the distance is known to this part.
const COARSE: f64 = 1e-10;
/// The quick search is for bodies at a distance of more than this part of their size.
const NEAR: f64 = 1e-7;

/// A point of A, a point of B, and the vector between them, which is a point of B − A.
#[derive(Clone, Copy, Default)]
struct Pair {
    a: Vector3<f64>,
    b: Vector3<f64>,
    between: Vector3<f64>,
}

impl Pair {
    /// The points of two cores that are farthest along a direction from A to B.
    fn farthest(a: &Core, b: &Core, relative: &Relative, n: &Vector3<f64>) -> Self {
        let (a, b) = (a.support(n), relative.support(b, &-n));
        Self { a, b, between: b - a }
    }
}

/// Up to four points of B − A.
#[derive(Clone, Copy, Default)]
struct Simplex {
    all: [Pair; 4],
    n: usize,
}

impl Simplex {
    /// The points of a simplex whose bits are set.
    fn some(&self, set: usize) -> Self {
        let mut some = Self::default();
        (0..self.n).filter(|i| set >> i & 1 == 1).for_each(|i| some.push(self.all[i]));
        some
    }

    fn push(&mut self, pair: Pair) {
        self.all[self.n] = pair;
        self.n += 1;
    }

    fn corners(&self) -> &[Pair] {
        &self.all[..self.n]
    }

    /// All points, edges and triangles.
    fn subsets(&self) -> impl Iterator<Item = Self> {
        (1..1_usize << self.n).filter(|set| set.count_ones() <= 3).map(|set| self.some(set))
    }

    /// The lower bound min n·pᵢ over the points.
    fn least(&self, n: &Vector3<f64>) -> f64 {
        self.corners().iter().map(|pair| n.dot(&pair.between)).fold(f64::INFINITY, f64::min)
    }

    /// The point, edge or triangle with the largest bound, as its direction from the origin and its corners.
    fn face(&self) -> Option<(Vector3<f64>, Self)> {
        let mut best = (f64::NEG_INFINITY, None);
        for corners in self.subsets() {
            if let Some(n) = across(corners.corners()) {
                let least = self.least(&n);
                if least >= best.0 {
                    best = (least, Some((n, corners)));
                }
            }
        }
        best.1
    }

    /// The corners that the point nearest to the origin is between, and that point. `None` if the origin is inside.
    fn nearest(&self) -> Option<(Vector3<f64>, Self)> {
        let (point, set) = self.nearest_of(&[0, 1, 2, 3][..self.n])?;
        Some((point, self.some(set)))
    }

    /// The same for some of its points, by their indices in ascending order. The corners are those whose bits are set.
    fn nearest_of(&self, some: &[usize]) -> Option<(Vector3<f64>, usize)> {
        let at = |k: usize| self.all[some[k]].between;
        let all = || some.iter().fold(0, |set, i| set | 1 << i);
        match some.len() {
            1 => Some((at(0), all())),
            2 => {
                let edge = at(1) - at(0);
                let part = -at(0).dot(&edge) / edge.norm_squared();
                if part > 0.0 && part < 1.0 {
                    return Some((at(0) + edge * part, all()));
                }
                // A short edge is a point.
                let end = usize::from(part >= 1.0);
                Some((at(end), 1 << some[end]))
            }
            3 => {
                let n = (at(1) - at(0)).cross(&(at(2) - at(0)));
                let parts = [(1, 2), (2, 0), (0, 1)].map(|(j, k)| n.dot(&at(j).cross(&(at(k) - at(j)))));
                if parts.iter().all(|&part| part > 0.0) {
                    return Some((n * (at(0).dot(&n) / n.norm_squared()), all()));
                }
                // Beyond the sides whose part is negative.
                let sides = [[1, 2], [0, 2], [0, 1]].map(|side| side.map(|k| some[k]));
                let beyond = (0..3).filter(|&k| parts[k] <= 0.0);
                closer(beyond.filter_map(|k| self.nearest_of(&sides[k])))
            }
            _ => {
                // The origin is outside of a face if it and the fourth corner are not on the same side.
                let outside = (0..4).filter(|&k| {
                    let [i, j, l] = [(k + 1) % 4, (k + 2) % 4, (k + 3) % 4].map(at);
                    let n = (j - i).cross(&(l - i));
                    n.dot(&i) * n.dot(&(i - at(k))) <= 0.0
                });
                let faces = [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]];
                closer(outside.filter_map(|k| self.nearest_of(&faces[k])))
            }
        }
    }
}

/// The nearest of several points, with its corners.
fn closer(all: impl Iterator<Item = (Vector3<f64>, usize)>) -> Option<(Vector3<f64>, usize)> {
    let mut best: Option<(Vector3<f64>, usize)> = None;
    for found in all {
        if best.is_none_or(|(point, _)| found.0.norm_squared() < point.norm_squared()) {
            best = Some(found);
        }
    }
    best
}

/// The nearest points of two polyhedra that are apart, searched from the direction `towards`. `None` if they overlap or
/// are so near that rounding matters. If they are farther apart than `reach`, m, the points need not be the nearest,
/// but their vector along the normal is longer than that.
pub(super) fn apart(
    a: &Core,
    b: &Core,
    relative: &Relative,
    towards: &Vector3<f64>,
    (size, reach): (f64, f64),
) -> Option<ClosestPoints> {
    let mut simplex = Simplex::default();
    simplex.push(Pair::farthest(a, b, relative, towards));
    for _ in 0..STEPS {
        let (point, corners) = simplex.nearest()?;
        let square = point.norm_squared();
        if square < (NEAR * size).powi(2) {
            return None;
        }
        let new = Pair::farthest(a, b, relative, &point);
        let along = point.dot(&new.between);
        if along > 0.0 && along * along > reach * reach * square {
            return Some(ClosestPoints { normal: point / square.sqrt(), point_a: new.a, point_b: new.b });
        }
        if square - along <= COARSE * square {
            return Some(search(a, b, relative, &(point / square.sqrt()), corners, size));
        }
        if corners.corners().iter().any(|pair| pair.between == new.between) {
            return None;
        }
        simplex = corners;
        simplex.push(new);
    }
    None
}

/// The nearest points of two cores, searched from the direction `towards`. For cores that overlap or touch, only the
/// direction has a meaning.
pub(super) fn nearest(a: &Core, b: &Core, relative: &Relative, towards: &Vector3<f64>, size: f64) -> ClosestPoints {
    let mut simplex = Simplex::default();
    simplex.push(Pair::farthest(a, b, relative, towards));
    search(a, b, relative, towards, simplex, size)
}

/// The nearest points, searched from points of B − A.
fn search(
    a: &Core,
    b: &Core,
    relative: &Relative,
    towards: &Vector3<f64>,
    mut simplex: Simplex,
    size: f64,
) -> ClosestPoints {
    let (mut separation, mut normal, mut found) = (f64::NEG_INFINITY, *towards, simplex);
    for _ in 0..STEPS {
        let Some((n, corners)) = simplex.face() else { break };
        let new = Pair::farthest(a, b, relative, &n);
        let here = n.dot(&new.between);
        if here > separation {
            (separation, normal, found) = (here, n, simplex);
        }
        if corners.least(&n) - here <= CLOSE * size {
            break;
        }
        simplex = corners;
        simplex.push(new);
    }
    points(&found, normal)
}

/// The witness points of a simplex: those of its points, edges and triangles whose vector between A and B is best
/// aligned with n.
fn points(simplex: &Simplex, normal: Vector3<f64>) -> ClosestPoints {
    let first = simplex.all[0];
    let mut best = ClosestPoints { normal, point_a: first.a, point_b: first.b };
    let aside = |points: &ClosestPoints| {
        let between = points.point_b - points.point_a;
        (between - normal * normal.dot(&between)).norm_squared()
    };
    let mut least = aside(&best);
    for subset in simplex.subsets() {
        let (mut point_a, mut point_b) = (Vector3::zeros(), Vector3::zeros());
        for (pair, weight) in subset.corners().iter().zip(weights(subset.corners())) {
            point_a += pair.a * weight;
            point_b += pair.b * weight;
        }
        let next = ClosestPoints { normal, point_a, point_b };
        let by = aside(&next);
        if by < least {
            (best, least) = (next, by);
        }
    }
    best
}

/// The unit vector from the origin that points towards a point, or is perpendicular to a line or plane and points
/// towards it.
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

/// The barycentric weights of the point of an edge or triangle that is nearest to the origin, followed by zeros.
fn weights(corners: &[Pair]) -> [f64; 3] {
    let at = |k: usize| corners[k].between;
    let parts = match corners.len() {
        1 => [1.0, 0.0, 0.0],
        2 => {
            let edge = at(1) - at(0);
            [edge.dot(&at(1)), -edge.dot(&at(0)), 0.0]
        }
        _ => {
            let n = (at(1) - at(0)).cross(&(at(2) - at(0)));
            [(1, 2), (2, 0), (0, 1)].map(|(j, k)| n.dot(&at(j).cross(&at(k))))
        }
    };
    let sign = parts.iter().sum::<f64>();
    let parts = parts.map(|part| (part * sign.signum()).max(0.0));
    let whole: f64 = parts.iter().sum();
    parts.map(|part| part / whole)
}
