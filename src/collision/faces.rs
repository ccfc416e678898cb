//! Which face each of two boxes shows the other.
//!
//! A box has a face that looks most along the normal, and a second one next to it across an edge. Together they form a
//! roof, which may be flat on one side. Of the four sides of both roofs, one is the flattest: F. Its box shows F.
//!
//! The other box shows its own flatter side, unless F lies over the steeper one. To decide that, let E be the length by
//! which F reaches over a side, measured from the edge, and c how much that side looks along the normal. The box shows
//! the side with more of E c². So a box that stands on an edge shows the side on which it and F overlap, even if edges
//! of both nearly coincide; showing the other side would lose points there. A box that lies flat, so that its steeper
//! side is within 5° of upright, shows the face that it lies on.

use nalgebra::Vector3;

use super::patch::{Body, Flat};

/// A box's two faces that look most along the normal, and the edge between them.
struct Roof<'a> {
    body: Body<'a, f64>,
    /// How much each axis looks along the normal to the other box.
    along: Vector3<f64>,
    flatter: usize,
    steeper: usize,
}

/// Nothing if all edges of one box fall away from its farthest corner by an angle of at least this sine. By no more a side looks along
/// the normal that is upright.
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

    /// The side that is shown to the flattest of all sides, which is the other box's flatter one.
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
