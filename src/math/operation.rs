//! Programs with an adjoint as differentiable tensor operations.

use candle_core::backend::BackendStorage;
use candle_core::{CpuStorage, CustomOp2, CustomOp3, Layout, Result, Shape, Tensor, bail};

use super::program::{Program, run};
use super::rows::{Rows, gradient, storage, worlds};

/// A function of N operands, matrices with a row per world or one for all, whose value and adjoint are programs.
pub(crate) trait Differentiable<const N: usize>: Send + Sync {
    /// For messages.
    fn name(&self) -> &'static str;

    /// Names and columns of the operands.
    fn operands(&self) -> [(&'static str, usize); N];

    /// Columns of the result.
    fn width(&self) -> usize;

    /// The program that writes the result for so many worlds.
    ///
    /// # Errors
    /// If something besides the operands does not fit the worlds.
    fn value<'a>(&'a self, operands: [Rows<'a>; N], worlds: usize) -> Result<Box<dyn Program + 'a>>;

    /// The program that writes the gradients of all operands side by side, given that of the result.
    ///
    /// # Errors
    /// If the result cannot be read.
    fn adjoint<'a>(&'a self, operands: [Rows<'a>; N], result: &Tensor, grad: Rows<'a>)
    -> Result<Box<dyn Program + 'a>>;
}

/// Its tensor operation, on the CPU.
pub(crate) struct Operation<F>(pub(crate) F);

/// The operation's value for operands of any storage.
fn value<const N: usize, F: Differentiable<N>>(
    of: &F,
    operands: [(&CpuStorage, &Layout); N],
) -> Result<(CpuStorage, Shape)> {
    let dtype = operands[0].0.dtype();
    let rows = each(operands, |(storage, layout)| Rows::from_storage(storage, layout))?;
    let expected = of.operands();
    if rows.each_ref().map(Rows::width) != expected.map(|(_, columns)| columns) {
        let named = expected.map(|(name, columns)| format!("{name} (B, {columns})")).join(", ");
        let got = operands.map(|(_, layout)| layout.shape());
        bail!("{}: expected {named}, got {got:?}", of.name());
    }
    let b = worlds(of.name(), &rows.each_ref())?;
    let data = run(&of.value(rows, b)?, b, of.width());
    Ok((storage(data, dtype)?, Shape::from((b, of.width()))))
}

/// The gradients of the operands that are tracked.
fn pull<const N: usize, F: Differentiable<N>>(
    of: &F,
    operands: [&Tensor; N],
    result: &Tensor,
    grad: &Tensor,
) -> Result<[Option<Tensor>; N]> {
    let (b, dtype, widths) = (grad.dim(0)?, grad.dtype(), of.operands().map(|(_, columns)| columns));
    let rows = each(operands, Rows::from_tensor)?;
    let n_rows = rows.each_ref().map(Rows::rows);
    let width = widths.iter().sum();
    let data = run(&of.adjoint(rows, result, Rows::from_tensor(grad)?)?, b, width);
    let mut at = 0;
    let mut of_operand = |k: usize| {
        let columns = at..at + widths[k];
        at = columns.end;
        operands[k].track_op().then(|| gradient(&data, width, columns, n_rows[k], dtype)).transpose()
    };
    each(std::array::from_fn(|k| k), &mut of_operand)
}

/// [`array::map`] of what may fail.
fn each<const N: usize, T, U>(of: [T; N], f: impl FnMut(T) -> Result<U>) -> Result<[U; N]> {
    let all = of.into_iter().map(f).collect::<Result<Vec<U>>>()?;
    all.try_into().or_else(|_| bail!("expected {N} operands"))
}

impl<F: Differentiable<2>> CustomOp2 for Operation<F> {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn cpu_fwd(&self, a: &CpuStorage, la: &Layout, b: &CpuStorage, lb: &Layout) -> Result<(CpuStorage, Shape)> {
        value(&self.0, [(a, la), (b, lb)])
    }

    fn bwd(&self, a: &Tensor, b: &Tensor, result: &Tensor, grad: &Tensor) -> Result<(Option<Tensor>, Option<Tensor>)> {
        pull(&self.0, [a, b], result, grad).map(Into::into)
    }
}

impl<F: Differentiable<3>> CustomOp3 for Operation<F> {
    fn name(&self) -> &'static str {
        self.0.name()
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
        value(&self.0, [(a, la), (b, lb), (c, lc)])
    }

    fn bwd(
        &self,
        a: &Tensor,
        b: &Tensor,
        c: &Tensor,
        result: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        pull(&self.0, [a, b, c], result, grad).map(Into::into)
    }
}
