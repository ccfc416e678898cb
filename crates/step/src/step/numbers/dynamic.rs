//! The second-order step on plain numbers: steps, Jacobians, rollouts and their gradients.

use candle_core::{DType, Device, Result, Tensor, bail};

use super::{GradientNumbers, StepCotangent, StepNumbers, columns, count, expect, mark, split};
use crate::solve::Report;
use crate::step::Dynamic;
use crate::step::fused;
use crate::tensor::rows::TensorGuard;

/// A second-order step of B worlds and its Jacobians. The state is x = (q, v), its changes are tangent: 2 nv numbers.
#[derive(Clone, Debug)]
pub struct DynamicJacobians {
    /// The step that is linearised: its results at x.
    pub step: StepNumbers,
    /// A = ∂x₊/∂x (B, 2 nv, 2 nv).
    pub a: Vec<f64>,
    /// B = ∂x₊/∂τ (B, 2 nv, nv).
    pub b: Vec<f64>,
    /// C, the derivatives of the contact forces in world axes by x (B, 3 nc, 2 nv), N.
    pub c: Vec<f64>,
    /// D, those by τ (B, 3 nc, nv).
    pub d: Vec<f64>,
}

/// T second-order steps of B worlds on plain numbers.
#[derive(Clone, Debug)]
pub struct DynamicRollout {
    /// q₀ … q_T (B, T + 1, nq), m and rad.
    pub q: Vec<f64>,
    /// v₀ … v_T (B, T + 1, nv), m/s and rad/s.
    pub v: Vec<f64>,
    /// Force on B of each contact in world axes (B, T, nc, 3), N.
    pub force: Vec<f64>,
    /// Status, iterations and residual of the contact solve of each step of each world (B, T).
    pub reports: Vec<Report>,
    /// The steps, which the gradients read.
    steps: Vec<StepNumbers>,
}

impl DynamicRollout {
    /// The number of steps T.
    pub fn n_steps(&self) -> usize {
        self.steps.len()
    }
}

/// Item `t` of each world, where rows of all worlds have `n` items of `width` numbers.
fn item(rows: &[f64], n: usize, width: usize, t: usize) -> Vec<f64> {
    columns(rows, (n * width).max(1), t * width..(t + 1) * width)
}

/// Rows (B, T, width) of what each of T steps has of all worlds (B, width).
fn by_world<T: Clone>(steps: &[Vec<T>], worlds: usize) -> Vec<T> {
    let own = |world: usize| {
        steps.iter().flat_map(move |step| {
            let width = step.len() / worlds;
            step[world * width..(world + 1) * width].to_vec()
        })
    };
    (0..worlds).flat_map(own).collect()
}

impl Dynamic {
    /// One second-order step with the barrier's contact from q (B, nq) and v (B, nv) under τ (B, nv), on plain numbers.
    /// The solve starts from `warm`, or cold if that is empty. The numbers are those of [`Dynamic::step_from`].
    ///
    /// # Errors
    /// If contact is not the barrier's, the model is on a GPU or its numbers are not `f64`, or a length differs from
    /// these.
    pub fn step_numbers(&self, q: &[f64], v: &[f64], tau: &[f64], warm: &[f64]) -> Result<StepNumbers> {
        let (b, motion) = self.motion(q, v, tau)?;
        expect("warm", warm, b, self.plan.row().warm.len(), true)?;
        let par = TensorGuard::new(&self.par);
        let rows = fused::step_rows(&self.plan, [q, &motion, warm], par.rows()?, b)?;
        Ok(StepNumbers { mark: mark([q, &motion]), ..StepNumbers::of_rows(&self.plan, rows) })
    }

    /// Gradients by q, by v and τ side by side, and by all parameters, as
    /// [`Quasidynamic::vjp`](crate::step::Quasidynamic::vjp).
    ///
    /// # Errors
    /// As [`Dynamic::step_numbers`], or if a cotangent has another length than it should.
    pub fn vjp(&self, [q, v, tau]: [&[f64]; 3], step: &StepNumbers, by: &StepCotangent) -> Result<GradientNumbers> {
        let (b, motion) = self.motion(q, v, tau)?;
        let model = self.model();
        expect("step: rows of this model", &step.rows, b, self.plan.row().info.end, false)?;
        step.check_mark([q, &motion])?;
        by.check([model.nq(), model.nv(), model.nc(), model.pairs.torsional.len()], b)?;
        let par = TensorGuard::new(&self.par);
        let plan = &self.plan;
        let rows = fused::step_adjoint(plan, [q, &motion], par.rows()?, [&step.rows, &by.rows(plan, b)], b)?;
        split(plan, &rows, self.parameters())?.with_own(by)
    }

    /// A step and its Jacobians, for methods that plan with the state (q, v). They cost as much as 2 nv + 3 nc
    /// gradients: see [`Dynamic::linearize`].
    ///
    /// In worlds without a solution q₊ = q and v₊ = 0.
    ///
    /// # Errors
    /// As [`Dynamic::step_numbers`].
    pub fn linearize_numbers(&self, q: &[f64], v: &[f64], tau: &[f64], warm: &[f64]) -> Result<DynamicJacobians> {
        let step = self.step_numbers(q, v, tau, warm)?;
        let (worlds, motion) = self.motion(q, v, tau)?;
        let tensor = |rows: &[f64]| Tensor::from_slice(rows, (worlds, rows.len() / worlds), &Device::Cpu);
        let parts = self.pulled(&tensor(q)?, &tensor(&motion)?, &tensor(&step.rows)?)?;
        let [a, b, c, d] = parts.each_ref().map(crate::tensor::numbers);
        Ok(DynamicJacobians { step, a: a?, b: b?, c: c?, d: d? })
    }

