//! Parts of a contact problem that the iteration and the adjoint share: the Jacobian J̃, products with it, and H = P +
//! J̃ᵀWJ̃.

use fingertip_lanes::lane::{Mask, Real, Zip, clear, copy, inlined, when};
use fingertip_lanes::vector::cross;

use super::cone::{CONTACT_OPERAND, FrictionCone, MU};
use super::friction::Answer;
use super::kinds::cones;
use super::memory::{Problem, Work};
use super::presence::{listed, present};
use super::shared;
use super::structure::{ContactColumns, Entry, Structure};
use super::vector::{add, axpy, dot, sub, zero};

/// The i-th N numbers of a row.
#[inline(always)]
#[expect(clippy::manual_memcpy, reason = "numbers stay in registers")]
pub(crate) fn nth<R: Real, const N: usize>(from: &[R], i: usize) -> [R; N] {
    // One check of bounds in place of N.
    let from = &from[N * i..N * (i + 1)];
    let mut numbers = zero();
    for k in 0..N {
        numbers[k] = from[k];
    }
    numbers
}

/// Writes the i-th N numbers of a row.
#[inline(always)]
pub(crate) fn put_nth<R: Real, const N: usize>(to: &mut [R], i: usize, v: [R; N]) {
    copy(&mut to[N * i..N * (i + 1)], &v);
}

/// What a contact sees of the motion of one screw, at the witness point on the screw's side: see
/// [`FrictionCone::seen`]. The caller subtracts A's.
#[inline(always)]
pub(super) fn seen<R: Real, const N: usize>(screws: &[R], cone: &FrictionCone<R, N>, screw: usize, b: bool) -> [R; N] {
    let (omega, m) = (nth(screws, 2 * screw), nth(screws, 2 * screw + 1));
    cone.seen(add(m, cross(omega, if b { cone.point_b } else { cone.point_a })), omega)
}

/// The columns of J̃: M times the contact's motion by each screw, summed over the screws of a slot. Nothing reads those
/// of a contact without weight.
#[inline(always)]
pub(crate) fn fill_columns<R: Real, const N: usize>(
    s: &Structure,
    problem: &Problem<R>,
    list: &[R],
    columns: &mut [[R; N]],
) {
    for (i, contact) in listed(list, s.contacts.iter().enumerate()) {
        let cone: FrictionCone<R, N> = problem.cone(i);
        let own = &mut columns[contact.first..contact.first + contact.dofs.len()];
        when!(cone.is_there(), own.as_flattened_mut(), |own| {
            for same_slot in contact.columns.chunk_by(|x, y| x.1 == y.1) {
                let mut sum = zero();
                for &(screw, _, b) in same_slot {
                    let seen = seen(problem.screws, &cone, screw, b);
                    sum = if b { add(sum, seen) } else { sub(sum, seen) };
                }
                put_nth(own, same_slot[0].1, cone.scaled(sum));
            }
        });
    }
}

/// J̃ x for a contact.
#[inline(always)]
pub(crate) fn along<R: Real, const N: usize>(contact: &ContactColumns, columns: &[[R; N]], x: &[R]) -> [R; N] {
    with_private(contact, columns, along_shared(contact, columns, x), x)
}

/// J̃ x for a contact, given J̃_s x_s.
#[inline(always)]
pub(super) fn with_private<R: Real, const N: usize>(
    contact: &ContactColumns,
    columns: &[[R; N]],
    mut sum: [R; N],
    x: &[R],
) -> [R; N] {
    for (&column, &x) in contact.private_part(columns).iter().zip_inline(&x[contact.private.clone()]) {
        sum = axpy(x, column, sum);
    }
    sum
}

/// J̃_s x_s for a contact.
#[inline(always)]
pub(crate) fn along_shared<R: Real, const N: usize>(contact: &ContactColumns, columns: &[[R; N]], x: &[R]) -> [R; N] {
    let columns = contact.shared_part(columns);
    let mut sum = zero();
    for (&column, &x) in columns.iter().zip_inline(&x[..contact.n_leading]) {
        sum = axpy(x, column, sum);
    }
    for (&column, &dof) in columns.iter().zip_inline(contact.scattered()) {
        sum = axpy(x[dof], column, sum);
    }
    sum
}

