//! The fused step on a GPU: its recorded kernels on the device's tensors.
//!
//! A solve without forces to start from is one that starts from zero forces, so that one kernel does both. In single
//! precision worlds that are not solved are listed on the device and done again in double precision, a part of the
//! batch at a time.

use std::ops::Range;
use std::sync::Arc;

use candle_core::{DType, Result, Shape, Storage, Tensor, bail};

use crate::cuda::{self, Block, Effort, Gpu, Number, Rows, SEGMENT, TensorGuard, worlds};
use crate::solve::INFO;
use crate::tensor::known::wanted;
use fingertip_lanes::lane::Precision;
use fingertip_lanes::record::Row;

use super::kernel::{Kernel, Recorder};
use super::machine::Machine;
use super::plan::Plan;
use super::rollout::Swept;
use super::rollout::backward::Cost;

/// Worlds per chunk: only one chunk's intermediate rows are in memory at a time. A multiple of the worlds that are
/// summed together.
const CHUNK: usize = 64 * SEGMENT;

/// Splits a batch of worlds into chunks of [`CHUNK`].
fn chunks(worlds: usize) -> impl Iterator<Item = Range<usize>> {
    (0..worlds).step_by(CHUNK).map(move |first| first..worlds.min(first + CHUNK))
}

impl Plan {
    fn gpu(&self) -> Result<&Gpu> {
        self.on_gpu().map(|(gpu, _)| gpu)
    }

    fn on_gpu(&self) -> Result<(&Gpu, &Recorder)> {
        let Some((gpu, recorder)) = &self.gpu else { bail!("cuda: expected a step of a model on a GPU") };
        Ok((gpu, recorder))
    }

    /// The compiled GPU kernel for numbers of type T.
    fn kernel<T: Number>(&self, kernel: Kernel) -> Result<Arc<cuda::Kernel>> {
        let (gpu, recorder) = self.on_gpu()?;
        // Jacobians are three times as long as a step, and a step is done far more often.
        let effort = match kernel {
            Kernel::Jacobians | Kernel::WarmJacobians => Effort::Quick,
            _ => Effort::Full,
        };
        gpu.kernel::<T>(kernel.name(), effort, || recorder.0(kernel, T::PRECISION))
    }

    /// The rows that a kernel reads, from q, u and others: u is cut into the step's inputs where it has several, which
    /// have one step's numbers each, side by side.
    fn with_inputs_apart<'a, T>(&self, rows: &[Rows<'a, T>]) -> Vec<Rows<'a, T>> {
        let inputs = self.equations.inputs(self);
        let mut apart = rows.to_vec();
        if inputs.len() > 1 {
            let (mut end, u) = (0, rows[1]);
            let columns = inputs.iter().map(|input| {
                end += input.width;
                u.columns(end - input.width..end)
            });
            apart.splice(1..2, columns);
        }
        apart
    }

    /// Runs a kernel that solves contacts for so many worlds and steps, on the GPU. `report` says which of its results
    /// holds the steps' reports, `columns` in which columns. In single precision, worlds that are not solved are solved
    /// again in double precision.
    fn outcome<T: Number, const N: usize>(
        &self,
        gpu: &Gpu,
        kernel: Kernel,
        operands: &[Rows<T>],
        (worlds, n_steps): (usize, usize),
        (report, columns): (usize, Range<usize>),
    ) -> Result<[Block<T>; N]> {
        if T::PRECISION == Precision::Double {
            return gpu.run(&*self.kernel::<T>(kernel)?, (worlds, n_steps), None, operands);
        }
        let is_first = self.has_single_precision();
        let results: [Block<T>; N] = if is_first {
            gpu.run(&*self.kernel::<T>(kernel)?, (worlds, n_steps), None, operands)?
        } else {
            let block = |row: &Row| gpu.block(worlds, row.length(n_steps));
            let blocks = self.result_rows(kernel).iter().map(block).collect::<Result<Vec<_>>>()?;
            blocks.try_into().or_else(|_| bail!("cuda: expected {N} results"))?
        };
        let double = self.kernel::<f64>(kernel)?;
        for chunk in chunks(worlds) {
            let rows = results.each_ref().map(|block| block.rows(gpu).of_worlds(chunk.clone()));
            let list = if is_first { Some(gpu.unsolved(rows[report].columns(columns.clone()), INFO)?) } else { None };
            let again = operands.iter().map(|rows| gpu.gather(rows.of_worlds(chunk.clone()), list.as_ref()));
            let again = again.collect::<Result<Vec<_>>>()?;
            let again: Vec<Rows<f64>> = again.iter().map(|block| block.rows(gpu)).collect();
            let solved: [Block<f64>; N] = gpu.run(&double, (chunk.len(), n_steps), list.as_ref(), &again)?;
            for (from, to) in solved.iter().zip(rows) {
                gpu.scatter(from.rows(gpu), to, list.as_ref())?;
            }
        }
        Ok(results)
    }
}

