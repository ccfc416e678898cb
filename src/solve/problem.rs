//! What the iteration and the adjoint ask of a problem: its Jacobian, forces along it, H.

use crate::math::lane::{Mask, Real, clear};
use crate::math::vector::{Vec3, add, axpy, cross, dot, sub, zero};

use super::cone::Cone;
use super::memory::Problem;
use super::structure::Structure;

#[inline(always)]
pub(crate) fn at3<R: Real>(from: &[R], i: usize) -> Vec3<R> {
    // One check of bounds in place of three.
    let from = &from[3 * i..3 * i + 3];
    [from[0], from[1], from[2]]
}

#[inline(always)]
pub(crate) fn put3<R: Real>(to: &mut [R], i: usize, v: Vec3<R>) {
    to[3 * i..3 * i + 3].copy_from_slice(&v);
}

/// The columns of J̃: M (ω × p + m) for each screw, summed over the screws of a slot, B's less A's.
#[inline(always)]
pub(crate) fn columns<R: Real>(s: &Structure, problem: &Problem<R>, columns: &mut [R]) {
    clear(columns);
    for (i, contact) in s.contacts.iter().enumerate() {
        let cone = Cone::read(problem.contacts, i);
        for &(screw, slot, b) in &contact.columns {
            let (omega, m) = (at3(problem.screws, 2 * screw), at3(problem.screws, 2 * screw + 1));
            let at = contact.first + slot;
            let velocity = add(m, cross(omega, if b { cone.point_b } else { cone.point_a }));
            let sum = at3(columns, at);
            put3(columns, at, if b { add(sum, velocity) } else { sub(sum, velocity) });
        }
        for slot in 0..contact.dofs.len() {
            let column = at3(columns, contact.first + slot);
            put3(columns, contact.first + slot, cone.scaled(column));
        }
    }
}

/// J̃ x for contact `i`.
#[inline(always)]
pub(crate) fn along<R: Real>(s: &Structure, columns: &[R], i: usize, x: &[R]) -> Vec3<R> {
    let contact = &s.contacts[i];
    let mut sum = zero();
    for (slot, &dof) in contact.dofs.iter().enumerate() {
        sum = axpy(x[dof], at3(columns, contact.first + slot), sum);
    }
    sum
}

/// x += J̃ᵀ force of contact `i`.
#[inline(always)]
pub(crate) fn add_force<R: Real>(s: &Structure, columns: &[R], i: usize, force: Vec3<R>, x: &mut [R]) {
    let contact = &s.contacts[i];
    for (slot, &dof) in contact.dofs.iter().enumerate() {
        x[dof] += dot(at3(columns, contact.first + slot), force);
    }
}

/// h ← P, for its factor alone.
#[inline(always)]
pub(crate) fn fill_p<R: Real>(s: &Structure, p: &[R], h: &mut [R]) {
    clear(&mut h[..s.factor_p.n_entries()]);
    for (entry, &value) in s.entries.iter().zip(p) {
        h[entry.in_p] = value;
    }
}

/// h ← P + J̃ᵀWJ̃ at η.
#[inline(always)]
pub(crate) fn fill_h<R: Real>(s: &Structure, problem: &Problem<R>, kappa: R, columns: &[R], eta: &[R], h: &mut [R]) {
    clear(&mut h[..s.factor_h.n_entries()]);
    for (entry, &value) in s.entries.iter().zip(problem.p) {
        h[entry.in_h] = value;
    }
    for (i, contact) in s.contacts.iter().enumerate() {
        let cone = Cone::read(problem.contacts, i);
        let [x, y, z] = cone.weights(cone.kappa(kappa), at3(eta, i));
        let n = contact.dofs.len();
        let columns = &columns[3 * contact.first..3 * (contact.first + n)];
        let mut entries = contact.entries.iter();
        for a in 0..n {
            let column = at3(columns, a);
            let weighed = [dot(x, column), dot(y, column), dot(z, column)];
            for (other, &entry) in columns[..3 * (a + 1)].chunks_exact(3).zip(entries.by_ref()) {
                let product = weighed[2].mul_add(other[2], h[entry]);
                h[entry] = weighed[0].mul_add(other[0], weighed[1].mul_add(other[1], product));
            }
        }
    }
    for (l, &(dof, _)) in s.limits.iter().enumerate() {
        let force = eta[3 * s.nc() + l];
        h[s.factor_h.at(dof, dof)] += (kappa * force * force).scale(0.5);
    }
}

/// P x − y into y, with P from its entries.
#[inline(always)]
pub(crate) fn times_p<R: Real>(s: &Structure, p: &[R], x: &[R], y: &mut [R]) {
    for (entry, &value) in s.entries.iter().zip(p) {
        y[entry.row] = value.mul_add(x[entry.column], y[entry.row]);
        if entry.row != entry.column {
            y[entry.column] = value.mul_add(x[entry.row], y[entry.column]);
        }
    }
}

/// Worlds whose numbers are finite and in range.
#[inline(always)]
pub(crate) fn acceptable<R: Real>(s: &Structure, problem: &Problem<R>) -> R::Mask {
    let mut sum = problem.kappa;
    let all = [problem.screws, problem.contacts, problem.p, problem.g, problem.gaps];
    for &x in all.into_iter().flatten() {
        // NaN and infinity survive the multiplication by zero.
        sum = x.mul_add(R::zero(), sum);
    }
    let mut good = sum.is_finite().and(problem.kappa.gt(R::zero()));
    for i in 0..s.nc() {
        let cone = Cone::read(problem.contacts, i);
        good = good.and(cone.mu.lt(R::zero()).not());
    }
    good
}
