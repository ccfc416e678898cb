//! The slacks and gaps with which worlds enter the iteration.

use fingertip_lanes::lane::{Real, Zip, copy};

use super::super::approach::Approach;
use super::super::contact_state::ContactState;
use super::super::kinds::cones;
use super::super::memory::{Problem, Work};
use super::super::presence::listed;
use super::super::problem::nth;
use super::super::slide::Slide;
use super::super::structure::Structure;
use super::super::vector::dot;
use super::step::mean_product;

/// Takes the forces of the relaxed law's answer, with the slacks and gaps that belong to them by Coulomb's.
#[inline(always)]
pub(super) fn recall<R: Real, const N: usize>(s: &Structure, problem: &Problem<R>, work: &mut Work<&mut [R]>) {
    let states =
        ContactState::<R, N>::of(work.contact_states).iter_mut().zip_inline(Slide::<R, N>::of(work.slides).iter_mut());
    for (i, (state, slide)) in listed(work.list, states.enumerate()) {
        let there = state.is_there();
        state.eta = nth(work.eta, i);
        let own = R::select(there, problem.kappa * state.share, R::one());
        state.slack = state.cone.pole(own, state.eta, state.cone.rho(state.eta));
        slide.gap = R::one() / (own * dot(state.cone.n, state.eta));
    }
    copy(work.limit_force, &work.eta[s.n_force()..]);
    cones!(s, problem.gaps, cone => {
        cone.put_slack(work.limit_slack, cone.slack_of(problem.kappa, cone.own(work.limit_force)));
    });
}

/// Lets worlds join the iteration whose slacks [`renew`] has set, each contact with the gap that belongs to its slack.
#[inline(always)]
pub(super) fn join_anew<R: Real, const N: usize>(
    worlds: R::Mask,
    s: &Structure,
    problem: &Problem<R>,
    approach: &mut Approach<R>,
    work: &mut Work<&mut [R]>,
) {
    let states = ContactState::<R, N>::of(work.contact_states).iter_mut().zip_inline(Slide::<R, N>::of(work.slides));
    for (state, slide) in listed(work.list, states) {
        let gap = state.cone.rho(state.slack).scale(0.5) / dot(state.cone.n, state.slack);
        slide.gap = R::select(worlds, gap, slide.gap);
    }
    approach.enter(worlds, mean_product::<R, N>(s, problem, work));
}
