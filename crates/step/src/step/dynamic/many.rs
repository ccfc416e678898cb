//! Many second-order steps, and the Jacobians of one, as tensor operations on the model's device.

use candle_core::{Result, Tensor, Var, bail};

use super::{ContactModel, Dynamic, DynamicStep};
use crate::solve::{Report, Start};
use crate::step::fused;
use crate::step::operands::worlds_with_usable_q;
use crate::tensor::{COPIES, part};

/// A batch of trajectories with momentum, the result of [`Dynamic::rollout`].
#[derive(Clone, Debug)]
pub struct DynamicTrajectory {
    /// Configurations q₀ … q_T (B, T + 1, nq), m and rad. Differentiable under [`ContactModel::Barrier`], as all
    /// tensors here.
    pub q: Tensor,
    /// Velocities v₀ … v_T (B, T + 1, nv), m/s and rad/s.
    pub v: Tensor,
    /// Contact forces on B of each contact in world axes (B, T, nc, 3), N.
    pub force: Tensor,
    /// Torques on B of the contacts with torsional friction (B, T, n), N·m, as in [`DynamicStep::torque`].
    pub torque: Tensor,
    /// The reports of all solves, step by step: T rows of B.
    pub reports: Vec<Vec<Report>>,
}

/// First derivatives of a second-order step. The state is x = (q, v), its changes are tangent: 2 nv numbers. The
/// tensors have no gradients.
#[derive(Clone, Debug)]
pub struct DynamicLinearization {
    /// The step that is linearised: its results at x.
    pub step: DynamicStep,
    /// A = ∂x₊/∂x (B, 2 nv, 2 nv).
    pub a: Tensor,
    /// B = ∂x₊/∂τ (B, 2 nv, nv).
    pub b: Tensor,
    /// C, the derivatives of the contact forces in world axes by x (B, 3 nc, 2 nv), N.
    pub c: Tensor,
    /// D, those by τ (B, 3 nc, nv).
    pub d: Tensor,
}

impl Dynamic {
    /// T steps from q₀ (B, nq) and v₀ (B, nv) under τ (B, T, nv), N·m or N. Each solve starts from the forces of the
    /// step before.
    ///
    /// Under [`ContactModel::Barrier`] gradients reach q₀, v₀, τ and every tracked parameter of the step. The graph
    /// keeps each step's results.
    ///
    /// # Errors
    /// As [`Dynamic::step`], or if there is no step.
    pub fn rollout(&self, q0: &Tensor, v0: &Tensor, tau: &Tensor) -> Result<DynamicTrajectory> {
        let n_steps = match tau.dims() {
            [_, t, _] if *t > 0 => *t,
            other => bail!(
                "dynamic rollout: expected tau (B, T, {}) with at least one step, got {other:?}",
                self.model().nv()
            ),
        };
        let (mut q, mut v, mut warm) = (vec![q0.clone()], vec![v0.clone()], None);
        let (mut force, mut torque, mut reports) = (Vec::new(), Vec::new(), Vec::new());
        for t in 0..n_steps {
            let step = self.step_from(&q[t], &v[t], &tau.narrow(1, t, 1)?.squeeze(1)?, warm.as_ref())?;
            q.push(step.q_next);
            v.push(step.v_next);
            force.push(step.force);
            torque.push(step.torque);
            reports.push(step.reports);
            warm = step.warm;
        }
        let [q, v, force, torque] = [&q, &v, &force, &torque].map(|of| Tensor::stack(of, 1));
        Ok(DynamicTrajectory { q: q?, v: v?, force: force?, torque: torque?, reports })
    }

    /// The derivatives of q₊, v₊ and the contact forces by q, v and τ, at q (B, nq), v (B, nv) and τ (B, nv); the solve
    /// starts from a nearby step's forces, [`DynamicStep::warm`], if they are given.
    ///
    /// They are sweeps back over 2 nv + 3 nc copies of each world, as many as there are results. In worlds without a
    /// solution q₊ = q and v₊ = 0; if a number is not usable, q₊ is the model's home and all derivatives are zero.
    ///
    /// # Errors
    /// As [`Dynamic::step_from`], or if contact is not the barrier's.
    pub fn linearize(
        &self,
        q: &Tensor,
        v: &Tensor,
        tau: &Tensor,
        warm: Option<&Tensor>,
    ) -> Result<DynamicLinearization> {
        self.check(q, v, tau)?;
        if self.contact_model() != ContactModel::Barrier {
            bail!("linearize: expected a second-order step with the barrier's contact");
        }
        let (q, motion) = (q.detach(), Tensor::cat(&[&v.detach(), &tau.detach()], 1)?);
        let answer = fused::rows(&self.plan, [&q, &motion, &self.par.detach()], Start::forces(warm))?;
        let [a, b, c, d] = self.pulled(&q, &motion, &answer)?;
        Ok(DynamicLinearization { step: self.read(&answer)?, a, b, c, d })
    }

