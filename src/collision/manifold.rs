//! Several contact points where flat sides meet.

use std::cmp::Ordering;

use nalgebra::{Isometry3, Vector3};

use super::collider::Posed;
use super::core::Core;
use super::face::Face;
use super::hold::{Hold, Slide};
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
        let Some(closest) = self.distance(other) else { return Vec::new() };
        if closest.phi > margin {
            return Vec::new();
        }
        let mut all = match other.0.core {
            Core::HalfSpace => {
                let face_a = self.face(&closest.normal);
                let plane = Side { point: closest.point_b, normal: -closest.normal, is_a: false };
                face_a
                    .corners
                    .iter()
                    .map(|corner| plane.under(corner, self.0.radius, Slide::corner(face_a.rolls)))
                    .collect()
            }
            _ => self.clipped(other, &closest),
        };
        // A hull's lowest corner may be on another face, and a round cap is lowest between the corners of its octagon.
        let is_flat = |core: &Core| matches!(core, Core::Segment(_) | Core::Box(_));
        if !(is_flat(&self.0.core) && is_flat(&other.0.core)) && all.iter().all(|contact| contact.phi > closest.phi) {
            all.push(closest);
        }
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
    fn clipped(&self, other: &Self, closest: &Distance) -> Vec<Distance> {
        let outward = [closest.normal, -closest.normal];
        let aligned = |body: &Self, direction: &Vector3<f64>| {
            let normal = Face::normal_towards(&body.0.core, body.1, direction)?;
            Some(normal.dot(direction)).filter(|along| *along > ALIGNED)
        };
        let (of_a, of_b) = (aligned(self, &outward[0]), aligned(other, &outward[1]));
        let a_refers = match (of_a, of_b) {
            (Some(a), Some(b)) => a >= b - PREFER_A,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (None, None) => return Vec::new(),
        };
        let (body, incident, outward) = if a_refers { (self, other, outward[0]) } else { (other, self, outward[1]) };
        let reference = body.face(&outward);
        let normal = reference.normal;
        let side = Side { point: reference.corners[0] + normal * body.0.radius, normal, is_a: a_refers };
        let points = overlap(&reference, &incident.face(&-normal));
        points.iter().map(|corner| side.under(&corner.point, incident.0.radius, corner.slide)).collect()
    }
}

/// The plane of a face, with its outward normal.
struct Side {
    point: Vector3<f64>,
    normal: Vector3<f64>,
    is_a: bool,
}

impl Side {
    /// The contact of a point of the other body's core, which has a radius, with the plane.
    fn under(&self, corner: &Vector3<f64>, radius: f64, slide: Slide) -> Distance {
        let on_other = corner - self.normal * radius;
        let phi = self.normal.dot(&(on_other - self.point));
        let on_face = on_other - self.normal * phi;
        let contact =
            Distance { phi, point_a: on_face, point_b: on_other, normal: self.normal, hold: Hold::FaceOfA(slide) };
        if self.is_a { contact } else { contact.swapped() }
    }
}

/// A corner of what is left of a face, and the edge to the next corner.
#[derive(Clone, Copy)]
struct Corner {
    point: Vector3<f64>,
    slide: Slide,
    /// Is the edge to the next corner one of the face's own?
    own_edge: bool,
}

/// The part of a polygon, a line or a point above or below a face (Sutherland and Hodgman, 1974).
fn overlap(face: &Face, other: &Face) -> Vec<Corner> {
    let corner = |point: &Vector3<f64>| Corner { point: *point, slide: Slide::corner(other.rolls), own_edge: true };
    // Each side of a face that is convex adds one corner at most.
    let most = other.corners.len() + face.corners.len();
    let (mut kept, mut next) = (Vec::with_capacity(most), Vec::with_capacity(most));
    kept.extend(other.corners.iter().map(corner));
    let is_closed = other.is_polygon();
    let sides = face.corners.iter().zip(face.corners.iter().cycle().skip(1));
    for (from, to) in sides {
        let inward = face.normal.cross(&(to - from)).normalize();
        let depth = |corner: &Corner| inward.dot(&(corner.point - from));
        next.clear();
        for (i, p) in kept.iter().enumerate() {
            let here = depth(p);
            if here >= 0.0 {
                next.push(*p);
            }
            let following = if i + 1 < kept.len() { kept.get(i + 1) } else { kept.first().filter(|_| is_closed) };
            let Some(q) = following else { continue };
            let there = depth(q);
            if (here < 0.0) != (there < 0.0) {
                let point = p.point + (q.point - p.point) * (here / (here - there));
                let slide = if p.own_edge {
                    Slide::along_edge((q.point - p.point).normalize(), inward, other.rolls)
                } else {
                    Slide::on_face(&face.normal, &other.normal)
                };
                next.push(Corner { point, slide, own_edge: p.own_edge && here < 0.0 });
            }
        }
        std::mem::swap(&mut kept, &mut next);
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
