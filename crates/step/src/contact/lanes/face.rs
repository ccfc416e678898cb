//! The side of a box that faces another body: the one whose outward normal is closest to the contact normal. Points and
//! lines of the other body are projected onto it along the contact normal.

use super::block::smallest;
use super::scalar::{Scalar, V2, V3, axpy, combined, dot, dot_constant, scale, sub};
use super::total::sign;
use super::weight::{inner_step, within};
use fingertip_lanes::lane::{Mask, Real, inlined};
use fingertip_lanes::vector::Vec3;

/// How much nearer than the bodies a contact may be, in widths of the weights' rims: see [`least_gap`].
const NEARER: f64 = 1e-3;
/// Edges with a smaller squared sine between them count as parallel: their crossing has no weight in any case.
const PARALLEL: f64 = 1e-6;

/// The least gap of a contact that is measured beside a side, to where its plane goes on: what is between the bodies,
/// which are `apart` along n. Where sides are flat on each other the two are the same up to rounding, and the gap
/// beside the side knows how it changes with a tilt. So this is less by a margin.
#[inline(always)]
pub(super) fn least_gap<S: Scalar>(apart: S, width: S) -> S {
    width.fused(apart.constant(S::Lane::splat(-NEARER)), apart)
}

/// The choice of the side that a box shows to the other body, and of its axes.
pub(super) struct Shown<R> {
    /// The outward normal of the shown side in the box's frame: one axis, with its sign.
    outward: Vec3<R>,
    /// The two axes along the shown side, each one-hot. Across the first one is the second side: the one that faces the
    /// normal second most.
    axes: [Vec3<R>; 2],
    /// The sign of the second side along its axis.
    second: R,
}

impl<R: Real> Shown<R> {
    /// Chooses the side of a box, given the cosines `along` between the box's axes and the contact normal, which points
    /// to the other body.
    #[inline(always)]
    pub(super) fn new(along: Vec3<R>) -> Self {
        let one = R::one();
        let looks = [along[0].abs(), along[1].abs(), along[2].abs()];
        let most = smallest([-looks[0], -looks[1], -looks[2]]);
        // Beyond the smallest value that the other axes can have, so that this axis is not chosen twice.
        let rest = inlined(
            #[inline(always)]
            |k: usize| most[k].mul_add(looks[k] + one, -looks[k]),
        );
        let second = smallest([rest(0), rest(1), rest(2)]);
        let (mut outward, mut third, mut sense) = (most, most, R::zero());
        for k in 0..3 {
            outward[k] = most[k] * sign(along[k]);
            third[k] = one - most[k] - second[k];
            sense += second[k] * sign(along[k]);
        }
        Self { outward, axes: [second, third], second: sense }
    }
}

/// The shown side of a box, with projections onto it along the contact normal n.
pub(super) struct Face<S> {
    /// The middle of the side.
    pub(super) center: V3<S>,
    /// The unit vectors along the side.
    pub(super) axes: [V3<S>; 2],
    /// The half sizes of the side along its axes.
    pub(super) half: V2<S>,
    /// The outward unit normal of the side.
    outward: V3<S>,
    /// The distance between this side and the opposite one.
    depth: S,
    /// Projecting a direction along n: its coordinates along the side are its dot products with these.
    across: [V3<S>; 2],
    /// Projecting a direction along n: its dot product with this is the height above the side's plane, measured along
    /// n.
    height: V3<S>,
    /// The cosine of the angle between the side's outward normal and n.
    cosine: S,
    /// The cosine between the second side's normal and n, as a fraction of this side's: from 0 to 1.
    second: S,
    /// How far the box reaches along n from the frame's origin.
    pub(super) reach: S,
}

/// The projection of a point or a direction onto a side along the contact normal: coordinates from the side's middle,
/// and height along the normal.
#[derive(Clone, Copy)]
pub(super) struct Over<S> {
    pub(super) at: V2<S>,
    pub(super) gap: S,
}

impl<S: Scalar> Over<S> {
    /// self + s · way, for a constant s.
    #[inline(always)]
    pub(super) fn plus(&self, s: f64, way: &Self) -> Self {
        let weights = [S::Lane::splat(1.0), S::Lane::splat(s)];
        let sum = inlined(
            #[inline(always)]
            |a: S, b: S| S::weighted2([a, b], weights),
        );
        Self { at: [sum(self.at[0], way.at[0]), sum(self.at[1], way.at[1])], gap: sum(self.gap, way.gap) }
    }

    /// s · self, for a variable s.
    #[inline(always)]
    pub(super) fn times(&self, s: S) -> Self {
        Self { at: [s * self.at[0], s * self.at[1]], gap: s * self.gap }
    }
}

