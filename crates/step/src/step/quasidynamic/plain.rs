//! Steps and their Jacobians on plain numbers, without tensors, for controllers, which need a few worlds at a time.

use candle_core::{DType, Result, Tensor, bail};

use super::Quasidynamic;
use crate::solve::{Accuracy, Report};
use crate::step::fused;

/// Result of [`Quasidynamic::hold`]: world by world, and for each world step by step.
#[derive(Clone, Debug)]
pub struct Held {
    /// q after each step (B, n, nq).
    pub q: Vec<f64>,
    /// The solver's forces of each step (B, n, n_warm), see [`Quasidynamic::n_warm`]: a start for solves nearby.
    pub warm: Vec<f64>,
    /// Contact force on B in world axes of each step (B, n, nc, 3), N.
    pub force: Vec<f64>,
    /// Torque on B about its normal, for each step and each contact with torsional friction (B, n, n_torsional), N·m.
    pub torque: Vec<f64>,
    /// Status, iterations and residual of each step's contact solve (B, n).
    pub reports: Vec<Report>,
}

/// First derivatives of steps in tangent coordinates, matrices row by row, world by world; see
/// [`Linearization`](super::Linearization).
#[derive(Clone, Debug)]
pub struct Jacobians {
    /// A = ∂q₊/∂q (B, nv, nv).
    pub a: Vec<f64>,
    /// B = ∂q₊/∂u (B, nv, nu).
    pub b: Vec<f64>,
    /// λ of all contacts (B, n_lambda): in each world's row first 3 nc forces, N, along each contact's normal and
    /// tangents, then the torques as in [`Held::torque`]; see [`Model::n_lambda`](crate::model::Model::n_lambda). Empty
    /// unless requested.
    pub lambda: Vec<f64>,
    /// C = ∂λ/∂q (B, n_lambda, nv); empty unless requested.
    pub c: Vec<f64>,
    /// D = ∂λ/∂u (B, n_lambda, nu); empty unless requested.
    pub d: Vec<f64>,
}

impl Quasidynamic {
    /// `n` steps from q (B, nq) under u (B, nu), which is held over all of them (zero-order hold). The first solve
    /// starts from `warm` (B, n_warm), or cold if that is empty. Each later one starts from the forces of the step
    /// before. Parameters with M rows are those of the first M worlds, and again of the next M; B is a multiple of M.
    ///
    /// # Errors
    /// If the model's numbers are not `f64`, or a length differs from these. Numerical trouble is not an error: see
    /// [`Held::reports`].
    pub fn hold(&self, q: &[f64], u: &[f64], warm: &[f64], n: usize) -> Result<Held> {
        self.hold_to(Accuracy::Fine, [q, u, warm], n)
    }

    /// [`Quasidynamic::hold`] with a given accuracy. The tensor program and Coulomb's law always compute to full
    /// accuracy.
    ///
    /// # Errors
    /// As [`Quasidynamic::hold`].
    pub fn hold_to(&self, accuracy: Accuracy, [q, u, warm]: [&[f64]; 3], n: usize) -> Result<Held> {
        let b = self.worlds(q, u, warm)?;
        if n == 0 {
            bail!("hold: expected at least 1 step, got 0");
        }
        if let Some((plan, par)) = self.fused_parts() {
            let [q, warm, forces, info] = fused::hold(plan, [q, u, warm], par, b, (n, accuracy))?;
            let [force, torque] = plan.split_forces(forces);
            return Ok(Held { q, warm, force, torque, reports: Report::of(&info).collect() });
        }
        let own = self.repeated(b)?;
        let (mut q, u, warm) = self.tensors(q, u, warm, b)?;
        let (mut states, mut warms, mut forces, mut reports) = (Vec::new(), vec![], Vec::new(), Vec::new());
        let mut torques = Vec::new();
        warms.extend(warm);
        for _ in 0..n {
            let step = own.step_from(&q, &u, warms.last())?;
            q = step.q_next.detach();
            states.push(q.clone());
            forces.push(step.force.detach().flatten_from(1)?);
            torques.push(step.torque.detach());
            warms.push(step.warm);
            reports.push(step.reports);
        }
        let side_by_side = |rows: &[Tensor]| Tensor::cat(rows, 1)?.flatten_all()?.to_vec1::<f64>();
        Ok(Held {
            q: side_by_side(&states)?,
            warm: side_by_side(&warms[warms.len() - n..])?,
            force: side_by_side(&forces)?,
            torque: if self.model().pairs.torsional.is_empty() { Vec::new() } else { side_by_side(&torques)? },
            reports: (0..b).flat_map(|world| reports.iter().map(move |step| step[world])).collect(),
        })
    }

