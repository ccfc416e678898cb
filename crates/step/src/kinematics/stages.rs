//! The kernels of [`super::frames`] as stages on a world's memory, for the tensor operation, the fused step and the
//! dynamics.

use std::ops::Range;

use fingertip_lanes::lane::Lane;
use fingertip_lanes::layout;
use fingertip_lanes::layout::parts;
use fingertip_lanes::program::Stage;
use fingertip_lanes::rows::Output;

use super::frames::FrameTables;

layout! {
    /// Operands and results of the kinematics.
    pub(crate) struct FrameNumbers {
        q,
        offsets,
        /// Poses of all bodies.
        bodies,
        /// Poses of the frames, then screws.
        result,
    }
}

layout! {
    /// Gradients, those of q and the offsets to be added to.
    pub(crate) struct FrameGradients {
        result,
        wrenches,
        q,
        offsets,
    }
}

/// Poses and screws from q and offsets.
pub(crate) struct PlaceFrames<'a> {
    pub(crate) tables: &'a FrameTables,
    pub(crate) at: &'a FrameNumbers<Range<usize>>,
}

impl Stage for PlaceFrames<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let at = self.at;
        let [q, offsets, bodies, result] = parts(memory, [&at.q, &at.offsets, &at.bodies, &at.result]);
        self.tables.forward(q, offsets, bodies, result);
    }
}

/// After [`PlaceFrames`]: from the gradient of its result to those of q and offsets.
pub(crate) struct PullFrames<'a> {
    pub(crate) tables: &'a FrameTables,
    pub(crate) at: &'a FrameNumbers<Range<usize>>,
    pub(crate) gradients: &'a FrameGradients<Range<usize>>,
}

impl Stage for PullFrames<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let (at, to) = (self.at, self.gradients);
        let [q, bodies, result, grad, wrenches, grad_q, grad_offsets] =
            parts(memory, [&at.q, &at.bodies, &at.result, &to.result, &to.wrenches, &to.q, &to.offsets]);
        self.tables.backward(q, bodies, result, grad, wrenches, grad_q, grad_offsets);
    }
}
