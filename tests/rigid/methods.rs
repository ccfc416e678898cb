//! Primal, dual, Lemke and Gauss–Seidel on random problems: one answer.

use fingertip::solve::lcp::Lcp;
use fingertip::solve::{Frictionless, Method, Status};
use nalgebra::{DMatrix, DVector};
use rand::RngExt;

use super::problems::{METHODS, random, rng};
use support::apart;

/// Where the sweeps of Gauss–Seidel end; the other methods are within 3e-14 of each other.
const SAME: f64 = 1e-11;

#[test]
fn one_answer_whatever_the_method() {
    let mut worst = [0.0_f64; METHODS.len()];
    for seed in 0..120 {
        let (rank, extra) = (1 + seed as usize % 6, seed as usize % 4);
        let problem = random(8, rank, extra, seed % 3 == 0, seed);
        let reference = problem.solve(Method::Lemke);
        assert_eq!(reference.status, Status::Solved, "seed {seed}: {reference:?}");
        for (k, method) in METHODS.into_iter().enumerate() {
            let impact = problem.solve(method);
            assert_eq!(impact.status, Status::Solved, "seed {seed}, {method:?}: residual {:e}", impact.residual);
            let error = apart(impact.v_next.as_slice(), reference.v_next.as_slice());
            worst[k] = worst[k].max(error);
            assert!(error < SAME, "seed {seed}, {method:?}: v₊ off by {error:e}");
            assert!(impact.impulse.iter().all(|&x| x >= 0.0));
        }
    }
    println!("v₊ against Lemke's: {worst:?}");
}

/// The minimiser's own condition, which no solver here uses: no feasible direction decreases the objective.
#[test]
fn nothing_feasible_is_better() {
    for seed in 0..20 {
        let problem = random(6, 4, 2, true, 100 + seed);
        let v = problem.solve(Method::DualQp).v_next;
        let cost = |v: &DVector<f64>| {
            let off = v - problem.v_free();
            0.5 * off.dot(&(problem.mass() * &off)) + problem.dry().map(|(dof, c)| c * v[dof].abs()).sum::<f64>()
        };
        let mut rng = rng(seed);
        let mut tried = 0;
        for _ in 0..2000 {
            let other = &v
                + DVector::from_fn(6, |_, _| 10.0_f64.powf(rng.random_range(-5.0..0.0)) * rng.random_range(-1.0..1.0));
            let feasible = (problem.jacobian() * &other - problem.bounds()).min() >= 0.0;
            if feasible {
                tried += 1;
                assert!(cost(&other) >= cost(&v) - 1e-12, "seed {seed}: {} < {}", cost(&other), cost(&v));
            }
        }
        assert!(tried > 10, "seed {seed}: only {tried} feasible points");
    }
}

/// A cube on four corners, Delassus of rank 3: v₊ is unique, and the corners carry the weight between them.
#[test]
fn a_cube_on_four_corners() {
    let h = 1e-3;
    let mass = DMatrix::from_diagonal(&DVector::from_vec(vec![1.0, 1.0, 1.0, 0.01, 0.01, 0.01]));
    let corners = [(0.1, 0.1), (0.1, -0.1), (-0.1, 0.1), (-0.1, -0.1)];
    let jacobian = DMatrix::from_fn(4, 6, |i, j| [0.0, 0.0, 1.0, corners[i].1, -corners[i].0, 0.0][j]);
    let v_free = DVector::from_vec(vec![0.0, 0.0, -9.81 * h, 0.0, 0.0, 0.0]);
    let problem = Frictionless::new(mass, v_free, jacobian, DVector::zeros(4)).unwrap();
    for method in METHODS {
        let impact = problem.solve(method);
        assert_eq!(impact.status, Status::Solved, "{method:?}");
        assert!(impact.v_next.norm() < 1e-15, "{method:?}: {}", impact.v_next);
        assert!((impact.impulse.sum() - 9.81 * h).abs() < 1e-14, "{method:?}");
    }
}

