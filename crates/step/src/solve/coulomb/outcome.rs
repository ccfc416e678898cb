//! The results: the report, and keeping those of settled worlds while others are solved by the relaxed law.

use fingertip_lanes::lane::{Mask, Real, copy, copy_where, zero_unless};
use fingertip_scene::Friction;

use super::super::forces::write_forces;
use super::super::memory::{ITERATIONS, Problem, SLIP_GAP, STATUS, Work};
use super::super::optimality::{are_in_range, residual, tolerance};
use super::super::presence::listed;
use super::super::problem::nth;
use super::super::status::{Coded, Status};
use super::super::structure::Structure;
use super::super::vector::dot;

/// Writes η and the report; zeros for δ and η in worlds without an answer.
#[inline(always)]
pub(super) fn report<R: Real, const N: usize>(
    s: &Structure,
    problem: &Problem<R>,
    (found, iterations): (R::Mask, R),
    work: &mut Work<&mut [R]>,
) {
    write_forces::<R, N>(s, problem, work);
    let residual = residual::<R, N>(s, problem, Friction::Coulomb, work);
    let settled = found.and(are_in_range::<R, N>(work)).and(residual.lt(R::splat(tolerance::<R>(s))));
    zero_unless(settled, work.delta);
    zero_unless(settled, work.eta);
    let status = R::select(settled, Status::Solved.everywhere(), Status::Unsettled.everywhere());
    copy(work.info, &[status, iterations, R::select(settled, residual, R::one()), R::zero()]);
}

/// Keeps all results.
#[inline(always)]
pub(in super::super) fn put_aside<R: Real>(work: &mut Work<&mut [R]>) {
    copy(work.kept_delta, work.delta);
    copy(work.kept_eta, work.eta);
    copy(work.kept_info, work.info);
}

/// Restores the kept results in worlds of the mask.
#[inline(always)]
fn recall_where<R: Real>(mask: R::Mask, work: &mut Work<&mut [R]>) {
    copy_where(mask, work.delta, work.kept_delta);
    copy_where(mask, work.eta, work.kept_eta);
    copy_where(mask, work.info, work.kept_info);
}

/// Adds the iterations of a solve to those kept, in worlds of the mask.
#[inline(always)]
fn count<R: Real>(mask: R::Mask, work: &mut Work<&mut [R]>) {
    work.kept_info[ITERATIONS] += R::select(mask, work.info[ITERATIONS], R::zero());
}

/// The results of worlds of the mask are those of the relaxed law: under a status of their own, but where that law has
/// not solved them either.
#[inline(always)]
fn unsettle<R: Real, const N: usize>(mask: R::Mask, s: &Structure, problem: &Problem<R>, work: &mut Work<&mut [R]>) {
    let relaxed = mask.and(Status::IterationLimit.is_after(work.info[STATUS]));
    work.info[STATUS] = R::select(relaxed, Status::Unsettled.everywhere(), work.info[STATUS]);
    work.info[SLIP_GAP] = R::select(relaxed, slip_gap::<R, N>(s, problem, (work.list, work.eta)), work.info[SLIP_GAP]);
}

/// Keeps the results of the relaxed solve in worlds of the mask, with all iterations so far.
#[inline(always)]
pub(in super::super) fn keep_where<R: Real, const N: usize>(
    mask: R::Mask,
    s: &Structure,
    problem: &Problem<R>,
    work: &mut Work<&mut [R]>,
) {
    count(mask, work);
    unsettle::<R, N>(mask, s, problem, work);
    work.info[ITERATIONS] = work.kept_info[ITERATIONS];
    copy_where(mask, work.kept_delta, work.delta);
    copy_where(mask, work.kept_eta, work.eta);
    copy_where(mask, work.kept_info, work.info);
}

/// After the solve with opened gaps of worlds of the mask: the others have the kept results again.
#[inline(always)]
pub(in super::super) fn opened<R: Real>(worlds: R::Mask, work: &mut Work<&mut [R]>) {
    count(worlds, work);
    recall_where(worlds.not(), work);
}

/// The kept results, but in worlds of the mask that have been settled since, with all iterations so far.
#[inline(always)]
pub(super) fn restore<R: Real>(worlds: R::Mask, work: &mut Work<&mut [R]>) {
    let settled = worlds.and(Status::Unsettled.is_after(work.info[STATUS]));
    count(worlds, work);
    recall_where(settled.not(), work);
    work.info[ITERATIONS] = work.kept_info[ITERATIONS];
}

/// The kept results, but in worlds of the mask that now have a solution without friction: it is theirs, under a status
/// of its own.
#[inline(always)]
pub(in super::super) fn loosened<R: Real>(worlds: R::Mask, work: &mut Work<&mut [R]>) {
    let iterations = work.info[ITERATIONS] + work.kept_info[ITERATIONS];
    let freed = worlds.and(Status::IterationLimit.is_after(work.info[STATUS]));
    recall_where(freed.not(), work);
    work.info[STATUS] = R::select(freed, Status::Frictionless.everywhere(), work.info[STATUS]);
    work.info[ITERATIONS] = R::select(worlds, iterations, work.info[ITERATIONS]);
}

/// The largest gap μ‖ν_t‖ of relaxed contacts with these forces: ‖z_t‖ of the displacements that belong to them.
#[inline(always)]
fn slip_gap<R: Real, const N: usize>(s: &Structure, problem: &Problem<R>, (list, eta): (&[R], &[R])) -> R {
    let mut largest = R::zero();
    for i in listed(list, 0..s.nc()) {
        let (cone, eta) = (problem.cone::<N>(i), nth(eta, i));
        let there = cone.weight.gt(R::zero());
        let own = R::select(there, cone.kappa(problem.kappa), R::one());
        let (_, across) = cone.split(cone.pole(own, eta, cone.rho(eta)));
        largest = R::select(there, largest.max(dot(across, across)), largest);
    }
    largest.sqrt()
}