    /// A, B, C, D of steps at their answers, from q, v and τ side by side, and the steps' rows.
    pub(in crate::step) fn pulled(&self, q: &Tensor, motion: &Tensor, answer: &Tensor) -> Result<[Tensor; 4]> {
        let (worlds, nv, n_force) = (q.dim(0)?, self.model().nv(), 3 * self.model().nc());
        let n = 2 * nv + n_force;
        let usable = match worlds_with_usable_q(self.model(), &self.plan.structure.kernels, q)? {
            Some(mask) => mask.broadcast_as(q.shape())?.where_cond(q, &self.model().home(worlds)?)?,
            None => q.clone(),
        };
        let together = (COPIES / n.max(1)).max(1);
        let (mut by_x, mut by_tau) = (Vec::new(), Vec::new());
        for first in (0..worlds).step_by(together) {
            let len = together.min(worlds - first);
            let copies = |t: &Tensor| {
                let width = t.dim(1)?;
                let own = t.detach().narrow(0, first, len)?.unsqueeze(1)?;
                own.broadcast_as((len, n, width))?.reshape((len * n, width))
            };
            let par = if self.par.dim(0)? == 1 { self.par.detach() } else { copies(&self.par)? };
            let answer = copies(answer)?;
            let operands = [&*Var::from_tensor(&copies(q)?)?, &*Var::from_tensor(&copies(motion)?)?, &par];
            let [by_q, by_motion, _] = fused::vjp(&self.plan, operands, &answer, &self.seeds(&answer, len)?)?;
            let (Some(by_q), Some(by_motion)) = (by_q, by_motion) else { bail!("linearize: expected gradients") };
            let by_q = self.manifold.to_tangent(&copies(&usable)?, &by_q)?;
            let of_x = Tensor::cat(&[&by_q, &by_motion.narrow(1, 0, nv)?], 1)?;
            by_x.push(of_x.reshape((len, n, 2 * nv))?);
            by_tau.push(by_motion.narrow(1, nv, nv)?.contiguous()?.reshape((len, n, nv))?);
        }
        let (by_x, by_tau) = (Tensor::cat(&by_x, 0)?, Tensor::cat(&by_tau, 0)?);
        Ok([
            by_x.narrow(1, 0, 2 * nv)?.contiguous()?,
            by_tau.narrow(1, 0, 2 * nv)?.contiguous()?,
            part(&by_x, 1, 2 * nv, n_force)?.contiguous()?,
            part(&by_tau, 1, 2 * nv, n_force)?.contiguous()?,
        ])
    }

    /// Gradients of the rows of so many worlds, each there once for every number of δ, v₊ and the contact forces: of
    /// that number alone.
    fn seeds(&self, rows: &Tensor, worlds: usize) -> Result<Tensor> {
        let (nv, row) = (self.model().nv(), self.plan.row());
        let n = 2 * nv + row.force.len();
        let seeds = Tensor::eye(n, rows.dtype(), rows.device())?;
        let seeds = seeds.unsqueeze(0)?.broadcast_as((worlds, n, n))?.reshape((worlds * n, n))?;
        let q_next = part(rows, 1, row.q_next.start, row.q_next.len())?.contiguous()?;
        let of_q = self.manifold.from_tangent(&q_next, &seeds.narrow(1, 0, nv)?.contiguous()?)?;
        let zeros = |width: usize| Tensor::zeros((worlds * n, width), rows.dtype(), rows.device());
        let rest = seeds.narrow(1, nv, n - nv)?;
        Tensor::cat(&[&of_q, &zeros(row.delta.len())?, &rest, &zeros(row.info.end - row.force.end)?], 1)
    }
}
