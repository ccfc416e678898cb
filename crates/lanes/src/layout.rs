//! Working memory with named parts.

/// Declares a struct that describes a working memory of named parts. All fields have one type parameter: first the
/// length of each part (`usize`), then its range in the memory (`Range<usize>`), then the part itself (`&mut [R]`).
#[macro_export]
macro_rules! layout {
    ($(#[$about:meta])* $vis:vis struct $Name:ident { $($(#[$doc:meta])* $field:ident,)* }) => {
        $(#[$about])*
        #[derive(Clone, Debug)]
        $vis struct $Name<T> {
            $($(#[$doc])* $vis $field: T,)*
        }

        impl<R: $crate::lane::Real> $crate::lane::State<R> for $Name<&mut [R]> {
            fn each(&mut self, f: &mut dyn FnMut($crate::lane::Slot<R>)) {
                $($crate::lane::State::<R>::each(&mut *self.$field, f);)*
            }
        }

        impl<T> $Name<T> {
            /// The parts with their names, in order.
            #[allow(dead_code, reason = "not every layout is listed")]
            $vis fn named(&self) -> impl Iterator<Item = (&'static str, &T)> {
                [$((stringify!($field), &self.$field),)*].into_iter()
            }
        }

        impl $Name<usize> {
            /// Places parts of these lengths one after the other, from index `start` on.
            $vis const fn from(self, start: usize) -> $Name<std::ops::Range<usize>> {
                let mut end = start;
                $(
                    let $field = end..end + self.$field;
                    end = $field.end;
                )*
                let _ = end;
                $Name { $($field,)* }
            }
        }

        impl $Name<std::ops::Range<usize>> {
            /// The index behind the last part, where the memory ends.
            $vis fn end(&self) -> usize {
                [$(self.$field.end,)*].into_iter().fold(0, usize::max)
            }

            /// Splits a memory that starts where the first part does into the parts and the rest behind them.
            #[inline(always)]
            $vis fn cut<'a, R>(&self, memory: &'a mut [R]) -> ($Name<&'a mut [R]>, &'a mut [R]) {
                let starts = [$(self.$field.start,)*];
                let (first, mut end, mut is_row) = (starts[0], starts[0], true);
                $(
                    is_row &= self.$field.start == end && self.$field.end >= end;
                    end = self.$field.end;
                )*
                assert!(is_row && end - first <= memory.len());
                let start = memory.as_mut_ptr();
                // SAFETY: one part starts where the one before ends, and the memory does not end before the last one,
                // as asserted. Each is where its own place says: as a sum of the lengths before it, as splitting one
                // part after the other makes it, a place is a sum of dozens, which the compiler rearranges for each
                // access in a loop.
                unsafe {
                    let part = |place: &std::ops::Range<usize>| {
                        std::slice::from_raw_parts_mut(start.add(place.start - first), place.end - place.start)
                    };
                    let rest = std::slice::from_raw_parts_mut(start.add(end - first), memory.len() - (end - first));
                    ($Name { $($field: part(&self.$field),)* }, rest)
                }
            }
        }
    };
}

use std::mem::{MaybeUninit, transmute_copy};
use std::ops::Range;

/// Splits a memory into parts at disjoint ranges, in any order. It is the standard library's `get_disjoint_mut`, but
/// always inlined.
///
/// # Panics
/// If the ranges overlap or reach beyond the memory. That is a mistake in a layout, never caused by input.
#[inline(always)]
pub fn parts<'a, R, const N: usize>(memory: &'a mut [R], places: [&Range<usize>; N]) -> [&'a mut [R]; N] {
    for i in 0..N {
        assert!(places[i].start <= places[i].end && places[i].end <= memory.len());
        for j in 0..i {
            assert!(places[i].end <= places[j].start || places[j].end <= places[i].start);
        }
    }
    let start = memory.as_mut_ptr();
    let mut parts = [const { MaybeUninit::<&mut [R]>::uninit() }; N];
    for i in 0..N {
        // SAFETY: the places are inside the memory and no two of them overlap, as asserted.
        parts[i].write(unsafe { std::slice::from_raw_parts_mut(start.add(places[i].start), places[i].len()) });
    }
    // SAFETY: all of them are written.
    unsafe { transmute_copy(&parts) }
}
