//! Several contact points where flat parts of two bodies meet.
//!
//! **Points.** All points have the normal n of the distance. Project A's sides that face along n, and B's that face
//! along −n, onto the plane across n. Where a side of A and a side of B overlap, the overlap is a polygon. Its corners
//! are the contact points; a point's gap is the gap along n between the two sides. No gap is below the distance, and
//! the deepest corner's gap equals it.
//!
//! **Weights.** A corner's weight is the probability that a small tilt makes it the deepest, see `tilt.rs` and
//! `cells.rs`. The weights add up to one. Weights and points are continuous as long as n is, whichever sides meet. As
//! the weight of a point vanishes, the point "stands back": its gap grows until it is out of reach.
//!
//! **Sides.** All sides take part that have a corner that a tilt can make the deepest. They do not depend on the order
//! of the bodies. Two boxes have a formula on lanes, with one or two pairs of sides that have all points between them
//! (`contact/lanes/boxes`).
//!
//! **Lines.** A capsule and the side of a cylinder are lines. Beside a hull's edges they find skirts (`skirt.rs`).
//!
//! **Round caps.** The overlap of a round cap with flat sides and lines is exact, however small it is (`overlap.rs`). If
//! the cap leans, its deepest point is between the corners on the rim. Then the closest points are a contact too, and
//! take weight from the others as the cap leans more.
//!
//! **Room.** A pair has room for a fixed number of points. If there are more, those that matter least give their weight
//! to others (`merge.rs`).
//!
//! **Approximated sides.** A cap against another cap, and a hull's face with more corners than a patch, are replaced by
//! smaller polygons. There the closest points are also a contact. They take the weight as the polygon misses the place
//! where the bodies meet, or as little of the polygon is left. They stand back like other points as their weight
//! vanishes, by the effect of a tilt on the part that the polygon may miss.

use std::cmp::Ordering;

use nalgebra::{Isometry3, Vector2, Vector3};

use super::cells::{Cell, Net};
use super::collider::Posed;
use super::core::Core;
use super::merge::merge;
use super::number::{Dual, Number, along, constant, dot2, values};
use super::overlap::{Ellipse, polygon};
use super::patch::{self, Body, CORNERS, Cone, Disc, Flat, UPRIGHT};
use super::side::{Across, Side, cells};
use super::spot::{LIGHT, Spot, complete, drop_weightless, heaviest, spread, stand_back};
use super::tilt::{NONE, part};
use super::{Collider, Distance};

/// The most points of a [`Collider::manifold`]: the corners of two patches, and the closest points.
pub const MANIFOLD: usize = 2 * CORNERS + 1;

/// The contact points of two bodies.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifold {
    /// The signed distance of the bodies. All points have its normal, and no point's φ is smaller.
    pub distance: Distance,
    /// The points, at least one. If the closest points are one of several, they come first.
    pub points: Vec<ContactPoint>,
}

/// One of several points at which bodies meet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactPoint {
    /// The gap along the manifold's normal, m. If the weight is below [`LIGHT`] it is larger, so that a point with
    /// little weight carries little force.
    pub phi: f64,
    /// Point on A in the world, m; [`Collider::manifold`] says where it may be a little off.
    pub point_a: Vector3<f64>,
    /// Point on B in the world, m: A's point plus the gap along the normal.
    pub point_b: Vector3<f64>,
    /// Its share of the pair's contact, from 0 to 1. The weights of all points add up to 1.
    pub weight: f64,
}

