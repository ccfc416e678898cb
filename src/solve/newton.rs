//! One Newton step.
//!
//! With r₁ = P δ + g − J̃ᵀη and r₂ = ζ − 2 R η / (κ ρ(η)) the step solves
//!
//! ```text
//! P Δδ − J̃ᵀΔη = −r₁        J̃ Δδ + W⁻¹Δη = −r₂
//! ```
//!
//! Private degrees of freedom p, which one contact alone sees, are eliminated there, in closed form: with
//! D = J̃_p P_p⁻¹ J̃_pᵀ, constant for the whole solve,
//!
//! ```text
//! A = (W⁻¹ + D)⁻¹        Δη = −A (e + J̃_s Δδ_s),   e = r₂ − J̃_p P_p⁻¹ r₁p
//! (P_s + J̃_sᵀ A J̃_s) Δδ_s = −r₁s − J̃_sᵀ A e        Δδ_p = P_p⁻¹ (J̃_pᵀΔη − r₁p)
//! ```
//!
//! so that what is left has the size of what the contacts share: an object and the hand's base. Limits are one-sided
//! contacts of one degree of freedom: their weight ½κη² comes on P's diagonal.

use crate::math::lane::{Lockstep, Mask, Real, clear, copy};
use crate::math::vector::{Vec3, axpy, dot, scale, sub, zero};

use super::memory::{Problem, Work};
use super::problem::{along, times_p};
use super::structure::{ContactColumns, Structure};
use super::symmetric::Symmetric;
use super::touch::Touch;

/// What the steps of a solve start from: 1 over P's diagonal and the contacts' compliances by it.
#[inline(always)]
pub(super) fn prepare<R: Real>(s: &Structure, problem: &Problem<R>, work: &mut Work<&mut [R]>) {
    for (pivot, &entry) in work.pivot.iter_mut().lockstep(&s.diagonal) {
        *pivot = R::one() / problem.p[entry];
    }
    let columns = work.columns.as_chunks().0;
    for (touch, contact) in Touch::of(work.touches).iter_mut().lockstep(&s.contacts) {
        touch.compliance = compliance(contact, contact.private_part(columns), work.pivot);
    }
}

/// D.
#[inline(always)]
fn compliance<R: Real>(contact: &ContactColumns, columns: &[Vec3<R>], pivot: &[R]) -> Symmetric<R> {
    let mut sum = Symmetric::diagonal(R::zero());
    for (&column, &pivot) in columns.iter().lockstep(&pivot[contact.private.clone()]) {
        sum = sum.plus(pivot, column);
    }
    sum
}