/// A step's rows: see [`step_op::step`](super::step_op::step).
fn step(plan: &Plan, operands: [&Tensor; 3], warm: Option<&Tensor>) -> Result<(Storage, Shape)> {
    fn of_type<T: Number>(plan: &Plan, operands: [&Tensor; 3], warm: Option<&Tensor>) -> Result<(Storage, Shape)> {
        let gpu = plan.gpu()?;
        let held = operands.map(TensorGuard::new);
        let [q, u, par] = held.each_ref().map(|held| held.rows::<T>(gpu));
        let (q, u, par) = (q?, u?, par?);
        let (held, none) = (warm.map(TensorGuard::new), gpu.zeros::<T>(plan.structure.n_eta())?);
        let warm = held.as_ref().map_or_else(|| Ok(none.rows(gpu)), |held| held.rows::<T>(gpu))?;
        let worlds = worlds("fused step", &[q, u, par])?;
        plan.check_warm(Some([warm.rows, warm.width]), worlds)?;
        let report = (0, plan.row().info);
        let read = plan.with_inputs_apart(&[q, u, par, warm]);
        let [rows] = plan.outcome(gpu, Kernel::WarmStep, &read, (worlds, 1), report)?;
        Ok(numbers(rows, gpu))
    }
    match operands[0].dtype() {
        DType::F32 => of_type::<f32>(plan, operands, warm),
        DType::F64 => of_type::<f64>(plan, operands, warm),
        other => bail!("expected a tensor of f32 or f64, got {other:?}"),
    }
}

/// The rows of a device block as storage and shape, the result of a tensor operation.
fn numbers<T: Number>(block: Block<T>, gpu: &Gpu) -> (Storage, Shape) {
    let rows = block.rows(gpu);
    let shape = Shape::from((rows.rows, rows.width));
    (Storage::Cuda(block.storage(gpu)), shape)
}

/// Gradients of q, u and the parameters from those of a step's results.
fn step_adjoint(plan: &Plan, operands: [&Tensor; 3], result: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 3]> {
    let [q, u, par] = operands;
    let (controls, n) = (plan.nq..plan.nq + plan.nu, plan.n_gradient());
    let read = [q, u, par, result, &grad.narrow(1, 0, plan.n_results())?];
    pulled(plan, Kernel::Adjoint, 1, operands, &read, |[all]: [Rows<f64>; 1]| {
        [0..controls.start, controls.clone(), controls.end..n].map(|columns| all.columns(columns))
    })
}

/// Runs an adjoint kernel on the rows `read`, the last of which is a gradient, and returns the gradients of the three
/// operands. `cut` picks each operand's gradient out of the kernel's results.
fn pulled<const N: usize>(
    plan: &Plan,
    kernel: Kernel,
    n_steps: usize,
    operands: [&Tensor; 3],
    read: &[&Tensor],
    cut: impl Fn([Rows<f64>; N]) -> [Rows<f64>; 3],
) -> Result<[Option<Tensor>; 3]> {
    let gpu = plan.gpu()?;
    let (program, grad) = (plan.kernel::<f64>(kernel)?, read[read.len() - 1]);
    let worlds = grad.dim(0)?;
    let held: Vec<TensorGuard> = read.iter().map(|tensor| TensorGuard::new(tensor)).collect();
    let doubles = held.iter().map(|held| held.doubles(gpu)).collect::<Result<Vec<_>>>()?;
    let rows: Vec<Rows<f64>> = doubles.iter().map(|table| table.rows(gpu)).collect();
    let rows = plan.with_inputs_apart(&rows);
    let [first, second, third] = operands.map(|operand| operand.dim(1));
    let has_own = operands[2].dim(0)? == worlds;
    let gradients = Gradients::new(gpu, worlds, [first?, second?, third?], has_own)?;
    for chunk in chunks(worlds) {
        let of_chunk: Vec<Rows<f64>> = rows.iter().map(|rows| rows.of_worlds(chunk.clone())).collect();
        let parts: [Block<f64>; N] = gpu.run(&program, (chunk.len(), n_steps), None, &of_chunk)?;
        gradients.add(chunk, cut(parts.each_ref().map(|block| block.rows(gpu))))?;
    }
    Ok(wanted(operands, gradients.tensors(grad.dtype())?))
}

