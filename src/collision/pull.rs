//! How the contact points of a manifold move with their bodies: the manifold in numbers that carry their rates by B's
//! twist, and by all sizes where those count, with the normal's rates from the distance. A's twist is one of both bodies less
//! one of B.

use std::cmp::Ordering;

use nalgebra::{Isometry3, Matrix3x6, Vector3, Vector6};

use super::collider::Posed;
use super::manifold::Spread;
use super::number::{Dual, MOTION, MOTION_AND_SIZES, Number, constant};
use super::patch::Body;
use super::sensitivity::Motion;
use super::{BodyGradient, Collider, ContactPoint, Distance, DistanceGradient, Manifold};
use crate::description::Shape;

/// A gradient by the numbers of one of a manifold's points.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ManifoldGradient {
    /// By φ, the points and the normal.
    pub contact: DistanceGradient,
    /// By the weight.
    pub weight: f64,
}

impl ManifoldGradient {
    fn swapped(&self) -> Self {
        let DistanceGradient { phi, point_a, point_b, normal } = self.contact;
        Self { contact: DistanceGradient { phi, point_a: point_b, point_b: point_a, normal: -normal }, ..*self }
    }
}

/// How the numbers of one of a manifold's points change with a motion of B while A stays: columns by B's twist (v, ω) along
/// the world's axes, v that of B's origin.
///
/// A motion of both bodies by one twist carries normal and points along and leaves φ and weight; a motion of A is one of both
/// less one of B.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactRates {
    /// Of φ, m/m and m/rad.
    pub phi: Vector6<f64>,
    /// Of the point on A.
    pub point_a: Matrix3x6<f64>,
    /// Of the point on B.
    pub point_b: Matrix3x6<f64>,
    /// Of the normal, 1/m and 1/rad; the same for all points.
    pub normal: Matrix3x6<f64>,
    /// Of the weight, 1/m and 1/rad.
    pub weight: Vector6<f64>,
}

impl ContactRates {
    /// Of a point with the bodies exchanged, from those by a twist of the other body, A, whose origin is at `lever` from B's:
    /// all is written as A and B are named now.
    fn exchanged(self, point: &ContactPoint, normal: &Vector3<f64>, b: &Vector3<f64>, lever: &Vector3<f64>) -> Self {
        let by_a = Self { point_a: self.point_b, point_b: self.point_a, normal: -self.normal, ..self };
        let mut by_b = by_a;
        for k in 0..MOTION {
            let unit = Vector3::ith(k % 3, 1.0);
            let (v, w) = if k < 3 { (unit, Vector3::zeros()) } else { (Vector3::zeros(), unit) };
            let v_a = v + w.cross(lever);
            let twist = Vector6::new(v_a.x, v_a.y, v_a.z, w.x, w.y, w.z);
            by_b.phi[k] = -by_a.phi.dot(&twist);
            by_b.weight[k] = -by_a.weight.dot(&twist);
            by_b.normal.set_column(k, &(w.cross(normal) - by_a.normal * twist));
            by_b.point_a.set_column(k, &(v + w.cross(&(point.point_a - b)) - by_a.point_a * twist));
            by_b.point_b.set_column(k, &(v + w.cross(&(point.point_b - b)) - by_a.point_b * twist));
        }
        by_b
    }
}

impl Manifold {
    /// How each point's numbers change with a motion of B. The colliders and poses are those of the query.
    pub fn rates(
        &self,
        (a, pose_a): (&Collider, &Isometry3<f64>),
        (b, pose_b): (&Collider, &Isometry3<f64>),
    ) -> Vec<ContactRates> {
        let (a, b) = (Posed(a, pose_a), Posed(b, pose_b));
        if a.order(&b) != Ordering::Greater {
            return self.rates_in_order(&a, &b);
        }
        let (origin, lever) = (&b.1.translation.vector, a.1.translation.vector - b.1.translation.vector);
        let rates = self.clone().swapped().rates_in_order(&b, &a);
        let named = |(rates, point): (ContactRates, _)| rates.exchanged(point, &self.distance.normal, origin, &lever);
        rates.into_iter().zip(&self.points).map(named).collect()
    }

