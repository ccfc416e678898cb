//! Where two sides of boxes lie over each other: a polygon, with a point for each edge of the sides that bounds it, where
//! that edge starts.
//!
//! Seen along the normal n the sides are parallelograms c + ξ u + η v with |ξ|, |η| ≤ 1, whose edges run counter-clockwise from the
//! corners (1, 1), (−1, 1), (−1, −1), (1, −1). An edge of one is cut at the other's sides, ξ = ±1 and η = ±1; what is left of it
//! bounds the overlap. The overlap is convex: where an edge starts, there arrives the one that turns the least to it. So the
//! weights add up to one whichever edges rounding counts in, where corners of one face lie on edges of the other.

use std::f64::consts::{PI, TAU};

use super::closest::{combined, least};
use super::pair::{Boxes, POINTS};
use crate::collision::TILT;
use crate::contact::lanes::scalar::{
    Scalar, V2, V3, axpy, cross, cross_constant, cross2, dot, dot_constant, dot2, scale, sub2, values,
};
use crate::contact::lanes::total::{indicator, sign};
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
/// Weights whose sum is off by more are those of no overlap: the faces touch in a point at most.
const OFF: f64 = 0.5;

/// A side of a box in its own axes, one-hot with signs: its outward normal, and its parallelogram's u and v.
pub(super) struct Face<R> {
    out: Vec3<R>,
    u: Vec3<R>,
    v: Vec3<R>,
}

impl<R: Real> Face<R> {
    /// The side on an axis, given how the axes look along the normal to the other box, and 1 for A or −1 for B. Its edges are in the same
    /// places as long as it is shown.
    #[inline(always)]
    pub(super) fn new(side: Vec3<R>, along: Vec3<R>, sense: f64) -> Self {
        let sign = sign(vector::dot(side, along));
        let (u, v) = ([side[2], side[0], side[1]], [side[1], side[2], side[0]]);
        Self { out: vector::scale(sign, side), u, v: vector::scale(sign.scale(sense), v) }
    }

    /// The same side, whose first edge is the one along an axis that it has in common with the box's other side in contact.
    #[inline(always)]
    pub(super) fn from_edge(side: Vec3<R>, edge: Vec3<R>, along: Vec3<R>, sense: f64) -> Self {
        let (mut out, mut v) = (side, side);
        for k in 0..3 {
            let sign = sign(along[k]);
            out[k] = sign * side[k];
            v[k] = sign * (R::one() - side[k] - edge[k]);
        }
        let turns = vector::dot(vector::cross(edge, v), out).scale(sense);
        Self { out, u: vector::scale(turns, edge), v }
    }

    /// With all edges exchanged with the opposite ones, but where the mask is set.
    #[inline(always)]
    pub(super) fn reversed_but(self, mask: R::Mask) -> Self {
        let sign = R::select(mask, R::one(), R::splat(-1.0));
        Self { out: self.out, u: vector::scale(sign, self.u), v: vector::scale(sign, self.v) }
    }
}

/// Two sides that lie over each other, and the overlap's edges.
pub(super) struct Cell<S: Scalar> {
    pub(super) edges: [Edge<S>; POINTS],
    /// Is there no overlap, or no more than a point?
    pub(super) is_none: <S::Lane as Real>::Mask,
    /// How likely a tilt makes the start of A's first edge, or of B's, deeper than its end.
    pub(super) starts: [S; 2],
}

impl<S: Scalar> Cell<S> {
    /// Of a side of A and one of B.
    #[inline(always)]
    pub(super) fn new(boxes: &Boxes<S>, across: &Across<S>, [of_a, of_b]: [Face<S::Lane>; 2]) -> Self {
        let constant = inlined(
            #[inline(always)]
            |x: S::Lane| across.n[0].constant(x),
        );
        let (mut c, mut u, mut v, mut normal) = (across.n, across.n, across.n, across.n);
        for k in 0..3 {
            c[k] = boxes.half_a[k].times(of_a.out[k]);
            u[k] = boxes.half_a[k].times(of_a.u[k]);
            v[k] = boxes.half_a[k].times(of_a.v[k]);
            normal[k] = constant(of_a.out[k]);
        }
        let a = across.parallelogram(c, u, v, normal);
        let part = inlined(
            #[inline(always)]
            |one_hot: Vec3<S::Lane>| {
                let sizes = [one_hot[0].abs(), one_hot[1].abs(), one_hot[2].abs()];
                (dot_constant(boxes.half_b, sizes), combined(one_hot, &boxes.b))
            },
        );
        let ((far, normal), (half_u, u), (half_v, v)) = (part(of_b.out), part(of_b.u), part(of_b.v));
        let b = across.parallelogram(axpy(far, normal, boxes.t), scale(half_u, u), scale(half_v, v), normal);

        let slope = sub2(b.slope, a.slope);
        let apex = [slope[0].times(S::Lane::splat(1.0 / TILT)), slope[1].times(S::Lane::splat(1.0 / TILT))];
        let turning_a = a.turning(apex, constant(S::Lane::zero()));
        let turning_b = b.turning(apex, cross2(a.u, b.u).angle(dot2(a.u, b.u)));
        let (a_by_b, b_by_a) = (a.seen_by(&b), b.seen_by(&a));
        let nothing =
            Edge { is_there: Mask::splat(false), start: a.c, weight: a.height, phi: a.height, height: a.height };
        let mut edges = [nothing; POINTS];
        for k in 0..4 {
            edges[k] = cut(k, &a, &a_by_b, 1.0 + same::<S::Lane>());
            edges[4 + k] = cut(k, &b, &b_by_a, 1.0 - same::<S::Lane>());
        }
        turn(&mut edges, [&turning_a, &turning_b]);
        let mut sum = S::Lane::zero();
        for edge in &edges {
            sum += edge.weight.value();
        }
        let height = a.height - dot2(a.slope, a.c);
        let gap = b.height - dot2(b.slope, b.c) - height - (boxes.radius_a + boxes.radius_b);
        for edge in &mut edges {
            edge.height = height.plus_products(a.slope, edge.start);
            edge.phi = gap.plus_products(slope, edge.start);
        }
        let start = inlined(
            #[inline(always)]
            |Turning { q, .. }: &Turning<S>| (q[2] - q[0]).times(S::Lane::splat(1.0 / TAU)),
        );
        let is_none = (sum - S::Lane::one()).abs().lt(S::Lane::splat(OFF)).not();
        Self { edges, is_none, starts: [start(&turning_a), start(&turning_b)] }
    }
}

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
pub(super) struct Across<S> {
    pub(super) n: V3<S>,
    pub(super) axes: [V3<S>; 2],
}

