//! The contact of two boxes spread over the overlap of two faces: what [`crate::collision::Manifold`] says, with a point for
//! each edge of the faces that bounds the overlap, where that edge starts.
//!
//! Seen along the normal n the faces are parallelograms c + ξ u + η v with |ξ|, |η| ≤ 1, whose edges run counter-clockwise from the
//! corners (1, 1), (−1, 1), (−1, −1), (1, −1). An edge of one is cut at the other's sides, ξ = ±1 and η = ±1; what is left of it
//! bounds the overlap. The overlap is convex: where an edge starts, there arrives the one that turns the least to it. So the
//! weights add up to one whichever edges rounding counts in, where corners of one face lie on edges of the other.

use std::f64::consts::{PI, TAU};

use super::super::scalar::{
    Scalar, V2, V3, axpy, choose, cross, cross_constant, cross2, dot, dot_constant, dot2, scale, sub2, values,
};
use super::super::total::{indicator, sign};
use super::closest::{Closest, combined, least};
use super::faces;
use super::pair::{Boxes, POINTS, SHARP, Spot};
use crate::collision::{LIGHT, NEAR, NONE, TILT};
use crate::math::lane::{Mask, Precision, Real, inlined};
use crate::math::vector::{self, Vec3};

/// Edges of A this near to B's sides, in parts of half B's size, are inside, and edges of B on A's sides are not: coinciding
/// ones count once.
#[inline(always)]
fn same<R: Real>() -> f64 {
    match R::precision() {
        Precision::Double => 1e-10,
        Precision::Single => 1e-5,
    }
}
/// Less of the overlap's weight is none: the faces touch in a point at most.
const POINT: f64 = 0.5;

/// A face as it is seen along n: a parallelogram.
#[derive(Clone, Copy)]
struct Parallelogram<S> {
    c: V2<S>,
    u: V2<S>,
    v: V2<S>,
    /// Height of its middle along n.
    height: S,
    /// Of its plane over the plane across n.
    slope: V2<S>,
}

/// The plane across n.
struct Across<S> {
    n: V3<S>,
    axes: [V3<S>; 2],
}

impl<S: Scalar> Across<S> {
    #[inline(always)]
    fn new(n: V3<S>) -> Self {
        let u = cross_constant(n, least(values(n)));
        let one = n[0].constant(S::Lane::one());
        let u = scale(one / dot(u, u).root(), u);
        Self { n, axes: [u, cross(n, u)] }
    }

    #[inline(always)]
    fn flat(&self, p: V3<S>) -> V2<S> {
        [dot(self.axes[0], p), dot(self.axes[1], p)]
    }

    /// Of a face with this middle, these half sides and this outward normal of any sense.
    #[inline(always)]
    fn parallelogram(&self, c: V3<S>, u: V3<S>, v: V3<S>, normal: V3<S>) -> Parallelogram<S> {
        let [x, y] = self.flat(normal);
        let down = -(normal[0].constant(S::Lane::one()) / dot(self.n, normal));
        Parallelogram {
            c: self.flat(c),
            u: self.flat(u),
            v: self.flat(v),
            height: dot(self.n, c),
            slope: [x * down, y * down],
        }
    }
}

/// (k + 1, k + 2, k) in a circle, one-hot.
#[inline(always)]
fn around<R: Real>(k: Vec3<R>) -> [Vec3<R>; 2] {
    [[k[2], k[0], k[1]], [k[1], k[2], k[0]]]
}

/// An edge as it is cut by the other face, or what is known of it there.
#[derive(Clone, Copy)]
struct Edge<S: Scalar> {
    is_there: <S::Lane as Real>::Mask,
    start: V2<S>,
    /// The squared length of what is left.
    square: S,
    weight: S,
    phi: S,
    height: S,
}

/// For each edge of a face: the angle θ of its direction, and q = ∫ M dθ along its outward normal, less θ.
struct Turning<S: Scalar> {
    angle: [S::Lane; 4],
    q: [S; 4],
}

