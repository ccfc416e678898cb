//! Working memory with named parts.

/// A struct whose fields are all of one type parameter: numbers of each part (`usize`), then their places
/// (`Range<usize>`), then the parts themselves (`&mut [R]`).
macro_rules! layout {
    ($(#[$about:meta])* $vis:vis struct $Name:ident { $($(#[$doc:meta])* $field:ident,)* }) => {
        $(#[$about])*
        #[derive(Clone, Debug)]
        $vis struct $Name<T> {
            $($(#[$doc])* $vis $field: T,)*
        }

        impl $Name<usize> {
            /// The places of parts of these sizes, one after the other from `start` on.
            $vis fn from(self, start: usize) -> $Name<std::ops::Range<usize>> {
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
            /// Where the last part ends.
            $vis fn end(&self) -> usize {
                [$(self.$field.end,)*].into_iter().fold(0, usize::max)
            }

            /// The parts of a memory that starts where the first part does; the rest comes back.
            #[inline(always)]
            $vis fn cut<'a, R>(&self, memory: &'a mut [R]) -> ($Name<&'a mut [R]>, &'a mut [R]) {
                assert!([$(self.$field.len(),)*].into_iter().sum::<usize>() <= memory.len());
                // SAFETY: all parts together are no longer than the memory, as asserted. One check in place of one for
                // each part, in every stage for every instruction set.
                unsafe {
                    $(let ($field, memory) = memory.split_at_mut_unchecked(self.$field.len());)*
                    ($Name { $($field,)* }, memory)
                }
            }
        }
    };
}
pub(crate) use layout;

use std::ops::Range;

/// Parts of a memory at disjoint places, in any order.
#[inline(always)]
pub(crate) fn parts<'a, R, const N: usize>(memory: &'a mut [R], places: [&Range<usize>; N]) -> [&'a mut [R]; N] {
    // Places that overlap would be an error of a layout.
    #[expect(clippy::expect_used, reason = "no input reaches this")]
    memory.get_disjoint_mut(places.map(Range::clone)).expect("disjoint places")
}
