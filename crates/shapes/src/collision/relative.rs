//! The relative pose of two bodies, and their closest points.

use nalgebra::{Isometry3, Matrix3, Vector3};

use super::core::Core;
use super::frame::{matrix, turned, turned_back};

/// The pose of B in A's frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Relative {
    pub(super) rotation: Matrix3<f64>,
    pub(super) translation: Vector3<f64>,
}

/// Witness points of two cores and the unit normal from A to B, in A's frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClosestPoints {
    pub(super) normal: Vector3<f64>,
    pub(super) point_a: Vector3<f64>,
    pub(super) point_b: Vector3<f64>,
}

impl ClosestPoints {
    /// Turns the points and the normal by a rotation matrix, into another frame.
    #[inline]
    pub(super) fn turned(self, r: &Matrix3<f64>) -> Self {
        let Self { normal, point_a, point_b } = self;
        Self { normal: turned(r, &normal), point_a: turned(r, &point_a), point_b: turned(r, &point_b) }
    }
}

impl Relative {
    /// The pose of B relative to A. `rotation_a` is A's rotation as a matrix.
    pub(super) fn new(a: &Isometry3<f64>, rotation_a: &Matrix3<f64>, b: &Isometry3<f64>) -> Self {
        let between = b.translation.vector - a.translation.vector;
        let rotation = matrix(&(a.rotation.inverse() * b.rotation));
        Self { rotation, translation: turned_back(rotation_a, &between) }
    }

    /// The point of B that is farthest along a direction, both in A's frame.
    #[inline]
    pub(super) fn support(&self, b: &Core, direction: &Vector3<f64>) -> Vector3<f64> {
        self.in_a(&b.support(&turned_back(&self.rotation, direction)))
    }

    /// The separation of the cores along a unit vector n. The signed distance is its maximum over all n.
    #[inline]
    pub(super) fn separation(&self, a: &Core, b: &Core, n: &Vector3<f64>) -> f64 {
        n.dot(&(self.support(b, &-n) - a.support(n)))
    }

    /// Converts a point from A's frame to B's.
    #[inline]
    pub(super) fn in_b(&self, p: &Vector3<f64>) -> Vector3<f64> {
        turned_back(&self.rotation, &(p - self.translation))
    }

    /// Converts a point from B's frame to A's.
    #[inline]
    pub(super) fn in_a(&self, p: &Vector3<f64>) -> Vector3<f64> {
        turned(&self.rotation, p) + self.translation
    }

    /// The relative pose after B is moved by this vector of A's frame.
    pub(super) fn shifted(&self, by: &Vector3<f64>) -> Self {
        Self { translation: self.translation + by, ..*self }
    }
}
