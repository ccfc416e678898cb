//! The points of a contact manifold: corners over the other body's side, crossings of edges, and the closest points.
//! `docs/contact_points.md` derives them.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::f64::consts::SQRT_2;

use nalgebra::Vector3;

use super::Distance;
use super::body::{Body, Corner};
use super::core::Core;
use super::detail::{Detail, MANIFOLD};
use super::edges::Edge;
use super::side::{STEEP, Side, Window};
use crate::number::{Number, along, cross, dot, sub, unit, values};
use crate::step::{rise, step};

/// A corner with a smaller share of all directions is left out. A vertex that noise lifts out of a flat side, by a
/// hundredth of its distance to the next ones, has this share.
const NONE: f64 = 1e-4;
/// Points stand back if less than this part of their share is left.
const FADED: f64 = 0.08;
/// Points are left out if less than this part of their share is left.
const FAINT: f64 = 4e-4;
/// The height above the deepest point at which a point matters half as much, as a part of the length over which
/// contacts fade.
const LOW: f64 = 0.1;
/// Relative rounding of what a point matters.
const ROUNDING: f64 = 1e-9;
/// How much corners matter that are on the side that their body shows, but are no main corners of it.
const MINOR: f64 = 0.1;
/// The weight of closest points that are the only contact of bodies with edges.
const LONE: f64 = 0.25;
/// The closest points of bodies with edges are a contact of their own if other points matter less than this together.
const ENOUGH: f64 = 0.05;

