//! The state that a branch or a loop of a kernel may change. Kernels name it, so that a recording knows which numbers
//! become variables.

use super::Real;

/// A number or a flag of a [`State`], to read or to replace.
pub enum Slot<'a, R: Real> {
    /// A number, one per world.
    Number(&'a mut R),
    /// A flag, one per world.
    Flag(&'a mut R::Mask),
}

/// All numbers and flags that the body of [`Real::when`] or [`Real::repeat`] may change.
pub trait State<R: Real> {
    /// Calls `f` for each number and flag, always in the same order.
    fn each(&mut self, f: &mut dyn FnMut(Slot<R>));
}

impl<R: Real> State<R> for [R] {
    fn each(&mut self, f: &mut dyn FnMut(Slot<R>)) {
        self.iter_mut().for_each(|x| f(Slot::Number(x)));
    }
}

impl<R: Real, const N: usize, const M: usize> State<R> for [[R; N]; M] {
    fn each(&mut self, f: &mut dyn FnMut(Slot<R>)) {
        self.as_flattened_mut().each(f);
    }
}

impl<R: Real, const N: usize> State<R> for [R; N] {
    fn each(&mut self, f: &mut dyn FnMut(Slot<R>)) {
        self.as_mut_slice().each(f);
    }
}

impl<R: Real, S: State<R> + ?Sized> State<R> for &mut S {
    fn each(&mut self, f: &mut dyn FnMut(Slot<R>)) {
        (**self).each(f);
    }
}

impl<R: Real, A: State<R>, B: State<R>> State<R> for (A, B) {
    fn each(&mut self, f: &mut dyn FnMut(Slot<R>)) {
        self.0.each(f);
        self.1.each(f);
    }
}

impl<R: Real, A: State<R>, B: State<R>, C: State<R>> State<R> for (A, B, C) {
    fn each(&mut self, f: &mut dyn FnMut(Slot<R>)) {
        self.0.each(f);
        self.1.each(f);
        self.2.each(f);
    }
}

/// Implements [`State`] for a struct over `R: Real`, given the names of its fields: numbers, flags, and fields that are
/// states themselves.
#[macro_export]
macro_rules! state {
    ($Name:ident$(<$life:lifetime>)?$([$N:ident])? {
        numbers: [$($number:ident),*], flags: [$($flag:ident),*], states: [$($state:ident),*]
    }) => {
        impl<$($life,)? R: $crate::lane::Real$(, const $N: usize)?> $crate::lane::State<R> for $Name<$($life,)? R$(, $N)?> {
            fn each(&mut self, f: &mut dyn FnMut($crate::lane::Slot<R>)) {
                $(f($crate::lane::Slot::Number(&mut self.$number));)*
                $(f($crate::lane::Slot::Flag(&mut self.$flag));)*
                $($crate::lane::State::<R>::each(&mut self.$state, f);)*
            }
        }
    };
}

/// `when!(mask, state, |changed| body)` is [`Real::when`] of the lane type `R` with a body that is inlined.
#[macro_export]
macro_rules! when {
    ($mask:expr, $state:expr, |$changed:pat_param| $body:expr) => {
        R::when(
            $mask,
            $state,
            #[inline(always)]
            |$changed| $body,
        )
    };
}

/// Implements [`Real::when`], [`Real::repeat`], [`Real::is_nowhere`] and [`Real::index`] for lanes, given the type of
/// their masks. A body runs for all worlds of a lane if any of them needs it.
macro_rules! branches {
    ($Mask:ty) => {
        #[inline(always)]
        fn when<S: State<Self> + ?Sized>(mask: $Mask, state: &mut S, body: impl Fn(&mut S)) {
            if mask.any() {
                body(state);
            }
        }
        #[inline(always)]
        fn repeat<S: State<Self> + ?Sized>(
            most: usize,
            state: &mut S,
            go: impl Fn(&mut S) -> $Mask,
            body: impl Fn(&mut S),
        ) {
            for _ in 0..most {
                if !go(state).any() {
                    break;
                }
                body(state);
            }
        }
        #[inline(always)]
        fn is_nowhere(mask: $Mask) -> bool {
            !mask.any()
        }
        #[inline(always)]
        fn index(self) -> Option<usize> {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index")]
            Some(self.get(0) as usize)
        }
    };
}
pub(super) use branches;
