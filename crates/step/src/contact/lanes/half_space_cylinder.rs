//! Half-space A against cylinder B: ten contacts. Each rim has a deepest point, on which a tilted cylinder rolls, and
//! four fixed points, on which an upright one stands. With θ the angle between the cylinder's axis a and the normal N,
//!
//! ```text
//! deepest points   ± h a − r m/‖m‖,   m = N − (N·a) a,   weight ½ sin² θ, and ½ sin² 2θ more on the lower rim
//! fixed points     weight ¼ cos² θ.
//! ```
//!
//! As the cylinder comes to stand upright, the deepest point runs round the rim ever faster, and in the end it is not
//! defined. But there its weight is zero.

use std::sync::LazyLock;

use super::formula::{Couple, Formula, Places, Spot};
use super::scalar::{Scalar, V3, axpy, scale, times};
use super::sides::Contact;
use fingertip_lanes::lane::{Mask, Real, inlined};

/// The number of contacts: two deepest points, and four fixed points of each rim.
pub(super) const POINTS: usize = 10;
/// The most numbers that the tape of this formula has.
pub(super) const NUMBERS: usize = 192;

/// Cylinders with a smaller squared sine of their tilt count as upright: the deepest point has no weight in any case.
const UPRIGHT: f64 = 1e-6;
/// The directions of the fixed points of a rim, along the cylinder's x and y axes.
const RIM: [[f64; 2]; 4] = [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]];

/// The formula for a half-space and a cylinder.
pub(super) struct HalfSpaceCylinder;

impl Formula<POINTS, NUMBERS> for HalfSpaceCylinder {
    type Features<R: Real> = ();
    const ARE_ALIKE: bool = false;

    #[inline(always)]
    fn features<R: Real>(_: &Couple<R>) {}

    #[inline(always)]
    fn contacts<S: Scalar>((): &(), pair: &Couple<S>) -> [Spot<S>; POINTS] {
        let (zero, one) = (S::Lane::zero(), S::Lane::one());
        let normal = pair.vector([zero, zero, one]);
        let [u, v, axis] = pair.b;
        let [radius, half_length, ..] = pair.size_b;
        let (level, up) = (S::inner2([axis[0], axis[1]], [axis[0], axis[1]]), axis[2]);

        let is_tilted = level.value().gt(S::Lane::splat(UPRIGHT));
        let sine = S::choose(is_tilted, level, pair.constant(1.0)).root();
        let down = [axis[0] * up, axis[1] * up, -level];
        let deepest = scale(radius / sine, down);
        let reach = scale(half_length, axis);
        let (around, square) = ([scale(radius, u), scale(radius, v)], up * up);
        let weight = inlined(
            #[inline(always)]
            |part: f64, of: S| of.times(S::Lane::splat(part)),
        );
        let (fixed, rolling, lowest) = (weight(0.25, square), weight(0.5, level), weight(2.0, level * square));
        let both = rolling + lowest;
        let is_first_lower = up.value().gt(S::Lane::zero());

        let width = radius.times(S::Lane::splat(0.5));
        let place = inlined(
            #[inline(always)]
            |arm: V3<S>, sign: f64, weight: S| {
                let cap = axpy(reach[0].constant(S::Lane::splat(sign)), reach, pair.t);
                let point = [cap[0] + arm[0], cap[1] + arm[1], cap[2] + arm[2]];
                let below = [point[0], point[1], pair.constant(0.0)];
                Spot::new(Contact { normal, point_a: below, point_b: point, phi: point[2] }, weight, width)
            },
        );
        let rims = [S::choose(is_first_lower, both, rolling), S::choose(is_first_lower, rolling, both)];
        let mut spots = [place(deepest, -1.0, rims[0]); POINTS];
        for (cap, sign) in [-1.0, 1.0].into_iter().enumerate() {
            spots[cap] = place(deepest, sign, rims[cap]);
            for k in 0..RIM.len() {
                let [x, y] = RIM[k];
                let arm =
                    if x == 0.0 { times(S::Lane::splat(y), around[1]) } else { times(S::Lane::splat(x), around[0]) };
                spots[2 + RIM.len() * cap + k] = place(arm, sign, fixed);
            }
        }
        spots
    }

    #[inline(always)]
    fn are_sizes<R: Real>(pair: &Couple<R>) -> R::Mask {
        pair.size_b[0].gt(R::zero()).and(pair.size_b[1].gt(R::zero()))
    }

    fn places() -> &'static Places {
        static PLACES: LazyLock<Places> = LazyLock::new(Places::of::<HalfSpaceCylinder, POINTS, NUMBERS>);
        &PLACES
    }
}
