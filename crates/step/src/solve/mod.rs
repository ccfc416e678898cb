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
mod contact_state;
mod coulomb;
mod delassus;
mod elimination;
mod friction;
mod frictionless;
mod impact;
pub mod lcp;
mod line_search;
mod linear;
mod memory;
mod newton;
mod op;
mod optimality;
mod problem;
pub mod program;
pub mod qcqp;
mod qp;
mod response;
mod shared;
mod slide;
mod stages;
mod start;
mod status;
mod structure;
mod symmetric;

use std::sync::Arc;

use candle_core::{Result, Tensor};

pub use cone::CONTACT_OPERAND;
pub(crate) use cone::{Cone, Rates};
pub use delassus::Delassus;
pub use frictionless::Frictionless;
pub use impact::{Impact, Method};
pub use memory::INFO;
pub(crate) use memory::{Gradients, Operands, Places, Work};
pub(crate) use op::Start;
pub(crate) use stages::{Balance, Factor, Loosen, Pull, Solve, Untwin};
pub use status::Accuracy;
pub use status::Status;
pub use structure::{ContactPaths, Slip, Structure};

use crate::tensor::operation::Operation;
use crate::tensor::{numbers, part};

/// A batch of contact problems with the same structure, as differentiable tensors.
///
/// Minimise over δ
///
/// ```text
/// ½ δᵀPδ + gᵀδ − (1/κ) Σ_contacts w log(ν_n² − μ²‖ν_t‖²) − (2/κ) Σ_limits log(gap + (±δ))
/// ```
///
/// with ν = J δ + φ n the displacement of B relative to A within the step, taken at each body's own witness point.
#[derive(Clone, Debug)]
pub struct ContactProblem {
    /// Screws (B, 6 ns), see [`crate::kinematics::Frames::screws`].
    pub screws: Tensor,
    /// Contacts (B, 12 nc). For each: the unit normal from A to B, the witness points on A and B (world, m), φ (m), μ,
    /// and the weight w of its barrier (1, or less where the contact fades; 0 leaves it out).
    pub contacts: Tensor,
    /// (1 or B, np + nv + 1 + nl): the entries of P in the structure's order, then g, κ and the gaps to the limits.
    pub problem: Tensor,
}

/// Result of a solve, as tensors.
#[derive(Clone, Debug)]
pub struct Solution {
    /// δ (B, nv). Differentiable.
    pub delta: Tensor,
    /// Contact force on B in world axes (B, nc, 3), N. Differentiable.
    pub force: Tensor,
    /// Force of each joint limit (B, nl), N or N·m. It is ≥ 0 and points away from the limit. Differentiable.
    pub limit_force: Tensor,
    /// The solver's scaled forces (B, 3 nc + nl): a warm start for a problem nearby. No gradient.
    pub warm: Tensor,
    /// The whole result of the operation. No gradient.
    packed: Tensor,
    /// The first column of the report in `packed`.
    info: usize,
}

/// Report on one world's contact solve: status, iterations, residual.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Report {
    /// The outcome of the solve: solved, or why there is no solution.
    pub status: Status,
    /// The number of Newton iterations.
    pub iterations: usize,
    /// Relative residual of the optimality conditions, from 0 to 1. It is the larger of two: that of the force balance,
    /// relative to its largest term, and that of the contacts, relative to their slacks. A slack is a difference of
    /// lengths and has only the digits that these leave. 0 if there is no solution.
    pub residual: f64,
    /// For a world that is [`Status::Unsettled`], how far its answer is from Coulomb's law, m: the largest gap μ‖ν_t‖
    /// that slip opens at a contact by the relaxed law. 0 if the answer follows the scene's own law.
    pub slip_gap: f64,
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
    let (nv, nc, nl) = (structure.nv, structure.nc(), structure.nl());
    let n = structure.n_eta();
    let b = packed.dim(0)?;
    let detached = packed.detach();
    Ok(Solution {
        delta: packed.narrow(1, 0, nv)?,
        force: part(&packed, 1, nv, 3 * nc)?.reshape((b, nc, 3))?,
        limit_force: part(&packed, 1, nv + 3 * nc, nl)?,
        warm: part(&detached, 1, structure.n_results(), n)?,
        info: structure.n_results() + n,
        packed: detached,
    })
}

impl Solution {
    /// Each world's report.
    ///
    /// # Errors
    /// If the numbers cannot be fetched from the device.
    pub fn report(&self) -> Result<Vec<Report>> {
        Report::read(&self.packed.narrow(1, self.info, INFO)?)
    }
}

impl Report {
    /// Reads reports from rows (n, [`INFO`]).
    pub(crate) fn read(info: &Tensor) -> Result<Vec<Self>> {
        Ok(Self::of(&numbers(info)?).collect())
    }

    /// Is the answer that of the relaxed law, in a problem with Coulomb's law?
    pub(crate) fn is_relaxed(&self) -> bool {
        matches!(self.status, Status::IterationLimit | Status::Unsettled | Status::Frictionless)
    }

    /// Writes the report as [`INFO`] numbers.
    pub(crate) fn row(&self) -> [f64; INFO] {
        #[expect(clippy::cast_precision_loss, reason = "a count")]
        [self.status.code(), self.iterations as f64, self.residual, self.slip_gap]
    }

    /// Reads reports from [`INFO`] numbers each: see [`Report::row`].
    pub(crate) fn of(rows: &[f64]) -> impl Iterator<Item = Self> {
        rows.as_chunks().0.iter().map(|&[status, iterations, residual, slip_gap]: &[f64; INFO]| Self {
            status: Status::from_code(status),
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
            iterations: iterations as usize,
            residual,
            slip_gap,
        })
    }
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
