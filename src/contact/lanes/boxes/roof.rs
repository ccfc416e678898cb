//! A box's sides and edges as they are seen along the contact normal, and what of them may meet another box's.

use super::closest::{combined, largest, least};
use super::pair::SHARP;
use crate::collision::{TILT, UPRIGHT};
use crate::contact::lanes::total::{choose, sign};
use crate::math::lane::{Mask, Precision, Real, inlined};
use crate::math::vector::{self, Vec3};

/// Slopes of the gap that a tilt can make up for, and a little more: a side too many does no harm.
const LEVEL: f64 = 1.01 * TILT;

/// Edges that cross at an angle with a smaller sine are one line. Overlaps that are narrower, in parts of a side, are none.
#[inline(always)]
pub(super) fn narrow<R: Real>() -> f64 {
    match R::precision() {
        Precision::Double => 1e-6,
        Precision::Single => 3e-3,
    }
}

/// A box's two faces that look most along the normal, and the edge between them.
pub(super) struct Roof<R> {
    middle: Vec3<R>,
    pub(super) axes: [Vec3<R>; 3],
    half: Vec3<R>,
    /// How much the axes look along the normal to the other box.
    along: Vec3<R>,
    /// One-hot.
    pub(super) flatter: Vec3<R>,
    pub(super) steeper: Vec3<R>,
    /// The axis along the edge.
    pub(super) upright: Vec3<R>,
}

/// An edge as it is seen along the normal, and the sides that meet there, the flatter one first.
pub(super) struct Ridge<R> {
    /// Its middle.
    at: Vec3<R>,
    pub(super) ahead: Vec3<R>,
    /// On its left.
    pub(super) aside: Vec3<R>,
    pub(super) sides: [Vec3<R>; 2],
    pub(super) cosines: [R; 2],
}

/// Which side to show of an edge over a face.
pub(super) struct Over<R: Real> {
    pub(super) flatter: R::Mask,
    /// Both count.
    pub(super) are_two: R::Mask,
}

impl<R: Real> Roof<R> {
    /// Given how the axes look along the normal to the other box.
    #[inline(always)]
    pub(super) fn new(middle: Vec3<R>, axes: [Vec3<R>; 3], half: Vec3<R>, along: Vec3<R>) -> Self {
        let (flatter, upright) = (largest(along), least(along));
        let mut roof = Self { middle, axes, half, along, flatter, steeper: flatter, upright };
        roof.turn(R::Mask::splat(true), upright);
        roof
    }

    /// Chooses another edge.
    #[inline(always)]
    pub(super) fn turn(&mut self, mask: R::Mask, upright: Vec3<R>) {
        self.upright = choose(mask, upright, self.upright);
        for k in 0..3 {
            self.steeper[k] = R::one() - self.flatter[k] - self.upright[k];
        }
    }

    /// Of a side's normal with the contact's.
    #[inline(always)]
    pub(super) fn cosine(&self, k: Vec3<R>) -> R {
        vector::dot(self.along, k).abs()
    }

    /// Is the face nearly across the normal?
    #[inline(always)]
    pub(super) fn is_flat(&self) -> R::Mask {
        self.cosine(self.steeper).lt(R::splat(SHARP))
    }

    /// Are both boxes' faces so nearly parallel that a tilt makes up for it?
    #[inline(always)]
    pub(super) fn is_parallel(&self, other: &Self) -> R::Mask {
        let (own, others) = (self.cosine(self.flatter), other.cosine(other.flatter));
        let both = own * others;
        let between = vector::dot(self.out(self.flatter), other.out(other.flatter));
        let square = own.mul_add(own, others * others) + both.scale(2.0) * between;
        square.lt((both * both).scale(LEVEL * LEVEL))
    }

    /// The other one of the two sides.
    #[inline(always)]
    pub(super) fn opposite(&self, side: Vec3<R>) -> Vec3<R> {
        let mut other = side;
        for k in 0..3 {
            other[k] = self.flatter[k] + self.steeper[k] - side[k];
        }
        other
    }

