//! Where the iteration starts: forces inside the cones, and the δ that belongs to them.

use crate::math::lane::{Mask, Real};
use crate::math::vector::{dot, scale};

use super::cone::Cone;
use super::memory::{Problem, Work};
use super::problem::{add_force, along, at3, put3};
use super::structure::Structure;

/// The positive root of λ (d λ + c) = 2/κ, in the form that is stable for either sign of c.
#[inline(always)]
fn root<R: Real>(d: R, c: R, kappa: R) -> R {
    let discriminant = c.mul_add(c, (d / kappa).scale(8.0)).sqrt();
    let apart = (R::splat(4.0) / kappa) / (c + discriminant);
    R::select(c.gt(R::zero()), apart, (discriminant - c) / d.scale(2.0))
}

/// First forces, into `work.d_eta`: the root of each contact alone, λ (D_nn λ + c) = 2/κ with D_nn from P's diagonal
/// and c the gap after the free motion.
#[inline(always)]
pub(super) fn cold_start<R: Real>(s: &Structure, problem: &Problem<R>, kappa: R, work: &mut Work<&mut [R]>) {
    // The diagonal of P in the order of elimination.
    for (entry, &value) in s.entries.iter().zip(problem.p) {
        if entry.row == entry.column {
            work.step[entry.row] = value;
        }
    }
    for (i, contact) in s.contacts.iter().enumerate() {
        let cone = Cone::read(problem.contacts, i);
        let mut d = R::splat(f64::MIN_POSITIVE);
        for (slot, &dof) in contact.dofs.iter().enumerate() {
            let j = dot(cone.n, at3(work.columns, contact.first + slot));
            d += j * j / work.step[dof];
        }
        let c = dot(cone.n, along(s, work.columns, i, work.free)) + cone.phi;
        let there = cone.weight.gt(R::zero());
        let own = R::select(there, cone.kappa(kappa), R::one());
        let force = R::select(there, root(d, c, own), R::zero());
        put3(work.d_eta, i, scale(force, cone.n));
    }
    for (l, &(dof, sign)) in s.limits.iter().enumerate() {
        let c = work.free[dof].scale(sign) + problem.gaps[l];
        work.d_eta[3 * s.nc() + l] = root(R::one() / work.step[dof], c, kappa);
    }
}

/// The given forces in the place of `work.d_eta`, and κ itself, in worlds where they are inside the cones.
#[inline(always)]
pub(super) fn warm_start<R: Real>(s: &Structure, problem: &Problem<R>, kappa: &mut R, work: &mut Work<&mut [R]>) {
    let warm = problem.warm;
    let mut inside = R::zero().lt(R::one());
    for i in 0..s.nc() {
        let cone = Cone::read(problem.contacts, i);
        let force = at3(warm, i);
        let absent = cone.weight.gt(R::zero()).not();
        let valid = dot(cone.n, force).gt(R::zero()).and(cone.rho(force).gt(R::zero()));
        inside = inside.and(valid.or(absent));
    }
    for l in 3 * s.nc()..work.eta.len() {
        inside = inside.and(warm[l].gt(R::zero()));
    }
    for i in 0..s.nc() {
        let taken = inside.and(Cone::read(problem.contacts, i).weight.gt(R::zero()));
        for k in 3 * i..3 * i + 3 {
            work.d_eta[k] = R::select(taken, warm[k], work.d_eta[k]);
        }
    }
    for l in 3 * s.nc()..work.eta.len() {
        work.d_eta[l] = R::select(inside, warm[l], work.d_eta[l]);
    }
    *kappa = R::select(inside, problem.kappa, *kappa);
}

/// `work.step` ← P⁻¹ (J̃ᵀη − g), the δ that belongs to the forces in `work.d_eta`; `work.h` holds the factor of P.
#[inline(always)]
pub(super) fn balance<R: Real>(s: &Structure, problem: &Problem<R>, work: &mut Work<&mut [R]>) {
    for k in 0..s.nv {
        work.step[k] = -problem.g[k];
    }
    for i in 0..s.nc() {
        add_force(s, work.columns, i, at3(work.d_eta, i), work.step);
    }
    for (l, &(dof, sign)) in s.limits.iter().enumerate() {
        work.step[dof] += work.d_eta[3 * s.nc() + l].scale(sign);
    }
    s.factor_p.solve(work.h, work.step);
}
