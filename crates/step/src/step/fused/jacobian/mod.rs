//! The step's Jacobians in lanes, forward and sparse: after the solve and with the factor of H, ∂δ/∂q = −H⁻¹ ∂r/∂q.
//!
//! With S_k the screw of coordinate k, (ω; m), × the product of motions, ×* that of a motion and a force, and "k
//! carries j" for j below k on a path, everything that q moves is
//!
//! ```text
//! ∂S_j/∂q_k = S_k × S_j where k carries j, else 0        ∂Ī/∂q_k x = S_k ×* Ī x − Ī (S_k × x)
//! ```
//!
//! and the contacts' geometry, whose change with a shape's motion is [`lanes::jvp`] or [`lanes::convex::rates`]. Sums
//! over what k carries are taken once for each k: with V_k = Σ δ_j S_j over the j that k carries, ∂(J δ)/∂q_k = (S_k ×
//! V_k) at the witness point, plus ω × ∂p/∂q_k for the point's motion.

mod balance;
mod connections;
mod contact_rates;
mod hanging;
mod respond;
mod rolling;

use candle_core::{DType, Result, Tensor};

use crate::solve::Accuracy;
use crate::tensor::rows::{TensorGuard, worlds};
use fingertip_lanes::program::{Group, Program, run_listing_on};
use fingertip_lanes::rows::next_listed;

use super::super::jacobians::{ForceJacobians, Jacobians};
use super::kernel::Kernel;
use super::memory::Memory;
use super::paths::Jacobian;
use super::plan::Plan;
use super::row::lambda_of;
use super::stages::{Forget, Load, Operands, StoreNear};
use super::too_stiff;
use balance::Balance;
use connections::Connections;
use contact_rates::ContactRates;
use respond::{Respond, StoreForces, StoreStates};
use rolling::Rolling;

/// The matrices that the program writes: the step's rows, A, B, C, D, the growth of H's factor.
pub(super) const PARTS: usize = 6;

/// A step and its Jacobians, as matrices with a row for each world: the step's own numbers, then A, B, C, D row by row,
/// then by how much more than solutions by P those by H amplify rounding.
pub(super) fn step(plan: &Plan, [q, u, par]: [&Tensor; 3], warm: Option<&Tensor>) -> Result<[Tensor; PARTS]> {
    let [q_rows, u_rows, par_rows] = [q, u, par].map(TensorGuard::new);
    let warm = warm.map(TensorGuard::new);
    let warm = warm.as_ref().map(TensorGuard::rows).transpose()?;
    let operands = Operands { q: q_rows.rows()?, u: u_rows.rows()?, par: par_rows.rows()?, warm };
    let b = worlds("linearize", &[&operands.q, &operands.u, &operands.par])?;
    plan.check_warm(operands.warm.as_ref().map(|warm| [warm.rows(), warm.width()]), b)?;
    let mut parts = rows(plan, operands, b)?.into_iter().zip(plan.jacobian_widths(true));
    let mut next = || match parts.next() {
        Some((data, width)) if q.dtype() == DType::F64 => Tensor::from_vec(data, (b, width), q.device()),
        Some((data, width)) => Tensor::from_vec(data, (b, width), q.device())?.to_dtype(q.dtype()),
        None => candle_core::bail!("linearize: expected {PARTS} matrices"),
    };
    Ok([next()?, next()?, next()?, next()?, next()?, next()?])
}

/// [`step`] of plain numbers.
fn rows(plan: &Plan, operands: Operands, worlds: usize) -> Result<[Vec<f64>; PARTS]> {
    let program = Linearize { plan, operands, forces: Some(Forces::Rows), accuracy: Accuracy::Fine };
    let none = plan.no_forces();
    let rows = program.operands.rows(&none);
    let widths = plan.jacobian_widths(true);
    plan.run_kernel(Kernel::WarmJacobians, plan.set.into(), &program, &rows, (worlds, 1), widths)
}