impl Collider {
    /// Contact points of bodies that are at most `margin` apart, m. None if they are farther apart, or both are
    /// half-spaces.
    ///
    /// Some parts are simplified. A cylinder's cap is represented by an octagon that is fixed to its frame; where
    /// corners of the octagon leave the other body's sides, they move to the edge of the overlap. A hull's face with
    /// more than eight corners keeps eight of them. A cylinder's side and a capsule are lines. Beside a hull's edge, a
    /// line's contact point on the hull may lie below the edge, outside the hull, by up to the height that a tilt of 10°
    /// gives the edge. If there are more points than there is room for, some are replaced by points between them.
    /// Exchanging the bodies exchanges the points and changes nothing else.
    pub fn manifold(
        &self,
        pose: &Isometry3<f64>,
        other: &Self,
        other_pose: &Isometry3<f64>,
        margin: f64,
    ) -> Option<Manifold> {
        let (a, b) = (Posed(self, pose), Posed(other, other_pose));
        if a.order(&b) == Ordering::Greater { Some(b.manifold(&a, margin)?.swapped()) } else { a.manifold(&b, margin) }
    }

    /// The most points that a manifold of these two can have.
    pub fn most_points(&self, other: &Self) -> usize {
        let (corners, less) = room(&self.core, &other.core);
        corners + usize::from(less)
    }
}

impl Posed<'_> {
    /// The manifold of bodies in the order of [`Posed::order`].
    fn manifold(&self, other: &Self, margin: f64) -> Option<Manifold> {
        let distance = self.distance(other).filter(|distance| distance.phi <= margin)?;
        let (a, b) = (Body::fixed(*self), Body::fixed(*other));
        let Spread { corners, closest } = Spread::fixed(&a, &b, &distance);
        let corners = corners.into_iter().map(|Spot { phi, point_a, point_b, weight }| ContactPoint {
            phi,
            point_a,
            point_b,
            weight,
        });
        let Distance { phi, point_a, point_b, .. } = distance;
        let closest =
            closest.map(|Closest { weight, back }| ContactPoint { phi: phi + back, point_a, point_b, weight });
        Some(Manifold { distance, points: closest.into_iter().chain(corners).collect() })
    }
}

impl Manifold {
    fn swapped(self) -> Self {
        let swap = |p: ContactPoint| ContactPoint { point_a: p.point_b, point_b: p.point_a, ..p };
        Self { distance: self.distance.swapped(), points: self.points.into_iter().map(swap).collect() }
    }
}

/// The contact points other than the closest points, and the weight of the closest points if they are a contact too.
pub(super) struct Spread<S> {
    pub(super) corners: Vec<Spot<S>>,
    pub(super) closest: Option<Closest<S>>,
}

/// The closest points as one of several contact points.
pub(super) struct Closest<S> {
    pub(super) weight: S,
    /// How far they stand back, m.
    pub(super) back: S,
}

impl Spread<f64> {
    /// Of bodies with a distance.
    pub(super) fn fixed(a: &Body<'_, f64>, b: &Body<'_, f64>, distance: &Distance) -> Self {
        let view = View::new([a, b], &distance.normal, distance.phi, distance);
        let spread = || {
            let sides = view.sides(&view.flats()?);
            view.spread(view.meeting(&sides)?, &sides)
        };
        spread().unwrap_or_else(Self::closest)
    }
}

impl<const N: usize> Spread<Dual<N>> {
    /// Of bodies with a distance whose normal and φ are given as numbers.
    pub(super) fn moving(
        a: &Body<'_, Dual<N>>,
        b: &Body<'_, Dual<N>>,
        n: &Vector3<Dual<N>>,
        phi: Dual<N>,
        distance: &Distance,
    ) -> Self {
        let view = View::new([a, b], n, phi, distance);
        let spread = || {
            let flats = view.flats()?;
            if is_one(&flats) {
                let sides = view.sides(&flats);
                return view.spread(view.meeting(&sides)?, &sides);
            }
            // Rates cost far more than values: those tell first which few sides count.
            let still = [a.still(), b.still()];
            let plan = View::new([&still[0], &still[1]], &distance.normal, distance.phi, distance);
            let (flats, pairs, net) = plan.what_counts(flats)?;
            let sides = view.sides(&flats);
            let cells = pairs.iter().map(|&[i, j]| Cell::of(&sides[0][i], &sides[1][j])).collect();
            view.spread(view.weighed(&sides, pairs, cells, net), &sides)
        };
        spread().unwrap_or_else(Self::closest)
    }
}

