//! Which sides of two boxes are shown: one pair, or two, that have all contact points between them.
//!
//! **Edges that cross.** A box has a side that looks most along the normal, and another one next to it, across an edge; the third is
//! upright. Unless a box lies on a face, the contact is on both boxes' edges: they cross there, as seen along the normal.
//! The four pairs of sides lie around the contact, and between two of them is half of an edge: of A's, over one of B's
//! sides, or of B's, over one of A's. A half counts if a tilt of up to 5° can make one of its points the deepest. A pair
//! that has all halves that count is shown. If there is none, the edges are nearly one line, and sides nearly parallel:
//! then the two pairs between the edges are shown, one on each side of the contact. Of edges that are one line but for rounding,
//! a pair beside both has all points.
//!
//! **A face.** If one box lies on a face, that face and one of the other box's two sides are shown; both sides, if the
//! face's border counts over both.
//!
//! **Two faces** that are nearly parallel are shown if they overlap. If the border of one counts over what is next to the
//! other, that is shown too. If they do not overlap, one is shown with what is next to the other.
//!
//! The query in `collision/` looks at all sides, and finds the same points.

use super::closest::{Features, combined};
use super::pair::Boxes;
use super::roof::{Ridge, Roof, narrow, same, select};
use crate::contact::lanes::total::{choose, sign};
use crate::math::lane::{Mask, Real, inlined};
use crate::math::vector::{self, Vec3};

/// The sides that are shown.
pub(super) struct Shown<R: Real> {
    /// How A's and B's axes look along the normal to the other box.
    pub(super) along: [Vec3<R>; 2],
    /// One-hot, for each pair: on which of A's and of B's axes its sides are.
    pub(super) pairs: [[Vec3<R>; 2]; 2],
    /// One-hot: along which of their axes A's and B's edge is.
    pub(super) edges: [Vec3<R>; 2],
    /// Does the second pair count?
    pub(super) are_two: R::Mask,
    /// One box lies on a face, which is in both pairs; the other box's sides share an edge.
    pub(super) is_face: [R::Mask; 2],
    /// If not, the pairs only share the point where the edges cross. In counter-clockwise order it is where A's edge
    /// starts if this is set, otherwise where B's does.
    pub(super) starts_a: R::Mask,
}

impl<R: Real> Shown<R> {
    /// Those of no particular boxes.
    pub(super) fn any() -> Self {
        let (nothing, none) = ([R::zero(); 3], R::Mask::splat(false));
        Self {
            along: [nothing; 2],
            pairs: [[nothing; 2]; 2],
            edges: [nothing; 2],
            are_two: none,
            is_face: [none; 2],
            starts_a: none,
        }
    }
}

/// Of boxes in contact with these features.
#[inline(always)]
pub(super) fn shown<R: Real>(boxes: &Boxes<R>, features: &Features<R>) -> Shown<R> {
    let (zero, one) = (R::zero(), R::one());
    let n = features.closest(boxes).normal;
    let along_b = [-vector::dot(boxes.b[0], n), -vector::dot(boxes.b[1], n), -vector::dot(boxes.b[2], n)];
    let own = [[one, zero, zero], [zero, one, zero], [zero, zero, one]];
    let mut a = Roof::new([zero; 3], own, boxes.half_a, n);
    let mut b = Roof::new(boxes.t, boxes.b, boxes.half_b, along_b);
    let (flat_a, flat_b) = (a.is_flat(), b.is_flat());
    let are_flat = flat_a.and(flat_b);
    let face_to_face = are_flat.and(a.is_parallel(&b));
    let a_is_flatter = a.cosine(a.flatter).lt(b.cosine(b.flatter)).not();
    let [upright_a, upright_b] = level_edges(features, &a, &b);
    a.turn(face_to_face, upright_a);
    b.turn(face_to_face, upright_b);

    let may_turn = face_to_face.and(features.is_on_face());
    let (may_turn_a, may_turn_b) = (may_turn.and(a.is_rather_over(&b, n)), may_turn.and(b.is_rather_over(&a, n)));
    a.turn(may_turn_a, a.steeper);
    b.turn(may_turn_b, b.steeper);

    let (ridge_a, ridge_b) = (a.ridge(n), b.ridge(n));
    let crossing = crossing(features, [&a, &b], [&ridge_a, &ridge_b]);
    let (is_on_a, is_on_b) = (ridge_b.over(&a, flat_b), ridge_a.over(&b, flat_a));
    // One box on a face of the other. Faces that meet each other are such where a border counts, unless that is at the crossing.
    let may_be = face_to_face.not().or(crossing.has_all);
    let on_a = may_be.and(select::<R>(face_to_face, is_on_a.are_two, select::<R>(are_flat, a_is_flatter, flat_a)));
    let on_b = may_be.and(on_a.not()).and(select::<R>(
        face_to_face,
        is_on_b.are_two,
        select::<R>(are_flat, a_is_flatter.not(), flat_b),
    ));
    let yes = R::Mask::splat(true);
    let of_a = select::<R>(on_a, yes, select::<R>(on_b, is_on_b.flatter, crossing.flatter[0]));
    let of_b = select::<R>(on_b, yes, select::<R>(on_a, is_on_a.flatter, crossing.flatter[1]));
    let are_two = select::<R>(on_a, is_on_a.are_two, select::<R>(on_b, is_on_b.are_two, crossing.are_two));

    let (mut first_a, mut first_b) = (choose(of_a, a.flatter, a.steeper), choose(of_b, b.flatter, b.steeper));
    // Of faces that do not overlap, one box shows what is beyond its edge: the edge beyond which the other's face is the most.
    let is_one = are_flat.and(crossing.has_all.or(face_to_face.not())).and(are_two.not());
    let is_open = is_one.and(a.overlaps(a.flatter, &b, b.flatter, n).not());
    let beyond = [
        (a.steeper, b.flatter, a.beyond(a.steeper, &b, n)),
        (a.upright, b.flatter, a.beyond(a.upright, &b, n)),
        (a.flatter, b.steeper, b.beyond(b.steeper, &a, n)),
        (a.flatter, b.upright, b.beyond(b.upright, &a, n)),
    ];
    let mut most = R::splat(f64::NEG_INFINITY);
    for (side_a, side_b, apart) in beyond {
        let is_here = is_open.and(a.overlaps(side_a, &b, side_b, n)).and(apart.gt(most));
        most = R::select(is_here, apart, most);
        first_a = choose(is_here, side_a, first_a);
        first_b = choose(is_here, side_b, first_b);
    }
    Shown {
        along: [n, along_b],
        pairs: [
            [first_a, first_b],
            [choose(on_a, first_a, a.opposite(first_a)), choose(on_b, first_b, b.opposite(first_b))],
        ],
        edges: [a.upright, b.upright],
        are_two,
        is_face: [on_a, on_b],
        starts_a: crossing.starts_a,
    }
}

