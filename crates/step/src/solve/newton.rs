//! One Newton step of the barrier solve: its linear system, with the contacts' private degrees of freedom eliminated in
//! closed form.
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
//! so that what is left has the size of what the contacts share: an object and the hand's base. All is done in the
//! coordinates of the cone's scaling F = W^½, see [`super::response`], where F r₂ = F ζ − n/h, h = √(κ/2), and the
//! step's size in the contact's own measure is that of y = −F⁻¹Δη. Limits are one-sided contacts of one degree of
//! freedom: their weight ½κη² comes on P's diagonal, and so does that of dry friction ([`super::dry`]). What a table
//! answers ([`super::table`]) comes on the block of the three motions of its body.

use fingertip_lanes::lane::{Mask, Real, Zip, clear, copy, when};

use super::approach::Approach;
use super::cones::Weight;
use super::contact_state::ContactState;
use super::kinds::cones;
use super::memory::{Problem, Work};
use super::presence::{self, listed};
use super::problem::{acceptable, along, along_shared, factor_p, fill_columns, fill_pivots, times_p};
use super::response::Response;
use super::shared;
use super::structure::{ContactColumns, Structure};
use super::symmetric::Symmetric;
use super::vector::{add, axpy, dot, scale, sub, zero};

/// Prepares a solve's Newton steps: the inverse of P's diagonal, and each contact's compliance D by its private degrees
/// of freedom.
#[inline(always)]
pub(super) fn prepare<R: Real, const N: usize>(s: &Structure, problem: &Problem<R>, work: &mut Work<&mut [R]>) {
    R::call(
        #[inline(always)]
        || {
            fill_pivots(s, problem.p, work.pivot);
            let columns = work.columns.as_chunks::<N>().0;
            for (state, contact) in
                listed(work.list, ContactState::of(work.contact_states).iter_mut().zip_inline(&s.contacts))
            {
                if !contact.is_rigid() {
                    state.compliance = compliance(contact, contact.private_part(columns), work.pivot);
                }
            }
        },
    )
}

/// Sets up a solve: the contacts' states, J̃ and the factor of P. Returns the worlds that can be solved: numbers in
/// range, P positive definite.
#[inline(always)]
pub(super) fn set_up<R: Real, const N: usize>(
    s: &Structure,
    problem: &Problem<R>,
    work: &mut Work<&mut [R]>,
) -> R::Mask {
    R::call(
        #[inline(always)]
        || {
            let mut good = acceptable(s, problem);
            presence::find(s, (problem.near, problem.contacts), (work.presence, work.list));
            fill_columns::<R, N>(s, problem, work.list, work.columns.as_chunks_mut().0);
            for (i, state) in listed(work.list, ContactState::of(work.contact_states).iter_mut().enumerate()) {
                state.start(problem.cone::<N>(i));
            }
            prepare::<R, N>(s, problem, work);
            factor_p(s, problem.p, work.pivot, work.factor_p);
            for &pivot in work.pivot.iter() {
                good = good.and(pivot.gt(R::zero())).and(pivot.doubt(R::zero()).is_finite());
            }
            for k in 0..s.n_shared {
                let pivot = work.factor_p[s.factor_p.at(k, k)];
                good = good.and(pivot.gt(R::zero())).and(pivot.doubt(R::zero()).is_finite());
            }
            good
        },
    )
}

/// A contact's compliance D = J̃_p P_p⁻¹ J̃_pᵀ by its private degrees of freedom.
#[inline(always)]
pub(super) fn compliance<R: Real, const N: usize>(
    contact: &ContactColumns,
    columns: &[[R; N]],
    pivot: &[R],
) -> Symmetric<R, N> {
    let mut sum = Symmetric::diagonal(R::zero());
    for (&column, &pivot) in columns.iter().zip_inline(&pivot[contact.private.clone()]) {
        sum = sum.plus(pivot, column);
    }
    sum
}

