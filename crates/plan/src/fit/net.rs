//! Which contacts a net force sums.

use fingertip_scene::unknown;
use fingertip_shapes::{Error, Result};
use fingertip_step::model::Model;

/// The contacts of which one side belongs to a thing, each with the sign of its force on that.
#[derive(Clone, Debug)]
pub struct Net {
    pub(crate) contacts: Vec<(usize, f64)>,
}

impl Net {
    /// On a body, or on all of a robot or an object; by everything, or by a second one alone. `place` is where an error
    /// is.
    ///
    /// # Errors
    /// If a name is not known, or nothing may touch.
    pub fn new(model: &Model, place: &str, on: &str, by: Option<&str>) -> Result<Self> {
        let tree = &model.tree;
        for name in std::iter::once(on).chain(by) {
            if !(0..tree.bodies.len()).any(|body| tree.is_called(body, name)) {
                let owners = tree.owners.iter().map(|owner| owner.name.as_str());
                let known = owners.chain(tree.bodies.iter().skip(1).map(|body| body.name.as_str()));
                return Err(Error::invalid(place, unknown("thing or body", name, known)));
            }
        }
        let pairs = model.pairs.pair_of_contact.iter().map(|&pair| &model.pairs.pairs[pair]).enumerate();
        let sum = pairs.map(|(contact, pair)| {
            let [a, b] = [pair.a, pair.b].map(|shape| model.shapes[shape].body);
            let is = |own: usize, other: usize| {
                tree.is_called(own, on) && !tree.is_called(other, on) && by.is_none_or(|by| tree.is_called(other, by))
            };
            // Forces are those on side B.
            (contact, f64::from(u8::from(is(b, a))) - f64::from(u8::from(is(a, b))))
        });
        let contacts: Vec<_> = sum.filter(|&(_, sign)| sign != 0.0).collect();
        if contacts.is_empty() {
            let may = by.map_or_else(|| "something".to_owned(), |by| format!("\"{by}\""));
            let message = format!("expected a thing that may touch {may}, \"{on}\" has no contacts");
            return Err(Error::invalid(place, message));
        }
        Ok(Self { contacts })
    }

    /// Places in (nc, 3), and signs, of the force along an axis.
    pub(crate) fn along(&self, axis: usize) -> Vec<(usize, f64)> {
        self.contacts.iter().map(|&(contact, sign)| (3 * contact + axis, sign)).collect()
    }
}
