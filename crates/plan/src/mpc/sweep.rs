//! The backward sweep of differential dynamic programming.
//!
//! With Q the cost to go from period k to second order in (δx, δv),
//!
//! ```text
//! k = argmin ½ kᵀQ_vv k + Q_vᵀk  in the box         K = −Q_vv⁻¹ Q_vx on the free numbers, 0 on those at a bound
//! ```
//!
//! Sources: Li and Todorov 2004; for the box, Tassa, Mansard and Todorov 2014.

use nalgebra::{DMatrix, DVector};

use super::box_qp::{BoxMinimum, minimise};
use super::quadratic::Quadratic;

/// Result of a backward sweep.
pub(super) struct Sweep {
    /// Open-loop changes k of the command, for each period.
    pub(super) feed: Vec<DVector<f64>>,
    pub(super) gain: Vec<DMatrix<f64>>,
    /// The decrease predicted for the full step.
    pub(super) expected: f64,
}

/// Runs the backward sweep, with `regularisation` times the largest diagonal entry of Q_vv added to its diagonal. None if Q_vv is not
/// positive definite even so.
pub(super) fn backward(quadratics: &[Quadratic], regularisation: f64) -> Option<Sweep> {
    let (nx, nu) = (quadratics.first()?.lx.len(), quadratics.first()?.lv.len());
    let (mut vx, mut vxx) = (DVector::<f64>::zeros(nx), DMatrix::<f64>::zeros(nx, nx));
    let mut f = DMatrix::zeros(nx, nx + nu);
    let (mut by_f, mut w, mut q) = (DMatrix::zeros(nx + nu, nx), f.clone(), DMatrix::zeros(nx + nu, nx + nu));
    let mut sweep = Sweep { feed: Vec::new(), gain: Vec::new(), expected: 0.0 };
    let mut warm = DVector::zeros(nu);
    for period in quadratics.iter().rev() {
        vx += &period.next.gradient;
        vxx += &period.next.hessian;
        // The product of matrices is blocked, that with a transposed one is not.
        f.columns_mut(0, nx).copy_from(&period.fx);
        f.columns_mut(nx, nu).copy_from(&period.fv);
        f.transpose_to(&mut by_f);
        vxx.mul_to(&f, &mut w);
        by_f.mul_to(&w, &mut q);
        let (mut qx, mut qv) = (period.lx.clone(), period.lv.clone());
        qx.gemv_tr(1.0, &period.fx, &vx, 1.0);
        qv.gemv_tr(1.0, &period.fv, &vx, 1.0);
        let (mut qxv, mut qvv) = (period.lxv.clone(), period.lvv.clone());
        qxv += q.view((0, nx), (nx, nu));
        qvv += q.view((nx, nx), (nu, nu));
        let mut regular = qvv.clone();
        let added = regularisation * qvv.diagonal().max().max(f64::MIN_POSITIVE);
        for j in 0..nu {
            regular[(j, j)] += added;
        }
        let BoxMinimum { x: feed, free, factor } = minimise(&regular, &qv, &period.range, &warm)?;
        vxx.copy_from(&q.view((0, 0), (nx, nx)));
        vxx += &period.lxx;
        let mut gain = DMatrix::zeros(nu, nx);
        if let Some(factor) = factor {
            let mut by_gain = qxv.select_columns(&free);
            solve_right(factor.l_dirty(), &mut by_gain);
            by_gain.neg_mut();
            for (&j, column) in free.iter().zip(by_gain.column_iter()) {
                gain.row_mut(j).tr_copy_from(&column);
            }
            // With Q_vv K = −Q_vx − added K on the free numbers, Kᵀ Q_vv K + Kᵀ Q_vx + Q_xv K = (Q_xv − added Kᵀ) K.
            let mut left = by_gain * -added;
            left += qxv.select_columns(&free);
            vxx.gemm(1.0, &left, &gain.select_rows(&free), 1.0);
        }
        symmetrise(&mut vxx);
        let pushed = &qvv * &feed;
        sweep.expected -= qv.dot(&feed) + 0.5 * feed.dot(&pushed);
        vx = qx;
        vx.gemv_tr(1.0, &gain, &(pushed + &qv), 1.0);
        vx.gemv(1.0, &qxv, &feed, 1.0);
        warm.copy_from(&feed);
        sweep.feed.push(feed);
        sweep.gain.push(gain);
    }
    sweep.feed.reverse();
    sweep.gain.reverse();
    (sweep.expected.is_finite()).then_some(sweep)
}