    /// An axis, out of the box on the side of the other one.
    #[inline(always)]
    fn out(&self, k: Vec3<R>) -> Vec3<R> {
        vector::scale(sign(vector::dot(self.along, k)), combined(k, &self.axes))
    }

    /// One-hot: which edge of the face is more along a direction.
    #[inline(always)]
    pub(super) fn along_edge(&self, direction: Vec3<R>) -> Vec3<R> {
        let cosine = inlined(
            #[inline(always)]
            |k: Vec3<R>| vector::dot(combined(k, &self.axes), direction).abs(),
        );
        choose(cosine(self.upright).lt(cosine(self.steeper)), self.steeper, self.upright)
    }

    /// Would both sides of the face's other edge count over another face, but not both sides of this one?
    #[inline(always)]
    pub(super) fn is_rather_over(&self, face: &Self, n: Vec3<R>) -> R::Mask {
        let mut other = Self { ..*self };
        other.turn(R::Mask::splat(true), self.steeper);
        let flat = R::Mask::splat(true);
        other.ridge(n).over(face, flat).are_two.and(self.ridge(n).over(face, flat).are_two.not())
    }

    /// How far another box's face is from the edge of this one's face, beyond which a side is, on the side of that.
    #[inline(always)]
    pub(super) fn beyond(&self, side: Vec3<R>, other: &Self, n: Vec3<R>) -> R {
        let ([middle, u, v], [others_middle, others_u, others_v]) =
            (self.face(self.flatter), other.face(other.flatter));
        let mut edge = side;
        for k in 0..3 {
            edge[k] = R::one() - self.flatter[k] - side[k];
        }
        let across = vector::cross(n, combined(edge, &self.axes));
        let length = vector::dot(across, across).sqrt();
        let out = vector::scale(sign(vector::dot(across, self.out(side))) / length, across);
        let mut reach = R::zero();
        for half in [u, v, others_u, others_v] {
            reach += vector::dot(half, out).abs();
        }
        vector::dot(vector::sub(others_middle, middle), out) - reach
    }

    /// Do a side and one of another box overlap, seen along the normal?
    #[inline(always)]
    pub(super) fn overlaps(&self, side: Vec3<R>, other: &Self, others: Vec3<R>, n: Vec3<R>) -> R::Mask {
        let ([middle, u, v], [others_middle, others_u, others_v]) = (self.face(side), other.face(others));
        let between = vector::sub(others_middle, middle);
        let all = [u, v, others_u, others_v];
        let least = self.cosine(side).min(other.cosine(others));
        let mut overlaps = least.gt(R::splat(UPRIGHT));
        for edge in all {
            let across = vector::cross(n, edge);
            let mut reach = R::zero();
            for half in all {
                reach += vector::dot(half, across).abs();
            }
            let apart = vector::dot(between, across).abs();
            overlaps = overlaps.and(apart.lt(reach.scale(1.0 - narrow::<R>())));
        }
        overlaps
    }

    /// A side's middle and its half sides.
    #[inline(always)]
    fn face(&self, side: Vec3<R>) -> [Vec3<R>; 3] {
        let part = inlined(
            #[inline(always)]
            |k: Vec3<R>| vector::scale(vector::dot(self.half, k), self.out(k)),
        );
        let (u, v) = ([side[2], side[0], side[1]], [side[1], side[2], side[0]]);
        [vector::add(self.middle, part(side)), part(u), part(v)]
    }

    /// The edge between both sides.
    #[inline(always)]
    pub(super) fn ridge(&self, n: Vec3<R>) -> Ridge<R> {
        let ahead = combined(self.upright, &self.axes);
        let sides = [self.out(self.flatter), self.out(self.steeper)];
        let sizes = [vector::dot(self.half, self.flatter), vector::dot(self.half, self.steeper)];
        Ridge {
            at: vector::axpy(sizes[0], sides[0], vector::axpy(sizes[1], sides[1], self.middle)),
            ahead,
            aside: vector::cross(n, ahead),
            sides,
            cosines: [self.cosine(self.flatter), self.cosine(self.steeper)],
        }
    }
}

