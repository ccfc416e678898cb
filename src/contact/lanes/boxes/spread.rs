//! The contact of two boxes spread over the overlap of sides: what [`crate::collision::Manifold`] says, with a point for each edge
//! that bounds the overlap, where that edge starts.
//!
//! Where two pairs of sides count, their overlaps are wedges on both sides of the point at which an edge of A and one of B cross.
//! All other points have the weight that they have in their wedge. A tilt that makes one of them the deepest of its wedge makes
//! it the deepest of both; the crossing has what is left.

use super::cell::{Across, Cell, Edge, Face};
use super::closest::{Closest, least};
use super::faces::Shown;
use super::pair::{Boxes, POINTS, SHARP, Spot};
use crate::collision::{LIGHT, NEAR, NONE};
use crate::contact::lanes::scalar::{Scalar, V2, axpy, choose, dot2, sub2, values};
use crate::contact::lanes::total::indicator;
use crate::math::lane::{Mask, Precision, Real, inlined};
use crate::math::vector::{self, Vec3};

/// Corners of two overlaps this near to each other, in parts of the boxes' size, are one.
#[inline(always)]
fn near<R: Real>() -> f64 {
    match R::precision() {
        Precision::Double => 1e-7,
        Precision::Single => 3e-4,
    }
}

/// The contacts of two boxes with these closest points: of one pair of sides, or of the two where two count.
#[inline(always)]
pub(super) fn spread<S: Scalar, const PAIRS: usize>(
    boxes: &Boxes<S>,
    closest: &Closest<S>,
    shown: &Shown<S::Lane>,
) -> [Spot<S>; POINTS] {
    let one = S::Lane::one();
    let constant = inlined(
        #[inline(always)]
        |x: S::Lane| closest.gap.constant(x),
    );
    let n = closest.normal;
    let across = Across::new(n);
    let along = [shown.along[0], shown.along[1]];
    let [[of_a, of_b], [other_a, other_b]] = shown.pairs;
    let (mut edges, is_none) = if PAIRS == 1 {
        let faces = [Face::new(of_a, along[0], 1.0), Face::new(of_b, along[1], -1.0)];
        let cell = Cell::new(boxes, &across, faces);
        (cell.edges, cell.is_none)
    } else {
        let [edge_a, edge_b] = shown.edges;
        let faces = inlined(
            #[inline(always)]
            |a: Vec3<S::Lane>, b: Vec3<S::Lane>| {
                [Face::from_edge(a, edge_a, along[0], 1.0), Face::from_edge(b, edge_b, along[1], -1.0)]
            },
        );
        let first = Cell::new(boxes, &across, faces(of_a, of_b));
        let [a, b] = faces(other_a, other_b);
        let [on_a, on_b] = shown.is_face;
        let second = Cell::new(boxes, &across, [a.reversed_but(on_a), b.reversed_but(on_b)]);
        (joined(boxes, &first, &second, shown), first.is_none.and(second.is_none))
    };
    let least_of = inlined(
        #[inline(always)]
        |v: Vec3<S::Lane>| vector::dot(least(v), [v[0].abs(), v[1].abs(), v[2].abs()]),
    );
    let is_sharp = least_of(along[0]).max(least_of(along[1])).lt(S::Lane::splat(SHARP)).not();
    let is_point = is_none.or(is_sharp);
    weigh(&mut edges);

    let spread = reach(&edges, closest.gap);
    let closest_phi = closest.gap - (boxes.radius_a + boxes.radius_b);
    let back = stand_back(&edges, closest_phi, spread);

    let closest_a = axpy(boxes.radius_a, n, closest.core_a);
    let closest_b = axpy(closest_phi, n, closest_a);
    let nothing = Spot { phi: closest_phi, point_a: closest_a, point_b: closest_b, weight: closest_phi };
    let mut spots = [nothing; POINTS];
    for k in 0..POINTS {
        let (edge, first) = (&edges[k], k == 0);
        let is_used = edge.is_there.and(is_point.not());
        let [x, y] = edge.start;
        let (height, [u, v]) = (edge.height + boxes.radius_a, across.axes);
        let mut point_a = n;
        for i in 0..3 {
            point_a[i] = S::inner([height, x, y], [n[i], u[i], v[i]]);
        }
        let point_b = axpy(edge.phi, n, point_a);
        let alone = inlined(
            #[inline(always)]
            |yes: S, no: f64| {
                let no = constant(S::Lane::splat(no));
                if first { S::choose(is_point, yes, no) } else { no }
            },
        );
        spots[k] = Spot {
            phi: S::choose(is_used, edge.phi + back[k], alone(closest_phi, crate::contact::UNUSED)),
            point_a: choose(is_used, point_a, closest_a),
            point_b: choose(is_used, point_b, closest_b),
            weight: S::choose(is_used, edge.weight, alone(constant(one), 0.0)),
        };
    }
    spots
}

