//! The fused step on a GPU: its recorded kernels on the device's tensors.
//!
//! A solve without forces to start from is one that starts from zero forces, so that one kernel does both. In single precision
//! worlds that are not solved are listed on the device and done again in double precision, a part of the batch at a time.

use std::ops::Range;
use std::sync::Arc;

use candle_core::backend::BackendStorage;
use candle_core::cuda_backend::CudaStorage;
use candle_core::{DType, Layout, Result, Shape, Tensor, bail};

use crate::cuda::{self, Block, Gpu, Held, Number, Rows, SEGMENT};
use crate::solve::INFO;

use super::plan::Plan;
use super::record::Kernel;

/// Worlds whose rows in between are there at the same time; a multiple of what is summed at a time.
const CHUNK: usize = 64 * SEGMENT;

/// The worlds of a batch, so many at a time.
fn chunks(worlds: usize) -> impl Iterator<Item = Range<usize>> {
    (0..worlds).step_by(CHUNK).map(move |first| first..worlds.min(first + CHUNK))
}

/// The number of worlds of operands that have each one row per world or one for all.
fn worlds<T>(name: &str, operands: &[Rows<T>]) -> Result<usize> {
    let worlds = operands.iter().map(|rows| rows.rows).max().unwrap_or(1);
    if operands.iter().any(|rows| rows.rows != 1 && rows.rows != worlds) {
        let rows: Vec<usize> = operands.iter().map(|rows| rows.rows).collect();
        bail!("{name}: operands of {rows:?} worlds; expected the same number, or one row for all");
    }
    Ok(worlds)
}

impl Plan {
    fn gpu(&self) -> Result<&Gpu> {
        self.gpu.as_deref().map_or_else(|| bail!("cuda: expected a step of a model on a GPU"), Ok)
    }

    /// A kernel for numbers of T on the device; the plan's pairs have been found to be such as can be recorded.
    fn kernel<T: Number>(&self, gpu: &Gpu, kernel: Kernel) -> Result<Arc<cuda::Kernel>> {
        gpu.kernel::<T>(kernel.name(), || self.record(kernel, T::PRECISION, |_| ("", "")))
    }

    /// Rows of a step's results from (q, u, parameters, forces).
    fn step_rows<T: Number>(&self, gpu: &Gpu, operands: [Rows<T>; 4]) -> Result<Block<T>> {
        let worlds = worlds("fused step", &operands)?;
        let is_double = T::DTYPE == DType::F64;
        let rows: Block<T> = if is_double || self.dtype(T::DTYPE) == T::DTYPE {
            let [rows] = gpu.run(&*self.kernel::<T>(gpu, Kernel::WarmStep)?, worlds, None, &operands)?;
            rows
        } else {
            gpu.block(worlds, self.n_row())?
        };
        if is_double {
            return Ok(rows);
        }
        let double = self.kernel::<f64>(gpu, Kernel::WarmStep)?;
        for chunk in chunks(worlds) {
            let rows = rows.rows(gpu).of_worlds(chunk.clone());
            // By a law that asks for double precision, all of them.
            let list = if self.dtype(T::DTYPE) == T::DTYPE {
                Some(gpu.unsolved(rows.columns(self.n_row() - INFO..self.n_row()), INFO)?)
            } else {
                None
            };
            let mut again = Vec::with_capacity(operands.len());
            for operand in operands {
                again.push(gpu.gather(operand.of_worlds(chunk.clone()), list.as_ref())?);
            }
            let again: Vec<Rows<f64>> = again.iter().map(|block| block.rows(gpu)).collect();
            let [solved] = gpu.run(&double, chunk.len(), list.as_ref(), &again)?;
            gpu.scatter(solved.rows(gpu), rows, list.as_ref())?;
        }
        Ok(rows)
    }
}

/// A step's rows: see [`StepOp`](super::step_op::StepOp).
pub(super) fn step(
    plan: &Plan,
    operands: [(&CudaStorage, &Layout); 3],
    warm: Option<&Tensor>,
) -> Result<(CudaStorage, Shape)> {
    fn of_type<T: Number>(
        plan: &Plan,
        operands: [(&CudaStorage, &Layout); 3],
        warm: Option<&Tensor>,
    ) -> Result<(CudaStorage, Shape)> {
        let gpu = plan.gpu()?;
        let [q, u, par] = operands.map(|(storage, layout)| gpu.rows::<T>(storage, layout));
        let (q, u, par) = (q?, u?, par?);
        let (held, none) = (warm.map(Held::new), gpu.zeros::<T>(plan.structure.n_eta())?);
        let warm = held.as_ref().map_or_else(|| Ok(none.rows(gpu)), |held| held.rows::<T>(gpu))?;
        let worlds = worlds("fused step", &[q, u, par])?;
        plan.check_warm(Some([warm.rows, warm.width]), worlds)?;
        let rows = plan.step_rows(gpu, [q, u, par, warm])?;
        Ok((rows.storage(gpu), Shape::from((worlds, plan.n_row()))))
    }
    match operands[0].0.dtype() {
        DType::F32 => of_type::<f32>(plan, operands, warm),
        DType::F64 => of_type::<f64>(plan, operands, warm),
        other => bail!("expected a tensor of f32 or f64, got {other:?}"),
    }
}

