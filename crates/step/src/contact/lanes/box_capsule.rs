//! Box A (rounded or not) against capsule B: up to eight contacts. These are the ends of the capsule's axis against the
//! side that the box shows, the corners of that side against the axis, and the points where the axis crosses the side's
//! border: see `docs/contact_points.md`. The normal is that of the signed distance, or of the shortest way out if the
//! axis runs through the box's core.
//!
//! Projected along the normal, an upright capsule is a point rather than a line. So contacts that need the line fade as
//! the capsule comes to stand: the corners have the factor sin² of the angle between axis and normal.

use std::sync::LazyLock;

use super::boxes::{core, is_box, width};
use super::capsule_capsule::is_capsule;
use super::face::{Face, Shown, least_gap};
use super::formula::{Couple, Formula, Places, Spot};
use super::scalar::{Scalar, V3, axpy, choose, cross, dot, scale, sub, times};
use super::segment::{self, Closest, Segment};
use super::total::{indicator, sign};
use super::weight::{clamped, greater, hump, inside, lesser, step};
use super::{block, penetration};
use fingertip_lanes::lane::{Mask, Real, inlined};
use fingertip_lanes::vector::{self, Vec3};

/// The number of contacts: two ends, four corners, two crossings.
pub(super) const POINTS: usize = 8;
/// The most numbers that the tape of this formula has.
pub(super) const NUMBERS: usize = 468;

/// Axes with a smaller squared sine between them and the normal count as upright: contacts that need the line have no
/// weight in any case.
const UPRIGHT: f64 = 1e-6;
/// The signs of the four corners of a side, along its two axes.
const CORNERS: [[f64; 2]; 4] = [[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]];

/// The formula for a box and a capsule.
pub(super) struct BoxCapsule;

/// The features that are in contact, and the side that the box shows.
pub(super) struct Features<R: Real> {
    closest: Closest<R>,
    /// Does the capsule's axis run through the box's core?
    is_deep: R::Mask,
    /// Outside the core, the signs of the box's sides that the closest point is on, 0 for axes along which it is
    /// between the sides. Inside, the way out if it is through a side.
    sides: Vec3<R>,
    /// Is the contact with a single side of the box?
    is_face: R::Mask,
    /// Inside the core, if the way out is across an edge: that edge's axis, one-hot.
    edge: Vec3<R>,
    /// The sign of the way out along the cross product of the capsule's axis and the edge.
    sense: R,
    shown: Shown<R>,
}

impl<R: Real> Features<R> {
    /// Finds the features of a box and a capsule that are in contact.
    #[inline(always)]
    fn new(pair: &Couple<R>) -> Self {
        let e = core(pair.size_a);
        let segment = Segment { c: pair.t, u: pair.b[2], h: pair.size_b[1] };
        let closest = segment::closest(&segment, e);
        let p = vector::axpy(closest.t, segment.u, segment.c);
        let is_deep = block::nearest(p, e).inside();
        let mut sides = p;
        for i in 0..3 {
            sides[i] = sign(p[i]) * indicator(p[i].abs().gt(e[i]));
        }
        let count = vector::dot(sides, sides);
        let mut state = ([sides, [R::zero(); 3]], [count, R::one()]);
        R::when(
            is_deep,
            &mut state,
            #[inline(always)]
            |([sides, edge], [count, sense])| {
                let way = penetration::of_segment(&segment, e);
                *sides = choose(is_deep, way.side, *sides);
                *edge = choose(is_deep, way.edge, *edge);
                *sense = R::select(is_deep, way.sense, *sense);
                *count = R::select(is_deep, vector::dot(way.side, way.side), *count);
            },
        );
        let ([sides, edge], [count, sense]) = state;
        let is_face = count.gt(R::splat(0.5)).and(count.lt(R::splat(1.5)));
        let none = Shown::new([R::zero(); 3]);
        let mut features = Self { closest, is_deep, sides, is_face, edge, sense, shown: none };
        features.shown = Shown::new(features.normal(pair));
        features
    }

    /// Unit vector from the box to the capsule, differentiable for given features.
    #[inline(always)]
    fn normal<S: Scalar<Lane = R>>(&self, pair: &Couple<S>) -> V3<S> {
        let (e, c, u, h) = (core(pair.size_a), pair.t, pair.b[2], pair.size_b[1]);
        let (one, zero) = (pair.constant(1.0), R::zero());
        let Closest { t, end, takes_part, side, is_flat } = &self.closest;
        let (mut active, mut to_face, mut apart) = (u, u, u);
        for i in 0..3 {
            active[i] = u[i].times(takes_part[i]);
            to_face[i] = S::weighted2([e[i], c[i]], [side[i], -R::one()]);
        }
        let free = dot(active, to_face) / S::choose(*is_flat, one, dot(active, u));
        let is_end = end.abs().gt(zero);
        let t = S::choose(is_end, h.times(*end), S::choose(*is_flat, one.constant(*t), free));
        let p = axpy(t, u, c);
        for i in 0..3 {
            let on = self.sides[i];
            apart[i] = S::weighted2([p[i], e[i]], [on * on, -on]);
        }
        let way = times(self.sense, cross(u, pair.vector(self.edge)));
        let way = choose(self.is_deep, way, apart);
        let length = S::choose(self.is_face, one, dot(way, way)).root();
        choose(self.is_face, pair.vector(self.sides), scale(one / length, way))
    }
}

