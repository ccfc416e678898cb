//! Iteration and copying for kernels: `zip`, `copy_from_slice` and `map` of arrays, but always inlined.
//!
//! The functions of the standard library may stay functions of their own. These are compiled for the baseline
//! processor, and a call saves and clears all vector registers.

use std::mem::{ManuallyDrop, MaybeUninit, transmute_copy};

use super::Real;

/// An iterator over pairs from two iterators, made by [`Zip::zip_inline`].
#[derive(Clone)]
pub struct Pairs<I, J> {
    first: I,
    second: J,
}

impl<I: Iterator, J: Iterator> Iterator for Pairs<I, J> {
    type Item = (I::Item, J::Item);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        Some((self.first.next()?, self.second.next()?))
    }

    /// Passes over what both iterators can pass over at once.
    #[inline(always)]
    fn nth(&mut self, n: usize) -> Option<Self::Item> {
        Some((self.first.nth(n)?, self.second.nth(n)?))
    }
}

impl<I, J> DoubleEndedIterator for Pairs<I, J>
where
    I: DoubleEndedIterator + ExactSizeIterator,
    J: DoubleEndedIterator + ExactSizeIterator,
{
    /// The last pair. Both iterators must have the same length.
    #[inline(always)]
    fn next_back(&mut self) -> Option<Self::Item> {
        debug_assert_eq!(self.first.len(), self.second.len());
        Some((self.first.next_back()?, self.second.next_back()?))
    }
}

/// [`Iterator::zip`] that is always inlined, for kernels.
pub trait Zip: Iterator + Sized {
    /// Pairs the items of both iterators, until one of them ends.
    #[inline(always)]
    fn zip_inline<J: IntoIterator>(self, other: J) -> Pairs<Self, J::IntoIter> {
        Pairs { first: self, second: other.into_iter() }
    }
}

impl<I: Iterator> Zip for I {}

/// Copies `from` to `to`. Both must have the same length.
#[inline(always)]
pub fn copy<R: Real>(to: &mut [R], from: &[R]) {
    debug_assert_eq!(to.len(), from.len());
    for (to, &x) in to.iter_mut().zip_inline(from) {
        *to = x;
    }
}

/// [`array::map`](https://doc.rust-lang.org/std/primitive.array.html#method.map) that is always inlined, for kernels.
/// If `f` panics, the items left are not dropped.
#[inline(always)]
pub(super) fn map<T, U, const N: usize>(from: [T; N], f: impl Fn(T) -> U) -> [U; N] {
    let from = ManuallyDrop::new(from);
    let mut to = [const { MaybeUninit::<U>::uninit() }; N];
    for i in 0..N {
        // SAFETY: each is read once, and not dropped where it was.
        to[i].write(f(unsafe { std::ptr::read(&from[i]) }));
    }
    // SAFETY: all of them are written.
    unsafe { transmute_copy(&to) }
}
