//! The forces that an iteration leaves, as a solve's results have them.

use fingertip_lanes::lane::{Real, Zip, clear, copy};

use super::contact_state::ContactState;
use super::kinds::cones;
use super::memory::{Problem, Work};
use super::presence::{listed, touched};
use super::structure::Structure;

/// Writes the forces that the iteration has found to `work.eta`: zeros for contacts without weight, and of others what
/// has the most digits.
#[inline(always)]
pub(super) fn write_forces<R: Real, const N: usize>(s: &Structure, problem: &Problem<R>, work: &mut Work<&mut [R]>) {
    let (contacts, limits) = work.eta.split_at_mut(s.n_force());
    put_forces(s, (work.presence, work.list), ContactState::<R, N>::of(work.contact_states), contacts);
    copy(limits, work.limit_force);
    cones!(s, problem.gaps, cone => {
        cone.put(limits, cone.settled(problem.kappa, cone.own(limits), cone.at(work.delta)));
    });
}

/// Writes the contacts' forces η, N numbers each: zeros for those without weight, unless they are there already.
#[inline(always)]
pub(super) fn put_forces<R: Real, const N: usize>(
    s: &Structure,
    (presence, list): (&[R], &[R]),
    states: &[ContactState<R, N>],
    to: &mut [R],
) {
    for eta in touched(s, presence, to.as_chunks_mut::<N>().0) {
        clear(eta);
    }
    for (state, eta) in listed(list, states.iter().zip_inline(to.as_chunks_mut().0)) {
        *eta = state.eta;
    }
}
