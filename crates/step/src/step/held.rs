//! The result of steps under a command that is held, on plain numbers.

use super::sparse::SparseRows;
use crate::solve::Report;

/// Result of [`Quasidynamic::hold`](super::Quasidynamic::hold): world by world, and for each world step by step.
#[derive(Clone, Debug)]
pub struct Held {
    /// q after each step (B, n, nq).
    pub q: Vec<f64>,
    /// The solver's forces of each step (B · n, n_warm), see [`n_warm`](super::Quasidynamic::n_warm): a start for
    /// solves nearby.
    pub warm: SparseRows,
    /// Contact force on B in world axes of each step (B · n, 3 nc), N.
    pub force: SparseRows,
    /// Torque on B about its normal, for each step and each contact with torsional friction (B, n, n_torsional), N·m.
    pub torque: Vec<f64>,
    /// Status, iterations and residual of each step's contact solve (B, n).
    pub reports: Vec<Report>,
}
