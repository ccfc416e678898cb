//! Several contact points where flat parts of two bodies meet.
//!
//! All have the normal n of the distance. A's part that looks most along n and B's that looks most along −n are planes over
//! the plane across n, where they overlap as polygons: each corner of the overlap is a contact point, with the gap along n
//! between the two planes. No gap is below the distance, and the deepest corner has it. A corner's weight is the
//! probability that a small tilt makes it the deepest, see `tilt.rs`: the weights add up to one and, with the points,
//! are continuous as long as n is. As its weight vanishes a point stands back: its gap grows until it is out of reach. Which parts meet
//! does not depend on the order of the bodies. What is left to jump: a body shows one face, so where two faces beside an edge look alike
//! along n, and the other body's edge is nearly along both, contact points change sides.
//!
//! A round cap, and a face of more corners than a patch has, are more than the polygon in their place: the closest points
//! are a contact too, and take the others' weight as the sides tilt, or as the polygon misses where they meet. So they do
//! where a line lies on an edge: the other's face leans from it sideways, the sooner the more the line runs along the edge. They stand back
//! like others as their weight vanishes, by what a tilt makes of the part that the polygon may miss. A line on a round cap is met by the
//! cap itself: the chord.

use std::cmp::Ordering;

use nalgebra::{Isometry3, Vector2, Vector3};

use super::collider::Posed;
use super::number::{Number, along, constant, cross, cross2, dot, dot2, sub, sub2, unit, values};
use super::overlap::{Corner, chord, overlap, polygon};
use super::patch::{self, Body, CORNERS, Disc, Patch};
use super::tilt::{NONE, part, weights};
use super::{Collider, Distance};

/// Contact points that a [`Collider::manifold`] has at most: the corners of two patches, and the closest points.
pub const MANIFOLD: usize = 2 * CORNERS + 1;

/// The contact points of two bodies.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifold {
    /// The signed distance of the bodies; its normal is that of all points, and no point's φ is smaller.
    pub distance: Distance,
    /// The points, one at least; the closest points, where they are one of several, are the first.
    pub points: Vec<ContactPoint>,
}

/// One of several points where bodies meet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactPoint {
    /// The gap along the manifold's normal, m; more, where the weight is below [`LIGHT`], so that what carries little weight carries
    /// little force.
    pub phi: f64,
    /// Point on A in the world, m.
    pub point_a: Vector3<f64>,
    /// Point on B in the world, m: A's and the gap along the normal.
    pub point_b: Vector3<f64>,
    /// Its part of the pair's contact, from 0 to 1; all points' are 1 together.
    pub weight: f64,
}

impl Collider {
    /// Contact points of bodies up to `margin` apart, m; none if they are farther apart, or between two half-spaces.
    ///
    /// A cylinder's cap has an octagon in its place, fixed to its frame, a hull's face of more than eight corners eight of
    /// them; a cylinder's side and a capsule are lines. In exchanged bodies the points are the same, exchanged.
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

    /// Points that a manifold of these two can have.
    pub fn most_points(&self, other: &Self) -> usize {
        let (Some((a, less_a)), Some((b, less_b))) = (patch::corners(&self.core), patch::corners(&other.core)) else {
            return 1;
        };
        let corners = if a.min(b) == 2 { 2 } else { a + b };
        corners + usize::from(less_a || less_b)
    }
}