impl<R: Real> Ridge<R> {
    /// Can a tilt make a point of this edge over a side of another the deepest? The gap then is nearly level along the edge, and
    /// rises to both sides, or nearly so. Its slope over two sides with outward normals a and b is a / (a·n) − b / (b·n).
    #[inline(always)]
    pub(super) fn counts_over(&self, other: &Self, side: usize) -> R::Mask {
        let (out, cosine) = (other.sides[side], other.cosines[side]);
        let is_level = vector::dot(out, self.ahead).abs().lt(cosine.scale(LEVEL));
        let across = vector::dot(out, self.aside);
        let (mut rises, mut falls) = (R::Mask::splat(false), R::Mask::splat(false));
        for k in 0..2 {
            let slope = vector::dot(self.sides[k], self.aside).mul_add(cosine, across * self.cosines[k]);
            let most = (self.cosines[k] * cosine).scale(LEVEL);
            rises = rises.or(slope.gt(-most));
            falls = falls.or(slope.lt(most));
        }
        is_level.and(rises).and(falls)
    }

    /// This edge over a face. A side counts if a tilt can make the deepest a point of the face's border that is over it, or if its
    /// own face is flat. If only one side counts, it has all points; if none, only the edge has, and both have that: then the one
    /// that more of the face is over is shown.
    #[inline(always)]
    pub(super) fn over(&self, face: &Roof<R>, is_flat: R::Mask) -> Over<R> {
        let zero = R::zero();
        let axes = [combined(face.steeper, &face.axes), combined(face.upright, &face.axes)];
        let middle = vector::axpy(vector::dot(face.half, face.flatter), face.out(face.flatter), face.middle);
        let from_edge = vector::dot(self.aside, vector::sub(middle, self.at));
        let sizes = [vector::dot(face.half, face.steeper), vector::dot(face.half, face.upright)];
        let wide = [sizes[0] * vector::dot(axes[0], self.aside), sizes[1] * vector::dot(axes[1], self.aside)];
        let left = -sign(vector::dot(self.sides[1], self.aside));
        let size = wide[0].abs() + wide[1].abs();
        let least = size.scale(narrow::<R>());
        let (mut counts, mut reach) = ([is_flat, R::Mask::splat(false)], [zero; 2]);
        for side in 0..2 {
            let sense = if side == 0 { left } else { -left };
            reach[side] = sense.mul_add(from_edge, size);
            let most = self.cosines[side].scale(LEVEL);
            for k in 0..2 {
                let is_level = vector::dot(self.sides[side], axes[1 - k]).abs().lt(most);
                for end in [-1.0, 1.0] {
                    let end = R::splat(end);
                    let is_low = (end * vector::dot(self.sides[side], axes[k])).lt(most);
                    let farthest = sense.mul_add(end.mul_add(wide[k], from_edge), wide[1 - k].abs());
                    counts[side] = counts[side].or(is_level.and(is_low).and(farthest.gt(least)));
                }
            }
        }
        let reaches = reach[0].lt(reach[1]).not();
        Over {
            flatter: is_flat.or(select::<R>(same(counts[0], counts[1]), reaches, counts[0])),
            are_two: counts[0].and(counts[1]),
        }
    }
}

/// `yes` where the mask is set, else `no`.
#[inline(always)]
pub(super) fn select<R: Real>(mask: R::Mask, yes: R::Mask, no: R::Mask) -> R::Mask {
    mask.and(yes).or(mask.not().and(no))
}

/// Are both set, or none?
#[inline(always)]
pub(super) fn same<M: Mask>(a: M, b: M) -> M {
    a.and(b).or(a.or(b).not())
}
