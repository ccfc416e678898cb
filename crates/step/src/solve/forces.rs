//! The forces that an iteration leaves, as a solve's results have them.

use fingertip_lanes::lane::{Real, Zip, clear, copy};

use super::contact_state::ContactState;
use super::dry::Dry;
use super::memory::{Problem, Work};
use super::presence::{listed, touched};
use super::structure::Structure;
use super::table::Table;

/// Writes the forces that the iteration has found to `work.eta`: zeros for contacts without weight, and of dry friction
/// and tables what belongs to δ.
#[inline(always)]
pub(super) fn write_forces<R: Real>(s: &Structure, problem: &Problem<R>, work: &mut Work<&mut [R]>) {
    let (contacts, limits) = work.eta.split_at_mut(3 * s.nc());
    put_forces(s, (work.presence, work.list), ContactState::of(work.contact_states), contacts);
    copy(limits, work.limit_force);
    rub(s, problem, work.delta, limits);
}

/// Writes the contacts' forces η, three numbers each: zeros for those without weight, unless they are there already.
#[inline(always)]
pub(super) fn put_forces<R: Real>(
    s: &Structure,
    (presence, list): (&[R], &[R]),
    states: &[ContactState<R>],
    to: &mut [R],
) {
    for eta in touched(s, presence, to.as_chunks_mut::<3>().0) {
        clear(eta);
    }
    for (state, eta) in listed(list, states.iter().zip_inline(to.as_chunks_mut().0)) {
        *eta = state.eta;
    }
}

/// Sets the forces of dry friction and of tables, among those of limits, to what belongs to δ. It has the digits that
/// the forces lose where joints and bodies slip.
#[inline(always)]
fn rub<R: Real>(s: &Structure, problem: &Problem<R>, delta: &[R], limits: &mut [R]) {
    for l in s.dry() {
        limits[l] = Dry::force(problem.kappa, problem.gaps[l], delta[s.limits[l].0]);
    }
    for places in &s.tables {
        let table = Table::read(problem.gaps, places);
        table.put(limits, table.force(problem.kappa, table.moved(delta)));
    }
}
