//! Shapes prepared for collision queries, and the choice of the query for a pair.

use std::cmp::Ordering;

use nalgebra::{Isometry3, Vector3};

use super::Distance;
use super::closed;
use super::core::{Core, number, numbers};
use super::frame::{matrix, turned_back};
use super::query::closest;
use super::relative::{ClosestPoints, Relative};
use crate::Shape;

/// A shape prepared for queries. It is cheap to make and to clone; a hull is shared.
#[derive(Clone, Debug)]
pub struct Collider {
    pub(super) core: Core,
    pub(super) radius: f64,
}

impl Collider {
    /// The collider of a valid shape, see [`Shape::validate`].
    pub fn new(shape: &Shape) -> Self {
        let (core, radius) = Core::of(shape, shape.sizes());
        Self { core, radius }
    }

    /// The collider of a shape of the same type with other sizes, in the order of [`Shape::sizes`]; `None` if the sizes
    /// are not possible.
    pub fn with_sizes(shape: &Shape, sizes: [f64; Shape::SIZES]) -> Option<Self> {
        let (core, radius) = Core::of(shape, sizes);
        (radius >= 0.0 && radius.is_finite() && core.is_solid()).then_some(Self { core, radius })
    }

    /// Signed distance to another body, both at these poses; `None` between two half-spaces.
    ///
    /// Exchanging the bodies gives the same numbers to the last bit, with the points exchanged and the normal reversed.
    pub fn distance(&self, pose: &Isometry3<f64>, other: &Self, other_pose: &Isometry3<f64>) -> Option<Distance> {
        self.distance_along(pose, other, other_pose, None)
    }

    /// [`distance`](Self::distance) for poses along a path, started from the answer at the poses before. For two
    /// ellipsoids, or an ellipsoid and a sphere, Newton's method then takes fewer steps. Other pairs ignore `before`.
    ///
    /// Whatever `before` is, the answer is the same up to rounding, with one exception. Ellipsoids deep inside each
    /// other can be separated in several directions. A search from fixed directions misses the shortest once in thirty
    /// thousand pairs; a search from `before` may find it.
    pub fn distance_from(
        &self,
        pose: &Isometry3<f64>,
        other: &Self,
        other_pose: &Isometry3<f64>,
        before: &Distance,
    ) -> Option<Distance> {
        self.distance_along(pose, other, other_pose, before.normal.try_normalize(f64::MIN_POSITIVE))
    }

    /// The [`distance`](Self::distance) of two bodies. A search begins along the unit vector `start`, if it is given.
    #[inline(always)]
    fn distance_along(
        &self,
        pose: &Isometry3<f64>,
        other: &Self,
        other_pose: &Isometry3<f64>,
        start: Option<Vector3<f64>>,
    ) -> Option<Distance> {
        let (a, b) = (Posed(self, pose), Posed(other, other_pose));
        let is_after = a.order(&b) == Ordering::Greater;
        let (a, b) = if is_after { (b, a) } else { (a, b) };
        if let Some(distance) = a.between_capsules(&b) {
            return Some(distance.swapped_if(is_after));
        }
        let start = if is_after { start.map(|n| -n) } else { start };
        let distance = a.distance_along(&b, start, f64::INFINITY)?;
        Some(a.in_the_middle(&b, distance).swapped_if(is_after))
    }

    /// Corners of the axis-aligned bounding box in the world, m. Infinite for a half-space.
    pub fn bounds(&self, pose: &Isometry3<f64>) -> [Vector3<f64>; 2] {
        if matches!(self.core, Core::HalfSpace) {
            return [f64::NEG_INFINITY, f64::INFINITY].map(Vector3::repeat);
        }
        let rotation = pose.rotation.to_rotation_matrix();
        let reach = |k: usize, sign: f64| {
            let local = rotation.matrix().row(k).transpose();
            local.dot(&self.core.support(&(local * sign))) + pose.translation.vector[k] + sign * self.radius
        };
        [-1.0, 1.0].map(|sign| Vector3::from_fn(|k, _| reach(k, sign)))
    }
}