impl<S: Scalar> Across<S> {
    #[inline(always)]
    pub(super) fn new(n: V3<S>) -> Self {
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

/// An edge as it is cut by the other face, or what is known of it there.
#[derive(Clone, Copy)]
pub(super) struct Edge<S: Scalar> {
    pub(super) is_there: <S::Lane as Real>::Mask,
    pub(super) start: V2<S>,
    pub(super) weight: S,
    pub(super) phi: S,
    pub(super) height: S,
}

/// For each edge of a face: its direction, the angle θ of that, and q = ∫ M dθ along its outward normal, less θ.
struct Turning<S: Scalar> {
    ahead: [V2<S::Lane>; 4],
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
        let [ux, uy] = [self.u[0].value(), self.u[1].value()];
        let [vx, vy] = [self.v[0].value(), self.v[1].value()];
        Turning { ahead: [[-ux, -uy], [-vx, -vy], [ux, uy], [vx, vy]], angle: all, q }
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
    let (mut enters, mut side) = ([zero; 2], [one; 2]);
    for d in 0..2 {
        let (place, speed) = (p[d].value(), e[d].value());
        side[d] = sign(speed);
        let speed = S::Lane::select(speed.abs().lt(S::Lane::tiny()), S::Lane::tiny(), speed);
        let reach = side[d].scale(grown);
        let (enter, leave) = ((-reach - place) / speed, (reach - place) / speed);
        let later = enter.gt(from);
        from = S::Lane::select(later, enter, from);
        to = to.min(leave);
        enters[d] = indicator(later);
    }
    enters[0] = enters[0] * (one - enters[1]);
    let is_there = to.gt(from);

    let mut start = constant(zero);
    for d in 0..2 {
        let is_entry = enters[d].gt(S::Lane::splat(0.5)).and(from.gt(one).not());
        let speed = S::choose(is_entry, e[d], constant(one));
        start = S::choose(is_entry, (constant(-side[d]) - p[d]) / speed, start);
    }
    let (is_low, is_high) = (start.value().lt(zero), start.value().gt(one));
    start = S::choose(is_low, constant(zero), S::choose(is_high, constant(one), start));

    let (at, way) = (corner(face.c, face.u, face.v), along(face.u, face.v));
    Edge {
        is_there,
        start: [start.fused(way[0], at[0]), start.fused(way[1], at[1])],
        weight: constant(zero),
        phi: constant(zero),
        height: constant(zero),
    }
}

/// The weights of the points where edges start.
#[inline(always)]
fn turn<S: Scalar>(edges: &mut [Edge<S>; POINTS], turning: [&Turning<S>; 2]) {
    let (zero, one, circle) = (S::Lane::zero(), S::Lane::one(), S::Lane::splat(TAU));
    let per_circle = S::Lane::splat(1.0 / TAU);
    // Does an edge of B start before one of A that has the same direction?
    let is_before = inlined(
        #[inline(always)]
        |k: usize, other: usize, edges: &[Edge<S>; POINTS]| {
            let [x, y] = turning[0].ahead[k];
            let [from, to] = [edges[k].start, edges[other].start];
            x.mul_add(to[0].value() - from[0].value(), y * (to[1].value() - from[1].value())).lt(zero)
        },
    );
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
            // Of two edges in one direction the second does not come before the first.
            let now = if k / 4 == other / 4 {
                now
            } else {
                let is_second = is_before(k.min(other), k.max(other), edges);
                let is_second = if k < other { is_second.not() } else { is_second };
                let after = now.lt(S::Lane::splat(STRAIGHT)).and(is_second);
                S::Lane::select(after, circle, now)
            };
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
