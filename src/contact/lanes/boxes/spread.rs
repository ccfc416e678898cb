//! The contact of two boxes spread over the overlap of sides: what [`crate::collision::Manifold`] says, with a point for each edge
//! that bounds the overlap, where that edge starts.

use super::cell::{Across, Cell, Edge, Face};
use super::closest::{Closest, least};
use super::faces::Shown;
use super::joint::joined;
use super::pair::{Boxes, POINTS, SHARP, Spot};
use crate::collision::{LIGHT, NEAR, NONE};
use crate::contact::lanes::scalar::{Scalar, V2, axpy, choose, dot2, sub2};
use crate::contact::lanes::total::indicator;
use crate::math::lane::{Mask, Real, inlined};
use crate::math::vector::{self, Vec3};

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
    let Shown { along, pairs: [[of_a, of_b], [other_a, other_b]], edges: [edge_a, edge_b], .. } = *shown;
    let (mut edges, is_none) = if PAIRS == 1 {
        let faces = [Face::new(of_a, along[0], 1.0), Face::new(of_b, along[1], -1.0)];
        let cell = Cell::new(boxes, &across, faces);
        (cell.edges, cell.is_none)
    } else {
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
        (joined(boxes, [&first, &second], shown), first.is_none.and(second.is_none))
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
