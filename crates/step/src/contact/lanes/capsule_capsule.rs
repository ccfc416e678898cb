//! Capsules A and B: three contacts with one normal. The closest points of the axes carry crossing capsules; both ends
//! of the common stretch carry parallel ones. With ψ the angle between the axes, an end has half the weight cos² ψ if
//! the axes are above each other there, as projected along the normal. This falls to zero if they are aside by half a
//! radius. The closest points have the rest of the total weight 1.
//!
//! The common stretch is along the line halfway between the axes, so that it does not matter which capsule is A. If
//! there is none, both contacts are at the ends that are nearest.

use std::sync::LazyLock;

use super::formula::{Couple, Formula, Places, Spot};
use super::scalar::{Scalar, V3, axpy, choose, dot, scale, sub};
use super::total::sign;
use super::weight::{clamped, greater, hump, lesser};
use fingertip_lanes::lane::{Mask, Real, inlined};

/// The number of contacts: the closest points, and both ends of the common stretch.
pub(super) const POINTS: usize = 3;
/// The most numbers that the tape of this formula has.
pub(super) const NUMBERS: usize = 256;

/// Axes count as parallel up to this squared sine of their angle. Below it, rounding leaves no digit of the place where
/// their lines come closest.
const PARALLEL: f64 = 1e-16;

/// The formula for two capsules.
pub(super) struct CapsuleCapsule;

/// The unit vector of v, or `fallback` if v is too short.
#[inline(always)]
fn unit<S: Scalar>(v: V3<S>, fallback: V3<S>) -> V3<S> {
    let (square, tiny) = (dot(v, v), <S::Lane as Real>::precision().no_length());
    let is_there = square.value().gt(S::Lane::splat(tiny * tiny));
    let one = square.constant(S::Lane::one());
    choose(is_there, scale(one / S::choose(is_there, square, one).root(), v), fallback)
}

impl Formula<POINTS, NUMBERS> for CapsuleCapsule {
    type Features<R: Real> = ();
    const ARE_ALIKE: bool = true;

    #[inline(always)]
    fn features<R: Real>(_: &Couple<R>) {}

    #[inline(always)]
    fn contacts<S: Scalar>((): &(), pair: &Couple<S>) -> [Spot<S>; POINTS] {
        let (zero, one) = (pair.constant(0.0), pair.constant(1.0));
        let ([radius_a, h_a, ..], [radius_b, h_b, ..]) = (pair.size_a, pair.size_b);
        let (t, u) = (pair.t, pair.b[2]);
        let (cosine, along_a, along_b) = (u[2], t[2], dot(u, t));
        let across = [-u[1], u[0], zero];
        let square = S::inner2([u[0], u[1]], [u[0], u[1]]);
        let fallback = unit(across, [one, zero, zero]);
        let radii = radius_a + radius_b;
        let width = lesser(radius_a, radius_b).times(S::Lane::splat(0.5));
        // The points at these places on the axes: that on A, and the vector from it to that on B.
        let cores = inlined(
            #[inline(always)]
            |on_a: S, on_b: S| {
                let core_a = [zero, zero, on_a];
                (core_a, sub(axpy(on_b, u, t), core_a))
            },
        );

        let crosses = square.value().gt(S::Lane::splat(PARALLEL));
        let on_line = (along_a - cosine * along_b) / S::choose(crosses, square, one);
        let on_b = clamped(cosine.fused(clamped(on_line, h_a), -along_b), h_b);
        let (core, apart) = cores(clamped(cosine.fused(on_b, along_a), h_a), on_b);
        let normal = unit(apart, fallback);
        let spot = inlined(
            #[inline(always)]
            |core: V3<S>, gap: S, weight: S| {
                Spot::on_a(normal, axpy(radius_a, normal, core), gap - radii, weight, width)
            },
        );

        let sense = sign(cosine.value());
        let both = [u[0].times(sense), u[1].times(sense), u[2].times(sense) + one];
        let middle = scale(one / dot(both, both).root(), both);
        // Places along the middle line that are over the middles and ends of both axes.
        let (turn, place_b) = (middle[2], dot(middle, t));
        let (half_a, half_b) = (h_a * turn, h_b * turn);
        let (first, last) = (greater(-half_a, place_b - half_b), lesser(half_a, place_b + half_b));
        let (most, per_width) = ((cosine * cosine).times(S::Lane::splat(0.5)), one / width);
        let end = inlined(
            #[inline(always)]
            |place: S| {
                let on_b = clamped((place - place_b) / turn, h_b).times(sense);
                let (core, apart) = cores(clamped(place / turn, h_a), on_b);
                let gap = dot(normal, apart);
                let across = axpy(-gap, normal, apart);
                let aside = scale(per_width, across);
                // The middle between both axes, so that it does not matter which capsule is A.
                let core = axpy(one.times(S::Lane::splat(0.5)), across, core);
                (core, gap, most * hump(dot(aside, aside)))
            },
        );
        let (first, last) = (end(first), end(last));
        let rest = one - first.2 - last.2;
        [spot(core, dot(normal, apart), rest), spot(first.0, first.1, first.2), spot(last.0, last.1, last.2)]
    }

    #[inline(always)]
    fn are_sizes<R: Real>(pair: &Couple<R>) -> R::Mask {
        is_capsule(pair.size_a).and(is_capsule(pair.size_b))
    }

    fn places() -> &'static Places {
        static PLACES: LazyLock<Places> = LazyLock::new(Places::of::<CapsuleCapsule, POINTS, NUMBERS>);
        &PLACES
    }
}

/// Are these valid sizes of a capsule: radius and half length?
#[inline(always)]
pub(super) fn is_capsule<R: Real>([radius, half_length, ..]: [R; 4]) -> R::Mask {
    radius.gt(R::zero()).and(half_length.lt(R::zero()).not())
}
