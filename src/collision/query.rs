//! Distance of two cores, one seen from the other.

use nalgebra::{Isometry3, Matrix3, Vector3};
use parry3d_f64::math::{Pose, Rotation, Vector};
use parry3d_f64::query::epa::EPA;
use parry3d_f64::query::gjk::{CsoPoint, GJKResult, VoronoiSimplex, closest_points};

use super::closed;
use super::core::Core;
use super::polish::polish;

/// Where B is in A's frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Relative {
    pub(super) rotation: Matrix3<f64>,
    pub(super) translation: Vector3<f64>,
}

/// Witness points of two cores and the unit normal from A to B, in A's frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Touch {
    pub(super) normal: Vector3<f64>,
    pub(super) point_a: Vector3<f64>,
    pub(super) point_b: Vector3<f64>,
}

/// Steps of the last resort, each a distance query; they climb to a local maximum of the separation.
const CLIMBS: usize = 50;

impl Relative {
    pub(super) fn new(a: &Isometry3<f64>, b: &Isometry3<f64>) -> Self {
        let relative = a.inv_mul(b);
        Self { rotation: relative.rotation.to_rotation_matrix().into_inner(), translation: relative.translation.vector }
    }

    /// B's support in A's frame.
    fn support(&self, b: &Core, direction: &Vector3<f64>) -> Vector3<f64> {
        self.rotation * b.support(&self.rotation.tr_mul(direction)) + self.translation
    }

    /// How far apart the cores are along a unit vector: the signed distance is the largest of all.
    pub(super) fn separation(&self, a: &Core, b: &Core, n: &Vector3<f64>) -> f64 {
        n.dot(&(self.support(b, &-n) - a.support(n)))
    }

    /// A point of A's frame in B's.
    pub(super) fn in_b(&self, p: &Vector3<f64>) -> Vector3<f64> {
        self.rotation.tr_mul(&(p - self.translation))
    }

    fn shifted(&self, by: &Vector3<f64>) -> Self {
        Self { translation: self.translation + by, ..*self }
    }
}

/// The closest points, or those of the least translation that parts the cores, given in the order of [`Core::order`].
pub(super) fn closest(a: &Core, b: &Core, relative: &Relative) -> Touch {
    if let Some(touch) = closed::closest(a, b, relative) {
        return touch;
    }
    let coarse = coarse(a, b, relative);
    let size = a.reach() + b.reach();
    polish(a, b, relative, &coarse, size).unwrap_or_else(|| {
        let climbed = climb(a, b, relative, coarse.normal, size);
        polish(a, b, relative, &climbed, size).unwrap_or_else(|| settle(a, b, relative, climbed))
    })
}

/// An answer up to the tolerance of GJK and EPA.
fn coarse(a: &Core, b: &Core, relative: &Relative) -> Touch {
    if let Some((separation, normal)) = symmetric(a, b, relative)
        && separation <= 0.0
    {
        return apart(a, b, relative, &normal, separation, a.reach() + b.reach());
    }
    let pose = pose(relative);
    let mut simplex = simplex(a, b, &pose, &relative.translation);
    let found = match closest_points(&pose, a, b, f64::MAX, true, &mut simplex) {
        GJKResult::ClosestPoints(p, q, n) => Some((p, q, n)),
        _ => EPA::new().closest_points(&pose, a, b, &simplex),
    };
    let found = found.map(|(p, q, n)| Touch { normal: vector(n), point_a: vector(p), point_b: vector(q) });
    found.filter(|touch| touch.normal.norm_squared() > 0.5).unwrap_or_else(|| {
        let outward = relative.translation.try_normalize(0.0).unwrap_or(Vector3::z());
        climb(a, b, relative, outward, a.reach() + b.reach())
    })
}

