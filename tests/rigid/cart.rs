//! A cart against a wall: `tests/golden/cart.json`, closed forms.

use fingertip::solve::lcp::Lcp;
use fingertip::solve::qcqp::Qcqp;
use fingertip::solve::{Frictionless, Status};
use nalgebra::{DMatrix, DVector};
use serde_json::Value;

use super::problems::METHODS;
use support::{apart, largest, matrix, values, vector};

/// Rounding of 400 steps relative to the largest number, with the force's factor m/h² on a position.
const TOLERANCE: f64 = 1e-12;

fn golden() -> Value {
    serde_json::from_str(include_str!("../golden/cart.json")).unwrap()
}

fn one(x: f64) -> DMatrix<f64> {
    DMatrix::from_element(1, 1, x)
}

/// In positions: q₊ = a + (h²/m) f with a = q + h v + h² u/m.
#[test]
fn trajectories_in_positions() {
    for cart in golden()["carts"].as_array().unwrap() {
        let number = |key: &str| cart[key].as_f64().unwrap();
        let (m, h) = (number("m"), number("h"));
        let rows = matrix(&cart["trajectory"]);
        let largest = rows.column(2).amax();
        let (mut q, mut v) = (number("q0"), number("v0"));
        for k in 0..rows.nrows() {
            let u = cart["u"].as_f64().unwrap_or_else(|| {
                let switch = vector(&cart["u"]);
                if (k as f64) < switch[1] { switch[0] } else { switch[2] }
            });
            let a = q + h * v + h * h * u / m;
            let solution = Lcp::new(one(h * h / m), DVector::from_element(1, a)).unwrap().lemke(10);
            assert_eq!(solution.status, Status::Solved);
            let f = solution.z[0];
            let closed = (-a * m / (h * h)).max(0.0);
            assert!((f - closed).abs() <= TOLERANCE * largest.max(1.0), "step {k}: f {f}, closed form {closed}");
            v += h * (u + f) / m;
            q += h * v;
            for (found, j) in [(q, 0), (v, 1), (f, 2)] {
                let error = (found - rows[(k, j)]).abs();
                assert!(error <= TOLERANCE * largest.max(1.0), "{} step {k}, {j}: {error:e}", cart["name"]);
            }
        }
    }
}

/// In velocities by all methods: impact takes two steps, v⁺ = −q/h, then 0, then f = −u.
#[test]
fn impact_takes_two_steps() {
    let (m, h, u) = (2.0, 0.01, -2.0);
    for method in METHODS {
        let (mut q, mut v) = (0.013, -1.4);
        let mut states = Vec::new();
        for _ in 0..4 {
            let (free, bound) = (v + h * u / m, -q / h);
            let vector = |x| DVector::from_element(1, x);
            let impact = Frictionless::new(one(m), vector(free), one(1.0), vector(bound)).unwrap().solve(method);
            assert_eq!(impact.status, Status::Solved);
            v = impact.v_next[0];
            q += h * v;
            states.push((q, v, impact.impulse[0] / h));
        }
        let expected = [(0.0, -1.3, 22.0), (0.0, 0.0, 262.0), (0.0, 0.0, 2.0), (0.0, 0.0, 2.0)];
        for (found, expected) in states.iter().zip(expected) {
            let error = largest([found.0 - expected.0, found.1 - expected.1]);
            assert!(error < TOLERANCE, "{method:?}: {found:?} {expected:?}");
            assert!((found.2 - expected.2).abs() < TOLERANCE * m / h * 1e2, "{method:?}: {found:?} {expected:?}");
        }
    }
}

#[test]
fn general_problems() {
    for (k, case) in golden()["general"].as_array().unwrap().iter().enumerate() {
        let problem = Lcp::new(matrix(&case["M"]), vector(&case["a"])).unwrap();
        let (f, w) = (vector(&case["f"]), vector(&case["w"]));
        for solution in [problem.lemke(100), problem.gauss_seidel(100_000)] {
            assert_eq!(solution.status, Status::Solved, "case {k}");
            let error = apart(solution.z.as_slice(), f.as_slice()) / f.norm().max(1.0);
            assert!(error < TOLERANCE, "case {k}: f off by {error:e}");
            assert!(apart(solution.w.as_slice(), w.as_slice()) < TOLERANCE, "case {k}");
        }
        // From the mechanics behind it: w is φ after the step, h f the impulse.
        let (mass, slope, h) = (matrix(&case["H"]), matrix(&case["G"]), case["h"].as_f64().unwrap());
        let push = mass.clone().cholesky().unwrap().solve(&vector(&case["tau"])) * h;
        let problem = Frictionless::new(mass, vector(&case["qd"]) + push, slope, -vector(&case["phi"]) / h).unwrap();
        for method in METHODS {
            let impact = problem.solve(method);
            let error = apart(impact.v_next.as_slice(), &values(&case["qd_next"]));
            assert!(error < TOLERANCE, "case {k}, {method:?}: v₊ off by {error:e}");
            assert!((&impact.impulse / h - &f).norm() < 1e-9 * f.norm().max(1.0), "case {k}, {method:?}");
        }
    }
}

#[test]
fn inequalities_as_written() {
    let golden = golden();
    let check = |found: &Qcqp, expected: &Value| {
        let expected = expected.as_array().unwrap();
        assert_eq!(found.inequalities.len(), expected.len());
        for (found_one, expected) in found.inequalities.iter().zip(expected) {
            let close = |a: f64, b: f64| (a - b).abs() < TOLERANCE;
            let (q, r) = (found_one.matrix(found.n), found_one.vector(found.n));
            if let Value::Array(_) = expected["Q"] {
                let wanted = matrix(&expected["Q"]);
                assert!(q.iter().zip(wanted.iter()).all(|(a, b)| close(*a, *b)), "{}", found_one.name);
            }
            assert!(r.iter().zip(vector(&expected["r"]).iter()).all(|(a, b)| close(*a, *b)), "{}", found_one.name);
            assert!(close(found_one.c, expected["c"].as_f64().unwrap()), "{}", found_one.name);
        }
    };
    check(&Qcqp::of_gaps(&one(1.0), &DVector::zeros(1)), &golden["qcqp_static"]);
    // One step in positions: D = M of the problem, offset a.
    let step = &golden["qcqp_step"];
    let (a, m) = (step["a"].as_f64().unwrap(), step["M"].as_f64().unwrap());
    let offset = DVector::from_element(1, a);
    let problem = Frictionless::new(one(1.0 / m), offset, one(1.0), DVector::zeros(1)).unwrap();
    let qcqp = Qcqp::of_impulses(&problem.delassus().unwrap());
    check(&qcqp, &step["ineq"]);
    let solution = DVector::from_element(1, step["solution"].as_f64().unwrap());
    assert!(qcqp.violations(&solution, TOLERANCE).unwrap().is_empty());
}
