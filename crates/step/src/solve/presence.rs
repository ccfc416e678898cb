//! Which contacts have a weight. Of a hand whose links may touch each other nearly all contacts, tens of thousands, are
//! far apart and have none. What passes over contacts need not look at them: a solve goes through the list of those
//! that take part ([`listed`]), what comes before and after it through their groups ([`present`]). For a problem's
//! contacts, `near` is not positive for groups that are known to have no weight in any world of the lane before they
//! are looked at: of their numbers only the weights are set. Both `near` and the solve's own `presence` are as in
//! [`crate::contact::absence`].

use std::marker::PhantomData;

use crate::contact::absence::{is_absent, is_cleared, is_gone, leave};
use fingertip_lanes::lane::{Pairs, Parts, Real, Zip};

use super::cone::{CONTACT_OPERAND, WEIGHT};
use super::structure::Structure;

/// Fewer contacts than this are one group that always is there.
const FEW: usize = 80;

/// The number of groups; 0 for few contacts.
pub(crate) fn n_groups(s: &Structure) -> usize {
    if s.nc() < FEW { 0 } else { s.groups.len() }
}

/// The length of the list of contacts that take part, for [`listed`].
pub(super) fn n_listed(s: &Structure) -> usize {
    if s.nc() < FEW { 0 } else { 1 + s.nc() }
}

/// Writes the largest weight in each group, and lists the contacts that take part: those with weight.
#[inline(always)]
pub(super) fn find<R: Real>(s: &Structure, (near, contacts): (&[R], &[R]), (presence, list): (&mut [R], &mut [R])) {
    let Some((length, list)) = list.split_first_mut() else { return };
    let (mut first, mut n) = (0, 0);
    for ((group, &near), &of_group) in presence.iter_mut().zip_inline(near).zip_inline(&s.groups) {
        let mut largest = R::zero();
        if !is_absent(near) {
            for (k, contact) in
                contacts[CONTACT_OPERAND * first..].chunks_exact(CONTACT_OPERAND).take(of_group).enumerate()
            {
                largest = largest.max(contact[WEIGHT]);
                if !is_absent(contact[WEIGHT]) {
                    list[n] = index(first + k);
                    n += 1;
                }
            }
        }
        if is_absent(largest) {
            leave(group);
        } else {
            *group = largest;
        }
        first += of_group;
    }
    *length = index(n);
}

#[inline(always)]
fn index<R: Real>(i: usize) -> R {
    #[expect(clippy::cast_precision_loss, reason = "far fewer than a mantissa counts")]
    R::splat(i as f64)
}

/// [`Real::parts`] of what belongs to the contacts that take part, one item each.
#[inline(always)]
pub(crate) fn listed<R: Real, I: IntoIterator>(list: &[R], of: I) -> Parts<R, Listed<'_, R, I::IntoIter>> {
    let rest = list.split_first().and_then(|(&length, list)| Some(&list[..length.index()?]));
    R::parts(Listed { of: of.into_iter(), rest, next: 0 })
}

/// The iterator of [`listed`].
pub(crate) struct Listed<'a, R, I> {
    of: I,
    /// The contacts that are still to come; none if all take part.
    rest: Option<&'a [R]>,
    /// The contact whose item is the next one of `of`.
    next: usize,
}

impl<R: Real, I: Iterator> Iterator for Listed<'_, R, I> {
    type Item = I::Item;

    #[inline(always)]
    fn next(&mut self) -> Option<I::Item> {
        let Some(rest) = &mut self.rest else { return self.of.next() };
        let (&first, others) = rest.split_first()?;
        *rest = others;
        let contact = first.index()?;
        let others = contact - self.next;
        self.next = contact + 1;
        self.of.nth(others)
    }
}

/// [`Real::parts`] of what belongs to contacts, one item each, but for those of groups without weight in every world of
/// the lane.
#[inline(always)]
pub(crate) fn present<'a, R: Real, I: IntoIterator>(
    s: &'a Structure,
    presence: &'a [R],
    of: I,
) -> Parts<R, Chosen<'a, R, I::IntoIter, Present>> {
    R::parts(Chosen::new(s, presence, of.into_iter()))
}

/// What belongs to contacts of groups that have gone, one item each: it is to be cleared.
#[inline(always)]
pub(crate) fn gone<'a, R: Real, I: IntoIterator>(
    s: &'a Structure,
    presence: &'a [R],
    of: I,
) -> Chosen<'a, R, I::IntoIter, Gone> {
    Chosen::new(s, presence, of.into_iter())
}

/// Which groups to go through.
pub(crate) trait Choice {
    /// Is this what a group that always is there is taken for?
    const ALWAYS: bool;
    fn takes<R: Real>(group: R) -> bool;
}

/// See [`present`].
pub(crate) struct Present;

impl Choice for Present {
    const ALWAYS: bool = true;

    #[inline(always)]
    fn takes<R: Real>(group: R) -> bool {
        !is_absent(group)
    }
}

/// See [`gone`].
pub(crate) struct Gone;

impl Choice for Gone {
    const ALWAYS: bool = false;

    #[inline(always)]
    fn takes<R: Real>(group: R) -> bool {
        is_gone(group)
    }
}

/// What belongs to contacts of groups that are not [cleared](crate::contact::absence), one item each.
#[inline(always)]
pub(crate) fn touched<'a, R: Real, I: IntoIterator>(
    s: &'a Structure,
    presence: &'a [R],
    of: I,
) -> Parts<R, Chosen<'a, R, I::IntoIter, Touched>> {
    R::parts(Chosen::new(s, presence, of.into_iter()))
}

/// See [`touched`].
pub(crate) struct Touched;

impl Choice for Touched {
    const ALWAYS: bool = true;

    #[inline(always)]
    fn takes<R: Real>(group: R) -> bool {
        !is_cleared(group)
    }
}

/// The items of all contacts of the groups that are taken.
pub(crate) struct Chosen<'a, R, I, C> {
    of: I,
    groups: Pairs<std::slice::Iter<'a, usize>, std::slice::Iter<'a, R>>,
    /// Items of the present group that are still to come.
    left: usize,
    choice: PhantomData<C>,
}

impl<'a, R: Real, I: Iterator, C: Choice> Chosen<'a, R, I, C> {
    #[inline(always)]
    fn new(s: &'a Structure, presence: &'a [R], of: I) -> Self {
        let left = if presence.is_empty() && C::ALWAYS { usize::MAX } else { 0 };
        Self { of, groups: s.groups.iter().zip_inline(presence), left, choice: PhantomData }
    }
}

impl<R: Real, I: Iterator, C: Choice> Iterator for Chosen<'_, R, I, C> {
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

impl<R: Real, I: Iterator, C: Choice> Chosen<'_, R, I, C> {
    /// Goes to the next group that is taken: the number of contacts before it. None if there is none.
    #[inline(always)]
    fn enter(&mut self) -> Option<usize> {
        let mut others = 0;
        for (&n, &group) in self.groups.by_ref() {
            if C::takes(group) {
                self.left = n;
                return Some(others);
            }
            others += n;
        }
        None
    }
}
