//! Quadratic programs with linear and second-order cone constraints, by Clarabel's interior-point method.

use super::status::Accuracy;
use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettings, DefaultSolver, IPSolver, NonnegativeConeT, SecondOrderConeT, SolverStatus, ZeroConeT,
};
use nalgebra::{DMatrix, DVector};

/// A quadratic program with cones: min ½ xᵀPx + qᵀx subject to A x = b in the first rows, A x ≤ b in the next, and
/// ‖s_t‖ ≤ s_1, s = b − A x, for each [`CONE`] of the last ones.
#[derive(Clone)]
pub struct Program {
    /// P (n, n), symmetric and positive semidefinite.
    pub p: DMatrix<f64>,
    /// q (n).
    pub q: DVector<f64>,
    /// A (m, n).
    pub a: DMatrix<f64>,
    /// b (m).
    pub b: DVector<f64>,
    /// Number of rows of A, the first ones, that hold with equality.
    pub equal: usize,
    /// Number of second-order cones, which take the last rows of A.
    pub cones: usize,
    /// The accuracy that is asked of the solution.
    pub accuracy: Accuracy,
}

/// Tolerance on the duality gap and on feasibility for an accuracy. For [`Accuracy::Fine`] linear systems are also
/// refined.
fn tolerance(accuracy: Accuracy) -> f64 {
    match accuracy {
        Accuracy::Rough => 1e-5,
        Accuracy::Fine => 1e-12,
    }
}

/// Rows of A that a second-order cone takes.
pub const CONE: usize = 4;

/// Result of the interior-point method. The numbers may not be finite where there is no optimum.
pub struct Optimum {
    /// x (n).
    pub x: Vec<f64>,
    /// Multipliers of the rows of A.
    pub z: Vec<f64>,
    /// The number of interior-point iterations.
    pub iterations: usize,
    /// Proof that there is no optimum, if the method found one.
    pub none: Option<NoOptimum>,
}

/// Why a program has no optimum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoOptimum {
    /// No x satisfies the constraints.
    Infeasible,
    /// The objective has no lower bound.
    Unbounded,
}

impl Program {
    /// The optimum; none if the program cannot be set up or the method breaks down.
    pub fn solve(&self) -> Option<Optimum> {
        let numbers = [self.p.as_slice(), self.q.as_slice(), self.a.as_slice(), self.b.as_slice()];
        if !numbers.into_iter().flatten().all(|x| x.is_finite()) {
            return None;
        }
        let tolerance = tolerance(self.accuracy);
        let settings = DefaultSettings {
            verbose: false,
            max_threads: 1,
            tol_gap_abs: tolerance,
            tol_gap_rel: tolerance,
            tol_feas: tolerance,
            iterative_refinement_enable: self.accuracy == Accuracy::Fine,
            ..DefaultSettings::default()
        };
        let linear = self.b.len() - self.equal - CONE * self.cones;
        let linear = [(ZeroConeT as fn(usize) -> _, self.equal), (NonnegativeConeT, linear)];
        let linear = linear.into_iter().filter(|cone| cone.1 > 0).map(|(cone, rows)| cone(rows));
        let cones: Vec<_> = linear.chain((0..self.cones).map(|_| SecondOrderConeT(CONE))).collect();
        let (p, a) = (sparse(&self.p, true), sparse(&self.a, false));
        let mut solver = DefaultSolver::new(&p, self.q.as_slice(), &a, self.b.as_slice(), &cones, settings).ok()?;
        solver.solve();
        let solution = solver.solution;
        let none = match solution.status {
            SolverStatus::PrimalInfeasible | SolverStatus::AlmostPrimalInfeasible => Some(NoOptimum::Infeasible),
            SolverStatus::DualInfeasible | SolverStatus::AlmostDualInfeasible => Some(NoOptimum::Unbounded),
            _ => None,
        };
        let finite = solution.x.iter().chain(&solution.z).all(|x| x.is_finite());
        let iterations = solution.iterations as usize;
        (finite || none.is_some()).then_some(Optimum { x: solution.x, z: solution.z, iterations, none })
    }
}

/// A matrix, or its upper triangle, in compressed sparse columns.
fn sparse(matrix: &DMatrix<f64>, upper: bool) -> CscMatrix<f64> {
    let (m, n) = matrix.shape();
    let (mut starts, mut rows, mut values) = (vec![0], Vec::new(), Vec::new());
    for j in 0..n {
        for i in 0..if upper { j + 1 } else { m } {
            let value = matrix[(i, j)];
            // The diagonal stays even where it is zero.
            if value != 0.0 || (upper && i == j) {
                rows.push(i);
                values.push(value);
            }
        }
        starts.push(rows.len());
    }
    CscMatrix::new(m, n, starts, rows, values)
}