impl<S: Scalar> Face<S> {
    /// The shown side of a box at `origin`, where `to` is the contact normal that points to the other body.
    #[inline(always)]
    pub(super) fn new(origin: V3<S>, axes: &[V3<S>; 3], half: V3<S>, shown: &Shown<S::Lane>, to: V3<S>) -> Self {
        let size = inlined(
            #[inline(always)]
            |axis: Vec3<S::Lane>| dot_constant(half, axis),
        );
        let outward = combined(shown.outward, axes);
        let [x, y, z] = shown.outward;
        let thick = size([x * x, y * y, z * z]);
        let along = [combined(shown.axes[0], axes), combined(shown.axes[1], axes)];
        let cosine = dot(outward, to);
        let height = scale(cosine.constant(S::Lane::one()) / cosine, outward);
        let looks = [dot(along[0], to), dot(along[1], to)];
        let seen = inlined(
            #[inline(always)]
            |k: usize| axpy(-looks[k], height, along[k]),
        );
        let (center, half) = (axpy(thick, outward, origin), [size(shown.axes[0]), size(shown.axes[1])]);
        let aside = inlined(
            #[inline(always)]
            |k: usize| looks[k].times(sign(looks[k].value())),
        );
        Self {
            center,
            axes: along,
            half,
            outward,
            depth: thick + thick,
            reach: dot(center, to) + S::inner2(half, [aside(0), aside(1)]),
            across: [seen(0), seen(1)],
            height,
            cosine,
            second: looks[0].times(shown.second) / cosine,
        }
    }

    /// Projects a direction onto the side along n.
    #[inline(always)]
    pub(super) fn direction(&self, way: V3<S>) -> Over<S> {
        Over { at: [dot(way, self.across[0]), dot(way, self.across[1])], gap: dot(way, self.height) }
    }

    /// Projects a point onto the side along n.
    #[inline(always)]
    pub(super) fn point(&self, p: V3<S>) -> Over<S> {
        self.direction(sub(p, self.center))
    }

    /// The point of the side at these coordinates from its middle.
    #[inline(always)]
    pub(super) fn place(&self, [x, y]: V2<S>) -> V3<S> {
        let ([u, v], c) = (&self.axes, &self.center);
        let one = x.constant(S::Lane::one());
        let part = inlined(
            #[inline(always)]
            |i: usize| S::inner([c[i], x, y], [one, u[i], v[i]]),
        );
        [part(0), part(1), part(2)]
    }

    /// The middle of the box's far edge, and a factor for the weights of its ends. The far edge lies on the second
    /// side, opposite to the edge that this side and the second one share. The factor is 0 if the box lies flat on this
    /// side, when any other side might be second, and 1 if both sides face the normal alike.
    #[inline(always)]
    pub(super) fn far(&self, shown: &Shown<S::Lane>) -> (V3<S>, S) {
        let edge = axpy(self.half[0].times(shown.second), self.axes[0], self.center);
        (axpy(-self.depth, self.outward, edge), inner_step(self.second))
    }

    /// The point where a line enters (`enters`) or leaves the side's rectangle, as projected along n. The line runs
    /// from its middle `start` along `way`, up to `length` both ways. Returns the place along the line and the weight
    /// of the contact there. The weight grows from 0 to its full value over a rim at the ends of the border and of the
    /// line; `per_width` is 1 over the width of that rim.
    #[inline(always)]
    pub(super) fn crossing(&self, start: &Over<S>, way: &Over<S>, length: S, enters: bool, per_width: S) -> (S, S) {
        let (zero, one) = (S::Lane::zero(), S::Lane::one());
        let (p, e) = (start.at, way.at);
        let sense = if enters { -1.0 } else { 1.0 };
        let mut when = [zero; 2];
        let mut sides = [zero; 2];
        for d in 0..2 {
            let speed = e[d].value();
            sides[d] = sign(speed).scale(sense);
            let is_slow = speed.abs().lt(S::Lane::tiny());
            let speed = S::Lane::select(is_slow, sign(speed) * S::Lane::tiny(), speed);
            when[d] = (sides[d] * self.half[d].value() - p[d].value()) / speed;
        }
        let is_first = if enters { when[1].gt(when[0]).not() } else { when[0].gt(when[1]).not() };
        let pick = inlined(
            #[inline(always)]
            |v: V2<S>| [S::choose(is_first, v[0], v[1]), S::choose(is_first, v[1], v[0])],
        );
        let ([near, other], [speed, drift], [border, limit]) = (pick(p), pick(e), pick(self.half));
        let side = S::Lane::select(is_first, sides[0], sides[1]);
        let at = S::Lane::select(is_first, when[0], when[1]);
        let sine = speed * self.cosine;
        let is_there = at.abs().lt(length.value()).and((sine.value() * sine.value()).gt(S::Lane::splat(PARALLEL)));
        let constant = inlined(
            #[inline(always)]
            |x: S::Lane| near.constant(x),
        );
        let to_border = S::choose(is_there, S::weighted2([border, near], [side, -one]), constant(zero));
        let at = to_border / S::choose(is_there, speed, constant(one));
        let along = at.fused(drift, other);
        let ends = inner_step(within(at, length) * per_width) * inner_step(within(along, limit) * per_width);
        (at, S::choose(is_there, ends * (sine * sine), constant(zero)))
    }
}