/// x += J̃ᵀ force of a contact.
#[inline(always)]
pub(crate) fn add_force<R: Real, const N: usize>(
    contact: &ContactColumns,
    columns: &[[R; N]],
    force: [R; N],
    x: &mut [R],
) {
    let shared = contact.shared_part(columns);
    for (&column, x) in shared.iter().zip_inline(&mut x[..contact.n_leading]) {
        *x += dot(column, force);
    }
    for (&column, &dof) in shared.iter().zip_inline(contact.scattered()) {
        x[dof] += dot(column, force);
    }
    for (&column, x) in contact.private_part(columns).iter().zip_inline(&mut x[contact.private.clone()]) {
        *x += dot(column, force);
    }
}

/// The factor of P, given 1 over its diagonal.
#[inline(always)]
pub(crate) fn factor_p<R: Real>(s: &Structure, p: &[R], pivot: &[R], factor: &mut [R]) {
    clear(factor);
    for (entry, &value) in s.entries.iter().zip_inline(p) {
        factor[entry.in_p] = value;
    }
    s.factor_p.factor_leading(factor, s.n_shared);
    // Private rows couple to nothing: one entry each, at the end.
    let first = s.factor_p.n_leading_entries(s.n_shared);
    copy(&mut factor[first..], &pivot[s.n_shared..]);
}

/// x ← P⁻¹ x.
#[inline(always)]
pub(crate) fn solve_p<R: Real>(s: &Structure, factor: &[R], x: &mut [R]) {
    s.factor_p.solve_leading([factor, factor], x, s.n_shared);
    let first = s.factor_p.n_leading_entries(s.n_shared);
    for (x, &inverse) in x[s.n_shared..].iter_mut().zip_inline(&factor[first..]) {
        *x = *x * inverse;
    }
}

/// 1 over P's diagonal.
#[inline(always)]
pub(crate) fn fill_pivots<R: Real>(s: &Structure, p: &[R], pivot: &mut [R]) {
    for (pivot, &entry) in pivot.iter_mut().zip_inline(&s.diagonal) {
        *pivot = R::one() / p[entry];
    }
}

/// free ← P⁻¹ (J̃ᵀη − g).
#[inline(always)]
pub(crate) fn balance<R: Real, const N: usize>(s: &Structure, problem: &Problem<R>, work: &mut Work<&mut [R]>) {
    let columns = work.columns.as_chunks::<N>().0;
    for (x, &g) in work.free.iter_mut().zip_inline(problem.g) {
        *x = R::zero() - g;
    }
    for (i, contact) in listed(work.list, s.contacts.iter().enumerate()) {
        when!(problem.cone::<N>(i).is_there(), &mut *work.free, |free| {
            add_force(contact, columns, nth(work.eta, i), free);
        });
    }
    cones!(s, problem.gaps, cone => { cone.on.push(cone.own(&work.eta[s.n_force()..]), work.free) });
    solve_p(s, work.factor_p, work.free);
}

/// h ← P + J̃ᵀWJ̃ at η and δ.
#[inline(always)]
pub(crate) fn fill_h<R: Real, const N: usize>(
    s: &Structure,
    problem: &Problem<R>,
    (list, columns): (&[R], &[[R; N]]),
    (eta, delta): (&[R], &[R]),
    h: &mut [R],
) {
    clear(h);
    for (entry, &value) in s.entries.iter().zip_inline(problem.p) {
        h[entry.in_h] = value;
    }
    for (i, contact) in listed(list, s.contacts.iter().enumerate()) {
        let cone = problem.cone::<N>(i);
        when!(cone.is_there(), h, |h| {
            let weights = cone.weights(cone.kappa(problem.kappa), nth(eta, i));
            let weighed = inlined(
                #[inline(always)]
                |column| weights.times(column),
            );
            shared::add_products(contact.part(columns), weighed, &contact.entries, h);
        });
    }
    stiffen(s, problem, (eta, delta), h);
}