impl Posed<'_> {
    /// The manifold of bodies in the order of [`Posed::order`].
    fn manifold(&self, other: &Self, margin: f64) -> Option<Manifold> {
        let distance = self.distance(other).filter(|distance| distance.phi <= margin)?;
        let (a, b) = (Body::fixed(*self), Body::fixed(*other));
        let Spread { corners, closest } = Spread::new(&a, &b, &distance.normal, distance.phi, &distance);
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

/// A contact point in numbers that may carry rates.
pub(super) struct Spot<S> {
    pub(super) phi: S,
    pub(super) point_a: Vector3<S>,
    pub(super) point_b: Vector3<S>,
    pub(super) weight: S,
}

/// The contact points other than the closest ones, and the weight of those, if they are one.
pub(super) struct Spread<S> {
    pub(super) corners: Vec<Spot<S>>,
    pub(super) closest: Option<Closest<S>>,
}

/// The closest points as one of several.
pub(super) struct Closest<S> {
    pub(super) weight: S,
    /// How far they stand back, m.
    pub(super) back: S,
}

impl<S: Number> Spread<S> {
    /// Of bodies with a distance whose normal and φ are given as numbers.
    pub(super) fn new(a: &Body<'_, S>, b: &Body<'_, S>, n: &Vector3<S>, phi: S, distance: &Distance) -> Self {
        Self::of_patches(a, b, n, phi, distance).unwrap_or_else(|| Self {
            corners: Vec::new(),
            closest: Some(Closest { weight: S::constant(1.0), back: S::constant(0.0) }),
        })
    }

    fn of_patches(a: &Body<'_, S>, b: &Body<'_, S>, n: &Vector3<S>, phi: S, distance: &Distance) -> Option<Self> {
        let tilt = patch::tilt(a.core).min(patch::tilt(b.core));
        // A vertex that sticks out stays the deepest, whatever the tilt: the closest points are all.
        let is_less = |body: &Body<'_, S>| patch::corners(body.core).is_some_and(|(_, less)| less);
        let sharp = if is_less(a) || is_less(b) { f64::INFINITY } else { tilt / tilt.hypot(1.0) };
        let (of_a, of_b) = (Patch::towards(a, n, sharp)?, Patch::towards(b, &-n, sharp)?);
        let across = Across::new(n, &distance.point_a);
        let [plane_a, plane_b] = [&of_a, &of_b].map(|patch| across.plane(patch));
        let corners = across.overlap(&of_a, &of_b);
        // Where the polygons touch in a point, that is the closest one.
        if corners.len() < 2 {
            return None;
        }
        let slope = sub2(&plane_b.slope, &plane_a.slope);
        let spot = |(corner, weight): (&Corner<S>, S)| {
            let x = &corner.at;
            let height = plane_a.height(x) + a.radius;
            let phi = plane_b.height(x) - b.radius - height;
            let [u, v] = &across.axes;
            let point_a = along(&along(&along(&constant(&across.origin), u, x.x), v, x.y), n, height);
            Spot { phi, point_a, point_b: along(&point_a, n, phi), weight }
        };
        let mut all: Vec<Spot<S>> = corners.iter().zip(weights(&corners, &slope, tilt)).map(spot).collect();
        let sides = [(&of_a, plane_a.slope, plane_b.slope), (&of_b, plane_b.slope, plane_a.slope)];
        if sides.iter().all(|(patch, ..)| patch.inscribed.is_none() && patch.corners.len() != 2) {
            stand_back(&mut all, &corners, phi);
            return Some(Self { corners: all, closest: None });
        }
        let (deepest, least) = deepest(&corners, &all)?;
        let (one, mut share) = (S::constant(1.0), S::constant(1.0));
        for (k, (patch, own, others)) in sides.into_iter().enumerate() {
            let other = sides[1 - k].0;
            if let [from, to] = &patch.corners[..]
                && other.disc.is_none()
            {
                let line = across.flat(&sub(to, from));
                let aside = cross2(&line, &others);
                if aside.value() != 0.0 {
                    let apart = apart(&line, &deepest.at, &polygon(&across.project(other)), tilt);
                    share *= one - part(aside * aside / (dot2(&line, &line) * S::constant(tilt * tilt) * apart));
                }
            }
            let Some(size) = patch.inscribed else { continue };
            share *= one - part(dot2(&own, &own) * S::constant(tilt.powi(-2)));
            let is_chord = other.corners.len() == 2 && patch.disc.is_some();
            if !is_chord {
                let missed = (least - phi) / (size * S::constant(MISSED * tilt));
                share *= one - part(missed * missed);
            }
            let small = if is_chord { SHORT } else { SMALL };
            share *= part(spread(&corners) / (size * size * S::constant(small * small)));
        }
        let none = S::constant(0.0);
        let mut rest = one - share;
        for spot in &mut all {
            let weight = spot.weight * share;
            let is_none = weight.value() < NONE;
            rest += if is_none { weight } else { none };
            spot.weight = if is_none { none } else { weight };
        }
        if rest.value() < NONE
            && let Some(heaviest) = all.iter_mut().max_by(|x, y| x.weight.value().total_cmp(&y.weight.value()))
        {
            heaviest.weight += std::mem::replace(&mut rest, none);
        }
        stand_back(&mut all, &corners, phi);
        let back = if rest.value() > 0.0 && rest.value() < LIGHT {
            let lacks = S::constant(LIGHT) - rest;
            spread(&corners).sqrt() * S::constant(MISSED * tilt) * lacks * lacks / (rest * S::constant(LIGHT))
        } else {
            none
        };
        if dot2(&slope, &slope).value() < PARALLEL * PARALLEL {
            let share = S::constant(1.0 / corners.len() as f64);
            let middle = corners.iter().fold(Vector2::repeat(none), |sum, corner| sum + corner.at * share);
            all.insert(0, Spot { phi: phi + back, ..spot((&Corner { at: middle, edge: middle }, rest)) });
            return Some(Self { corners: all, closest: None });
        }
        Some(Self { corners: all, closest: Some(Closest { weight: rest, back }) })
    }
}

/// The corner with the least φ, and that.
fn deepest<'a, S: Number>(corners: &'a [Corner<S>], spots: &[Spot<S>]) -> Option<(&'a Corner<S>, S)> {
    let all = corners.iter().zip(spots).map(|(corner, spot)| (corner, spot.phi));
    all.min_by(|(_, x), (_, y)| x.value().total_cmp(&y.value()))
}