/// One Newton step into `work.step` and the contacts' and limits' own; gives κ · decrement², and how far the step goes in
/// the measure of the most affected contact that fades, Δη · ∇²(−log ρ) Δη: no more than the former where none does.
#[inline(always)]
pub(super) fn step<R: Real>(s: &Structure, problem: &Problem<R>, kappa: R, work: &mut Work<&mut [R]>) -> (R, R) {
    let columns = work.columns.as_chunks().0;
    // The shared part of H in work.h, r₁ in work.step, that of the shared part with J̃_sᵀ A e.
    clear(&mut work.h[..s.factor_h.n_leading_entries(s.n_shared)]);
    for &(k, entry) in &s.shared_entries {
        work.h[entry] = problem.p[k];
    }
    copy(work.step, problem.g);
    times_p(s, problem.p, work.delta, work.step);
    for &dof in &s.limited {
        work.pivot[dof] = problem.p[s.diagonal[dof]];
    }
    for (l, &(dof, sign)) in s.limits.iter().enumerate() {
        let (eta, gap) = (work.limit_force[l], work.delta[dof].scale(sign) + problem.gaps[l]);
        work.limit_gap[l] = gap;
        let weight = (kappa * eta * eta).scale(0.5);
        work.step[dof] -= weight.mul_add(-gap, eta.scale(2.0)).scale(sign);
        if dof < s.n_shared {
            work.h[s.factor_h.at(dof, dof)] += weight;
        } else {
            work.pivot[dof] += weight;
        }
    }
    for &dof in &s.limited {
        work.pivot[dof] = R::one() / work.pivot[dof];
    }
    for (touch, contact) in Touch::of(work.touches).iter_mut().lockstep(&s.contacts) {
        touch.zeta = axpy(touch.cone.phi, touch.cone.n, along(contact, columns, work.delta));
        eliminate(contact, columns, kappa, touch, work.pivot, work.step);
        let force = sub(touch.eta, touch.response.times(touch.reduced));
        let columns = contact.shared_part(columns);
        let mut entries = contact.entries.iter();
        for (a, (&column, &dof)) in columns.iter().lockstep(contact.shared()).enumerate() {
            work.step[dof] -= dot(column, force);
            let weighed = touch.response.times(column);
            for (&other, &entry) in columns[..=a].iter().lockstep(entries.by_ref()) {
                work.h[entry] += dot(weighed, other);
            }
        }
    }
    for x in work.step.iter_mut() {
        *x = -*x;
    }
    s.factor_h.factor_leading(work.h, s.n_shared);
    s.factor_h.solve_leading(work.h, work.step, s.n_shared);

    // decrement² = −r₂ · Δη.
    let mut decrement = R::zero();
    let mut change = R::zero();
    for (touch, contact) in Touch::of(work.touches).iter_mut().lockstep(&s.contacts) {
        let mut error = touch.reduced;
        for (&column, &dof) in contact.shared_part(columns).iter().lockstep(contact.shared()) {
            error = axpy(work.step[dof], column, error);
        }
        let d_eta = scale(-R::one(), touch.response.times(error));
        touch.d_eta = d_eta;
        for (&column, step) in contact.private_part(columns).iter().lockstep(&mut work.step[contact.private.clone()]) {
            *step += dot(column, d_eta);
        }
        decrement -= dot(touch.error, d_eta);
        let fades = touch.fades();
        if fades.any() {
            let cone = &touch.cone;
            let inverse = R::one() / R::select(touch.is_there(), cone.rho(touch.eta), R::one());
            let slope = dot(cone.reflected(touch.eta), d_eta).scale(2.0) * inverse;
            let far = slope.mul_add(slope, -(cone.rho(d_eta) * inverse).scale(2.0));
            change = R::select(fades, change.max(far), change);
        }
    }
    for (x, &pivot) in work.step[s.n_shared..].iter_mut().lockstep(&work.pivot[s.n_shared..]) {
        *x = *x * pivot;
    }
    decrement = decrement * kappa;
    for (l, &(dof, sign)) in s.limits.iter().enumerate() {
        let (eta, gap) = (work.limit_force[l], work.limit_gap[l]);
        let next = gap + work.step[dof].scale(sign);
        let step = eta - (kappa * eta * eta).scale(0.5) * next;
        work.limit_step[l] = step;
        decrement -= step * (kappa * gap - R::splat(2.0) / eta);
    }
    (decrement, change)
}

/// A contact's r₂, e and A; in `step` r₁ of its private degrees of freedom.
#[inline(always)]
fn eliminate<R: Real>(
    contact: &ContactColumns,
    columns: &[Vec3<R>],
    kappa: R,
    touch: &mut Touch<R>,
    pivot: &[R],
    step: &mut [R],
) {
    let (cone, eta, there) = (touch.cone, touch.eta, touch.is_there());
    let kappa = R::select(there, kappa * touch.share, R::one());
    let rho = R::select(there, cone.rho(eta), R::one());
    let reflected = cone.reflected(eta);
    touch.error = sub(touch.zeta, scale(R::splat(2.0) / (kappa * rho), reflected));

    let columns = contact.private_part(columns);
    let mut moved = zero();
    for ((&column, r), &pivot) in
        columns.iter().lockstep(&mut step[contact.private.clone()]).lockstep(&pivot[contact.private.clone()])
    {
        *r -= dot(column, eta);
        moved = axpy(*r * pivot, column, moved);
    }
    touch.reduced = sub(touch.error, moved);
    let response = if contact.private.is_empty() {
        cone.weights(kappa, eta)
    } else {
        let compliance = if contact.limited { compliance(contact, columns, pivot) } else { touch.compliance };
        let (inverse_weights, floor) = cone.inverse_weights(kappa, rho, reflected);
        inverse_weights.add(compliance).inverse(floor)
    };
    touch.response = response.only(there);
}
