//! State that a contact has in addition during the iteration for Coulomb's law.

use fingertip_lanes::lane::{Real, state};
use fingertip_lanes::vector::Vec3;

use super::friction::Scaling;

/// A contact's state in the iteration for Coulomb's law, in addition to
/// [`ContactState`](super::contact_state::ContactState).
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Slide<R> {
    pub(super) scaling: Scaling<R>,
    /// The slack s_n of the normal gap.
    pub(super) gap: R,
    /// The vectors x (`up`) and y (`down`) of the rank-one part x yᵀ of the unsymmetric response: see
    /// [`super::coulomb`].
    pub(super) up: Vec3<R>,
    pub(super) down: Vec3<R>,
    /// The change of the scaled displacement z in the step.
    pub(super) moved: Vec3<R>,
}

state!(Slide { numbers: [gap], flags: [], states: [scaling, up, down, moved] });

/// Length of a [`Slide`] in numbers.
pub(super) const SLIDE: usize = size_of::<Slide<f64>>() / size_of::<f64>();

impl<R: Real> Slide<R> {
    /// Views a slice of numbers as the contacts' slides, [`SLIDE`] numbers each.
    #[inline(always)]
    pub(super) fn of(numbers: &mut [R]) -> &mut [Self] {
        // SAFETY: a `repr(C)` struct of nothing but `R`s is as aligned as one and as large as `SLIDE` of them.
        unsafe { std::slice::from_raw_parts_mut(numbers.as_mut_ptr().cast(), numbers.len() / SLIDE) }
    }
}
