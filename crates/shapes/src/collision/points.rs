//! The points of a contact manifold: corners over the other body's side, crossings of edges, and the closest points.
//! `docs/contact_points.md` derives them.

use std::cmp::Ordering;

use nalgebra::Vector3;

use super::Distance;
use super::body::{Body, Corner};
use super::common::Framed;
use super::core::Core;
use super::detail::{Detail, MANIFOLD};
use super::edges::Edge;
use super::side::{STEEP, Side};
use crate::number::{Number, along, cross, dot, sub, unit, values};
use crate::step::{rise, step};

/// A corner with a smaller share of all directions is left out. A vertex that noise lifts out of a flat side, by a
/// hundredth of its distance to the next ones, has this share.
pub(super) const NONE: f64 = 1e-4;
/// Points stand back if less than this part of their share is left.
const FADED: f64 = 0.08;
/// Points are left out if less than this part of their share is left.
const FAINT: f64 = 4e-4;
/// The height above the deepest point at which a point matters half as much, as a part of the length over which
/// contacts fade.
const LOW: f64 = 0.1;
/// Relative rounding of what a point matters.
pub(super) const ROUNDING: f64 = 1e-9;
/// How much corners matter that are on the side that their body shows, but are no main corners of it.
pub(super) const MINOR: f64 = 0.1;
/// The weight of closest points that are the only contact of bodies with edges.
const LONE: f64 = 0.25;
/// The closest points of bodies with edges are a contact of their own if other points matter less than this together.
pub(super) const ENOUGH: f64 = 0.05;

/// The kind of a contact point, and which one it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Place {
    /// The closest points.
    Closest,
    /// The closest points, as a contact of their own because other points do not matter enough.
    Lone,
    /// Corner `.1` of body `.0` (0 for A, 1 for B).
    Corner(usize, usize),
    /// The crossing of an edge of A (`.0`) and an edge of B (`.1`).
    Crossing(Edge, Edge),
}

/// A contact point, as numbers that may carry derivatives.
pub(super) struct Spot<S> {
    pub(super) phi: S,
    pub(super) point_a: Vector3<S>,
    pub(super) point_b: Vector3<S>,
    pub(super) weight: S,
}

/// Two bodies as projected along the contact normal: the sides that they show each other.
pub(super) struct View<'a, S> {
    pub(super) bodies: [&'a Body<'a, S>; 2],
    pub(super) sides: [Option<Side<'a, S>>; 2],
    /// The contact normal, as an outward direction of A and of B.
    pub(super) out: [Vector3<S>; 2],
    pub(super) phi: S,
    /// The length over which contacts fade, m.
    pub(super) fading: Option<S>,
    /// A factor that falls from 1 to 0 as the bodies come to be so far apart that the closest points are all that
    /// counts.
    pub(super) near: S,
    pub(super) detail: Detail,
    pub(super) distance: &'a Distance,
}

impl<'a, S: Number> View<'a, S> {
    /// The view of two bodies along the normal n of their distance.
    pub(super) fn new(
        bodies: [&'a Body<'a, S>; 2],
        n: Vector3<S>,
        phi: S,
        distance: &'a Distance,
        detail: Detail,
    ) -> Self {
        let out = [n, -n];
        let one = S::constant(1.0);
        let near = if detail.is_bounded() { one - rise(phi, [detail.all, detail.closest]) } else { one };
        let closest = [distance.point_a, distance.point_b];
        // Where a body is round, the closest points are the only contact.
        let flat = !bodies.iter().any(|body| is_round(body.core)) && near.value() > 0.0;
        let sides = [0, 1].map(|k| {
            if !flat {
                return None;
            }
            let radius = bodies[k].radius.value();
            Side::of(bodies[k], &out[k], &(closest[k] - values(&out[k]) * radius))
        });
        let lengths = bodies.into_iter().filter_map(Body::fading);
        // For two equal bodies the mean of both, so that the derivative does not prefer one.
        let fading = lengths.reduce(|x, y| match x.value().total_cmp(&y.value()) {
            Ordering::Less => x,
            Ordering::Greater => y,
            Ordering::Equal => (x + y) * S::constant(0.5),
        });
        Self { bodies, sides, out, phi, fading, near, detail, distance }
    }

