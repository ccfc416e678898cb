//! What an iterate is worth: a certificate of infeasibility, or the residual of a solution.

use crate::math::lane::{Mask, Real, clear};
use crate::math::vector::{axpy, dot, scale, sub};

use super::cone::Cone;
use super::memory::{Problem, Work};
use super::problem::{add_force, along, at3, fill_p, times_p};
use super::structure::Structure;

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
/// Overwrites `work.h` and `work.step`.
#[inline(always)]
pub(super) fn certificate<R: Real>(s: &Structure, problem: &Problem<R>, work: &mut Work<&mut [R]>) -> Certificate<R> {
    let size = largest(work.eta).max(R::splat(f64::MIN_POSITIVE));
    let inverse = R::one() / size;
    let mut depth = R::zero();
    clear(work.step);
    for i in 0..s.nc() {
        let cone = Cone::read(problem.contacts, i);
        let eta = scale(inverse, at3(work.eta, i));
        depth -= cone.phi * dot(cone.n, eta);
        add_force(s, work.columns, i, eta, work.step);
    }
    for (l, &(dof, sign)) in s.limits.iter().enumerate() {
        let eta = work.eta[3 * s.nc() + l] * inverse;
        depth -= problem.gaps[l] * eta;
        work.step[dof] += eta.scale(sign);
    }
    fill_p(s, problem.p, work.h);
    s.factor_p.factor(work.h);
    let effort = s.factor_p.square(work.h, work.step);
    let mut trace = R::zero();
    for (entry, &value) in s.entries.iter().zip(problem.p) {
        if entry.row == entry.column {
            trace += value;
        }
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
    // P δ in step, J̃ᵀη in free.
    clear(work.step);
    clear(work.free);
    times_p(s, problem.p, work.delta, work.step);
    let mut error = R::zero();
    for i in 0..s.nc() {
        let cone = Cone::read(problem.contacts, i);
        let (own, eta) = (cone.kappa(kappa), at3(work.eta, i));
        let rho = cone.rho(eta);
        let zeta = axpy(cone.phi, cone.n, along(s, work.columns, i, work.delta));
        add_force(s, work.columns, i, eta, work.free);
        // √(κ r₂ᵀ W r₂) with W r₂ = W ζ − η.
        let there = own.gt(R::zero());
        let pole = scale(R::splat(2.0) / R::select(there, own * rho, R::one()), cone.reflected(eta));
        let r = sub(zeta, pole);
        let square = own * dot(r, sub(cone.weigh(own, eta, rho, zeta), eta));
        error = error.max(R::select(there, square, R::zero()));
    }
    for (l, &(dof, sign)) in s.limits.iter().enumerate() {
        let eta = work.eta[3 * s.nc() + l];
        work.free[dof] += eta.scale(sign);
        let product = (kappa * eta).scale(0.5) * (work.delta[dof].scale(sign) + problem.gaps[l]);
        let relative = product - R::one();
        error = error.max(relative * relative);
    }
    let scale = largest(problem.g).max(largest(work.step)).max(largest(work.free));
    for k in 0..s.nv {
        work.step[k] += problem.g[k] - work.free[k];
    }
    let relative = largest(work.step) / scale.max(R::splat(f64::MIN_POSITIVE));
    relative.max(error.max(R::zero()).sqrt())
}