impl<S: Scalar> Parallelogram<S> {
    /// Of a face whose u has this angle; `apex` is where tilts are measured from, in parts of the largest.
    #[inline(always)]
    fn turning(&self, apex: V2<S>, angle: S) -> Turning<S> {
        let pi = angle.constant(S::Lane::splat(PI));
        let of_v = angle + cross2(self.u, self.v).angle(dot2(self.u, self.v));
        let (along_u, against_u) = rays(self.u, apex);
        let (along_v, against_v) = rays(self.v, apex);
        let angles = [angle + pi, of_v + pi, angle, of_v];
        let rays = [against_u, against_v, along_u, along_v];
        let (mut all, mut q) = ([S::Lane::zero(); 4], angles);
        for k in 0..4 {
            all[k] = angles[k].value();
            q[k] = rays[k] - angles[k];
        }
        Turning { angle: all, q }
    }

    /// The face in the coordinates (ξ, η) of another.
    #[inline(always)]
    fn seen_by(&self, other: &Self) -> [V2<S>; 3] {
        let per_area = self.height.constant(S::Lane::one()) / cross2(other.u, other.v);
        let from = sub2(self.c, other.c);
        let mut seen = [from, self.u, self.v];
        for v in &mut seen {
            *v = [cross2(*v, other.v) * per_area, cross2(other.u, *v) * per_area];
        }
        seen
    }
}

/// ∫ M dθ along the outward normals of an edge and of the opposite one: see `collision/tilt.rs`.
#[inline(always)]
fn rays<S: Scalar>(edge: V2<S>, apex: V2<S>) -> (S, S) {
    let (zero, one) = (S::Lane::zero(), S::Lane::one());
    let number = inlined(
        #[inline(always)]
        |x: f64| edge[0].constant(S::Lane::splat(x)),
    );
    let per_length = number(1.0) / dot2(edge, edge).root();
    let outward = [edge[1] * per_length, -(edge[0] * per_length)];
    let (a, b) = (dot2(outward, apex), cross2(outward, apex));
    let square = b * b;
    let is_far = square.value().lt(one).not();
    let cosine = S::choose(is_far, number(1.0), number(1.0) - square).root();
    let (angle, limit) = (b.angle(a), b.angle(cosine));
    let c = cosine.value();
    let is_ahead = a.value().lt(c).not();
    let is_behind = a.value().lt(-c);
    let half_turn = edge[0].constant(S::Lane::select(b.value().lt(zero), S::Lane::splat(-PI), S::Lane::splat(PI)));

    let room = number(2.0) - square;
    let inside = inlined(
        #[inline(always)]
        |u: S| -((b * u) * S::weighted2([room, u * u], [one, S::Lane::splat(-1.0 / 3.0)])),
    );
    let (at_limit, here) = (inside(cosine), inside(a));
    let twice = (at_limit - limit).times(S::Lane::splat(2.0));
    let opposite = half_turn - angle;
    let along = S::choose(is_behind, opposite + twice, at_limit - here - limit);
    let against = S::choose(is_ahead, -(angle + twice), limit - at_limit - here);
    (S::choose(is_far.or(is_ahead), -angle, along), S::choose(is_far.or(is_behind), opposite, against))
}

/// The signs of a face's corners (ξ, η), in the order in which edges leave them.
const CORNERS: [[f64; 2]; 4] = [[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]];
/// Each edge's direction: along u or v, and its sense.
const DIRECTIONS: [(usize, f64); 4] = [(0, -2.0), (1, -2.0), (0, 2.0), (1, 2.0)];
/// Edges that turn by less are in the same direction, up to rounding.
const STRAIGHT: f64 = 1e-6;

