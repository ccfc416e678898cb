//! The fused step on a GPU: its recorded kernels on the device's tensors.
//!
//! A solve without forces to start from is one that starts from zero forces, so that one kernel does both. In single precision
//! worlds that are not solved are listed on the device and done again in double precision, a part of the batch at a time.

use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock};

use candle_core::backend::BackendStorage;
use candle_core::cuda_backend::CudaStorage;
use candle_core::{CpuStorage, CustomOp3, DType, Error, Layout, Result, Shape, Tensor, bail};

use crate::cuda::{self, Block, Gpu, Number, Rows, SEGMENT, TensorGuard};
use crate::description::Friction;
use crate::math::lane::Precision;
use crate::math::record::Row;
use crate::solve::{INFO, Report};

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

    /// What a kernel that solves makes of worlds and steps. The report says in which of its results each step's report is, and in
    /// which columns.
    fn outcome<T: Number, const N: usize>(
        &self,
        gpu: &Gpu,
        kernel: Kernel,
        operands: &[Rows<T>],
        (worlds, n_steps): (usize, usize),
        (report, columns): (usize, Range<usize>),
    ) -> Result<[Block<T>; N]> {
        if T::PRECISION == Precision::Double {
            return gpu.run(&*self.kernel::<T>(gpu, kernel)?, (worlds, n_steps), None, operands);
        }
        // Coulomb's law asks for double precision.
        let is_first = self.structure.friction == Friction::Relaxed;
        let results: [Block<T>; N] = if is_first {
            gpu.run(&*self.kernel::<T>(gpu, kernel)?, (worlds, n_steps), None, operands)?
        } else {
            let block = |row: &Row| gpu.block(worlds, row.length(n_steps));
            let blocks = self.result_rows(kernel).iter().map(block).collect::<Result<Vec<_>>>()?;
            blocks.try_into().or_else(|_| bail!("cuda: expected {N} results"))?
        };
        let double = self.kernel::<f64>(gpu, kernel)?;
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
        let (held, none) = (warm.map(TensorGuard::new), gpu.zeros::<T>(plan.structure.n_eta())?);
        let warm = held.as_ref().map_or_else(|| Ok(none.rows(gpu)), |held| held.rows::<T>(gpu))?;
        let worlds = worlds("fused step", &[q, u, par])?;
        plan.check_warm(Some([warm.rows, warm.width]), worlds)?;
        let report = (0, plan.n_row() - INFO..plan.n_row());
        let [rows] = plan.outcome(gpu, Kernel::WarmStep, &[q, u, par, warm], (worlds, 1), report)?;
        Ok((rows.storage(gpu), Shape::from((worlds, plan.n_row()))))
    }
    match operands[0].0.dtype() {
        DType::F32 => of_type::<f32>(plan, operands, warm),
        DType::F64 => of_type::<f64>(plan, operands, warm),
        other => bail!("expected a tensor of f32 or f64, got {other:?}"),
    }
}

/// Gradients of q, u and the parameters from those of a step's results.
pub(super) fn step_adjoint(
    plan: &Plan,
    [q, u, par]: [&Tensor; 3],
    result: &Tensor,
    grad: &Tensor,
) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
    let gpu = plan.gpu()?;
    let kernel = plan.kernel::<f64>(gpu, Kernel::Adjoint)?;
    let worlds = grad.dim(0)?;
    let tensors = doubles(gpu, &[q, u, par, result, &grad.narrow(1, 0, plan.n_results())?])?;
    let held: Vec<TensorGuard> = tensors.iter().map(TensorGuard::new).collect();
    let rows = held.iter().map(|held| held.rows::<f64>(gpu)).collect::<Result<Vec<_>>>()?;
    let gradients = Gradients::new(gpu, worlds, [plan.nq, plan.nu, plan.at.n], par.dim(0)? == worlds)?;
    for chunk in chunks(worlds) {
        let operands: Vec<Rows<f64>> = rows.iter().map(|rows| rows.of_worlds(chunk.clone())).collect();
        let [gradient] = gpu.run(&kernel, (chunk.len(), 1), None, &operands)?;
        let controls = plan.nq..plan.nq + plan.nu;
        let columns = [0..plan.nq, controls.clone(), controls.end..plan.n_gradient()];
        gradients.add(chunk, columns.map(|columns| gradient.rows(gpu).columns(columns)))?;
    }
    Ok(wanted([q, u, par], gradients.tensors(grad.dtype())?))
}

