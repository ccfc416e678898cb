//! Tensor operations whose results are already known, for example from loops that have run or steps that are solved.
//! The operation only adds the gradient.

use std::sync::Mutex;

use candle_core::{CpuStorage, CudaStorage, CustomOp3, Layout, Result, Shape, Storage, Tensor, bail};

/// Gradients of a function of three operands.
pub(crate) trait Adjoint: Send + Sync + 'static {
    /// The function's name, for messages.
    fn name(&self) -> &'static str;

    /// The gradients of the operands that are tracked, given the result and its gradient.
    ///
    /// # Errors
    /// If the computation of the gradients fails.
    fn vjp(&self, operands: [&Tensor; 3], result: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 3]>;
}

/// Keeps the gradients of the operands that candle tracks; none for the others.
pub(crate) fn wanted(operands: [&Tensor; 3], gradients: [Tensor; 3]) -> [Option<Tensor>; 3] {
    let [a, b, c] = gradients;
    let [of_a, of_b, of_c] = operands.map(Tensor::track_op);
    [of_a.then_some(a), of_b.then_some(b), of_c.then_some(c)]
}

/// A tensor operation whose result is already known: it hands the numbers over when it runs, and computes gradients by
/// its [`Adjoint`].
pub(crate) struct Known<A> {
    numbers: Mutex<Option<Storage>>,
    shape: Shape,
    adjoint: A,
}

impl<A: Adjoint> Known<A> {
    /// The operation that has these numbers as its result.
    ///
    /// # Errors
    /// If its operands are on another device than the numbers.
    pub(crate) fn tensor(
        adjoint: A,
        [a, b, c]: [&Tensor; 3],
        (numbers, shape): (Storage, impl Into<Shape>),
    ) -> Result<Tensor> {
        a.apply_op3(b, c, Self { numbers: Mutex::new(Some(numbers)), shape: shape.into(), adjoint })
    }

    fn take(&self) -> Option<Storage> {
        self.numbers.lock().ok()?.take()
    }
}

/// The numbers of a tensor that fills its storage, as [`Known::tensor`] takes them.
pub(crate) fn numbers(tensor: &Tensor) -> Result<(Storage, Shape)> {
    let (storage, layout) = tensor.storage_and_layout();
    Ok((storage.try_clone(layout)?, layout.shape().clone()))
}

impl<A: Adjoint> CustomOp3 for Known<A> {
    fn name(&self) -> &'static str {
        self.adjoint.name()
    }

    fn cpu_fwd(
        &self,
        _: &CpuStorage,
        _: &Layout,
        _: &CpuStorage,
        _: &Layout,
        _: &CpuStorage,
        _: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        match self.take() {
            Some(Storage::Cpu(numbers)) => Ok((numbers, self.shape.clone())),
            _ => bail!("{}: expected tensors on the device of the result", self.name()),
        }
    }

    fn cuda_fwd(
        &self,
        _: &CudaStorage,
        _: &Layout,
        _: &CudaStorage,
        _: &Layout,
        _: &CudaStorage,
        _: &Layout,
    ) -> Result<(CudaStorage, Shape)> {
        match self.take() {
            Some(Storage::Cuda(numbers)) => Ok((numbers, self.shape.clone())),
            _ => bail!("{}: expected tensors on the device of the result", self.name()),
        }
    }

    fn bwd(
        &self,
        a: &Tensor,
        b: &Tensor,
        c: &Tensor,
        result: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        self.adjoint.vjp([a, b, c], result, grad).map(Into::into)
    }
}
