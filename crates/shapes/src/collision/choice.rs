//! Which of the many points of two bodies matter most: without a look at each, and with the same outcome.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::f64::consts::SQRT_2;

use nalgebra::Vector3;

use super::body::Corner;
use super::core::Core;
use super::detail::MANIFOLD;
use super::edges::Edge;
use super::heights::Heights;
use super::points::{ENOUGH, MINOR, NONE, Place, ROUNDING, Spot, View, is_round, part_inside, room};
use super::seen::{Seen, Stripes, around_all, cross_of};
use super::side::{STEEP, Side, Window};
use crate::step::rise;

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
        let mut all: Vec<(usize, Place, f64)> = Vec::with_capacity(2 * MANIFOLD);
        // What the last point that has room matters, and the first that has none.
        let mut best = [0.0; MANIFOLD + 1];
        let mut consider = |number: usize, place: Place, best: &mut [f64; MANIFOLD + 1]| {
            let is_near = |spot: &Spot<f64>| place == Place::Closest || spot.phi < self.detail.reach;
            let spot = match place {
                Place::Corner(of, k) => self.corner(of, k, best[room]).filter(|spot| spot.weight > 0.0),
                _ => self.spot(place),
            };
            let Some(spot) = spot.filter(is_near) else { return };
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
        let mut consider_all =
            |mut numbers: BinaryHeap<Most>, place: &dyn Fn(usize) -> Place, best: &mut [f64; MANIFOLD + 1]| {
                while let Some(Most { most, number }) = numbers.pop() {
                    if most * (1.0 + ROUNDING) < best[room] {
                        break;
                    }
                    consider(number, place(number), best);
                }
            };
        let corner = |number: usize| match number.checked_sub(1 + of_a) {
            Some(k) => Place::Corner(1, k),
            None => Place::Corner(0, number - 1),
        };
        for part in [Corners::Main, Corners::Others] {
            let mut corners = BinaryHeap::new();
            for (of, first) in [(0, 1), (1, 1 + of_a)] {
                self.most(of, part, best[room], |k, most| corners.push(Most { most, number: first + k }));
            }
            consider_all(corners, &corner, &mut best);
        }
        let edges = self.edges(best[room]);
        let (mut crossings, first, n) = (BinaryHeap::new(), 1 + of_a + of_b, edges[1].len());
        self.crossings(&edges, best[room], |[i, j], most| crossings.push(Most { most, number: first + i * n + j }));
        let crossing = |number: usize| {
            let k = number - first;
            Place::Crossing(edges[0][k / n], edges[1][k % n])
        };
        consider_all(crossings, &crossing, &mut best);
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

    /// The edges of A and of B that may have a crossing that matters by at least `least`.
    fn edges(&self, least: f64) -> [Vec<Edge>; 2] {
        let [Some(side_a), Some(side_b)] = &self.sides else { return [Vec::new(), Vec::new()] };
        if self.bodies.iter().any(|body| matches!(body.core, Core::HalfSpace)) {
            return [Vec::new(), Vec::new()];
        }
        let wide = self.bodies.iter().any(|body| matches!(body.core, Core::Hull(_)));
        let bends = [Edge::largest_bend(self.bodies[0], side_a), Edge::largest_bend(self.bodies[1], side_b)];
        let edges = |of: usize, side: &Side<'_, f64>| {
            let wanted = |bend: f64| self.may_matter(0.25 * bend * bends[1 - of], 0.0, least);
            Edge::of(self.bodies[of], side, &self.out[of], wide, wanted)
        };
        [edges(0, side_a), edges(1, side_b)]
    }

    /// Calls `give` for each of these edges of A and each of B that cross as seen along the normal and may matter by at
    /// least `least`, with their places and the most that the point there may matter. Where edges do not cross, there
    /// is none.
    fn crossings(&self, edges: &[Vec<Edge>; 2], least: f64, mut give: impl FnMut([usize; 2], f64)) {
        let Some(fading) = self.fading else { return };
        let mut seen = [0, 1].map(|of| self.seen(of, &edges[of]));
        let [[from_a, to_a], [from_b, to_b]] = [0, 1].map(|of| around_all(&seen[of]));
        let common = [[0, 1].map(|k| from_a[k].max(from_b[k])), [0, 1].map(|k| to_a[k].min(to_b[k]))];
        let is_common = |edge: &Seen| {
            let [least, most] = edge.around();
            (0..2).all(|k| least[k] <= common[1][k] && common[0][k] <= most[k])
        };
        seen.iter_mut().for_each(|seen| seen.retain(is_common));
        let stripes = Stripes::new(common, &seen[1]);
        let radii = self.bodies[0].radius + self.bodies[1].radius;
        for edge_a in &seen[0] {
            for edge_b in stripes.near(edge_a).map(|k| &seen[1][k]) {
                let Some(parts) = edge_a.crosses(edge_b) else { continue };
                let lengths = [edge_a, edge_b].map(Seen::length);
                let across = cross_of(edge_a.along(), edge_b.along()) / (lengths[0] * lengths[1]);
                let inner = |k: usize| {
                    let inside = |part: f64| rise(part * lengths[k] / fading + ROUNDING, [0.0, 1.0]);
                    inside(parts[k]) * inside(1.0 - parts[k])
                };
                let height = |edge: &Seen, part: f64| (1.0 - part) * edge.heights[0] + part * edge.heights[1];
                let gap = height(edge_b, parts[1]) - height(edge_a, parts[0]) - radii;
                let fade = across * across * edge_a.strength * edge_b.strength * inner(0) * inner(1);
                let share = 0.25 * edges[0][edge_a.edge].bend * edges[1][edge_b.edge].bend;
                let most = self.most_of(share, fade, gap);
                if most > 0.0 && most >= least {
                    give([edge_a.edge, edge_b.edge], most);
                }
            }
        }
    }

    /// Edges of a body as seen along the normal.
    fn seen(&self, of: usize, edges: &[Edge]) -> Vec<Seen> {
        let (body, n) = (self.bodies[of], &self.out[0]);
        let first = n.cross(&Vector3::ith(n.iamin(), 1.0)).normalize();
        let axes = [first, n.cross(&first), *n];
        // A hull's in its own frame.
        let local = axes.map(|axis| body.seen(&axis));
        let origin = axes.map(|axis| axis.dot(&body.origin));
        let place = |k: usize| match body.core {
            Core::Hull(hull) => {
                let vertex = Vector3::from(hull.vertices()[k]);
                Some([0, 1, 2].map(|i| origin[i] + local[i].dot(&vertex)))
            }
            _ => body.corner(k, &self.out[of]).map(|corner| axes.map(|axis| axis.dot(&corner.at))),
        };
        let out = body.seen(&self.out[of]);
        let seen = |(edge, Edge { ends: [from, to], face, .. }): (usize, &Edge)| {
            let ([x, y, low], [z, w, high]) = (place(*from)?, place(*to)?);
            let strength = match face {
                Some(face) => rise(face.dot(&out), STEEP),
                None => self.sides[of].as_ref()?.strength,
            };
            (strength > 0.0).then_some(Seen { edge, ends: [[x, y], [z, w]], heights: [low, high], strength })
        };
        edges.iter().enumerate().filter_map(seen).collect()
    }

    /// May a point with this share of all directions matter by at least `least` if it is this far above the deepest
    /// one, m? A quick test.
    fn may_matter(&self, share: f64, height: f64, least: f64) -> bool {
        let low = self.low();
        share * self.near * low * (1.0 + ROUNDING) >= least * (low + height)
    }

    /// Calls `give` for each corner of a part of a body's that may matter by at least `least`, with the most that it
    /// may: as if it were no higher over the other's side than over the plane through the other's closest point. It
    /// does not matter if its share is too small, or if it is beyond the other's side by more than contacts fade.
    fn most(&self, of: usize, part: Corners, least: f64, mut give: impl FnMut(usize, f64)) {
        let (body, n) = (self.bodies[of], &self.out[of]);
        let [own, other] = [of, 1 - of].map(|k| self.sides[k].as_ref());
        let main = own.and_then(Side::of_hull).map_or(&[][..], |side| &side.main_corners);
        if part == Corners::Main && main.is_empty() {
            return;
        }
        let window = self.fading.and_then(|_| other?.window(&self.out[1 - of]));
        let closest = [self.distance.point_b, self.distance.point_a][of];
        let middle = window.as_ref().map_or(closest, |window| window.middle);
        let height = n.dot(&(closest - middle)) - body.radius;
        let (fading, reach) = (self.fading.unwrap_or(0.0), self.detail.reach);
        // Of a line's four borders two are at most that far away.
        let widest = window.as_ref().map_or(f64::INFINITY, |Window { radius, slack, .. }| {
            (radius + SQRT_2 * (fading + slack)).powi(2) * (1.0 + ROUNDING)
        });
        // A hull's corners are looked at in its own frame.
        let is_hull = matches!(body.core, Core::Hull(_));
        let seen = |direction: &Vector3<f64>| if is_hull { body.seen(direction) } else { *direction };
        let (n, middle) = (seen(n), seen(&(middle - body.origin)));
        let lines = window.iter().flat_map(|window| &window.lines).map(|(inward, at)| (seen(inward), *at));
        let lines = Heights::new(lines);
        let strength = other.map_or(0.0, |other| other.strength);
        let mut look = |k: usize, at: Vector3<f64>, share: f64| {
            let from = at - middle;
            let along = n.dot(&from);
            let over = height - along;
            if over >= reach {
                return;
            }
            let aside = from.norm_squared() - along * along;
            if aside > widest {
                return;
            }
            let is_own = own.is_some_and(|own| own.holds(k));
            let is_minor = is_own && own.is_some_and(|own| own.is_minor(k));
            let share = if is_minor { share * MINOR } else { share };
            let is_main = is_own && !is_minor && !main.is_empty();
            if (is_main && part == Corners::Others) || !self.may_matter(share * strength, over - self.phi, least) {
                return;
            }
            let left = if window.is_some() { part_inside(lines.least(&from) / fading, is_own) } else { 1.0 };
            let most = self.most_of(share, left * strength, over);
            if most > 0.0 && most >= least {
                give(k, most);
            }
        };
        if let Core::Hull(hull) = body.core {
            if part == Corners::Main {
                let is_there = |&&k: &&usize| hull.shares()[k] >= NONE;
                main.iter().filter(is_there).for_each(|&k| look(k, hull.vertices()[k].into(), hull.shares()[k]));
                return;
            }
            let top = height + n.dot(&middle) + self.low() - self.phi;
            let may = strength * self.near * self.low() * (1.0 + ROUNDING);
            let vertex = |k: usize| Vector3::from(hull.vertices()[k]);
            // What `may_matter` says, quickly: of the deepest corner first.
            let rest = least * (top - n.dot(&vertex(hull.farthest(&n))) - ROUNDING * top.abs());
            let counts = |&&k: &&usize| hull.shares()[k] >= NONE && hull.shares()[k] * may >= rest;
            for &k in hull.by_share().iter().take_while(counts) {
                if hull.shares()[k] * may >= least * (top - n.dot(&vertex(k))) {
                    look(k, vertex(k), hull.shares()[k]);
                }
            }
            return;
        }
        for k in 0..self.n_corners()[of] {
            if let Some(Corner { at, share, .. }) = body.corner(k, &self.out[of]).filter(|corner| corner.share >= NONE)
            {
                look(k, at - body.origin, share);
            }
        }
    }
}

