//! Solutions satisfy the QCQP, others do not.

use fingertip::solve::qcqp::Qcqp;
use fingertip::solve::{Frictionless, Method};
use nalgebra::DVector;
use rand::RngExt;

use super::problems::{random, rng};

/// Products of numbers around 1 with the solvers' 1e-12.
const TOLERANCE: f64 = 1e-9;

fn variables(problem: &Frictionless) -> (DVector<f64>, DVector<f64>) {
    let impact = problem.solve(Method::Lemke);
    let dry: Vec<f64> = problem.dry().map(|(dof, _)| impact.dry_impulse[dof]).collect();
    let impulses: Vec<f64> = impact.impulse.iter().copied().chain(dry).collect();
    let all: Vec<f64> = impact.v_next.iter().copied().chain(impulses.iter().copied()).collect();
    (DVector::from_vec(impulses), DVector::from_vec(all))
}

#[test]
fn solutions_pass_and_others_fail() {
    for seed in 0..40 {
        let problem = random(6, 1 + seed as usize % 5, 0, seed % 2 == 0, 300 + seed);
        let (impulses, all) = variables(&problem);
        let forms = [(Qcqp::of_impulses(&problem.delassus().unwrap()), impulses), (Qcqp::of_velocities(&problem), all)];
        let mut rng = rng(seed);
        for (qcqp, x) in forms {
            let violations = qcqp.violations(&x, TOLERANCE).unwrap();
            assert!(violations.is_empty(), "seed {seed}: {violations:?}");
            for i in 0..x.len() {
                let mut other = x.clone();
                other[i] += 1e-3 * if rng.random_bool(0.5) { 1.0 } else { -1.0 };
                let violations = qcqp.violations(&other, TOLERANCE).unwrap();
                assert!(!violations.is_empty(), "seed {seed}: nothing notices a change of x{i}");
                assert!(violations.iter().all(|v| v.value < 0.0));
            }
            assert!(qcqp.violations(&DVector::from_element(x.len(), f64::NAN), TOLERANCE).unwrap().len() > x.len() / 2);
            assert!(qcqp.violations(&DVector::zeros(x.len() + 1), TOLERANCE).is_err());
        }
    }
}

/// Complementarity's Q has eigenvalues of both signs in (q, f): no convex program.
#[test]
fn the_product_is_indefinite() {
    let slope = nalgebra::DMatrix::from_row_slice(1, 2, &[0.6, 0.8]);
    let qcqp = Qcqp::of_gaps(&slope, &DVector::from_element(1, 0.1));
    let eigenvalues = qcqp.inequalities[1].matrix(qcqp.n).symmetric_eigenvalues();
    assert!((eigenvalues.max() - 1.0).abs() < 1e-12 && (eigenvalues.min() + 1.0).abs() < 1e-12);
    // φ = 0.6 q₁ + 0.8 q₂ + 0.1 = 0 and f = 2.
    let on = DVector::from_vec(vec![0.5, -0.5, 2.0]);
    assert!(qcqp.violations(&on, TOLERANCE).unwrap().is_empty());
    let off = DVector::from_vec(vec![0.5, -0.4, 2.0]);
    let names: Vec<String> = qcqp.violations(&off, TOLERANCE).unwrap().into_iter().map(|v| v.name).collect();
    assert_eq!(names, ["-phi0 f0 >= 0"]);
}
