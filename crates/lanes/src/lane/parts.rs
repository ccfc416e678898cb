//! Loops over alike parts, so that printed code may have one function for all passes of a loop.

use std::marker::PhantomData;

use super::Real;

/// An iterator that marks where each part starts and where the last one ends, for recordings: see [`Real::parts`].
pub struct Parts<R, I> {
    of: I,
    number: PhantomData<R>,
}

impl<R, I> Parts<R, I> {
    /// Marks the items of an iterator as parts.
    #[inline(always)]
    pub(super) fn new(of: I) -> Self {
        Self { of, number: PhantomData }
    }
}

impl<R: Real, I: Iterator> Iterator for Parts<R, I> {
    type Item = I::Item;

    #[inline(always)]
    fn next(&mut self) -> Option<I::Item> {
        R::part();
        self.of.next()
    }
}
