//! One Newton step.

use crate::math::lane::Real;
use crate::math::vector::{add, axpy, dot, scale, sub};

use super::cone::Cone;
use super::memory::{Problem, Work};
use super::problem::{add_force, along, at3, fill_h, put3, times_p};
use super::structure::Structure;

/// One Newton step into `work.step` and `work.d_eta`; gives κ · decrement², and how far the step goes in the most
/// affected contact's own measure, Δη · ∇²(−log ρ) Δη: no more than the former unless the contact fades.
#[inline(always)]
pub(super) fn step<R: Real>(s: &Structure, problem: &Problem<R>, kappa: R, work: &mut Work<&mut [R]>) -> (R, R) {
    fill_h(s, problem, kappa, work.columns, work.eta, work.h);
    s.factor_h.factor(work.h);
    // Right-hand side −(P δ + g) − J̃ᵀ (W r₂ − η), where W r₂ = W ζ − η.
    for k in 0..s.nv {
        work.step[k] = problem.g[k];
    }
    times_p(s, problem.p, work.delta, work.step);
    for k in 0..s.nv {
        work.step[k] = -work.step[k];
    }
    for i in 0..s.nc() {
        let cone = Cone::read(problem.contacts, i);
        let (own, eta) = (cone.kappa(kappa), at3(work.eta, i));
        let zeta = axpy(cone.phi, cone.n, along(s, work.columns, i, work.delta));
        put3(work.zeta, i, zeta);
        let weighed = cone.weigh(own, eta, cone.rho(eta), zeta);
        add_force(s, work.columns, i, sub(scale(R::splat(2.0), eta), weighed), work.step);
    }
    for (l, &(dof, sign)) in s.limits.iter().enumerate() {
        let l = 3 * s.nc() + l;
        let (eta, gap) = (work.eta[l], work.delta[dof].scale(sign) + problem.gaps[l - 3 * s.nc()]);
        work.zeta[l] = gap;
        let weighed = (kappa * eta * eta).scale(0.5) * gap;
        work.step[dof] += (eta.scale(2.0) - weighed).scale(sign);
    }
    s.factor_h.solve(work.h, work.step);
    // Δη = −W (ζ + J̃ Δδ) + η, decrement² = −r₂ · Δη.
    let mut decrement = R::zero();
    let mut change = R::zero();
    for i in 0..s.nc() {
        let cone = Cone::read(problem.contacts, i);
        let (own, eta) = (cone.kappa(kappa), at3(work.eta, i));
        let there = cone.weight.gt(R::zero());
        let rho = cone.rho(eta);
        let inverse = R::one() / R::select(there, rho, R::one());
        let zeta = at3(work.zeta, i);
        let next = add(zeta, along(s, work.columns, i, work.step));
        let step = sub(eta, cone.weigh(own, eta, rho, next));
        put3(work.d_eta, i, step);
        // κ ζ*(η) · Δη = w slope, with ζ* the gap that belongs to η.
        let slope = dot(cone.reflected(eta), step).scale(2.0) * inverse;
        decrement -= kappa * dot(zeta, step) - cone.weight * slope;
        let far = slope.mul_add(slope, -(cone.rho(step) * inverse).scale(2.0));
        change = R::select(there, change.max(far), change);
    }
    for (l, &(dof, sign)) in s.limits.iter().enumerate() {
        let l = 3 * s.nc() + l;
        let eta = work.eta[l];
        let next = work.zeta[l] + work.step[dof].scale(sign);
        let step = eta - (kappa * eta * eta).scale(0.5) * next;
        work.d_eta[l] = step;
        decrement -= step * (kappa * work.zeta[l] - R::splat(2.0) / eta);
        change = change.max((step / eta * (step / eta)).scale(2.0));
    }
    (decrement, change)
}