/// Of two boxes that both lie on a face, the edges of these faces that are in contact, one-hot, or that are nearly parallel.
#[inline(always)]
fn level_edges<R: Real>(features: &Features<R>, a: &Roof<R>, b: &Roof<R>) -> [Vec3<R>; 2] {
    let [of_a, of_b] = features.edges();
    let one = R::one();
    let is_one = inlined(
        #[inline(always)]
        |edge: Vec3<R>| vector::dot(edge, [one; 3]).gt(R::splat(0.5)),
    );
    let has_a = is_one(of_a).and(vector::dot(of_a, a.flatter).lt(R::splat(0.5)));
    let has_b = is_one(of_b).and(vector::dot(of_b, b.flatter).lt(R::splat(0.5)));
    let edge_a = choose(has_a, of_a, choose(has_b, a.along_edge(combined(of_b, &b.axes)), a.upright));
    let edge_b = choose(has_b, of_b, b.along_edge(combined(edge_a, &a.axes)));
    [edge_a, edge_b]
}

/// What two edges show that cross.
struct Crossing<R: Real> {
    /// In the first pair, the flatter side of A, and of B?
    flatter: [R::Mask; 2],
    are_two: R::Mask,
    /// One pair of sides has all halves of edges that count.
    has_all: R::Mask,
    /// As [`Shown`] has it.
    starts_a: R::Mask,
}

#[inline(always)]
fn crossing<R: Real>(features: &Features<R>, [a, b]: [&Roof<R>; 2], [ridge_a, ridge_b]: [&Ridge<R>; 2]) -> Crossing<R> {
    let (zero, half) = (R::zero(), R::splat(0.5));
    let over_b = [ridge_a.counts_over(ridge_b, 0), ridge_a.counts_over(ridge_b, 1)];
    let over_a = [ridge_b.counts_over(ridge_a, 0), ridge_b.counts_over(ridge_a, 1)];
    let misses = over_b[0].and(over_b[1]).or(over_a[0].and(over_a[1]));
    let flatter = [over_a[0].or(over_a[1].not()), over_b[0].or(over_b[1].not())];

    let (lean_a, lean_b) =
        (-vector::dot(ridge_a.sides[1], ridge_a.aside), -vector::dot(ridge_b.sides[1], ridge_a.aside));
    let are_beside = (lean_a * lean_b).gt(zero);
    let same_way = sign(vector::dot(ridge_a.ahead, ridge_b.ahead));
    let turn = vector::dot(ridge_b.ahead, ridge_a.aside) * same_way;
    let is_line = turn.abs().lt(R::splat(narrow::<R>()));

    // One line: beside both edges.
    let a_is_flatter = ridge_a.cosines[0].lt(ridge_b.cosines[0]).not();
    let beside = [a_is_flatter.or(are_beside), a_is_flatter.not().or(are_beside)];
    // The contact is at an edge's end: between the edges where they go on.
    let [end_a, end_b] = features.ends([a.upright, b.upright]);
    let way = -(end_b.mul_add(same_way, end_a));
    let is_left = (turn * way).gt(zero);
    let between = [same(lean_a.gt(zero), is_left), same(lean_b.gt(zero), is_left).not()];

    let (crosses, goes_on) = (features.are_edges(), way.abs().gt(half));
    let on_line = misses.and(is_line);
    let at_end = misses.and(is_line.not()).and(crosses.not()).and(goes_on);
    let are_two = misses.and(is_line.not()).and(crosses);
    let yes = R::Mask::splat(true);
    let both = [yes, are_beside.not()];
    let mut all = flatter;
    let on_face = features.is_on_face();
    for k in 0..2 {
        let own = select::<R>(are_two, both[k], flatter[k]);
        let own = select::<R>(on_line, beside[k], select::<R>(at_end, between[k], own));
        all[k] = on_face.or(own);
    }
    Crossing {
        flatter: all,
        are_two: are_two.and(on_face.not()),
        has_all: misses.not().or(on_face),
        starts_a: turn.gt(zero),
    }
}
