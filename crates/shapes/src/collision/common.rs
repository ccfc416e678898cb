//! The length that two bodies have in common where an edge of one lies beside an edge of the other or over its face.
//! Any points along it are equally near, and which of them a search finds is up to rounding. The middle is a function
//! of the poses.

use nalgebra::{Matrix3, Vector3};

use super::Distance;
use super::body::Body;
use super::collider::Posed;
use super::core::Core;
use super::frame::{turned, turned_back};
use crate::Shape;
use crate::number::{Number, values};

/// Directions at a smaller angle than this, in rad, are parallel.
const PARALLEL: f64 = 1e-7;
/// Corners that are lower than the farthest by less than this part of their body's size are of one part with it: a flat
/// side of a mesh in single precision is of faces that are nearly in one plane.
const LEVEL: f64 = 1e-6;
/// Corners that are no farther from a line than this part of its length are on it.
const STRAIGHT: f64 = 1e-5;
/// Lengths that are shorter than this part of the bodies' size are none.
const TIED: f64 = 1e-12;

/// A core at its pose in the world, and the radius around it.
#[derive(Clone, Copy)]
pub(super) struct Framed<'a> {
    core: &'a Core,
    radius: f64,
    rotation: Matrix3<f64>,
    translation: Vector3<f64>,
}

/// A common length of A and B, through points of both that are nearest.
pub(super) struct Common {
    /// The unit vector along it.
    pub(super) along: Vector3<f64>,
    /// Is it an edge of A, of B?
    pub(super) is_edge: [bool; 2],
    /// Where it ends behind and ahead.
    ends: [End; 2],
}

/// An end of a common length.
struct End {
    /// How far it is ahead of the points, m.
    ahead: f64,
    /// The outward normals of the borders of A and B that end it: of one body, or of both.
    by: [Option<Vector3<f64>>; 2],
}

/// The corners of the farthest part of a core along a direction.
enum Farthest {
    Vertex,
    Edge([Vector3<f64>; 2]),
    Face(Vec<Vector3<f64>>),
}

impl<'a> Framed<'a> {
    pub(super) fn of<S: Number>(Body { core, radius, axes, origin, .. }: &Body<'a, S>) -> Self {
        let rotation = Matrix3::from_columns(&axes.each_ref().map(values));
        Self { core, radius: radius.value(), rotation, translation: values(origin) }
    }

    /// The farthest part along n; of a hull the corners next to its farthest one alone, unless it is wanted whole.
    /// `None` for cores that are not of flat faces.
    fn farthest(&self, n: &Vector3<f64>, whole: bool) -> Option<Farthest> {
        let n = turned_back(&self.rotation, n);
        let lowest = LEVEL * self.core.reach();
        let corners: Vec<Vector3<f64>> = match self.core {
            Core::Box(half) => {
                let is_free = |i: usize| half[i] * n[i].abs() < lowest;
                let far = |k: usize, i: usize| half[i].copysign(if k >> i & 1 == 0 { n[i] } else { -n[i] });
                let chosen = (0..8_usize).filter(|k| (0..3).all(|i| k >> i & 1 == 0 || is_free(i)));
                chosen.map(|k| Vector3::from_fn(|i, _| far(k, i))).collect()
            }
            Core::Hull(hull) => {
                let vertex = |k: usize| Vector3::from(hull.vertices()[k]);
                let first = hull.farthest(&n);
                let least = n.dot(&vertex(first)) - lowest;
                let mut is_found = vec![false; hull.vertices().len()];
                is_found[first] = true;
                let (mut found, mut next) = (vec![first], 0);
                while let Some(&from) = found.get(next).filter(|_| whole || next == 0) {
                    for &k in hull.neighbours(from) {
                        if !is_found[k] && n.dot(&vertex(k)) > least {
                            is_found[k] = true;
                            found.push(k);
                        }
                    }
                    next += 1;
                }
                found.into_iter().map(vertex).collect()
            }
            _ => return None,
        };
        if corners.len() == 1 {
            return Some(Farthest::Vertex);
        }
        let placed = |p: &Vector3<f64>| turned(&self.rotation, p) + self.translation;
        let length = |x: &Vector3<f64>, p: Vector3<f64>| (x - p).norm_squared();
        let from = |p: Vector3<f64>| corners.iter().copied().max_by(|x, y| length(x, p).total_cmp(&length(y, p)));
        let one = from(*corners.first()?)?;
        let other = from(one)?;
        let edge = other - one;
        let is_on = |corner: &Vector3<f64>| edge.cross(&(corner - one)).norm() <= STRAIGHT * edge.norm_squared();
        // An edge may have corners between its ends.
        Some(if corners.iter().all(is_on) {
            Farthest::Edge([placed(&one), placed(&other)])
        } else {
            Farthest::Face(corners.iter().map(placed).collect())
        })
    }
}

