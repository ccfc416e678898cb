//! Operations on a GPU: their programs, recorded once for their structure, on the device's tensors. They compute in
//! double precision.

use candle_core::backend::BackendStorage;
use candle_core::cuda_backend::CudaDevice;
use candle_core::{CudaStorage, Layout, Result, Shape, Tensor, bail};

use crate::cuda::{Block, Doubles, Effort, Gpu, Rows as DeviceRows, TensorGuard, worlds};
use fingertip_lanes::lane::Precision;
use fingertip_lanes::program::{Program, record};
use fingertip_lanes::record::{Row, Trace, places};
use fingertip_lanes::rows::Rows;

use super::function::{Differentiable, Given, Signature, check, check_given, each};
use super::kernels::Kernels;

/// Row names of a kernel's operands, in order; an operation of N operands uses the first N.
const OPERANDS: [&str; 3] = ["first", "second", "third"];

/// Rows of a kernel to be recorded: each number holds its own place, one after the other.
struct Places {
    rows: Vec<Row>,
    next: usize,
}

impl Places {
    fn add(&mut self, name: &'static str, width: usize) -> Rows<'static> {
        self.rows.push(Row::new(name, width));
        self.next += width;
        Rows::of_worlds_of(places(self.next - width, width), 1, width)
    }

    /// The operands' rows, with no other rows yet.
    fn of<const N: usize>(signature: &Signature<N>) -> (Self, [Rows<'static>; N]) {
        let mut all = Self { rows: Vec::new(), next: 0 };
        let rows = std::array::from_fn(|k| all.add(OPERANDS[k], signature.operands[k].1));
        (all, rows)
    }

    /// The trace of a program on these rows.
    fn trace(self, name: &str, program: &dyn Program, (result, width): (&'static str, usize)) -> Result<Trace> {
        record(program, Precision::Double, self.rows, vec![Row::new(result, width)])
            .or_else(|reason| bail!("{name}: this operation cannot be recorded: {reason}"))
    }
}

/// The operation's value.
pub(super) fn value<const N: usize, F: Differentiable<N>>(
    of: &F,
    kernels: &Kernels,
    operands: [(&CudaStorage, &Layout); N],
) -> Result<(CudaStorage, Shape)> {
    let (signature, given) = (of.signature(), of.given());
    let Signature { name, width, .. } = signature;
    let gpu = &*kernels.on(operands[0].0.device())?;
    let tables = each(operands, |(storage, layout)| gpu.doubles(storage, layout))?;
    let mut rows: Vec<DeviceRows<f64>> = tables.iter().map(|table| table.rows(gpu)).collect();
    let widths = std::array::from_fn(|k| rows[k].width);
    check(&signature, operands.map(|(_, layout)| layout.shape()), widths)?;
    let b = worlds(name, &rows)?;
    let held = given.as_ref().and_then(|given| given.rows).map(TensorGuard::new);
    let given_table = match (&given, &held) {
        (Some(_), Some(held)) => Some(held.doubles(gpu)?),
        (Some(Given { width, .. }), None) => Some(Doubles::Made(gpu.zeros(*width)?)),
        (None, _) => None,
    };
    if let (Some(given), Some(table)) = (&given, &given_table) {
        let table = table.rows(gpu);
        check_given(given, (table.rows, table.width), b)?;
        rows.push(table);
    }
    let kernel = gpu.kernel::<f64>(&of.kernel(), Effort::Full, || {
        let (mut places, operands) = Places::of(&signature);
        let given = given.as_ref().map(|given| places.add("given", given.width));
        places.trace(name, &*of.value(operands, given), ("result", width))
    })?;
    let [result]: [Block<f64>; 1] = gpu.run(&kernel, (b, 1), None, &rows)?;
    Ok((result.storage_of(gpu, operands[0].0.dtype())?, Shape::from((b, width))))
}

/// The gradients of the operands that are tracked, given the result and its gradient.
pub(super) fn vjp<const N: usize, F: Differentiable<N>>(
    of: &F,
    kernels: &Kernels,
    device: &CudaDevice,
    operands: [&Tensor; N],
    [result, grad]: [&Tensor; 2],
) -> Result<[Option<Tensor>; N]> {
    let (signature, gpu, dtype) = (of.signature(), &*kernels.on(device)?, grad.dtype());
    let widths = signature.operands.map(|(_, columns)| columns);
    let name = format!("{}_adjoint", signature.identifier());
    let kernel = gpu.kernel::<f64>(&name, Effort::Full, || {
        let (mut places, operands) = Places::of(&signature);
        let [result, grad] = ["result", "grad"].map(|name| places.add(name, signature.width));
        places.trace(signature.name, &*of.adjoint(operands, result, grad), ("gradients", widths.iter().sum()))
    })?;
    let held: Vec<TensorGuard> = operands.into_iter().chain([result, grad]).map(TensorGuard::new).collect();
    let tables = held.iter().map(|held| held.doubles(gpu)).collect::<Result<Vec<_>>>()?;
    let rows: Vec<DeviceRows<f64>> = tables.iter().map(|table| table.rows(gpu)).collect();
    let [all]: [Block<f64>; 1] = gpu.run(&kernel, (grad.dim(0)?, 1), None, &rows)?;
    let mut at = 0;
    let mut of_operand = |k: usize| {
        let columns = at..at + widths[k];
        at = columns.end;
        let of = || gpu.gradient(all.rows(gpu).columns(columns), rows[k].rows)?.tensor_of(gpu, dtype);
        operands[k].track_op().then(of).transpose()
    };
    each(std::array::from_fn(|k| k), &mut of_operand)
}

impl Gpu {
    /// The gradients of an operand's rows, given those of all worlds: their sum if it has one row for all.
    fn gradient(&self, of: DeviceRows<f64>, rows: usize) -> Result<Block<f64>> {
        if rows == of.rows {
            return self.gather(of, None);
        }
        let mut sum = self.sums(of)?;
        while sum.rows(self).rows > 1 {
            sum = self.sums(sum.rows(self))?;
        }
        Ok(sum)
    }
}
