//! The points of two overlaps together, of two pairs of sides that two boxes show.
//!
//! The overlaps share an edge of one box, or only the point where an edge of A and one of B cross. A shared point has the weights
//! w₁ and w₂ in the overlaps alone, and w on what they share: on an edge, how likely a tilt makes that end the deeper one; on a
//! point, 1. It has the weight
//!
//! ```text
//! w₁ + w₂ − w
//! ```
//!
//! in both: a tilt that makes it the deepest of both makes it the deepest of each, and if it is not the deepest of the one, the deepest point of that
//! is on the far side of what they share, so that it is the deepest of the other and of what they share. All other points have
//! the weight that they have in their overlap.
//!
//! Each point has a place. The second overlap is on the other side of what is shared, so that its edges are in the places of the
//! opposite ones in the first. Should both have a point in one place, the points are mixed.

use super::cell::{Cell, Edge};
use super::faces::Shown;
use super::pair::{Boxes, POINTS};
use crate::collision::NONE;
use crate::contact::lanes::scalar::{Scalar, V2, values};
use crate::contact::lanes::total::indicator;
use crate::math::lane::{Mask, Precision, Real, inlined};
use crate::math::vector;

/// Corners of two overlaps this near to each other, in parts of the boxes' size, are one.
#[inline(always)]
fn near<R: Real>() -> f64 {
    match R::precision() {
        Precision::Double => 1e-7,
        Precision::Single => 3e-4,
    }
}

/// Where the overlaps' shared points are: the start of the first overlap's edge and the start of the second's, which is its end.
struct Shared<R: Real> {
    /// Is it an edge of A, or A's edge that starts at a single point?
    of_a: R::Mask,
    start: V2<R>,
    end: V2<R>,
    /// Both ends are one point.
    is_one: R::Mask,
    /// Both overlaps have it.
    are_both: R::Mask,
    /// How near to a point is at it, squared.
    near: R,
}

impl<R: Real> Shared<R> {
    #[inline(always)]
    fn new<S: Scalar<Lane = R>>(boxes: &Boxes<S>, [first, second]: [&Cell<S>; 2], shown: &Shown<R>) -> Self {
        let (half_a, half_b) = (values(boxes.half_a), values(boxes.half_b));
        let square = vector::dot(half_a, half_a) + vector::dot(half_b, half_b);
        let near = square.scale(near::<R>().powi(2));
        let [on_a, on_b] = shown.is_face;
        let of_a = on_b.or(on_a.not().and(shown.starts_a));
        let place = inlined(
            #[inline(always)]
            |a: &Edge<S>, b: &Edge<S>| {
                let part = |i: usize| R::select(of_a, a.start[i].value(), b.start[i].value());
                [part(0), part(1)]
            },
        );
        let is_there = inlined(
            #[inline(always)]
            |a: &Edge<S>, b: &Edge<S>| of_a.and(a.is_there).or(of_a.not().and(b.is_there)),
        );
        let (edges, others) = (&first.edges, &second.edges);
        let (start, end) = (place(&edges[0], &edges[4]), place(&others[2], &others[6]));
        let [x, y] = [start[0] - end[0], start[1] - end[1]];
        let is_one = x.mul_add(x, y * y).lt(near).or(on_a.or(on_b).not());
        let has_edge = is_there(&edges[0], &edges[4]).and(is_there(&others[2], &others[6]));
        let are_both = first.is_none.or(second.is_none).not().and(is_one.or(has_edge));
        Self { of_a, start, end, is_one, are_both, near }
    }

    /// 1 for a point at the start, and for one at the end, if both overlaps have it, otherwise 0.
    #[inline(always)]
    fn at<S: Scalar<Lane = R>>(&self, edge: &Edge<S>) -> [R; 2] {
        let is_at = inlined(
            #[inline(always)]
            |point: V2<R>| {
                let [x, y] = [edge.start[0].value() - point[0], edge.start[1].value() - point[1]];
                x.mul_add(x, y * y).lt(self.near)
            },
        );
        let is_start = is_at(self.start);
        let is_end = is_at(self.end).and(is_start.or(self.is_one).not());
        [indicator(self.are_both.and(is_start)), indicator(self.are_both.and(is_end))]
    }
}