/// Edge `k` of a face, cut by another; `grown` is the half size of what counts as the other's inside.
#[inline(always)]
fn cut<S: Scalar>(k: usize, face: &Parallelogram<S>, seen: &[V2<S>; 3], grown: f64) -> Edge<S> {
    let (zero, one) = (S::Lane::zero(), S::Lane::one());
    let constant = inlined(
        #[inline(always)]
        |x: S::Lane| face.height.constant(x),
    );
    let ([su, sv], (axis, sense)) = (CORNERS[k], DIRECTIONS[k]);
    let corner = inlined(
        #[inline(always)]
        |c: V2<S>, u: V2<S>, v: V2<S>| {
            let (su, sv) = (S::Lane::splat(su), S::Lane::splat(sv));
            [S::weighted([c[0], u[0], v[0]], [one, su, sv]), S::weighted([c[1], u[1], v[1]], [one, su, sv])]
        },
    );
    let along = inlined(
        #[inline(always)]
        |u: V2<S>, v: V2<S>| {
            let way = if axis == 0 { u } else { v };
            [way[0].times(S::Lane::splat(sense)), way[1].times(S::Lane::splat(sense))]
        },
    );
    let (p, e) = (corner(seen[0], seen[1], seen[2]), along(seen[1], seen[2]));

    // Between which parts of the edge are both coordinates inside?
    let (mut from, mut to) = (zero, one);
    let (mut enters, mut leaves) = ([S::Lane::zero(); 2], [S::Lane::zero(); 2]);
    let mut side = [one; 2];
    for d in 0..2 {
        let (place, speed) = (p[d].value(), e[d].value());
        side[d] = sign(speed);
        let speed = S::Lane::select(speed.abs().lt(S::Lane::tiny()), S::Lane::tiny(), speed);
        let reach = side[d].scale(grown);
        let (enter, leave) = ((-reach - place) / speed, (reach - place) / speed);
        let (later, sooner) = (enter.gt(from), leave.lt(to));
        from = S::Lane::select(later, enter, from);
        to = S::Lane::select(sooner, leave, to);
        enters[d] = indicator(later);
        leaves[d] = indicator(sooner);
    }
    enters[0] = enters[0] * (one - enters[1]);
    leaves[0] = leaves[0] * (one - leaves[1]);
    let is_there = to.gt(from);

    let half = S::Lane::splat(0.5);
    let (mut start, mut end) = (constant(zero), constant(one));
    for d in 0..2 {
        let (is_entry, is_exit) = (enters[d].gt(half).and(is_there), leaves[d].gt(half).and(is_there));
        let speed = S::choose(is_entry.or(is_exit), e[d], constant(one));
        start = S::choose(is_entry, (constant(-side[d]) - p[d]) / speed, start);
        end = S::choose(is_exit, (constant(side[d]) - p[d]) / speed, end);
    }
    for x in [&mut start, &mut end] {
        *x = S::choose(x.value().lt(zero), constant(zero), S::choose(x.value().gt(one), constant(one), *x));
    }

    let (at, way) = (corner(face.c, face.u, face.v), along(face.u, face.v));
    let left = end - start;
    Edge {
        is_there,
        start: [start.fused(way[0], at[0]), start.fused(way[1], at[1])],
        square: S::choose(is_there, (left * left) * dot2(way, way), constant(zero)),
        weight: constant(zero),
        phi: constant(zero),
        height: constant(zero),
    }
}

