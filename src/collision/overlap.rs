//! Overlaps of polygons and lines in a plane (Sutherland and Hodgman, 1974).

use std::f64::consts::{FRAC_PI_4, TAU};

use nalgebra::Vector2;

use super::number::{Number, along2, cross2, dot2, sub2};
use super::patch::CORNERS;
use crate::math::largest::largest;

/// Corners nearer to each other than this part of the polygon's size are one.
const SAME: f64 = 1e-10;

/// A corner is inside a circle if its squared distance from the middle, in radii, is below one by at least this. A
/// corner that is nearer to the rim is on it up to rounding.
const ON: f64 = 1e-12;
/// Angles that this may make of nothing, or of all around.
const NOTHING: f64 = 1e-5;

/// A corner of a polygon, and the direction of the edge to the next, of any length.
#[derive(Clone, Copy, Debug)]
pub(super) struct Corner<S> {
    pub(super) at: Vector2<S>,
    pub(super) edge: Vector2<S>,
    /// Does the edge run along a rim, where nothing joins?
    pub(super) is_rim: bool,
}

/// The polygon of points in this order; two points are a line there and back.
pub(super) fn polygon<S: Number>(points: impl Iterator<Item = Vector2<S>>) -> Vec<Corner<S>> {
    let mut all: Vec<Corner<S>> = points.map(|at| Corner { at, edge: at, is_rim: false }).collect();
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
        // A vertex nearest to an edge is on it, except for rounding, which must not decide the corners' order.
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
                next.push(Corner { at, edge: if here { side.edge } else { p.edge }, is_rim: false });
            }
        }
        std::mem::swap(&mut kept, &mut next);
    }
    joined(kept, tolerance)
}

/// A round cap as it is seen along n: an ellipse.
pub(super) struct Ellipse<S> {
    middle: Vector2<S>,
    /// The images of two radii of the circle that are square to each other, counter-clockwise. They end at corners of the octagon.
    radii: [Vector2<S>; 2],
}

/// A polygon in coordinates in which an ellipse is the unit circle, and what of its sides is inside.
struct Inside<S> {
    corners: Vec<Vector2<S>>,
    path: Vec<Step<S>>,
}

/// A corner on the way around that, where a polygon's corner is or an edge meets the rim.
struct Step<S> {
    /// As the polygon is given.
    corner: Corner<S>,
    at: Vector2<S>,
    /// The polygon's edge that goes on from here, or that meets the rim.
    side: usize,
    leaves: bool,
}

impl<S: Number> Ellipse<S> {
    pub(super) fn new(middle: Vector2<S>, [first, second]: [Vector2<S>; 2]) -> Self {
        let is_turned = cross2(&first, &second).value() < 0.0;
        Self { middle, radii: [first, if is_turned { -second } else { second }] }
    }

    /// The part of a polygon or a line inside the disc. The curved rim is divided into eight arcs about the octagon's
    /// corners. The part of an arc that is left counts as one corner, which turns by as much as the arc. The corner is
    /// the octagon's, or the point nearest to it in the part of the disc that is left. So nothing jumps, whatever part
    /// the polygon leaves. `octagon` represents the whole disc.
    pub(super) fn overlap(&self, other: &[Corner<S>], octagon: &[Corner<S>]) -> Vec<Corner<S>> {
        let area = cross2(&self.radii[0], &self.radii[1]);
        let round = |corner: &Corner<S>| {
            let v = sub2(&corner.at, &self.middle);
            Vector2::new(cross2(&v, &self.radii[1]) / area, cross2(&self.radii[0], &v) / area)
        };
        let corners: Vec<Vector2<S>> = other.iter().map(round).collect();
        let inside = Inside::new(other, corners);
        let Inside { corners, path } = &inside;
        if other.len() == 2 {
            let [start, end] = &path[..] else { return Vec::new() };
            let apart = sub2(&end.at, &start.at).map(S::value).norm();
            return if apart > SAME { polygon([start.corner.at, end.corner.at].into_iter()) } else { Vec::new() };
        }
        if path.is_empty() {
            let n = corners.len();
            let is_around = (0..n).all(|k| cross2(&corners[k], &corners[(k + 1) % n]).value() > 0.0);
            return if is_around { octagon.to_vec() } else { Vec::new() };
        }
        let mut kept = Vec::with_capacity(path.len() + octagon.len());
        for (i, step) in path.iter().enumerate() {
            if step.leaves {
                self.go_along(&inside, step, &path[(i + 1) % path.len()], &mut kept);
            } else {
                kept.push(step.corner);
            }
        }
        kept
    }