impl<S: Number> Spread<S> {
    fn closest() -> Self {
        Self { corners: Vec::new(), closest: Some(Closest { weight: S::constant(1.0), back: S::constant(0.0) }) }
    }
}

/// Two bodies as they are seen along the normal.
struct View<'a, S> {
    bodies: [&'a Body<'a, S>; 2],
    across: Across<'a, S>,
    phi: S,
    distance: &'a Distance,
    tilt: f64,
    /// How steep a slope counts.
    steepest: f64,
}

/// Where sides meet.
struct Meeting<S> {
    /// Each cell's sides of A and of B.
    pairs: Vec<[usize; 2]>,
    cells: Vec<Cell<S>>,
    net: Net,
    /// The vertices over the plane across n, and as contact points.
    places: Vec<Vector2<S>>,
    spots: Vec<Spot<S>>,
}

/// Both bodies' flat parts.
type Flats<'a> = [Vec<Flat<'a>>; 2];

fn is_one<T>(sides: &[Vec<T>; 2]) -> bool {
    sides.iter().all(|sides| sides.len() == 1)
}

impl<'a, S: Number> View<'a, S> {
    fn new(bodies: [&'a Body<'a, S>; 2], n: &'a Vector3<S>, phi: S, distance: &'a Distance) -> Self {
        let cores = bodies.map(|body| body.core);
        let tilt = patch::tilt(cores[0]).min(patch::tilt(cores[1]));
        // A cap's polygon may be deepest where the cap is not: all sides count.
        let out = values(n);
        let shows_cap =
            |body: &Body<'_, S>| matches!(body.core, Core::Cylinder { .. }) && body.shown_line(&out).is_none();
        let is_capped = bodies.into_iter().any(shows_cap);
        Self {
            bodies,
            across: Across::new(n, &distance.point_a),
            phi,
            distance,
            tilt,
            steepest: if is_capped { 1.0 / UPRIGHT } else { tilt },
        }
    }

