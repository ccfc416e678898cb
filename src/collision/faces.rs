//! Which face each of two boxes shows the other.
//!
//! A box has a face that faces most along the normal, and a second one next to it across an edge. Together they form a
//! roof, one side of which may be flat. Let F be the flattest side of both roofs. The box of F shows F. The other box
//! normally shows its own flatter side, but shows the steeper one if F lies over that. The rule: let F reach a distance
//! E from the edge over a side whose normal has the cosine c with the contact normal; the side with the larger E c² is
//! shown.
//!
//! So a box that stands on an edge shows the side that overlaps with F, even if edges of both boxes are nearly one
//! line. Showing the other side would lose points there. A box that lies flat, with its steeper side within 5° of
//! upright, shows the face that it lies on.

use nalgebra::Vector3;

use super::patch::{Body, Flat};

/// A box's two faces that look most along the normal, and the edge between them.
struct Roof<'a> {
    body: Body<'a, f64>,
    /// The cosine of each axis with the normal to the other box.
    along: Vector3<f64>,
    flatter: usize,
    steeper: usize,
}

/// The two faces, or none if all edges of one box fall away from its farthest corner by an angle of at least this sine.
/// An upright side has at most this cosine with the normal.
pub(super) fn shown<'a>(bodies: [Body<'a, f64>; 2], n: &Vector3<f64>, sharp: f64) -> Option<[Flat<'a>; 2]> {
    let [a, b] = bodies;
    let roofs = [Roof::new(a, n), Roof::new(b, &-n)];
    if roofs.iter().any(|roof| roof.along.amin() >= sharp) {
        return None;
    }
    let [a, b] = &roofs;
    let is_flatter = a.cosine(a.steeper) * b.cosine(b.flatter) <= b.cosine(b.steeper) * a.cosine(a.flatter);
    let (of_a, of_b) =
        if is_flatter { (a.flatter, b.side_under(a, sharp)) } else { (a.side_under(b, sharp), b.flatter) };
    Some([a.face(of_a), b.face(of_b)])
}

impl<'a> Roof<'a> {
    fn new(body: Body<'a, f64>, n: &Vector3<f64>) -> Self {
        let along = Vector3::from_fn(|k, _| body.axes[k].dot(n));
        let (flatter, least) = (along.iamax(), along.iamin());
        // All are equal where both are the same.
        let steeper = if flatter == least { 1 } else { 3 - flatter - least };
        Self { body, along, flatter, steeper }
    }

    fn face(&self, k: usize) -> Flat<'a> {
        Flat::OfBox(k, 1_f64.copysign(self.along[k]))
    }

    fn cosine(&self, k: usize) -> f64 {
        self.along[k].abs()
    }

    /// An axis, out of the body on the side of the other one.
    fn out(&self, k: usize) -> Vector3<f64> {
        self.body.axes[k] * 1_f64.copysign(self.along[k])
    }

    /// The side to show when the flattest of all sides is the other box's.
    fn side_under(&self, other: &Self, sharp: f64) -> usize {
        let (i, j) = (self.flatter, self.steeper);
        let (cos_i, cos_j) = (self.cosine(i), self.cosine(j));
        // Across the edge, away from the steeper side, of any length.
        let aside = self.out(i) * cos_j - self.out(j) * cos_i;
        let edge = self.body.sizes[i] * cos_j - self.body.sizes[j] * cos_i;
        let middle = other.body.origin + other.out(other.flatter) * other.body.sizes[other.flatter];
        let from_edge = aside.dot(&(middle - self.body.origin)) - edge;
        let half = |k: usize| other.body.sizes[k] * other.body.axes[k].dot(&aside).abs();
        let width: f64 = (0..3).filter(|&k| k != other.flatter).map(half).sum();
        let (over_i, over_j) = ((width + from_edge).max(0.0), (width - from_edge).max(0.0));
        if over_j * (cos_j * cos_j - sharp * sharp) > over_i * (cos_i * cos_i) { j } else { i }
    }
}
