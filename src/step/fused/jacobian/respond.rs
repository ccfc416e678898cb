//! ∂δ/∂q and ∂δ/∂u from the right-hand sides, and the matrices to be written.

use crate::kinematics::Retraction;
use crate::math::lane::{Lane, Mask, Real};
use crate::math::program::Stage;
use crate::math::rows::Output;
use crate::math::vector::{Mat3, dot, vec3_at};
use crate::solve::Status;

use super::super::memory::Memory;
use super::super::paths::BLOCK;
use super::super::plan::Plan;

/// The places of the matrices among those that the program writes.
const A: usize = 1;
const B: usize = 2;
const C: usize = 3;
const D: usize = 4;
const GROWTH: usize = 5;

/// Numbers that are looked at together: several rows of a block.
const TOGETHER: usize = 64;

/// Zeros for what is not finite.
#[inline(always)]
fn clean<R: Real>(numbers: &mut [R]) {
    let mut sums = [R::zero(); 4];
    for numbers in R::parts(numbers.chunks(TOGETHER)) {
        let (quads, rest) = numbers.as_chunks::<4>();
        for quad in quads {
            for k in 0..4 {
                sums[k] = quad[k].mul_add(R::zero(), sums[k]);
            }
        }
        for &x in rest {
            sums[0] = x.mul_add(R::zero(), sums[0]);
        }
    }
    let sum = sums[0] + sums[1] + (sums[2] + sums[3]);
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
        for (b, reach) in R::parts(plan.paths.reach.iter().enumerate()) {
            let x = &mut x[b * s.nv..(b + 1) * s.nv];
            for &row in reach {
                for number in &mut x[row] {
                    *number = R::select(keep, *number, R::zero());
                }
            }
            s.factor_h.solve_block(s.factors(work.h, work.upper), reach, x);
        }
        clean(to.x);
    }
}

/// Writes C and D.
pub(super) struct StoreForces<'a>(pub(super) &'a Plan);

impl Stage for StoreForces<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, memory: &mut [R], out: &mut Output) {
        let plan = self.0;
        let (nv, nu) = (plan.structure.nv, plan.nu);
        let width = nv + nu + 1;
        let (_, to) = plan.with_jacobian(memory);
        let (x, _) = to.x.as_chunks::<BLOCK>();
        for (contact, of) in plan.structure.contacts.iter().enumerate() {
            for (b, targets) in R::parts(plan.paths.targets.iter().enumerate()) {
                let x = &x[b * nv..(b + 1) * nv];
                let mut changes = [[R::zero(); BLOCK]; 3];
                for (slot, &place) in of.dofs.iter().enumerate() {
                    let by_delta = vec3_at(to.columns, 3 * (of.first + slot));
                    let x = &x[place];
                    for i in 0..3 {
                        for k in 0..BLOCK {
                            changes[i][k] = by_delta[i].mul_add(x[k], changes[i][k]);
                        }
                    }
                }
                for i in 0..3 {
                    let row = &mut to.rows[width * i..width * (i + 1)];
                    for k in 0..BLOCK {
                        row[targets[k]] = changes[i][k];
                    }
                }
            }
            for (slot, &place) in of.dofs.iter().enumerate() {
                let dof = plan.paths.targets[place / BLOCK][place % BLOCK];
                for i in 0..3 {
                    to.rows[width * i + dof] += to.lambda[3 * (of.first + slot) + i];
                }
            }
            clean(to.rows);
            // Of those that resist turning the torque alone is left: their normal force is among the contacts' own.
            let (numbers, first_row) =
                if contact < plan.nc { (0..3, 3 * contact) } else { (1..2, 2 * plan.nc + contact) };
            for (i, at) in numbers.zip(first_row..) {
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
            for b in 0..plan.paths.targets.len() {
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
                    to.x[plan.paths.entry(of[k], of[i])] += usable * (wrt_q[i][k] - one);
                }
            }
        }
        for k in 0..nv {
            to.x[plan.paths.entry(k, k)] += usable;
        }
        let (x, _) = to.x.as_chunks::<BLOCK>();
        for (dof, &row) in place.iter().enumerate() {
            for (b, targets) in plan.paths.targets.iter().enumerate() {
                let x = &x[b * nv + row];
                for k in 0..BLOCK {
                    to.rows[targets[k]] = x[k];
                }
            }
            let (by_q, by_u) = to.rows[..nv + nu].split_at(nv);
            out.store_in(A, first, nv * dof, by_q);
            out.store_in(B, first, nu * dof, by_u);
        }
    }
}
