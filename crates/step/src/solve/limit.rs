//! A joint limit: a contact of one dimension, gap > 0 and force η > 0, with the barrier −(2/κ) log gap.

use fingertip_lanes::lane::{Real, state};

/// Linear response of the force of a joint limit or of dry friction: η + Δη = pull − weight · (the gap after the step).
pub(super) struct LimitResponse<R> {
    pub(super) weight: R,
    pub(super) pull: R,
}

state!(LimitResponse { numbers: [weight, pull], flags: [], states: [] });

/// [`super::cone::Cone::misfit`] of a limit.
#[inline(always)]
pub(super) fn limit_misfit<R: Real>(kappa: R, eta: R, gap: R) -> R {
    let error = (kappa * eta).mul_add(gap, -R::splat(2.0));
    (error * error).scale(0.5)
}

/// The least of `end` and the step length at which x + α step is 0.
#[inline(always)]
pub(super) fn nearer<R: Real>(end: R, x: R, step: R) -> R {
    let leaves = step.lt(R::zero());
    let ratio = -(x / R::select(leaves, step, R::one()));
    R::select(leaves, end.min(ratio), end)
}