/// Gradients of q, u and the parameters from those of a step's results.
pub(super) fn pull(plan: &Plan, operands: [&Tensor; 3], result: &Tensor, grad: &Tensor) -> Result<[Tensor; 3]> {
    let gpu = plan.gpu()?;
    let kernel = plan.kernel::<f64>(gpu, Kernel::Adjoint)?;
    let worlds = grad.dim(0)?;
    let own = operands[2].dim(0)? == worlds;
    let [q, u, par] = operands;
    let doubles = doubles(&[q, u, par, result, &grad.narrow(1, 0, plan.n_results())?])?;
    let held: Vec<Held> = doubles.iter().map(Held::new).collect();
    let rows = held.iter().map(|held| held.rows::<f64>(gpu)).collect::<Result<Vec<_>>>()?;
    let gradients = Gradients::new(gpu, worlds, [plan.nq, plan.nu, plan.at.n], own)?;
    for chunk in chunks(worlds) {
        let operands: Vec<Rows<f64>> = rows.iter().map(|rows| rows.of_worlds(chunk.clone())).collect();
        let [gradient] = gpu.run(&kernel, chunk.len(), None, &operands)?;
        let gradient = gradient.rows(gpu);
        let u = plan.nq..plan.nq + plan.nu;
        let parts = [0..plan.nq, u.clone(), u.end..u.end + plan.at.n].map(|columns| gradient.columns(columns));
        gradients.add(chunk, parts)?;
    }
    gradients.tensors(grad.dtype())
}

/// Tensors in double precision, their rows numbers that follow each other.
fn doubles(tensors: &[&Tensor]) -> Result<Vec<Tensor>> {
    tensors.iter().map(|tensor| tensor.detach().to_dtype(DType::F64)?.contiguous()).collect()
}

/// Gradients of three operands, which come some worlds at a time; those of the last are summed if it has one row for all.
struct Gradients<'a> {
    gpu: &'a Gpu,
    parts: [Block<f64>; 3],
    is_summed: bool,
}

impl<'a> Gradients<'a> {
    fn new(gpu: &'a Gpu, worlds: usize, [first, second, third]: [usize; 3], own: bool) -> Result<Self> {
        let sums = if own { worlds } else { worlds.div_ceil(SEGMENT) };
        let parts = [gpu.block(worlds, first)?, gpu.block(worlds, second)?, gpu.block(sums, third)?];
        Ok(Self { gpu, parts, is_summed: !own })
    }

    fn add(&self, chunk: Range<usize>, [first, second, third]: [Rows<f64>; 3]) -> Result<()> {
        let Self { gpu, parts: [to_first, to_second, to_third], is_summed } = self;
        gpu.scatter(first, to_first.rows(gpu).of_worlds(chunk.clone()), None)?;
        gpu.scatter(second, to_second.rows(gpu).of_worlds(chunk.clone()), None)?;
        if !is_summed {
            return gpu.scatter(third, to_third.rows(gpu).of_worlds(chunk), None);
        }
        let sums = gpu.sums(third)?;
        let segments = chunk.start / SEGMENT..chunk.end.div_ceil(SEGMENT);
        gpu.scatter(sums.rows(gpu), to_third.rows(gpu).of_worlds(segments), None)
    }

    fn tensors(self, dtype: DType) -> Result<[Tensor; 3]> {
        let Self { gpu, parts: [first, second, mut third], is_summed } = self;
        while is_summed && third.rows(gpu).rows > 1 {
            third = gpu.sums(third.rows(gpu))?;
        }
        let [first, second, third] = [first, second, third].map(|block| block.tensor(gpu).to_dtype(dtype));
        Ok([first?, second?, third?])
    }
}

/// A step and its Jacobians, as the CPU's [`jacobian::step`](super::jacobian::step) gives them.
pub(super) fn jacobians(plan: &Plan, operands: [&Tensor; 3], warm: Option<&Tensor>) -> Result<[Tensor; 6]> {
    let (gpu, dtype) = (plan.gpu()?, operands[0].dtype());
    let kernel = plan.kernel::<f64>(gpu, Kernel::WarmJacobians)?;
    let none = gpu.zeros::<f64>(plan.structure.n_eta())?.tensor(gpu);
    let [q, u, par] = operands;
    let doubles = doubles(&[q, u, par, warm.unwrap_or(&none)])?;
    let held: Vec<Held> = doubles.iter().map(Held::new).collect();
    let rows = held.iter().map(|held| held.rows::<f64>(gpu)).collect::<Result<Vec<_>>>()?;
    let worlds = worlds("linearize", &rows[..3])?;
    plan.check_warm(Some([rows[3].rows, rows[3].width]), worlds)?;
    let blocks: [Block<f64>; 6] = gpu.run(&kernel, worlds, None, &rows)?;
    let [a, b, c, d, e, f] = blocks.map(|block| block.tensor(gpu).to_dtype(dtype));
    Ok([a?, b?, c?, d?, e?, f?])
}
