//! The result of a distance query: signed distance, witness points and normal.

use nalgebra::{Vector3, Vector6};

/// The closest points of two bodies A and B. If the bodies overlap, the shortest translation that separates them brings
/// these points together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distance {
    /// Signed distance φ, m. Positive for separate bodies, minus the depth for overlapping ones.
    pub phi: f64,
    /// Witness point on A in the world, m.
    pub point_a: Vector3<f64>,
    /// Witness point on B in the world, m; `point_b − point_a = phi · normal`.
    pub point_b: Vector3<f64>,
    /// Unit normal from A to B.
    pub normal: Vector3<f64>,
}

impl Distance {
    /// The derivatives of φ by the twists (v, ω) of A and of B, along the world's axes, with v the velocity of each
    /// body's `origin`. This is the normal's row J_n of the contact Jacobian: −(n, (p_A − o_A) × n) and (n, (p_B − o_B)
    /// × n). It is exact wherever φ has a derivative, because closest points are stationary.
    pub fn gradient(&self, origin_a: &Vector3<f64>, origin_b: &Vector3<f64>) -> [Vector6<f64>; 2] {
        let side = |point: &Vector3<f64>, origin: &Vector3<f64>| {
            let (n, moment) = (self.normal, (point - origin).cross(&self.normal));
            Vector6::new(n.x, n.y, n.z, moment.x, moment.y, moment.z)
        };
        [-side(&self.point_a, origin_a), side(&self.point_b, origin_b)]
    }

    /// The distance with A and B exchanged.
    #[inline]
    pub(super) fn swapped(self) -> Self {
        self.swapped_if(true)
    }

    /// [`swapped`](Self::swapped) if asked, selected number by number so that nothing leaves the registers.
    #[inline(always)]
    pub(super) fn swapped_if(self, is_swapped: bool) -> Self {
        let Self { phi, point_a: p, point_b: q, normal: n } = self;
        let either = |a: f64, b: f64| if is_swapped { b } else { a };
        let sign = either(1.0, -1.0);
        Self {
            phi,
            point_a: Vector3::new(either(p.x, q.x), either(p.y, q.y), either(p.z, q.z)),
            point_b: Vector3::new(either(q.x, p.x), either(q.y, p.y), either(q.z, p.z)),
            normal: n * sign,
        }
    }
}
