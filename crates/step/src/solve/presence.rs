//! Which blocks of contacts have one with a weight. Of a hand whose links may touch each other nearly all contacts, tens of thousands, are
//! far apart and have none. What passes over contacts need not look at them: it goes through [`present`].

use fingertip_lanes::lane::{Parts, Real, Zip};

use super::cone::{CONTACT_OPERAND, WEIGHT};

/// Contacts in a block: as many as two links of one robot have.
const BLOCK: usize = 5;
/// Fewer contacts than this are one block that always is there.
const FEW: usize = 80;

/// The number of blocks that so many contacts have; 0 for few contacts.
pub(super) fn n_blocks(nc: usize) -> usize {
    if nc < FEW { 0 } else { nc.div_ceil(BLOCK) }
}

/// Writes the largest weight in each block.
#[inline(always)]
pub(super) fn find<R: Real>(contacts: &[R], presence: &mut [R]) {
    for (largest, block) in presence.iter_mut().zip_inline(contacts.chunks(BLOCK * CONTACT_OPERAND)) {
        *largest = R::zero();
        for contact in block.chunks_exact(CONTACT_OPERAND) {
            *largest = largest.max(contact[WEIGHT]);
        }
    }
}

/// [`Real::parts`] of what belongs to contacts, one item each, but for those of blocks without weight in every world of the lane.
#[inline(always)]
pub(super) fn present<R: Real, I: IntoIterator>(presence: &[R], of: I) -> Parts<R, Present<'_, R, I::IntoIter>> {
    let left = if presence.is_empty() { usize::MAX } else { 0 };
    R::parts(Present { of: of.into_iter(), blocks: presence.iter(), left })
}

/// The iterator of [`present`].
pub(super) struct Present<'a, R, I> {
    of: I,
    blocks: std::slice::Iter<'a, R>,
    /// Items of the present block that are still to come.
    left: usize,
}

impl<R: Real, I: Iterator> Iterator for Present<'_, R, I> {
    type Item = I::Item;

    #[inline(always)]
    fn next(&mut self) -> Option<I::Item> {
        if self.left == 0 && !self.enter() {
            return None;
        }
        self.left -= 1;
        self.of.next()
    }
}

impl<R: Real, I: Iterator> Present<'_, R, I> {
    /// Goes to the next block that is there. False if there is none.
    #[inline(always)]
    fn enter(&mut self) -> bool {
        for &largest in self.blocks.by_ref() {
            if !R::is_nowhere(largest.gt(R::zero())) {
                self.left = BLOCK;
                return true;
            }
            for _ in 0..BLOCK {
                if self.of.next().is_none() {
                    return false;
                }
            }
        }
        false
    }
}
