//! Many steps as one node of the graph.
//!
//! A rollout of T steps is a single differentiable operation with its own adjoint sweep. Forward it keeps only the
//! states, the controls and the solutions. Backward it goes from the last step to the first and rebuilds each step's
//! graph from them. Memory is O(B T (nq + nu + nv + n_forces)), and there is no recursion over steps. In the fused form
//! the forces are a second node over the same forward sweep. With one node for both, candle would pad each gradient to
//! the size of states and forces together.
//!
//! A rollout of a step with its own [geometry](crate::step::Geometry) keeps the graph of all steps, so that gradients
//! reach the tensors inside the geometry.

use candle_core::{Result, Tensor, Var, bail};

use super::quasidynamic::Quasidynamic;
pub use super::result::Rollout;
use crate::parameters::Parameters;
use crate::solve::{Report, Start};
use crate::tensor::known::{Adjoint, Known, numbers, wanted};
use crate::tensor::{finite_or_zero, part};

/// T steps from q₀ (B, nq) under the controls u (B, T, nu), rad or m. Each solve starts from the forces of the step
/// before.
///
/// Gradients of `q` and `force` reach q₀, u and every tracked parameter of the step.
///
/// # Errors
/// If a shape or type differs from these. A world without a solution keeps its configuration: see [`Rollout::reports`].
pub fn rollout(step: &Quasidynamic, q0: &Tensor, u: &Tensor) -> Result<Rollout> {
    let (nq, nu, nc, n_torsional) =
        (step.model().nq(), step.model().nu(), step.model().nc(), step.model().pairs.torsional.len());
    let (worlds, n_steps) = match (q0.dims(), u.dims()) {
        (&[b, n], &[c, t, m]) if b == c && n == nq && m == nu && b > 0 && t > 0 => (b, t),
        (q, u) => bail!(
            "rollout: expected q₀ (B, {nq}) and u (B, T, {nu}) with the same B ≥ 1 and at least one step, got {q:?} and \
             {u:?}"
        ),
    };
    step.check(q0, &u.narrow(1, 0, 1)?.squeeze(1)?)?;
    if let Some(fused) = step.fused_rollout(q0, u)? {
        return Ok(fused);
    }
    if step.has_own_geometry() {
        return step_by_step(step, q0, u);
    }
    let packed = Packed::new(step.parameters())?;
    let detached = step.with_parameters(&step.parameters().map(|_, t| Ok(t.detach()))?)?;
    let parameters = packed.values.clone();
    let (sweep, rows, reports) = Sweep::run(detached, packed, &q0.detach(), &u.detach())?;
    let rows = Known::tensor(sweep, [q0, u, &parameters], numbers(&rows)?)?;
    let n_states = (n_steps + 1) * nq;
    Ok(Rollout {
        q: rows.narrow(1, 0, n_states)?.reshape((worlds, n_steps + 1, nq))?,
        force: part(&rows, 1, n_states, n_steps * 3 * nc)?.reshape((worlds, n_steps, nc, 3))?,
        torque: part(&rows, 1, n_states + n_steps * 3 * nc, n_steps * n_torsional)?.reshape((
            worlds,
            n_steps,
            n_torsional,
        ))?,
        reports,
    })
}

/// With the graph of every step, so that gradients reach the tensors inside a geometry.
fn step_by_step(step: &Quasidynamic, q0: &Tensor, u: &Tensor) -> Result<Rollout> {
    let n_steps = u.dim(1)?;
    let (mut states, mut forces, mut torques, mut reports) = (vec![q0.clone()], Vec::new(), Vec::new(), Vec::new());
    let mut warm = None;
    for t in 0..n_steps {
        let result = step.step_from(&states[t], &u.narrow(1, t, 1)?.squeeze(1)?, warm.as_ref())?;
        states.push(result.q_next);
        forces.push(result.force);
        torques.push(result.torque);
        reports.push(result.reports);
        warm = Some(result.warm);
    }
    let [q, force, torque] = [&states, &forces, &torques].map(|of| Tensor::stack(of, 1));
    Ok(Rollout { q: q?, force: force?, torque: torque?, reports })
}

