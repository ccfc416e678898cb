//! Derivatives of a contact by the motions of its bodies: the implicit function theorem on the features in contact.
//!
//! B moves by a twist (v, ω) about its origin o, while A stays. Let t be the tangents of both features, w the
//! directions perpendicular to n and all t, and p, H, φ the points, curvatures and distance of the cores. The
//! conditions n·t = 0 and w·(x_B − x_A) = 0 give
//!
//! ```text
//! t_A·dn = 0        t_B·dn = −n·(ω × t_B)        n·dn = 0
//! w·(H_A + H_B + φ) dn = w·(v + ω × (p_B − o) + H_B (ω × n))
//! ```
//!
//! and dp from d(p_B − p_A) = dφ n + φ dn, where dφ = n·(v + ω × (p_B − o)). A twist of A is a common twist of both
//! bodies minus one of B. A displacement e of A's surface is a common displacement minus one of B by e.

use nalgebra::{Isometry3, Matrix3, Matrix3x6, Vector3, Vector6};

use super::body::Body;
use super::collider::Posed;
use super::common::{Common, Framed};
use super::core::Core;
use super::feature::Feature;
use super::polish::{Features, directions};
use super::{Collider, Distance};
use crate::Shape;

/// A witness point that is nearer to an edge or vertex than this, as a part of the body's size, is on it.
const ON: f64 = 1e-9;
/// If the equations for dn (with rows of length one) have a smaller determinant, they have no solution, as for two
/// vertices that touch. Then the normal turns with A.
const SINGULAR: f64 = 1e-12;

/// The gradient of a scalar by the numbers of a contact, or the rates of those numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DistanceGradient {
    /// The gradient by φ.
    pub phi: f64,
    /// The gradient by the witness point on A.
    pub point_a: Vector3<f64>,
    /// The gradient by the witness point on B.
    pub point_b: Vector3<f64>,
    /// The gradient by the normal.
    pub normal: Vector3<f64>,
}

/// The gradient of a scalar by a body's motion and sizes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BodyGradient {
    /// The gradient by the twist (v, ω) along the world's axes, with v the velocity of the body's origin.
    pub twist: Vector6<f64>,
    /// The gradient by the sizes, in the order of [`Shape::sizes`].
    pub sizes: [f64; Shape::SIZES],
}

impl Distance {
    /// Vector-Jacobian product of the distance query: the gradients by motions and sizes of both bodies, given the one
    /// by the contact's numbers. It is exact on whatever features (face, edge, vertex, rim, smooth surface) the contact
    /// is. Features that are parallel are treated as if they stayed so. The colliders and poses must be those of the
    /// query.
    pub fn vjp(
        &self,
        (a, pose_a): (&Collider, &Isometry3<f64>),
        (b, pose_b): (&Collider, &Isometry3<f64>),
        gradient: &DistanceGradient,
    ) -> [BodyGradient; 2] {
        let (a, b) = (Posed(a, pose_a), Posed(b, pose_b));
        Motion::of_b(self, &a, &b).vjp(self, &a, &b, gradient)
    }
}

/// The derivatives of a contact's numbers by B's twist.
pub(super) struct Motion {
    pub(super) phi: Vector6<f64>,
    pub(super) normal: Matrix3x6<f64>,
    pub(super) point_a: Matrix3x6<f64>,
    pub(super) point_b: Matrix3x6<f64>,
    /// How the points move by the sizes of both bodies where they are in the middle of a common length, apart from how
    /// the surfaces there do: along a direction, by so much for each size.
    slide: Option<(Vector3<f64>, [[f64; Shape::SIZES]; 2])>,
}

impl Motion {
    /// The derivatives of a contact by B's twist, on the features that its witness points are on.
    pub(super) fn of_b(distance: &Distance, a: &Posed<'_>, b: &Posed<'_>) -> Self {
        // The witness points on the cores.
        let point_a = distance.point_a - distance.normal * a.0.radius;
        let point_b = distance.point_b + distance.normal * b.0.radius;
        Self::of_features(
            distance,
            &Features { a: a.feature(&point_a, &distance.normal), b: b.feature(&point_b, &-distance.normal) },
            a,
            b,
        )
    }

