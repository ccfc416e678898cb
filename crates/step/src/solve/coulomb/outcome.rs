//! The results: the report, and keeping those of settled worlds while others are solved by the relaxed law.

use fingertip_lanes::lane::{Mask, Real, copy, copy_where, inlined, zero_unless};
use fingertip_lanes::vector::dot;
use fingertip_scene::Friction;

use super::super::cone::Cone;
use super::super::contact_state::ContactState;
use super::super::forces::write_forces;
use super::super::memory::{Problem, Work};
use super::super::optimality::{are_in_range, residual, tolerance};
use super::super::presence::listed;
use super::super::problem::triple;
use super::super::status::{Status, is_relaxed};
use super::super::structure::Structure;

/// Writes η and the report; zeros for δ and η in worlds without an answer.
#[inline(always)]
pub(super) fn report<R: Real>(
    s: &Structure,
    problem: &Problem<R>,
    (found, iterations): (R::Mask, R),
    work: &mut Work<&mut [R]>,
) {
    write_forces(s, problem, work);
    let residual = residual(s, problem, Friction::Coulomb, work);
    let settled = found.and(are_in_range(work)).and(are_shared(s, work)).and(residual.lt(R::splat(tolerance::<R>(s))));
    zero_unless(settled, work.delta);
    zero_unless(settled, work.eta);
    let code = |status: Status| R::splat(status.code());
    let status = R::select(settled, code(Status::Solved), code(Status::Unsettled));
    copy(work.info, &[status, iterations, R::select(settled, residual, R::one()), R::zero()]);
}

/// The worlds in which contacts that carry a normal force in pairs do not push or turn more than half of it allows, to
/// the tolerance. Where gaps are all rounding the two have different ones.
#[inline(always)]
fn are_shared<R: Real>(s: &Structure, work: &mut Work<&mut [R]>) -> R::Mask {
    let mut shared = R::Mask::splat(true);
    let states = ContactState::of(work.contact_states);
    for &pair in R::parts(s.twins.as_chunks::<2>().0) {
        let part = inlined(
            #[inline(always)]
            |contact: usize| states[contact].cone.split(states[contact].eta),
        );
        let [one, other] = [part(pair[0]), part(pair[1])];
        let half = (one.0 + other.0).scale(0.5 * (1.0 + tolerance::<R>(s)));
        for (_, across) in [one, other] {
            shared = shared.and((half * half).lt(dot(across, across)).not());
        }
    }
    shared
}

/// Copies the results to `kept`.
#[inline(always)]
pub(in super::super) fn put_aside<R: Real>(work: &mut Work<&mut [R]>) {
    let results = work.delta.iter().chain(work.eta.iter()).chain(work.info.iter());
    for (kept, &result) in work.kept.iter_mut().zip(results) {
        *kept = result;
    }
}

/// The status of the results in `kept`.
#[inline(always)]
pub(in super::super) fn kept_status<'a, R>(work: &'a mut Work<&mut [R]>) -> &'a mut R {
    &mut work.kept[work.delta.len() + work.eta.len()]
}

/// The results of the iteration are in `kept`: those of the relaxed solve take their place in worlds of the mask, under
/// a status of their own and with all iterations so far.
#[inline(always)]
pub(in super::super) fn keep_where<R: Real>(
    mask: R::Mask,
    s: &Structure,
    problem: &Problem<R>,
    work: &mut Work<&mut [R]>,
) {
    count(mask, work);
    // What the relaxed law has not solved either keeps its status.
    let relaxed = mask.and(work.info[0].lt(R::splat(Status::IterationLimit.code())));
    work.info[0] = R::select(relaxed, R::splat(Status::Unsettled.code()), work.info[0]);
    work.info[3] = R::select(relaxed, slip_gap(s, problem, (work.list, work.eta)), work.info[3]);
    work.info[1] = work.kept[work.delta.len() + work.eta.len() + 1];
    let (delta, rest) = work.kept.split_at_mut(work.delta.len());
    let (eta, info) = rest.split_at_mut(work.eta.len());
    copy_where(mask, delta, work.delta);
    copy_where(mask, eta, work.eta);
    copy_where(mask, &mut info[..work.info.len()], work.info);
}