impl Farthest {
    /// The direction of an edge.
    fn edge(&self) -> Option<Vector3<f64>> {
        let Self::Edge([from, to]) = self else { return None };
        Some((to - from).normalize())
    }

    /// How far this part goes from a point of it along a direction, m, how much higher along n it is there, and the
    /// outward normal of its border within the part.
    fn end(&self, p: &Vector3<f64>, [along, n]: [&Vector3<f64>; 2], tiny: f64) -> Option<(f64, f64, Vector3<f64>)> {
        let corners = match self {
            Self::Vertex => return None,
            Self::Edge(ends) => &ends[..],
            Self::Face(corners) => corners,
        };
        // Corners by how far they are along the direction, how far aside, and how high.
        let aside = |from: Vector3<f64>| from - along * along.dot(&from);
        let far = corners.iter().map(|corner| aside(corner - p)).max_by(|x, y| x.norm().total_cmp(&y.norm()))?;
        let axis = far.try_normalize(tiny).unwrap_or_default();
        let places: Vec<[f64; 3]> =
            corners.iter().map(|corner| [along, &axis, n].map(|axis| axis.dot(&(corner - p)))).collect();
        let (ahead, [k, j], part) = farthest_crossing(&places, tiny)?;
        let height = places[k][2] + part * (places[j][2] - places[k][2]);
        let edge = (corners[k] - corners[j]).try_normalize(0.0).unwrap_or_default();
        let normal = (along - edge * along.dot(&edge)).normalize();
        Some((ahead, height, normal))
    }
}

/// Where the border of convex corners crosses the line of those that are no way aside, as far ahead as it does: how far
/// ahead, the two corners, and the part of the way between them. Corners are given by how far ahead and aside they are.
fn farthest_crossing(places: &[[f64; 3]], tiny: f64) -> Option<(f64, [usize; 2], f64)> {
    type Crossing = (f64, [usize; 2], f64);
    let farther = |x: &Crossing, y: &Crossing| x.0.total_cmp(&y.0);
    let on_line = (0..places.len()).filter(|&k| places[k][1].abs() <= tiny).map(|k| (places[k][0], [k, k], 0.0));
    let mut best = on_line.max_by(farther);
    let on_side = |sign: f64| (0..places.len()).filter(move |&k| sign * places[k][1] > tiny);
    let crossing = |k: usize, j: usize| {
        let ([ahead, side, _], [other_ahead, other_side, _]) = (places[k], places[j]);
        let part = side / (side - other_side);
        (ahead + part * (other_ahead - ahead), [k, j], part)
    };
    // From one side's corners to the other's and back: where each corner is the other's best, none is better.
    let mut left = on_side(-1.0).next();
    for _ in 0..places.len() {
        let Some(from) = left else { break };
        let Some((_, [_, right], _)) = on_side(1.0).map(|j| crossing(from, j)).max_by(farther) else { break };
        let found = on_side(-1.0).map(|k| crossing(k, right)).max_by(farther)?;
        left = Some(found.1[0]).filter(|&k| k != from);
        best = best.into_iter().chain([found]).max_by(farther);
    }
    best
}

