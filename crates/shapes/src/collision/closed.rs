//! Closed-form closest points of points, segments, boxes and cylinders.

use nalgebra::{Isometry3, Matrix3, UnitQuaternion, Vector2, Vector3};

use super::core::Core;
use super::frame::{column, matrix, turned, turned_back};
use super::relative::ClosestPoints;

/// Cores nearer than this, in metres, have no direction between them: it would be rounding of coordinates of a few
/// centimetres.
const NO_LENGTH: f64 = 1e-14;

/// The closest points of two cores at their poses, from A's origin along the world's axes. The cores must be in the
/// order of [`Core::order`]. `None` for pairs without a formula.
pub(super) fn closest(
    (a, pose_a): (&Core, &Isometry3<f64>),
    (b, pose_b): (&Core, &Isometry3<f64>),
) -> Option<ClosestPoints> {
    let t = pose_b.translation.vector - pose_a.translation.vector;
    let rotation = || matrix(&pose_b.rotation);
    Some(match (a, b) {
        (Core::Segment(half_a), Core::Segment(half_b)) => between_segments((*half_a, pose_a), (*half_b, pose_b)),
        (Core::Point, Core::Point) => between(Vector3::zeros(), t, Vector3::z),
        (Core::Point, Core::Segment(half)) => {
            let along = axis(&pose_b.rotation);
            let z = (-along.dot(&t)).clamp(-half, *half);
            between(Vector3::zeros(), t + along * z, || column(&rotation(), 0))
        }
        (Core::Point, Core::Box(half)) => from_point(&rotation(), &t, |p| on_box(half, p)),
        (Core::Point, Core::Cylinder { radius, half_length }) => {
            from_point(&rotation(), &t, |p| on_cylinder(*radius, *half_length, p))
        }
        _ => return None,
    })
}

/// The closest points of two segments.
#[inline(always)]
pub(super) fn between_segments(
    (half_a, pose_a): (f64, &Isometry3<f64>),
    (half_b, pose_b): (f64, &Isometry3<f64>),
) -> ClosestPoints {
    let t = pose_b.translation.vector - pose_a.translation.vector;
    segments((half_a, &axis(&pose_a.rotation)), (half_b, &axis(&pose_b.rotation)), &t)
}

/// The direction of a segment's axis in the world.
#[inline]
fn axis(rotation: &UnitQuaternion<f64>) -> Vector3<f64> {
    column(&matrix(rotation), 2)
}

/// The closest points with the unit vector between them as normal, or `fallback` if they coincide.
#[inline(always)]
fn between(point_a: Vector3<f64>, point_b: Vector3<f64>, fallback: impl FnOnce() -> Vector3<f64>) -> ClosestPoints {
    let apart = point_b - point_a;
    let length = apart.norm();
    let normal = if length <= NO_LENGTH { fallback() } else { over(&apart, length) };
    ClosestPoints { normal, point_a, point_b }
}

/// The vector v / length. It is written out so that it stays in registers.
#[inline(always)]
fn over(v: &Vector3<f64>, length: f64) -> Vector3<f64> {
    Vector3::new(v.x / length, v.y / length, v.z / length)
}

/// The closest points of A's origin and a solid B. `nearest` gives the surface point of B next to p and its outward
/// normal, in B's frame. B is symmetric about its origin, so `t` may stand for A's origin −t, and the result is
/// reversed.
fn from_point(
    rotation: &Matrix3<f64>,
    t: &Vector3<f64>,
    nearest: impl Fn(&Vector3<f64>) -> (Vector3<f64>, Vector3<f64>),
) -> ClosestPoints {
    let (point, outward) = nearest(&turned_back(rotation, t));
    ClosestPoints {
        normal: turned(rotation, &outward),
        point_a: Vector3::zeros(),
        point_b: t - turned(rotation, &point),
    }
}