/// Adds the iterations of a solve to those kept, in worlds of the mask.
#[inline(always)]
fn count<R: Real>(mask: R::Mask, work: &mut Work<&mut [R]>) {
    work.kept[work.delta.len() + work.eta.len() + 1] += R::select(mask, work.info[1], R::zero());
}

/// After the solve with opened gaps of worlds of the mask: the others have the kept results again.
#[inline(always)]
pub(in super::super) fn opened<R: Real>(worlds: R::Mask, work: &mut Work<&mut [R]>) {
    count(worlds, work);
    recall_where(worlds.not(), work);
}

/// Restores the kept results in worlds of the mask.
#[inline(always)]
fn recall_where<R: Real>(mask: R::Mask, work: &mut Work<&mut [R]>) {
    let (delta, rest) = work.kept.split_at(work.delta.len());
    let (eta, info) = rest.split_at(work.eta.len());
    copy_where(mask, work.delta, delta);
    copy_where(mask, work.eta, eta);
    copy_where(mask, work.info, &info[..work.info.len()]);
}

/// The kept results, but in worlds of the mask that have been settled since, with all iterations so far.
#[inline(always)]
pub(super) fn restore<R: Real>(worlds: R::Mask, work: &mut Work<&mut [R]>) {
    let settled = worlds.and(work.info[0].lt(R::splat(Status::Unsettled.code())));
    count(worlds, work);
    let iterations = work.kept[work.delta.len() + work.eta.len() + 1];
    recall_where(settled.not(), work);
    work.info[1] = iterations;
}

/// The kept results, but in worlds with a relaxed answer the present ones: those of another relaxed solve.
#[inline(always)]
pub(in super::super) fn replace_relaxed<R: Real>(s: &Structure, problem: &Problem<R>, work: &mut Work<&mut [R]>) {
    let info = work.delta.len() + work.eta.len();
    let (before, iterations) = (work.kept[info], work.kept[info + 1]);
    let worlds = is_relaxed(before);
    recall_where(worlds.not(), work);
    work.info[1] += R::select(worlds, iterations, R::zero());
    let relaxed = worlds.and(work.info[0].lt(R::splat(Status::IterationLimit.code())));
    work.info[0] = R::select(relaxed, R::splat(Status::Unsettled.code()), work.info[0]);
    work.info[3] = R::select(relaxed, slip_gap(s, problem, (work.list, work.eta)), work.info[3]);
}

/// The kept results, but in worlds of the mask that now have a solution without friction: it is theirs, under a status
/// of its own.
#[inline(always)]
pub(in super::super) fn loosened<R: Real>(worlds: R::Mask, work: &mut Work<&mut [R]>) {
    let iterations = work.info[1] + work.kept[work.delta.len() + work.eta.len() + 1];
    let freed = worlds.and(work.info[0].lt(R::splat(Status::IterationLimit.code())));
    recall_where(freed.not(), work);
    work.info[0] = R::select(freed, R::splat(Status::Frictionless.code()), work.info[0]);
    work.info[1] = R::select(worlds, iterations, work.info[1]);
}

/// The largest gap μ‖ν_t‖ of relaxed contacts with these forces: ‖z_t‖ of the displacements that belong to them.
#[inline(always)]
fn slip_gap<R: Real>(s: &Structure, problem: &Problem<R>, (list, eta): (&[R], &[R])) -> R {
    let mut largest = R::zero();
    for i in listed(list, 0..s.nc()) {
        let (cone, eta) = (Cone::read(problem.contacts, i), triple(eta, i));
        let there = cone.weight.gt(R::zero());
        let own = R::select(there, cone.kappa(problem.kappa), R::one());
        let (_, across) = cone.split(cone.pole(own, eta, cone.rho(eta)));
        largest = R::select(there, largest.max(dot(across, across)), largest);
    }
    largest.sqrt()
}
