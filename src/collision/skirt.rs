//! What a line finds beside a hull's edges.
//!
//! A line that turns about a hull's corner may pass over an edge, and behind that edge no side may face the line. Then all that the
//! line had over the side before the edge would be lost at once. So each such edge has a skirt: the plane through the edge
//! that falls away from the hull by [`FALL`] on 1. This is the surface
//!
//! ```text
//! h(x) = max over the hull's points y of  height(y) − FALL |x − y|
//! ```
//!
//! over the plane across n, without the round parts that it has about corners. It is concave, and it moves continuously
//! with the hull. A side that falls more steeply gives way to the skirts of its edges. Where the skirts of two edges meet,
//! they are mitred, by up to 45° each.
//!
//! Only skirts of edges that are nearly along the line matter. Over others the gap grows so fast that no tilt makes one of their
//! points the deepest.

use std::f64::consts::{FRAC_PI_2, TAU};

use nalgebra::Vector3;

use super::number::{Number, along, cross, dot, sub};
use crate::description::Hull;

/// How steep a skirt is.
pub(super) const FALL: f64 = 10.0;
/// Edges that turn back by no more than this angle, in rad, go straight on but for rounding.
const STRAIGHT: f64 = 1e-9;

/// A skirt as the hull's vertices say: its edge, with the outside on the right, and the edges before and after it whose
/// skirts it meets.
#[derive(Clone, Copy)]
pub(super) struct Skirt<'a> {
    pub(super) hull: &'a Hull,
    edge: [usize; 2],
    before: Option<usize>,
    after: Option<usize>,
}

/// A skirt's plane in space.
pub(super) struct Slope<S> {
    /// Where the edge begins and ends.
    pub(super) edge: [Vector3<S>; 2],
    /// A normal, with 1 along n.
    pub(super) normal: Vector3<S>,
    /// The steepest way down, a unit vector across n.
    down: Vector3<S>,
}

impl<S: Number> Slope<S> {
    /// Of the edge between two points: on its right, seen with n towards the viewer.
    fn new(edge: [Vector3<S>; 2], n: &Vector3<S>) -> Self {
        let step = sub(&edge[1], &edge[0]);
        let rise = dot(&step, n);
        let across = along(&step, n, -rise);
        let length = dot(&across, &across).sqrt();
        let (ahead, slope) = (across * (S::constant(1.0) / length), rise / length);
        let aside = cross(&ahead, n) * (S::constant(FALL * FALL) - slope * slope).sqrt();
        let falling = along(&aside, &ahead, -slope);
        Self { edge, normal: n + falling, down: falling * S::constant(1.0 / FALL) }
    }
}

/// A hull as a line sees it.
struct Look<'a> {
    hull: &'a Hull,
    n: Vector3<f64>,
}

impl Look<'_> {
    fn vertex(&self, i: usize) -> Vector3<f64> {
        self.hull.vertices()[i].into()
    }

    /// The plane on the right of an edge, if the edge is not as steep.
    fn plane(&self, edge: [usize; 2]) -> Option<Slope<f64>> {
        let edge = edge.map(|i| self.vertex(i));
        let step = edge[1] - edge[0];
        let steepest = FALL / FALL.hypot(1.0) * (1.0 - STRAIGHT);
        (step.dot(&self.n).abs() < steepest * step.norm()).then(|| Slope::new(edge, &self.n))
    }

    /// The skirt's plane on the right of an edge, if none of the edge's two sides reaches above it.
    fn slope(&self, edge: [usize; 2]) -> Option<Slope<f64>> {
        let slope = self.plane(edge)?;
        let is_below = |[i, j]: [usize; 2]| {
            self.hull.faces().iter().find(|face| face.edges().any(|edge| edge == [i, j])).is_some_and(|face| {
                let inwards = Vector3::from(face.normal).cross(&(self.vertex(j) - self.vertex(i)));
                slope.normal.dot(&inwards) < 0.0
            })
        };
        let [i, j] = edge;
        (is_below([i, j]) && is_below([j, i])).then_some(slope)
    }

    /// The neighbouring edge whose skirt meets this one's at its end, or at its beginning if `sign` is −1; none if the
    /// corner is too sharp for a mitre.
    fn beside(&self, slope: &Slope<f64>, [i, j]: [usize; 2], sign: f64) -> Option<usize> {
        let corner = if sign > 0.0 { j } else { i };
        let angle = |other: usize| {
            let edge = if sign > 0.0 { [corner, other] } else { [other, corner] };
            let there = self.slope(edge)?.down;
            let angle = sign * self.n.dot(&slope.down.cross(&there)).atan2(slope.down.dot(&there));
            Some(if angle < -STRAIGHT { angle + TAU } else { angle })
        };
        let others = self.hull.neighbours(corner).iter().filter(|&&other| other != i && other != j);
        let angles = others.filter_map(|&other| Some((other, angle(other)?)));
        angles.min_by(|x, y| x.1.total_cmp(&y.1)).filter(|&(_, angle)| angle < FRAC_PI_2).map(|(other, _)| other)
    }
}

