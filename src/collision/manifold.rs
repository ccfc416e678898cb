//! Several contact points where flat sides meet.

use std::cmp::Ordering;

use nalgebra::{Isometry3, Vector3};

use super::collider::Posed;
use super::core::Core;
use super::face::Face;
use super::sensitivity::Hold;
use super::{Collider, Distance};

/// Contact points that a [`Collider::manifold`] has at most.
pub const MANIFOLD: usize = 4;
/// Sides whose normal is within 5° of the contact's meet with their faces; else the closest points are the contact.
const ALIGNED: f64 = 0.9962;
/// B's face takes A's place as the reference only if it is better aligned by this much, so that rounding does not choose.
const PREFER_A: f64 = 1e-3;
/// Corners nearer to each other than this part of the face are one.
const SAME: f64 = 1e-9;

impl Collider {
    /// Contact points up to `margin` apart, m: where a flat side of one body meets a face of the other, the up to four most
    /// spread corners of their overlap, the deepest among them, each with the face's normal and the distance along it;
    /// else the closest points alone. In exchanged bodies they are the same, exchanged.
    ///
    /// A cylinder's cap counts as an octagon, its side and a capsule as a line. None between two half-spaces.
    pub fn manifold(
        &self,
        pose: &Isometry3<f64>,
        other: &Self,
        other_pose: &Isometry3<f64>,
        margin: f64,
    ) -> Vec<Distance> {
        let (a, b) = (Posed(self, pose), Posed(other, other_pose));
        if a.order(&b) == Ordering::Greater {
            return b.contacts(&a, margin).into_iter().map(Distance::swapped).collect();
        }
        a.contacts(&b, margin)
    }
}

impl Posed<'_> {
    /// The contact points of bodies in the order of [`Posed::order`].
    fn contacts(&self, other: &Self, margin: f64) -> Vec<Distance> {
        let Some(closest) = self.0.distance(self.1, other.0, other.1) else { return Vec::new() };
        if closest.phi > margin {
            return Vec::new();
        }
        let (face_a, face_b) = (self.face(&closest.normal), other.face(&-closest.normal));
        let mut all = match other.0.core {
            Core::HalfSpace => {
                let plane = Side { point: closest.point_b, normal: -closest.normal, hold: Hold::FaceOfB };
                let mut all = plane.under(&face_a.corners, self.0.radius);
                all.push(closest);
                all
            }
            _ => self.clipped(other, &closest, &face_a, &face_b),
        };
        all.retain(|contact| contact.phi <= margin);
        if all.is_empty() {
            return vec![closest];
        }
        spread(all)
    }

    fn face(&self, direction: &Vector3<f64>) -> Face {
        Face::towards(&self.0.core, self.1, direction)
    }

    /// The other's face, where this one's is over or under it; none if no face is aligned with the contact.
    fn clipped(&self, other: &Self, closest: &Distance, face_a: &Face, face_b: &Face) -> Vec<Distance> {
        let aligned = |face: &Face, sign: f64| {
            let along = sign * face.normal.dot(&closest.normal);
            (face.is_polygon() && along > ALIGNED).then_some(along)
        };
        let (of_a, of_b) = (aligned(face_a, 1.0), aligned(face_b, -1.0));
        let a_refers = match (of_a, of_b) {
            (Some(a), Some(b)) => a >= b - PREFER_A,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (None, None) => return Vec::new(),
        };
        let (reference, incident, hold, body) = if a_refers {
            (face_a, face_b, Hold::FaceOfA, (self, other))
        } else {
            (face_b, face_a, Hold::FaceOfB, (other, self))
        };
        let normal = reference.normal;
        let point = reference.corners[0] + normal * body.0.0.radius;
        Side { point, normal, hold }.under(&overlap(reference, &incident.corners), body.1.0.radius)
    }
}

/// The plane of a face, with its outward normal.
struct Side {
    point: Vector3<f64>,
    normal: Vector3<f64>,
    hold: Hold,
}

impl Side {
    /// Contacts of points of the other body's core, which has a radius, with the plane.
    fn under(&self, corners: &[Vector3<f64>], radius: f64) -> Vec<Distance> {
        let contact = |corner: &Vector3<f64>| {
            let on_other = corner - self.normal * radius;
            let phi = self.normal.dot(&(on_other - self.point));
            let on_face = on_other - self.normal * phi;
            match self.hold {
                Hold::FaceOfB => {
                    Distance { phi, point_a: on_other, point_b: on_face, normal: -self.normal, hold: self.hold }
                }
                _ => Distance { phi, point_a: on_face, point_b: on_other, normal: self.normal, hold: self.hold },
            }
        };
        corners.iter().map(contact).collect()
    }
}

/// The part of a polygon, a line or a point above or below a face (Sutherland and Hodgman, 1974).
fn overlap(face: &Face, corners: &[Vector3<f64>]) -> Vec<Vector3<f64>> {
    let mut kept = corners.to_vec();
    let sides = face.corners.iter().zip(face.corners.iter().cycle().skip(1));
    for (from, to) in sides {
        let inward = face.normal.cross(&(to - from));
        let depth = |p: &Vector3<f64>| inward.dot(&(p - from));
        let is_closed = kept.len() > 2;
        let mut next = Vec::with_capacity(kept.len() + 1);
        for (i, p) in kept.iter().enumerate() {
            let here = depth(p);
            if here >= 0.0 {
                next.push(*p);
            }
            let following = if i + 1 < kept.len() { kept.get(i + 1) } else { kept.first().filter(|_| is_closed) };
            if let Some(q) = following {
                let there = depth(q);
                if (here < 0.0) != (there < 0.0) {
                    next.push(p + (q - p) * (here / (here - there)));
                }
            }
        }
        kept = next;
    }
    kept
}

/// At most [`MANIFOLD`] contacts: the deepest, the farthest from it, and the two that span the largest triangles with them on
/// either side.
fn spread(all: Vec<Distance>) -> Vec<Distance> {
    let Some(deepest) = all.iter().min_by(|x, y| x.phi.total_cmp(&y.phi)).copied() else { return all };
    let from = |contact: &Distance| contact.point_a - deepest.point_a;
    let size = all.iter().map(|contact| from(contact).norm()).fold(0.0, f64::max);
    let mut chosen = vec![deepest];
    let mut add = |value: &dyn Fn(&Distance) -> f64| -> Option<Vector3<f64>> {
        let best = all.iter().max_by(|x, y| value(x).total_cmp(&value(y)))?;
        let is_new =
            value(best) > SAME * size && chosen.iter().all(|other| (other.point_a - best.point_a).norm() > SAME * size);
        is_new.then(|| {
            chosen.push(*best);
            from(best)
        })
    };
    if let Some(far) = add(&|contact| from(contact).norm()) {
        let across = deepest.normal.cross(&far.normalize());
        add(&|contact| across.dot(&from(contact)));
        add(&|contact| -across.dot(&from(contact)));
    }
    chosen
}
