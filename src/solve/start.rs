//! Where the iteration starts: forces inside the cones, and the δ that belongs to them.

use crate::math::lane::{Lockstep, Mask, Real, copy};
use crate::math::vector::{dot, scale};

use super::memory::{Problem, Work};
use super::problem::{add_force, along, at3, solve_p};
use super::structure::Structure;
use super::touch::Touch;

/// Least compliance of a contact in the formula of its first force, of that of the stiffest degree of freedom: nothing may
/// move a penetrating contact, and its first force is finite all the same.
const LEAST_COMPLIANCE: f64 = 1e-9;

/// The positive root of λ (d λ + c) = 2/κ, in the form that is stable for either sign of c.
#[inline(always)]
fn root<R: Real>(d: R, c: R, kappa: R) -> R {
    let discriminant = c.mul_add(c, (d / kappa).scale(8.0)).sqrt();
    let apart = (R::splat(4.0) / kappa) / (c + discriminant);
    R::select(c.gt(R::zero()), apart, (discriminant - c) / d.scale(2.0))
}

/// First forces, in worlds of the mask: the root of each contact alone, λ (D_nn λ + c) = 2/κ with D_nn from P's diagonal
/// and c the gap after the free motion.
#[inline(always)]
pub(super) fn cold_start<R: Real>(
    s: &Structure,
    problem: &Problem<R>,
    kappa: R,
    mask: R::Mask,
    work: &mut Work<&mut [R]>,
) {
    for (x, &g) in work.free.iter_mut().lockstep(problem.g) {
        *x = -g;
    }
    solve_p(s, work.factor_p, work.free);
    let columns = work.columns.as_chunks().0;
    let mut stiffest = R::splat(f64::INFINITY);
    for &compliance in work.pivot.iter() {
        stiffest = stiffest.min(compliance);
    }
    let least = stiffest.scale(LEAST_COMPLIANCE);
    for (touch, contact) in Touch::of(work.touches).iter_mut().lockstep(&s.contacts) {
        let cone = &touch.cone;
        let mut d = least;
        for (&column, &dof) in contact.part(columns).iter().lockstep(&contact.dofs) {
            let j = dot(cone.n, column);
            d = (j * j).mul_add(work.pivot[dof], d);
        }
        let c = dot(cone.n, along(contact, columns, work.free)) + cone.phi;
        let there = touch.is_there();
        let own = R::select(there, kappa * touch.share, R::one());
        let force = R::select(there, root(d, c, own), R::zero());
        let cold = scale(force, cone.n);
        for (eta, cold) in touch.eta.iter_mut().lockstep(cold) {
            *eta = R::select(mask, cold, *eta);
        }
    }
    for (l, &(dof, sign)) in s.limits.iter().enumerate() {
        let c = work.free[dof].scale(sign) + problem.gaps[l];
        work.limit_force[l] = R::select(mask, root(work.pivot[dof], c, kappa), work.limit_force[l]);
    }
}

/// The given forces; says in which worlds they are inside the cones, the others have to start cold.
#[inline(always)]
pub(super) fn warm_start<R: Real>(s: &Structure, problem: &Problem<R>, work: &mut Work<&mut [R]>) -> R::Mask {
    let touches = Touch::of(work.touches);
    let limits = &problem.warm[3 * s.nc()..];
    let mut inside = R::zero().lt(R::one());
    for (i, touch) in touches.iter().enumerate() {
        let force = at3(problem.warm, i);
        let rho = touch.cone.rho(force);
        let valid = dot(touch.cone.n, force).gt(R::zero()).and(rho.gt(R::zero())).and(rho.doubt(R::zero()).is_finite());
        inside = inside.and(valid.or(touch.is_there().not()));
    }
    for &force in limits {
        inside = inside.and(force.gt(R::zero())).and(force.doubt(R::zero()).is_finite());
    }
    for (i, touch) in touches.iter_mut().enumerate() {
        let there = touch.is_there();
        for (eta, warm) in touch.eta.iter_mut().lockstep(at3(problem.warm, i)) {
            *eta = R::select(there, warm, R::zero());
        }
    }
    copy(work.limit_force, limits);
    inside
}

/// δ ← P⁻¹ (J̃ᵀη − g), which belongs to the forces, in worlds of the mask.
#[inline(always)]
pub(super) fn balance<R: Real>(s: &Structure, problem: &Problem<R>, mask: R::Mask, work: &mut Work<&mut [R]>) {
    let columns = work.columns.as_chunks().0;
    for (x, &g) in work.step.iter_mut().lockstep(problem.g) {
        *x = -g;
    }
    for (touch, contact) in Touch::of(work.touches).iter().lockstep(&s.contacts) {
        add_force(contact, columns, touch.eta, work.step);
    }
    for (&force, &(dof, sign)) in work.limit_force.iter().lockstep(&s.limits) {
        work.step[dof] += force.scale(sign);
    }
    solve_p(s, work.factor_p, work.step);
    for (delta, &balanced) in work.delta.iter_mut().lockstep(work.step.iter()) {
        *delta = R::select(mask, balanced, *delta);
    }
}
