//! The maps of [`super::manifold`] as differentiable tensor operations.

use std::sync::Arc;

use candle_core::{Result, Tensor};

use crate::math::lane::{Lane, Real};
use crate::math::operation::Differentiable;
use crate::math::program::{Group, Program, Stage};
use crate::math::rows::{Output, Rows};

use super::retraction::Retraction;

/// A map of two points or a point and a tangent vector.
pub(crate) trait Map: Copy + Send + Sync + 'static {
    /// For error messages.
    const NAME: &'static str;
    /// The operands' names.
    const OPERANDS: [&'static str; 2];
    /// Columns of the operands and of the result.
    fn widths(retraction: &Retraction) -> [usize; 3];
    /// Fills in the result.
    fn value<R: Real>(retraction: &Retraction, a: &[R], b: &[R], out: &mut [R]);
    /// Fills in the gradients, given that of the result.
    fn pull<R: Real>(retraction: &Retraction, a: &[R], b: &[R], grad: &[R], grad_a: &mut [R], grad_b: &mut [R]);
}

/// A map's tensor operation.
pub(super) struct ManifoldOp<M> {
    pub(super) retraction: Arc<Retraction>,
    pub(super) map: M,
}

struct Forward<'a, M> {
    retraction: &'a Retraction,
    _map: M,
    a: Rows<'a>,
    b: Rows<'a>,
}

impl<M: Map> Program for Forward<'_, M> {
    fn scratch(&self) -> usize {
        M::widths(self.retraction).iter().sum()
    }

    fn group(&self, group: &mut Group) {
        group.run(self);
    }
}

impl<M: Map> Stage for Forward<'_, M> {
    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, scratch: &mut [R], out: &mut Output) {
        let [n_a, n_b, _] = M::widths(self.retraction);
        let (a, rest) = scratch.split_at_mut(n_a);
        let (b, result) = rest.split_at_mut(n_b);
        self.a.load_all(first, 0, a);
        self.b.load_all(first, 0, b);
        M::value(self.retraction, a, b, result);
        out.store_all(first, 0, result);
    }
}

struct Backward<'a, M> {
    forward: Forward<'a, M>,
    grad: Rows<'a>,
}

impl<M: Map> Program for Backward<'_, M> {
    fn scratch(&self) -> usize {
        let [n_a, n_b, n_out] = M::widths(self.forward.retraction);
        2 * (n_a + n_b) + n_out
    }

    fn group(&self, group: &mut Group) {
        group.run(self);
    }
}

impl<M: Map> Stage for Backward<'_, M> {
    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, scratch: &mut [R], out: &mut Output) {
        let [n_a, n_b, n_out] = M::widths(self.forward.retraction);
        let (a, rest) = scratch.split_at_mut(n_a);
        let (b, rest) = rest.split_at_mut(n_b);
        let (grad, grads) = rest.split_at_mut(n_out);
        self.forward.a.load_all(first, 0, a);
        self.forward.b.load_all(first, 0, b);
        self.grad.load_all(first, 0, grad);
        let (grad_a, grad_b) = grads.split_at_mut(n_a);
        M::pull(self.forward.retraction, a, b, grad, grad_a, grad_b);
        out.store_all(first, 0, grads);
    }
}

impl<M: Map> Differentiable<2> for ManifoldOp<M> {
    fn name(&self) -> &'static str {
        M::NAME
    }

    fn operands(&self) -> [(&'static str, usize); 2] {
        let ([a, b], [n_a, n_b, _]) = (M::OPERANDS, M::widths(&self.retraction));
        [(a, n_a), (b, n_b)]
    }

    fn width(&self) -> usize {
        M::widths(&self.retraction)[2]
    }

    fn value<'a>(&'a self, [a, b]: [Rows<'a>; 2], _: usize) -> Result<Box<dyn Program + 'a>> {
        Ok(Box::new(Forward { retraction: &self.retraction, _map: self.map, a, b }))
    }

    fn adjoint<'a>(&'a self, [a, b]: [Rows<'a>; 2], _: &Tensor, grad: Rows<'a>) -> Result<Box<dyn Program + 'a>> {
        Ok(Box::new(Backward { forward: Forward { retraction: &self.retraction, _map: self.map, a, b }, grad }))
    }
}