/// How far a line through a point is from running along a polygon's edge through that point, squared: 0 if it does, 1 if it is apart by the
/// slope `tilt`, or the point by [`NEAR`] parts of the polygon's size.
///
/// Where a line turns through the direction of an edge, what it has over the polygon goes from a stretch to a point.
fn apart<S: Number>(line: &Vector2<S>, point: &Vector2<S>, polygon: &[Corner<S>], tilt: f64) -> S {
    let near = spread(polygon) * S::constant(NEAR * NEAR);
    let square = dot2(line, line) * S::constant(tilt * tilt);
    polygon.iter().fold(S::constant(1.0), |product, Corner { at, edge }| {
        let (turned, off) = (cross2(edge, line), cross2(edge, &sub2(point, at)));
        product * part((turned * turned / square + off * off / near) / dot2(edge, edge))
    })
}

/// A hard contact of however little weight carries what comes upon it: light points stand back, by what they are above the
/// closest ones times (`LIGHT` − w)²/(w `LIGHT`), so that they carry nothing before they are none. Corners that have just
/// parted are still one: w is what there is around.
fn stand_back<S: Number>(spots: &mut [Spot<S>], corners: &[Corner<S>], closest: S) {
    let one = S::constant(1.0);
    let near = spread(corners) * S::constant(NEAR * NEAR);
    for (i, here) in corners.iter().enumerate() {
        let (own, height) = (spots[i].weight.value(), spots[i].phi - closest);
        if !(own > 0.0 && own < LIGHT && height.value() > 0.0) {
            continue;
        }
        let mut around = S::constant(0.0);
        for (there, spot) in corners.iter().zip(&*spots) {
            let between = sub2(&there.at, &here.at);
            around += spot.weight * (one - part(dot2(&between, &between) / near));
        }
        if around.value() < LIGHT {
            let lacks = S::constant(LIGHT) - around;
            spots[i].phi += height * lacks * lacks / (around * S::constant(LIGHT));
        }
    }
}