    /// T steps from q₀ (B, nq) and v₀ (B, nv) under τ (B, T, nv). Each solve starts from the forces of the step before.
    ///
    /// # Errors
    /// As [`Dynamic::step_numbers`], or if there is no step.
    pub fn rollout_numbers(&self, q0: &[f64], v0: &[f64], tau: &[f64], n_steps: usize) -> Result<DynamicRollout> {
        if n_steps == 0 {
            bail!("rollout: expected at least 1 step, got 0");
        }
        let (nq, nv) = (self.model().nq(), self.model().nv());
        let worlds = count("rollout: q0", q0, nq)?;
        expect("rollout: v0", v0, worlds, nv, false)?;
        expect("rollout: tau", tau, worlds, n_steps * nv, false)?;
        let (mut q, mut v, mut steps) = (vec![q0.to_vec()], vec![v0.to_vec()], Vec::<StepNumbers>::new());
        for t in 0..n_steps {
            let warm = steps.last().map_or(&[][..], |step| &step.warm);
            let step = self.step_numbers(&q[t], &v[t], &item(tau, n_steps, nv, t), warm)?;
            q.push(step.q_next.clone());
            v.push(step.v_next.clone());
            steps.push(step);
        }
        let of = |f: fn(&StepNumbers) -> Vec<f64>| by_world(&steps.iter().map(f).collect::<Vec<_>>(), worlds);
        let reports: Vec<_> = steps.iter().map(|step| step.reports.clone()).collect();
        Ok(DynamicRollout {
            q: by_world(&q, worlds),
            v: by_world(&v, worlds),
            force: of(|step| step.force.clone()),
            reports: by_world(&reports, worlds),
            steps,
        })
    }

    /// Gradients by q₀, by v₀, by τ (B, T, nv) and by all parameters of a cost whose gradients by the states q₀ … q_T
    /// (B, T + 1, nq), v₀ … v_T (B, T + 1, nv) and the contact forces (B, T, nc, 3) are given; any may be empty.
    /// `rollout` is that of [`Dynamic::rollout_numbers`] at the same τ. [`GradientNumbers::u`] has v₀'s (B, nv), then
    /// τ's.
    ///
    /// # Errors
    /// As [`Dynamic::vjp`].
    pub fn rollout_vjp(
        &self,
        tau: &[f64],
        rollout: &DynamicRollout,
        [by_q, by_v, by_force]: [&[f64]; 3],
    ) -> Result<GradientNumbers> {
        let model = self.model();
        let (nq, nv, n_force, n_steps) = (model.nq(), model.nv(), 3 * model.nc(), rollout.n_steps());
        let worlds = count("rollout: q", &rollout.q, (n_steps + 1) * nq)?;
        expect("rollout: tau", tau, worlds, n_steps * nv, false)?;
        expect("gradient by q", by_q, worlds, (n_steps + 1) * nq, true)?;
        expect("gradient by v", by_v, worlds, (n_steps + 1) * nv, true)?;
        expect("gradient by force", by_force, worlds, n_steps * n_force, true)?;
        let at = |rows: &[f64], n: usize, width: usize, t: usize| match rows {
            [] => vec![0.0; worlds * width],
            rows => item(rows, n, width, t),
        };
        let (mut q, mut v) = (at(by_q, n_steps + 1, nq, n_steps), at(by_v, n_steps + 1, nv, n_steps));
        let mut parameters: Option<Vec<Vec<f64>>> = None;
        let mut by_tau = vec![Vec::new(); n_steps];
        for t in (0..n_steps).rev() {
            let force = at(by_force, n_steps, n_force, t);
            let by = StepCotangent { q_next: &q, v_next: &v, force: &force, ..StepCotangent::default() };
            let state = [item(&rollout.q, n_steps + 1, nq, t), item(&rollout.v, n_steps + 1, nv, t)];
            let pulled = self.vjp([&state[0], &state[1], &item(tau, n_steps, nv, t)], &rollout.steps[t], &by)?;
            let sum = |a: Vec<f64>, b: Vec<f64>| a.iter().zip(b).map(|(a, b)| a + b).collect::<Vec<_>>();
            q = sum(pulled.q, at(by_q, n_steps + 1, nq, t));
            v = sum(item(&pulled.u, 2, nv, 0), at(by_v, n_steps + 1, nv, t));
            by_tau[t] = item(&pulled.u, 2, nv, 1);
            parameters = Some(match parameters {
                None => pulled.parameters,
                Some(later) => later.into_iter().zip(pulled.parameters).map(|(a, b)| sum(a, b)).collect(),
            });
        }
        v.extend(by_world(&by_tau, worlds));
        Ok(GradientNumbers { q, u: v, parameters: parameters.unwrap_or_default() })
    }

    /// Checks the lengths of q, v and τ; returns the number of worlds, and v and τ side by side in each world's row.
    pub(super) fn motion(&self, q: &[f64], v: &[f64], tau: &[f64]) -> Result<(usize, Vec<f64>)> {
        self.programs(fused::Kernel::Step)?;
        self.on_cpu("plain numbers")?;
        let (nq, nv) = (self.model().nq(), self.model().nv());
        if self.model().dtype != DType::F64 {
            bail!("plain numbers: expected a model of F64, got {:?}", self.model().dtype);
        }
        let b = count("dynamic step: q", q, nq)?;
        expect("dynamic step: v", v, b, nv, false)?;
        expect("dynamic step: tau", tau, b, nv, false)?;
        let sides = v.chunks_exact(nv.max(1)).zip(tau.chunks_exact(nv.max(1)));
        Ok((b, sides.flat_map(|(v, tau)| v.iter().chain(tau)).copied().collect()))
    }
}