    /// The gradients by motions and sizes of both bodies, given the one by the contact's numbers.
    pub(super) fn vjp(
        &self,
        distance: &Distance,
        a: &Posed<'_>,
        b: &Posed<'_>,
        gradient: &DistanceGradient,
    ) -> [BodyGradient; 2] {
        let (origin_a, origin_b) = (a.1.translation.vector, b.1.translation.vector);
        let DistanceGradient { phi, point_a, point_b, normal } = *gradient;
        let on_b: Vector6<f64> = self.point_a.tr_mul(&point_a)
            + self.point_b.tr_mul(&point_b)
            + self.normal.tr_mul(&normal)
            + self.phi * phi;
        // A common motion of both bodies turns and carries everything, and leaves φ.
        let force = point_a + point_b;
        let moment = (distance.point_a - origin_a).cross(&point_a)
            + (distance.point_b - origin_a).cross(&point_b)
            + distance.normal.cross(&normal);
        let (force_b, moment_b) = (on_b.fixed_rows::<3>(0).into_owned(), on_b.fixed_rows::<3>(3).into_owned());
        let force_a = force - force_b;
        let moment_a = moment - moment_b - (origin_b - origin_a).cross(&force_b);
        let twist = |v: &Vector3<f64>, w: &Vector3<f64>| Vector6::new(v.x, v.y, v.z, w.x, w.y, w.z);
        let sizes = |k: usize, body: &Posed<'_>, point: &Vector3<f64>, outward: Vector3<f64>, on: &Vector3<f64>| {
            let growth = body.growth(point, &outward);
            let slid = |size: usize| self.slide.as_ref().map_or(0.0, |(along, by)| along.dot(&force) * by[k][size]);
            std::array::from_fn(|size| growth[size].dot(on) + slid(size))
        };
        [
            BodyGradient {
                twist: twist(&force_a, &moment_a),
                sizes: sizes(0, a, &distance.point_a, distance.normal, &force_a),
            },
            BodyGradient { twist: on_b, sizes: sizes(1, b, &distance.point_b, -distance.normal, &force_b) },
        ]
    }

    /// The derivatives by the implicit function theorem, for known features.
    fn of_features(distance: &Distance, features: &Features, a: &Posed<'_>, b: &Posed<'_>) -> Self {
        let n = distance.normal;
        let point_b = distance.point_b + n * b.0.radius;
        let phi = distance.phi + a.0.radius + b.0.radius;
        let independent = features.independent();
        let (span, n_span) = independent.basis();
        let span = &span[..n_span];
        let free = directions(&n, span);
        let (curved_a, curved_b) = (features.a.curvature(&n), features.b.curvature(&-n));
        let curved = |w: &Vector3<f64>| curved_a.along(w) + curved_b.along(w) + w * phi;
        // The rows of the equations: on the left of dn, on the right of (v, ω).
        let arm = point_b - b.1.translation.vector;
        let (mut left, mut right) = (Matrix3::zeros(), Matrix3x6::zeros());
        left.set_row(0, &n.transpose());
        // t·dn = 0 for A's tangents, n·(ω × t) = ω·(t × n) for B's.
        let fixed = independent
            .tangents()
            .map(|(t, of_b)| (t, Vector3::zeros(), if of_b { n.cross(&t) } else { Vector3::zeros() }));
        // w·(ω × arm) = ω·(arm × w), w·H(ω × n) = ω·(n × H w).
        let turning = free.iter().map(|w| (curved(w), *w, arm.cross(w) + n.cross(&curved_b.along(w))));
        for (k, (row, v, w)) in fixed.chain(turning).take(2).enumerate() {
            let length = row.norm();
            let scale = if length > 0.0 { 1.0 / length } else { 0.0 };
            left.set_row(k + 1, &(row * scale).transpose());
            right.fixed_view_mut::<1, 3>(k + 1, 0).copy_from(&(v * scale).transpose());
            right.fixed_view_mut::<1, 3>(k + 1, 3).copy_from(&(w * scale).transpose());
        }
        let inverse = left.try_inverse().filter(|_| left.determinant().abs() > SINGULAR);
        let turn = inverse.unwrap_or_else(Matrix3::zeros) * right;
        let slide = features.slide(span);
        let zeros = Matrix3x6::zeros();
        let mut all = Self { phi: Vector6::zeros(), normal: turn, point_a: zeros, point_b: zeros, slide: None };
        let bodies = [*a, *b].map(|body| Framed::of(&Body::fixed(body)));
        let common = Common::of(&bodies, distance);
        all.slide = common.as_ref().map(|common| (common.along, [0, 1].map(|k| common.growth(k, &bodies[k]))));
        for k in 0..6 {
            let unit = Vector3::ith(k % 3, 1.0);
            let dn = turn.column(k).into_owned();
            // The motion of the point that is fixed to B, and the turn of n relative to B's surface.
            let (carried, turned) = if k < 3 { (unit, dn) } else { (unit.cross(&arm), dn - unit.cross(&n)) };
            let moved_a = curved_a.along(&dn);
            let moved_b = carried - curved_b.along(&turned);
            let closing = n.dot(&carried);
            let gap = moved_b - moved_a - n * closing - dn * phi;
            let [slid_a, slid_b] = slide.close(&gap).unwrap_or_default();
            let (mut to_a, mut to_b) = (moved_a + slid_a, moved_b + slid_b);
            if let Some(common) = &common {
                // A stays. The length turns with the edge that it is on either body, or with the other's over a face.
                let turning = if k < 3 { Vector3::zeros() } else { unit.cross(&common.along) };
                let line = |of: usize| if common.is_edge[of] == (of == 1) { turning } else { Vector3::zeros() };
                let from_line = |of: usize, ahead: f64| match of {
                    0 => -(to_a + line(0) * ahead),
                    _ if k < 3 => unit - to_b,
                    _ => unit.cross(&(arm + common.along * ahead)) - (to_b + line(1) * ahead),
                };
                let rate = common.along * common.rate(from_line);
                (to_a, to_b) = (to_a + rate, to_b + rate);
            }
            all.phi[k] = closing;
            all.point_a.set_column(k, &(to_a + dn * a.0.radius));
            all.point_b.set_column(k, &(to_b - dn * b.0.radius));
        }
        all
    }
}