    /// The numbers of corners of both bodies that may have weight.
    pub(super) fn n_corners(&self) -> [usize; 2] {
        let flat = !self.bodies.iter().any(|body| is_round(body.core));
        self.bodies.map(|body| if flat { body.n_corners() } else { 0 })
    }

    /// The contact point at a place; `None` if it has no weight.
    pub(super) fn spot(&self, place: Place) -> Option<Spot<S>> {
        let spot = match place {
            Place::Closest => self.closest(),
            Place::Lone => self.lone(S::constant(0.0)),
            Place::Corner(side, k) => self.corner(side, k, 0.0),
            Place::Crossing(edge_a, edge_b) => self.crossing([&edge_a, &edge_b]),
        };
        spot.filter(|spot| spot.weight.value() > 0.0)
    }

    /// The closest points as a contact: with weight 1 if a body is round, and on a cylinder's rim with ½ sin² of twice
    /// the angle between normal and axis.
    fn closest(&self) -> Option<Spot<S>> {
        let one = S::constant(1.0);
        if self.bodies.iter().any(|body| is_round(body.core)) {
            return Some(self.nearest(one));
        }
        let rims = self.bodies.iter().zip(&self.out).filter(|(body, _)| matches!(body.core, Core::Cylinder { .. }));
        let weight = rims.fold(S::constant(0.0), |weight, (body, n)| {
            let upright = body.upright(n);
            weight + (upright + upright) * (one - upright)
        }) * self.near;
        (weight.value() >= NONE).then(|| self.nearest(weight))
    }

    /// The closest points as a lone contact, where all other points together matter by `others`. It is needed where
    /// edges cross next to their ends, where vertices meet, or if there is no side to measure corners by; where others
    /// are left out, as there are too many; and far away, where it is all that counts.
    fn lone(&self, others: S) -> Option<Spot<S>> {
        let one = S::constant(1.0);
        let fade = one - self.near * rise(others, [0.0, ENOUGH]);
        let whole = one - self.near * S::constant(1.0 - LONE);
        let mut spot = self.nearest(fade * whole);
        spot.phi += self.back(fade)?;
        Some(spot)
    }

    /// The closest points with this weight, in the middle of a common length. They are constants here: their
    /// derivatives come from the distance.
    fn nearest(&self, weight: S) -> Spot<S> {
        let constant = |p: &Vector3<f64>| p.map(S::constant);
        let Distance { point_a, point_b, .. } = &self.distance.shifted(&self.bodies.map(Framed::of));
        Spot { phi: self.phi, point_a: constant(point_a), point_b: constant(point_b), weight }
    }

    /// A corner of a body over the other body's side. A corner that is a little beyond the side's border counts at the
    /// nearest point of the border. `None` also if it surely matters less than `enough`.
    pub(super) fn corner(&self, of: usize, k: usize, enough: f64) -> Option<Spot<S>> {
        let (body, n, side) = (self.bodies[of], &self.out[of], self.sides[1 - of].as_ref()?);
        let own = self.sides[of].as_ref().filter(|own| own.holds(k));
        let Corner { at, share, fade } = body.corner(k, n)?;
        if share < NONE || side.strength.value() <= 0.0 || dot(&side.normal, n).value() >= 0.0 {
            return None;
        }
        let one = S::constant(1.0);
        let mut there = side.under(&at, n);
        let mut fade = fade * side.strength;
        if let Some(length) = self.fading {
            // A corner of the shown side may be beyond the border; other corners fade before it.
            let least = side.least_inside(&there);
            if least < if own.is_some() { -length.value() } else { 0.0 } {
                return None;
            }
            if enough > 0.0 {
                let gap = dot(n, &sub(&there, &at)) - self.bodies[0].radius - self.bodies[1].radius;
                let fade = fade.value() * part_inside(least / length.value(), own.is_some());
                if self.most_of(share, fade, gap.value()) < enough {
                    return None;
                }
            }
            // Farther inside nothing fades.
            if least < length.value() {
                let by_border = side.by_border(&there, least);
                let (mut here, mut inner) = (one, one);
                let own = own.map_or(S::constant(0.0), |own| own.strength);
                for inside in by_border.inside() {
                    let inside = inside / length;
                    if inside.value() <= -1.0 {
                        return None;
                    }
                    here *= step(inside);
                    inner *= rise(inside, [0.0, 1.0]);
                }
                fade *= own * here + (one - own) * inner;
                there = by_border.at;
            }
        }
        // A corner beyond the border has the same height at the border as at its own place.
        let here = along(&there, n, -dot(n, &sub(&there, &at)));
        self.between(if of == 0 { [here, there] } else { [there, here] }, (share, fade), side.settled)
    }

