//! How worlds join the iteration: with which slacks and gaps.

use crate::math::lane::{Lockstep, Mask, Real, copy};
use crate::math::vector::dot;

use super::super::approach::Approach;
use super::super::memory::{Problem, Work};
use super::super::problem::at3;
use super::super::structure::Structure;
use super::super::touch::Touch;
use super::slide::Slide;
use super::step::mean_product;

/// The relaxed answer's forces, and its slacks.
#[inline(always)]
pub(super) fn recall<R: Real>(s: &Structure, problem: &Problem<R>, work: &mut Work<&mut [R]>) {
    for (i, (touch, slide)) in
        Touch::of(work.touches).iter_mut().lockstep(Slide::of(work.slides).iter_mut()).enumerate()
    {
        let there = touch.is_there();
        touch.eta = at3(work.eta, i);
        let own = R::select(there, problem.kappa * touch.share, R::one());
        touch.slack = touch.cone.pole(own, touch.eta, touch.cone.rho(touch.eta));
        slide.gap = dot(touch.cone.n, touch.slack);
    }
    copy(work.limit_force, &work.eta[3 * s.nc()..]);
    for (slack, &force) in work.limit_slack.iter_mut().lockstep(work.limit_force.iter()) {
        *slack = R::splat(2.0) / (problem.kappa * force);
    }
}

/// Takes worlds in whose slacks are those of [`renew`], each with the gap that belongs to it.
#[inline(always)]
pub(super) fn join_anew<R: Real>(
    worlds: R::Mask,
    s: &Structure,
    problem: &Problem<R>,
    approach: &mut Approach<R>,
    work: &mut Work<&mut [R]>,
) {
    for (touch, slide) in Touch::of(work.touches).iter_mut().lockstep(Slide::of(work.slides)) {
        let gap = touch.cone.rho(touch.slack).scale(0.5) / dot(touch.cone.n, touch.slack);
        slide.gap = R::select(worlds, gap, slide.gap);
    }
    join(worlds, s, problem, approach, work);
}

/// Takes worlds in whose slacks and gaps are there.
#[inline(always)]
pub(super) fn join<R: Real>(
    worlds: R::Mask,
    s: &Structure,
    problem: &Problem<R>,
    approach: &mut Approach<R>,
    work: &mut Work<&mut [R]>,
) {
    approach.worlds = approach.worlds.or(worlds);
    let product = mean_product(s, problem.kappa, work).max(R::one());
    approach.tau = R::select(worlds, product, approach.tau);
}
