//! The solve's adjoint by the implicit function theorem, in lanes.
//!
//! With f = M η(ζ) the force on B as a function of δ and the operands θ, optimality is P δ + g = Σ Jᵀ f. For gradients
//! δ̄ and f̄, solve H y = δ̄ − Σ Jᵀ M W M f̄, see [`super::linear`], and set e = J y + f̄ for each contact. Then
//!
//! ```text
//! ḡ = −y      P̄ = −y δᵀ (symmetric part)      J̄ = f yᵀ + d̄ δᵀ
//! d̄, n̄, φ̄, μ̄, κ̄ : the gradients of f(d, n, φ, μ, κ) for f̄ = e, d = J δ
//! ```
//!
//! and a screw of B's path, with column ω × p + m of J, takes ω̄ = p × c̄, m̄ = c̄ and gives p̄ = c̄ × ω. Where
//! contacts resist turning, J has a column n · ω more, which adds c̄ n to ω̄ and c̄ ω to n̄.

use fingertip_lanes::lane::{Mask, Real, Zip, clear, inlined, when};
use fingertip_lanes::vector::cross;

use crate::contact::numbers::PHI;

use super::cone::{CONTACT_OPERAND, MU, TURNING, WEIGHT};
use super::kinds::cones;
use super::linear;
use super::memory::{Gradients, Problem, STATUS, Work};
use super::presence::{listed, touched};
use super::problem::{nth, put_nth, seen};
use super::structure::Structure;
use super::vector::{add, axpy, dot, first, scale, sub, zero};

/// Sets the gradients of the operands, given those of the results. Worlds that `keep` leaves out get zeros.
#[inline(always)]
pub(crate) fn vjp<R: Real, const N: usize>(
    s: &Structure,
    problem: &Problem<R>,
    work: &mut Work<&mut [R]>,
    keep: R::Mask,
    to: &mut Gradients<&mut [R]>,
) {
    linear::solve::<R, N>(s, problem, work, to);
    let (grad_force, y) = (&*to.force, &mut *to.y);
    let kappa = problem.kappa;
    for value in y.iter_mut() {
        *value = R::select(keep.and(value.is_finite()), *value, R::zero());
    }

    clear(to.screws);
    let mut grad_kappa = [R::zero()];
    for contact in touched(s, work.presence, to.contacts.chunks_exact_mut(CONTACT_OPERAND)) {
        clear(contact);
    }
    for gamma in touched(s, work.presence, to.gammas.iter_mut()) {
        *gamma = R::zero();
    }
    for (i, contact) in listed(work.list, s.contacts.iter().enumerate()) {
        let cone = problem.cone::<N>(i);
        let out = &mut to.contacts[CONTACT_OPERAND * i..CONTACT_OPERAND * (i + 1)];
        let gamma = if N == TURNING { i..i + 1 } else { 0..0 };
        let gamma = &mut to.gammas[gamma];
        when!(cone.is_there(), &mut ((out, gamma), &mut *to.screws, &mut grad_kappa), |(
            (out, gamma),
            screws,
            [grad_kappa],
        )| {
            let (own, eta) = (cone.kappa(kappa), nth(work.eta, i));
            // d = J δ and e = J y + f̄ with the plain columns.
            let mut d = zero();
            let mut e = nth(grad_force, i);
            for &(screw, slot, b) in &contact.columns {
                let dof = contact.dofs[slot];
                let seen = seen(problem.screws, &cone, screw, b);
                let seen = if b { seen } else { scale(-R::one(), seen) };
                d = axpy(work.delta[dof], seen, d);
                e = axpy(y[dof], seen, e);
            }
            let weighed = nth(work.contact_states, i);
            let pull = s.vjp(&cone, (own, eta), (d, e, weighed), work.info[STATUS]);
            let force = cone.scaled(eta);
            let (mut points, mut grad_n) = ([zero(); 2], pull.n);
            for &(screw, slot, b) in &contact.columns {
                let dof = contact.dofs[slot];
                let column = axpy(y[dof], force, scale(work.delta[dof], pull.d));
                let column = if b { column } else { scale(-R::one(), column) };
                let point = if b { cone.point_b } else { cone.point_a };
                let omega = nth(problem.screws, 2 * screw);
                let mut by_omega = nth(screws, 2 * screw);
                if N == TURNING {
                    by_omega = axpy(column[3], first(cone.n), by_omega);
                    grad_n = axpy(column[3], omega, grad_n);
                }
                let column = first(column);
                put_nth(screws, 2 * screw, add(by_omega, cross(point, column)));
                put_nth(screws, 2 * screw + 1, add(nth(screws, 2 * screw + 1), column));
                let side = &mut points[usize::from(b)];
                *side = add(*side, cross(column, omega));
            }
            let there = cone.is_there();
            let inverse = R::select(there, R::one() / R::select(there, cone.weight, R::one()), R::zero());
            *grad_kappa += pull.kappa * inverse;
            put_nth(out, 0, grad_n);
            put_nth(out, 1, points[0]);
            put_nth(out, 2, points[1]);
            out[PHI] = pull.phi;
            out[MU] = pull.coefficients[0];
            if N == TURNING {
                gamma[0] = pull.coefficients[1];
            }
            out[WEIGHT] = -(pull.kappa * own * inverse);
        });
    }
    let [mut grad_kappa] = grad_kappa;
    for (entry, grad) in s.entries.iter().zip_inline(to.p.iter_mut()) {
        let product = y[entry.row] * work.delta[entry.column];
        let both = entry.row != entry.column;
        *grad = if both { -product - y[entry.column] * work.delta[entry.row] } else { -product };
    }
    cones!(s, problem.gaps, cone => {
        let (eta, u) = (cone.own(&work.eta[s.n_force()..]), cone.at(work.delta));
        let e = add(cone.on.moved(y), cone.own(to.limit));
        let grad_u = sub(zero(), cone.own(work.limit_force));
        cone.vjp(kappa, u, [e, grad_u], [y, work.delta], to.gaps);
        grad_kappa += dot(e, cone.by_kappa(kappa, eta, u)) / kappa;
    });
    to.kappa[0] = grad_kappa;
    // Worlds without a solution have no gradient; their other numbers may be NaN. No −0: contacts that are nowhere are
    // left out.
    let clean = inlined(
        #[inline(always)]
        |block: &mut [R]| {
            for value in block {
                *value = R::select(keep.and(value.is_finite()), *value, R::zero()) + R::zero();
            }
        },
    );
    for contact in touched(s, work.presence, to.contacts.chunks_exact_mut(CONTACT_OPERAND)) {
        clean(contact);
    }
    for gamma in touched(s, work.presence, to.gammas.iter_mut()) {
        clean(std::slice::from_mut(gamma));
    }
    for block in [&mut *to.screws, &mut *to.p, &mut *to.gaps, &mut *to.kappa] {
        clean(block);
    }
}