/// h += what the forces η of limits and those of dry friction and tables at δ answer to a displacement.
#[inline(always)]
fn stiffen<R: Real>(s: &Structure, problem: &Problem<R>, (eta, delta): (&[R], &[R]), h: &mut [R]) {
    cones!(s, problem.gaps, cone => {
        let weight = cone.weight_at(problem.kappa, cone.own(&eta[s.n_force()..]), cone.at(delta));
        cone.on.stiffen(s, weight, h, None);
    });
}

/// P + J̃ᵀW̃J̃ at η and δ, which is not symmetric: the lower triangle and the upper one, in the same places. Worlds in
/// the mask follow the relaxed law.
#[inline(always)]
pub(super) fn fill_pair<R: Real, const N: usize>(
    s: &Structure,
    problem: &Problem<R>,
    (list, columns): (&[R], &[[R; N]]),
    (eta, delta, relaxed): (&[R], &[R], R::Mask),
    (lower, upper): (&mut [R], &mut [R]),
) {
    clear(lower);
    for (entry, &value) in s.entries.iter().zip_inline(problem.p) {
        lower[entry.in_h] = value;
    }
    stiffen(s, problem, (eta, delta), lower);
    copy(upper, lower);
    for (i, contact) in listed(list, s.contacts.iter().enumerate()) {
        let cone = problem.cone::<N>(i);
        when!(cone.is_there(), &mut (&mut *lower, &mut *upper), |(lower, upper)| {
            let Answer { root, up, down } = s.answer(&cone, cone.kappa(problem.kappa), nth(eta, i), relaxed);
            let columns = contact.part(columns);
            let mut entries = contact.entries.iter();
            for (a, &column) in columns.iter().enumerate() {
                let weighed = root.times(root.times(column));
                let (row, along) = (dot(up, column), dot(down, column));
                for (&other, &entry) in columns[..=a].iter().zip_inline(entries.by_ref()) {
                    let both = dot(weighed, other);
                    lower[entry] += row.mul_add(dot(down, other), both);
                    upper[entry] += along.mul_add(dot(up, other), both);
                }
            }
        });
    }
}

/// y += P x.
#[inline(always)]
pub(crate) fn times_p<R: Real>(s: &Structure, p: &[R], x: &[R], y: &mut [R]) {
    for ((y, &x), &entry) in y.iter_mut().zip_inline(x).zip_inline(&s.diagonal) {
        *y = p[entry].mul_add(x, *y);
    }
    for &k in &s.couplings {
        let (Entry { row, column, .. }, value) = (s.entries[k], p[k]);
        y[row] = value.mul_add(x[column], y[row]);
        y[column] = value.mul_add(x[row], y[column]);
    }
}

/// Worlds whose numbers are finite and in range.
#[inline(always)]
pub(crate) fn acceptable<R: Real>(s: &Structure, problem: &Problem<R>) -> R::Mask {
    // Four sums do not wait for each other.
    let mut sums = [problem.kappa.doubt(R::zero()); 4];
    let mut good = problem.kappa.gt(R::zero());
    for contact in present(s, problem.near, problem.contacts.as_chunks::<CONTACT_OPERAND>().0) {
        for four in contact.as_chunks::<4>().0 {
            for (sum, &x) in sums.iter_mut().zip_inline(four) {
                *sum = x.doubt(*sum);
            }
        }
        good = good.and(contact[MU].lt(R::zero()).not());
    }
    for part in [problem.screws, problem.p, problem.g, problem.gaps] {
        let (fours, rest) = part.as_chunks::<4>();
        for fours in R::parts(fours.chunks(6)) {
            for four in fours {
                for (sum, &x) in sums.iter_mut().zip_inline(four) {
                    *sum = x.doubt(*sum);
                }
            }
        }
        for &x in rest {
            sums[0] = x.doubt(sums[0]);
        }
    }
    for &gamma in present(s, problem.near, problem.gammas) {
        good = good.and(gamma.lt(R::zero()).not());
        sums[0] = gamma.doubt(sums[0]);
    }
    let sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    good = good.and(sum.is_finite());
    cones!(s, problem.gaps, cone => { good = good.and(cone.is_valid()) });
    good
}