impl Common {
    /// The common length of two bodies through their closest points. `None` if these are the only ones that are
    /// closest, or if two faces lie on each other.
    pub(super) fn of(bodies: &[Framed<'_>; 2], distance: &Distance) -> Option<Self> {
        if !bodies.iter().any(|body| matches!(body.core, Core::Hull(_))) {
            return None;
        }
        let n = &distance.normal;
        let points = [distance.point_a - n * bodies[0].radius, distance.point_b + n * bodies[1].radius];
        // Most have a corner or two faces there.
        let first = bodies[0].farthest(n, false).filter(|of| !matches!(of, Farthest::Vertex))?;
        let next = bodies[1].farthest(&-n, false).filter(|of| !matches!(of, Farthest::Vertex))?;
        if matches!((first, next), (Farthest::Face(_), Farthest::Face(_))) {
            return None;
        }
        let parts = [bodies[0].farthest(n, true)?, bodies[1].farthest(&-n, true)?];
        let (along, is_edge) = match (parts[0].edge(), parts[1].edge()) {
            (Some(t), Some(s)) if t.cross(&s).norm() < PARALLEL => (t, [true, true]),
            (Some(t), None) if matches!(parts[1], Farthest::Face(_)) => (t, [true, false]),
            (None, Some(t)) => (t, [false, true]),
            _ => return None,
        };
        let tiny = TIED * (bodies[0].core.reach() + bodies[1].core.reach());
        let of = |k: usize, sign: f64| parts[k].end(&points[k], [&(along * sign), n], tiny);
        let ends = [[of(0, -1.0)?, of(1, -1.0)?], [of(0, 1.0)?, of(1, 1.0)?]];
        // What leans is closest at one end.
        let leans = |k: usize| (ends[0][k].1 - ends[1][k].1).abs() > tiny;
        if leans(0) || leans(1) {
            return None;
        }
        let end = |[(of_a, _, by_a), (of_b, _, by_b)]: [(f64, f64, Vector3<f64>); 2], sign: f64| {
            let by = [(of_a < of_b + tiny).then_some(by_a), (of_b < of_a + tiny).then_some(by_b)];
            End { ahead: sign * of_a.min(of_b), by }
        };
        let [behind, ahead] = ends;
        Some(Self { along, is_edge, ends: [end(behind, -1.0), end(ahead, 1.0)] })
    }

    /// The vector to the middle of the length, m.
    pub(super) fn to_middle(&self) -> Vector3<f64> {
        self.along * (0.5 * (self.ends[0].ahead + self.ends[1].ahead))
    }

    /// How fast the middle moves ahead, given how fast a place of A's or B's surface (0 or 1) that is so far ahead
    /// moves with its body from where the body's own point of the length goes. Where both bodies end the length, it is
    /// the mean.
    pub(super) fn rate(&self, from_line: impl Fn(usize, f64) -> Vector3<f64>) -> f64 {
        self.mean(|of, normal, ahead| normal.dot(&from_line(of, ahead)))
    }

    /// How fast the middle moves ahead by the sizes of the shape of A or B (0 or 1).
    pub(super) fn growth(&self, body: usize, Framed { core, rotation, .. }: &Framed<'_>) -> [f64; Shape::SIZES] {
        if !matches!(core, Core::Box(_)) {
            return [0.0; Shape::SIZES];
        }
        // A side moves outwards by its half extent, and inwards by the rounding.
        let outwards = |size: usize, normal: &Vector3<f64>| match size {
            3 => -1.0,
            _ => f64::from(u8::from(turned_back(rotation, normal).iamax() == size)),
        };
        let of_size = |size: usize| self.mean(|of, normal, _| if of == body { outwards(size, normal) } else { 0.0 });
        std::array::from_fn(of_size)
    }

    /// The mean over the ends of how fast they move ahead, given how fast the borders there move outwards.
    fn mean(&self, outwards: impl Fn(usize, &Vector3<f64>, f64) -> f64) -> f64 {
        let of_end = |end: &End| {
            let borders = || end.by.iter().enumerate().filter_map(|(of, normal)| Some((of, normal.as_ref()?)));
            let ahead = |(of, normal)| outwards(of, normal, end.ahead) / normal.dot(&self.along);
            borders().map(ahead).sum::<f64>() / borders().count() as f64
        };
        0.5 * self.ends.iter().map(of_end).sum::<f64>()
    }
}

impl Posed<'_> {
    /// The distance with points in the middle of the common length, if there is one.
    pub(super) fn in_the_middle(&self, other: &Self, distance: Distance) -> Distance {
        let bodies = [*self, *other].map(|body| Framed::of(&Body::fixed(body)));
        distance.shifted(&bodies)
    }
}

