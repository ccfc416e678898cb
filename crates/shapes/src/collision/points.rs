//! The contact points of two bodies: corners over the other body's side, edges that cross, and the closest points. `docs/contact_points.md`
//! derives them.

use std::cmp::Ordering;

use nalgebra::Vector3;

use super::Distance;
use super::body::{Body, Corner};
use super::core::Core;
use super::number::{Number, along, cross, dot, sub, unit, values};
use super::side::{Side, TINY};
use super::step::{rise, step};

/// The most points of a [`Collider::manifold`](super::Collider::manifold).
pub const MANIFOLD: usize = 20;
/// A smaller share of all directions counts as none: that of a vertex which noise lifts out of a flat side by a hundredth of its distance to the
/// next ones.
const NONE: f64 = 1e-4;
/// Points stand back from this part of their share on, and are gone at this one.
const FADED: f64 = 0.08;
const FAINT: f64 = 4e-4;
/// Height above the deepest point, in parts of the length over which contacts fade, from which on points come to matter less.
const LOW: f64 = 0.1;
/// The weight of closest points that are the only contact of bodies with edges, and how much others may matter together before that is less.
const LONE: f64 = 0.25;
const ENOUGH: f64 = 0.05;

/// What a contact point is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The closest points.
    Closest,
    /// The same, where other points do not matter enough.
    Lone,
    /// A corner of A or B, by its number.
    Corner(usize, usize),
    /// Where an edge of A's side crosses one of B's.
    Crossing(usize, usize),
}

/// A contact point in numbers that may carry rates.
pub(super) struct Spot<S> {
    pub(super) phi: S,
    pub(super) point_a: Vector3<S>,
    pub(super) point_b: Vector3<S>,
    pub(super) weight: S,
}

/// Two bodies as they are seen along the normal.
pub(super) struct View<'a, S> {
    bodies: [&'a Body<'a, S>; 2],
    sides: [Option<Side<'a, S>>; 2],
    /// The normal, out of each body.
    out: [Vector3<S>; 2],
    phi: S,
    /// The length over which contacts fade.
    fading: Option<S>,
    distance: &'a Distance,
}

impl<'a, S: Number> View<'a, S> {
    pub(super) fn new(bodies: [&'a Body<'a, S>; 2], n: Vector3<S>, phi: S, distance: &'a Distance) -> Self {
        let out = [n, -n];
        let closest = [distance.point_a, distance.point_b];
        let sides = [0, 1].map(|k| {
            let radius = bodies[k].radius.value();
            Side::of(bodies[k], &out[k], &(closest[k] - values(&out[k]) * radius))
        });
        let lengths = bodies.into_iter().filter_map(Body::fading);
        // Of two equal bodies the mean of both, whichever grows.
        let fading = lengths.reduce(|x, y| match x.value().total_cmp(&y.value()) {
            Ordering::Less => x,
            Ordering::Greater => y,
            Ordering::Equal => (x + y) * S::constant(0.5),
        });
        Self { bodies, sides, out, phi, fading, distance }
    }

    /// All points that may have weight, the closest points first.
    fn places(&self) -> impl Iterator<Item = Place> {
        let flat = !self.bodies.iter().any(|body| is_round(body.core));
        let corners = |side: usize| {
            (0..if flat { self.bodies[side].n_corners() } else { 0 }).map(move |k| Place::Corner(side, k))
        };
        let edges = |side: usize| self.sides[side].as_ref().filter(|_| flat).map_or(0, Side::n_edges);
        let of_b = edges(1);
        let crossings = (0..edges(0)).flat_map(move |i| (0..of_b).map(move |j| Place::Crossing(i, j)));
        [Place::Closest].into_iter().chain(corners(0)).chain(corners(1)).chain(crossings)
    }

    /// The point at a place; none if it has no weight.
    pub(super) fn spot(&self, place: Place) -> Option<Spot<S>> {
        let spot = match place {
            Place::Closest => self.closest(),
            Place::Lone => self.lone(S::constant(0.0)),
            Place::Corner(side, k) => self.corner(side, k),
            Place::Crossing(i, j) => self.crossing(i, j),
        };
        spot.filter(|spot| spot.weight.value() > 0.0)
    }

