//! ∂δ/∂q and ∂δ/∂u from the right-hand sides, and the matrices to be written.

use crate::kinematics::Retraction;
use crate::solve::{CONTACT_OPERAND, Status, by_dimension, nth};
use fingertip_lanes::lane::{Lane, Mask, Real, copy};
use fingertip_lanes::program::Stage;
use fingertip_lanes::rows::Output;
use fingertip_lanes::vector::{Mat3, dot, vec3_at};

use super::super::super::torsion::is_nowhere;
use super::super::memory::Memory;
use super::super::paths::BLOCK;
use super::super::plan::Plan;

/// The places of the matrices among those that the program writes.
const A: usize = 1;
const B: usize = 2;
const C: usize = 3;
const D: usize = 4;
const GROWTH: usize = 5;

/// Numbers that are checked for finiteness together: several rows of a block.
const TOGETHER: usize = 64;

/// Replaces numbers that are not finite by zero.
#[inline(always)]
fn clean<R: Real>(numbers: &mut [R]) {
    // Sums that do not wait for each other.
    let (mut sums, mut sum) = ([R::zero(); 8], R::zero());
    for numbers in R::parts(numbers.chunks(TOGETHER)) {
        let (eights, rest) = numbers.as_chunks::<8>();
        for eight in eights {
            for k in 0..8 {
                sums[k] = eight[k].mul_add(R::zero(), sums[k]);
            }
        }
        for &x in rest {
            sum = x.mul_add(R::zero(), sum);
        }
    }
    for x in sums {
        sum += x;
    }
    R::when(
        sum.is_finite().not(),
        numbers,
        #[inline(always)]
        |numbers| {
            for numbers in R::parts(numbers.chunks_mut(TOGETHER)) {
                for x in numbers {
                    *x = R::select(x.is_finite(), *x, R::zero());
                }
            }
        },
    );
}

/// ∂δ/∂q and ∂δ/∂u; zeros in worlds without a solution. Writes by how much H's solutions amplify rounding.
pub(super) struct Respond<'a>(pub(super) &'a Plan);

impl Stage for Respond<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, memory: &mut [R], out: &mut Output) {
        let plan = self.0;
        let s = &*plan.structure;
        let (Memory { numbers: m, work }, to) = plan.with_jacobian(memory);
        let own = |place: usize| m.p[s.diagonal[place]];
        out.store_in(GROWTH, first, 0, &[s.factor_h.growth(s.factors(work.h, work.upper), own, work.step)]);
        let keep = work.info[0].lt(R::splat(Status::Infeasible.code()));
        let (x, _) = to.x.as_chunks_mut::<BLOCK>();
        let [down, up] = s.factors(work.h, work.upper);
        for (b, reach) in R::parts(plan.paths.reach.iter().enumerate()) {
            let x = &mut x[b * s.nv..(b + 1) * s.nv];
            for &row in reach {
                for number in &mut x[row] {
                    *number = R::select(keep, *number, R::zero());
                }
            }
            s.factor_h.eliminate_block(down, reach, x);
        }
        // A block of one world is two registers, whose sums would wait for themselves.
        let together = if R::WIDTH == 1 { 2 } else { 1 };
        let mut pairs = x.chunks_exact_mut(together * s.nv.max(1));
        for x in R::parts(&mut pairs) {
            match together {
                1 => s.factor_h.substitute_blocks::<R, BLOCK, 1>(up, x),
                _ => s.factor_h.substitute_blocks::<R, BLOCK, 2>(up, x),
            }
        }
        let last = pairs.into_remainder();
        if !last.is_empty() {
            s.factor_h.substitute_blocks::<R, BLOCK, 1>(up, last);
        }
        clean(to.x);
    }
}

/// Writes C and D, where those of contacts that are nowhere stay zero; or lists them, of contacts with a force alone:
/// world, contact, normal, force, torque where there is one, and a row of C and D for each number of λ.
pub(super) struct StoreForces<'a> {
    pub(super) plan: &'a Plan,
    pub(super) lists: bool,
}

impl Stage for StoreForces<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, memory: &mut [R], out: &mut Output) {
        by_dimension!(self.plan.structure, N => self.store::<R, N>(first, memory, out));
    }
}

