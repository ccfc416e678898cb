//! Rollouts on lanes: all steps of a world follow each other in the lane's working memory; the adjoint sweeps back.
//!
//! Forward keeps nothing but the states and the forces: a step's δ is the difference of two states, its η follows from the
//! forces. A row is [q₀ … q_T | forces | limit forces | reports].

use std::sync::Arc;

use candle_core::backend::BackendStorage;
use candle_core::{CpuStorage, CustomOp3, Layout, Result, Shape, Tensor};

use crate::kinematics::{Difference, ManifoldMap};
use crate::math::lane::{Lane, Lockstep, Mask, clear, copy};
use crate::math::program::{Group, Program, Stage, run_on};
use crate::math::rows::{Output, Rows, gradient, storage, worlds};
use crate::math::vector::{axpy, dot, scale};
use crate::solve::{CONTACT, INFO};

use super::memory::Memory;
use super::plan::Plan;
use super::stages::{Load, Operands, at3, put3};

/// (q₀, u, parameters) → rows.
pub(super) struct RolloutOp {
    pub(super) plan: Arc<Plan>,
    pub(super) n_steps: usize,
}

/// Columns of a row.
#[derive(Clone, Copy)]
pub(super) struct Columns {
    nq: usize,
    n_force: usize,
    n_limit: usize,
    n_steps: usize,
}

impl Columns {
    pub(super) fn new(plan: &Plan, n_steps: usize) -> Self {
        Self { nq: plan.nq, n_force: 3 * plan.structure.nc(), n_limit: plan.structure.nl(), n_steps }
    }
    fn state(&self, t: usize) -> usize {
        t * self.nq
    }
    pub(super) fn force(&self, t: usize) -> usize {
        self.state(self.n_steps + 1) + t * self.n_force
    }
    fn limit(&self, t: usize) -> usize {
        self.force(self.n_steps) + t * self.n_limit
    }
    pub(super) fn info(&self, t: usize) -> usize {
        self.limit(self.n_steps) + t * INFO
    }
    fn width(&self) -> usize {
        self.info(self.n_steps)
    }
}

struct Forward<'a> {
    plan: &'a Plan,
    operands: Operands<'a>,
    columns: Columns,
}

impl Program for Forward<'_> {
    fn scratch(&self) -> usize {
        self.plan.places.solve.work.end()
    }

    fn group(&self, group: &mut Group) {
        let Self { plan, operands, columns } = self;
        group.run(&Load { plan, operands });
        for t in 0..columns.n_steps {
            group.run(&Enter { forward: self, t });
            plan.prepare(group);
            plan.solve(group, t > 0);
            group.run(&Leave { forward: self, t });
        }
    }
}

/// q of step t from the step before, u from the controls; writes the state.
struct Enter<'a> {
    forward: &'a Forward<'a>,
    t: usize,
}

impl Stage for Enter<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, memory: &mut [R], out: &mut Output) {
        let Forward { plan, operands, columns } = self.forward;
        let m = plan.places.memory(memory).0.numbers;
        if self.t > 0 {
            copy(m.q, m.q_next);
            operands.u.load_all(first, self.t * plan.nu, m.u);
        }
        out.store_all(first, columns.state(self.t), m.q);
    }
}

/// Writes what step t has given.
struct Leave<'a> {
    forward: &'a Forward<'a>,
    t: usize,
}

impl Stage for Leave<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, memory: &mut [R], out: &mut Output) {
        let Forward { plan, columns, .. } = self.forward;
        let Memory { numbers: m, work } = plan.places.memory(memory).0;
        out.store_all(first, columns.state(self.t + 1), m.q_next);
        out.store_all(first, columns.force(self.t), m.force);
        out.store_all(first, columns.limit(self.t), &work.eta[columns.n_force..]);
        out.store_all(first, columns.info(self.t), work.info);
    }
}

struct Backward<'a> {
    forward: Forward<'a>,
    result: Rows<'a>,
    grad: Rows<'a>,
}

impl Program for Backward<'_> {
    fn scratch(&self) -> usize {
        self.forward.plan.places.gradients.end()
    }

    fn group(&self, group: &mut Group) {
        let Forward { plan, operands, columns } = &self.forward;
        group.run(&Load { plan, operands });
        for t in (0..columns.n_steps).rev() {
            group.run(&Revisit { backward: self, t });
            plan.prepare(group);
            group.run(&Recover(plan));
            plan.factor(group);
            plan.pull(group);
            group.run(&Collect { backward: self, t });
        }
    }
}

/// State, control and result of step t.
struct Revisit<'a> {
    backward: &'a Backward<'a>,
    t: usize,
}

