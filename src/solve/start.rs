//! Where the iteration starts: forces inside the cones, and the δ that belongs to them.

use crate::math::lane::{Lockstep, Mask, Real};
use crate::math::vector::{Vec3, dot, scale, zero};

use super::approach::limit_misfit;
use super::memory::{Problem, Work};
use super::problem::{add_force, along, at3, solve_p};
use super::structure::{ContactColumns, Structure};
use super::touch::Touch;

/// Least compliance of a contact in the formula of its first force, of that of the stiffest degree of freedom: nothing may
/// move a penetrating contact, and its first force is finite all the same.
const LEAST_COMPLIANCE: f64 = 1e-9;
/// Largest misfit of a contact that keeps the force it had.
const KEPT: f64 = 16.0;
/// Misfit within the reach of Newton's method on the dual.
const NEAR: f64 = 1.0;
/// Part of κ for contacts that start anew: what else moves them is not known yet.
const SOFT: f64 = 0.03;

/// The positive root of λ (d λ + c) = 2/κ, in the form that is stable for either sign of c.
#[inline(always)]
fn root<R: Real>(d: R, c: R, kappa: R) -> R {
    let discriminant = c.mul_add(c, (d / kappa).scale(8.0)).sqrt();
    let apart = (R::splat(4.0) / kappa) / (c + discriminant);
    R::select(c.gt(R::zero()), apart, (discriminant - c) / d.scale(2.0))
}

/// What a contact gives way by along its normal for a force of 1: D_nn with P's diagonal.
#[inline(always)]
fn compliance<R: Real>(contact: &ContactColumns, columns: &[Vec3<R>], n: Vec3<R>, pivot: &[R], least: R) -> R {
    let mut d = least;
    for (&column, &dof) in contact.part(columns).iter().lockstep(&contact.dofs) {
        let j = dot(n, column);
        d = (j * j).mul_add(pivot[dof], d);
    }
    d
}

#[inline(always)]
fn least_compliance<R: Real>(pivot: &[R]) -> R {
    let mut stiffest = R::splat(f64::INFINITY);
    for &compliance in pivot {
        stiffest = stiffest.min(compliance);
    }
    stiffest.scale(LEAST_COMPLIANCE)
}

/// First forces and slacks. Contacts that go on much as they were keep the force that they had, if there are such forces
/// (`warm`); the others start anew, each alone, from the gap that all others' forces leave it. Gives the worlds in which that is
/// not near the path.
#[inline(always)]
pub(super) fn start<R: Real>(s: &Structure, problem: &Problem<R>, warm: bool, work: &mut Work<&mut [R]>) -> R::Mask {
    let all = R::Mask::splat(true);
    let kappa = problem.kappa;
    if warm {
        recall(s, problem, work);
    } else {
        for touch in Touch::of(work.touches) {
            touch.eta = zero();
        }
        for force in work.limit_force.iter_mut() {
            *force = R::zero();
        }
    }
    balance(s, problem, all, work);

    let columns = work.columns.as_chunks().0;
    let least = least_compliance(work.pivot);
    let soft = kappa.scale(SOFT);
    let (mut changed, mut worst) = (all.not(), R::zero());
    for (touch, contact) in Touch::of(work.touches).iter_mut().lockstep(&s.contacts) {
        let (cone, there, eta) = (&touch.cone, touch.is_there(), touch.eta);
        let mut zeta = along(contact, columns, work.delta);
        for (zeta, n) in zeta.iter_mut().lockstep(cone.n) {
            *zeta = cone.phi.mul_add(n, *zeta);
        }
        let own = R::select(there, kappa * touch.share, R::one());
        let misfit = R::select(there, cone.misfit(own, eta, zeta) * cone.weight, R::zero());
        let keep = misfit.lt(R::splat(KEPT));
        worst = worst.max(R::select(keep, misfit, R::zero()));
        let d = compliance(contact, columns, cone.n, work.pivot, least);
        let c = (-d).mul_add(dot(cone.n, eta), dot(cone.n, zeta));
        let own_soft = own.scale(SOFT);
        let force = root(d, c, own_soft);
        let (fresh, fresh_slack) = (scale(force, cone.n), scale(R::splat(2.0) / (own_soft * force), cone.n));
        let slack = cone.pole(own, eta, cone.rho(eta));
        for k in 0..3 {
            touch.eta[k] = R::select(there, R::select(keep, eta[k], fresh[k]), R::zero());
            touch.slack[k] = R::select(keep, slack[k], fresh_slack[k]);
        }
        changed = changed.or(there.and(keep.not()));
    }
    for (l, &(dof, sign)) in s.limits.iter().enumerate() {
        let (force, d) = (work.limit_force[l], work.pivot[dof]);
        let gap = work.delta[dof].scale(sign) + problem.gaps[l];
        let misfit = limit_misfit(kappa, force, gap);
        let keep = force.gt(R::zero()).and(misfit.lt(R::splat(KEPT)));
        worst = worst.max(R::select(keep, misfit, R::zero()));
        let fresh = root(d, (-d).mul_add(force, gap), soft);
        work.limit_force[l] = R::select(keep, force, fresh);
        work.limit_slack[l] = R::splat(2.0) / (R::select(keep, kappa, soft) * work.limit_force[l]);
        changed = changed.or(keep.not());
    }
    if changed.any() {
        balance(s, problem, changed, work);
    }
    changed.or(worst.lt(R::splat(NEAR)).not())
}

/// The given forces, and none where they are outside their cones.
#[inline(always)]
fn recall<R: Real>(s: &Structure, problem: &Problem<R>, work: &mut Work<&mut [R]>) {
    for (i, touch) in Touch::of(work.touches).iter_mut().enumerate() {
        let force = at3(problem.warm, i);
        let rho = touch.cone.rho(force);
        let valid = dot(touch.cone.n, force).gt(R::zero()).and(rho.gt(R::zero())).and(rho.doubt(R::zero()).is_finite());
        let valid = valid.and(touch.is_there());
        for (eta, warm) in touch.eta.iter_mut().lockstep(force) {
            *eta = R::select(valid, warm, R::zero());
        }
    }
    for (to, &force) in work.limit_force.iter_mut().lockstep(&problem.warm[3 * s.nc()..]) {
        let valid = force.gt(R::zero()).and(force.doubt(R::zero()).is_finite());
        *to = R::select(valid, force, R::zero());
    }
}

/// Forces along the normals, in worlds of the mask: the root of each contact alone, λ (D_nn λ + c) = 2/κ with c the gap after
/// the free motion.
#[inline(always)]
pub(super) fn start_again<R: Real>(
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
    let least = least_compliance(work.pivot);
    for (touch, contact) in Touch::of(work.touches).iter_mut().lockstep(&s.contacts) {
        let cone = &touch.cone;
        let d = compliance(contact, columns, cone.n, work.pivot, least);
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
    balance(s, problem, mask, work);
}

/// δ ← P⁻¹ (J̃ᵀη − g), which belongs to the forces, in worlds of the mask.
#[inline(always)]
fn balance<R: Real>(s: &Structure, problem: &Problem<R>, mask: R::Mask, work: &mut Work<&mut [R]>) {
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
