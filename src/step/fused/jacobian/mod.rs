//! The step's Jacobians in lanes, forward and sparse: after the solve and with the factor of H, ∂δ/∂q = −H⁻¹ ∂r/∂q.
//!
//! With S_k the screw of coordinate k, (ω; m), × the product of motions, ×* that of a motion and a force, and "k carries
//! j" for j below k on a path, everything that q moves is
//!
//! ```text
//! ∂S_j/∂q_k = S_k × S_j where k carries j, else 0        ∂Ī/∂q_k x = S_k ×* Ī x − Ī (S_k × x)
//! ```
//!
//! and the contacts' geometry, whose change with a shape's motion is [`lanes::push`] or, number by number, [`lanes::pull`]. Sums over
//! what k carries are taken once for each k: with V_k = Σ δ_j S_j over the j that k carries, ∂(J δ)/∂q_k = (S_k × V_k) at
//! the witness point, plus ω × ∂p/∂q_k for the point's motion.

mod balance;
mod respond;
mod touch;

use candle_core::{DType, Result, Tensor};

use crate::kinematics::SCREW;
use crate::math::program::{Group, Program, run_parts_on};
use crate::math::rows::{Rows, worlds};

use super::memory::Memory;
use super::paths::Jacobian;
use super::plan::Plan;
use super::stages::{Load, Operands, Store};
use balance::Balance;
use respond::{Respond, StoreForces, StoreStates};
use touch::Touch;

/// The matrices that the program writes: the step's rows, A, B, C, D.
const PARTS: usize = 5;
const A: usize = 1;
const B: usize = 2;
const C: usize = 3;
const D: usize = 4;

/// A step and its Jacobians, as matrices with a row for each world: the step's own numbers, then A, B, C, D row by row.
pub(super) fn step(plan: &Plan, q: &Tensor, u: &Tensor, par: &Tensor) -> Result<[Tensor; PARTS]> {
    let operands =
        Operands { q: Rows::from_tensor(q)?, u: Rows::from_tensor(u)?, par: Rows::from_tensor(par)?, warm: None };
    let b = worlds("linearize", &[&operands.q, &operands.u, &operands.par])?;
    let (nv, nu, n_lambda) = (plan.structure.nv, plan.nu, 3 * plan.structure.nc());
    let widths = [plan.n_row(), nv * nv, nv * nu, n_lambda * nv, n_lambda * nu];
    let mut parts = run_parts_on(plan.set.into(), &Linearize { plan, operands }, b, widths).into_iter().zip(widths);
    let mut next = || match parts.next() {
        Some((data, width)) if q.dtype() == DType::F64 => Tensor::from_vec(data, (b, width), q.device()),
        Some((data, width)) => Tensor::from_vec(data, (b, width), q.device())?.to_dtype(q.dtype()),
        None => candle_core::bail!("linearize: expected {PARTS} matrices"),
    };
    Ok([next()?, next()?, next()?, next()?, next()?])
}

struct Linearize<'a> {
    plan: &'a Plan,
    operands: Operands<'a>,
}

impl Program for Linearize<'_> {
    fn scratch(&self) -> usize {
        self.plan.paths.at.end()
    }

    fn group(&self, group: &mut Group) {
        let Self { plan, operands } = self;
        group.run(&Load { plan, operands });
        plan.prepare(group);
        plan.solve(group, false);
        group.run(&Store(plan));
        plan.factor(group, true);
        group.run(&Touch(plan));
        group.run(&Balance(plan));
        group.run(&Respond(plan));
        group.run(&StoreForces(plan));
        group.run(&StoreStates(plan));
    }
}

impl Plan {
    #[inline(always)]
    fn with_jacobian<'a, R>(&self, memory: &'a mut [R]) -> (Memory<'a, R>, Jacobian<&'a mut [R]>) {
        let (memory, rest) = self.places.memory(memory);
        (memory, self.paths.at.cut(rest).0)
    }

    /// All screws, [`SCREW`] numbers each.
    #[inline(always)]
    fn screws<'a, R>(&self, kin: &'a [R]) -> &'a [R] {
        &kin[self.screw(0)..self.screw(0) + SCREW * self.structure.ns]
    }
}
