//! The kinematics as one differentiable tensor operation.

use std::ops::Range;
use std::sync::Arc;

use crate::tensor::operation::{Differentiable, Signature};
use fingertip_lanes::lane::{Lane, clear};
use fingertip_lanes::program::{Group, Program, Stage};
use fingertip_lanes::rows::{Output, Rows};

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

/// Loads the operands into the worlds' memory.
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

/// Loads the result's gradient, and clears the others.
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

impl Differentiable<2> for FramesOp {
    fn signature(&self) -> Signature<2> {
        let operands = [("q", self.0.nq()), ("offsets", self.0.n_offsets())];
        Signature { name: "frames", operands, width: self.0.n_outputs() }
    }

    fn value<'a>(&'a self, [q, offsets]: [Rows<'a>; 2], _: Option<Rows<'a>>) -> Box<dyn Program + 'a> {
        Box::new(Forward::new(&self.0, q, offsets))
    }

    fn adjoint<'a>(&'a self, [q, offsets]: [Rows<'a>; 2], _: Rows<'a>, grad: Rows<'a>) -> Box<dyn Program + 'a> {
        let forward = Forward::new(&self.0, q, offsets);
        let tables = &self.0;
        let sizes = FrameGradients {
            result: tables.n_outputs(),
            wrenches: tables.n_wrenches(),
            q: tables.nq(),
            offsets: tables.n_offsets(),
        };
        let gradients = sizes.from(forward.at.end());
        Box::new(Backward { forward, gradients, grad })
    }
}