impl Posed<'_> {
    /// The feature in the world that a core's surface point with this outward normal is on.
    fn feature(&self, point: &Vector3<f64>, outward: &Vector3<f64>) -> Feature {
        let local = self.1.inverse_transform_point(&(*point).into()).coords;
        let rotation = self.1.rotation.to_rotation_matrix().into_inner();
        let tolerance = ON * self.0.core.reach().max(f64::MIN_POSITIVE);
        let normal = rotation.tr_mul(outward);
        Feature::across(&self.0.core, &local, &normal, tolerance).placed(&rotation, &self.1.translation.vector)
    }

    /// The derivative of a surface point by each of the shape's sizes, for a fixed outward normal.
    pub(super) fn growth(&self, point: &Vector3<f64>, outward: &Vector3<f64>) -> [Vector3<f64>; Shape::SIZES] {
        let Self(Collider { core, radius }, pose) = self;
        let n = pose.rotation.inverse() * outward;
        let p = pose.inverse_transform_point(&(*point).into()).coords - n * *radius;
        let near = ON * core.reach();
        let end = |half: f64, k: usize| {
            if p[k].abs() > half - near { Vector3::ith(k, 1_f64.copysign(p[k])) } else { Vector3::zeros() }
        };
        let zero = Vector3::zeros();
        let local = match core {
            Core::Point => [n, zero, zero, zero],
            Core::Segment(half) => [n, end(*half, 2), zero, zero],
            Core::Box(half) => {
                let [x, y, z] = [0, 1, 2].map(|k| end(half[k], k));
                [x, y, z, n - x - y - z]
            }
            Core::Cylinder { radius, half_length } => {
                let on_side = p.xy().norm() > radius - near;
                let out = Vector3::new(p.x, p.y, 0.0) / *radius;
                [if on_side { out } else { zero }, end(*half_length, 2), zero, zero]
            }
            Core::Ellipsoid(radii) => {
                let length = radii.component_mul(&n).norm();
                let by = |k: usize| {
                    Vector3::ith(k, 2.0 * radii[k] * n[k] / length) - p * (radii[k] * (n[k] / length).powi(2))
                };
                [by(0), by(1), by(2), zero]
            }
            Core::Hull(_) | Core::HalfSpace => [zero; Shape::SIZES],
        };
        local.map(|rate| pose.rotation * rate)
    }
}