    /// The closest points are a contact of their own where a body is round, and on a cylinder's rim, by ½ sin² of twice the angle to its
    /// axis.
    fn closest(&self) -> Option<Spot<S>> {
        let one = S::constant(1.0);
        if self.bodies.iter().any(|body| is_round(body.core)) {
            return Some(self.nearest(one));
        }
        let rims = self.bodies.iter().zip(&self.out).filter(|(body, _)| matches!(body.core, Core::Cylinder { .. }));
        let weight = rims.fold(S::constant(0.0), |weight, (body, n)| {
            let upright = body.upright(n);
            weight + (upright + upright) * (one - upright)
        });
        (weight.value() >= NONE).then(|| self.nearest(weight))
    }

    /// The closest points where all others together matter by so much: as where edges cross next to their ends, a vertex meets a vertex, or
    /// no side is there to measure corners by.
    fn lone(&self, others: S) -> Option<Spot<S>> {
        let fade = S::constant(1.0) - rise(others, [0.0, ENOUGH]);
        let mut spot = self.nearest(fade * S::constant(LONE));
        spot.phi += self.back(fade)?;
        Some(spot)
    }

    /// The closest points, without their rates: those come from the distance.
    fn nearest(&self, weight: S) -> Spot<S> {
        let constant = |p: &Vector3<f64>| p.map(S::constant);
        let Distance { point_a, point_b, .. } = self.distance;
        Spot { phi: self.phi, point_a: constant(point_a), point_b: constant(point_b), weight }
    }

    /// A body's corner over the other body's side, or beyond its border by a little: then where the border is nearest.
    fn corner(&self, of: usize, k: usize) -> Option<Spot<S>> {
        let (body, n, side) = (self.bodies[of], &self.out[of], self.sides[1 - of].as_ref()?);
        let own = self.sides[of].as_ref().filter(|own| own.holds(k));
        let Corner { at, share, fade } = body.corner(k, n)?;
        if share < NONE || side.strength.value() <= 0.0 || dot(&side.normal, n).value() >= 0.0 {
            return None;
        }
        let one = S::constant(1.0);
        let mut there = side.under(&at, n);
        let mut fade = fade * side.strength;
        let mut is_inside = true;
        if let Some(length) = self.fading {
            // A corner of the side itself may be beyond the border, others fade before it.
            let (mut here, mut inner) = (one, one);
            let own = own.map_or(S::constant(0.0), |own| own.strength);
            for inside in side.inside(&there) {
                is_inside &= inside.value() > TINY;
                let inside = inside / length;
                if inside.value() <= -1.0 {
                    return None;
                }
                here *= step(inside);
                inner *= rise(inside, [0.0, 1.0]);
            }
            fade *= own * here + (one - own) * inner;
        }
        if !is_inside {
            there = side.bounded(&there);
        }
        // A corner beyond the border is as high there as where it is.
        let here = along(&there, n, -dot(n, &sub(&there, &at)));
        self.between(if of == 0 { [here, there] } else { [there, here] }, (share, fade), side.settled)
    }

    /// Where edges of both sides cross.
    fn crossing(&self, i: usize, j: usize) -> Option<Spot<S>> {
        let (n, [Some(a), Some(b)]) = (&self.out[0], &self.sides) else { return None };
        let length = self.fading?;
        let ([p, p_end], [q, q_end]) = (a.edge(i), b.edge(j));
        let (edge_a, edge_b) = (sub(p_end, p), sub(q_end, q));
        let (u, w) = (unit(&edge_a), unit(&edge_b));
        let across = dot(n, &cross(&u, &w));
        let share = a.bends[i] * b.bends[j] * 0.25;
        let mut fade = across * across * a.strength * b.strength;
        if share < NONE || fade.value() < FAINT {
            return None;
        }
        let between = sub(q, p);
        let s = dot(n, &cross(&between, &w)) / across;
        let t = dot(n, &cross(&between, &u)) / across;
        for (part, edge) in [(s, &edge_a), (t, &edge_b)] {
            for inside in [part, dot(edge, edge).sqrt() - part] {
                fade *= rise(inside / length, [0.0, 1.0]);
            }
        }
        self.between([along(p, &u, s), along(q, &w, t)], (share, fade), a.settled * b.settled)
    }