/// Where slopes are less than this all points of the overlap are the closest ones: the middle of its corners stands for them.
const PARALLEL: f64 = 1e-9;

/// The weight below which a point of a [`Collider::manifold`] stands back.
pub const LIGHT: f64 = 0.02;
/// Corners this near to each other, in parts of the polygon's size, count as one in part.
pub(crate) const NEAR: f64 = 0.05;

/// Overlaps whose corners are this near to each other, in parts of the polygon's size, count less than the closest points,
/// and so do those whose corners are all higher than the closest points by this part of what a tilt makes of the size.
const SMALL: f64 = 0.5;
/// The same of a cap's chords, which miss nothing: only so that the closest points take over before there is none.
const SHORT: f64 = 0.1;
const MISSED: f64 = 0.05;

/// The sum of the squared distances between neighbouring corners.
fn spread<S: Number>(corners: &[Corner<S>]) -> S {
    let next = corners.iter().cycle().skip(1);
    corners.iter().zip(next).fold(S::constant(0.0), |sum, (p, q)| {
        let between = sub2(&q.at, &p.at);
        sum + between.x * between.x + between.y * between.y
    })
}

/// The plane across n through a point.
struct Across<'a, S> {
    axes: [Vector3<S>; 2],
    n: &'a Vector3<S>,
    origin: Vector3<f64>,
}

/// The plane of a patch: its height along n over the plane across n.
struct Plane<S> {
    through: Vector2<S>,
    height: S,
    slope: Vector2<S>,
}

impl<S: Number> Plane<S> {
    fn height(&self, x: &Vector2<S>) -> S {
        let step = sub2(x, &self.through);
        self.height + self.slope.x * step.x + self.slope.y * step.y
    }
}

impl<'a, S: Number> Across<'a, S> {
    fn new(n: &'a Vector3<S>, origin: &Vector3<f64>) -> Self {
        let u = unit(&cross(n, &constant(&Vector3::ith(values(n).iamin(), 1.0))));
        Self { axes: [u, cross(n, &u)], n, origin: *origin }
    }

    fn flat(&self, v: &Vector3<S>) -> Vector2<S> {
        Vector2::new(dot(&self.axes[0], v), dot(&self.axes[1], v))
    }

    fn plane(&self, patch: &Patch<S>) -> Plane<S> {
        let from = sub(&patch.anchor, &constant(&self.origin));
        let (tilted, down) = (self.flat(&patch.normal), S::constant(-1.0) / dot(self.n, &patch.normal));
        Plane {
            through: self.flat(&from),
            height: dot(self.n, &from),
            slope: Vector2::new(tilted.x * down, tilted.y * down),
        }
    }

    fn project(&self, patch: &Patch<S>) -> Vec<Vector2<S>> {
        patch.corners.iter().map(|corner| self.over(corner)).collect()
    }

    fn over(&self, point: &Vector3<S>) -> Vector2<S> {
        self.flat(&sub(point, &constant(&self.origin)))
    }

    /// Where the patches of A and B lie over each other; nothing if none of them is a polygon.
    fn overlap(&self, a: &Patch<S>, b: &Patch<S>) -> Vec<Corner<S>> {
        let [on_a, mut on_b] = [a, b].map(|patch| self.project(patch));
        on_b.reverse();
        if let (Some(Disc { middle, radii }), [from, to], _) | (Some(Disc { middle, radii }), _, [from, to]) =
            (a.disc.as_ref().or(b.disc.as_ref()), &on_a[..], &on_b[..])
        {
            return chord(&[*from, *to], &self.over(middle), &[0, 1].map(|k| self.flat(&radii[k])));
        }
        let [on_a, on_b] = [on_a, on_b].map(|points| polygon(&points));
        match (on_a.len(), on_b.len()) {
            (0, _) => on_b,
            (_, 0) => on_a,
            (_, 3..) => overlap(&on_a, &on_b),
            (3.., _) => overlap(&on_b, &on_a),
            _ => Vec::new(),
        }
    }
}
