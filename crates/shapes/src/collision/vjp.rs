//! Derivatives of a manifold by the bodies' motions and sizes. The manifold is computed in dual numbers, which carry
//! the derivatives by B's twist and, if needed, by all sizes. The derivatives of the normal come from the distance. A
//! motion of A is a common motion of both bodies minus one of B.

use std::cmp::Ordering;

use nalgebra::{Isometry3, Matrix3x6, Vector3, Vector6};

use super::body::Body;
use super::collider::Posed;
use super::points::{Place, Spot, View};
use super::sensitivity::Motion;
use super::{BodyGradient, Collider, Detail, Distance, DistanceGradient, Manifold};
use crate::Shape;
use crate::number::{Dual, Number, constant, values};

/// The gradient of a scalar by the numbers of one point of a manifold.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ManifoldGradient {
    /// The gradient by φ, by the points on A and B, and by the normal.
    pub contact: DistanceGradient,
    /// The gradient by the weight.
    pub weight: f64,
}

impl ManifoldGradient {
    /// The gradient with A and B exchanged.
    fn swapped(&self) -> Self {
        let DistanceGradient { phi, point_a, point_b, normal } = self.contact;
        Self { contact: DistanceGradient { phi, point_a: point_b, point_b: point_a, normal: -normal }, ..*self }
    }
}

/// The number of derivatives by B's twist (v, ω).
const MOTION: usize = 6;
/// The number of derivatives by B's twist, then by the sizes of A and of B.
const MOTION_AND_SIZES: usize = MOTION + 2 * Shape::SIZES;

/// The derivatives of a number by a body's twist (v, ω) along the world's axes, with v the velocity of the body's
/// origin.
type ByTwist = [f64; MOTION];

/// The derivatives of a manifold by the motion of one body, while the other stays. If both move by the same twist,
/// normal and points move along and nothing else changes. So a motion of the other body is a common one minus one of
/// this body.
pub struct ManifoldRates {
    /// Is B the body that moves? Otherwise it is A.
    pub of_b: bool,
    /// The derivatives of the normal's components.
    pub normal: [ByTwist; 3],
    /// The derivatives of each contact point.
    pub points: Vec<ContactRates>,
}

/// The derivatives of one contact point of a manifold by the twist of the body that moves.
pub struct ContactRates {
    /// The derivatives of the components of the point on A.
    pub point_a: [ByTwist; 3],
    /// The derivatives of the components of the point on B.
    pub point_b: [ByTwist; 3],
    /// The derivatives of the gap φ.
    pub phi: ByTwist,
    /// The derivatives of the weight.
    pub weight: ByTwist,
}

impl ManifoldRates {
    /// The derivatives with A and B exchanged.
    fn swapped(mut self) -> Self {
        for point in &mut self.points {
            std::mem::swap(&mut point.point_a, &mut point.point_b);
        }
        Self { of_b: !self.of_b, normal: self.normal.map(|row| row.map(|rate| -rate)), points: self.points }
    }
}

impl Manifold {
    /// Vector-Jacobian product of the manifold query: the gradients by motions and sizes of both bodies, given one by
    /// each point's numbers. The colliders and poses must be those of the query.
    pub fn vjp(
        &self,
        a: (&Collider, &Isometry3<f64>),
        b: (&Collider, &Isometry3<f64>),
        gradients: &[ManifoldGradient],
    ) -> [BodyGradient; 2] {
        self.distance.vjp_manifold(a, b, self.detail, gradients)
    }
}

impl Distance {
    /// The derivatives of these bodies' manifold by the motion of one of them. The colliders and poses must be those of
    /// the query.
    pub fn manifold_rates(
        &self,
        (a, pose_a): (&Collider, &Isometry3<f64>),
        (b, pose_b): (&Collider, &Isometry3<f64>),
        detail: Detail,
    ) -> ManifoldRates {
        let (a, b) = (Posed(a, pose_a), Posed(b, pose_b));
        if a.order(&b) == Ordering::Greater {
            return self.swapped().rates_in_order(&b, &a, detail).swapped();
        }
        self.rates_in_order(&a, &b, detail)
    }

    /// [`Distance::manifold_rates`] for bodies in the order of [`Posed::order`].
    fn rates_in_order(&self, a: &Posed<'_>, b: &Posed<'_>, detail: Detail) -> ManifoldRates {
        let Moving { motion, normal, spots, .. } = Moving::<MOTION>::new(self, a, b, detail);
        let rates = |v: &Vector3<Dual<MOTION>>| [v.x.rates, v.y.rates, v.z.rates];
        let rows = |m: &Matrix3x6<f64>| [0, 1, 2].map(|i| std::array::from_fn(|k| m[(i, k)]));
        let of = |(place, spot): &(Place, Spot<Dual<MOTION>>)| {
            let [point_a, point_b] = match place {
                Place::Closest | Place::Lone => [rows(&motion.point_a), rows(&motion.point_b)],
                _ => [rates(&spot.point_a), rates(&spot.point_b)],
            };
            ContactRates { point_a, point_b, phi: spot.phi.rates, weight: spot.weight.rates }
        };
        ManifoldRates { of_b: true, normal: rates(&normal), points: spots.iter().map(of).collect() }
    }

    /// Vector-Jacobian product of these bodies' manifold, see [`Manifold::vjp`].
    pub fn vjp_manifold(
        &self,
        (a, pose_a): (&Collider, &Isometry3<f64>),
        (b, pose_b): (&Collider, &Isometry3<f64>),
        detail: Detail,
        gradients: &[ManifoldGradient],
    ) -> [BodyGradient; 2] {
        let (a, b) = (Posed(a, pose_a), Posed(b, pose_b));
        if a.order(&b) == Ordering::Greater {
            let swapped: Vec<ManifoldGradient> = gradients.iter().map(ManifoldGradient::swapped).collect();
            let [on_b, on_a] = self.swapped().vjp_in_order(&b, &a, detail, &swapped);
            return [on_a, on_b];
        }
        self.vjp_in_order(&a, &b, detail, gradients)
    }

