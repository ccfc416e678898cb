//! The kinematics as one differentiable tensor operation.

use std::ops::Range;
use std::sync::Arc;

use candle_core::{CpuStorage, CustomOp2, Layout, Result, Shape, Tensor, bail};

use crate::math::lane::{Lane, clear};
use crate::math::program::{Group, Program, Stage, run};
use crate::math::rows::{Output, Rows, gradient, storage, worlds};

use super::frames::FrameTables;
use super::stages::{FrameGradients, FrameNumbers, PlaceFrames, PullFrames};

/// (q, offsets) → poses of the frames and screws, all in one row.
pub(super) struct FramesOp(pub(super) Arc<FrameTables>);

struct Forward<'a> {
    tables: &'a FrameTables,
    at: FrameNumbers<Range<usize>>,
    q: Rows<'a>,
    offsets: Rows<'a>,
}

impl<'a> Forward<'a> {
    fn new(tables: &'a FrameTables, q: Rows<'a>, offsets: Rows<'a>) -> Self {
        let sizes = FrameNumbers {
            q: tables.nq(),
            offsets: tables.n_offsets(),
            bodies: tables.n_bodies(),
            result: tables.n_outputs(),
        };
        Self { tables, at: sizes.from(0), q, offsets }
    }

    fn place(&self, group: &mut Group) {
        group.run(&Load(self));
        group.run(&PlaceFrames { tables: self.tables, at: &self.at });
    }
}

impl Program for Forward<'_> {
    fn scratch(&self) -> usize {
        self.at.end()
    }

    fn group(&self, group: &mut Group) {
        self.place(group);
        group.run(&Store(&self.at.result));
    }
}

/// Fills in the operands.
struct Load<'a>(&'a Forward<'a>);

impl Stage for Load<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, memory: &mut [R], _: &mut Output) {
        let to = self.0.at.cut(memory).0;
        self.0.q.load_all(first, 0, to.q);
        self.0.offsets.load_all(first, 0, to.offsets);
    }
}

/// Writes a part of the memory.
struct Store<'a>(&'a Range<usize>);

impl Stage for Store<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, memory: &mut [R], out: &mut Output) {
        out.store_all(first, 0, &memory[self.0.clone()]);
    }
}

struct Backward<'a> {
    forward: Forward<'a>,
    gradients: FrameGradients<Range<usize>>,
    grad: Rows<'a>,
}

impl Program for Backward<'_> {
    fn scratch(&self) -> usize {
        self.gradients.end()
    }

    fn group(&self, group: &mut Group) {
        let Self { forward, gradients, grad } = self;
        forward.place(group);
        group.run(&Seed { gradients, grad });
        group.run(&PullFrames { tables: forward.tables, at: &forward.at, gradients });
        // The gradients of q and the offsets are neighbours.
        group.run(&Store(&(gradients.q.start..gradients.offsets.end)));
    }
}

/// The result's gradient; zeros for the others.
struct Seed<'a> {
    gradients: &'a FrameGradients<Range<usize>>,
    grad: &'a Rows<'a>,
}

impl Stage for Seed<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, memory: &mut [R], _: &mut Output) {
        let to = self.gradients.cut(&mut memory[self.gradients.result.start..]).0;
        self.grad.load_all(first, 0, to.result);
        clear(to.q);
        clear(to.offsets);
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
        let data = run(&Forward::new(&self.0, q, offsets), b, n);
        Ok((storage(data, dtype)?, Shape::from((b, n))))
    }

    fn bwd(&self, q: &Tensor, offsets: &Tensor, _: &Tensor, grad: &Tensor) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let (nq, n_offsets, dtype, b) = (self.0.nq(), self.0.n_offsets(), grad.dtype(), grad.dim(0)?);
        let (want_q, want_offsets) = (q.track_op(), offsets.track_op());
        let (q, offsets, grad) = (Rows::from_tensor(q)?, Rows::from_tensor(offsets)?, Rows::from_tensor(grad)?);
        let (rows_q, rows_offsets) = (q.rows(), offsets.rows());
        let forward = Forward::new(&self.0, q, offsets);
        let sizes =
            FrameGradients { result: self.0.n_outputs(), wrenches: self.0.n_wrenches(), q: nq, offsets: n_offsets };
        let gradients = sizes.from(forward.at.end());
        let n = nq + n_offsets;
        let data = run(&Backward { forward, gradients, grad }, b, n);
        let of = |wanted: bool, columns, rows| wanted.then(|| gradient(&data, n, columns, rows, dtype)).transpose();
        Ok((of(want_q, 0..nq, rows_q)?, of(want_offsets, nq..n, rows_offsets)?))
    }
}
