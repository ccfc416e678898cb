//! Which groups of contacts have one with a weight. Of a hand whose links may touch each other nearly all contacts,
//! tens of thousands, are far apart and have none. What passes over contacts need not look at them: it goes through
//! [`present`]. For a problem's contacts, `near` is 0 for groups that are known to have no weight in any world of the
//! lane before they are looked at: of their numbers only μ and weight are set.

use fingertip_lanes::lane::{Pairs, Parts, Real, Zip};

use super::cone::{CONTACT_OPERAND, WEIGHT};
use super::structure::Structure;

/// Fewer contacts than this are one group that always is there.
const FEW: usize = 80;

/// The number of groups; 0 for few contacts.
pub(crate) fn n_groups(s: &Structure) -> usize {
    if s.nc() < FEW { 0 } else { s.groups.len() }
}

/// Writes the largest weight in each group.
#[inline(always)]
pub(super) fn find<R: Real>(s: &Structure, (near, contacts): (&[R], &[R]), presence: &mut [R]) {
    let mut first = 0;
    for ((largest, &near), &n) in presence.iter_mut().zip_inline(near).zip_inline(&s.groups) {
        *largest = R::zero();
        if !R::is_nowhere(near.gt(R::zero())) {
            for contact in contacts[CONTACT_OPERAND * first..].chunks_exact(CONTACT_OPERAND).take(n) {
                *largest = largest.max(contact[WEIGHT]);
            }
        }
        first += n;
    }
}

/// [`Real::parts`] of what belongs to contacts, one item each, but for those of groups without weight in every world of
/// the lane.
#[inline(always)]
pub(crate) fn present<'a, R: Real, I: IntoIterator>(
    s: &'a Structure,
    presence: &'a [R],
    of: I,
) -> Parts<R, Present<'a, R, I::IntoIter>> {
    let left = if presence.is_empty() { usize::MAX } else { 0 };
    R::parts(Present { of: of.into_iter(), groups: s.groups.iter().zip_inline(presence), left })
}

/// The iterator of [`present`].
pub(crate) struct Present<'a, R, I> {
    of: I,
    groups: Pairs<std::slice::Iter<'a, usize>, std::slice::Iter<'a, R>>,
    /// Items of the present group that are still to come.
    left: usize,
}

impl<R: Real, I: Iterator> Iterator for Present<'_, R, I> {
    type Item = I::Item;

    #[inline(always)]
    fn next(&mut self) -> Option<I::Item> {
        if self.left == 0 {
            let absent = self.enter()?;
            self.left -= 1;
            return self.of.nth(absent);
        }
        self.left -= 1;
        self.of.next()
    }
}

impl<R: Real, I: Iterator> Present<'_, R, I> {
    /// Goes to the next group that is there: the number of contacts before it. None if there is none.
    #[inline(always)]
    fn enter(&mut self) -> Option<usize> {
        let mut absent = 0;
        for (&n, &largest) in self.groups.by_ref() {
            if !R::is_nowhere(largest.gt(R::zero())) {
                self.left = n;
                return Some(absent);
            }
            absent += n;
        }
        None
    }
}