/// The tracked parameters that are not empty, side by side in one row.
struct Packed {
    /// (1 or B, n); one zero if nothing is tracked.
    values: Tensor,
    /// Name and width of each.
    parts: Vec<(&'static str, usize)>,
}

impl Packed {
    fn new(parameters: &Parameters) -> Result<Self> {
        let is_wanted = |(_, t): &(&str, &Tensor)| t.track_op() && t.elem_count() > 0;
        let tracked: Vec<(&'static str, &Tensor)> =
            Parameters::NAMES.iter().copied().zip(parameters.tensors()).filter(is_wanted).collect();
        let Some(rows) = tracked.iter().map(|(_, t)| t.dim(0)).collect::<Result<Vec<_>>>()?.into_iter().max() else {
            return Ok(Self { values: parameters.h.zeros_like()?, parts: Vec::new() });
        };
        let parts = tracked.iter().map(|(name, t)| Ok((*name, t.dim(1)?))).collect::<Result<Vec<_>>>()?;
        let wide = tracked.iter().map(|(_, t)| t.broadcast_as((rows, t.dim(1)?))).collect::<Result<Vec<_>>>()?;
        Ok(Self { values: Tensor::cat(&wide, 1)?, parts })
    }

    /// The parameters with the packed ones taken from `values`.
    fn unpack(&self, parameters: &Parameters, values: &Tensor) -> Result<Parameters> {
        let mut at = 0;
        let starts: Vec<(&str, usize, usize)> = self
            .parts
            .iter()
            .map(|&(name, width)| {
                at += width;
                (name, at - width, width)
            })
            .collect();
        parameters.map(|name, own| match starts.iter().find(|part| part.0 == name) {
            Some(&(_, start, width)) => values.narrow(1, start, width)?.contiguous(),
            None => Ok(own.clone()),
        })
    }
}

/// A finished rollout, for the backward sweep.
struct Sweep {
    step: Quasidynamic,
    packed: Packed,
    /// The states, and the solution of the step from each of them.
    states: Vec<Tensor>,
    controls: Vec<Tensor>,
    answers: Vec<Tensor>,
}

impl Sweep {
    /// The rollout; its results side by side (B, (T + 1) nq + 3 T nc + T n_torsional): states, then forces, then
    /// torques; and the reports of each step.
    fn run(step: Quasidynamic, packed: Packed, q0: &Tensor, u: &Tensor) -> Result<(Self, Tensor, Vec<Vec<Report>>)> {
        let (worlds, n_steps, _) = u.dims3()?;
        let mut states = vec![q0.contiguous()?];
        let (mut controls, mut answers, mut reports, mut warm) = (Vec::new(), Vec::new(), Vec::new(), None);
        let (mut forces, mut torques) = (Vec::with_capacity(n_steps), Vec::new());
        for t in 0..n_steps {
            let u = u.narrow(1, t, 1)?.squeeze(1)?.contiguous()?;
            let result = step.step_from(&states[t], &u, warm.as_ref())?;
            answers.push(result.answer()?);
            forces.push(result.force.reshape((worlds, ()))?);
            torques.push(result.torque);
            states.push(result.q_next);
            warm = Some(result.warm);
            reports.push(result.reports);
            controls.push(u);
        }
        let rows = Tensor::cat(&states.iter().chain(&forces).chain(&torques).collect::<Vec<_>>(), 1)?;
        states.pop();
        Ok((Self { step, packed, states, controls, answers }, rows, reports))
    }

    /// Gradients with respect to q₀ (B, nq), u (B, T, nu) and the packed parameters, given the gradient with respect to
    /// the rows.
    fn sweep(&self, grad: &Tensor) -> Result<[Tensor; 3]> {
        let model = self.step.model();
        let (nq, n_steps, n_forces) = (model.nq(), self.states.len(), 3 * model.nc());
        let (first_torque, n_torsional) = ((n_steps + 1) * nq + n_steps * n_forces, model.pairs.torsional.len());
        let mut pull = grad.narrow(1, n_steps * nq, nq)?.contiguous()?;
        let mut grads_u = Vec::with_capacity(n_steps);
        let mut grad_parameters = self.packed.values.zeros_like()?;
        for t in (0..n_steps).rev() {
            let (q, u) = (Var::from_tensor(&self.states[t])?, Var::from_tensor(&self.controls[t])?);
            let parameters = Var::from_tensor(&self.packed.values)?;
            let unpacked = self.packed.unpack(self.step.parameters(), &parameters)?;
            let step = self.step.with_parameters(&unpacked)?;
            let result = step.step_by(&q, &u, Start::Answer(self.answers[t].clone()))?;
            let force = result.force.flatten_from(1)?;
            let grad_force = grad.narrow(1, (n_steps + 1) * nq + t * n_forces, n_forces)?;
            let value = (result.q_next * &pull)?.sum_all()?;
            let value = if n_forces > 0 { (value + (force * grad_force)?.sum_all()?)? } else { value };
            let value = if n_torsional > 0 {
                let grad_torque = grad.narrow(1, first_torque + t * n_torsional, n_torsional)?;
                (value + (result.torque * grad_torque)?.sum_all()?)?
            } else {
                value
            };
            let grads = value.backward()?;
            let of = |var: &Var| grads.get(var).map_or_else(|| var.zeros_like(), |grad| Ok(grad.clone()));
            pull = finite_or_zero(&(of(&q)? + grad.narrow(1, t * nq, nq)?)?)?;
            grads_u.push(of(&u)?);
            grad_parameters = (grad_parameters + of(&parameters)?)?;
        }
        grads_u.reverse();
        Ok([pull, Tensor::stack(&grads_u, 1)?, grad_parameters])
    }
}

impl Adjoint for Sweep {
    fn name(&self) -> &'static str {
        "rollout"
    }

    fn vjp(&self, operands: [&Tensor; 3], _: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 3]> {
        Ok(wanted(operands, self.sweep(grad)?))
    }
}