    /// [`Distance::vjp_manifold`] for bodies in the order of [`Posed::order`].
    fn vjp_in_order(
        &self,
        a: &Posed<'_>,
        b: &Posed<'_>,
        detail: Detail,
        gradients: &[ManifoldGradient],
    ) -> [BodyGradient; 2] {
        let Moving { distance, motion, normal, phi, spots } = Moving::new(self, a, b, detail);
        let mut by = [0.0; MOTION_AND_SIZES];
        let mut add = |number: &Dual<MOTION_AND_SIZES>, gradient: f64| {
            by.iter_mut().zip(number.rates).for_each(|(by, rate)| *by += rate * gradient);
        };
        let mut common = Vector6::zeros();
        let origin = a.1.translation.vector;
        let mut closest = Vec::new();
        for ((place, spot), ManifoldGradient { contact, weight }) in spots.iter().zip(gradients) {
            add(&spot.weight, *weight);
            if matches!(place, Place::Closest | Place::Lone) {
                // The distance by which the point stands back; the derivatives of the closest points come from the
                // distance.
                add(&(spot.phi - phi), contact.phi);
                closest.push(contact);
                continue;
            }
            add(&spot.phi, contact.phi);
            for i in 0..3 {
                add(&spot.point_a[i], contact.point_a[i]);
                add(&spot.point_b[i], contact.point_b[i]);
                add(&normal[i], contact.normal[i]);
            }
            let force = contact.point_a + contact.point_b;
            let moment = (values(&spot.point_a) - origin).cross(&contact.point_a)
                + (values(&spot.point_b) - origin).cross(&contact.point_b)
                + self.normal.cross(&contact.normal);
            common += Vector6::new(force.x, force.y, force.z, moment.x, moment.y, moment.z);
        }
        let on_b = Vector6::from_column_slice(&by[..MOTION]);
        let [force, moment] = [0, 3].map(|k| (common.fixed_rows::<3>(k) - on_b.fixed_rows::<3>(k)).into_owned());
        let lever = b.1.translation.vector - origin;
        let moment = moment - lever.cross(&on_b.fixed_rows::<3>(0).into_owned());
        let on_a = Vector6::new(force.x, force.y, force.z, moment.x, moment.y, moment.z);
        let sizes = |first: usize| std::array::from_fn(|k| by[first + k]);
        let mut both = [
            BodyGradient { twist: on_a, sizes: sizes(MOTION) },
            BodyGradient { twist: on_b, sizes: sizes(MOTION + Shape::SIZES) },
        ];
        for gradient in closest {
            let pulled = motion.vjp(&distance, a, b, gradient);
            for (all, own) in both.iter_mut().zip(pulled) {
                all.twist += own.twist;
                all.sizes.iter_mut().zip(own.sizes).for_each(|(all, own)| *all += own);
            }
        }
        both
    }
}

/// A manifold in dual numbers.
struct Moving<const N: usize> {
    /// The distance in the middle of a common length, and its motion.
    distance: Distance,
    motion: Motion,
    normal: Vector3<Dual<N>>,
    phi: Dual<N>,
    spots: Vec<(Place, Spot<Dual<N>>)>,
}

impl<const N: usize> Moving<N> {
    /// The manifold of two bodies in dual numbers, given their distance.
    fn new(distance: &Distance, a: &Posed<'_>, b: &Posed<'_>, detail: Detail) -> Self {
        let middle = a.in_the_middle(b, *distance);
        let motion = Motion::of_b(&middle, a, b);
        let (normal, phi) = Self::normal_and_gap(&middle, &motion, a, b);
        let bodies = (Body::moving(*a, MOTION, false), Body::moving(*b, MOTION + Shape::SIZES, true));
        // Derivatives cost far more than values, so values tell first which few points count.
        let still = [bodies.0.still(), bodies.1.still()];
        let chosen = View::new([&still[0], &still[1]], distance.normal, distance.phi, distance, detail).chosen();
        let spots = View::new([&bodies.0, &bodies.1], normal, phi, distance, detail).spots(&chosen);
        Self { distance: middle, motion, normal, phi, spots }
    }

    /// The normal and φ of a distance as dual numbers. A size moves its body's surface at the contact, like a shift of
    /// the body.
    fn normal_and_gap(
        distance: &Distance,
        motion: &Motion,
        a: &Posed<'_>,
        b: &Posed<'_>,
    ) -> (Vector3<Dual<N>>, Dual<N>) {
        let Distance { phi, point_a, point_b, normal: n } = *distance;
        let (mut normal, mut phi) = (constant::<Dual<N>>(&n), Dual::constant(phi));
        for k in 0..MOTION {
            phi.rates[k] = motion.phi[k];
            (0..3).for_each(|i| normal[i].rates[k] = motion.normal[(i, k)]);
        }
        if N == MOTION {
            return (normal, phi);
        }
        let sides = [(a.growth(&point_a, &n), -1.0), (b.growth(&point_b, &-n), 1.0)];
        for (side, (growth, sign)) in sides.into_iter().enumerate() {
            for (k, shift) in growth.into_iter().enumerate() {
                let at = MOTION + Shape::SIZES * side + k;
                let shift = shift * sign;
                let turned = motion.normal.fixed_columns::<3>(0) * shift;
                phi.rates[at] = n.dot(&shift);
                (0..3).for_each(|i| normal[i].rates[at] = turned[i]);
            }
        }
        (normal, phi)
    }
}
