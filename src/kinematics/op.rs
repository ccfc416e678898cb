//! The kernels of [`super::frames`] as one differentiable tensor operation.

use std::sync::Arc;

use candle_core::{CpuStorage, CustomOp2, Layout, Result, Shape, Tensor, bail};

use crate::math::lane::Lane;
use crate::math::op::{Output, RowKernel, Rows, gradient, run_rows, storage, worlds};

use super::frames::FrameTables;

/// (q, offsets) → poses of the frames and screws, all in one row.
pub(super) struct FramesOp(pub(super) Arc<FrameTables>);

struct Forward<'a> {
    tables: &'a FrameTables,
    q: Rows<'a>,
    offsets: Rows<'a>,
}

impl RowKernel for Forward<'_> {
    fn scratch(&self) -> usize {
        let t = self.tables;
        t.nq() + t.n_offsets() + t.n_bodies() + t.n_outputs()
    }

    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, scratch: &mut [R], out: &mut Output) {
        let t = self.tables;
        let (q, rest) = scratch.split_at_mut(t.nq());
        let (offsets, rest) = rest.split_at_mut(t.n_offsets());
        let (bodies, result) = rest.split_at_mut(t.n_bodies());
        self.q.load_all(first, 0, q);
        self.offsets.load_all(first, 0, offsets);
        t.forward(q, offsets, bodies, result);
        out.store_all(first, 0, result);
    }
}

struct Backward<'a> {
    forward: Forward<'a>,
    grad: Rows<'a>,
}

impl RowKernel for Backward<'_> {
    fn scratch(&self) -> usize {
        let t = self.forward.tables;
        self.forward.scratch() + t.n_outputs() + t.n_wrenches() + t.nq() + t.n_offsets()
    }

    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, scratch: &mut [R], out: &mut Output) {
        let t = self.forward.tables;
        let (q, rest) = scratch.split_at_mut(t.nq());
        let (offsets, rest) = rest.split_at_mut(t.n_offsets());
        let (bodies, rest) = rest.split_at_mut(t.n_bodies());
        let (result, rest) = rest.split_at_mut(t.n_outputs());
        let (grad, rest) = rest.split_at_mut(t.n_outputs());
        let (wrenches, grads) = rest.split_at_mut(t.n_wrenches());
        self.forward.q.load_all(first, 0, q);
        self.forward.offsets.load_all(first, 0, offsets);
        self.grad.load_all(first, 0, grad);
        t.forward(q, offsets, bodies, result);
        grads.fill(R::zero());
        let (grad_q, grad_offsets) = grads.split_at_mut(t.nq());
        t.backward(q, bodies, result, grad, wrenches, grad_q, grad_offsets);
        out.store_all(first, 0, grads);
    }
}

impl CustomOp2 for FramesOp {
    fn name(&self) -> &'static str {
        "frames"
    }

    fn cpu_fwd(&self, q: &CpuStorage, lq: &Layout, offsets: &CpuStorage, lo: &Layout) -> Result<(CpuStorage, Shape)> {
        let dtype = candle_core::backend::BackendStorage::dtype(q);
        let (q, offsets) = (Rows::from_storage(q, lq)?, Rows::from_storage(offsets, lo)?);
        if (q.width(), offsets.width()) != (self.0.nq(), self.0.n_offsets()) {
            bail!(
                "frames: expected q (B, {}) and offsets (1 or B, {}), got {:?} and {:?}",
                self.0.nq(),
                self.0.n_offsets(),
                lq.shape(),
                lo.shape()
            );
        }
        let (b, n) = (worlds("frames", &[&q, &offsets])?, self.0.n_outputs());
        let data = run_rows(&Forward { tables: &self.0, q, offsets }, b, n);
        Ok((storage(data, dtype)?, Shape::from((b, n))))
    }

    fn bwd(&self, q: &Tensor, offsets: &Tensor, _: &Tensor, grad: &Tensor) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let (nq, n_offsets, dtype, b) = (self.0.nq(), self.0.n_offsets(), grad.dtype(), grad.dim(0)?);
        let (want_q, want_offsets) = (q.track_op(), offsets.track_op());
        let (q, offsets, grad) = (Rows::from_tensor(q)?, Rows::from_tensor(offsets)?, Rows::from_tensor(grad)?);
        let (rows_q, rows_offsets) = (q.rows(), offsets.rows());
        let kernel = Backward { forward: Forward { tables: &self.0, q, offsets }, grad };
        let n = nq + n_offsets;
        let data = run_rows(&kernel, b, n);
        let of = |wanted: bool, columns, rows| wanted.then(|| gradient(&data, n, columns, rows, dtype)).transpose();
        Ok((of(want_q, 0..nq, rows_q)?, of(want_offsets, nq..n, rows_offsets)?))
    }
}
