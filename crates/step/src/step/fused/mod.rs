//! The fused form of the steps: one kernel from q to q₊ on SIMD lanes of worlds, with its adjoint and, for the
//! quasi-dynamic step, its Jacobians.
//!
//! The kernels are those that the tensor program composes. A quasi-dynamic step has the same bits in both forms; the
//! second-order step has only this form. It is fast because nothing leaves the lanes' working memory between kinematics
//! and forces. Each stage is compiled once per instruction set.

mod adjoint;
#[cfg(feature = "cuda")]
mod cuda;
mod hold;
mod inertial;
mod jacobian;
mod kernel;
mod log;
mod machine;
mod memory;
#[cfg(feature = "native")]
mod native;
mod paths;
mod plan;
mod processor;
mod program;
mod record;
mod rollout;
mod rollout_op;
mod row;
mod run;
mod second_order;
mod single;
mod stages;
mod statics;
mod step_op;
mod walk;

use std::ops::Range;
use std::sync::Arc;

use candle_core::{Result, Tensor};

use crate::contact::Contacts;
use crate::solve::{Report, Start};
use crate::tensor::{numbers, part};

use super::result::{Linearization, Rollout, Step};
use machine::Machine;

pub(super) use hold::{RolloutRows, hold, jacobians, rollout_adjoint, rollout_rows, step_adjoint, step_rows};
pub(super) use inertial::{JointForces, SecondOrder};
pub use kernel::Kernel;
pub(super) use log::log;
pub(super) use plan::Plan;
pub(super) use second_order::{Assembly, CONTACT, Choices, second_order};
pub(super) use statics::Statics;
pub(super) use walk::Walk;

/// The machine that has a tensor's numbers.
fn machine_of(of: &Tensor) -> &'static dyn Machine {
    match of.device().location() {
        #[cfg(feature = "cuda")]
        candle_core::DeviceLocation::Cuda { .. } => &cuda::Card,
        _ => &processor::Processor,
    }
}

/// One step of every world (q (B, nq), u (B, nu), all parameters (1 or B, n)). Its answer is its rows.
pub(super) fn step(plan: &Arc<Plan>, q: &Tensor, u: &Tensor, par: &Tensor, start: Start) -> Result<Step> {
    read(plan, &rows(plan, [q, u, par], start)?)
}

/// The rows of one step of every world; those of a second-order step if u is v and τ side by side.
pub(super) fn rows(plan: &Arc<Plan>, [q, u, par]: [&Tensor; 3], start: Start) -> Result<Tensor> {
    // Kernels on a GPU want rows of numbers that follow each other; those on the CPU read any.
    let plain = |t: &Tensor| if t.device().is_cpu() { Ok(t.clone()) } else { t.contiguous() };
    let start = match start {
        Start::Forces(warm) => Start::Forces(warm.map(|warm| plain(&warm)).transpose()?),
        Start::Answer(rows) => Start::Answer(rows.force_contiguous()?),
    };
    step_op::step(plan, [&plain(q)?, &plain(u)?, &plain(par)?], start)
}

/// The gradients of a step's operands, of those that are tracked, from its rows and their gradient.
pub(super) fn vjp(plan: &Plan, operands: [&Tensor; 3], rows: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 3]> {
    machine_of(grad).step_adjoint(plan, operands, rows, grad)
}

/// Reads a second-order step from the rows of results: as [`read`], and v₊ (B, nv).
pub(super) fn read_dynamic(plan: &Plan, rows: &Tensor) -> Result<(Step, Tensor)> {
    let at = plan.row().v_next;
    Ok((read(plan, rows)?, part(rows, 1, at.start, at.len())?))
}

/// Limit on how much solving with H amplifies rounding. Beyond it the Jacobians have too few correct digits: contacts
/// are that much stiffer than the bodies that they move. Errors of up to 18 such roundings have been seen.
const TOO_STIFF: f64 = 1e7;

/// The worlds whose contacts are too stiff for forward-mode Jacobians, by what H's factor amplifies in each.
fn too_stiff(growth: &[f64]) -> Vec<u32> {
    (0..).zip(growth).filter(|(_, growth)| **growth > TOO_STIFF).map(|(world, _)| world).collect()
}