    /// The derivatives of one step at q (B, nq), u (B, nu), as by [`Quasidynamic::linearize`]. The solve starts from
    /// `warm` as in [`Quasidynamic::hold`]. Derivatives of the forces are computed only if `forces` is true.
    ///
    /// # Errors
    /// As [`Quasidynamic::hold`].
    pub fn jacobians(&self, q: &[f64], u: &[f64], warm: &[f64], forces: bool) -> Result<Jacobians> {
        self.jacobians_to(Accuracy::Fine, [q, u, warm], forces)
    }

    /// [`Quasidynamic::jacobians`] with a given accuracy of the solve. With the forces' derivatives, the tensor program
    /// and Coulomb's law it is always full.
    ///
    /// # Errors
    /// As [`Quasidynamic::hold`].
    pub fn jacobians_to(&self, accuracy: Accuracy, [q, u, warm]: [&[f64]; 3], forces: bool) -> Result<Jacobians> {
        let b = self.worlds(q, u, warm)?;
        if let Some((plan, par)) = self.fused_parts() {
            let accuracy = if forces { Accuracy::Fine } else { accuracy };
            let [lambda, a, b, c, d] = fused::jacobians(plan, [q, u, warm], par, b, (forces, accuracy))?;
            return Ok(Jacobians { a, b, lambda, c, d });
        }
        let (q, u, warm) = self.tensors(q, u, warm, b)?;
        let all = self.repeated(b)?.linearize_from(&q, &u, warm.as_ref())?;
        let numbers = |t: &Tensor| t.flatten_all()?.to_vec1::<f64>();
        let [lambda, c, d] = if forces {
            [numbers(&all.lambda)?, numbers(&all.c)?, numbers(&all.d)?]
        } else {
            [const { Vec::new() }; 3]
        };
        Ok(Jacobians { a: numbers(&all.a)?, b: numbers(&all.b)?, lambda, c, d })
    }

    /// This step, with the parameters of its worlds again and again for b worlds.
    fn repeated(&self, b: usize) -> Result<Self> {
        let again = |_: &str, t: &Tensor| match t.dim(0)? {
            rows if rows > 1 && b.is_multiple_of(rows) => t.repeat((b / rows, 1)),
            _ => Ok(t.clone()),
        };
        self.with_parameters(&self.parameters().map(again)?)
    }

    /// Length of a row of `warm`: three numbers for each contact, four in scenes with torsional friction, and one
    /// for each joint limit.
    pub fn n_warm(&self) -> usize {
        self.structure().n_eta()
    }

    /// The number of worlds of operands whose lengths fit.
    pub(in super::super) fn worlds(&self, q: &[f64], u: &[f64], warm: &[f64]) -> Result<usize> {
        let (nq, nu, n_warm) = (self.model().nq(), self.model().nu(), self.n_warm());
        if self.model().dtype != DType::F64 {
            bail!("plain numbers: expected a model of F64, got {:?}", self.model().dtype);
        }
        let b = q.len() / nq.max(1);
        if b == 0 || q.len() != b * nq || u.len() != b * nu || !(warm.is_empty() || warm.len() == b * n_warm) {
            bail!(
                "step: expected q (B, {nq}), u (B, {nu}) and forces (B, {n_warm}) or none with the same B ≥ 1, got {}, {} and {} \
                 numbers",
                q.len(),
                u.len(),
                warm.len()
            );
        }
        Ok(b)
    }

    pub(in super::super) fn tensors(
        &self,
        q: &[f64],
        u: &[f64],
        warm: &[f64],
        b: usize,
    ) -> Result<(Tensor, Tensor, Option<Tensor>)> {
        let of = |numbers: &[f64]| Tensor::from_slice(numbers, (b, numbers.len() / b), &self.model().device);
        Ok((of(q)?, of(u)?, if warm.is_empty() { None } else { Some(of(warm)?) }))
    }
}