/// Computes one Newton step: that of δ in `work.step`, those of forces in the contacts' and limits' states. Returns κ ·
/// decrement², and the step's size in the most affected contact's own measure, Δη · ∇²(−log ρ) Δη, which is no larger
/// unless the contact fades.
#[inline(always)]
pub(super) fn step<R: Real, const N: usize>(
    s: &Structure,
    problem: &Problem<R>,
    kappa: R,
    approach: &Approach<R>,
    work: &mut Work<&mut [R]>,
) -> (R, R) {
    R::call(
        #[inline(always)]
        || {
            begin(s, problem, kappa, approach, work);
            let columns = work.columns.as_chunks::<N>().0;
            for (state, contact) in
                listed(work.list, ContactState::of(work.contact_states).iter_mut().zip_inline(&s.contacts))
            {
                when!(
                    state.is_there(),
                    &mut (state, (&mut *work.h, &mut *work.step), &mut *work.scaled),
                    |(state, (h, step), scaled)| {
                        state.zeta = axpy(state.cone.phi, state.cone.n, along(contact, columns, work.delta));
                        eliminate(contact, columns, kappa, approach, state, work.pivot, step);
                        let response = &state.response;
                        let force = sub(state.eta, response.force(shared::weighed(contact, response, state.reduced)));
                        shared::add(contact, columns, response, force, scaled.as_chunks_mut().0, h, step);
                    }
                );
            }
            for x in work.step.iter_mut() {
                *x = R::zero() - *x;
            }
            shared::solve::<R, N>(s, work.h, work.step);

            // decrement² = −r₂ · Δη.
            let mut sizes = [R::zero(); 2];
            for (state, contact) in
                listed(work.list, ContactState::of(work.contact_states).iter_mut().zip_inline(&s.contacts))
            {
                when!(
                    state.is_there(),
                    &mut ((&mut state.d_eta, &mut state.moved), &mut *work.step, &mut sizes),
                    |((to, moved), step, [decrement, change])| {
                        **moved = along_shared(contact, columns, step);
                        let response = &state.response;
                        let w = shared::weighed(contact, response, add(state.reduced, response.along(**moved)));
                        let d_eta = scale(-R::one(), response.force(w));
                        **to = d_eta;
                        let private = contact.private_part(columns).iter();
                        for (&column, step) in private.zip_inline(&mut step[contact.private.clone()]) {
                            *step += dot(column, d_eta);
                        }
                        *decrement += dot(state.error, w);
                        let y = if contact.is_rigid() { w } else { response.up(w) };
                        *change = change.max(state.share * dot(y, y));
                    }
                );
            }
            let [mut decrement, change] = [sizes[0] * kappa, sizes[1] * kappa];
            end(s, problem, kappa, approach, work);
            cones!(s, problem.gaps, cone => {
                let (eta, u) = (cone.own(work.limit_force), cone.own(work.limit_gap));
                decrement -= cone.decrement(kappa, eta, u, cone.own(work.limit_step));
            });
            (decrement, change)
        },
    )
}

/// Begins a Newton step: writes the shared part of P to `work.h` and P δ + g to `work.step`, and adds the limits' parts
/// to both.
#[inline(always)]
pub(super) fn begin<R: Real>(
    s: &Structure,
    problem: &Problem<R>,
    kappa: R,
    approach: &Approach<R>,
    work: &mut Work<&mut [R]>,
) {
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
    cones!(s, problem.gaps, cone => {
        let u = cone.at(work.delta);
        cone.put(work.limit_gap, u);
        let (weight, pull) = approach.response(&cone, kappa, work);
        cone.on.pull(weight.force(pull, u), work.step);
        cone.on.stiffen(s, weight, work.h, Some(work.pivot));
    });
    for &dof in &s.limited {
        work.pivot[dof] = R::one() / work.pivot[dof];
    }
}

/// Ends a Newton step: solves for the private degrees of freedom in `work.step`, and computes the steps of the limits'
/// forces.
#[inline(always)]
pub(super) fn end<R: Real>(
    s: &Structure,
    problem: &Problem<R>,
    kappa: R,
    approach: &Approach<R>,
    work: &mut Work<&mut [R]>,
) {
    for (x, &pivot) in work.step[s.n_shared..].iter_mut().zip_inline(&work.pivot[s.n_shared..]) {
        *x = *x * pivot;
    }
    cones!(s, problem.gaps, cone => {
        let next = add(cone.own(work.limit_gap), cone.on.moved(work.step));
        let (weight, pull) = approach.response(&cone, kappa, work);
        cone.put(work.limit_step, weight.change(pull, next, cone.own(work.limit_force)));
    });
}

/// Eliminates a contact's private degrees of freedom: computes its A, r₂ and e, and writes their r₁ to `step`.
#[inline(always)]
fn eliminate<R: Real, const N: usize>(
    contact: &ContactColumns,
    columns: &[[R; N]],
    kappa: R,
    approach: &Approach<R>,
    state: &mut ContactState<R, N>,
    pivot: &[R],
    step: &mut [R],
) {
    let (cone, eta) = (&state.cone, state.eta);
    let h = (kappa * state.share).scale(0.5).sqrt();
    // 1/h, and 0 where there is no contact.
    let inverse_h = h * cone.weight.scale(2.0) / kappa;
    let (scaling, wanted) = approach.contact(state, h, inverse_h);
    let error = sub(scaling.times(state.zeta), wanted);
    if contact.is_rigid() {
        state.response.set_rigid(&scaling);
        (state.error, state.reduced) = (error, error);
        return;
    }
    let private = contact.private_part(columns);
    let mut moved = zero();
    for ((&column, r), &pivot) in
        private.iter().zip_inline(&mut step[contact.private.clone()]).zip_inline(&pivot[contact.private.clone()])
    {
        *r -= dot(column, eta);
        moved = axpy(*r * pivot, column, moved);
    }
    if contact.limited {
        state.compliance = compliance(contact, private, pivot);
    }
    state.response = Response::compliant(&scaling, &state.compliance);
    state.error = state.response.down(error);
    state.reduced = sub(state.error, state.response.along(moved));
}
