//! One fused step as a differentiable tensor operation.

use std::sync::Arc;

#[cfg(feature = "cuda")]
use candle_core::CudaStorage;
use candle_core::backend::BackendStorage;
use candle_core::{CpuStorage, CustomOp3, Layout, Result, Shape, Tensor};

use crate::math::program::{Group, Program};
use crate::math::rows::{Rows, gradient, storage, worlds};
use crate::math::tensor::cpu_numbers;
#[cfg(feature = "cuda")]
use crate::math::tensor::cuda_numbers;
use crate::solve::{INFO, Start};

use super::adjoint::{Recall, StoreGradients};
use super::plan::Plan;
use super::record::Kernel;
use super::single::{is_solved, solve_all};
use super::stages::{Load, Operands, Store};

/// (q, u, parameters) → a step's row.
pub(super) struct StepOp {
    pub(super) plan: Arc<Plan>,
    /// An answer is the row itself.
    pub(super) start: Start,
}

/// One step.
pub(super) struct Forward<'a> {
    pub(super) plan: &'a Plan,
    pub(super) operands: &'a Operands<'a>,
}

impl Program for Forward<'_> {
    fn scratch(&self) -> usize {
        self.plan.places.solve.work.end()
    }

    fn group(&self, group: &mut Group) {
        let Self { plan, operands } = self;
        group.run_in_either(&Load { plan, operands });
        plan.prepare(group);
        plan.solve(group, operands.warm.is_some());
        group.run_in_either(&Store(plan));
    }
}

/// Its adjoint, given its result and the gradient of that.
pub(super) struct Backward<'a> {
    pub(super) plan: &'a Plan,
    pub(super) operands: Operands<'a>,
    pub(super) result: Rows<'a>,
    pub(super) grad: Rows<'a>,
}

impl Program for Backward<'_> {
    fn scratch(&self) -> usize {
        self.plan.places.gradients.end()
    }

    fn group(&self, group: &mut Group) {
        let Self { plan, operands, result, grad } = self;
        group.run(&Load { plan, operands });
        plan.prepare(group);
        group.run(&Recall { plan, result, grad });
        plan.factor(group, false);
        plan.pull(group);
        group.run(&StoreGradients(plan));
    }
}

impl CustomOp3 for StepOp {
    fn name(&self) -> &'static str {
        "fused-step"
    }

    fn cpu_fwd(
        &self,
        q: &CpuStorage,
        l1: &Layout,
        u: &CpuStorage,
        l2: &Layout,
        par: &CpuStorage,
        l3: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (plan, dtype) = (&*self.plan, q.dtype());
        let warm = match &self.start {
            Start::Forces(warm) => warm.as_ref().map(Rows::from_tensor).transpose()?,
            Start::Answer(rows) => return cpu_numbers(rows),
        };
        let (q, u, par) = (Rows::from_storage(q, l1)?, Rows::from_storage(u, l2)?, Rows::from_storage(par, l3)?);
        let b = worlds("fused step", &[&q, &u, &par])?;
        plan.check_warm(warm.as_ref().map(|warm| [warm.rows(), warm.width()]), b)?;
        let width = plan.n_row();
        let none = plan.no_forces();
        let program = |operands: &Operands, arithmetic, b| {
            let program = Forward { plan, operands };
            plan.run_kernel(Kernel::WarmStep, arithmetic, &program, &operands.rows(&none), (b, 1), [width])
        };
        let solved = |[rows]: &[Vec<f64>; 1], world: usize| is_solved(&rows[world * width..][width - INFO..width]);
        let operands = Operands { q, u, par, warm };
        let [data] = solve_all(plan.arithmetic(dtype), b, &operands, [width], program, solved)?;
        Ok((storage(data, dtype)?, Shape::from((b, width))))
    }

    #[cfg(feature = "cuda")]
    fn cuda_fwd(
        &self,
        q: &CudaStorage,
        l1: &Layout,
        u: &CudaStorage,
        l2: &Layout,
        par: &CudaStorage,
        l3: &Layout,
    ) -> Result<(CudaStorage, Shape)> {
        match &self.start {
            Start::Forces(warm) => super::cuda::step(&self.plan, [(q, l1), (u, l2), (par, l3)], warm.as_ref()),
            Start::Answer(rows) => cuda_numbers(rows),
        }
    }

    fn bwd(
        &self,
        q: &Tensor,
        u: &Tensor,
        par: &Tensor,
        result: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let plan = &*self.plan;
        #[cfg(feature = "cuda")]
        if q.device().is_cuda() {
            return super::cuda::step_adjoint(plan, [q, u, par], result, grad);
        }
        let (b, dtype) = (grad.dim(0)?, grad.dtype());
        let operands =
            Operands { q: Rows::from_tensor(q)?, u: Rows::from_tensor(u)?, par: Rows::from_tensor(par)?, warm: None };
        let par_rows = operands.par.rows();
        let program = Backward { plan, operands, result: Rows::from_tensor(result)?, grad: Rows::from_tensor(grad)? };
        let n = plan.n_gradient();
        let Backward { operands: Operands { q: q_rows, u: u_rows, par: all, .. }, result, grad, .. } = &program;
        let rows = [q_rows, u_rows, all, result, grad];
        let [data] = plan.run_kernel(Kernel::Adjoint, plan.set.into(), &program, &rows, (b, 1), [n])?;
        let of = |operand: &Tensor, columns, rows| {
            operand.track_op().then(|| gradient(&data, n, columns, rows, dtype)).transpose()
        };
        let controls = plan.nq..plan.nq + plan.nu;
        Ok((of(q, 0..plan.nq, b)?, of(u, controls.clone(), b)?, of(par, controls.end..n, par_rows)?))
    }
}
