//! The distance of two cores: the choice of the method, and the general one with GJK and EPA.

use nalgebra::Vector3;
use parry3d_f64::math::{Pose, Rotation, Vector};
use parry3d_f64::query::epa::EPA;
use parry3d_f64::query::gjk::{CsoPoint, GJKResult, VoronoiSimplex, closest_points};
use parry3d_f64::shape::SupportMap;

use super::axes::Axis;
use super::core::Core;
use super::cylinder;
use super::frame::{column, turned};
use super::nearest::{self, CLOSE, nearest};
use super::polish::polish;
use super::relative::{ClosestPoints, Relative};
use super::smooth;

/// The most steps of each size in [`climb`], the last resort. Each step is a distance query.
const CLIMBS: usize = 50;

/// The closest points, or those of the shortest translation that separates the cores. The cores are in the order of
/// [`Core::order`]. A search begins along `start`, a unit vector in A's frame, if it is given. It may end where the
/// cores are farther apart than `reach`, m, see [`nearest::apart`].
pub(super) fn closest(
    a: &Core,
    b: &Core,
    relative: &Relative,
    start: Option<Vector3<f64>>,
    reach: f64,
) -> ClosestPoints {
    let axis = Axis::best(a, b, relative);
    if let Some(points) = axis.and_then(|axis| axis.closest_points(a, b, relative)) {
        return points;
    }
    if let Some(points) = cylinder::closest(a, b, relative) {
        return points;
    }
    let size = a.reach() + b.reach();
    if let Some(points) = smooth::closest(a, b, relative, size, start) {
        return points;
    }
    if [a, b].iter().all(|core| core.is_polyhedral()) {
        let towards = axis.map_or_else(|| relative.in_a(&b.middle()) - a.middle(), |axis| axis.normal);
        if let Some(points) = nearest::apart(a, b, relative, &towards, (size, reach)) {
            return points;
        }
    }
    let coarse = coarse(a, b, relative, axis);
    polish(a, b, relative, &coarse, size).unwrap_or_else(|| {
        let climbed = climb(a, b, relative, coarse.normal, size);
        polish(a, b, relative, &climbed, size).unwrap_or_else(|| settle(a, b, relative, climbed))
    })
}

/// An answer that is exact up to the tolerance of GJK and EPA. It comes from the separating axis if the cores overlap
/// and have one.
fn coarse(a: &Core, b: &Core, relative: &Relative, axis: Option<Axis>) -> ClosestPoints {
    if let Some(Axis { separation, normal, .. }) = axis
        && separation <= 0.0
    {
        return apart(a, b, relative, &normal, separation, a.reach() + b.reach());
    }
    let size = a.reach() + b.reach();
    // Smaller bodies with a radius around them have the same separation plus the radii in all directions, so they are
    // apart more often.
    let radii = [a, b].map(|core| ROLLING * smooth::rolling(core));
    let units = [Unit { core: a, radius: radii[0], size }, Unit { core: b, radius: radii[1], size }];
    let pose = pose(relative, size);
    let towards = axis.map_or(relative.translation, |axis| axis.normal);
    let mut simplex = simplex(&units, &pose, &towards);
    let found = match closest_points(&pose, &units[0], &units[1], f64::MAX, true, &mut simplex) {
        GJKResult::ClosestPoints(p, q, n) => Some((p, q, n)),
        _ => {
            if let Some(points) = out_of_hull(a, b, relative) {
                return points;
            }
            EPA::new().closest_points(&pose, &units[0], &units[1], &simplex)
        }
    };
    let found = found.map(|(p, q, n)| ClosestPoints {
        normal: vector(n),
        point_a: vector(p) * size + vector(n) * radii[0],
        point_b: vector(q) * size - vector(n) * radii[1],
    });
    let found = found.filter(|points| points.normal.norm_squared() > 0.5);
    let separation = found.map_or(f64::NEG_INFINITY, |points| relative.separation(a, b, &points.normal));
    if let Some(found) = found
        && separation > -(radii[0] + radii[1])
    {
        return found;
    }
    // For bodies that share their symmetries, EPA stops at any stationary direction. So the bodies' own axes are tried
    // too.
    let axes = (0..3).flat_map(|k| [Vector3::ith(k, 1.0), column(&relative.rotation, k)]);
    let best = axes
        .chain(outs(a, b, relative))
        .flat_map(|axis| [axis, -axis])
        .map(|axis| (relative.separation(a, b, &axis), axis))
        .filter(|(along, _)| *along > separation + BEATEN * size)
        .max_by(|x, y| x.0.total_cmp(&y.0));
    match (best, found) {
        (None, Some(found)) => found,
        (best, _) => climb(a, b, relative, best.map_or(Vector3::z(), |(_, axis)| axis), size),
    }
}

/// The closest points of a point and a hull that it is in: it leaves through the face whose plane is nearest. `None`
/// for other cores.
fn out_of_hull(a: &Core, b: &Core, relative: &Relative) -> Option<ClosestPoints> {
    let (Core::Point, Core::Hull(hull)) = (a, b) else { return None };
    let &(face, height) = hull.planes().highest(&relative.in_b(&Vector3::zeros()), 0.0).last()?;
    let normal = -turned(&relative.rotation, &hull.faces()[face].normal.into());
    (height <= 0.0).then_some(ClosestPoints { normal, point_a: Vector3::zeros(), point_b: normal * height })
}

