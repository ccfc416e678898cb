//! Overlaps of bodies, for messages to the user.

use std::fmt;

/// Overlaps of less, m, are 0.000 mm as text: their bodies touch.
const SEEN: f64 = 5e-7;

/// Two bodies that overlap or touch. As text: `"hand/palm" and "hand/thumb" overlap by 7.000 mm`, or `… touch`.
#[derive(Clone, Debug, PartialEq)]
pub struct Overlap {
    /// Name of the body on side A.
    pub a: String,
    /// Name of the body on side B.
    pub b: String,
    /// The depth of the overlap, m: the length of the shortest translation that separates the shapes. 0 if they only
    /// touch.
    pub depth: f64,
}

impl Overlap {
    /// Combines overlaps of shapes, given by their bodies' names and depth, into overlaps of bodies, the deepest first.
    pub(crate) fn gather<'a>(found: impl Iterator<Item = (&'a str, &'a str, f64)>) -> Vec<Self> {
        let mut overlaps: Vec<Self> = Vec::new();
        for (a, b, depth) in found {
            match overlaps.iter_mut().find(|overlap| overlap.a == a && overlap.b == b) {
                Some(known) => known.depth = known.depth.max(depth),
                None => overlaps.push(Self { a: a.to_owned(), b: b.to_owned(), depth }),
            }
        }
        overlaps.sort_by(|x, y| y.depth.total_cmp(&x.depth));
        overlaps
    }
}

impl fmt::Display for Overlap {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self { a, b, depth } = self;
        if *depth < SEEN {
            return write!(f, "\"{a}\" and \"{b}\" touch");
        }
        write!(f, "\"{a}\" and \"{b}\" overlap by {:.3} mm", 1e3 * depth)
    }
}
