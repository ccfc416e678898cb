//! Contact manifolds: several contact points where flat parts of two bodies meet.
//!
//! All points have the normal n of the distance, and their true gap along it. `points.rs` says which points there are.

use std::cmp::Ordering;

use nalgebra::{Isometry3, Vector3};

use super::body::Body;
use super::collider::Posed;
use super::points::{Spot, View, room};
use super::{Collider, Detail, Distance};

/// The contact points of two bodies.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifold {
    /// The signed distance of the bodies. All points have its normal, and no point's φ is smaller but for rounding. The
    /// least may be larger by up to 0.1 % of the bodies' size, where edges cross next to their ends or at a small
    /// angle.
    pub distance: Distance,
    /// The points; none beyond [`Detail::reach`] where none count there, which the distance then need not be more than.
    /// If the closest points are one of several, they come first.
    pub points: Vec<ContactPoint>,
    /// At which distances points are told apart.
    pub detail: Detail,
}

/// One of several points at which bodies meet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactPoint {
    /// The gap along the manifold's normal, m. It is larger if the point is about to vanish, so that it carries no load
    /// then.
    pub phi: f64,
    /// Point on A in the world, m; [`Collider::manifold`] says where it may be a little off.
    pub point_a: Vector3<f64>,
    /// Point on B in the world, m, along the normal from A's point.
    pub point_b: Vector3<f64>,
    /// The weight of the point. It does not depend on the gap. The weights of all points of two faces that meet add up
    /// to the share of all directions in which the smaller face's corners are the farthest of their body, which is 1
    /// for the faces of a box and the ends of a prism, or to a little less where corners or edges are near each other.
    pub weight: f64,
}

impl Collider {
    /// Contact points of two bodies. None if both are half-spaces.
    ///
    /// The points are the corners of each body over the side that the other one shows, where the edges of both sides
    /// cross, and the closest points where a body is round. Some parts are simplified: a cylinder's cap has eight
    /// corners, and its rim's deepest point besides as it leans; a cylinder's side and a capsule are lines; faces of a
    /// hull that are flat together within 0.25 % of its size are one side. If there are more points than there is room
    /// for, those that can carry the least are left out. Exchanging the bodies exchanges the points and changes nothing
    /// else.
    ///
    /// Far away from each other bodies have fewer points, see [`Detail`].
    pub fn manifold(
        &self,
        pose: &Isometry3<f64>,
        other: &Self,
        other_pose: &Isometry3<f64>,
        detail: Detail,
    ) -> Option<Manifold> {
        let (a, b) = (Posed(self, pose), Posed(other, other_pose));
        if a.order(&b) == Ordering::Greater { Some(b.manifold(&a, detail)?.swapped()) } else { a.manifold(&b, detail) }
    }

    /// The most points that a manifold of these two can have.
    pub fn most_points(&self, other: &Self, detail: Detail) -> usize {
        room([&self.core, &other.core], detail)
    }
}

impl Posed<'_> {
    /// The manifold of bodies in the order of [`Posed::order`].
    fn manifold(&self, other: &Self, detail: Detail) -> Option<Manifold> {
        let distance = self.distance_within(other, if detail.beyond { f64::INFINITY } else { detail.reach })?;
        let (a, b) = (Body::fixed(*self), Body::fixed(*other));
        let view = View::new([&a, &b], distance.normal, distance.phi, &distance, detail);
        let points = view.spots(&view.chosen()).into_iter().map(|(_, spot)| {
            let Spot { phi, point_a, point_b, weight } = spot;
            ContactPoint { phi, point_a, point_b, weight }
        });
        let points = points.collect();
        Some(Manifold { distance, points, detail })
    }
}

impl Manifold {
    /// The manifold with A and B exchanged.
    fn swapped(self) -> Self {
        let swap = |p: ContactPoint| ContactPoint { point_a: p.point_b, point_b: p.point_a, ..p };
        let points = self.points.into_iter().map(swap).collect();
        Self { distance: self.distance.swapped(), points, ..self }
    }
}