/// Some of a body's corners.
#[derive(Clone, Copy, PartialEq)]
enum Corners {
    /// The main corners of the side that a hull shows, which matter most as a rule.
    Main,
    Others,
}

/// The most that a point may matter. The order is by that; of equal ones the first comes first.
struct Most {
    most: f64,
    number: usize,
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

#[cfg(test)]
mod tests {
    use nalgebra::{Isometry3, Quaternion, UnitQuaternion};
    use rand::{Rng, RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::Shape;
    use crate::collision::body::Body;
    use crate::collision::collider::Posed;
    use crate::collision::{Collider, Detail};

    fn vector(random: &mut impl Rng, least: f64) -> Vector3<f64> {
        Vector3::from_fn(|_, _| random.random_range(least..1.0))
    }

    /// A shape of any family with flat sides or lines, about 1 m large. Of the hulls some have sides of many faces.
    fn shape(random: &mut impl Rng) -> Shape {
        let size = vector(random, 0.1);
        let n = random.random_range(8..60);
        let mut hull = |n: usize, place: &dyn Fn(Vector3<f64>) -> Vector3<f64>| {
            let points: Vec<[f64; 3]> =
                (0..n).map(|_| place(vector(random, -1.0)).component_mul(&size).into()).collect();
            Shape::hull(&points).unwrap()
        };
        match n % 8 {
            0 => Shape::cuboid(size.into()),
            1 => Shape::cylinder(size.x, size.y),
            2 => Shape::capsule(size.x, size.y),
            3 => hull(n, &|p| p),
            4 => Shape::rounded_cuboid(size.into(), 0.05),
            5 => Shape::HalfSpace,
            // A box with round edges, whose sides bulge by a thousandth.
            6 => hull(300, &|p| p.map(|x| x.signum() * x.abs().powf(0.1)) * (1.0 - 1e-3 * p.norm_squared())),
            _ => hull(200, &|p| p.normalize()),
        }
    }

    /// What a look at each corner and each crossing finds.
    fn chosen_of_all(view: &View<'_, f64>) -> (Vec<Place>, Option<Place>) {
        let is_flat = !view.bodies.iter().any(|body| is_round(body.core));
        let joined = usize::from(is_flat && view.detail.has_stand_in());
        let room = room(view.bodies.map(|body| body.core), view.detail) - joined;
        let corners = [0, 1].map(|of| (0..view.n_corners()[of]).map(move |k| Place::Corner(of, k)));
        let edges = view.edges(0.0);
        let crossings = edges[0].iter().flat_map(|a| edges[1].iter().map(|b| Place::Crossing(*a, *b)));
        let places = [Place::Closest].into_iter().chain(corners.into_iter().flatten()).chain(crossings);
        let all: Vec<(Place, f64)> = places
            .filter_map(|place| Some((place, view.spot(place)?)))
            .filter(|(place, spot)| *place == Place::Closest || spot.phi < view.detail.reach)
            .map(|(place, spot)| (place, view.matters(place, &spot)))
            .collect();
        let mut sorted: Vec<f64> = all.iter().map(|of| of.1).collect();
        sorted.sort_by(|x, y| y.total_cmp(x));
        let limit = sorted.get(room).copied().unwrap_or(-1.0);
        let next = all.iter().find(|of| of.1 == limit).map(|of| of.0);
        let kept: Vec<(Place, f64)> = all.into_iter().filter(|of| of.1 > limit).collect();
        let is_full = joined == 0 && kept.len() == room;
        let is_whole = view.near >= 1.0 && (joined == 0 || next.is_none());
        let is_enough = is_full || is_whole && kept.iter().map(|of| of.1).sum::<f64>() > ENOUGH;
        let lone = (!is_enough).then_some(Place::Lone);
        (lone.into_iter().chain(kept.into_iter().map(|of| of.0)).collect(), next)
    }

    #[test]
    fn what_is_chosen_is_what_a_look_at_all_finds() {
        let mut random = ChaCha8Rng::seed_from_u64(4);
        let own = Detail { all: 0.3, closest: 0.6, reach: 1.0, beyond: false, points: 5 };
        let near = Detail { all: 0.1, closest: 0.2, reach: 0.5, ..Detail::ALL };
        let mut n_of_kind = [0_usize; 3];
        for k in 0..3000 {
            let colliders = [shape(&mut random), shape(&mut random)].map(|shape| Collider::new(&shape));
            let mut pose = || {
                let turn = Quaternion::from_vector(vector(&mut random, -1.0).push(random.random_range(-1.0..1.0)));
                Isometry3::from_parts(vector(&mut random, -1.0).into(), UnitQuaternion::from_quaternion(turn))
            };
            let poses = [pose(), pose()];
            let mut bodies = [0, 1].map(|k| Posed(&colliders[k], &poses[k]));
            bodies.sort_by(Posed::order);
            let [a, b] = bodies;
            // None of two half-spaces.
            let Some(distance) = a.distance_within(&b, f64::INFINITY) else { continue };
            let (a, b) = (Body::fixed(a), Body::fixed(b));
            let detail = [Detail::ALL, own, near][k % 3];
            let view = View::new([&a, &b], distance.normal, distance.phi, &distance, detail);
            if view.near <= 0.0 || (!detail.beyond && view.phi >= detail.reach) {
                continue;
            }
            let found = view.chosen();
            assert_eq!(found, chosen_of_all(&view), "{k}: {distance:?}");
            for place in found.0 {
                n_of_kind[match place {
                    Place::Corner(..) => 0,
                    Place::Crossing(..) => 1,
                    _ => 2,
                }] += 1;
            }
        }
        assert!(n_of_kind.iter().all(|&n| n > 500), "{n_of_kind:?}");
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
