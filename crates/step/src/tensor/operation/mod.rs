//! Programs with an adjoint as differentiable tensor operations.

#[cfg(feature = "cuda")]
mod device;
mod function;
mod kernels;

#[cfg(feature = "cuda")]
use candle_core::CudaStorage;
use candle_core::backend::BackendStorage;
use candle_core::{CpuStorage, CustomOp1, CustomOp2, CustomOp3, Layout, Result, Shape, Tensor};

use fingertip_lanes::lane::{Lane, clear};
use fingertip_lanes::program::{Group, Program, Stage, run_on};
use fingertip_lanes::rows::{Output, Rows};

use super::rows::{TensorGuard, from_storage, gradient, storage, worlds};

pub(crate) use function::{Differentiable, Function, Given, Signature};
use function::{check, check_given, each};
pub(crate) use kernels::Kernels;

/// Makes a [`Function`] of one kernel [`Differentiable`].
pub(crate) struct Rowwise<F>(pub(crate) F);

/// The program of a function's kernel on its operands. With the result's gradient it is the adjoint's program.
struct Run<'a, F, const N: usize> {
    function: &'a F,
    operands: [Rows<'a>; N],
    grad: Option<Rows<'a>>,
}

/// Splits memory into parts of these widths, one after the other, and the rest.
#[inline(always)]
fn cut<R, const N: usize>(mut memory: &mut [R], widths: [usize; N]) -> ([&mut [R]; N], &mut [R]) {
    let parts = widths.map(|width| {
        let (part, rest) = std::mem::take(&mut memory).split_at_mut(width);
        memory = rest;
        part
    });
    (parts, memory)
}

impl<F: Function<N>, const N: usize> Program for Run<'_, F, N> {
    fn scratch(&self) -> usize {
        let operands: usize = self.operands.iter().map(Rows::width).sum();
        let gradients = if self.grad.is_some() { operands } else { 0 };
        operands + gradients + self.function.signature().width + self.function.scratch()
    }

    fn group(&self, group: &mut Group) {
        match &self.grad {
            None => group.run(&Value(self)),
            Some(grad) => group.run(&Pull(self, grad)),
        }
    }
}

struct Value<'a, F, const N: usize>(&'a Run<'a, F, N>);

impl<F: Function<N>, const N: usize> Stage for Value<'_, F, N> {
    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, memory: &mut [R], out: &mut Output) {
        let Run { function, operands: rows, .. } = self.0;
        let (operands, rest) = cut(memory, rows.each_ref().map(Rows::width));
        let (result, scratch) = rest.split_at_mut(function.signature().width);
        for k in 0..N {
            rows[k].load_all(first, 0, operands[k]);
        }
        function.value(operands.map(|operand| &*operand), scratch, result);
        out.store_all(first, 0, result);
    }
}

struct Pull<'a, F, const N: usize>(&'a Run<'a, F, N>, &'a Rows<'a>);

impl<F: Function<N>, const N: usize> Stage for Pull<'_, F, N> {
    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, memory: &mut [R], out: &mut Output) {
        let Self(Run { function, operands: rows, .. }, of_result) = self;
        let widths = rows.each_ref().map(Rows::width);
        let (operands, rest) = cut(memory, widths);
        let (grad, rest) = rest.split_at_mut(function.signature().width);
        let (gradients, scratch) = rest.split_at_mut(widths.iter().sum());
        for k in 0..N {
            rows[k].load_all(first, 0, operands[k]);
        }
        of_result.load_all(first, 0, grad);
        clear(gradients);
        function.vjp(operands.map(|operand| &*operand), scratch, grad, cut(gradients, widths).0);
        out.store_all(first, 0, gradients);
    }
}

impl<F: Function<N>, const N: usize> Differentiable<N> for Rowwise<F> {
    fn signature(&self) -> Signature<N> {
        self.0.signature()
    }

    fn value<'a>(&'a self, operands: [Rows<'a>; N], _: Option<Rows<'a>>) -> Box<dyn Program + 'a> {
        Box::new(Run { function: &self.0, operands, grad: None })
    }

    fn adjoint<'a>(&'a self, operands: [Rows<'a>; N], _: Rows<'a>, grad: Rows<'a>) -> Box<dyn Program + 'a> {
        Box::new(Run { function: &self.0, operands, grad: Some(grad) })
    }
}

/// A function as a tensor operation: on the CPU, and on GPUs by kernels that are recorded for its structure.
pub(crate) struct Operation<F> {
    function: F,
    #[cfg_attr(not(feature = "cuda"), expect(dead_code, reason = "for GPUs"))]
    kernels: Kernels,
}

impl<F> Operation<F> {
    /// The operation of a function. All functions of one name that share kernels have the same programs.
    pub(crate) fn new(function: F, kernels: &Kernels) -> Self {
        Self { function, kernels: kernels.clone() }
    }
}

impl<F> Operation<Rowwise<F>> {
    /// The operation of a function whose value and adjoint are one kernel each.
    pub(crate) fn rowwise(function: F, kernels: &Kernels) -> Self {
        Self::new(Rowwise(function), kernels)
    }
}

