//! Loops whose passes are alike, so that printed code may have one function for all of them.

use std::marker::PhantomData;

use super::Real;

/// An iterator that says where each part starts, and where the last one ends: see [`Real::parts`].
pub struct Parts<R, I> {
    of: I,
    number: PhantomData<R>,
}

impl<R, I> Parts<R, I> {
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