/// Tensors in double precision, their rows numbers that follow each other. Candle's own conversion fails without numbers.
fn doubles(gpu: &Gpu, tensors: &[&Tensor]) -> Result<Vec<Tensor>> {
    let double = |tensor: &&Tensor| {
        let tensor = tensor.detach().contiguous()?;
        match tensor.dtype() {
            DType::F32 => Ok(gpu.gather(TensorGuard::new(&tensor).rows::<f32>(gpu)?, None)?.tensor(gpu)),
            _ => Ok(tensor),
        }
    };
    tensors.iter().map(double).collect()
}

/// A block as a tensor of a type.
fn tensor(gpu: &Gpu, block: Block<f64>, dtype: DType) -> Result<Tensor> {
    if dtype == DType::F64 {
        return Ok(block.tensor(gpu));
    }
    let rows = block.rows(gpu);
    let single = gpu.block::<f32>(rows.rows, rows.width)?;
    gpu.scatter(rows, single.rows(gpu), None)?;
    Ok(single.tensor(gpu))
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
        Ok([tensor(gpu, first, dtype)?, tensor(gpu, second, dtype)?, tensor(gpu, third, dtype)?])
    }
}

/// A step and its Jacobians, as the CPU's [`jacobian::step`](super::jacobian::step) gives them.
pub(super) fn jacobians(plan: &Plan, operands: [&Tensor; 3], warm: Option<&Tensor>) -> Result<[Tensor; 6]> {
    let (gpu, dtype) = (plan.gpu()?, operands[0].dtype());
    let kernel = plan.kernel::<f64>(gpu, Kernel::WarmJacobians)?;
    let none = gpu.zeros::<f64>(plan.structure.n_eta())?.tensor(gpu);
    let [q, u, par] = operands;
    let doubles = doubles(gpu, &[q, u, par, warm.unwrap_or(&none)])?;
    let held: Vec<TensorGuard> = doubles.iter().map(TensorGuard::new).collect();
    let rows = held.iter().map(|held| held.rows::<f64>(gpu)).collect::<Result<Vec<_>>>()?;
    let worlds = worlds("linearize", &rows[..3])?;
    plan.check_warm(Some([rows[3].rows, rows[3].width]), worlds)?;
    let blocks: [Block<f64>; 6] = gpu.run(&kernel, (worlds, 1), None, &rows)?;
    let [a, b, c, d, e, f] = blocks.map(|block| tensor(gpu, block, dtype));
    Ok([a?, b?, c?, d?, e?, f?])
}

/// What the operations of a rollout share: see [`rollout::run`](super::rollout::run).
struct Sweep {
    plan: Arc<Plan>,
    n_steps: usize,
    /// States and forces, until they are the results of [`States`] and [`Forces`].
    results: [Mutex<Option<CudaStorage>>; 2],
    limit_force: Tensor,
    info: Tensor,
    /// The forces, for the states' adjoint.
    force: OnceLock<Tensor>,
}

/// (q₀ (B, nq), u (B, T nu), parameters (1 or B, n)) → q₀ … q_T (B, (T + 1) nq).
struct States(Arc<Sweep>);

/// (q₀ … q_T (B, (T + 1) nq), u (B, T nu), parameters (1 or B, n)) → contact forces (B, T 3 nc).
struct Forces(Arc<Sweep>);

/// States, forces, and the solves' reports, T for each world.
pub(super) fn rollout(
    plan: &Arc<Plan>,
    n_steps: usize,
    [q0, u, par]: [&Tensor; 3],
) -> Result<(Tensor, Tensor, Vec<Report>)> {
    fn of_type<T: Number>(plan: &Arc<Plan>, n_steps: usize, operands: [&Tensor; 3]) -> Result<Sweep> {
        let gpu = plan.gpu()?;
        let held = operands.map(TensorGuard::new);
        let rows = held.iter().map(|held| held.rows::<T>(gpu)).collect::<Result<Vec<_>>>()?;
        let worlds = worlds("rollout", &rows)?;
        let solved = plan.outcome(gpu, Kernel::Rollout, &rows, (worlds, n_steps), (3, 0..n_steps * INFO))?;
        let [states, force, limit_force, info] = solved;
        Ok(Sweep {
            plan: plan.clone(),
            n_steps,
            results: [states, force].map(|block: Block<T>| Mutex::new(Some(block.storage(gpu)))),
            limit_force: limit_force.tensor(gpu),
            info: info.tensor(gpu),
            force: OnceLock::new(),
        })
    }
    let (q0, u, par) = (q0.contiguous()?, u.contiguous()?, par.contiguous()?);
    let sweep = Arc::new(match q0.dtype() {
        DType::F32 => of_type::<f32>(plan, n_steps, [&q0, &u, &par])?,
        _ => of_type::<f64>(plan, n_steps, [&q0, &u, &par])?,
    });
    let states = q0.apply_op3(&u, &par, States(sweep.clone()))?;
    let force = states.apply_op3(&u, &par, Forces(sweep.clone()))?;
    // The copy has no operation of its own, so that nothing refers to itself.
    sweep.force.get_or_init(|| force.detach());
    Ok((states, force, Report::read(&sweep.info)?))
}