    fn rates_in_order(&self, a: &Posed<'_>, b: &Posed<'_>) -> Vec<ContactRates> {
        let Moving { motion, spread: Spread { corners, closest }, .. } = Moving::<MOTION>::new(&self.distance, a, b);
        let of = |number: &Dual<MOTION>| Vector6::from(number.rates);
        let point = |at: &Vector3<Dual<MOTION>>| Matrix3x6::from_fn(|i, k| at[i].rates[k]);
        let closest = closest.map(|closest| ContactRates {
            phi: motion.phi + of(&closest.back),
            point_a: motion.point_a,
            point_b: motion.point_b,
            normal: motion.normal,
            weight: of(&closest.weight),
        });
        let corners = corners.iter().map(|spot| ContactRates {
            phi: of(&spot.phi),
            point_a: point(&spot.point_a),
            point_b: point(&spot.point_b),
            normal: motion.normal,
            weight: of(&spot.weight),
        });
        closest.into_iter().chain(corners).collect()
    }

    /// The gradient by motions and sizes of both bodies, given one by each point's numbers. The colliders and poses are
    /// those of the query.
    pub fn pull(
        &self,
        (a, pose_a): (&Collider, &Isometry3<f64>),
        (b, pose_b): (&Collider, &Isometry3<f64>),
        gradients: &[ManifoldGradient],
    ) -> [BodyGradient; 2] {
        let (a, b) = (Posed(a, pose_a), Posed(b, pose_b));
        if a.order(&b) == Ordering::Greater {
            let swapped: Vec<ManifoldGradient> = gradients.iter().map(ManifoldGradient::swapped).collect();
            let [on_b, on_a] = self.clone().swapped().pull_in_order(&b, &a, &swapped);
            return [on_a, on_b];
        }
        self.pull_in_order(&a, &b, gradients)
    }

    fn pull_in_order(&self, a: &Posed<'_>, b: &Posed<'_>, gradients: &[ManifoldGradient]) -> [BodyGradient; 2] {
        let Moving { motion, normal, spread: Spread { corners, closest } } = Moving::new(&self.distance, a, b);
        let mut by = [0.0; MOTION_AND_SIZES];
        let mut add = |number: &Dual<MOTION_AND_SIZES>, gradient: f64| {
            by.iter_mut().zip(number.rates).for_each(|(by, rate)| *by += rate * gradient);
        };
        let first = usize::from(closest.is_some());
        let corners_and_points = corners.iter().zip(self.points.iter().zip(gradients).skip(first));
        let mut common = Vector6::zeros();
        let origin = a.1.translation.vector;
        for (spot, (point, ManifoldGradient { contact, weight })) in corners_and_points {
            add(&spot.phi, contact.phi);
            add(&spot.weight, *weight);
            for i in 0..3 {
                add(&spot.point_a[i], contact.point_a[i]);
                add(&spot.point_b[i], contact.point_b[i]);
                add(&normal[i], contact.normal[i]);
            }
            let force = contact.point_a + contact.point_b;
            let moment = (point.point_a - origin).cross(&contact.point_a)
                + (point.point_b - origin).cross(&contact.point_b)
                + self.distance.normal.cross(&contact.normal);
            common += Vector6::new(force.x, force.y, force.z, moment.x, moment.y, moment.z);
        }
        let closest = closest.zip(gradients.first());
        if let Some((closest, gradient)) = &closest {
            add(&closest.weight, gradient.weight);
            add(&closest.back, gradient.contact.phi);
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
        if let Some((_, gradient)) = closest {
            let pulled = motion.pull(&self.distance, a, b, &gradient.contact);
            for (all, own) in both.iter_mut().zip(pulled) {
                all.twist += own.twist;
                all.sizes.iter_mut().zip(own.sizes).for_each(|(all, own)| *all += own);
            }
        }
        both
    }
}

/// A manifold in numbers that carry rates.
struct Moving<const N: usize> {
    motion: Motion,
    normal: Vector3<Dual<N>>,
    spread: Spread<Dual<N>>,
}

impl<const N: usize> Moving<N> {
    fn new(distance: &Distance, a: &Posed<'_>, b: &Posed<'_>) -> Self {
        let motion = Motion::of_b(distance, a, b);
        let (normal, phi) = Self::touch(distance, &motion, a, b);
        let bodies = (Body::moving(*a, MOTION, false), Body::moving(*b, MOTION + Shape::SIZES, true));
        let spread = Spread::new(&bodies.0, &bodies.1, &normal, phi, distance);
        Self { motion, normal, spread }
    }

    /// The normal and φ of a distance with their rates. A size moves its body's surface at the contact, as a shift does.
    fn touch(distance: &Distance, motion: &Motion, a: &Posed<'_>, b: &Posed<'_>) -> (Vector3<Dual<N>>, Dual<N>) {
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
