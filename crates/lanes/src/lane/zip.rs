//! Iteration and copying for kernels: what the standard library's `zip`, `copy_from_slice` and `map` of arrays do, inlined for certain.
//!
//! Those are functions of their own, compiled for the baseline processor: a call saves and clears all vector registers.

use std::mem::{ManuallyDrop, MaybeUninit, transmute_copy};

use super::Real;

/// Two iterators side by side, see [`Zip::zip_inline`].
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
}

impl<I, J> DoubleEndedIterator for Pairs<I, J>
where
    I: DoubleEndedIterator + ExactSizeIterator,
    J: DoubleEndedIterator + ExactSizeIterator,
{
    /// The iterators must be of the same length.
    #[inline(always)]
    fn next_back(&mut self) -> Option<Self::Item> {
        debug_assert_eq!(self.first.len(), self.second.len());
        Some((self.first.next_back()?, self.second.next_back()?))
    }
}

/// [`Iterator::zip`] for kernels.
pub trait Zip: Iterator + Sized {
    /// Pairs of this iterator's items and the other's, until one of them ends.
    #[inline(always)]
    fn zip_inline<J: IntoIterator>(self, other: J) -> Pairs<Self, J::IntoIter> {
        Pairs { first: self, second: other.into_iter() }
    }
}

impl<I: Iterator> Zip for I {}

/// to ← from, of the same length.
#[inline(always)]
pub fn copy<R: Real>(to: &mut [R], from: &[R]) {
    debug_assert_eq!(to.len(), from.len());
    for (to, &x) in to.iter_mut().zip_inline(from) {
        *to = x;
    }
}

/// [`array::map`](https://doc.rust-lang.org/std/primitive.array.html#method.map) for kernels; what `f` panics over is not dropped.
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