impl Distance {
    /// The distance with points in the middle of the common length of these bodies, if there is one.
    pub(super) fn shifted(self, bodies: &[Framed<'_>; 2]) -> Self {
        let by = Common::of(bodies, &self).map_or(Vector3::zeros(), |common| common.to_middle());
        Self { point_a: self.point_a + by, point_b: self.point_b + by, ..self }
    }
}

#[cfg(test)]
mod tests {
    use nalgebra::{Isometry3, Translation3, UnitQuaternion, Vector6};

    use super::*;
    use crate::collision::{BodyGradient, Collider, DistanceGradient};

    type Pose = Isometry3<f64>;

    /// A prism with an edge downwards along its y axis, half as long as `half`, and a point of that.
    fn prism(half: f64) -> Shape {
        let ends = [-half, half].map(|y| [[0.0, y, 0.0], [0.02, y, 0.02], [-0.01, y, 0.03]]);
        Shape::hull(&ends.concat()).unwrap()
    }

    /// A box as a hull, its corners in no order that is its own.
    fn block(size: [f64; 3]) -> Shape {
        let corner = |k: usize| [0, 1, 2].map(|i| if k >> i & 1 == 1 { size[i] } else { -size[i] });
        Shape::hull(&(0..8).map(|k| corner(k * 5 % 8)).collect::<Vec<_>>()).unwrap()
    }

    fn at(x: f64, y: f64, z: f64, about_y: f64) -> Pose {
        Isometry3::from_parts(Translation3::new(x, y, z), UnitQuaternion::from_euler_angles(0.0, about_y, 0.0))
    }

    fn closest([a, b]: [&Shape; 2], [pose_a, pose_b]: &[Pose; 2]) -> crate::collision::Distance {
        Collider::new(a).distance(pose_a, &Collider::new(b), pose_b).unwrap()
    }

    /// Moved along a twist (v, ω).
    fn moved(pose: &Pose, twist: &Vector6<f64>, by: f64) -> Pose {
        let (v, w) = (twist.fixed_rows::<3>(0) * by, twist.fixed_rows::<3>(3) * by);
        let place = Translation3::from(pose.translation.vector + v);
        Isometry3::from_parts(place, UnitQuaternion::from_scaled_axis(w) * pose.rotation)
    }

    /// So many of the pairs are an edge over a face.
    const OVER_FACES: usize = 3;