/// The contacts of two boxes with these closest points.
#[inline(always)]
pub(super) fn spread<S: Scalar>(boxes: &Boxes<S>, closest: &Closest<S>) -> [Spot<S>; POINTS] {
    let (zero, one) = (S::Lane::zero(), S::Lane::one());
    let constant = inlined(
        #[inline(always)]
        |x: S::Lane| closest.gap.constant(x),
    );
    let n = closest.normal;
    let across = Across::new(n);

    let on_a = values(n);
    let mut on_b = on_a;
    for k in 0..3 {
        on_b[k] = vector::dot(values(boxes.b[k]), on_a);
    }
    let [face_a, face_b] = faces::shown(boxes, [on_a, on_b]);
    let sense = sign(vector::dot(face_a, on_a));
    let [i, j] = around(face_a);
    let (mut c, mut u, mut v, mut normal) = (n, n, n, n);
    for k in 0..3 {
        c[k] = boxes.half_a[k].times(sense * face_a[k]);
        u[k] = boxes.half_a[k].times(i[k]);
        v[k] = boxes.half_a[k].times(sense * j[k]);
        normal[k] = constant(face_a[k]);
    }
    let a = across.parallelogram(c, u, v, normal);

    let sense = -sign(vector::dot(face_b, on_b));
    let [i, j] = around(face_b);
    let (normal, along_i, along_j) = (combined(face_b, &boxes.b), combined(i, &boxes.b), combined(j, &boxes.b));
    let half = inlined(
        #[inline(always)]
        |one_hot: Vec3<S::Lane>| dot_constant(boxes.half_b, one_hot),
    );
    let (u, v) = (scale(half(i), along_i), scale(half(j).times(-sense), along_j));
    let b = across.parallelogram(axpy(half(face_b).times(sense), normal, boxes.t), u, v, normal);

    let slope = sub2(b.slope, a.slope);
    let apex = [slope[0].times(S::Lane::splat(1.0 / TILT)), slope[1].times(S::Lane::splat(1.0 / TILT))];
    let turning_a = a.turning(apex, constant(zero));
    let turning_b = b.turning(apex, cross2(a.u, b.u).angle(dot2(a.u, b.u)));
    let (a_by_b, b_by_a) = (a.seen_by(&b), b.seen_by(&a));
    let nothing = Edge {
        is_there: Mask::splat(false),
        start: a.c,
        square: a.height,
        weight: a.height,
        phi: a.height,
        height: a.height,
    };
    let mut edges = [nothing; POINTS];
    for k in 0..4 {
        edges[k] = cut(k, &a, &a_by_b, 1.0 + same::<S::Lane>());
        edges[4 + k] = cut(k, &b, &b_by_a, 1.0 - same::<S::Lane>());
    }
    turn(&mut edges, [&turning_a, &turning_b]);

    let mut sum = edges[0].weight;
    for edge in &edges[1..] {
        sum = sum + edge.weight;
    }
    let least_of = inlined(
        #[inline(always)]
        |v: Vec3<S::Lane>| vector::dot(least(v), [v[0].abs(), v[1].abs(), v[2].abs()]),
    );
    let is_sharp = least_of(on_a).max(least_of(on_b)).lt(S::Lane::splat(SHARP)).not();
    let is_point = sum.value().gt(S::Lane::splat(POINT)).not().or(is_sharp);
    let per_sum = constant(one) / S::choose(is_point, constant(one), sum);
    weigh(&mut edges, per_sum);

    let mut spread = edges[0].square;
    for edge in &edges[1..] {
        spread = spread + edge.square;
    }
    let radii = boxes.radius_a + boxes.radius_b;
    for edge in &mut edges {
        let (of_a, of_b) = (sub2(edge.start, a.c), sub2(edge.start, b.c));
        edge.height = a.height + dot2(a.slope, of_a);
        edge.phi = b.height + dot2(b.slope, of_b) - edge.height - radii;
    }
    let closest_phi = closest.gap - radii;
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

/// The weights of the points where edges start.
#[inline(always)]
fn turn<S: Scalar>(edges: &mut [Edge<S>; POINTS], turning: [&Turning<S>; 2]) {
    let (zero, one, circle) = (S::Lane::zero(), S::Lane::one(), S::Lane::splat(TAU));
    let per_circle = S::Lane::splat(1.0 / TAU);
    for k in 0..POINTS {
        let (own, angle) = (turning[k / 4].q[k % 4], turning[k / 4].angle[k % 4]);
        let (mut arriving, mut least, mut turns) = (own, circle, one);
        for other in 0..POINTS {
            if other == k {
                continue;
            }
            let raw = angle - turning[other / 4].angle[other % 4];
            let mut around = zero;
            for _ in 0..2 {
                let now = around.mul_add(circle, raw);
                around += indicator(now.lt(S::Lane::splat(-STRAIGHT)));
                around += -indicator::<S::Lane>(now.gt(S::Lane::splat(TAU - STRAIGHT)));
            }
            let now = around.mul_add(circle, raw);
            let is_sooner = now.lt(least).and(edges[other].is_there);
            arriving = S::choose(is_sooner, turning[other / 4].q[other % 4], arriving);
            least = S::Lane::select(is_sooner, now, least);
            turns = S::Lane::select(is_sooner, around, turns);
        }
        let turns = own.constant(turns);
        let weight = S::weighted([arriving, own, turns], [per_circle, -per_circle, one]);
        edges[k].weight = S::choose(edges[k].is_there, weight, own.constant(zero));
    }
}

/// Makes the weights add up to one; the least are none, and the heaviest has what they had.
#[inline(always)]
fn weigh<S: Scalar>(edges: &mut [Edge<S>; POINTS], per_sum: S) {
    let zero = S::Lane::zero();
    let mut rest = per_sum.constant(zero);
    let none = rest;
    let (mut most, mut heaviest) = (zero, [zero; POINTS]);
    for k in 0..POINTS {
        let weight = edges[k].weight * per_sum;
        let is_none = weight.value().lt(S::Lane::splat(NONE));
        rest = rest + S::choose(is_none, weight, none);
        edges[k].weight = S::choose(is_none, none, weight);
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