impl StoreForces<'_> {
    #[inline(always)]
    fn store<R: Lane, const N: usize>(&self, first: usize, memory: &mut [R], out: &mut Output) {
        let plan = self.plan;
        let (nv, nu) = (plan.structure.nv, plan.nu);
        let width = BLOCK * plan.paths.reach.len();
        let (Memory { numbers: m, .. }, to) = plan.with_jacobian(memory);
        let (x, _) = to.x.as_chunks::<BLOCK>();
        for (contact, of) in plan.structure.contacts.iter().enumerate() {
            if is_nowhere(m.contacts, contact) {
                continue;
            }
            for b in R::parts(0..plan.paths.reach.len()) {
                let x = &x[b * nv..(b + 1) * nv];
                let mut changes = [[R::zero(); BLOCK]; N];
                for (slot, &place) in of.dofs.iter().enumerate() {
                    let by_delta: [R; N] = nth(to.columns, of.first + slot);
                    let x = &x[place];
                    for i in 0..N {
                        for k in 0..BLOCK {
                            changes[i][k] = by_delta[i].mul_add(x[k], changes[i][k]);
                        }
                    }
                }
                for i in 0..N {
                    copy(&mut to.rows[width * i + BLOCK * b..][..BLOCK], &changes[i]);
                }
            }
            for (slot, &place) in of.dofs.iter().enumerate() {
                for i in 0..N {
                    to.rows[width * i + plan.paths.dofs[place]] += to.lambda[N * (of.first + slot) + i];
                }
            }
            clean(to.rows);
            let torque = plan.contacts.torsion.torque(contact).map(|torque| 3 * plan.nc + torque);
            if self.lists {
                let row = |i: usize| &to.rows[width * i..][..nv + nu];
                let (normal, force) = (&m.contacts[CONTACT_OPERAND * contact..][..3], &m.force[3 * contact..][..3]);
                let pressed = force[0].abs() + force[1].abs() + force[2].abs();
                match torque {
                    Some(torque) => {
                        let torque = std::slice::from_ref(&m.force[torque]);
                        let found = [normal, force, torque, row(0), row(1), row(2), row(3)];
                        out.list(first, contact, pressed, found);
                    }
                    None => out.list(first, contact, pressed, [normal, force, row(0), row(1), row(2)]),
                }
                continue;
            }
            for (i, at) in (3 * contact..3 * (contact + 1)).chain(torque).enumerate() {
                let row = &to.rows[width * i..width * (i + 1)];
                out.store_in(C, first, nv * at, &row[..nv]);
                out.store_in(D, first, nu * at, &row[nv..nv + nu]);
            }
        }
    }
}

/// From ∂δ to ∂q₊, and writes A and B. A world whose q is unusable steps from home whatever q is: its A is zero.
pub(super) struct StoreStates<'a>(pub(super) &'a Plan);

impl Stage for StoreStates<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, memory: &mut [R], out: &mut Output) {
        let plan = self.0;
        let (nv, nu, place) = (plan.structure.nv, plan.nu, &plan.structure.place);
        let (Memory { numbers: m, .. }, to) = plan.with_jacobian(memory);
        let usable = m.usable[0];
        for dof in plan.retraction.rotations() {
            let of = [place[dof], place[dof + 1], place[dof + 2]];
            let [wrt_q, wrt_delta]: [Mat3<R>; 2] = Retraction::rotation_differential(vec3_at(m.delta, dof));
            let (x, _) = to.x.as_chunks_mut::<BLOCK>();
            for b in 0..plan.paths.reach.len() {
                let x = &mut x[b * nv..(b + 1) * nv];
                for k in 0..BLOCK {
                    let change = [x[of[0]][k], x[of[1]][k], x[of[2]][k]];
                    for i in 0..3 {
                        x[of[i]][k] = dot(wrt_delta[i], change);
                    }
                }
            }
            for i in 0..3 {
                for k in 0..3 {
                    // The identity is added to all.
                    let one = if i == k { R::one() } else { R::zero() };
                    to.x[plan.paths.entry(dof + k, of[i])] += usable * (wrt_q[i][k] - one);
                }
            }
        }
        for (dof, &row) in place.iter().enumerate() {
            to.x[plan.paths.entry(dof, row)] += usable;
        }
        let (x, _) = to.x.as_chunks::<BLOCK>();
        for (dof, &row) in place.iter().enumerate() {
            for b in 0..plan.paths.reach.len() {
                copy(&mut to.rows[BLOCK * b..BLOCK * (b + 1)], &x[b * nv + row]);
            }
            let (by_q, by_u) = to.rows[..nv + nu].split_at(nv);
            out.store_in(A, first, nv * dof, by_q);
            out.store_in(B, first, nu * dof, by_u);
        }
    }
}
