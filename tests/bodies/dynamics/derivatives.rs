//! Derivative matrices and gradients of every quantity against central differences on the manifold.

use candle_core::{Result, Tensor};
use fingertip::dynamics::{Derivatives, Dynamics};
use fingertip::kinematics::Tree;

use support::robots::{assert_close, dynamics, manifold, states, zoo};
use support::{numbers, row};

/// Step of the differences, and what it leaves: h² times third derivatives, plus rounding over h.
const H: f64 = 1e-5;
const DIFFERENCE: f64 = 1e-7;

/// Central difference of f by the tangent direction k of q: one column.
fn column(tree: &Tree, q: &Tensor, k: usize, f: impl Fn(&Tensor) -> Result<Tensor>) -> Vec<f64> {
    let at = |h: f64| {
        let mut dq = vec![0.0; tree.nv];
        dq[k] = h;
        numbers(&f(&manifold(tree).integrate(q, &row(&dq)).unwrap()).unwrap())
    };
    at(H).iter().zip(at(-H)).map(|(plus, minus)| (plus - minus) / (2.0 * H)).collect()
}

fn shifted(x: &Tensor, k: usize, f: impl Fn(&Tensor) -> Result<Tensor>) -> Vec<f64> {
    let at = |h: f64| {
        let mut dx = vec![0.0; x.dim(1).unwrap()];
        dx[k] = h;
        numbers(&f(&(x + row(&dx)).unwrap()).unwrap())
    };
    at(H).iter().zip(at(-H)).map(|(plus, minus)| (plus - minus) / (2.0 * H)).collect()
}

/// Columns one after the other as a row-major matrix.
fn matrix(columns: &[Vec<f64>]) -> Vec<f64> {
    (0..columns[0].len()).flat_map(|i| columns.iter().map(move |column| column[i])).collect()
}

fn check(
    tree: &Tree,
    f: impl Fn(&Dynamics, &Tensor, &Tensor, &Tensor) -> Result<Tensor>,
    found: impl Fn(&Dynamics, &Tensor, &Tensor, &Tensor) -> Result<Derivatives>,
) {
    let d = dynamics(tree);
    for seed in [3, 40] {
        let [q, v, x] = states(tree, 1, seed);
        let found = found(&d, &q, &v, &x).unwrap();
        assert_close(&numbers(&found.value), &numbers(&f(&d, &q, &v, &x).unwrap()), 1e-13, "value");
        let by = |columns: &dyn Fn(usize) -> Vec<f64>| matrix(&(0..tree.nv).map(columns).collect::<Vec<_>>());
        let by_q = by(&|k| column(tree, &q, k, |q| f(&d, q, &v, &x)));
        let by_v = by(&|k| shifted(&v, k, |v| f(&d, &q, v, &x)));
        let by_x = by(&|k| shifted(&x, k, |x| f(&d, &q, &v, x)));
        assert_close(&numbers(&found.by_q), &by_q, DIFFERENCE, "by q");
        assert_close(&numbers(&found.by_v), &by_v, DIFFERENCE, "by v");
        assert_close(&numbers(&found.by_input), &by_x, DIFFERENCE, "by a or τ");
    }
}

#[test]
fn inverse_dynamics_derivatives_agree_with_differences() {
    for mimic in [false, true] {
        check(&zoo(mimic), Dynamics::inverse_dynamics, Dynamics::inverse_dynamics_derivatives);
    }
}

#[test]
fn forward_dynamics_derivatives_agree_with_differences() {
    for mimic in [false, true] {
        check(&zoo(mimic), Dynamics::forward_dynamics, Dynamics::forward_dynamics_derivatives);
    }
}
