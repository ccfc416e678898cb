//! What a scene's pairs have that its author should know.

use crate::kinematics::Tree;

use super::home::Overlap;
use super::table::{BodyShape, PairTable};

impl PairTable {
    /// A line for each two bodies that are left out, or start deep inside each other.
    pub(crate) fn warnings(&self, tree: &Tree, shapes: &[BodyShape]) -> Vec<String> {
        let name = |shape: usize| tree.bodies[shapes[shape].body].name.as_str();
        let of_bodies = |overlaps: Vec<Overlap>| {
            let mut found: Vec<(&str, &str, f64)> = Vec::new();
            for Overlap { a, b, depth, .. } in overlaps {
                match found.iter_mut().find(|(x, y, _)| (*x, *y) == (name(a), name(b))) {
                    Some(known) => known.2 = known.2.max(depth),
                    None => found.push((name(a), name(b), depth)),
                }
            }
            found
        };
        let overlap = |a: &str, b: &str, depth: f64| format!("\"{a}\" and \"{b}\" overlap by {:.3} mm", 1e3 * depth);
        let rule = |a: &str, b: &str, enabled: bool| format!("[[pair]] a = \"{a}\", b = \"{b}\", enabled = {enabled}");
        let left_out = of_bodies(self.left_out.clone()).into_iter().map(|(a, b, depth)| {
            let overlap = overlap(a, b, depth);
            let (without, with) = (rule(a, b, false), rule(a, b, true));
            format!("{overlap} at home and are left out: {without} says so without this warning, {with} keeps them")
        });
        let deep = self.overlaps.iter().copied().filter(|overlap| overlap.is_deep).collect();
        let deep = of_bodies(deep).into_iter().map(|(a, b, depth)| {
            let overlap = overlap(a, b, depth);
            format!("{overlap} at the start, which the first step undoes at once: move one, or {}", rule(a, b, false))
        });
        left_out.chain(deep).collect()
    }
}
