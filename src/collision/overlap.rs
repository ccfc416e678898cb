//! Overlaps of polygons and lines in a plane (Sutherland and Hodgman, 1974).

use std::f64::consts::FRAC_PI_4;

use nalgebra::Vector2;

use super::number::{Number, along2, cross2, dot2, sub2};
use super::tilt::part;
use crate::math::largest::largest;

/// Corners nearer to each other than this part of the polygon's size are one.
const SAME: f64 = 1e-10;

/// Lines have corners on a rim if half of what is inside is this part of the radius, and none if it is nothing.
const FULL: f64 = 0.1;
/// A corner on a rim that turns by less than this, times the lengths of its edges in radii, is none.
const FLAT: f64 = 1e-12;

/// A corner of a polygon, and the direction of the edge to the next, of any length.
#[derive(Clone, Copy, Debug)]
pub(super) struct Corner<S> {
    pub(super) at: Vector2<S>,
    pub(super) edge: Vector2<S>,
}

/// The polygon of points in their order; two are a line there and back.
pub(super) fn polygon<S: Number>(points: impl Iterator<Item = Vector2<S>>) -> Vec<Corner<S>> {
    let mut all: Vec<Corner<S>> = points.map(|at| Corner { at, edge: at }).collect();
    for i in 0..all.len() {
        all[i].edge = sub2(&all[(i + 1) % all.len()].at, &all[i].at);
    }
    all
}

/// The part of a polygon or a line inside a polygon, both counter-clockwise; none, one or two corners where that is less than a
/// polygon.
pub(super) fn overlap<S: Number>(inner: &[Corner<S>], polygon: &[Corner<S>]) -> Vec<Corner<S>> {
    let is_line = inner.len() == 2;
    let most = inner.len() + polygon.len();
    let (mut kept, mut next) = (Vec::with_capacity(most), Vec::new());
    kept.extend_from_slice(inner);
    let tolerance = SAME * largest(inner.iter().map(|corner| corner.edge.map(S::value).norm()));
    for side in polygon {
        let depth = |corner: &Corner<S>| cross2(&side.edge, &sub2(&corner.at, &side.at));
        let (at, edge) = (side.at.map(S::value), side.edge.map(S::value));
        // A vertex nearest to an edge is on it, but for rounding, which must not decide the corners' order.
        let least = -tolerance * edge.norm();
        // On values, as most corners need no more.
        let is_in = |corner: &Corner<S>| cross2(&edge, &sub2(&corner.at.map(S::value), &at)) >= least;
        if kept.iter().all(is_in) {
            continue;
        }
        next.clear();
        next.reserve(most);
        let pairs = if is_line { kept.len().saturating_sub(1) } else { kept.len() };
        for (i, p) in kept.iter().enumerate() {
            let here = is_in(p);
            if here {
                next.push(*p);
            }
            if i >= pairs {
                continue;
            }
            let q = &kept[(i + 1) % kept.len()];
            if here != is_in(q) {
                let (from, to) = (depth(p), depth(q));
                let at = along2(&p.at, &sub2(&q.at, &p.at), from / (from - to));
                next.push(Corner { at, edge: if here { side.edge } else { p.edge } });
            }
        }
        std::mem::swap(&mut kept, &mut next);
    }
    joined(kept, tolerance)
}

/// The octagon in an ellipse, with more corners where other polygons' edges or what continues them cross the ellipse. That is given by its
/// middle and the images of two radii of a circle that are square to each other, from where the octagon's corners go around.
///
/// So that no corner is there at once, it moves out from the octagon's side as the part of the line inside grows.
pub(super) fn rim<'a, S: Number>(
    octagon: &[Corner<S>],
    edges: impl Iterator<Item = (&'a Corner<S>, bool)>,
    middle: &Vector2<S>,
    radii: &[Vector2<S>; 2],
) -> Vec<Corner<S>> {
    // In coordinates where the ellipse is the unit circle.
    let area = cross2(&radii[0], &radii[1]);
    let round = |v: &Vector2<S>| Vector2::new(cross2(v, &radii[1]) / area, cross2(&radii[0], v) / area);
    let angle = |v: &Vector2<S>| v.y.value().atan2(v.x.value());
    let one = S::constant(1.0);
    let mut all: Vec<(f64, Vector2<S>)> =
        octagon.iter().map(|corner| round(&sub2(&corner.at, middle))).map(|corner| (angle(&corner), corner)).collect();
    for (Corner { at, edge }, is_line) in edges {
        let (start, along) = (round(&sub2(at, middle)), round(edge));
        let (square, slope) = (dot2(&along, &along), dot2(&start, &along));
        let half = slope * slope / square - dot2(&start, &start) + one;
        if half.value() <= 0.0 {
            continue;
        }
        let grown = if is_line { one } else { part(half * S::constant(FULL.powi(-2))) };
        let reach = (half / square).sqrt();
        for way in [reach, -reach] {
            let corner = along2(&start, &along, way - slope / square);
            let turned = angle(&corner);
            let (sine, cosine) = (((turned / FRAC_PI_4).floor() + 0.5) * FRAC_PI_4).sin_cos();
            let side = corner.x * S::constant(cosine) + corner.y * S::constant(sine);
            let inner = S::constant((FRAC_PI_4 / 2.0).cos()) / side;
            let out = inner + grown * (one - inner);
            all.push((turned, corner * out));
        }
    }
    all.sort_by(|(x, _), (y, _)| x.total_cmp(y));
    let all: Vec<Vector2<S>> = all.into_iter().map(|(_, corner)| corner).collect();
    let outside = |v: &Vector2<S>| along2(&along2(middle, &radii[0], v.x), &radii[1], v.y);
    // The octagon's first corner is on the ellipse, as others are: rounding must not decide which is the first.
    let from_first = |v: &Vector2<S>| (v.x.value() - 1.0).hypot(v.y.value());
    let first = (0..all.len()).min_by(|&i, &j| from_first(&all[i]).total_cmp(&from_first(&all[j])));
    let corners = convex(&all, first.unwrap_or(0));
    if area.value() < 0.0 { polygon(corners.iter().rev().map(outside)) } else { polygon(corners.iter().map(outside)) }
}

/// The corners of the convex hull of points around the origin, given in the order of their angles; the first one to go from is a corner.
fn convex<S: Number>(points: &[Vector2<S>], first: usize) -> Vec<Vector2<S>> {
    let n = points.len();
    let mut all: Vec<Vector2<S>> = Vec::with_capacity(n + 1);
    for k in 0..=n {
        let next = &points[(first + k) % n];
        while let [.., p, q] = &all[..]
            && cross2(&sub2(q, p), &sub2(next, q)).value() <= FLAT
        {
            all.pop();
        }
        all.push(*next);
    }
    all.pop();
    all
}

/// Corners that coincide as one, with the edge that leaves them.
fn joined<S: Number>(mut all: Vec<Corner<S>>, tolerance: f64) -> Vec<Corner<S>> {
    let same = |p: &Corner<S>, q: &Corner<S>| (p.at.map(S::value) - q.at.map(S::value)).norm() <= tolerance;
    let mut i = 1;
    while i < all.len() {
        if same(&all[i - 1], &all[i]) {
            all.remove(i - 1);
        } else {
            i += 1;
        }
    }
    while all.len() > 1 && same(&all[all.len() - 1], &all[0]) {
        all.pop();
    }
    match all[..] {
        [p, q] => polygon([p.at, q.at].into_iter()),
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
