//! The way to Coulomb's law over problems that have an answer each: the relaxed law with gaps that are open by the
//! slips of the answer before.
//!
//! With an opening s in the place of ‖z‖, ζ = z + s n is the relaxed law at the gap φ + s, the minimum of a convex
//! function. Coulomb's law is the fixed point s = ‖z(s)‖ (De Saxcé and Feng, 1998; Acary, Cadoux, Lemaréchal and
//! Malick, 2011, who iterate to it). There is one wherever the relaxed law has an answer: larger openings only let go,
//! so that slips are bounded, and z is continuous in s. Openings go half of the way at a time, until Newton's steps for
//! the law itself lead on, and from there to friction that is stiffer by a ratio.

use fingertip_lanes::lane::{Mask, Real, Zip};

use super::super::approach::ARRIVED;
use super::super::contact_state::ContactState;
use super::super::memory::{Problem, Work};
use super::super::presence::listed;
use super::super::problem::along;
use super::super::slide::Slide;
use super::super::structure::Structure;
use super::super::vector::{axpy, dot};

/// The part of the way that an opening goes to the slip: all of it goes back and forth.
const PART: f64 = 0.5;

/// All gaps as they are: those to which openings add.
#[inline(always)]
pub(in super::super) fn close<R: Real, const N: usize>(work: &mut Work<&mut [R]>) {
    let states = ContactState::<R, N>::of(work.contact_states).iter().zip_inline(Slide::<R, N>::of(work.slides));
    for (state, slide) in listed(work.list, states) {
        slide.gap = state.cone.phi;
    }
}

/// Opens gaps by the slips of the present answer, in worlds of the mask. Gives those that are not yet near Coulomb's
/// law.
#[inline(always)]
pub(in super::super) fn open<R: Real, const N: usize>(
    s: &Structure,
    problem: &Problem<R>,
    solved: R::Mask,
    work: &mut Work<&mut [R]>,
) -> R::Mask {
    let columns = work.columns.as_chunks::<N>().0;
    let mut worst = R::zero();
    let states = ContactState::of(work.contact_states).iter_mut().zip_inline(Slide::<R, N>::of(work.slides).iter());
    for ((state, slide), contact) in listed(work.list, states.zip_inline(&s.contacts)) {
        let (cone, there) = (&mut state.cone, state.share.gt(R::zero()));
        let z = axpy(slide.gap, cone.n, along(contact, columns, work.delta));
        let own = R::select(there, problem.kappa * state.share, R::one());
        let slip = dot(z, z).sqrt();
        let misfit = cone.misfit(own, state.eta, axpy(slip, cone.n, z)).abs() * cone.weight;
        worst = worst.max(R::select(there, misfit, R::zero()));
        let opened = cone.phi + (slide.gap + slip - cone.phi).scale(PART);
        cone.phi = R::select(solved.and(there), opened, cone.phi);
    }
    solved.and(worst.lt(R::splat(ARRIVED)).not())
}