impl Sweep {
    /// States or forces, once.
    fn take(&self, which: usize, width: usize) -> Result<(CudaStorage, Shape)> {
        let mut result = self.results[which].lock().map_err(|_| Error::msg("rollout: its results are lost"))?;
        let storage = result.take().ok_or_else(|| Error::msg("rollout: its results have been taken"))?;
        Ok((storage, Shape::from((self.info.dim(0)?, width))))
    }

    /// Gradients in the first operand, which is q₀ or all states, in u and in the parameters.
    fn pull(&self, kernel: Kernel, [u, par]: [&Tensor; 2], [states, force, grad]: [&Tensor; 3]) -> Result<[Tensor; 3]> {
        let Self { plan, n_steps, limit_force, info, .. } = self;
        let gpu = plan.gpu()?;
        let program = plan.kernel::<f64>(gpu, kernel)?;
        let worlds = grad.dim(0)?;
        let tensors = doubles(gpu, &[states, u, par, force, limit_force, info, grad])?;
        let held: Vec<TensorGuard> = tensors.iter().map(TensorGuard::new).collect();
        let rows = held.iter().map(|held| held.rows::<f64>(gpu)).collect::<Result<Vec<_>>>()?;
        let widths: Vec<usize> = plan.result_rows(kernel).iter().map(|row| row.length(*n_steps)).collect();
        let gradients = Gradients::new(gpu, worlds, [widths[0], widths[1], widths[2]], par.dim(0)? == worlds)?;
        for chunk in chunks(worlds) {
            let operands: Vec<Rows<f64>> = rows.iter().map(|rows| rows.of_worlds(chunk.clone())).collect();
            let parts: [Block<f64>; 3] = gpu.run(&program, (chunk.len(), *n_steps), None, &operands)?;
            gradients.add(chunk, parts.each_ref().map(|block| block.rows(gpu)))?;
        }
        gradients.tensors(grad.dtype())
    }
}

/// The gradients of those operands that want them.
fn wanted(operands: [&Tensor; 3], gradients: [Tensor; 3]) -> (Option<Tensor>, Option<Tensor>, Option<Tensor>) {
    let [first, second, third] = gradients;
    let of = |operand: &Tensor, gradient| operand.track_op().then_some(gradient);
    (of(operands[0], first), of(operands[1], second), of(operands[2], third))
}

fn not_here() -> Result<(CpuStorage, Shape)> {
    bail!("rollout: expected tensors on the GPU")
}

impl CustomOp3 for States {
    fn name(&self) -> &'static str {
        "fused-rollout"
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
        not_here()
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
        self.0.take(0, (self.0.n_steps + 1) * self.0.plan.nq)
    }

    fn bwd(
        &self,
        q: &Tensor,
        u: &Tensor,
        par: &Tensor,
        states: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let force = self.0.force.get().ok_or_else(|| Error::msg("rollout: expected the forces before a gradient"))?;
        Ok(wanted([q, u, par], self.0.pull(Kernel::RolloutAdjoint, [u, par], [states, force, grad])?))
    }
}

impl CustomOp3 for Forces {
    fn name(&self) -> &'static str {
        "fused-rollout-forces"
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
        not_here()
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
        self.0.take(1, self.0.n_steps * self.0.plan.n_forces())
    }

    fn bwd(
        &self,
        states: &Tensor,
        u: &Tensor,
        par: &Tensor,
        force: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        Ok(wanted([states, u, par], self.0.pull(Kernel::RolloutForceAdjoint, [u, par], [states, force, grad])?))
    }
}