/// A and B of plain numbers and, with `forces`, λ, C and D of contacts with a force; and the worlds that are too stiff.
pub(super) fn listed(
    plan: &Plan,
    operands: Operands,
    worlds: usize,
    (forces, accuracy): (bool, Accuracy),
) -> Result<(Jacobians, Vec<u32>)> {
    // Few contacts are faster as rows.
    if forces && !plan.lists_contacts() {
        let [rows, a, b, c, d, growth] = rows(plan, operands, worlds)?;
        let lambda: Vec<f64> = rows.chunks_exact(plan.n_row()).flat_map(|row| plan.lambda(row)).collect();
        let forces = ForceJacobians::of_all([lambda, c, d], [worlds, plan.nc, plan.n_forces()]);
        return Ok((Jacobians { a, b, forces: Some(forces) }, too_stiff(&growth)));
    }
    // What is recorded has the forces' Jacobians; without them native code would be no faster.
    let program = Linearize { plan, operands, forces: forces.then_some(Forces::Listed), accuracy };
    let ([_, a, b, .., growth], list) = run_listing_on(plan.set.into(), &program, worlds, plan.jacobian_widths(false));
    Ok((Jacobians { a, b, forces: forces.then(|| plan.force_jacobians(&list)) }, too_stiff(&growth)))
}

/// How a program gives C and D.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Forces {
    /// All rows, beside the step's own, which lacks what is far.
    Rows,
    /// Those of contacts with a force.
    Listed,
}

/// A step's Jacobians; C and D where they are asked for.
pub(super) struct Linearize<'a> {
    pub(super) plan: &'a Plan,
    pub(super) operands: Operands<'a>,
    pub(super) forces: Option<Forces>,
    /// Accuracy of the contact solve before the linearisation.
    pub(super) accuracy: Accuracy,
}

impl Program for Linearize<'_> {
    fn scratch(&self) -> usize {
        self.plan.paths.at.end()
    }

    fn group(&self, group: &mut Group) {
        let Self { plan, operands, forces, accuracy } = self;
        let goes_on = group.goes_on();
        group.run(&Load { plan, operands, goes_on });
        if self.mark().is_some() {
            group.run(&Forget { plan, goes_on });
        }
        plan.prepare_near(group);
        plan.solve_to(*accuracy, group, operands.warm.is_some());
        if *forces == Some(Forces::Rows) {
            group.run(&StoreNear(plan));
        }
        plan.factor(group, true);
        group.run(&ContactRates(plan));
        group.run(&Balance(plan));
        if !plan.paths.connections.is_empty() {
            group.run(&Connections(plan));
        }
        if !plan.rolling.is_empty() {
            group.run(&Rolling(plan));
        }
        group.run(&Respond(plan));
        if let Some(forces) = forces {
            group.run(&StoreForces { plan, lists: *forces == Forces::Listed });
        }
        group.run(&StoreStates(plan));
    }

    fn mark(&self) -> Option<u64> {
        self.operands.warm.is_none().then(|| self.plan.mark(&self.operands.par))?
    }
}

impl Plan {
    /// Numbers in a world's row of each matrix.
    pub(super) fn jacobian_widths(&self, forces: bool) -> [usize; PARTS] {
        let (nv, nu) = (self.structure.nv, self.nu);
        let [n_row, n_lambda] = if forces { [self.n_row(), self.n_forces()] } else { [0; 2] };
        [n_row, nv * nv, nv * nu, n_lambda * nv, n_lambda * nu, 1]
    }

    /// What [`StoreForces`] has listed.
    fn force_jacobians(&self, mut list: &[f64]) -> ForceJacobians {
        let n = self.structure.nv + self.nu;
        let mut found = Vec::new();
        while let Some((world, contact, rest)) = next_listed(list) {
            let torque = self.contacts.torsion.torque(contact);
            let (normal, rest) = rest.split_at(3);
            let (force, rest) = rest.split_at(3);
            let (turning, rest) = rest.split_at(usize::from(torque.is_some()));
            let along = lambda_of(normal, force);
            let places = (3 * contact..3 * contact + 3).chain(torque.map(|torque| 3 * self.nc + torque));
            let lambda = along.iter().chain(turning);
            let rows = rest.chunks_exact(n).map(|row| row.split_at(self.structure.nv));
            let rows = places.zip(lambda).zip(rows);
            found.extend(rows.map(|((place, &lambda), (c, d))| ([world, place], lambda, [c, d])));
            list = &rest[(3 + turning.len()) * n..];
        }
        found.sort_unstable_by_key(|(row, ..)| *row);
        ForceJacobians::of_rows(&found)
    }

    #[inline(always)]
    fn with_jacobian<'a, R>(&self, memory: &'a mut [R]) -> (Memory<'a, R>, Jacobian<&'a mut [R]>) {
        let (memory, rest) = self.places.memory(memory);
        (memory, self.paths.at.cut(rest).0)
    }

    /// All screws, [`SCREW`] numbers each.
    #[inline(always)]
    pub(super) fn screws<'a, R>(&self, kin: &'a [R]) -> &'a [R] {
        &kin[self.problem.screws..]
    }
}