    /// The corners along the rim from where a polygon leaves the disc to before it enters again.
    fn go_along(&self, inside: &Inside<S>, from: &Step<S>, to: &Step<S>, kept: &mut Vec<Corner<S>>) {
        let angle = |v: &Vector2<S>| v.y.value().atan2(v.x.value());
        let begin = angle(&from.at);
        let mut whole = (angle(&to.at) - begin).rem_euclid(TAU);
        // Nothing or all: the polygon goes around the disc, or does not.
        if !(NOTHING..TAU - NOTHING).contains(&whole) {
            whole = if inside.goes_around(from, to) { TAU } else { 0.0 };
        }
        let radius = |v: &Vector2<S>| along2(&(self.radii[0] * v.x), &self.radii[1], v.y);
        let tangent = |v: &Vector2<S>| radius(&Vector2::new(-v.y, v.x));
        kept.push(Corner { edge: tangent(&from.at), is_rim: true, ..from.corner });
        let first = (begin / FRAC_PI_4).round();
        for k in 0..=CORNERS {
            let place = (first + k as f64) * FRAC_PI_4;
            let border = place + FRAC_PI_4 / 2.0;
            let is_last = k == CORNERS || border - begin >= whole;
            let at = along2(&self.middle, &radius(&inside.nearest(&unit(place))), S::constant(1.0));
            let end = if is_last { to.at } else { unit(border) };
            kept.push(Corner { at, edge: tangent(&end), is_rim: true });
            if is_last {
                break;
            }
        }
    }
}

fn unit<S: Number>(angle: f64) -> Vector2<S> {
    Vector2::new(S::constant(angle.cos()), S::constant(angle.sin()))
}

impl<S: Number> Inside<S> {
    /// Of a polygon or a line whose corners are these in the circle's coordinates.
    fn new(polygon: &[Corner<S>], corners: Vec<Vector2<S>>) -> Self {
        let n = corners.len();
        let is_in = |v: &Vector2<S>| dot2(v, v).value() < 1.0 - ON;
        let mut path = Vec::with_capacity(2 * n);
        for (side, &corner) in polygon.iter().enumerate() {
            let (start, end) = (&corners[side], &corners[(side + 1) % n]);
            let (starts_in, ends_in) = (is_in(start), is_in(end));
            if starts_in {
                path.push(Step { corner, at: *start, side, leaves: false });
            }
            // A line is there and back.
            if starts_in && ends_in || n == 2 && side == 1 {
                continue;
            }
            let along = sub2(end, start);
            let (square, lever) = (dot2(&along, &along), cross2(start, &along));
            let half = S::constant(1.0) - lever * lever / square;
            let foot = -dot2(start, &along) / square;
            let is_chord = half.value() > 0.0 && foot.value() > 0.0 && foot.value() < 1.0;
            if !(starts_in || ends_in || is_chord) {
                continue;
            }
            let reach = if half.value() > 0.0 { (half / square).sqrt() } else { S::constant(0.0) };
            let mut meet = |part: S, leaves: bool| {
                let corner = Corner { at: along2(&corner.at, &corner.edge, part), ..corner };
                path.push(Step { corner, at: along2(start, &along, part), side, leaves });
            };
            if !starts_in {
                meet(foot - reach, false);
            }
            if !ends_in {
                meet(foot + reach, true);
            }
        }
        Self { corners, path }
    }

    /// Does the polygon go around the disc from where it leaves it to where it enters again?
    fn goes_around(&self, from: &Step<S>, to: &Step<S>) -> bool {
        let n = self.corners.len();
        let passed = 1 + (to.side + n - from.side - 1) % n;
        (1..=passed).any(|k| dot2(&self.corners[(from.side + k) % n], &from.at).value() < 0.0)
    }

    /// The point inside that is nearest to one of the rim.
    fn nearest(&self, to: &Vector2<S>) -> Vector2<S> {
        let n = self.corners.len();
        let is_left = |k: usize| {
            let (start, end) = (&self.corners[k], &self.corners[(k + 1) % n]);
            cross2(&sub2(end, start), &sub2(to, start)).value() >= 0.0
        };
        if (0..n).all(is_left) {
            return *to;
        }
        let (mut nearest, mut least) = (*to, f64::INFINITY);
        for (i, step) in self.path.iter().enumerate().filter(|(_, step)| !step.leaves) {
            let along = sub2(&self.path[(i + 1) % self.path.len()].at, &step.at);
            let part = dot2(&sub2(to, &step.at), &along) / dot2(&along, &along);
            let part = if part.value() < 1.0 { part } else { S::constant(1.0) };
            let part = if part.value() > 0.0 { part } else { S::constant(0.0) };
            let at = along2(&step.at, &along, part);
            let apart = sub2(to, &at).map(S::value).norm();
            if apart < least {
                (nearest, least) = (at, apart);
            }
        }
        nearest
    }
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