    /// The contact where an edge of A crosses one of B.
    fn crossing(&self, edges: [&Edge; 2]) -> Option<Spot<S>> {
        let (n, length) = (&self.out[0], self.fading?);
        let share = edges[0].bend * edges[1].bend * 0.25;
        if share < NONE {
            return None;
        }
        let ([p, p_end], [q, q_end]) = (self.ends(0, edges[0])?, self.ends(1, edges[1])?);
        let (edge_a, edge_b) = (sub(&p_end, &p), sub(&q_end, &q));
        let (u, w) = (unit(&edge_a), unit(&edge_b));
        let across = dot(n, &cross(&u, &w));
        let [(strong_a, settled_a), (strong_b, settled_b)] = [self.counts(0, edges[0])?, self.counts(1, edges[1])?];
        let mut fade = across * across * strong_a * strong_b;
        if fade.value() < FAINT {
            return None;
        }
        let between = sub(&q, &p);
        let s = dot(n, &cross(&between, &w)) / across;
        let t = dot(n, &cross(&between, &u)) / across;
        for (part, edge) in [(s, &edge_a), (t, &edge_b)] {
            for inside in [part, dot(edge, edge).sqrt() - part] {
                fade *= rise(inside / length, [0.0, 1.0]);
            }
        }
        self.between([along(&p, &u, s), along(&q, &w, t)], (share, fade), settled_a * settled_b)
    }

    /// The two ends of an edge of a body.
    fn ends(&self, of: usize, edge: &Edge) -> Option<[Vector3<S>; 2]> {
        let end = |k: usize| Some(self.bodies[of].corner(edge.ends[k], &self.out[of])?.at);
        Some([end(0)?, end(1)?])
    }

    /// Two factors of an edge: how much it looks along the normal, and how far from being replaced by others it is.
    /// Edges that are seen with those of all sides around stay as the shown side changes.
    fn counts(&self, of: usize, edge: &Edge) -> Option<(S, S)> {
        match &edge.face {
            Some(face) => Some((rise(dot(&self.bodies[of].turned(face), &self.out[of]), STEEP), S::constant(1.0))),
            None => self.sides[of].as_ref().map(|side| (side.strength, side.settled)),
        }
    }

    /// The contact between two points on the cores, one above the other, with a share that fades. Near a border a
    /// contact of small weight carries load at a smaller gap, and a solver that must follow that takes very many steps.
    /// So points stand back before they vanish. While the sides that are looked at are about to be replaced by others
    /// (`settled` < 1), points that are higher than the deepest count less.
    fn between(&self, [p, q]: [Vector3<S>; 2], (share, fade): (f64, S), settled: S) -> Option<Spot<S>> {
        let fade = fade * self.near;
        let back = self.back(fade)?;
        let n = &self.out[0];
        let [radius_a, radius_b] = self.bodies.map(|body| body.radius);
        let gap = dot(n, &sub(&q, &p)) - radius_a - radius_b;
        let point_a = along(&p, n, radius_a);
        let lowness = self.lowness(gap);
        let weight = fade * S::constant(share) * (settled + (S::constant(1.0) - settled) * lowness * lowness);
        let point_b = along(&point_a, n, gap);
        Some(Spot { phi: gap + back, point_a, point_b, weight })
    }

    /// How far a point stands back, m, if the part `fade` of it is left. `None` if it is gone.
    fn back(&self, fade: S) -> Option<S> {
        let lacks = S::constant(FADED) - fade;
        let length = self.fading.filter(|_| lacks.value() > 0.0);
        let back = length.map_or(S::constant(0.0), |length| length * lacks * lacks / (fade * S::constant(FADED)));
        (fade.value() >= FAINT).then_some(back)
    }

    /// The most that a point [matters](Self::matters) that has at most this part of its share left, and no less than
    /// this gap.
    pub(super) fn most_of(&self, share: f64, fade: f64, gap: f64) -> f64 {
        let fade = fade * self.near.value();
        let Some(back) = self.back(S::constant(fade * (1.0 + ROUNDING))) else { return 0.0 };
        share * fade * self.lowness(S::constant(gap) + back).value() * (1.0 + ROUNDING)
    }