#[test]
fn what_cannot_be_is_said() {
    let one = |x| DMatrix::from_element(1, 1, x);
    // v ≥ 1 and −v ≥ 1.
    let jacobian = DMatrix::from_column_slice(2, 1, &[1.0, -1.0]);
    let squeezed = Frictionless::new(one(1.0), DVector::zeros(1), jacobian, DVector::from_element(2, 1.0)).unwrap();
    for method in [Method::PrimalQp, Method::DualQp, Method::Lemke] {
        let impact = squeezed.solve(method);
        assert_eq!(impact.status, Status::Infeasible, "{method:?}");
        assert_eq!(impact.v_next[0], 0.0);
    }
    let impact = squeezed.solve(Method::GaussSeidel { sweeps: 1000 });
    assert_eq!((impact.status, impact.iterations), (Status::IterationLimit, 1000));
    assert!(impact.v_next[0].is_finite());
    for mass in [0.0, -1.0, f64::NAN] {
        let bad = Frictionless::new(one(mass), DVector::zeros(1), one(1.0), DVector::zeros(1)).unwrap();
        assert!(METHODS.iter().all(|&method| bad.solve(method).status == Status::BadInput));
    }
    assert!(Frictionless::new(one(1.0), DVector::zeros(2), one(1.0), DVector::zeros(1)).is_err());
    assert!(Lcp::new(one(1.0), DVector::zeros(2)).is_err());
    let nothing = Frictionless::new(one(1.0), DVector::from_element(1, 0.7), DMatrix::zeros(0, 1), DVector::zeros(0));
    assert_eq!(nothing.unwrap().solve(Method::Lemke).v_next[0], 0.7);
}

/// A light block between two walls that are nearly parallel drives a heavy one apart: impulses grow as its mass over
/// the square of the angle, and what is left of them beside each other is the block's velocity. Where that has no
/// digits left the status is not solved.
#[test]
fn solved_is_said_of_velocities() {
    let mut ends = [0; 2];
    for (heavy, angle) in [(1.0, 0.3), (1e3, 1e-2), (1e6, 1e-2), (1e9, 1e-3), (1e12, 1e-3), (1e12, 1e-5)] {
        let [a, b, c, d] = [1.0, 0.7 * angle, -0.9, 1.3 * angle];
        let mass = DMatrix::from_diagonal(&DVector::from_vec(vec![1.0, heavy]));
        let walls = DMatrix::from_row_slice(2, 2, &[a, b, c, d]);
        let problem = Frictionless::new(mass, DVector::zeros(2), walls, DVector::from_element(2, 1.0)).unwrap();
        // Both walls push: J v = 1.
        let exact = [(d - b) / (a * d - b * c), (a - c) / (a * d - b * c)];
        for method in METHODS {
            let impact = problem.solve(method);
            let error = apart(impact.v_next.as_slice(), &exact) / exact[1];
            println!("{heavy:e} kg, {angle:e}: {:?} {:?}, off by {error:e}", method, impact.status);
            let solved = impact.status == Status::Solved;
            ends[usize::from(solved)] += 1;
            assert!(!solved || error < 1e-8, "{heavy:e} kg, {angle:e}, {method:?}: {impact:?}, {exact:?}");
            // Sweeps go to and fro between the walls.
            let sweeps = matches!(method, Method::GaussSeidel { .. });
            assert!(solved || sweeps || heavy > 1e3, "{heavy:e} kg, {angle:e}, {method:?}: {impact:?}");
        }
    }
    assert!(ends.iter().all(|&n| n > 4), "{ends:?}");
}

/// A problem on which Lemke's method with the least-index rule among ties can cycle: many equal ratios.
#[test]
fn degenerate_ties_do_not_cycle() {
    for n in [3, 10, 25] {
        // All ones is positive semidefinite of rank 1, q is the same everywhere: every pivot is a tie.
        let solution =
            Lcp::new(DMatrix::from_element(n, n, 1.0), DVector::from_element(n, -1.0)).unwrap().lemke(10 * n);
        assert_eq!(solution.status, Status::Solved, "n = {n}");
        assert!((solution.z.sum() - 1.0).abs() < 1e-14 && solution.residual < 1e-14);
    }
    // Murty's triangular problem takes 2ⁿ pivots by some rules; solved by z = (…, 0, 1).
    let n = 8;
    let matrix = DMatrix::from_fn(n, n, |i, j| {
        if i == j {
            1.0
        } else if j < i {
            2.0
        } else {
            0.0
        }
    });
    let solution = Lcp::new(matrix, DVector::from_element(n, -1.0)).unwrap().lemke(1000);
    assert_eq!(solution.status, Status::Solved);
    assert!(solution.residual < 1e-12, "{solution:?}");
}