    /// The flat parts that meet the other body; nothing if one body has none.
    fn flats(&self) -> Option<Flats<'a>> {
        let ([a, b], n) = (self.bodies, self.across.n);
        let of = |body: &Body<'a, S>, other: &Body<'a, S>, point: &Vector3<f64>, n: &Vector3<S>| {
            let out = values(n);
            let cone = Cone::new(body, point, &out, [self.steepest, self.tilt]);
            let flats = Flat::inside(body, n, &cone, other.shown_line(&out).as_ref());
            Some(flats).filter(|flats| !flats.is_empty())
        };
        Some([of(a, b, &self.distance.point_a, n)?, of(b, a, &self.distance.point_b, &-n)?])
    }

    fn sides(&self, flats: &Flats<'_>) -> [Vec<Side<S>>; 2] {
        let ([a, b], n) = (self.bodies, self.across.n);
        let mut corners = Vec::with_capacity(CORNERS);
        let mut of = |body: &Body<'_, S>, k: usize, n: &Vector3<S>| -> Vec<Side<S>> {
            let side = |&flat: &Flat<'_>| {
                let patch = body.patch(flat, n, &mut corners);
                let points = corners.iter().map(|corner| self.across.over(corner));
                let polygon = if k == 0 { polygon(points) } else { polygon(points.rev()) };
                let plane = self.across.plane(&patch);
                let disc = patch.disc.map(|Disc { middle, radii }| {
                    Ellipse::new(self.across.over(&middle), radii.each_ref().map(|v| self.across.flat(v)))
                });
                Side { polygon, plane, inscribed: patch.inscribed, disc }
            };
            flats[k].iter().map(side).collect()
        };
        [of(a, 0, n), of(b, 1, &-n)]
    }

    /// How high the contact points of A and of B are.
    fn ends(&self) -> [f64; 2] {
        let [a, b] = self.bodies;
        [-a.radius.value(), (self.phi + b.radius).value()]
    }

    /// Where all of these sides meet.
    fn meeting(&self, sides: &[Vec<Side<S>>; 2]) -> Option<Meeting<S>> {
        let (pairs, cells) = cells(sides, self.ends(), self.steepest);
        let rounding = ROUNDING * self.bodies.iter().map(|body| body.core.reach()).sum::<f64>();
        let is_in = |&[cell, k]: &[usize; 2]| {
            let at = &cells[cell].corners[k].at;
            let (_, phi) = self.height_and_gap(at, sides, pairs[cell]);
            (phi - self.phi).value() <= self.steepest * at.map(S::value).norm() + rounding
        };
        let net = Net::new(&cells, |vertex| is_one(sides) || is_in(vertex));
        let all = self.weighed(sides, pairs, cells, net);
        let sum: f64 = all.spots.iter().map(|spot| spot.weight.value()).sum();
        // Not where it is not a number either.
        ((sum - 1.0).abs() <= OFF).then_some(all)
    }

    fn weighed(&self, sides: &[Vec<Side<S>>; 2], pairs: Vec<[usize; 2]>, cells: Vec<Cell<S>>, net: Net) -> Meeting<S> {
        let weights = net.weights(&cells, self.tilt);
        let places: Vec<Vector2<S>> = net.vertices.iter().map(|&[cell, k]| cells[cell].corners[k].at).collect();
        let of_vertices = net.vertices.iter().zip(&places).zip(weights);
        let spots = of_vertices.map(|((&[cell, _], at), weight)| self.spot(at, sides, pairs[cell], weight)).collect();
        Meeting { pairs, cells, net, places, spots }
    }

    /// How high A's side is, and the gap between the two.
    fn height_and_gap(&self, at: &Vector2<S>, sides: &[Vec<Side<S>>; 2], [i, j]: [usize; 2]) -> (S, S) {
        let [a, b] = self.bodies;
        let height = sides[0][i].plane.height(at) + a.radius;
        (height, sides[1][j].plane.height(at) - b.radius - height)
    }

    /// A point between two sides.
    fn spot(&self, at: &Vector2<S>, sides: &[Vec<Side<S>>; 2], pair: [usize; 2], weight: S) -> Spot<S> {
        let Across { axes: [u, v], n, origin } = &self.across;
        let (height, phi) = self.height_and_gap(at, sides, pair);
        let point_a = along(&along(&along(&constant(origin), u, at.x), v, at.y), n, height);
        Spot { phi, point_a, point_b: along(&point_a, n, phi), weight }
    }

    /// The points of sides that meet.
    fn spread(&self, meeting: Meeting<S>, sides: &[Vec<Side<S>>; 2]) -> Option<Spread<S>> {
        let Meeting { pairs, cells, mut places, spots: mut all, .. } = meeting;
        let (phi, tilt) = (self.phi, self.tilt);
        complete(&mut all);
        drop_weightless(&mut places, &mut all);
        merge(&mut places, &mut all, room(self.bodies[0].core, self.bodies[1].core).0);
        let size = spread(&places, &all);
        let less = [0, 1].map(|k| match (&sides[k][..], &sides[1 - k][..]) {
            ([Side { inscribed: Some(inscribed), plane, disc, .. }], [other, ..]) => {
                let is_exact = disc.is_some() && other.disc.is_none() && !other.polygon.is_empty();
                Some((plane.slope, (!is_exact).then_some(*inscribed)))
            }
            _ => None,
        });
        if less.iter().all(Option::is_none) {
            stand_back(&mut all, &places, size, phi);
            return Some(Spread { corners: all, closest: None });
        }
        let (one, none) = (S::constant(1.0), S::constant(0.0));
        let mut share = one;
        let least = all.iter().map(|spot| spot.phi).min_by(|x, y| x.value().total_cmp(&y.value()))?;
        for (slope, inscribed) in less.into_iter().flatten() {
            share *= one - part(dot2(&slope, &slope) * S::constant(tilt.powi(-2)));
            let Some(radius) = inscribed else { continue };
            let missed = (least - phi) / (radius * S::constant(MISSED * tilt));
            share *= one - part(missed * missed);
            share *= part(size / (radius * radius * S::constant(SMALL * SMALL)));
        }
        let mut rest = one - share;
        for spot in &mut all {
            let weight = spot.weight * share;
            let is_none = weight.value() < NONE;
            rest += if is_none { weight } else { none };
            spot.weight = if is_none { none } else { weight };
        }
        if rest.value() < NONE
            && let Some(heaviest) = heaviest(&mut all)
        {
            heaviest.weight += std::mem::replace(&mut rest, none);
        }
        stand_back(&mut all, &places, size, phi);
        let back = if rest.value() > 0.0 && rest.value() < LIGHT {
            let lacks = S::constant(LIGHT) - rest;
            size.sqrt() * S::constant(MISSED * tilt) * lacks * lacks / (rest * S::constant(LIGHT))
        } else {
            none
        };
        if let Some(cell) = cells.iter().position(Cell::is_parallel) {
            let corners = &cells[cell].corners;
            let share = S::constant(1.0 / corners.len() as f64);
            let middle = corners.iter().fold(Vector2::repeat(none), |sum, corner| sum + corner.at * share);
            all.insert(0, Spot { phi: phi + back, ..self.spot(&middle, sides, pairs[cell], rest) });
            return Some(Spread { corners: all, closest: None });
        }
        Some(Spread { corners: all, closest: Some(Closest { weight: rest, back }) })
    }
}