impl Formula<POINTS, NUMBERS> for BoxCapsule {
    type Features<R: Real> = Features<R>;
    const ARE_ALIKE: bool = false;

    #[inline(always)]
    fn features<R: Real>(pair: &Couple<R>) -> Features<R> {
        Features::new(pair)
    }

    #[inline(always)]
    fn contacts<S: Scalar>(features: &Features<S::Lane>, pair: &Couple<S>) -> [Spot<S>; POINTS] {
        let (zero, one) = (S::Lane::zero(), S::Lane::one());
        let (half, c, u) = (core(pair.size_a), pair.t, pair.b[2]);
        let ([.., radius_a], [radius_b, h, ..]) = (pair.size_a, pair.size_b);
        let n = features.normal(pair);
        let own = [[one, zero, zero], [zero, one, zero], [zero, zero, one]];
        let own = [pair.vector(own[0]), pair.vector(own[1]), pair.vector(own[2])];
        let face = Face::new(pair.vector([zero; 3]), &own, half, &features.shown, n);
        let radii = radius_a + radius_b;
        let width = lesser(width(half), radius_b.times(S::Lane::splat(0.5)));
        let per_width = pair.constant(1.0) / width;
        let (middle, way) = (face.point(c), face.direction(u));
        let up = dot(u, n);
        let apart = dot(c, n) - face.reach - h * up.times(sign(up.value()));
        let least = least_gap(apart, width);
        let level = axpy(-up, n, u);
        let square = dot(level, level);
        let per_square =
            pair.constant(1.0) / S::choose(square.value().gt(S::Lane::splat(UPRIGHT)), square, pair.constant(1.0));
        // The contact of a point on the capsule's axis.
        let on_axis = inlined(
            #[inline(always)]
            |place: S, gap: S, weight: S| {
                Spot::on_b(n, axpy(-radius_b, n, axpy(place, u, c)), gap - radii, weight, width)
            },
        );

        let mut spots = [on_axis(h, radii, radii); POINTS];
        for (k, sign) in [-1.0, 1.0].into_iter().enumerate() {
            let place = h.times(S::Lane::splat(sign));
            let end = axpy(place, u, c);
            let at = [place.fused(way.at[0], middle.at[0]), place.fused(way.at[1], middle.at[1])];
            let weight = step(inside(at, face.half) * per_width).times(S::Lane::splat(0.5));
            // For an end beside the side, the gap is between the border and the axis over there.
            let on_side = face.place([clamped(at[0], face.half[0]), clamped(at[1], face.half[1])]);
            let to_side = sub(on_side, end);
            let gap = greater(up.fused(dot(level, to_side), -dot(n, to_side)), least);
            spots[k] = Spot::on_a(n, axpy(radius_a, n, on_side), gap - radii, weight, width);
        }
        for k in 0..4 {
            let [x, y] = [S::Lane::splat(CORNERS[k][0]), S::Lane::splat(CORNERS[k][1])];
            let corner = face.place([face.half[0].times(x), face.half[1].times(y)]);
            let from = sub(corner, c);
            let place = clamped(dot(level, from) * per_square, h);
            let beside = axpy(-place, u, from);
            let above = dot(n, beside);
            let distance = dot(beside, beside) - above * above;
            let weight = square * hump(distance * (per_width * per_width));
            let gap = greater(place.fused(way.gap, middle.gap), least);
            spots[2 + k] = on_axis(place, gap, weight.times(S::Lane::splat(0.125)));
        }
        for (k, enters) in [true, false].into_iter().enumerate() {
            let (place, weight) = face.crossing(&middle, &way, h, enters, per_width);
            let gap = place.fused(way.gap, middle.gap);
            spots[6 + k] = on_axis(place, gap, weight.times(S::Lane::splat(0.5)));
        }
        spots
    }

    #[inline(always)]
    fn are_sizes<R: Real>(pair: &Couple<R>) -> R::Mask {
        is_box(pair.size_a).and(is_capsule(pair.size_b))
    }

    fn places() -> &'static Places {
        static PLACES: LazyLock<Places> = LazyLock::new(Places::of::<BoxCapsule, POINTS, NUMBERS>);
        &PLACES
    }
}