/// Collects the gradients of three operands from chunks of worlds. Those of the last operand are summed if it has one
/// row for all worlds.
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
        Ok([first.tensor_of(gpu, dtype)?, second.tensor_of(gpu, dtype)?, third.tensor_of(gpu, dtype)?])
    }
}

/// A step and its Jacobians, as the CPU's [`jacobian::step`](super::jacobian::step) gives them.
fn jacobians(plan: &Plan, operands: [&Tensor; 3], warm: Option<&Tensor>) -> Result<[Tensor; 6]> {
    let (gpu, dtype) = (plan.gpu()?, operands[0].dtype());
    let kernel = plan.kernel::<f64>(Kernel::WarmJacobians)?;
    let none = gpu.zeros::<f64>(plan.structure.n_eta())?.tensor(gpu);
    let [q, u, par] = operands;
    let held = [q, u, par, warm.unwrap_or(&none)].map(TensorGuard::new);
    let doubles = held.iter().map(|held| held.doubles(gpu)).collect::<Result<Vec<_>>>()?;
    let rows: Vec<Rows<f64>> = doubles.iter().map(|table| table.rows(gpu)).collect();
    let worlds = worlds("linearize", &rows[..3])?;
    plan.check_warm(Some([rows[3].rows, rows[3].width]), worlds)?;
    let blocks: [Block<f64>; 6] = gpu.run(&kernel, (worlds, 1), None, &rows)?;
    let [a, b, c, d, e, f] = blocks.map(|block| block.tensor_of(gpu, dtype));
    Ok([a?, b?, c?, d?, e?, f?])
}

/// A rollout's forward sweep, as the CPU's [`rollout::sweep`](super::rollout::sweep) has it.
fn rollout(plan: &Plan, n_steps: usize, operands: [&Tensor; 3]) -> Result<Swept> {
    fn of_type<T: Number>(plan: &Plan, n_steps: usize, operands: [Tensor; 3]) -> Result<Swept> {
        let gpu = plan.gpu()?;
        let held = operands.each_ref().map(TensorGuard::new);
        let rows = held.iter().map(|held| held.rows::<T>(gpu)).collect::<Result<Vec<_>>>()?;
        let worlds = worlds("rollout", &rows)?;
        let solved = plan.outcome(gpu, Kernel::Rollout, &rows, (worlds, n_steps), (3, 0..n_steps * INFO))?;
        let [states, force, limit_force, info]: [Block<T>; 4] = solved;
        Ok(([numbers(states, gpu), numbers(force, gpu)], [limit_force.tensor(gpu), info.tensor(gpu)]))
    }
    let [q0, u, par] = operands;
    let operands = [q0.contiguous()?, u.contiguous()?, par.contiguous()?];
    match q0.dtype() {
        DType::F32 => of_type::<f32>(plan, n_steps, operands),
        _ => of_type::<f64>(plan, n_steps, operands),
    }
}

/// A rollout's sweep back: the gradients of its operands, from states, contact forces, limit forces, reports and a
/// gradient.
fn rollout_adjoint(
    plan: &Plan,
    n_steps: usize,
    kernel: Kernel,
    operands: [&Tensor; 3],
    [states, force, limit_force, info, grad]: [&Tensor; 5],
) -> Result<[Option<Tensor>; 3]> {
    let [_, u, par] = operands;
    let read = [states, u, par, force, limit_force, info, grad];
    pulled(plan, kernel, n_steps, operands, &read, |gradients: [Rows<f64>; 3]| gradients)
}

/// The GPU that the operands are on.
pub(super) struct Card;

impl Machine for Card {
    fn step(&self, plan: &Plan, operands: [&Tensor; 3], warm: Option<&Tensor>) -> Result<(Storage, Shape)> {
        step(plan, operands, warm)
    }

    fn step_adjoint(
        &self,
        plan: &Plan,
        operands: [&Tensor; 3],
        result: &Tensor,
        grad: &Tensor,
    ) -> Result<[Option<Tensor>; 3]> {
        step_adjoint(plan, operands, result, grad)
    }

    fn jacobians(&self, plan: &Plan, operands: [&Tensor; 3], warm: Option<&Tensor>) -> Result<[Tensor; 6]> {
        jacobians(plan, operands, warm)
    }

    fn rollout(&self, plan: &Plan, n_steps: usize, operands: [&Tensor; 3]) -> Result<Swept> {
        rollout(plan, n_steps, operands)
    }

    fn rollout_adjoint(
        &self,
        plan: &Plan,
        (cost, n_steps): (Cost, usize),
        operands: [&Tensor; 3],
        read: [&Tensor; 5],
    ) -> Result<[Option<Tensor>; 3]> {
        rollout_adjoint(plan, n_steps, cost.kernel(), operands, read)
    }
}
