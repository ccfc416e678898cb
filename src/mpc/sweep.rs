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
    /// For each period.
    pub(super) feed: Vec<DVector<f64>>,
    pub(super) gain: Vec<DMatrix<f64>>,
    /// The decrease predicted for the full step.
    pub(super) expected: f64,
}

/// With `regularisation` times its largest diagonal entry added to Q_vv's diagonal. None if it is not positive definite
/// even so.
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