/// X ← X (L Lᵀ)⁻¹, all rows at a time. What is above L's diagonal is not read.
fn solve_right(l: &DMatrix<f64>, x: &mut DMatrix<f64>) {
    let n = l.nrows();
    for i in 0..n {
        for j in 0..i {
            subtract(x, i, j, l[(i, j)]);
        }
        x.column_mut(i).scale_mut(1.0 / l[(i, i)]);
    }
    for i in (0..n).rev() {
        for j in i + 1..n {
            subtract(x, i, j, l[(j, i)]);
        }
        x.column_mut(i).scale_mut(1.0 / l[(i, i)]);
    }
}

/// Subtracts a multiple of column j from column i.
fn subtract(x: &mut DMatrix<f64>, i: usize, j: usize, factor: f64) {
    let (mut to, from) = x.columns_range_pair_mut(i, j);
    to.axpy(-factor, &from, 1.0);
}

/// Replaces a square matrix with its symmetric part.
fn symmetrise(x: &mut DMatrix<f64>) {
    for i in 0..x.nrows() {
        for j in 0..i {
            let mean = 0.5 * (x[(i, j)] + x[(j, i)]);
            (x[(i, j)], x[(j, i)]) = (mean, mean);
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::mpc::cost::Expansion;

    const NX: usize = 4;
    const NU: usize = 2;

    /// The cost of changes v of all commands, from the start of the plan on, written out.
    fn cost(quadratics: &[Quadratic], v: &[DVector<f64>]) -> f64 {
        let mut x = DVector::zeros(NX);
        let mut sum = 0.0;
        for (of, v) in quadratics.iter().zip(v) {
            sum += of.lx.dot(&x) + of.lv.dot(v) + x.dot(&(&of.lxv * v));
            sum += 0.5 * (x.dot(&(&of.lxx * &x)) + v.dot(&(&of.lvv * v)));
            x = &of.fx * &x + &of.fv * v;
            sum += of.next.gradient.dot(&x) + 0.5 * x.dot(&(&of.next.hessian * &x));
        }
        sum
    }

    /// Without bounds and regularisation the plan is the minimiser, and its cost is what the sweep expects.
    #[test]
    fn the_plan_minimises_the_quadratic_model() {
        let mut generator = ChaCha8Rng::seed_from_u64(1);
        let mut random = || generator.random_range(-1.0..1.0);
        for _ in 0..20 {
            let mut matrix = |rows, columns| DMatrix::from_fn(rows, columns, |_, _| random());
            let quadratics: Vec<Quadratic> = (0..5)
                .map(|_| {
                    // The command's cost is convex in x and v together.
                    let root = matrix(NX + NU, NX + NU);
                    let both = &root * root.transpose() + DMatrix::identity(NX + NU, NX + NU) * 0.1;
                    let root = matrix(NX, NX);
                    Quadratic {
                        fx: matrix(NX, NX),
                        fv: matrix(NX, NU),
                        lx: matrix(NX, 1).column(0).into_owned(),
                        lv: matrix(NU, 1).column(0).into_owned(),
                        lxx: both.view((0, 0), (NX, NX)).into_owned(),
                        lxv: both.view((0, NX), (NX, NU)).into_owned(),
                        lvv: both.view((NX, NX), (NU, NU)).into_owned(),
                        next: Expansion {
                            gradient: matrix(NX, 1).column(0).into_owned(),
                            hessian: &root * root.transpose(),
                        },
                        range: vec![(-1e6, 1e6); NU],
                        forces: None,
                    }
                })
                .collect();
            let sweep = backward(&quadratics, 0.0).expect("convex");
            let mut x = DVector::zeros(NX);
            let mut plan = Vec::new();
            for (k, of) in quadratics.iter().enumerate() {
                let v = &sweep.feed[k] + &sweep.gain[k] * &x;
                x = &of.fx * &x + &of.fv * &v;
                plan.push(v);
            }
            let least = cost(&quadratics, &plan);
            assert!((least + sweep.expected).abs() < 1e-10 * sweep.expected, "{least} {}", sweep.expected);
            // Of a quadratic function central differences are its slope up to rounding, at a step of any length.
            for k in 0..plan.len() {
                for j in 0..NU {
                    let at = |step: f64| {
                        let mut moved = plan.clone();
                        moved[k][j] += step;
                        cost(&quadratics, &moved)
                    };
                    let slope = (at(1.0) - at(-1.0)) / 2.0;
                    assert!(slope.abs() < 1e-9 * (at(1.0) - least), "{slope}");
                }
            }
        }
    }
}