/// The points of two overlaps. They share the end points of an edge, the first of the box that does not lie on a face; or they
/// share the point where A's or B's first edge starts. A point that both share has what both give it, less what it has of the
/// edge alone, or less one. The other points have places of their own: what the second overlap has is on the other side, so
/// that its edges are in the places of opposite ones. Should both have points in one place, they are mixed.
#[inline(always)]
fn joined<S: Scalar>(boxes: &Boxes<S>, first: &Cell<S>, second: &Cell<S>, shown: &Shown<S::Lane>) -> [Edge<S>; POINTS] {
    let (zero, one) = (S::Lane::zero(), S::Lane::one());
    let (half_a, half_b) = (values(boxes.half_a), values(boxes.half_b));
    let square = vector::dot(half_a, half_a) + vector::dot(half_b, half_b);
    let near = square.scale(near::<S::Lane>().powi(2));
    let is_at = inlined(
        #[inline(always)]
        |edge: &Edge<S>, [x, y]: V2<S::Lane>| {
            let [x, y] = [edge.start[0].value() - x, edge.start[1].value() - y];
            x.mul_add(x, y * y).lt(near)
        },
    );
    let [on_a, on_b] = shown.is_face;
    let of_a = on_b.or(on_a.not().and(shown.starts_a));
    let at = inlined(
        #[inline(always)]
        |k: usize, edges: &[Edge<S>; POINTS]| {
            let place = |i: usize| S::Lane::select(of_a, edges[k].start[i].value(), edges[4 + k].start[i].value());
            [place(0), place(1)]
        },
    );
    let has_edge = inlined(
        #[inline(always)]
        |k: usize, edges: &[Edge<S>; POINTS]| {
            let [a, b] = [indicator::<S::Lane>(edges[k].is_there), indicator(edges[4 + k].is_there)];
            S::Lane::select(of_a, a, b).gt(S::Lane::splat(0.5))
        },
    );
    let (start, end) = (at(0, &first.edges), at(2, &second.edges));
    let is_edge = on_a.or(on_b);
    let is_one = {
        let [x, y] = [start[0] - end[0], start[1] - end[1]];
        x.mul_add(x, y * y).lt(near).or(is_edge.not())
    };
    let shares = is_one.or(has_edge(0, &first.edges).and(has_edge(2, &second.edges)));
    let are_both = first.is_none.or(second.is_none).not().and(shares);
    // Without a shared edge there is no more of the second than a point.
    let counts = indicator::<S::Lane>(first.is_none.not());
    let others_count = indicator::<S::Lane>(second.is_none.not().and(are_both.or(first.is_none)));
    let both = indicator::<S::Lane>(are_both);

    let (mut starts, mut ends) = ([[zero; POINTS]; 2], [[zero; POINTS]; 2]);
    let (mut weights, mut others) = ([first.starts[0]; POINTS], [first.starts[0]; POINTS]);
    for k in 0..POINTS {
        for (i, edge) in [&first.edges[k], &second.edges[k]].into_iter().enumerate() {
            let is_start = is_at(edge, start);
            starts[i][k] = both * indicator::<S::Lane>(is_start);
            ends[i][k] = both * indicator::<S::Lane>(is_at(edge, end).and(is_start.or(is_one).not()));
        }
        weights[k] = first.edges[k].weight;
        others[k] = second.edges[k].weight;
    }
    let here = S::choose(of_a, first.starts[0], first.starts[1]);
    let of_start = S::choose(are_both, S::choose(is_one, here.constant(one), here), here.constant(zero));
    let of_end = of_start.constant(both) - of_start;
    let start = sum_of(weights, starts[0]) + sum_of(others, starts[1]) - of_start;
    let end = sum_of(weights, ends[0]) + sum_of(others, ends[1]) - of_end;

    let mut edges = first.edges;
    for k in 0..POINTS {
        let (own, other) = (&first.edges[k], &second.edges[k]);
        let takes = match k {
            0 | 2 => indicator::<S::Lane>(of_a),
            4 | 6 => indicator::<S::Lane>(of_a.not()),
            _ => zero,
        };
        let [takes_start, takes_end] = if k % 4 == 0 { [takes, zero] } else { [zero, takes] };
        let rest = [0, 1].map(|i| one - starts[i][k] - ends[i][k]);
        let weight = S::weighted2([weights[k], start], [counts * rest[0], both * takes_start]);
        let others = S::weighted2([others[k], end], [others_count * rest[1], both * takes_end]);
        let sum = weight + others;
        let has_weight = sum.value().gt(S::Lane::splat(NONE));
        let share = others / S::choose(has_weight, sum, sum.constant(one));
        edges[k] = Edge {
            is_there: own.is_there.and(first.is_none.not()).or(other.is_there.and(second.is_none.not())).or(has_weight),
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

/// Makes the weights add up to one; the least are none, and the heaviest has what they had.
#[inline(always)]
fn weigh<S: Scalar>(edges: &mut [Edge<S>; POINTS]) {
    let zero = S::Lane::zero();
    let mut rest = edges[0].weight.constant(S::Lane::one());
    let none = rest.constant(zero);
    let (mut most, mut heaviest) = (zero, [zero; POINTS]);
    for k in 0..POINTS {
        let weight = edges[k].weight;
        let is_none = weight.value().lt(S::Lane::splat(NONE));
        edges[k].weight = S::choose(is_none, none, weight);
        rest = rest - edges[k].weight;
        let is_heavier = weight.value().lt(most).not();
        most = S::Lane::select(is_heavier, weight.value(), most);
        for other in &mut heaviest[..k] {
            *other = S::Lane::select(is_heavier, zero, *other);
        }
        heaviest[k] = indicator(is_heavier);
    }
    for k in 0..POINTS {
        edges[k].weight = edges[k].weight + rest.times(heaviest[k]);
    }
}

/// How far the points carry: see `collision/spot.rs`.
#[inline(always)]
fn reach<S: Scalar>(edges: &[Edge<S>; POINTS], number: S) -> S {
    let mut weights = [number; POINTS];
    let (mut x, mut y) = (weights, weights);
    for k in 0..POINTS {
        weights[k] = edges[k].weight;
        [x[k], y[k]] = edges[k].start;
    }
    let none = number.constant(S::Lane::zero());
    let middle = [none.plus_products(weights, x), none.plus_products(weights, y)];
    let mut squares = weights;
    for k in 0..POINTS {
        let from = sub2(edges[k].start, middle);
        squares[k] = dot2(from, from);
    }
    none.plus_products(weights, squares).times(S::Lane::splat(8.0))
}

/// (1 − |p − q|² / near)², 0 beyond: one operation, as each two points have it.
#[inline(always)]
fn nearness<S: Scalar>(p: V2<S>, q: V2<S>, per_near: S) -> S {
    let (zero, one, per) = (S::Lane::zero(), S::Lane::one(), per_near.value());
    let between = [p[0].value() - q[0].value(), p[1].value() - q[1].value()];
    let square = between[0].mul_add(between[0], between[1] * between[1]);
    let lacks = (one - square * per).max(zero);
    let by_square = lacks.scale(-2.0) * per;
    for i in 0..2 {
        let slope = by_square * (between[i] + between[i]);
        p[i].by(slope);
        q[i].by(-slope);
    }
    per_near.by(lacks.scale(-2.0) * square);
    per_near.result(lacks * lacks)
}

/// How far each point stands back: see `collision/manifold.rs`.
#[inline(always)]
fn stand_back<S: Scalar>(edges: &[Edge<S>; POINTS], closest: S, spread: S) -> [S; POINTS] {
    let (zero, one) = (S::Lane::zero(), S::Lane::one());
    let constant = inlined(
        #[inline(always)]
        |x: S::Lane| closest.constant(x),
    );
    let light = S::Lane::splat(LIGHT);
    let near = spread.times(S::Lane::splat(NEAR * NEAR));
    let is_there = near.value().gt(zero);
    let per_near = constant(one) / S::choose(is_there, near, constant(one));
    let mut parts = [[closest; POINTS]; POINTS];
    for k in 1..POINTS {
        for other in 0..k {
            let part = nearness(edges[k].start, edges[other].start, per_near);
            (parts[k][other], parts[other][k]) = (part, part);
        }
    }
    let mut around = [closest; POINTS];
    for k in 0..POINTS {
        let (mut near, mut weights) = ([closest; POINTS - 1], [closest; POINTS - 1]);
        for other in 0..POINTS - 1 {
            let at = if other < k { other } else { other + 1 };
            (near[other], weights[other]) = (parts[k][at], edges[at].weight);
        }
        around[k] = edges[k].weight.plus_products(near, weights);
    }
    let mut back = [closest; POINTS];
    for k in 0..POINTS {
        let (own, height) = (edges[k].weight.value(), edges[k].phi - closest);
        let is_light = around[k].value().lt(light).and(own.gt(zero)).and(own.lt(light));
        let stands = is_light.and(height.value().gt(zero));
        let weight = S::choose(stands, around[k], constant(light));
        let lacks = constant(light) - weight;
        let all = height * (lacks * lacks) / weight.times(light);
        back[k] = S::choose(stands, all, constant(zero));
    }
    back
}
