//! Which face each box shows the other: the same rule as in `collision/faces.rs`.

use super::closest::{combined, largest, least};
use super::pair::{Boxes, SHARP};
use crate::contact::lanes::scalar::Scalar;
use crate::contact::lanes::total::{choose, sign};
use crate::math::lane::{Real, inlined};
use crate::math::vector::{self, Vec3};

/// A box's two faces that look most along the normal, and the edge between them.
struct Roof<R> {
    middle: Vec3<R>,
    /// The axes, each out of the box on the side of the other one.
    out: [Vec3<R>; 3],
    half: Vec3<R>,
    /// How much these look along the normal to the other box.
    cosines: Vec3<R>,
    /// One-hot.
    flatter: Vec3<R>,
    steeper: Vec3<R>,
}

/// One-hot: on which of A's and of B's axes that face is. The normal is given by A's and by B's axes.
#[inline(always)]
pub(super) fn shown<S: Scalar>(boxes: &Boxes<S>, along: [Vec3<S::Lane>; 2]) -> [Vec3<S::Lane>; 2] {
    let (zero, one) = (S::Lane::zero(), S::Lane::one());
    let numbers = inlined(
        #[inline(always)]
        |v: [S; 3]| [v[0].value(), v[1].value(), v[2].value()],
    );
    let own = [[one, zero, zero], [zero, one, zero], [zero, zero, one]];
    let [of_a, of_b] = along;
    let a = Roof::new([zero; 3], own, numbers(boxes.half_a), of_a);
    let b = Roof::new(numbers(boxes.t), boxes.b.map(numbers), numbers(boxes.half_b), [-of_b[0], -of_b[1], -of_b[2]]);
    let (slope_a, slope_b) = (a.cosine(a.steeper) * b.cosine(b.flatter), b.cosine(b.steeper) * a.cosine(a.flatter));
    let b_is_flatter = slope_b.lt(slope_a);
    [choose(b_is_flatter, a.side_under(&b), a.flatter), choose(b_is_flatter, b.flatter, b.side_under(&a))]
}

impl<R: Real> Roof<R> {
    #[inline(always)]
    fn new(middle: Vec3<R>, axes: [Vec3<R>; 3], half: Vec3<R>, along: Vec3<R>) -> Self {
        let (flatter, upright) = (largest(along), least(along));
        let (mut out, mut cosines, mut steeper) = (axes, along, flatter);
        for k in 0..3 {
            out[k] = vector::scale(sign(along[k]), axes[k]);
            cosines[k] = along[k].abs();
            steeper[k] = R::one() - flatter[k] - upright[k];
        }
        Self { middle, out, half, cosines, flatter, steeper }
    }

    #[inline(always)]
    fn cosine(&self, k: Vec3<R>) -> R {
        vector::dot(self.cosines, k)
    }

    /// The side that is shown to the flattest of all sides, which is the other box's flatter one.
    #[inline(always)]
    fn side_under(&self, other: &Self) -> Vec3<R> {
        let (i, j) = (self.flatter, self.steeper);
        let (cos_i, cos_j) = (self.cosine(i), self.cosine(j));
        // Across the edge, away from the steeper side, of any length.
        let mut way = i;
        for k in 0..3 {
            way[k] = i[k] * cos_j - j[k] * cos_i;
        }
        let aside = combined(way, &self.out);
        let up = vector::scale(vector::dot(other.half, other.flatter), combined(other.flatter, &other.out));
        let between = vector::add(vector::sub(other.middle, self.middle), up);
        let from_edge = vector::dot(aside, between) - vector::dot(self.half, way);
        let mut width = R::zero();
        for k in 0..3 {
            let half = other.half[k] * (R::one() - other.flatter[k]);
            width = vector::dot(other.out[k], aside).abs().mul_add(half, width);
        }
        let (over_i, over_j) = ((width + from_edge).max(R::zero()), (width - from_edge).max(R::zero()));
        let looks = cos_j * cos_j - R::splat(SHARP * SHARP);
        choose((over_i * (cos_i * cos_i)).lt(over_j * looks), j, i)
    }
}