/// Extra directions for round bodies whose axes nearly coincide: from each one's axis to the middle and the ends of the
/// other's, and the one across both. Around the axes s changes by no more than the distance of the axes, which is too
/// little for a search.
fn outs(a: &Core, b: &Core, relative: &Relative) -> Vec<Vector3<f64>> {
    let (along_a, along_b) = (Vector3::z(), column(&relative.rotation, 2));
    let across = along_a.cross(&along_b);
    let is_round = |core: &&Core| matches!(core, Core::Segment(_) | Core::Cylinder { .. });
    if across.norm() > COAXIAL || ![a, b].iter().all(is_round) {
        return Vec::new();
    }
    let [half_a, half_b] = [a, b].map(|core| core.support(&Vector3::z()).z);
    let between = relative.translation;
    let outs = [-1.0, 0.0, 1.0].into_iter().flat_map(|end| {
        let (to_b, to_a) = (between + along_b * (end * half_b), between + along_a * (end * half_a));
        [to_b - along_a * along_a.dot(&to_b), to_a - along_b * along_b.dot(&to_a)]
    });
    outs.chain([across]).filter_map(|out| out.try_normalize(0.0)).collect()
}

/// The share of an ellipsoid's smallest radius of curvature that is removed from it. Removing all of it would leave an
/// edge.
const ROLLING: f64 = 0.9;
/// Axes at a larger angle, in rad, do not nearly coincide.
const COAXIAL: f64 = 1e-2;
/// An axis must beat what EPA has found by this part of the bodies' size: rounding.
const BEATEN: f64 = 1e-14;

/// The witness points for a known normal. B is moved out along the normal by `size` more than its depth, so that GJK
/// applies. This does not change the direction of the closest points.
fn apart(a: &Core, b: &Core, relative: &Relative, normal: &Vector3<f64>, separation: f64, size: f64) -> ClosestPoints {
    let by = normal * (size - separation);
    let moved = relative.shifted(&by);
    let points = nearest(a, b, &moved, normal, a.reach() + b.reach());
    ClosestPoints { point_b: points.point_b - by, ..points }
}

/// Climbs from a direction to a local maximum of the separation s. In each step, B is moved out by τ n from the current
/// direction n. The closest points then have the direction that maximises s(m) + τ m·n, so s never falls (Rockafellar's
/// proximal point method). Small τ give large steps in n, but where bodies hardly part, rounding turns n.
fn climb(a: &Core, b: &Core, relative: &Relative, normal: Vector3<f64>, size: f64) -> ClosestPoints {
    let separation = |normal: &Vector3<f64>| relative.separation(a, b, normal);
    let mut points = ClosestPoints { normal, point_a: a.support(&normal), point_b: relative.support(b, &-normal) };
    for step in CLIMB_STEPS {
        for _ in 0..CLIMBS {
            let here = separation(&points.normal);
            let next = apart(a, b, relative, &points.normal, here.min(0.0), step * size);
            if separation(&next.normal) < here - CLOSE * size {
                break;
            }
            let turned = (next.normal - points.normal).norm_squared();
            points = next;
            if turned < f64::EPSILON {
                break;
            }
        }
    }
    points
}

/// The distances τ of the steps of [`climb`], one after the other, as parts of the bodies' size.
const CLIMB_STEPS: [f64; 2] = [1e-10, 0.05];

/// Makes an answer that could not be polished consistent. It keeps the middle of the points and takes the separation
/// along the normal.
fn settle(a: &Core, b: &Core, relative: &Relative, points: ClosestPoints) -> ClosestPoints {
    let ClosestPoints { normal, point_a, point_b } = points;
    let (middle, separation) = ((point_a + point_b) / 2.0, relative.separation(a, b, &normal));
    let half = normal * (separation / 2.0);
    ClosestPoints { normal, point_a: middle - half, point_b: middle + half }
}

/// A core scaled to the size of both bodies, as the tolerances of GJK and EPA are absolute.
struct Unit<'a> {
    core: &'a Core,
    /// The thickness that is removed from the core all around, m.
    radius: f64,
    size: f64,
}

impl SupportMap for Unit<'_> {
    fn local_support_point(&self, direction: Vector) -> Vector {
        let direction = vector(direction);
        let mut point = self.core.support(&direction);
        if self.radius > 0.0 {
            point -= direction.try_normalize(0.0).unwrap_or_default() * self.radius;
        }
        point /= self.size;
        Vector::new(point.x, point.y, point.z)
    }
}

/// The first simplex of GJK, for a search from a direction.
fn simplex([a, b]: &[Unit<'_>; 2], pose: &Pose, towards: &Vector3<f64>) -> VoronoiSimplex {
    let direction = towards.try_normalize(0.0).unwrap_or(Vector3::x());
    let mut simplex = VoronoiSimplex::new();
    simplex.reset(CsoPoint::from_shapes(pose, a, b, Vector::new(direction.x, direction.y, direction.z)));
    simplex
}

/// The relative pose in units of the bodies' size, for parry.
fn pose(relative: &Relative, size: f64) -> Pose {
    let [x, y, z] = (relative.translation / size).into();
    let q =
        nalgebra::UnitQuaternion::from_rotation_matrix(&nalgebra::Rotation3::from_matrix_unchecked(relative.rotation));
    Pose::from_parts(Vector::new(x, y, z), Rotation::from_xyzw(q.i, q.j, q.k, q.w))
}

/// Converts a vector of parry.
fn vector(v: Vector) -> Vector3<f64> {
    Vector3::new(v.x, v.y, v.z)
}
