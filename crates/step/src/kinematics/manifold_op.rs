//! The maps of [`super::manifold`] as differentiable tensor operations.

use std::marker::PhantomData;
use std::sync::Arc;

use crate::tensor::operation::{Function, Kernels, Operation, Rowwise, Signature};
use fingertip_lanes::lane::Lane;

use super::retraction::{Map, Retraction};

/// A map of a model's configurations.
pub(super) struct ManifoldOp<M> {
    retraction: Arc<Retraction>,
    map: PhantomData<M>,
}

impl<M: Map> ManifoldOp<M> {
    /// This map as a differentiable tensor operation.
    pub(super) fn operation(retraction: &Arc<Retraction>, kernels: &Kernels) -> Operation<Rowwise<Self>> {
        Operation::rowwise(Self { retraction: retraction.clone(), map: PhantomData }, kernels)
    }
}

impl<M: Map> Function<2> for ManifoldOp<M> {
    fn signature(&self) -> Signature<2> {
        let ([a, b], [n_a, n_b, width]) = (M::OPERANDS, M::widths(&self.retraction));
        Signature { name: M::NAME, operands: [(a, n_a), (b, n_b)], width }
    }

    #[inline(always)]
    fn value<R: Lane>(&self, [a, b]: [&[R]; 2], _: &mut [R], out: &mut [R]) {
        M::value(&self.retraction, a, b, out);
    }

    #[inline(always)]
    fn vjp<R: Lane>(&self, [a, b]: [&[R]; 2], _: &mut [R], grad: &[R], [to_a, to_b]: [&mut [R]; 2]) {
        M::vjp(&self.retraction, a, b, grad, to_a, to_b);
    }
}
