//! The exact cone problem, κ → ∞, by Clarabel.

use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettingsBuilder, DefaultSolver, IPSolver, SolverStatus, SupportedConeT};
use nalgebra::DVector;

use super::oracle::Problem;

/// What Clarabel says.
#[derive(Debug)]
pub enum Answer {
    Solved(DVector<f64>),
    Infeasible,
    Unsure(SolverStatus),
}

/// minimise ½ δᵀPδ + gᵀδ with ν_n ≥ ‖(μ ν_t, γ θ)‖ for every contact and gap ≥ 0 for every limit.
pub fn solve(problem: &Problem, tolerance: f64) -> Answer {
    let n = problem.g.len();
    let (mut rows, mut b, mut cones) = (Vec::<Vec<f64>>::new(), Vec::new(), Vec::new());
    for c in &problem.contacts {
        // Any two tangents.
        let helper = if c.normal.x.abs() < 0.6 { nalgebra::Vector3::x() } else { nalgebra::Vector3::y() };
        let t1 = c.normal.cross(&helper).normalize();
        let t2 = c.normal.cross(&t1);
        let row = |axis: &nalgebra::Vector3<f64>, scale: f64| -> Vec<f64> {
            (0..n).map(|k| -scale * (0..3).map(|i| axis[i] * c.jacobian[(i, k)]).sum::<f64>()).collect()
        };
        rows.push(row(&c.normal, 1.0));
        b.push(c.phi);
        let first = rows.len() - 1;
        if c.mu > 0.0 {
            rows.extend([row(&t1, c.mu), row(&t2, c.mu)]);
        }
        if c.gamma > 0.0 {
            rows.push(c.turn.iter().map(|x| -c.gamma * x).collect());
        }
        b.resize(rows.len(), 0.0);
        cones.push(match rows.len() - first {
            1 => SupportedConeT::NonnegativeConeT(1),
            n => SupportedConeT::SecondOrderConeT(n),
        });
    }
    for &(gap, dof, sign) in &problem.limits {
        rows.push((0..n).map(|k| if k == dof { -sign } else { 0.0 }).collect());
        b.push(gap);
        cones.push(SupportedConeT::NonnegativeConeT(1));
    }
    let p: Vec<Vec<f64>> =
        (0..n).map(|i| (0..n).map(|j| if j >= i { problem.p[(i, j)] } else { 0.0 }).collect()).collect();
    let a = sparse(&rows, n);
    let settings = DefaultSettingsBuilder::default()
        .verbose(false)
        .max_iter(200)
        .tol_gap_abs(tolerance)
        .tol_gap_rel(tolerance)
        .tol_feas(tolerance)
        .build()
        .unwrap();
    let mut solver =
        DefaultSolver::new(&sparse(&p, n), problem.g.as_slice(), &a, &b, &cones, settings).expect("a valid problem");
    solver.solve();
    match solver.solution.status {
        SolverStatus::Solved => Answer::Solved(DVector::from_vec(solver.solution.x.clone())),
        SolverStatus::PrimalInfeasible => Answer::Infeasible,
        other => Answer::Unsure(other),
    }
}

fn sparse(rows: &[Vec<f64>], n: usize) -> CscMatrix<f64> {
    let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for k in 0..n {
        for (i, row) in rows.iter().enumerate().filter(|(_, row)| row[k] != 0.0) {
            indices.push(i);
            values.push(row[k]);
        }
        starts.push(indices.len());
    }
    CscMatrix::new(rows.len(), n, starts, indices, values)
}
