//! Overlaps of polygons and lines in a plane (Sutherland and Hodgman, 1974).

use nalgebra::Vector2;

use super::number::{Number, along2, cross2, dot2, sub2};
use crate::math::largest::largest;

/// Corners nearer to each other than this part of the polygon's size are one.
const SAME: f64 = 1e-10;

/// A corner of a polygon, and the direction of the edge to the next, of any length.
#[derive(Clone, Copy, Debug)]
pub(super) struct Corner<S> {
    pub(super) at: Vector2<S>,
    pub(super) edge: Vector2<S>,
}

/// The polygon of points in their order; two are a line there and back.
pub(super) fn polygon<S: Number>(points: &[Vector2<S>]) -> Vec<Corner<S>> {
    let next = points.iter().cycle().skip(1);
    points.iter().zip(next).map(|(&at, next)| Corner { at, edge: sub2(next, &at) }).collect()
}

/// The part of a polygon or a line inside a polygon, both counter-clockwise; none, one or two corners where that is less than a
/// polygon.
pub(super) fn overlap<S: Number>(inner: &[Corner<S>], polygon: &[Corner<S>]) -> Vec<Corner<S>> {
    let is_line = inner.len() == 2;
    let most = inner.len() + polygon.len();
    let (mut kept, mut next) = (Vec::with_capacity(most), Vec::with_capacity(most));
    kept.extend_from_slice(inner);
    let tolerance = SAME * largest(inner.iter().map(|corner| corner.edge.map(S::value).norm()));
    for side in polygon {
        let depth = |corner: &Corner<S>| cross2(&side.edge, &sub2(&corner.at, &side.at));
        // A vertex nearest to an edge is on it, but for rounding, which must not decide the corners' order.
        let least = -tolerance * side.edge.map(S::value).norm();
        let is_in = |depth: S| depth.value() >= least;
        next.clear();
        let pairs = if is_line { kept.len().saturating_sub(1) } else { kept.len() };
        for (i, p) in kept.iter().enumerate() {
            let here = depth(p);
            if is_in(here) {
                next.push(*p);
            }
            if i >= pairs {
                continue;
            }
            let q = &kept[(i + 1) % kept.len()];
            let there = depth(q);
            if is_in(here) != is_in(there) {
                let at = along2(&p.at, &sub2(&q.at, &p.at), here / (here - there));
                next.push(Corner { at, edge: if is_in(here) { side.edge } else { p.edge } });
            }
        }
        std::mem::swap(&mut kept, &mut next);
    }
    joined(kept, tolerance)
}

/// The part of a line inside an ellipse, given by its middle and the images of two radii of a circle that are square to each other; none
/// where that is a point at most.
pub(super) fn chord<S: Number>(line: &[Vector2<S>; 2], middle: &Vector2<S>, radii: &[Vector2<S>; 2]) -> Vec<Corner<S>> {
    let [from, to] = line;
    // In coordinates where the ellipse is the unit circle.
    let area = cross2(&radii[0], &radii[1]);
    let round = |v: &Vector2<S>| Vector2::new(cross2(v, &radii[1]) / area, cross2(&radii[0], v) / area);
    let (start, along) = (round(&sub2(from, middle)), round(&sub2(to, from)));
    let (square, slope) = (dot2(&along, &along), dot2(&start, &along));
    let root = slope * slope - square * (dot2(&start, &start) - S::constant(1.0));
    if root.value() <= 0.0 {
        return Vec::new();
    }
    let root = root.sqrt();
    let (enters, leaves) = ((-slope - root) / square, (root - slope) / square);
    let enters = if enters.value() > 0.0 { enters } else { S::constant(0.0) };
    let leaves = if leaves.value() < 1.0 { leaves } else { S::constant(1.0) };
    if leaves.value() - enters.value() < SAME {
        return Vec::new();
    }
    polygon(&[enters, leaves].map(|part| along2(from, &sub2(to, from), part)))
}

/// Corners that coincide as one, with the edge that leaves them.
fn joined<S: Number>(corners: Vec<Corner<S>>, tolerance: f64) -> Vec<Corner<S>> {
    let mut all: Vec<Corner<S>> = Vec::with_capacity(corners.len());
    let same = |p: &Corner<S>, q: &Corner<S>| sub2(&p.at, &q.at).map(S::value).norm() <= tolerance;
    for corner in corners {
        match all.last_mut() {
            Some(last) if same(last, &corner) => *last = corner,
            _ => all.push(corner),
        }
    }
    while all.len() > 1 && same(&all[all.len() - 1], &all[0]) {
        all.pop();
    }
    match all[..] {
        [p, q] => polygon(&[p.at, q.at]),
        _ => all,
    }
}

/// The angle by which a polygon turns at a corner, given the directions of the edges before and after; the two ends of a
/// line turn by π.
pub(super) fn turn<S: Number>(before: &Vector2<S>, after: &Vector2<S>, is_line: bool) -> S {
    if is_line {
        return S::constant(std::f64::consts::PI);
    }
    cross2(before, after).atan2(dot2(before, after))
}
