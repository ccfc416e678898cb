//! The side that a box shows to another body: the one that looks most along the normal, and what is over it as seen along the normal.

use super::block::smallest;
use super::scalar::{Scalar, V2, V3, axpy, combined, dot, dot_constant, scale, sub};
use super::total::sign;
use super::weight::{inner_step, within};
use fingertip_lanes::lane::{Mask, Real, inlined};
use fingertip_lanes::vector::Vec3;

/// Crossings of edges with a smaller squared sine between them have no weight in any case.
const PARALLEL: f64 = 1e-6;

/// Which side is shown.
pub(super) struct Shown<R> {
    /// One-hot and signed: the axis across the side.
    outward: Vec3<R>,
    /// One-hot: the axes along the side. Across the first one is the side that looks second most along the normal, ...
    axes: [Vec3<R>; 2],
    /// ... and this is its sign.
    second: R,
}

impl<R: Real> Shown<R> {
    /// Of a box whose axes look along the normal, to the other body, by `along`.
    #[inline(always)]
    pub(super) fn new(along: Vec3<R>) -> Self {
        let one = R::one();
        let looks = [along[0].abs(), along[1].abs(), along[2].abs()];
        let most = smallest([-looks[0], -looks[1], -looks[2]]);
        // Beyond the smallest that there is.
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

/// The side, seen along the normal n.
pub(super) struct Face<S> {
    /// Its middle.
    pub(super) center: V3<S>,
    pub(super) axes: [V3<S>; 2],
    pub(super) half: V2<S>,
    outward: V3<S>,
    /// From the opposite side to this one.
    depth: S,
    /// Coordinates of a place on the side: those of the point that is over it, from the middle, times these.
    across: [V3<S>; 2],
    /// The same for the point's gap to the plane, along n.
    height: V3<S>,
    /// The cosine of the angle between the side's normal and n.
    cosine: S,
    /// How much the second side looks along n, in parts of this one.
    second: S,
}

/// What is over a side: a point or a direction.
#[derive(Clone, Copy)]
pub(super) struct Over<S> {
    pub(super) at: V2<S>,
    pub(super) gap: S,
}

impl<S: Scalar> Over<S> {
    /// self + s · way of a constant s.
    #[inline(always)]
    pub(super) fn plus(&self, s: f64, way: &Self) -> Self {
        let weights = [S::Lane::splat(1.0), S::Lane::splat(s)];
        let sum = inlined(
            #[inline(always)]
            |a: S, b: S| S::weighted2([a, b], weights),
        );
        Self { at: [sum(self.at[0], way.at[0]), sum(self.at[1], way.at[1])], gap: sum(self.gap, way.gap) }
    }

    /// s · self.
    #[inline(always)]
    pub(super) fn times(&self, s: S) -> Self {
        Self { at: [s * self.at[0], s * self.at[1]], gap: s * self.gap }
    }
}

impl<S: Scalar> Face<S> {
    /// Of a box at `origin`, with the normal to the other body.
    #[inline(always)]
    pub(super) fn new(origin: V3<S>, axes: &[V3<S>; 3], half: V3<S>, shown: &Shown<S::Lane>, to: V3<S>) -> Self {
        let size = inlined(
            #[inline(always)]
            |axis: Vec3<S::Lane>| dot_constant(half, axis),
        );
        let outward = combined(shown.outward, axes);
        let [x, y, z] = shown.outward;
        let reach = size([x * x, y * y, z * z]);
        let along = [combined(shown.axes[0], axes), combined(shown.axes[1], axes)];
        let cosine = dot(outward, to);
        let height = scale(cosine.constant(S::Lane::one()) / cosine, outward);
        let looks = [dot(along[0], to), dot(along[1], to)];
        let seen = inlined(
            #[inline(always)]
            |k: usize| axpy(-looks[k], height, along[k]),
        );
        Self {
            center: axpy(reach, outward, origin),
            axes: along,
            half: [size(shown.axes[0]), size(shown.axes[1])],
            outward,
            depth: reach + reach,
            across: [seen(0), seen(1)],
            height,
            cosine,
            second: looks[0].times(shown.second) / cosine,
        }
    }

    /// A direction, seen along n.
    #[inline(always)]
    pub(super) fn direction(&self, way: V3<S>) -> Over<S> {
        Over { at: [dot(way, self.across[0]), dot(way, self.across[1])], gap: dot(way, self.height) }
    }

    /// A point, seen along n.
    #[inline(always)]
    pub(super) fn point(&self, p: V3<S>) -> Over<S> {
        self.direction(sub(p, self.center))
    }

    /// The point at a place on the side.
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

    /// The middle of the edge opposite to the one between this side and the second one, on that one; and a factor of the weights of
    /// its ends: 0 where the box lies flat on this side, and any other might be second; 1 where both sides look along the
    /// normal alike.
    #[inline(always)]
    pub(super) fn far(&self, shown: &Shown<S::Lane>) -> (V3<S>, S) {
        let edge = axpy(self.half[0].times(shown.second), self.axes[0], self.center);
        (axpy(-self.depth, self.outward, edge), inner_step(self.second))
    }

    /// Where a line crosses the side's border, as seen along n, which enters there if `enters`, or else leaves: the place on the line from
    /// `start`, which is its middle, along `way`, and the weight. `length`: half of the line; `width`: that of the rim of the border's and
    /// the line's ends, over which the weight grows.
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
