//! State that a contact has in addition during the iteration for Coulomb's law.

use fingertip_lanes::lane::{Real, state};

use super::friction::Scaling;

/// A contact's state in the iteration for Coulomb's law, in addition to
/// [`ContactState`](super::contact_state::ContactState).
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Slide<R, const N: usize> {
    pub(super) scaling: Scaling<R, N>,
    /// The slack s_n of the normal gap.
    pub(super) gap: R,
    /// The vectors x (`up`) and y (`down`) of the rank-one part x yᵀ of the unsymmetric response: see
    /// [`super::coulomb`].
    pub(super) up: [R; N],
    pub(super) down: [R; N],
    /// The change of the scaled displacement z in the step.
    pub(super) moved: [R; N],
}

state!(Slide[N] { numbers: [gap], flags: [], states: [scaling, up, down, moved] });

impl<R, const N: usize> Slide<R, N> {
    /// Length in numbers.
    pub(super) const LENGTH: usize = size_of::<Self>() / size_of::<R>();
}

impl<R: Real, const N: usize> Slide<R, N> {
    /// Views a slice of numbers as the contacts' slides, so many numbers each.
    #[inline(always)]
    pub(super) fn of(numbers: &mut [R]) -> &mut [Self] {
        // SAFETY: a `repr(C)` struct of nothing but `R`s is as aligned as one and as large as `LENGTH` of them.
        unsafe { std::slice::from_raw_parts_mut(numbers.as_mut_ptr().cast(), numbers.len() / Self::LENGTH) }
    }
}