impl<'a> View<'a, f64> {
    /// Of flat parts those that count, the pairs of them that meet, and how their cells hang together. Cells count around
    /// vertices that have weight.
    fn what_counts(&self, mut flats: Flats<'a>) -> Option<(Flats<'a>, Vec<[usize; 2]>, Net)> {
        let sides = self.sides(&flats);
        let Meeting { mut pairs, cells, mut net, spots, .. } = self.meeting(&sides)?;
        net.keep(&spots.iter().map(|spot| spot.weight >= NONE).collect::<Vec<_>>());
        let is_less = sides.iter().flatten().any(|side| side.inscribed.is_some());
        let parallel = cells.iter().position(Cell::is_parallel).filter(|_| is_less);
        let left = net.prune(&cells, parallel);
        pairs = left.into_iter().map(|cell| pairs[cell]).collect();
        for k in 0..2 {
            let used: Vec<usize> = (0..flats[k].len()).filter(|&i| pairs.iter().any(|pair| pair[k] == i)).collect();
            flats[k] = used.iter().map(|&i| flats[k][i]).collect();
            for pair in &mut pairs {
                pair[k] = used.partition_point(|&i| i < pair[k]);
            }
        }
        Some((flats, pairs, net))
    }
}

/// The most points of these cores' manifold, not counting the closest points; and whether the closest points may be
/// one.
fn room(a: &Core, b: &Core) -> (usize, bool) {
    let (Some((of_a, less_a)), Some((of_b, less_b))) = (patch::corners(a), patch::corners(b)) else {
        return (1, false);
    };
    let has_edges = [a, b].iter().any(|core| matches!(core, Core::Box(_) | Core::Hull(_)));
    let corners = match of_a.min(of_b) {
        // A line's ends, and where it passes from side to side.
        2 if has_edges => 3,
        2 => 2,
        _ => of_a + of_b,
    };
    (corners, less_a || less_b)
}

/// Points lose weight to the closest points if they are nearer to each other than this share of the polygon's size, or
/// if all are higher than the closest points by this share of the height that a tilt gives the size.
const SMALL: f64 = 0.3;
const MISSED: f64 = 0.05;

/// Weights whose sum is off by more than this are invalid: the sides touch at most in a point, or do not meet because
/// of rounding.
const OFF: f64 = 0.5;
/// Heights above the closest points, relative to the bodies' size, that may come from rounding or from corners of a
/// hull's face that are not quite in one plane.
const ROUNDING: f64 = 3e-6;
