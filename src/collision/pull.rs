//! How the contact points of a manifold move with their bodies: the manifold in numbers that carry their rates by B's
//! twist and all sizes, with the normal's rates from the distance. A's twist is one of both bodies less one of B.

use std::cmp::Ordering;

use nalgebra::{Isometry3, Vector3, Vector6};

use super::collider::Posed;
use super::manifold::Spread;
use super::number::{Dual, Number, RATES, constant};
use super::patch::Body;
use super::sensitivity::Motion;
use super::{BodyGradient, Collider, Distance, DistanceGradient, Manifold};
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

impl Manifold {
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
        let (normal, phi) = moving(&self.distance, a, b);
        let bodies = (Body::moving(*a, 6, false), Body::moving(*b, 6 + Shape::SIZES, true));
        let Spread { corners, closest } = Spread::new(&bodies.0, &bodies.1, &normal, phi, &self.distance);
        let mut by = [0.0; RATES];
        let mut add = |number: &Dual, gradient: f64| {
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
        let on_b = Vector6::from_column_slice(&by[..6]);
        let [force, moment] = [0, 3].map(|k| (common.fixed_rows::<3>(k) - on_b.fixed_rows::<3>(k)).into_owned());
        let lever = b.1.translation.vector - origin;
        let moment = moment - lever.cross(&on_b.fixed_rows::<3>(0).into_owned());
        let on_a = Vector6::new(force.x, force.y, force.z, moment.x, moment.y, moment.z);
        let sizes = |first: usize| std::array::from_fn(|k| by[first + k]);
        let mut both = [
            BodyGradient { twist: on_a, sizes: sizes(6) },
            BodyGradient { twist: on_b, sizes: sizes(6 + Shape::SIZES) },
        ];
        if let Some((_, gradient)) = closest {
            let pulled = self.distance.pull((a.0, a.1), (b.0, b.1), &gradient.contact);
            for (all, own) in both.iter_mut().zip(pulled) {
                all.twist += own.twist;
                all.sizes.iter_mut().zip(own.sizes).for_each(|(all, own)| *all += own);
            }
        }
        both
    }
}

/// The normal and φ of a distance with their rates. A size moves its body's surface at the contact, as a shift does.
fn moving(distance: &Distance, a: &Posed<'_>, b: &Posed<'_>) -> (Vector3<Dual>, Dual) {
    let Distance { phi, point_a, point_b, normal: n } = *distance;
    let motion = Motion::of_b(distance, a, b);
    let (mut normal, mut phi) = (constant::<Dual>(&n), Dual::constant(phi));
    for k in 0..6 {
        phi.rates[k] = motion.phi[k];
        (0..3).for_each(|i| normal[i].rates[k] = motion.normal[(i, k)]);
    }
    let sides = [(a.growth(&point_a, &n), -1.0), (b.growth(&point_b, &-n), 1.0)];
    for (side, (growth, sign)) in sides.into_iter().enumerate() {
        for (k, shift) in growth.into_iter().enumerate() {
            let at = 6 + Shape::SIZES * side + k;
            let shift = shift * sign;
            let turned = motion.normal.fixed_columns::<3>(0) * shift;
            phi.rates[at] = n.dot(&shift);
            (0..3).for_each(|i| normal[i].rates[at] = turned[i]);
        }
    }
    (normal, phi)
}
