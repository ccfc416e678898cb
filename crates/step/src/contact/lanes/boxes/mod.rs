//! Boxes A and B (rounded or not): up to twenty contacts, see `docs/contact_points.md`. First come the corners of the
//! side that each box shows, then each box's far corners, then the points where A's edges cross the border of B's side,
//! on the way in and out.

mod closest;
mod pair;

use std::sync::LazyLock;

use super::face::{Face, Over, Shown, least_gap};
use super::formula::{Couple, Formula, Places, Spot};
use super::scalar::{Scalar, V3, axpy, sub, times};
use super::weight::{clamped, greater, inner_step, inside, lesser, step};
use fingertip_lanes::lane::{Mask, Real, inlined};
use fingertip_lanes::vector::dot;

use closest::Features;
use pair::Boxes;

/// The number of contacts: four corners of each side, two far corners of each box, two crossings of each of four edges.
pub(super) const POINTS: usize = 20;
/// The most numbers that the tape of this formula has.
pub(super) const NUMBERS: usize = 932;

/// The signs of both ends along an axis.
const SIGNS: [f64; 2] = [-1.0, 1.0];

/// The formula for two boxes.
pub(super) struct TwoBoxes;

/// The features that are in contact, and the side that each box shows.
pub(super) struct Sides<R: Real> {
    closest: Features<R>,
    shown: [Shown<R>; 2],
}

/// The width l of a weight's rim, as a part of the smallest half extent.
const WIDTH: f64 = 0.25;

/// The width of the weights' rims for a box of these half extents.
#[inline(always)]
pub(super) fn width<S: Scalar>([x, y, z]: V3<S>) -> S {
    lesser(x, lesser(y, z)).times(S::Lane::splat(WIDTH))
}

impl Formula<POINTS, NUMBERS> for TwoBoxes {
    type Features<R: Real> = Sides<R>;
    const ARE_ALIKE: bool = true;

    #[inline(always)]
    fn features<R: Real>(pair: &Couple<R>) -> Sides<R> {
        let boxes = Boxes::new(pair);
        let closest = Features::new(&boxes);
        let n = closest.normal(&boxes);
        let along_b = [-dot(boxes.b[0], n), -dot(boxes.b[1], n), -dot(boxes.b[2], n)];
        Sides { closest, shown: [Shown::new(n), Shown::new(along_b)] }
    }

    #[inline(always)]
    fn contacts<S: Scalar>(sides: &Sides<S::Lane>, pair: &Couple<S>) -> [Spot<S>; POINTS] {
        let boxes = Boxes::new(pair);
        let n = sides.closest.normal(&boxes);
        let [shown_a, shown_b] = &sides.shown;
        let (zero, one) = (S::Lane::zero(), S::Lane::one());
        let own = [[one, zero, zero], [zero, one, zero], [zero, zero, one]];
        let own = [pair.vector(own[0]), pair.vector(own[1]), pair.vector(own[2])];
        let face_a = Face::new(pair.vector([zero; 3]), &own, boxes.half_a, shown_a, n);
        let face_b = Face::new(boxes.t, &boxes.b, boxes.half_b, shown_b, times(-one, n));
        let radii = boxes.radius_a + boxes.radius_b;
        let width = lesser(width(boxes.half_a), width(boxes.half_b));
        let per_width = pair.constant(1.0) / width;
        let quarter = S::Lane::splat(0.25);
        let least = least_gap(-(face_a.reach + face_b.reach), width);

        // The contact at a known point of one box's core.
        let spot = inlined(
            #[inline(always)]
            |is_a: bool, core: V3<S>, gap: S, weight: S| {
                let (phi, weight) = (gap - radii, weight.times(quarter));
                if is_a {
                    Spot::on_a(n, axpy(boxes.radius_a, n, core), phi, weight, width)
                } else {
                    Spot::on_b(n, axpy(-boxes.radius_b, n, core), phi, weight, width)
                }
            },
        );
        let mut spots = [spot(true, boxes.t, radii, radii); POINTS];
        for k in 0..2 {
            let (is_a, faces, shown) =
                if k == 0 { (true, [&face_a, &face_b], shown_a) } else { (false, [&face_b, &face_a], shown_b) };
            let [face, other] = faces;
            let [u, v] = &face.axes;
            let ways = [other.direction(*u), other.direction(*v)];
            let reaches = [ways[0].times(face.half[0]), ways[1].times(face.half[1])];
            let middle = other.point(face.center);
            let [over_u, over_v] = [face.direction(other.axes[0]), face.direction(other.axes[1])];
            let back = face.point(other.center);
            let sides = [
                [middle.plus(-1.0, &reaches[0]), middle.plus(1.0, &reaches[0])],
                [middle.plus(-1.0, &reaches[1]), middle.plus(1.0, &reaches[1])],
            ];
            for corner in 0..4 {
                let at = sides[0][corner / 2].plus(SIGNS[corner % 2], &reaches[1]).at;
                let weight = step(inside(at, other.half) * per_width);
                let at = [clamped(at[0], other.half[0]), clamped(at[1], other.half[1])];
                let gap = at[1].fused(over_v.gap, at[0].fused(over_u.gap, back.gap));
                spots[4 * k + corner] = spot(!is_a, other.place(at), greater(gap, least), weight);
            }
            let (edge, part) = face.far(shown);
            let over = other.point(edge);
            for (corner, sign) in SIGNS.into_iter().enumerate() {
                let Over { at, gap } = over.plus(sign, &reaches[1]);
                let weight = part * inner_step(inside(at, other.half) * per_width);
                let core = axpy(face.half[1].times(S::Lane::splat(sign)), *v, edge);
                spots[8 + 2 * k + corner] = spot(is_a, core, gap, weight);
            }
            if !is_a {
                continue;
            }
            for edge in 0..4 {
                let (along, across) = (edge / 2, 1 - edge / 2);
                let start = &sides[across][edge % 2];
                let to_edge = face.half[across].times(S::Lane::splat(SIGNS[edge % 2]));
                let aside = axpy(to_edge, face.axes[across], face.center);
                for (end, enters) in [true, false].into_iter().enumerate() {
                    let (at, weight) = other.crossing(start, &ways[along], face.half[along], enters, per_width);
                    let gap = at.fused(ways[along].gap, start.gap);
                    spots[12 + 2 * edge + end] = spot(true, axpy(at, face.axes[along], aside), gap, weight);
                }
            }
        }
        spots
    }

    #[inline(always)]
    fn are_sizes<R: Real>(pair: &Couple<R>) -> R::Mask {
        is_box(pair.size_a).and(is_box(pair.size_b))
    }

    fn places() -> &'static Places {
        static PLACES: LazyLock<Places> = LazyLock::new(Places::of::<TwoBoxes, POINTS, NUMBERS>);
        &PLACES
    }
}

/// Are these valid sizes of a box: half extents and rounding?
#[inline(always)]
pub(super) fn is_box<R: Real>(size: [R; 4]) -> R::Mask {
    let [x, y, z] = core(size);
    let is_there = x.gt(R::zero()).and(y.gt(R::zero())).and(z.gt(R::zero()));
    is_there.and(size[3].lt(R::zero()).not())
}

/// The half extents of a box's core: without the rounding.
#[inline(always)]
pub(super) fn core<S: Scalar>([x, y, z, rounding]: [S; 4]) -> V3<S> {
    sub([x, y, z], [rounding; 3])
}