/// A line as a hull sees it: in the hull's frame, with n out of the hull.
pub(super) struct Line {
    /// Unit vector across n.
    ahead: Vector3<f64>,
    /// How the line rises along n on the way.
    rise: f64,
    /// Slopes of the gap that a tilt makes up for.
    tilt: f64,
}

impl Line {
    /// None if the line is upright.
    pub(super) fn new(direction: &Vector3<f64>, n: &Vector3<f64>, tilt: f64) -> Option<Self> {
        let rise = direction.dot(n);
        let across = direction - n * rise;
        let length = across.norm();
        (length > f64::EPSILON).then(|| Self { ahead: across / length, rise: rise / length, tilt })
    }
}

/// The skirts of a hull that a line meets, given which vertices may be the deepest under a tilt.
pub(super) fn skirts<'a>(hull: &'a Hull, n: Vector3<f64>, line: &Line, inside: &[bool]) -> Vec<Skirt<'a>> {
    let look = Look { hull, n };
    // Most edges are not along the line, which is soon told.
    let is_along = |slope: &Slope<f64>| (line.rise + slope.normal.dot(&line.ahead)).abs() <= line.tilt;
    let skirt = |edge: [usize; 2]| {
        look.plane(edge).filter(is_along)?;
        let slope = look.slope(edge)?;
        let [before, after] = [-1.0, 1.0].map(|sign| look.beside(&slope, edge, sign));
        Some(Skirt { hull, edge, before, after })
    };
    let near = hull.edges().iter().filter(|edge| edge.iter().any(|&i| inside[i]));
    near.flat_map(|&[i, j]| [[i, j], [j, i]]).filter_map(skirt).collect()
}

impl Skirt<'_> {
    /// The plane, given where vertices are.
    pub(super) fn slope<S: Number>(&self, vertex: impl Fn(usize) -> Vector3<S>, n: &Vector3<S>) -> Slope<S> {
        Slope::new(self.edge.map(vertex), n)
    }

    /// The corners, counter-clockwise seen from outside.
    pub(super) fn corners<S: Number>(
        &self,
        own: &Slope<S>,
        vertex: impl Fn(usize) -> Vector3<S>,
        n: &Vector3<S>,
    ) -> [Vector3<S>; 4] {
        let [i, j] = self.edge;
        let (one, reach) = (S::constant(1.0), S::constant(self.hull.reach()));
        let border = |other: Option<[usize; 2]>, sign: f64| {
            let mitre = match other {
                Some(other) => {
                    let other = Slope::new(other.map(&vertex), n);
                    (own.down + other.down) * (one / (one + dot(&own.down, &other.down)))
                }
                None => along(&own.down, &cross(n, &own.down), S::constant(sign)),
            };
            along(&mitre, n, S::constant(-FALL)) * reach
        };
        let [start, end] = own.edge;
        let first = border(self.before.map(|before| [before, i]), -1.0);
        let last = border(self.after.map(|after| [j, after]), 1.0);
        [end, start, start + first, end + last]
    }
}