/// The kind of a contact point, and which one it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The closest points.
    Closest,
    /// The closest points, as a contact of their own because other points do not matter enough.
    Lone,
    /// Corner `.1` of body `.0` (0 for A, 1 for B).
    Corner(usize, usize),
    /// The crossing of an edge of A (`.0`) and an edge of B (`.1`).
    Crossing(usize, usize),
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
    bodies: [&'a Body<'a, S>; 2],
    sides: [Option<Side<'a, S>>; 2],
    /// The edges of both that may cross.
    edges: [Vec<Edge>; 2],
    /// The contact normal, as an outward direction of A and of B.
    out: [Vector3<S>; 2],
    phi: S,
    /// The length over which contacts fade, m.
    fading: Option<S>,
    /// A factor that falls from 1 to 0 as the bodies come to be so far apart that the closest points are all that
    /// counts.
    near: S,
    detail: Detail,
    distance: &'a Distance,
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
        let edges = match [&sides[0], &sides[1]] {
            [Some(a), Some(b)] if !bodies.iter().any(|body| matches!(body.core, Core::HalfSpace)) => {
                let wide = bodies.iter().any(|body| matches!(body.core, Core::Hull(_)));
                [Edge::of(bodies[0], a, &out[0], wide), Edge::of(bodies[1], b, &out[1], wide)]
            }
            _ => [Vec::new(), Vec::new()],
        };
        Self { bodies, sides, edges, out, phi, fading, near, detail, distance }
    }

    /// The numbers of corners of both bodies that may have weight.
    fn n_corners(&self) -> [usize; 2] {
        let flat = !self.bodies.iter().any(|body| is_round(body.core));
        self.bodies.map(|body| if flat { body.n_corners() } else { 0 })
    }

    /// The contact point at a place; `None` if it has no weight.
    pub(super) fn spot(&self, place: Place) -> Option<Spot<S>> {
        let spot = match place {
            Place::Closest => self.closest(),
            Place::Lone => self.lone(S::constant(0.0)),
            Place::Corner(side, k) => self.corner(side, k),
            Place::Crossing(i, j) => self.crossing(i, j),
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

    /// The closest points with this weight. They are constants here: their derivatives come from the distance.
    fn nearest(&self, weight: S) -> Spot<S> {
        let constant = |p: &Vector3<f64>| p.map(S::constant);
        let Distance { point_a, point_b, .. } = self.distance;
        Spot { phi: self.phi, point_a: constant(point_a), point_b: constant(point_b), weight }
    }

    /// A corner of a body over the other body's side. A corner that is a little beyond the side's border counts at the
    /// nearest point of the border.
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
        if let Some(length) = self.fading {
            // A corner of the shown side may be beyond the border; other corners fade before it.
            let by_border = side.by_border(&there, if own.is_some() { length.value() } else { 0.0 })?;
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
        // A corner beyond the border has the same height at the border as at its own place.
        let here = along(&there, n, -dot(n, &sub(&there, &at)));
        self.between(if of == 0 { [here, there] } else { [there, here] }, (share, fade), side.settled)
    }

    /// The contact where edge `i` of A crosses edge `j` of B.
    fn crossing(&self, i: usize, j: usize) -> Option<Spot<S>> {
        let (n, length) = (&self.out[0], self.fading?);
        let edges = [&self.edges[0][i], &self.edges[1][j]];
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

    /// A factor from 1 for the deepest points down to 0 for those far above.
    fn lowness(&self, phi: S) -> S {
        let low = self.fading.map_or(S::constant(1.0), |length| length * S::constant(LOW));
        let height = phi - self.phi;
        if height.value() > 0.0 { low / (low + height) } else { S::constant(1.0) }
    }
}

/// An edge as seen along the contact normal.
struct Seen {
    /// Its index among the body's edges.
    edge: usize,
    /// The corners of a rectangle around it: least and largest of two coordinates, m.
    around: [[f64; 2]; 2],
    /// Its two ends, m.
    ends: [[f64; 2]; 2],
    /// The height of its end that is nearest to the other body, m.
    nearest: f64,
}

impl Seen {
    /// The rectangle around some edges.
    fn all_around(all: &[Self]) -> [[f64; 2]; 2] {
        all.iter().fold([[f64::INFINITY; 2], [f64::NEG_INFINITY; 2]], |[least, most], seen| {
            let [from, to] = seen.around;
            [[0, 1].map(|k| least[k].min(from[k])), [0, 1].map(|k| most[k].max(to[k]))]
        })
    }

    /// Has the rectangle around the edge a point in common with another one?
    fn meets(&self, [least, most]: &[[f64; 2]; 2]) -> bool {
        let [from, to] = self.around;
        (0..2).all(|k| from[k] <= most[k] && least[k] <= to[k])
    }

    /// Does the edge have points on both sides of another one's line, or on it?
    fn spans(&self, Self { ends: [p, q], .. }: &Self) -> bool {
        let aside = |[x, y]: [f64; 2]| (q[0] - p[0]) * (y - p[1]) - (q[1] - p[1]) * (x - p[0]);
        aside(self.ends[0]) * aside(self.ends[1]) <= 0.0
    }
}

impl View<'_, f64> {
    /// The places of the points that count, in order. If there are more than there is room for, also the place of the
    /// first that is left out.
    pub(super) fn chosen(&self) -> (Vec<Place>, Option<Place>) {
        if !self.detail.beyond && self.phi >= self.detail.reach {
            return (Vec::new(), None);
        }
        let is_flat = !self.bodies.iter().any(|body| is_round(body.core));
        if is_flat && self.near <= 0.0 {
            return (vec![Place::Lone], None);
        }
        let joined = usize::from(is_flat && self.detail.has_stand_in());
        let room = room(self.bodies.map(|body| body.core), self.detail) - joined;
        let mut all: Vec<(usize, Place, f64)> = Vec::with_capacity(4 * MANIFOLD);
        // What the last point that has room matters, and the first that has none.
        let mut best = [0.0; MANIFOLD + 1];
        let mut consider = |number: usize, place: Place, best: &mut [f64; MANIFOLD + 1]| {
            let is_near = |spot: &Spot<f64>| place == Place::Closest || spot.phi < self.detail.reach;
            let Some(spot) = self.spot(place).filter(is_near) else { return };
            let matters = self.matters(place, &spot);
            if matters < best[room] {
                return;
            }
            all.push((number, place, matters));
            let at = best.partition_point(|&other| other >= matters);
            if at <= room {
                best[at..=room].rotate_right(1);
                best[at] = matters;
            }
        };
        consider(0, Place::Closest, &mut best);
        let [of_a, of_b] = self.n_corners();
        // Of many corners and crossings few matter: those that may matter most are looked at first, until none is left
        // that may matter enough.
        let mut places = BinaryHeap::with_capacity(of_a + of_b);
        for (of, first) in [(0, 1), (1, 1 + of_a)] {
            self.most(of, best[room], |k, most| {
                places.push(Most { most, number: first + k, place: Place::Corner(of, k) });
            });
        }
        self.crossings(|i, j, most| {
            let number = 1 + of_a + of_b + i * self.edges[1].len() + j;
            places.push(Most { most, number, place: Place::Crossing(i, j) });
        });
        while let Some(Most { most, number, place }) = places.pop() {
            if most * (1.0 + ROUNDING) < best[room] {
                break;
            }
            consider(number, place, &mut best);
        }
        let mut next = None;
        if all.len() > room {
            let least = best[room];
            next = all.iter().filter(|&&(_, _, matters)| matters == least).min_by_key(|of| of.0).map(|of| of.1);
            all.retain(|&(_, _, matters)| matters > least);
        }
        all.sort_unstable_by_key(|of| of.0);
        let is_full = joined == 0 && all.len() == room;
        let is_whole = self.near >= 1.0 && (joined == 0 || next.is_none());
        let is_enough = is_full || is_whole && all.iter().map(|&(_, _, matters)| matters).sum::<f64>() > ENOUGH;
        let lone = (!is_enough).then_some(Place::Lone);
        (lone.into_iter().chain(all.into_iter().map(|(_, place, _)| place)).collect(), next)
    }

    /// Calls `give` for each edge of A and each of B that cross as seen along the normal, with the most that the point
    /// there may matter: as if it did not fade, where the edges are nearest. Where edges do not cross, there is none.
    fn crossings(&self, mut give: impl FnMut(usize, usize, f64)) {
        let seen = [0, 1].map(|of| self.seen_edges(of));
        let around = [0, 1].map(|of| Seen::all_around(&seen[of]));
        let radii = self.bodies[0].radius + self.bodies[1].radius;
        let near: Vec<&Seen> = seen[1].iter().filter(|edge| edge.meets(&around[0])).collect();
        for edge_a in seen[0].iter().filter(|edge| edge.meets(&around[1])) {
            for edge_b in near.iter().filter(|edge_b| edge_b.meets(&edge_a.around)) {
                if edge_a.spans(edge_b) && edge_b.spans(edge_a) {
                    let (i, j) = (edge_a.edge, edge_b.edge);
                    let share = self.edges[0][i].bend * self.edges[1][j].bend * 0.25;
                    give(i, j, share * self.lowness(edge_b.nearest - edge_a.nearest - radii));
                }
            }
        }
    }

    /// A body's edges as seen along the normal.
    fn seen_edges(&self, of: usize) -> Vec<Seen> {
        let n = &self.out[0];
        let first = n.cross(&Vector3::ith(n.iamin(), 1.0)).normalize();
        let axes = [first, n.cross(&first)];
        let seen = |(k, edge): (usize, &Edge)| {
            let ends = self.ends(of, edge)?;
            let [[x, y], [z, w]] = ends.map(|at| axes.map(|axis| axis.dot(&at)));
            let heights = ends.map(|at| n.dot(&at));
            let nearest = if of == 0 { heights[0].max(heights[1]) } else { heights[0].min(heights[1]) };
            let around = [[x.min(z), y.min(w)], [x.max(z), y.max(w)]];
            Some(Seen { edge: k, around, ends: [[x, y], [z, w]], nearest })
        };
        self.edges[of].iter().enumerate().filter_map(seen).collect()
    }

    /// Calls `give` for each corner of a body that may matter by at least `least`, with the most that it may: as if it
    /// were over the other's side, and that no higher than the other's closest point. It does not matter if its share
    /// is too small, or if it is not over the other's side, or beyond it by more than contacts fade.
    fn most(&self, of: usize, least: f64, mut give: impl FnMut(usize, f64)) {
        let (body, n) = (self.bodies[of], &self.out[of]);
        let closest = [self.distance.point_b, self.distance.point_a][of];
        let other = self.sides[1 - of].as_ref();
        let mut window = self.fading.and_then(|_| other?.window(&self.out[1 - of]));
        let middle = window.as_ref().map_or(closest, |window| window.middle);
        let height = n.dot(&(closest - middle)) - body.radius;
        let (fading, reach) = (self.fading.unwrap_or(0.0), self.detail.reach);
        let [slack, wide] = [0.0, fading].map(|fading| fading + other.map_or(0.0, Side::unevenness));
        let is_own = |k: usize| self.sides[of].as_ref().is_some_and(|own| own.holds(k));
        // Of a line's four borders two are at most `fading` away.
        let beyond = |radius: f64, by: f64| (radius * (1.0 + ROUNDING) + SQRT_2 * by).powi(2);
        let is_there = |window: &Window, k: usize, from: &Vector3<f64>, aside: f64| {
            aside <= beyond(window.radius, wide) && {
                let inside = |&(inward, at): &(Vector3<f64>, f64)| inward.dot(from) - at;
                let within = |by: f64| window.lines.iter().all(|line| inside(line) >= -by);
                (aside <= beyond(window.radius, slack) && within(slack)) || (is_own(k) && within(wide))
            }
        };
        if let Core::Hull(hull) = body.core {
            // In the hull's own frame, where the vertices are.
            let (n, middle) = (body.seen(n), body.seen(&(middle - body.origin)));
            if let Some(window) = &mut window {
                window.lines.iter_mut().for_each(|(inward, _)| *inward = body.seen(inward));
            }
            // Higher ones than this matter less, whatever their share.
            let low = self.fading.map_or(1.0, |length| length * LOW);
            let highest = self.phi + low * (hull.largest_share() / least - 1.0).max(0.0) * (1.0 + ROUNDING);
            let lowest = n.dot(&middle) + height - reach.min(highest);
            let lowest = lowest - ROUNDING * (lowest.abs() + hull.reach());
            for (k, (&vertex, &share)) in hull.vertices().iter().zip(hull.shares()).enumerate() {
                let vertex = Vector3::from(vertex);
                if n.dot(&vertex) < lowest || share < NONE {
                    continue;
                }
                let from = vertex - middle;
                let along = n.dot(&from);
                let aside = from.norm_squared() - along * along;
                if height - along < reach && window.as_ref().is_none_or(|window| is_there(window, k, &from, aside)) {
                    let is_minor = self.sides[of].as_ref().is_some_and(|own| own.is_minor(k));
                    give(k, share * self.lowness(height - along) * if is_minor { MINOR } else { 1.0 });
                }
            }
            return;
        }
        for k in 0..self.n_corners()[of] {
            let Some(Corner { at, share, .. }) = body.corner(k, n) else { continue };
            let from = at - middle;
            let along = n.dot(&from);
            let aside = from.norm_squared() - along * along;
            if share >= NONE
                && height - along < reach
                && window.as_ref().is_none_or(|window| is_there(window, k, &from, aside))
            {
                give(k, share * self.lowness(height - along));
            }
        }
    }
}

/// The most that a point may matter. The order is by that; of equal ones the first comes first.
struct Most {
    most: f64,
    number: usize,
    place: Place,
}

impl Ord for Most {
    fn cmp(&self, other: &Self) -> Ordering {
        self.most.total_cmp(&other.most).then(other.number.cmp(&self.number))
    }
}

impl PartialOrd for Most {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Most {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Most {}

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
    fn matters(&self, place: Place, spot: &Spot<S>) -> S {
        let is_minor = match place {
            Place::Corner(of, k) => self.sides[of].as_ref().is_some_and(|side| side.is_minor(k)),
            _ => false,
        };
        spot.weight * self.lowness(spot.phi) * S::constant(if is_minor { MINOR } else { 1.0 })
    }
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

#[cfg(test)]
mod tests {
    use nalgebra::{Isometry3, Quaternion, UnitQuaternion};
    use rand::{Rng, RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::Shape;
    use crate::collision::Collider;
    use crate::collision::collider::Posed;

    fn vector(random: &mut impl Rng, least: f64) -> Vector3<f64> {
        Vector3::from_fn(|_, _| random.random_range(least..1.0))
    }

    /// A shape of any family with flat sides or lines, about 1 m large.
    fn shape(random: &mut impl Rng) -> Shape {
        let size: [f64; 3] = vector(random, 0.1).into();
        match random.random_range(0..4) {
            0 => Shape::cuboid(size),
            1 => Shape::cylinder(size[0], size[1]),
            2 => Shape::capsule(size[0], size[1]),
            _ => {
                let n = random.random_range(8..60);
                let points: Vec<[f64; 3]> =
                    (0..n).map(|_| vector(random, -1.0).component_mul(&Vector3::from(size)).into()).collect();
                Shape::hull(&points).unwrap()
            }
        }
    }

    #[test]
    fn corners_that_are_not_looked_at_are_no_contacts() {
        let mut random = ChaCha8Rng::seed_from_u64(4);
        let mut looked_at = [0_usize; 2];
        for _ in 0..3000 {
            let colliders = [shape(&mut random), shape(&mut random)].map(|shape| Collider::new(&shape));
            let mut pose = || {
                let turn = Quaternion::from_vector(vector(&mut random, -1.0).push(random.random_range(-1.0..1.0)));
                Isometry3::from_parts(vector(&mut random, -1.0).into(), UnitQuaternion::from_quaternion(turn))
            };
            let poses = [pose(), pose()];
            let [a, b] = [0, 1].map(|k| Posed(&colliders[k], &poses[k]));
            let distance = a.distance_within(&b, f64::INFINITY).unwrap();
            let (a, b) = (Body::fixed(a), Body::fixed(b));
            let view = View::new([&a, &b], distance.normal, distance.phi, &distance, Detail::ALL);
            for of in [0, 1] {
                let mut bounds = vec![None; view.n_corners()[of]];
                view.most(of, 0.0, |k, most| bounds[k] = Some(most));
                for (k, most) in bounds.into_iter().enumerate() {
                    let place = Place::Corner(of, k);
                    looked_at[usize::from(most.is_some())] += 1;
                    let matters = view.spot(place).map(|spot| view.matters(place, &spot));
                    assert!(matters.is_none_or(|matters| most.is_some_and(|most| matters <= most * (1.0 + ROUNDING))));
                }
            }
        }
        assert!(looked_at.iter().all(|&n| n > 1000), "{looked_at:?}");
    }

    /// A keel stands on a bar that it crosses, and leans. It may roll onto either flank, so both far edges are
    /// contacts, at the heights that trigonometry gives.
    #[test]
    fn far_edges_of_both_flanks_are_contacts() {
        let (slope, leans, gap) = (0.2, 0.05, 0.01);
        let corners = [-0.5, 0.5].map(|y| [[-1.0, y, slope], [0.0, y, 0.0], [1.0, y, slope], [0.0, y, 2.0]]);
        let keel = Collider::new(&Shape::hull(&corners.concat()).unwrap());
        let bar = Collider::new(&Shape::capsule(0.1, 3.0));
        let lying = UnitQuaternion::from_axis_angle(&Vector3::y_axis(), std::f64::consts::FRAC_PI_2);
        let bar_pose = Isometry3::from_parts(Vector3::new(0.0, 0.0, -0.1).into(), lying);
        for lean in [leans, -leans, 0.01] {
            let turn = UnitQuaternion::from_axis_angle(&Vector3::y_axis(), lean);
            let pose = Isometry3::from_parts(Vector3::new(0.0, 0.0, gap).into(), turn);
            let found = bar.manifold(&bar_pose, &keel, &pose, Detail::ALL).unwrap();
            for side in [-1.0, 1.0] {
                let (x, height) =
                    (side * lean.cos() + slope * lean.sin(), gap + slope * lean.cos() - side * lean.sin());
                let is_there = |point: &crate::collision::ContactPoint| {
                    (point.point_b.x - x).abs() < 1e-9 && (point.phi - height).abs() < 1e-9 && point.weight > 0.01
                };
                assert!(found.points.iter().any(is_there), "{lean}, {x}, {height}: {:?}", found.points);
            }
        }
    }
}