    /// Pairs with what they have in common along y: its middle.
    fn pairs() -> Vec<([Shape; 2], [Pose; 2], f64)> {
        let slab = [0.05, 0.02, 0.01];
        vec![
            // The edge over a face: all of it, and as far as the face goes.
            ([prism(0.01), block(slab)], [at(0.0, 0.003, 0.0, 0.1), at(0.01, 0.0, -0.04, 0.02)], 0.003),
            ([prism(0.01), block(slab)], [at(0.0, 0.015, 0.0, 0.1), at(0.01, 0.0, -0.04, 0.02)], 0.0125),
            ([prism(0.01), Shape::cuboid(slab)], [at(0.0, -0.015, 0.0, 0.1), at(0.01, 0.0, -0.04, 0.02)], -0.0125),
            // Beside another edge.
            ([prism(0.01), block(slab)], [at(-0.07, 0.015, 0.02, 0.1), at(0.0, 0.0, 0.0, 0.02)], 0.0125),
            ([prism(0.03), block(slab)], [at(-0.07, 0.015, 0.02, 0.1), at(0.0, 0.0, 0.0, 0.02)], 0.002_5),
            // Both as long as each other.
            ([prism(0.02), block(slab)], [at(-0.07, 0.0, 0.02, 0.1), at(0.0, 0.0, 0.0, 0.02)], 0.0),
        ]
    }

    #[test]
    fn the_closest_points_are_in_the_middle() {
        for ([a, b], poses, middle) in pairs() {
            // Rounding says where the search ends.
            for k in 0..50 {
                let poses = [poses[0], moved(&poses[1], &Vector6::ith(4, 1.0), 1e-4 * f64::from(k))];
                for found in [closest([&a, &b], &poses), closest([&b, &a], &[poses[1], poses[0]])] {
                    let off = (found.point_a.y - middle).abs().max((found.point_b.y - middle).abs());
                    assert!(off < 1e-9, "{found:?}: {middle}");
                }
            }
        }
    }

    /// Along twists that leave what is parallel so: translations, and turns about the common direction; those of an
    /// edge over a face about the normal, too.
    #[test]
    fn derivatives_are_means_of_differences() {
        let of = DistanceGradient {
            phi: 0.3,
            point_a: Vector3::new(0.2, -0.7, 0.4),
            point_b: Vector3::new(-0.5, 1.1, 0.6),
            normal: Vector3::new(0.02, 0.0, 0.05),
        };
        let step = 1e-7;
        for (number, ([a, b], poses, _)) in pairs().into_iter().enumerate() {
            let cost = |shapes: [&Shape; 2], poses: &[Pose; 2]| {
                let found = closest(shapes, poses);
                of.phi * found.phi
                    + of.point_a.dot(&found.point_a)
                    + of.point_b.dot(&found.point_b)
                    + of.normal.dot(&found.normal)
            };
            let found = closest([&a, &b], &poses);
            let bodies = [(Collider::new(&a), poses[0]), (Collider::new(&b), poses[1])];
            let [to_a, to_b] = found.vjp((&bodies[0].0, &bodies[0].1), (&bodies[1].0, &bodies[1].1), &of);
            let check = |what: String, found: f64, [ahead, behind]: [f64; 2]| {
                let mean = (ahead - behind) / (2.0 * step);
                assert!((found - mean).abs() < 1e-6 * (1.0 + mean.abs()), "{a:?} {b:?} {what}: {found}, {mean}");
            };
            for (body, BodyGradient { twist, .. }) in [&to_a, &to_b].into_iter().enumerate() {
                let about_normal = Vector6::from_fn(|k, _| if k < 3 { 0.0 } else { found.normal[k - 3] });
                let twists = [0, 1, 2, 4].map(|k| Vector6::ith(k, 1.0)).into_iter();
                for along in twists.chain((number < OVER_FACES).then_some(about_normal)) {
                    let change = |by: f64| {
                        let mut poses = poses;
                        poses[body] = moved(&poses[body], &along, by);
                        cost([&a, &b], &poses)
                    };
                    let found = twist.dot(&along);
                    check(format!("body {body}, twist {along:?}"), found, [change(step), change(-step)]);
                }
            }
            if let Shape::Box { .. } = b {
                let size = b.sizes();
                for k in 0..3 {
                    let change = |by: f64| {
                        let mut size = size;
                        size[k] += by;
                        cost([&a, &Shape::cuboid([size[0], size[1], size[2]])], &poses)
                    };
                    check(format!("size {k}"), to_b.sizes[k], [change(step), change(-step)]);
                }
            }
        }
    }
}
