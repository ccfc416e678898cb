//! The algorithms as differentiable tensor operations: (state, parameters, offsets) → one row per world.
//!
//! A state is q and then the quantity's further numbers (v, a, τ); parameters are gravity and the bodies' inertias.
//! Every quantity is a function of the screws and the links' inertias, so that one frame does for all: kinematics,
//! inertias, algorithm; and backwards its adjoint, the inertias' and the kinematics'.

use std::marker::PhantomData;
use std::sync::Arc;

use candle_core::backend::BackendStorage;
use candle_core::{CpuStorage, CustomOp3, Layout, Result, Shape, Tensor, bail};

use crate::math::lane::Real;
use crate::math::op::{Output, RowKernel, Rows, gradient, run_rows, storage, worlds};

use super::links::{Links, Placed, PlacedGradients};

/// Something to compute in every world.
pub(super) trait Quantity: Send + Sync + 'static {
    /// For error messages.
    const NAME: &'static str;
    /// Numbers of the state behind q.
    fn n_inputs(links: &Links) -> usize;
    /// Numbers of the result.
    fn n_outputs(links: &Links) -> usize;
    /// Working memory of [`Quantity::value`].
    fn n_value(links: &Links) -> usize;
    /// Fills in the result.
    fn value<R: Real>(links: &Links, placed: &Placed<R>, x: &[R], out: &mut [R], work: &mut [R]);
}

/// A quantity with an adjoint.
pub(super) trait Differentiable: Quantity {
    /// Working memory of [`Differentiable::pull`].
    fn n_pull(links: &Links) -> usize;
    /// Adds to the gradients, given that of the result.
    fn pull<R: Real>(
        links: &Links,
        placed: &Placed<R>,
        x: &[R],
        grad_out: &[R],
        grad: &mut PlacedGradients<R>,
        grad_x: &mut [R],
        work: &mut [R],
    );
}

/// A quantity's tensor operation.
pub(super) struct DynamicsOp<Q>(pub(super) Arc<Links>, pub(super) PhantomData<Q>);

/// The operands' rows.
pub(super) struct Operands<'a> {
    pub(super) state: Rows<'a>,
    pub(super) parameters: Rows<'a>,
    pub(super) offsets: Rows<'a>,
}

/// Working memory in which a world is placed.
struct World<'a, R> {
    state: &'a mut [R],
    parameters: &'a mut [R],
    bodies: &'a mut [R],
    placed: &'a mut [R],
    inertias: &'a mut [R],
}

impl<'a, R: Real> World<'a, R> {
    fn len(links: &Links, n_inputs: usize) -> usize {
        let frames = &links.frames;
        links.nq
            + n_inputs
            + links.n_parameters()
            + frames.n_offsets()
            + frames.n_bodies()
            + links.n_placed()
            + links.n_inertias()
    }

    /// Reads the operands and runs the kinematics.
    #[inline(always)]
    fn place(
        links: &Links,
        n_inputs: usize,
        operands: &Operands,
        first: usize,
        memory: &'a mut [R],
    ) -> (Self, &'a mut [R]) {
        let frames = &links.frames;
        let (state, memory) = memory.split_at_mut(links.nq + n_inputs);
        let (parameters, memory) = memory.split_at_mut(links.n_parameters());
        let (offsets, memory) = memory.split_at_mut(frames.n_offsets());
        let (bodies, memory) = memory.split_at_mut(frames.n_bodies());
        let (placed, memory) = memory.split_at_mut(links.n_placed());
        let (inertias, memory) = memory.split_at_mut(links.n_inertias());
        operands.state.load_all(first, 0, state);
        operands.parameters.load_all(first, 0, parameters);
        operands.offsets.load_all(first, 0, &mut offsets[..links.n_offsets]);
        // The frames are those of the bodies themselves.
        offsets[links.n_offsets..].fill(R::zero());
        frames.forward(&state[..links.nq], offsets, bodies, placed);
        links.place_inertias(placed, parameters, inertias);
        (Self { state, parameters, bodies, placed, inertias }, memory)
    }

    #[inline(always)]
    fn view(&self, links: &Links) -> Placed<'_, R> {
        let p = &self.parameters;
        Placed { screws: &self.placed[links.screws_from()..], inertias: self.inertias, gravity: [p[0], p[1], p[2]] }
    }
}

struct Forward<'a, Q> {
    links: &'a Links,
    operands: Operands<'a>,
    quantity: PhantomData<Q>,
}

impl<Q: Quantity> RowKernel for Forward<'_, Q> {
    fn scratch(&self) -> usize {
        let links = self.links;
        World::<crate::math::lane::Single<false>>::len(links, Q::n_inputs(links))
            + Q::n_outputs(links)
            + Q::n_value(links)
    }

    #[inline(always)]
    fn run<R: Real>(&self, first: usize, scratch: &mut [R], out: &mut Output) {
        let links = self.links;
        let (world, rest) = World::place(links, Q::n_inputs(links), &self.operands, first, scratch);
        let (result, work) = rest.split_at_mut(Q::n_outputs(links));
        Q::value(links, &world.view(links), &world.state[links.nq..], result, work);
        out.store_all(first, 0, result);
    }
}

struct Backward<'a, Q> {
    forward: Forward<'a, Q>,
    grad: Rows<'a>,
}