/// Separation and direction from the separating axes of segments and boxes: exact inside, a sign outside (Gottschalk, Lin,
/// Manocha, *OBBTree*, 1996). None for other cores.
fn symmetric(a: &Core, b: &Core, relative: &Relative) -> Option<(f64, Vector3<f64>)> {
    let half = |core: &Core| match core {
        Core::Segment(half) => Some((Vector3::new(0.0, 0.0, *half), 2)),
        Core::Box(half) => Some((*half, 0)),
        _ => None,
    };
    let ((half_a, first_a), (half_b, first_b)) = (half(a)?, half(b)?);
    let Relative { rotation, translation } = relative;
    let mut best = (f64::NEG_INFINITY, Vector3::z());
    let mut take = |axis: Vector3<f64>| {
        let Some(axis) = axis.try_normalize(AXIS) else { return };
        let reach = axis.abs().dot(&half_a) + rotation.tr_mul(&axis).abs().dot(&half_b);
        let along = axis.dot(translation);
        if along.abs() - reach > best.0 + AXIS * reach {
            best = (along.abs() - reach, axis * 1_f64.copysign(along));
        }
    };
    let column = |k: usize| rotation.column(k).into_owned();
    (0..3).filter(|_| first_a == 0).for_each(|k| take(Vector3::ith(k, 1.0)));
    (0..3).filter(|_| first_b == 0).for_each(|k| take(column(k)));
    for i in first_a..3 {
        (first_b..3).for_each(|j| take(Vector3::ith(i, 1.0).cross(&column(j))));
    }
    Some(best)
}

/// Edges whose directions have a shorter cross product are parallel and have no axis of their own; an axis must beat those
/// before it by this part of the bodies' size.
const AXIS: f64 = 1e-9;

/// The witness points where the normal is known: B is moved out along it by `size` more than it is in, which leaves the
/// closest points' direction as it is.
fn apart(a: &Core, b: &Core, relative: &Relative, normal: &Vector3<f64>, separation: f64, size: f64) -> Touch {
    let by = normal * (size - separation);
    let moved = relative.shifted(&by);
    let pose = pose(&moved);
    let mut simplex = simplex(a, b, &pose, normal);
    match closest_points(&pose, a, b, f64::MAX, true, &mut simplex) {
        GJKResult::ClosestPoints(p, q, n) => Touch { normal: vector(n), point_a: vector(p), point_b: vector(q) - by },
        _ => Touch { normal: *normal, point_a: a.support(normal), point_b: relative.support(b, &-normal) },
    }
}

/// Climbs from a direction to a local maximum of the separation s: of n, the closest points of A and of B moved out by
/// τ n have the direction that maximises s(m) + τ m·n, so that s never falls (Rockafellar's proximal point method).
fn climb(a: &Core, b: &Core, relative: &Relative, normal: Vector3<f64>, size: f64) -> Touch {
    let step = |normal: &Vector3<f64>| {
        apart(a, b, relative, normal, relative.separation(a, b, normal).min(0.0), CLIMB_STEP * size)
    };
    let mut touch = step(&normal);
    for _ in 0..CLIMBS {
        let next = step(&touch.normal);
        let turned = (next.normal - touch.normal).norm_squared();
        touch = next;
        if turned < f64::EPSILON {
            break;
        }
    }
    touch
}

/// How far apart bodies are moved for a step of [`climb`], in parts of their size: small steps out are large steps in n.
const CLIMB_STEP: f64 = 0.05;

/// Makes an answer that could not be polished consistent: the points' middle stays, the separation is that of the normal.
fn settle(a: &Core, b: &Core, relative: &Relative, touch: Touch) -> Touch {
    let Touch { normal, point_a, point_b } = touch;
    let (middle, separation) = ((point_a + point_b) / 2.0, relative.separation(a, b, &normal));
    let half = normal * (separation / 2.0);
    Touch { normal, point_a: middle - half, point_b: middle + half }
}

fn simplex(a: &Core, b: &Core, pose: &Pose, towards: &Vector3<f64>) -> VoronoiSimplex {
    let direction = towards.try_normalize(0.0).unwrap_or(Vector3::x());
    let mut simplex = VoronoiSimplex::new();
    simplex.reset(CsoPoint::from_shapes(pose, a, b, Vector::new(direction.x, direction.y, direction.z)));
    simplex
}

fn pose(relative: &Relative) -> Pose {
    let [x, y, z] = relative.translation.into();
    let q =
        nalgebra::UnitQuaternion::from_rotation_matrix(&nalgebra::Rotation3::from_matrix_unchecked(relative.rotation));
    Pose::from_parts(Vector::new(x, y, z), Rotation::from_xyzw(q.i, q.j, q.k, q.w))
}

fn vector(v: Vector) -> Vector3<f64> {
    Vector3::new(v.x, v.y, v.z)
}
