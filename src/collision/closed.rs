//! Closest points of points, segments, boxes and cylinders where there is a formula.

use nalgebra::{Matrix3, Vector2, Vector3};

use super::core::Core;
use super::query::{Relative, Touch};

/// Cores nearer than this, in metres, have no direction between them: rounding of coordinates of a few centimetres.
const NO_LENGTH: f64 = 1e-14;

/// The closest points of cores in the order of [`Core::order`]; none for pairs without a formula.
pub(super) fn closest(a: &Core, b: &Core, relative: &Relative) -> Option<Touch> {
    let Relative { rotation, translation: t } = relative;
    let axis = rotation.column(2).into_owned();
    Some(match (a, b) {
        (Core::Point, Core::Point) => between(Vector3::zeros(), *t, Vector3::z()),
        (Core::Point, Core::Segment(half)) => {
            let z = (-axis.dot(t)).clamp(-half, *half);
            between(Vector3::zeros(), t + axis * z, rotation.column(0).into_owned())
        }
        (Core::Point, Core::Box(half)) => from_point(rotation, t, |p| on_box(half, p)),
        (Core::Point, Core::Cylinder { radius, half_length }) => {
            from_point(rotation, t, |p| on_cylinder(*radius, *half_length, p))
        }
        (Core::Segment(half_a), Core::Segment(half_b)) => segments(*half_a, *half_b, t, &axis),
        _ => return None,
    })
}

/// The points and the direction between them, or `fallback` where there is none.
fn between(point_a: Vector3<f64>, point_b: Vector3<f64>, fallback: Vector3<f64>) -> Touch {
    let normal = (point_b - point_a).try_normalize(NO_LENGTH).unwrap_or(fallback);
    Touch { normal, point_a, point_b }
}

/// A's origin against a solid B, whose surface `nearest` answers with the point next to p and its outward normal.
fn from_point(
    rotation: &Matrix3<f64>,
    t: &Vector3<f64>,
    nearest: impl Fn(&Vector3<f64>) -> (Vector3<f64>, Vector3<f64>),
) -> Touch {
    let (point, outward) = nearest(&-rotation.tr_mul(t));
    Touch { normal: -(rotation * outward), point_a: Vector3::zeros(), point_b: rotation * point + t }
}

/// A point inside leaves through the nearest face.
fn on_box(half: &Vector3<f64>, p: &Vector3<f64>) -> (Vector3<f64>, Vector3<f64>) {
    let nearest = p.zip_map(half, |x, h| x.clamp(-h, h));
    if let Some(outward) = (p - nearest).try_normalize(NO_LENGTH) {
        return (nearest, outward);
    }
    let k = (half - p.abs()).imin();
    let outward = Vector3::ith(k, 1_f64.copysign(p[k]));
    let mut point = *p;
    point[k] = half[k].copysign(p[k]);
    (point, outward)
}

/// A point inside leaves through the side or a cap, whichever is nearer.
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
    (Vector3::new(p.x, p.y, half_length.copysign(p.z)), Vector3::z() * 1_f64.copysign(p.z))
}

/// Segments on A's z axis and, about `t`, along `axis`: Ericson, *Real-Time Collision Detection*, 5.1.9. Of parallel ones
/// the middle of the common stretch; crossing ones are parted along their common perpendicular.
fn segments(half_a: f64, half_b: f64, t: &Vector3<f64>, axis: &Vector3<f64>) -> Touch {
    let (cosine, along_a, along_b) = (axis.z, t.z, axis.dot(t));
    let across = Vector3::z().cross(axis);
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
    let fallback = across.try_normalize(NO_LENGTH).unwrap_or(Vector3::x());
    between(Vector3::z() * s, t + axis * r, fallback)
}
