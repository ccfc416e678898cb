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
//! and a screw of B's path, with column ω × p + m of J, takes ω̄ = p × c̄, m̄ = c̄ and gives p̄ = c̄ × ω.

use fingertip_lanes::lane::{Mask, Real, Zip, clear, inlined, when};
use fingertip_lanes::vector::{add, axpy, cross, scale, zero};

use crate::contact::numbers::PHI;

use super::cone::{CONTACT_OPERAND, FrictionCone, MU, Turning, WEIGHT};
use super::cones;
use super::kinds::cones;
use super::linear;
use super::memory::{Gradients, Problem, STATUS, Work};
use super::presence::{listed, touched};
use super::problem::{put_triple, seen, triple};
use super::status::is_relaxed;
use super::structure::{Slip, Structure};

/// Sets the gradients of the operands, given those of the results. Worlds that `keep` leaves out get zeros.
#[inline(always)]
pub(crate) fn vjp<R: Real>(
    s: &Structure,
    problem: &Problem<R>,
    work: &mut Work<&mut [R]>,
    keep: R::Mask,
    to: &mut Gradients<&mut [R]>,
) {
    linear::solve(s, problem, work, to);
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
    for (i, contact) in listed(work.list, s.contacts.iter().enumerate()) {
        let cone = FrictionCone::read(problem.contacts, i);
        let out = &mut to.contacts[CONTACT_OPERAND * i..CONTACT_OPERAND * (i + 1)];
        when!(cone.is_there(), &mut (out, &mut *to.screws, &mut grad_kappa), |(out, screws, [grad_kappa])| {
            let (own, eta) = (cone.kappa(kappa), triple(work.eta, i));
            // d = J δ and e = J y + f̄ with the plain columns.
            let mut d = zero();
            let mut e = triple(grad_force, i);
            for &(screw, slot, b) in &contact.columns {
                let dof = contact.dofs[slot];
                let seen = seen(problem.screws, contact.slip, &cone, screw, b);
                let seen = if b { seen } else { scale(-R::one(), seen) };
                d = axpy(work.delta[dof], seen, d);
                e = axpy(y[dof], seen, e);
            }
            let weighed = triple(work.contact_states, i);
            let pull = s.vjp(&cone, (own, eta), (d, e, weighed), work.info[STATUS]);
            let force = cone.scaled(eta);
            let (mut points, mut grad_n) = ([zero(); 2], pull.n);
            for &(screw, slot, b) in &contact.columns {
                let dof = contact.dofs[slot];
                let column = axpy(y[dof], force, scale(work.delta[dof], pull.d));
                let column = if b { column } else { scale(-R::one(), column) };
                let point = if b { cone.point_b } else { cone.point_a };
                let (omega, m) = (triple(problem.screws, 2 * screw), triple(problem.screws, 2 * screw + 1));
                let column = match contact.slip {
                    Slip::Slides => column,
                    Slip::Turns => {
                        let velocity = add(m, cross(omega, point));
                        let Turning { by_velocity, by_omega, by_n } = cone.vjp_turning(velocity, omega, column);
                        put_triple(screws, 2 * screw, add(triple(screws, 2 * screw), by_omega));
                        grad_n = add(grad_n, by_n);
                        by_velocity
                    }
                };
                put_triple(screws, 2 * screw, add(triple(screws, 2 * screw), cross(point, column)));
                put_triple(screws, 2 * screw + 1, add(triple(screws, 2 * screw + 1), column));
                let side = &mut points[usize::from(b)];
                *side = add(*side, cross(column, omega));
            }
            let there = cone.is_there();
            let inverse = R::select(there, R::one() / R::select(there, cone.weight, R::one()), R::zero());
            *grad_kappa += pull.kappa * inverse;
            put_triple(out, 0, grad_n);
            put_triple(out, 1, points[0]);
            put_triple(out, 2, points[1]);
            out[PHI] = pull.phi;
            out[MU] = if s.twins.contains(&i) {
                // What they are halved by: see [`super::refit`].
                R::select(is_relaxed(work.info[STATUS]), pull.mu.scale(0.5), pull.mu)
            } else {
                pull.mu
            };
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
        let (eta, u) = (cone.own(&work.eta[3 * s.nc()..]), cone.at(work.delta));
        let e = cones::add(cone.on.moved(y), cone.own(to.limit));
        let grad_u = cones::sub(cones::zero(), cone.own(work.limit_force));
        cone.vjp(kappa, u, [e, grad_u], [y, work.delta], to.gaps);
        grad_kappa += cones::dot(e, cone.by_kappa(kappa, eta, u)) / kappa;
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
    for block in [&mut *to.screws, &mut *to.p, &mut *to.gaps, &mut *to.kappa] {
        clean(block);
    }
}
