//! The backward sweep of differential dynamic programming.
//!
//! With Q the cost to go from period k to second order in (δx, δv),
//!
//! ```text
//! k = argmin ½ kᵀQ_vv k + Q_vᵀk  in the box         K = −Q_vv⁻¹ Q_vx on the free numbers, 0 on those at a bound
//! ```
//!
//! Of several worlds each has its own Q under one k and K for all; the sums of their Q_v, Q_vv and Q_vx take these
//! places.
//!
//! Sources: Li and Todorov 2004; for the box, Tassa, Mansard and Todorov 2014.

use nalgebra::{DMatrix, DVector};

use super::box_qp::{BoxMinimum, minimise};
use super::quadratic::Quadratic;

/// Result of a backward sweep.
pub struct Sweep {
    /// Open-loop changes k of the command, for each period.
    pub feed: Vec<DVector<f64>>,
    /// Gains K on the state, for each period.
    pub gain: Vec<DMatrix<f64>>,
    /// The decrease predicted for the full step.
    pub expected: f64,
}

/// The sweep's numbers of a world: its cost to go, and Q of the period.
struct Own {
    vx: DVector<f64>,
    vxx: DMatrix<f64>,
    qx: DVector<f64>,
    qv: DVector<f64>,
    qxx: DMatrix<f64>,
    qxv: DMatrix<f64>,
    qvv: DMatrix<f64>,
}

impl Own {
    fn new(nx: usize, nu: usize) -> Self {
        Self {
            vx: DVector::zeros(nx),
            vxx: DMatrix::zeros(nx, nx),
            qx: DVector::zeros(nx),
            qv: DVector::zeros(nu),
            qxx: DMatrix::zeros(nx, nx),
            qxv: DMatrix::zeros(nx, nu),
            qvv: DMatrix::zeros(nu, nu),
        }
    }
}

/// Runs the backward sweep over the worlds of a problem, with `regularisation` times the largest diagonal entry of Q_vv
/// added to its diagonal. None if Q_vv is not positive definite even so.
///
/// All worlds have the same k and K, which follow from the sums of their Q_v, Q_vv and Q_xv. Each has a cost to go of
/// its own, under these.
pub fn backward(worlds: &[Vec<Quadratic>], regularisation: f64) -> Option<Sweep> {
    let worlds: Vec<&[Quadratic]> = worlds.iter().filter(|world| !world.is_empty()).map(Vec::as_slice).collect();
    let first = *worlds.first()?;
    let (nx, nu) = (first.first()?.lx.len(), first.first()?.lv.len());
    let mut all: Vec<Own> = worlds.iter().map(|_| Own::new(nx, nu)).collect();
    let mut f = DMatrix::zeros(nx, nx + nu);
    let (mut by_f, mut w, mut q) = (DMatrix::zeros(nx + nu, nx), f.clone(), DMatrix::zeros(nx + nu, nx + nu));
    let mut sweep = Sweep { feed: Vec::new(), gain: Vec::new(), expected: 0.0 };
    let mut warm = DVector::zeros(nu);
    for k in (0..first.len()).rev() {
        for (own, period) in all.iter_mut().zip(worlds.iter().map(|world| &world[k])) {
            own.vx += &period.next.gradient;
            own.vxx += &period.next.hessian;
            // The product of matrices is blocked, that with a transposed one is not.
            f.columns_mut(0, nx).copy_from(&period.fx);
            f.columns_mut(nx, nu).copy_from(&period.fv);
            f.transpose_to(&mut by_f);
            own.vxx.mul_to(&f, &mut w);
            by_f.mul_to(&w, &mut q);
            own.qx.copy_from(&period.lx);
            own.qx.gemv_tr(1.0, &period.fx, &own.vx, 1.0);
            own.qv.copy_from(&period.lv);
            own.qv.gemv_tr(1.0, &period.fv, &own.vx, 1.0);
            own.qxx.copy_from(&q.view((0, 0), (nx, nx)));
            own.qxx += &period.lxx;
            own.qxv.copy_from(&period.lxv);
            own.qxv += q.view((0, nx), (nx, nu));
            own.qvv.copy_from(&period.lvv);
            own.qvv += q.view((nx, nx), (nu, nu));
        }
        let (own, others) = all.split_first_mut()?;
        let (mut qv, mut qxv, mut qvv) = (own.qv.clone(), own.qxv.clone(), own.qvv.clone());
        for other in &*others {
            qv += &other.qv;
            qxv += &other.qxv;
            qvv += &other.qvv;
        }
        let mut regular = qvv.clone();
        let added = regularisation * qvv.diagonal().max().max(f64::MIN_POSITIVE);
        for j in 0..nu {
            regular[(j, j)] += added;
        }
        // Changes that are possible in every world: no change is.
        let ranges = worlds.iter().map(|world| world[k].range.as_slice());
        let range = |j: usize| {
            let both = |a: (f64, f64), b: (f64, f64)| (a.0.max(b.0), a.1.min(b.1));
            ranges.clone().map(|range| range[j]).reduce(both).unwrap_or_default()
        };
        let range: Vec<(f64, f64)> = (0..nu).map(range).collect();
        let BoxMinimum { x: feed, free, factor } = minimise(&regular, &qv, &range, &warm)?;
        let mut gain = DMatrix::zeros(nu, nx);
        if let Some(factor) = factor {
            let mut by_gain = qxv.select_columns(&free);
            solve_right(factor.l_dirty(), &mut by_gain);
            by_gain.neg_mut();
            for (&j, column) in free.iter().zip(by_gain.column_iter()) {
                gain.row_mut(j).tr_copy_from(&column);
            }
            let is_alone = others.is_empty();
            for own in &mut all {
                // V_xx = Q_xx + Kᵀ Q_vv K + Kᵀ Q_vx + Q_xv K, the symmetric part of Q_xx + (Kᵀ Q_vv + 2 Q_xv) K.
                let own_free = own.qxv.select_columns(&free);
                let left = if is_alone {
                    // Q_vv K = −Q_vx − added K on the free numbers.
                    &by_gain * -added + own_free
                } else {
                    &by_gain * own.qvv.select_columns(&free).select_rows(&free) + own_free * 2.0
                };
                own.qxx.gemm(1.0, &left, &gain.select_rows(&free), 1.0);
            }
        }
        let pushed = &qvv * &feed;
        sweep.expected -= qv.dot(&feed) + 0.5 * feed.dot(&pushed);
        for own in &mut all {
            own.vxx.copy_from(&own.qxx);
            symmetrise(&mut own.vxx);
            own.vx.copy_from(&own.qx);
            own.vx.gemv_tr(1.0, &gain, &(&own.qvv * &feed + &own.qv), 1.0);
            own.vx.gemv(1.0, &own.qxv, &feed, 1.0);
        }
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
