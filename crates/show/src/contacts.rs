//! The contacts that take part in a step: of thousands that a hand has room for, a few.

use candle_core::{Result, Tensor};

use fingertip_step::contact::{Contacts, UNUSED};
use fingertip_step::step::NearContact;
use fingertip_step::tensor::read;

/// A contact of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactRecord {
    /// Its index among the recording's contacts.
    pub contact: usize,
    /// Signed distance at the step's start, m.
    pub phi: f64,
    /// Unit normal from A to B at the step's start.
    pub normal: [f64; 3],
    /// Witness point on B at the step's start, m.
    pub point: [f64; 3],
    /// Force on B during the step, N.
    pub force: [f64; 3],
}

/// The contacts that take part in a step. The others are farther apart than their pair
/// [reaches](fingertip_step::contact::Window), or points that a pair does not have now. They have no force, and their
/// distance is not known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepContacts {
    nc: usize,
    list: Vec<ContactRecord>,
}

impl StepContacts {
    /// Out of all contacts, of which are given the reach, the distance, and normal, point and force: those that are
    /// nearer than their reach, m; and the least distance of all. From their reach on contacts have no force.
    #[inline]
    pub fn of_all(
        nc: usize,
        reach: impl Fn(usize) -> f64,
        distance: impl Fn(usize) -> f64,
        rest: impl Fn(usize) -> [[f64; 3]; 3],
    ) -> (Self, Option<f64>) {
        let (mut least, mut list) = (f64::INFINITY, Vec::new());
        for contact in 0..nc {
            let phi = distance(contact);
            if phi < least {
                least = phi;
            }
            if phi < reach(contact).min(UNUSED) {
                let [normal, point, force] = rest(contact);
                list.push(ContactRecord { contact, phi, normal, point, force });
            }
        }
        (Self { nc, list }, (nc > 0).then_some(least))
    }

    /// [`StepContacts::of_all`] of one world's step.
    pub(super) fn of_step(contacts: &Contacts, force: &Tensor, reach: &[f64]) -> Result<(Self, Option<f64>)> {
        let [normal, point, force] = [read::<3>(&contacts.normal)?, read::<3>(&contacts.point_b)?, read::<3>(force)?];
        let [normal, point, force] = [normal.groups(), point.groups(), force.groups()];
        let phi = read::<1>(&contacts.phi)?;
        let phi = phi.groups();
        let rest = |i: usize| [normal.get(i), point.get(i), force.get(i)];
        Ok(Self::of_all(phi.len(), |i| reach[i], |i| phi.get(i)[0], rest))
    }

    /// The contacts of one world's step in place, of a scene with so many contacts.
    pub(super) fn of_walk(nc: usize, near: &[NearContact]) -> Self {
        let record = |&NearContact { contact, phi, normal, point_b: point, force, .. }: &NearContact| ContactRecord {
            contact,
            phi,
            normal,
            point,
            force,
        };
        Self { nc, list: near.iter().map(record).collect() }
    }

    /// The number of contacts of the scene.
    pub fn nc(&self) -> usize {
        self.nc
    }

    /// Those that take part, in ascending order.
    pub fn iter(&self) -> std::slice::Iter<'_, ContactRecord> {
        self.list.iter()
    }

    /// Those that take part, to be changed.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, ContactRecord> {
        self.list.iter_mut()
    }

    /// A contact by its index, if it takes part.
    pub fn get(&self, contact: usize) -> Option<&ContactRecord> {
        self.list.binary_search_by_key(&contact, |one| one.contact).ok().map(|at| &self.list[at])
    }

    /// The signed distance of a contact at the step's start, m; NaN if it takes no part.
    pub fn distance(&self, contact: usize) -> f64 {
        self.get(contact).map_or(f64::NAN, |one| one.phi)
    }

    /// The force of a contact, N.
    pub fn force(&self, contact: usize) -> [f64; 3] {
        self.get(contact).map_or([0.0; 3], |one| one.force)
    }

    /// Three numbers of each contact of the scene, zeros for those that take no part.
    pub(super) fn vectors(&self, of: impl Fn(&ContactRecord) -> [f64; 3]) -> Vec<[f64; 3]> {
        let mut all = vec![[0.0; 3]; self.nc];
        self.list.iter().for_each(|one| all[one.contact] = of(one));
        all
    }

    /// The distance of each contact of the scene, m; `absent` for those that take no part.
    pub(super) fn distances(&self, absent: f64) -> Vec<f64> {
        let mut all = vec![absent; self.nc];
        self.list.iter().for_each(|one| all[one.contact] = one.phi);
        all
    }
}

impl<'a> IntoIterator for &'a StepContacts {
    type Item = &'a ContactRecord;
    type IntoIter = std::slice::Iter<'a, ContactRecord>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