/// A body at its pose.
#[derive(Clone, Copy)]
pub(super) struct Posed<'a>(pub(super) &'a Collider, pub(super) &'a Isometry3<f64>);

impl Posed<'_> {
    /// A fixed order of bodies, so that exchanged bodies give the same numbers.
    #[inline(always)]
    pub(super) fn order(&self, other: &Self) -> Ordering {
        let places = || {
            let (p, q) = (&self.1.translation.vector, &other.1.translation.vector);
            numbers(p.as_slice(), q.as_slice())
                .then_with(|| numbers(self.1.rotation.coords.as_slice(), other.1.rotation.coords.as_slice()))
        };
        let (a, b) = (self.0, other.0);
        a.core.order(&b.core).then_with(|| number(a.radius, b.radius)).then_with(places)
    }

    /// The distance of bodies in the order of [`Posed::order`]. If they are farther apart than `reach`, m, what is
    /// found need not be the distance, but it is more than that.
    pub(super) fn distance_within(&self, other: &Self, reach: f64) -> Option<Distance> {
        self.distance_along(other, None, reach)
    }

    /// [`Posed::distance_within`] with a search that begins along `start`, if it is given.
    fn distance_along(&self, other: &Self, start: Option<Vector3<f64>>, reach: f64) -> Option<Distance> {
        let (Self(a, pose_a), Self(b, pose_b)) = (self, other);
        if matches!(b.core, Core::HalfSpace) {
            return self.above(pose_b);
        }
        let points = closed::closest((&a.core, pose_a), (&b.core, pose_b)).unwrap_or_else(|| {
            let rotation = matrix(&pose_a.rotation);
            let start = start.map(|n| turned_back(&rotation, &n));
            let reach = reach + a.radius + b.radius;
            closest(&a.core, &b.core, &Relative::new(pose_a, &rotation, pose_b), start, reach).turned(&rotation)
        });
        Some(self.parted(other, points))
    }

    /// The [`distance`](Self::distance) of two capsules; `None` for other bodies. It is a separate function, as its
    /// result would otherwise go through memory, which takes a third of the time.
    #[inline(always)]
    fn between_capsules(&self, other: &Self) -> Option<Distance> {
        let (Core::Segment(half_a), Core::Segment(half_b)) = (&self.0.core, &other.0.core) else { return None };
        Some(self.parted(other, closed::between_segments((*half_a, self.1), (*half_b, other.1))))
    }

    /// The distance of two bodies, given the closest points of their cores as [`closed::closest`] gives them.
    #[inline(always)]
    fn parted(&self, other: &Self, points: ClosestPoints) -> Distance {
        let (Self(a, pose), Self(b, _)) = (self, other);
        let ClosestPoints { normal, point_a, point_b } = points;
        let phi = normal.dot(&(point_b - point_a)) - a.radius - b.radius;
        let point_a = point_a + pose.translation.vector + normal * a.radius;
        Distance { phi, point_a, point_b: point_a + normal * phi, normal }
    }

    /// The distance to a half-space: that of the body's lowest point, or of the middle of a flat side if several are
    /// lowest.
    fn above(&self, plane: &Isometry3<f64>) -> Option<Distance> {
        let Self(a, pose) = self;
        if matches!(a.core, Core::HalfSpace) {
            return None;
        }
        let up = plane.rotation * Vector3::z();
        let down = pose.rotation.inverse() * -up;
        let lowest = pose.rotation * a.core.support(&down) + pose.translation.vector;
        let phi = up.dot(&(lowest - plane.translation.vector)) - a.radius;
        let point_a = lowest - up * a.radius;
        Some(Distance { phi, point_a, point_b: point_a - up * phi, normal: -up })
    }
}