impl Stage for Revisit<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, memory: &mut [R], _: &mut Output) {
        let Backward { forward: Forward { plan, operands, columns }, result, grad } = self.backward;
        let (Memory { numbers: m, work }, to) = plan.places.both(memory);
        result.load_all(first, columns.state(self.t), m.q);
        result.load_all(first, columns.state(self.t + 1), m.q_next);
        result.load_all(first, columns.force(self.t), m.force);
        result.load_all(first, columns.limit(self.t), &mut work.eta[columns.n_force..]);
        result.load_all(first, columns.info(self.t), work.info);
        operands.u.load_all(first, self.t * plan.nu, m.u);
        if self.t + 1 == columns.n_steps {
            clear(to.carry);
            clear(to.par_sum);
        }
        clear(to.delta);
        clear(to.geometry);
        grad.load_all(first, columns.state(self.t + 1), to.q_next);
        grad.load_all(first, columns.force(self.t), to.force);
        grad.load_all(first, columns.limit(self.t), to.limit);
        for (value, &carry) in to.q_next.iter_mut().lockstep(to.carry.iter()) {
            *value += carry;
        }
    }
}

/// δ and η of the step from its states and forces.
struct Recover<'a>(&'a Plan);

impl Stage for Recover<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let plan = self.0;
        let Memory { numbers: m, work } = plan.places.memory(memory).0;
        Difference::value(&plan.charts, m.q, m.q_next, m.delta);
        for c in 0..plan.structure.nc() {
            let contact = &m.contacts[CONTACT * c..];
            let (n, mu, force) = (at3(contact, 0), contact[10], at3(m.force, 3 * c));
            let slippery = mu.gt(R::zero()).not();
            let inverse = R::select(slippery, R::zero(), R::one() / R::select(slippery, R::one(), mu));
            let along = dot(n, force);
            put3(work.eta, 3 * c, axpy(along * (R::one() - inverse), n, scale(inverse, force)));
        }
        plan.place_delta(m.delta, work.delta);
    }
}

/// Writes the gradient of u at step t, carries that of q on and sums those of the parameters.
struct Collect<'a> {
    backward: &'a Backward<'a>,
    t: usize,
}

impl Stage for Collect<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, memory: &mut [R], out: &mut Output) {
        let Backward { forward: Forward { plan, columns, .. }, grad, .. } = self.backward;
        let (_, to) = plan.places.both(memory);
        copy(to.carry, to.q);
        for (sum, &grad) in to.par_sum.iter_mut().lockstep(to.par.iter()) {
            *sum += grad;
        }
        out.store_all(first, plan.nq + self.t * plan.nu, to.u);
        if self.t == 0 {
            for (k, &carry) in to.carry.iter().enumerate() {
                out.store(first, k, carry + grad.load(first, k));
            }
            out.store_all(first, plan.nq + columns.n_steps * plan.nu, to.par_sum);
        }
    }
}

impl CustomOp3 for RolloutOp {
    fn name(&self) -> &'static str {
        "fused-rollout"
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
        let dtype = q.dtype();
        let (q, u, par) = (Rows::from_storage(q, l1)?, Rows::from_storage(u, l2)?, Rows::from_storage(par, l3)?);
        let b = worlds("rollout", &[&q, &u, &par])?;
        let columns = Columns::new(&self.plan, self.n_steps);
        let operands = Operands { q, u, par, warm: None };
        let data = run_on(self.plan.set, &Forward { plan: &self.plan, operands, columns }, b, columns.width());
        Ok((storage(data, dtype)?, Shape::from((b, columns.width()))))
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
        let (b, dtype) = (grad.dim(0)?, grad.dtype());
        let operands =
            Operands { q: Rows::from_tensor(q)?, u: Rows::from_tensor(u)?, par: Rows::from_tensor(par)?, warm: None };
        let par_rows = operands.par.rows();
        let columns = Columns::new(plan, self.n_steps);
        let program = Backward {
            forward: Forward { plan, operands, columns },
            result: Rows::from_tensor(result)?,
            grad: Rows::from_tensor(grad)?,
        };
        let controls = plan.nq..plan.nq + self.n_steps * plan.nu;
        let n = controls.end + plan.at.n;
        let data = run_on(plan.set, &program, b, n);
        let of = |operand: &Tensor, columns, rows| {
            operand.track_op().then(|| gradient(&data, n, columns, rows, dtype)).transpose()
        };
        Ok((of(q, 0..plan.nq, b)?, of(u, controls.clone(), b)?, of(par, controls.end..n, par_rows)?))
    }
}