/// The points of both.
#[inline(always)]
pub(super) fn joined<S: Scalar>(
    boxes: &Boxes<S>,
    [first, second]: [&Cell<S>; 2],
    shown: &Shown<S::Lane>,
) -> [Edge<S>; POINTS] {
    let (zero, one) = (S::Lane::zero(), S::Lane::one());
    let shared = Shared::new(boxes, [first, second], shown);
    let Shared { of_a, is_one, are_both, .. } = shared;
    // Without anything shared there is no more of the second than a point.
    let counts = indicator::<S::Lane>(first.is_none.not());
    let others_count = indicator::<S::Lane>(second.is_none.not().and(are_both.or(first.is_none)));
    let both = indicator::<S::Lane>(are_both);

    let (mut starts, mut ends) = ([[zero; POINTS]; 2], [[zero; POINTS]; 2]);
    let (mut weights, mut others) = ([first.starts[0]; POINTS], [first.starts[0]; POINTS]);
    for k in 0..POINTS {
        [starts[0][k], ends[0][k]] = shared.at(&first.edges[k]);
        [starts[1][k], ends[1][k]] = shared.at(&second.edges[k]);
        (weights[k], others[k]) = (first.edges[k].weight, second.edges[k].weight);
    }
    let likely = S::choose(of_a, first.starts[0], first.starts[1]);
    let of_start = S::choose(are_both, S::choose(is_one, likely.constant(one), likely), likely.constant(zero));
    let of_end = of_start.constant(both) - of_start;
    let start = sum_of(weights, starts[0]) + sum_of(others, starts[1]) - of_start;
    let end = sum_of(weights, ends[0]) + sum_of(others, ends[1]) - of_end;

    let mut edges = first.edges;
    for k in 0..POINTS {
        let (own, other) = (&first.edges[k], &second.edges[k]);
        // Shared points are in the places of the edge and of the opposite one.
        let takes = both
            * match k {
                0 | 2 => indicator::<S::Lane>(of_a),
                4 | 6 => indicator::<S::Lane>(of_a.not()),
                _ => zero,
            };
        let [takes_start, takes_end] = if k % 4 == 0 { [takes, zero] } else { [zero, takes] };
        let rest = [one - starts[0][k] - ends[0][k], one - starts[1][k] - ends[1][k]];
        let weight = S::weighted2([weights[k], start], [counts * rest[0], takes_start]);
        let others = S::weighted2([others[k], end], [others_count * rest[1], takes_end]);
        let sum = weight + others;
        let has_weight = sum.value().gt(S::Lane::splat(NONE));
        let share = others / S::choose(has_weight, sum, sum.constant(one));
        let is_own = own.is_there.and(first.is_none.not());
        edges[k] = Edge {
            is_there: is_own.or(other.is_there.and(second.is_none.not())).or(has_weight),
            start: [between(own.start[0], other.start[0], share), between(own.start[1], other.start[1], share)],
            weight: sum,
            phi: between(own.phi, other.phi, share),
            height: between(own.height, other.height, share),
        };
    }
    edges
}

/// Σ w_k a_k.
#[inline(always)]
fn sum_of<S: Scalar>(a: [S; POINTS], w: [S::Lane; POINTS]) -> S {
    let mut sum = S::Lane::zero();
    for k in 0..POINTS {
        a[k].by(w[k]);
        sum = a[k].value().mul_add(w[k], sum);
    }
    a[0].result(sum)
}

/// x + share (y − x).
#[inline(always)]
fn between<S: Scalar>(x: S, y: S, share: S) -> S {
    let (part, way) = (share.value(), y.value() - x.value());
    x.by(S::Lane::one() - part);
    y.by(part);
    share.by(way);
    x.result(part.mul_add(way, x.value()))
}