    /// A factor from 1 for the deepest points down to 0 for those far above.
    pub(super) fn lowness(&self, phi: S) -> S {
        let (low, height) = (self.low(), phi - self.phi);
        if height.value() > 0.0 { low / (low + height) } else { S::constant(1.0) }
    }

    /// The height above the deepest point at which a point matters half as much, m.
    pub(super) fn low(&self) -> S {
        self.fading.map_or(S::constant(1.0), |length| length * S::constant(LOW))
    }
}

impl<S: Number> View<'_, S> {
    /// The points at the chosen places. If one had no room, the weights of the others fall to zero as they come to
    /// matter no more than that one, and they stand back before they vanish. What corners of a side lose by that its
    /// main corners gain.
    pub(super) fn spots(&self, (places, next): &(Vec<Place>, Option<Place>)) -> Vec<(Place, Spot<S>)> {
        let limit = next.and_then(|place| Some(self.matters(place, &self.spot(place)?)));
        let faded = |place: Place| {
            let mut spot = self.spot(place)?;
            if let Some(limit) = limit {
                let rest = limit / self.matters(place, &spot);
                let fade = S::constant(1.0) - rest * rest;
                spot.phi += self.back(fade)?;
                spot.weight *= fade * self.gain(place, rest);
            }
            Some((place, spot))
        };
        let others = places.iter().filter(|&&place| place != Place::Lone);
        let mut all: Vec<_> = others.filter_map(|&place| faded(place)).collect();
        if places.contains(&Place::Lone) {
            let sum = all.iter().fold(S::constant(0.0), |sum, (place, spot)| sum + self.matters(*place, spot));
            all.splice(0..0, self.lone(sum).map(|spot| (Place::Lone, spot)));
        }
        all
    }

    /// What a main corner stands for: itself and, as far as they have no room, the other corners of its side, were they
    /// at its height. `rest` is what the first point that is left out matters, by what this one does.
    fn gain(&self, place: Place, rest: S) -> S {
        let one = S::constant(1.0);
        let Place::Corner(of, k) = place else { return one };
        let Some(side) = self.sides[of].as_ref().filter(|side| side.holds(k) && !side.is_minor(k)) else { return one };
        let rest = rest * S::constant(MINOR.recip());
        let fade = one - rest * rest;
        // Points that stand back carry less than their weight says.
        let carries = if fade.value() > 0.0 {
            fade * fade * S::constant(1.0 + FADED) / (fade + S::constant(FADED))
        } else {
            S::constant(0.0)
        };
        one + (one - carries) * S::constant(side.gain() - 1.0)
    }

    /// How much force a point may carry, up to a common factor. Of the many corners of a round side the main ones come
    /// first, so that there is a choice among equals.
    pub(super) fn matters(&self, place: Place, spot: &Spot<S>) -> S {
        let is_minor = match place {
            Place::Corner(of, k) => self.sides[of].as_ref().is_some_and(|side| side.is_minor(k)),
            _ => false,
        };
        spot.weight * self.lowness(spot.phi) * S::constant(if is_minor { MINOR } else { 1.0 })
    }
}

/// The most that is left of the weight of a corner that is this far inside the other body's side, as a part of the
/// length over which contacts fade. It may be a corner of the side that its own body shows.
pub(super) fn part_inside(inside: f64, is_own: bool) -> f64 {
    let inside = inside + ROUNDING;
    if is_own { step(inside) } else { rise(inside, [0.0, 1.0]) }
}

/// Is the core a point or an ellipsoid, which meets other bodies in one point?
pub(super) fn is_round(core: &Core) -> bool {
    matches!(core, Core::Point | Core::Ellipsoid(_))
}

/// The most points that a manifold of these cores can have.
pub(super) fn room(cores: [&Core; 2], detail: Detail) -> usize {
    if cores.into_iter().any(is_round) {
        return 1;
    }
    let corners = |core: &Core| match core {
        Core::Segment(_) => 2,
        Core::HalfSpace => 0,
        Core::Box(_) => 8,
        _ => MANIFOLD,
    };
    let crossings = if cores.iter().any(|core| matches!(core, Core::HalfSpace)) { 0 } else { 8 };
    let all = (corners(cores[0]) + corners(cores[1]) + crossings + 1).min(MANIFOLD - 1);
    if detail.has_stand_in() { (all + 1).min(detail.points.max(2)) } else { all }
}