    /// Of two points on the cores, one above the other, with a share that fades. A contact carries load however small its weight is, the
    /// closer the smaller, and a solver that has to follow that takes very many steps. So points stand back before they vanish. As
    /// the sides that are looked at are about to be exchanged for others, points count less that are higher than the deepest; these stay
    /// where they are.
    fn between(&self, [p, q]: [Vector3<S>; 2], (share, fade): (f64, S), settled: S) -> Option<Spot<S>> {
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

    /// How far a point stands back of which a part is left, m; none where it is gone.
    fn back(&self, fade: S) -> Option<S> {
        let lacks = S::constant(FADED) - fade;
        let length = self.fading.filter(|_| lacks.value() > 0.0);
        let back = length.map_or(S::constant(0.0), |length| length * lacks * lacks / (fade * S::constant(FADED)));
        (fade.value() >= FAINT).then_some(back)
    }

    /// From 1 for the deepest points down to 0 for those far above.
    fn lowness(&self, phi: S) -> S {
        let low = self.fading.map_or(S::constant(1.0), |length| length * S::constant(LOW));
        let height = phi - self.phi;
        if height.value() > 0.0 { low / (low + height) } else { S::constant(1.0) }
    }
}

impl View<'_, f64> {
    /// The places of the points that count, in their order, and the place of the one that comes next if there are more of them than
    /// there is room for.
    pub(super) fn chosen(&self) -> (Vec<Place>, Option<Place>) {
        let mut all: Vec<(Place, f64)> =
            self.places().filter_map(|place| Some((place, self.matters(&self.spot(place)?)))).collect();
        let room = room(self.bodies.map(|body| body.core));
        let mut next = None;
        if all.len() > room {
            let mut order: Vec<f64> = all.iter().map(|&(_, matters)| matters).collect();
            order.sort_by(|x, y| y.total_cmp(x));
            let least = order[room];
            next = all.iter().find(|&&(_, matters)| matters == least).map(|&(place, _)| place);
            all.retain(|&(_, matters)| matters > least);
        }
        let is_enough = all.len() == room || all.iter().map(|&(_, matters)| matters).sum::<f64>() > ENOUGH;
        let lone = (!is_enough).then_some(Place::Lone);
        (lone.into_iter().chain(all.into_iter().map(|(place, _)| place)).collect(), next)
    }
}

impl<S: Number> View<'_, S> {
    /// The points at the chosen places. Where one more has no room, weights fall to nothing as a point comes to matter no more than that.
    pub(super) fn spots(&self, (places, next): &(Vec<Place>, Option<Place>)) -> Vec<(Place, Spot<S>)> {
        let limit = next.and_then(|place| self.spot(place)).map(|spot| self.matters(&spot));
        let faded = |mut spot: Spot<S>| {
            if let Some(limit) = limit {
                let rest = limit / self.matters(&spot);
                spot.weight *= S::constant(1.0) - rest * rest;
            }
            spot
        };
        let others = places.iter().filter(|&&place| place != Place::Lone);
        let mut all: Vec<_> = others.filter_map(|&place| Some((place, faded(self.spot(place)?)))).collect();
        if places.contains(&Place::Lone) {
            let sum = all.iter().fold(S::constant(0.0), |sum, (_, spot)| sum + self.matters(spot));
            all.splice(0..0, self.lone(sum).map(|spot| (Place::Lone, spot)));
        }
        all
    }

    /// How much force a point may carry, but for a factor.
    fn matters(&self, spot: &Spot<S>) -> S {
        spot.weight * self.lowness(spot.phi)
    }
}

/// Bodies that meet others in one point.
pub(super) fn is_round(core: &Core) -> bool {
    matches!(core, Core::Point | Core::Ellipsoid(_))
}

/// The most points of these cores' manifold.
pub(super) fn room(cores: [&Core; 2]) -> usize {
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
    (corners(cores[0]) + corners(cores[1]) + crossings + 1).min(MANIFOLD)
}