/// The operation's value for operands of any storage.
fn value<const N: usize, F: Differentiable<N>>(
    of: &F,
    operands: [(&CpuStorage, &Layout); N],
) -> Result<(CpuStorage, Shape)> {
    let (signature, dtype) = (of.signature(), operands[0].0.dtype());
    let rows = each(operands, |(storage, layout)| from_storage(storage, layout))?;
    check(&signature, operands.map(|(_, layout)| layout.shape()), rows.each_ref().map(Rows::width))?;
    let b = worlds(signature.name, &rows.each_ref())?;
    let given = of.given();
    let held = given.as_ref().and_then(|given| given.rows).map(TensorGuard::new);
    let given_rows = held.as_ref().map(TensorGuard::rows).transpose()?;
    if let (Some(given), Some(rows)) = (&given, &given_rows) {
        check_given(given, (rows.rows(), rows.width()), b)?;
    }
    let data = run_on(of.set(), &of.value(rows, given_rows), b, signature.width);
    Ok((storage(data, dtype)?, Shape::from((b, signature.width))))
}

impl<F> Operation<F> {
    /// The gradients of the operands that are tracked.
    fn vjp<const N: usize>(&self, operands: [&Tensor; N], result: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; N]>
    where
        F: Differentiable<N>,
    {
        #[cfg(feature = "cuda")]
        if let candle_core::Device::Cuda(device) = grad.device() {
            return device::vjp(&self.function, &self.kernels, device, operands, [result, grad]);
        }
        let (b, dtype, of) = (grad.dim(0)?, grad.dtype(), self.function.signature());
        let held = operands.map(TensorGuard::new);
        let rows = each(held.each_ref(), |held| held.rows())?;
        let (n_rows, widths) = (rows.each_ref().map(Rows::rows), of.operands.map(|(_, columns)| columns));
        let (result, grad) = (TensorGuard::new(result), TensorGuard::new(grad));
        let width = widths.iter().sum();
        let data = run_on(self.function.set(), &self.function.adjoint(rows, result.rows()?, grad.rows()?), b, width);
        let mut at = 0;
        let mut of_operand = |k: usize| {
            let columns = at..at + widths[k];
            at = columns.end;
            operands[k].track_op().then(|| gradient(&data, width, columns, n_rows[k], dtype)).transpose()
        };
        each(std::array::from_fn(|k| k), &mut of_operand)
    }
}

impl<F: Differentiable<1>> CustomOp1 for Operation<F> {
    fn name(&self) -> &'static str {
        self.function.signature().name
    }

    fn cpu_fwd(&self, a: &CpuStorage, la: &Layout) -> Result<(CpuStorage, Shape)> {
        value(&self.function, [(a, la)])
    }

    #[cfg(feature = "cuda")]
    fn cuda_fwd(&self, a: &CudaStorage, la: &Layout) -> Result<(CudaStorage, Shape)> {
        device::value(&self.function, &self.kernels, [(a, la)])
    }

    fn bwd(&self, a: &Tensor, result: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        self.vjp([a], result, grad).map(|[grad]| grad)
    }
}

impl<F: Differentiable<2>> CustomOp2 for Operation<F> {
    fn name(&self) -> &'static str {
        self.function.signature().name
    }

    fn cpu_fwd(&self, a: &CpuStorage, la: &Layout, b: &CpuStorage, lb: &Layout) -> Result<(CpuStorage, Shape)> {
        value(&self.function, [(a, la), (b, lb)])
    }

    #[cfg(feature = "cuda")]
    fn cuda_fwd(&self, a: &CudaStorage, la: &Layout, b: &CudaStorage, lb: &Layout) -> Result<(CudaStorage, Shape)> {
        device::value(&self.function, &self.kernels, [(a, la), (b, lb)])
    }

    fn bwd(&self, a: &Tensor, b: &Tensor, result: &Tensor, grad: &Tensor) -> Result<(Option<Tensor>, Option<Tensor>)> {
        self.vjp([a, b], result, grad).map(Into::into)
    }
}

impl<F: Differentiable<3>> CustomOp3 for Operation<F> {
    fn name(&self) -> &'static str {
        self.function.signature().name
    }

    fn cpu_fwd(
        &self,
        a: &CpuStorage,
        la: &Layout,
        b: &CpuStorage,
        lb: &Layout,
        c: &CpuStorage,
        lc: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        value(&self.function, [(a, la), (b, lb), (c, lc)])
    }

    #[cfg(feature = "cuda")]
    fn cuda_fwd(
        &self,
        a: &CudaStorage,
        la: &Layout,
        b: &CudaStorage,
        lb: &Layout,
        c: &CudaStorage,
        lc: &Layout,
    ) -> Result<(CudaStorage, Shape)> {
        device::value(&self.function, &self.kernels, [(a, la), (b, lb), (c, lc)])
    }

    fn bwd(
        &self,
        a: &Tensor,
        b: &Tensor,
        c: &Tensor,
        result: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        self.vjp([a, b, c], result, grad).map(Into::into)
    }
}