impl<Q: Differentiable> Backward<'_, Q> {
    /// Numbers of the gradients: state, parameters, offsets.
    fn widths(&self) -> [usize; 3] {
        let links = self.forward.links;
        [links.nq + Q::n_inputs(links), links.n_parameters(), links.n_offsets]
    }
}

impl<Q: Differentiable> RowKernel for Backward<'_, Q> {
    fn scratch(&self) -> usize {
        let (links, frames) = (self.forward.links, &self.forward.links.frames);
        World::<crate::math::lane::Single<false>>::len(links, Q::n_inputs(links))
            + Q::n_outputs(links)
            + Q::n_pull(links).max(frames.n_wrenches())
            + links.nq
            + Q::n_inputs(links)
            + links.n_parameters()
            + frames.n_offsets()
            + links.n_placed()
            + links.n_inertias()
    }

    #[inline(always)]
    fn run<R: Real>(&self, first: usize, scratch: &mut [R], out: &mut Output) {
        let (links, frames) = (self.forward.links, &self.forward.links.frames);
        let (world, rest) = World::place(links, Q::n_inputs(links), &self.forward.operands, first, scratch);
        let (grad_out, rest) = rest.split_at_mut(Q::n_outputs(links));
        let [n_state, n_parameters, _] = self.widths();
        let (grads, work) =
            rest.split_at_mut(n_state + n_parameters + frames.n_offsets() + links.n_placed() + links.n_inertias());
        grads.fill(R::zero());
        self.grad.load_all(first, 0, grad_out);
        let (grad_state, rest) = grads.split_at_mut(n_state);
        let (grad_parameters, rest) = rest.split_at_mut(n_parameters);
        let (grad_offsets, rest) = rest.split_at_mut(frames.n_offsets());
        let (grad_placed, grad_inertias) = rest.split_at_mut(links.n_placed());
        let (grad_q, grad_x) = grad_state.split_at_mut(links.nq);
        let mut grad = PlacedGradients {
            screws: &mut grad_placed[links.screws_from()..],
            inertias: grad_inertias,
            gravity: [R::zero(); 3],
        };
        Q::pull(links, &world.view(links), &world.state[links.nq..], grad_out, &mut grad, grad_x, work);
        grad_parameters[..3].copy_from_slice(&grad.gravity);
        links.pull_inertias(world.placed, world.parameters, grad_inertias, grad_placed, grad_parameters);
        let q = &world.state[..links.nq];
        let wrenches = &mut work[..frames.n_wrenches()];
        frames.backward(q, world.bodies, world.placed, grad_placed, wrenches, grad_q, grad_offsets);
        out.store_all(first, 0, grad_state);
        out.store_all(first, n_state, grad_parameters);
        out.store_all(first, n_state + n_parameters, &grad_offsets[..links.n_offsets]);
    }
}

/// One row per world of a quantity that needs no gradient.
///
/// # Errors
/// If the operands disagree in the number of worlds.
pub(super) fn evaluate<Q: Quantity>(links: &Links, operands: Operands) -> Result<(Vec<f64>, usize)> {
    let b = worlds(Q::NAME, &[&operands.state, &operands.parameters, &operands.offsets])?;
    let kernel = Forward { links, operands, quantity: PhantomData::<Q> };
    Ok((run_rows(&kernel, b, Q::n_outputs(links)), b))
}

impl<Q: Differentiable> CustomOp3 for DynamicsOp<Q> {
    fn name(&self) -> &'static str {
        Q::NAME
    }

    fn cpu_fwd(
        &self,
        state: &CpuStorage,
        ls: &Layout,
        parameters: &CpuStorage,
        lp: &Layout,
        offsets: &CpuStorage,
        lo: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let links = &*self.0;
        let operands = Operands {
            state: Rows::from_storage(state, ls)?,
            parameters: Rows::from_storage(parameters, lp)?,
            offsets: Rows::from_storage(offsets, lo)?,
        };
        let widths = [operands.state.width(), operands.parameters.width(), operands.offsets.width()];
        let expected = [links.nq + Q::n_inputs(links), links.n_parameters(), links.n_offsets];
        if widths != expected {
            bail!("{}: expected operands with {expected:?} columns, got {widths:?}", Q::NAME);
        }
        let (data, b) = evaluate::<Q>(links, operands)?;
        Ok((storage(data, state.dtype())?, Shape::from((b, Q::n_outputs(links)))))
    }

    fn bwd(
        &self,
        state: &Tensor,
        parameters: &Tensor,
        offsets: &Tensor,
        _: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let (dtype, b) = (grad.dtype(), grad.dim(0)?);
        let wanted = [state.track_op(), parameters.track_op(), offsets.track_op()];
        let operands = Operands {
            state: Rows::from_tensor(state)?,
            parameters: Rows::from_tensor(parameters)?,
            offsets: Rows::from_tensor(offsets)?,
        };
        let rows = [operands.state.rows(), operands.parameters.rows(), operands.offsets.rows()];
        let forward = Forward { links: &self.0, operands, quantity: PhantomData::<Q> };
        let kernel = Backward { forward, grad: Rows::from_tensor(grad)? };
        let widths = kernel.widths();
        let n = widths.iter().sum();
        let data = run_rows(&kernel, b, n);
        let of = |k: usize| {
            let from = widths[..k].iter().sum::<usize>();
            wanted[k].then(|| gradient(&data, n, from..from + widths[k], rows[k], dtype)).transpose()
        };
        Ok((of(0)?, of(1)?, of(2)?))
    }
}
