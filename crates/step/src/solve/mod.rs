//! The contact problem, `minimise ½ δᵀPδ + gᵀδ` subject to contacts and limits, and its solvers.
//!
//! [`barrier`] solves the smoothed problem with Coulomb friction, batched and differentiable. [`Frictionless`] is the
//! same problem for one world, in velocities, with hard contact and without friction: as quadratic programs, as [`lcp`]
//! and as [`qcqp`].

mod active_set;
mod adjoint;
mod approach;
mod barrier;
mod cone;
mod cones;
mod contact_state;
mod coulomb;
mod delassus;
mod dry;
pub(crate) mod elimination;
mod forces;
mod friction;
mod frictionless;
mod impact;
mod kinds;
mod law;
pub mod lcp;
mod limit;
mod line_search;
mod linear;
mod log;
mod memory;
mod newton;
mod op;
mod optimality;
mod presence;
mod problem;
pub mod program;
pub mod qcqp;
mod qp;
mod refit;
mod response;
mod result;
mod shared;
mod slide;
mod stages;
mod start;
mod status;
pub(crate) mod structure;
mod symmetric;
mod table;
pub(crate) mod vector;

use std::sync::Arc;

use candle_core::{Result, Tensor};

pub use cone::CONTACT_OPERAND;
pub(crate) use cone::{FrictionCone, MU, Rates, SLIDING, TURNING, WEIGHT};
pub use delassus::Delassus;
pub use frictionless::Frictionless;
pub use impact::{Impact, Method};
pub(crate) use kinds::by_dimension;
pub(crate) use law::Law;
pub use log::Attempt;
pub(crate) use log::{Logged, length as log_length};
pub use memory::INFO;
pub(crate) use memory::{Gradients, Operands, Places, Work};
pub(crate) use op::Start;
pub(crate) use presence::{gone, n_groups, present, touched};
pub(crate) use problem::{nth, put_nth};
pub(crate) use refit::refit;
pub use result::{Report, Solution};
pub(crate) use stages::{Balance, Factor, Pull, Solve};
pub use status::Accuracy;
pub use status::Status;
pub(crate) use structure::{ContactColumns, TABLE_OPERAND};
pub use structure::{ContactPaths, Structure};
pub(crate) use table::Table;

/// Settings of the solve: see [`Params::solver`](fingertip_scene::Params).
pub use fingertip_scene::Settings;

use crate::tensor::operation::Operation;
use crate::tensor::part;

/// A batch of contact problems with the same structure, as differentiable tensors.
///
/// Minimise over δ
///
/// ```text
/// ½ δᵀPδ + gᵀδ − (1/κ) Σ_contacts w log(ν_n² − μ²‖ν_t‖²) − (2/κ) Σ_limits log(gap + (±δ))
///     + (1/κ) Σ_joints (√(1 + a²) − log(1 + √(1 + a²))),   a = κ F δ
///     + (1/κ) Σ_tables (s − log(1 + s)),   s = √(1 + ‖b‖²),   b = κ F (d_x, d_y, c θ)
/// ```
///
/// The last sums are of joints with dry friction F and of bodies on tables, if there are any: their forces are −F
/// a/(1 + √(1 + a²)) and −F b/(1 + s), with d the motion of the body's centre of mass, θ its turn, F the most that
/// friction can be, and c its largest torque over F.
///
/// with ν = J δ + φ n the displacement of B relative to A within the step, taken at each body's own witness point.
/// Where contacts resist turning, ν_n² − μ²‖ν_t‖² is less by γ² θ², θ being the turn of B relative to A about n.
#[derive(Clone, Debug)]
pub struct ContactProblem {
    /// Screws (B, 6 ns), see [`crate::kinematics::Frames::screws`].
    pub screws: Tensor,
    /// Contacts (B, 12 nc). For each: the unit normal from A to B, the witness points on A and B (world, m), φ (m), μ,
    /// and the weight w of its barrier (1, or less where the contact fades; 0 leaves it out). Then, if they
    /// [resist turning](Structure::with_torsion), the coefficient γ of torsional friction of each, m. The gradient by
    /// a normal is for its turning: what it says along the normal, whose length is 1, means nothing.
    pub contacts: Tensor,
    /// (1 or B, np + nv + 1 + [`Structure::n_gaps`]): the entries of P in the structure's order, then g, κ, the gaps to
    /// the limits, the dry friction F of joints, N·m or N, and four numbers of each table: F, N, what turning by 1 rad
    /// moves the centre of mass by along x and y, m, and c, m.
    pub problem: Tensor,
}

/// Solves every world's problem. Gradients of `delta`, `force` and `limit_force` reach every number of the problem, by
/// the implicit function theorem.
///
/// # Errors
/// If a tensor's shape does not fit the structure. Numerical trouble is not an error: see [`Solution::report`].
pub fn barrier(
    structure: &Arc<Structure>,
    problem: &ContactProblem,
    max_iterations: usize,
    warm: Option<&Tensor>,
) -> Result<Solution> {
    barrier_from(structure, problem, max_iterations, Start::forces(warm))
}

/// [`barrier`] from any start: cold, from forces (warm start), or from an answer that is differentiated again.
pub(crate) fn barrier_from(
    structure: &Arc<Structure>,
    problem: &ContactProblem,
    max_iterations: usize,
    start: Start,
) -> Result<Solution> {
    let op = op::BarrierOp { structure: structure.clone(), max_iterations, start };
    let op = Operation::new(op, &structure.kernels);
    let packed = problem.screws.apply_op3(&problem.contacts, &problem.problem, op)?;
    let (nv, nc, nl, n_force) = (structure.nv, structure.nc(), structure.nl(), structure.n_force());
    let n = structure.n_eta();
    let b = packed.dim(0)?;
    let detached = packed.detach();
    Ok(Solution {
        delta: packed.narrow(1, 0, nv)?,
        force: part(&packed, 1, nv, n_force)?.reshape((b, nc, structure.dimension))?,
        limit_force: part(&packed, 1, nv + n_force, nl)?,
        warm: part(&detached, 1, structure.n_results(), n)?,
        info: structure.n_results() + n,
        packed: detached,
    })
}

/// First-order estimate (B, nv) of how far the barrier moves δ away from that of hard contact: δ_∞ − δ ≈ −H⁻¹ Σ Jᵀf. 0
/// in worlds without a solution.
///
/// # Errors
/// If a tensor's shape does not fit the structure.
pub fn smoothing_error(structure: &Structure, problem: &ContactProblem, solution: &Solution) -> Result<Tensor> {
    let ContactProblem { screws, contacts, problem } = problem;
    op::smoothing_error(structure, [screws, contacts, problem], &solution.packed)
}