/// The surface point of a box next to p, and the outward normal. A point inside leaves through the nearest face.
fn on_box(half: &Vector3<f64>, p: &Vector3<f64>) -> (Vector3<f64>, Vector3<f64>) {
    let nearest = Vector3::new(p.x.clamp(-half.x, half.x), p.y.clamp(-half.y, half.y), p.z.clamp(-half.z, half.z));
    if let Some(outward) = (p - nearest).try_normalize(NO_LENGTH) {
        return (nearest, outward);
    }
    let k = (half - p.abs()).imin();
    let outward = Vector3::ith(k, 1_f64.copysign(p[k]));
    let mut point = *p;
    point[k] = half[k].copysign(p[k]);
    (point, outward)
}

/// The surface point of a cylinder next to p, and the outward normal. A point inside leaves through the side or a cap,
/// whichever is nearer.
fn on_cylinder(radius: f64, half_length: f64, p: &Vector3<f64>) -> (Vector3<f64>, Vector3<f64>) {
    let across = p.xy().norm();
    let out = if across > NO_LENGTH { p.xy() / across } else { Vector2::x() };
    let rim = out * across.min(radius);
    let nearest = Vector3::new(rim.x, rim.y, p.z.clamp(-half_length, half_length));
    if let Some(outward) = (p - nearest).try_normalize(NO_LENGTH) {
        return (nearest, outward);
    }
    if radius - across < half_length - p.z.abs() {
        let side = out * radius;
        return (Vector3::new(side.x, side.y, p.z), Vector3::new(out.x, out.y, 0.0));
    }
    (Vector3::new(p.x, p.y, half_length.copysign(p.z)), Vector3::new(0.0, 0.0, 1_f64.copysign(p.z)))
}

/// The closest points of two segments, given by half length and direction, about the origin and about `t` (Ericson,
/// *Real-Time Collision Detection*, 5.1.9). For parallel ones it is the middle of the common stretch. Crossing ones
/// have their common perpendicular as normal.
#[inline(always)]
pub(super) fn segments(
    (half_a, axis_a): (f64, &Vector3<f64>),
    (half_b, axis_b): (f64, &Vector3<f64>),
    t: &Vector3<f64>,
) -> ClosestPoints {
    let (cosine, along_a, along_b) = (axis_a.dot(axis_b), axis_a.dot(t), axis_b.dot(t));
    let across = axis_a.cross(axis_b);
    let sine2 = across.norm_squared();
    // s and r are the coordinates on A and B: s = t·a + r cos, r = s cos − t·b where neither end is reached.
    let s = if sine2 > NO_LENGTH {
        ((along_a - cosine * along_b) / sine2).clamp(-half_a, half_a)
    } else {
        let reach = half_b * cosine.abs();
        ((along_a - reach).max(-half_a) + (along_a + reach).min(half_a)).clamp(-2.0 * half_a, 2.0 * half_a) / 2.0
    };
    let r = (s * cosine - along_b).clamp(-half_b, half_b);
    let s = (along_a + r * cosine).clamp(-half_a, half_a);
    let (point_a, point_b) = (axis_a * s, t + axis_b * r);
    // Inside of both segments the common perpendicular is exact, even if rounding is all there is between the points.
    if s.abs() < half_a && r.abs() < half_b && sine2 > NO_LENGTH {
        let normal = over(&across, sine2.sqrt());
        let sign = 1_f64.copysign(normal.dot(&(point_b - point_a)));
        return ClosestPoints { normal: normal * sign, point_a, point_b };
    }
    between(point_a, point_b, || any_across(axis_a, &across))
}

/// A unit vector perpendicular to two lines that meet, one of which may be a point.
#[cold]
fn any_across(axis: &Vector3<f64>, across: &Vector3<f64>) -> Vector3<f64> {
    let any = axis.cross(&Vector3::ith(axis.iamin(), 1.0));
    across.try_normalize(NO_LENGTH).unwrap_or_else(|| any.normalize())
}
