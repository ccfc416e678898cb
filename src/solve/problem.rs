//! What the iteration and the adjoint ask of a problem: its Jacobian, forces along it, H.

use crate::math::lane::{Lockstep, Mask, Real, clear};
use crate::math::vector::{Vec3, add, axpy, cross, dot, sub, zero};

use super::cone::Cone;
use super::memory::Problem;
use super::structure::{ContactColumns, Structure};

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
pub(crate) fn fill_columns<R: Real>(s: &Structure, problem: &Problem<R>, columns: &mut [Vec3<R>]) {
    for (i, contact) in s.contacts.iter().enumerate() {
        let cone = Cone::read(problem.contacts, i);
        for same_slot in contact.columns.chunk_by(|x, y| x.1 == y.1) {
            let mut sum = zero();
            for &(screw, _, b) in same_slot {
                let (omega, m) = (at3(problem.screws, 2 * screw), at3(problem.screws, 2 * screw + 1));
                let velocity = add(m, cross(omega, if b { cone.point_b } else { cone.point_a }));
                sum = if b { add(sum, velocity) } else { sub(sum, velocity) };
            }
            columns[contact.first + same_slot[0].1] = cone.scaled(sum);
        }
    }
}

/// J̃ x for a contact.
#[inline(always)]
pub(crate) fn along<R: Real>(contact: &ContactColumns, columns: &[Vec3<R>], x: &[R]) -> Vec3<R> {
    let mut sum = zero();
    for (&column, &dof) in contact.part(columns).iter().lockstep(&contact.dofs) {
        sum = axpy(x[dof], column, sum);
    }
    sum
}

/// x += J̃ᵀ force of a contact.
#[inline(always)]
pub(crate) fn add_force<R: Real>(contact: &ContactColumns, columns: &[Vec3<R>], force: Vec3<R>, x: &mut [R]) {
    for (&column, &dof) in contact.part(columns).iter().lockstep(&contact.dofs) {
        x[dof] += dot(column, force);
    }
}

/// The factor of P.
#[inline(always)]
pub(crate) fn factor_p<R: Real>(s: &Structure, p: &[R], factor: &mut [R]) {
    clear(factor);
    for (entry, &value) in s.entries.iter().lockstep(p) {
        factor[entry.in_p] = value;
    }
    s.factor_p.factor(factor);
}

/// h ← P + J̃ᵀWJ̃ at η.
#[inline(always)]
pub(crate) fn fill_h<R: Real>(s: &Structure, problem: &Problem<R>, columns: &[Vec3<R>], eta: &[R], h: &mut [R]) {
    clear(h);
    for (entry, &value) in s.entries.iter().lockstep(problem.p) {
        h[entry.in_h] = value;
    }
    for (i, contact) in s.contacts.iter().enumerate() {
        let cone = Cone::read(problem.contacts, i);
        let weights = cone.weights(cone.kappa(problem.kappa), at3(eta, i));
        let columns = contact.part(columns);
        let mut entries = contact.entries.iter();
        for (a, &column) in columns.iter().enumerate() {
            let weighed = weights.times(column);
            for (&other, &entry) in columns[..=a].iter().lockstep(entries.by_ref()) {
                h[entry] += dot(weighed, other);
            }
        }
    }
    for (&(dof, _), &force) in s.limits.iter().lockstep(&eta[3 * s.nc()..]) {
        h[s.factor_h.at(dof, dof)] += (problem.kappa * force * force).scale(0.5);
    }
}

/// P x − y into y, with P from its entries.
#[inline(always)]
pub(crate) fn times_p<R: Real>(s: &Structure, p: &[R], x: &[R], y: &mut [R]) {
    for (entry, &value) in s.entries.iter().lockstep(p) {
        y[entry.row] = value.mul_add(x[entry.column], y[entry.row]);
        if entry.row != entry.column {
            y[entry.column] = value.mul_add(x[entry.row], y[entry.column]);
        }
    }
}

/// Worlds whose numbers are finite and in range.
#[inline(always)]
pub(crate) fn acceptable<R: Real>(s: &Structure, problem: &Problem<R>) -> R::Mask {
    // NaN and infinity survive the multiplication by zero. Four sums do not wait for each other.
    let mut sums = [problem.kappa; 4];
    for part in [problem.screws, problem.contacts, problem.p, problem.g, problem.gaps] {
        let (fours, rest) = part.as_chunks::<4>();
        for four in fours {
            for (sum, &x) in sums.iter_mut().lockstep(four) {
                *sum = x.mul_add(R::zero(), *sum);
            }
        }
        for &x in rest {
            sums[0] = x.mul_add(R::zero(), sums[0]);
        }
    }
    let sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    let mut good = sum.is_finite().and(problem.kappa.gt(R::zero()));
    for i in 0..s.nc() {
        let cone = Cone::read(problem.contacts, i);
        good = good.and(cone.mu.lt(R::zero()).not());
    }
    good
}