/// Worlds whose contacts are too stiff for forward-mode Jacobians; theirs are computed in reverse.
pub(super) struct Stiff {
    pub(super) worlds: Vec<u32>,
    /// The rows of a step of all worlds.
    pub(super) rows: Tensor,
}

/// One step of every world and its Jacobians (q (B, nq), u (B, nu), all parameters (1 or B, n)); no gradients.
pub(super) fn linearize(plan: &Plan, operands: [&Tensor; 3], warm: Option<&Tensor>) -> Result<(Linearization, Stiff)> {
    let [rows, a, b, c, d, growth] = machine_of(operands[0]).jacobians(plan, operands, warm)?;
    let stiff = Stiff { worlds: too_stiff(&numbers(&growth)?), rows: rows.clone() };
    let (worlds, nv, nu, n_lambda) = (rows.dim(0)?, plan.structure.nv, plan.nu, plan.n_forces());
    let row = plan.row();
    let of = |at: Range<usize>| part(&rows, 1, at.start, at.len());
    let linear = Linearization {
        q_next: of(row.q_next)?,
        delta: of(row.delta)?,
        lambda: lambda(plan, &rows)?,
        warm: of(row.warm)?,
        reports: Report::read(&of(row.info)?)?,
        a: a.reshape((worlds, nv, nv))?,
        b: b.reshape((worlds, nv, nu))?,
        c: c.reshape((worlds, n_lambda, nv))?,
        d: d.reshape((worlds, n_lambda, nu))?,
    };
    Ok((linear, stiff))
}

/// λ of all contacts in their frames and the torques, from the rows of a step. Most contacts have no force.
fn lambda(plan: &Plan, rows: &Tensor) -> Result<Tensor> {
    if !rows.device().is_cpu() {
        return read(plan, rows)?.lambda_and_torque();
    }
    let lambda: Vec<f64> = numbers(rows)?.chunks_exact(plan.n_row()).flat_map(|row| plan.lambda(row)).collect();
    Tensor::from_vec(lambda, (rows.dim(0)?, plan.n_forces()), rows.device())?.to_dtype(rows.dtype())
}

/// Reads a [`Step`] from the rows of results.
fn read(plan: &Plan, rows: &Tensor) -> Result<Step> {
    let (row, nc, detached) = (plan.row(), plan.nc, rows.detach());
    let of = |at: Range<usize>| part(rows, 1, at.start, at.len());
    Ok(Step {
        q_next: of(row.q_next)?,
        delta: of(row.delta)?,
        force: of(row.force)?.reshape((rows.dim(0)?, nc, 3))?,
        torque: of(row.torque)?,
        contacts: Contacts::of_row(&of(row.contact.start..row.share.end)?, nc)?,
        limit_force: of(row.limit_force)?,
        reports: Report::read(&detached.narrow(1, row.info.start, row.info.len())?)?,
        warm: part(&detached, 1, row.warm.start, row.warm.len())?,
    })
}

/// T steps of every world (q₀ (B, nq), u (B, T, nu), all parameters (1 or B, n)): one forward sweep, two operations.
pub(super) fn rollout(plan: &Arc<Plan>, q0: &Tensor, u: &Tensor, par: &Tensor) -> Result<Rollout> {
    let (b, n_steps, nu) = u.dims3()?;
    let (nq, nc) = (plan.nq, plan.nc);
    let u = u.contiguous()?.reshape((b, n_steps * nu))?;
    let (states, force, reports) = rollout_op::rollout(plan, n_steps, [&q0.contiguous()?, &u, par])?;
    let force = force.reshape((b, n_steps, plan.n_forces()))?;
    let (n_force, n_torques) = (3 * nc, plan.contacts.torsion.n_torques);
    Ok(Rollout {
        q: states.reshape((b, n_steps + 1, nq))?,
        force: if n_torques == 0 { force.clone() } else { force.narrow(2, 0, n_force)? }
            .reshape((b, n_steps, nc, 3))?,
        torque: part(&force, 2, n_force, n_torques)?,
        reports,
    })
}
