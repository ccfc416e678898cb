//! What an iterate is worth: a certificate of infeasibility, or the residual of a solution.

use crate::math::lane::{Lockstep, Mask, Real, clear};
use crate::math::vector::{axpy, dot, scale, sub};

use super::memory::{Problem, Work};
use super::problem::{add_force, along, times_p};
use super::structure::Structure;
use super::touch::Touch;

/// No feasible δ is nearer than this (rad, m, in every degree of freedom): the world is declared infeasible.
const OUT_OF_REACH: f64 = 10.0;

/// What forces prove about feasible δ.
pub(super) struct Certificate<R: Real> {
    /// Every one of them is [`OUT_OF_REACH`].
    pub(super) hopeless: R::Mask,
    /// |φ · η_n| + ‖J̃ᵀη‖²_P⁻¹, J.
    pub(super) energy: R,
}

/// For feasible δ, ζ · η ≥ 0 gives (J̃ᵀη) · δ ≥ −φ · η_n, hence ‖δ‖_P ≥ −φ · η_n / ‖J̃ᵀη‖_P⁻¹. All is computed from forces
/// of largest component 1: where the dual is unbounded they grow beyond what rounding leaves of δ.
///
/// Overwrites `work.step`.
#[inline(always)]
pub(super) fn certificate<R: Real>(s: &Structure, problem: &Problem<R>, work: &mut Work<&mut [R]>) -> Certificate<R> {
    let columns = work.columns.as_chunks().0;
    let touches = Touch::of(work.touches);
    let mut size = largest(work.limit_force).max(R::tiny());
    for touch in touches.iter() {
        size = size.max(largest(&touch.eta));
    }
    let inverse = R::one() / size;
    let mut depth = R::zero();
    clear(work.step);
    for (touch, contact) in touches.iter().lockstep(&s.contacts) {
        let eta = scale(inverse, touch.eta);
        depth -= touch.cone.phi * dot(touch.cone.n, eta);
        add_force(contact, columns, eta, work.step);
    }
    for (l, &(dof, sign)) in s.limits.iter().enumerate() {
        let eta = work.limit_force[l] * inverse;
        depth -= problem.gaps[l] * eta;
        work.step[dof] += eta.scale(sign);
    }
    let effort = s.factor_p.square(work.factor_p, work.step);
    let mut trace = R::zero();
    for &entry in &s.diagonal {
        trace += problem.p[entry];
    }
    let reach = trace.scale(OUT_OF_REACH * OUT_OF_REACH);
    Certificate {
        hopeless: depth.gt(R::zero()).and((depth * depth).gt(reach * effort)),
        energy: size * (depth.abs() + size * effort),
    }
}

#[inline(always)]
fn largest<R: Real>(x: &[R]) -> R {
    let mut max = R::zero();
    for &value in x {
        max = max.max(value.abs());
    }
    max
}

/// Relative residual of the optimality conditions: the larger of ‖r₁‖∞ over its largest term and the contacts' errors in
/// their own norms √(κ r₂ᵀ W r₂).
#[inline(always)]
pub(super) fn residual<R: Real>(s: &Structure, problem: &Problem<R>, work: &mut Work<&mut [R]>) -> R {
    let kappa = problem.kappa;
    let columns = work.columns.as_chunks().0;
    // P δ in step, J̃ᵀη in free.
    clear(work.step);
    clear(work.free);
    times_p(s, problem.p, work.delta, work.step);
    let mut error = R::zero();
    for (touch, contact) in Touch::of(work.touches).iter().lockstep(&s.contacts) {
        let (cone, own, eta, there) = (&touch.cone, kappa * touch.share, touch.eta, touch.is_there());
        let rho = cone.rho(eta);
        let zeta = axpy(cone.phi, cone.n, along(contact, columns, work.delta));
        add_force(contact, columns, eta, work.free);
        // √(κ r₂ᵀ W r₂) with W r₂ = W ζ − η.
        let pole = scale(R::splat(2.0) / R::select(there, own * rho, R::one()), cone.reflected(eta));
        let r = sub(zeta, pole);
        let square = own * dot(r, sub(cone.weigh(own, eta, rho, zeta), eta));
        error = error.max(R::select(there, square, R::zero()));
    }
    for (l, &(dof, sign)) in s.limits.iter().enumerate() {
        let eta = work.limit_force[l];
        work.free[dof] += eta.scale(sign);
        let product = (kappa * eta).scale(0.5) * (work.delta[dof].scale(sign) + problem.gaps[l]);
        let relative = product - R::one();
        error = error.max(relative * relative);
    }
    let scale = largest(problem.g).max(largest(work.step)).max(largest(work.free));
    for k in 0..s.nv {
        work.step[k] += problem.g[k] - work.free[k];
    }
    let relative = largest(work.step) / scale.max(R::tiny());
    relative.max(error.max(R::zero()).sqrt())
}
