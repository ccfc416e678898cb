//! Steps and their Jacobians on plain numbers, without tensors, for controllers, which need a few worlds at a time.

use candle_core::{DType, Result, Tensor, bail};

use super::Quasidynamic;
use crate::solve::Accuracy;
use crate::step::fused;
use crate::step::held::Held;
use crate::step::jacobians::{ForceJacobians, Jacobians};
use crate::step::sparse::SparseRows;
use crate::tensor::gather;

impl Quasidynamic {
    /// Are there so many contacts that [`Quasidynamic::hold`] lists those with a force? One step of it takes a fraction
    /// then of [`Quasidynamic::step_numbers`], which tells of each contact where it is and how far apart.
    pub fn lists_contacts(&self) -> bool {
        self.fused_parts().is_some_and(|(plan, _)| plan.lists_contacts())
    }

    /// `n` steps from q (B, nq) under u (B, nu), which is held over all of them (zero-order hold). The first solve
    /// starts from `warm` (B, n_warm), or cold if that is empty. Each later one starts from the forces of the step
    /// before. Parameters with M rows are those of the first M worlds, and again of the next M; B is a multiple of M.
    ///
    /// # Errors
    /// If the model's numbers are not `f64`, or a length differs from these. Numerical trouble is not an error: see
    /// [`Held::reports`].
    pub fn hold(&self, q: &[f64], u: &[f64], warm: Option<&SparseRows>, n: usize) -> Result<Held> {
        self.hold_to(Accuracy::Fine, [q, u], warm, n)
    }

    /// [`Quasidynamic::hold`] with a given accuracy. The tensor program and Coulomb's law always compute to full
    /// accuracy.
    ///
    /// # Errors
    /// As [`Quasidynamic::hold`].
    pub fn hold_to(
        &self,
        accuracy: Accuracy,
        [q, u]: [&[f64]; 2],
        warm: Option<&SparseRows>,
        n: usize,
    ) -> Result<Held> {
        let b = self.worlds_from(q, u, warm)?;
        if n == 0 {
            bail!("hold: expected at least 1 step, got 0");
        }
        if let Some((plan, par)) = self.fused_parts() {
            return fused::hold(plan, [q, u], warm, par, b, (n, accuracy));
        }
        let own = self.repeated(b)?;
        let (mut q, u, warm) = self.tensors(q, u, &warm.map(SparseRows::dense).unwrap_or_default(), b)?;
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
            warm: SparseRows::whole(side_by_side(&warms[warms.len() - n..])?, self.n_warm()),
            force: SparseRows::whole(side_by_side(&forces)?, 3 * self.model().nc()),
            torque: if self.model().pairs.torsional.is_empty() { Vec::new() } else { side_by_side(&torques)? },
            reports: (0..b).flat_map(|world| reports.iter().map(move |step| step[world])).collect(),
        })
    }

    /// The derivatives of one step at q (B, nq), u (B, nu), as by [`Quasidynamic::linearize`]. The solve starts from
    /// `warm` as in [`Quasidynamic::hold`]. Derivatives of the forces are computed only if `forces` is true.
    ///
    /// # Errors
    /// As [`Quasidynamic::hold`].
    pub fn jacobians(&self, q: &[f64], u: &[f64], warm: Option<&SparseRows>, forces: bool) -> Result<Jacobians> {
        self.jacobians_to(Accuracy::Fine, [q, u], warm, forces)
    }

    /// [`Quasidynamic::jacobians`] with a given accuracy of the solve. With the forces' derivatives, the tensor program
    /// and Coulomb's law it is always full.
    ///
    /// # Errors
    /// As [`Quasidynamic::hold`].
    pub fn jacobians_to(
        &self,
        accuracy: Accuracy,
        [q, u]: [&[f64]; 2],
        warm: Option<&SparseRows>,
        forces: bool,
    ) -> Result<Jacobians> {
        let b = self.worlds_from(q, u, warm)?;
        let warm = &warm.map(SparseRows::dense).unwrap_or_default();
        if let Some((plan, par)) = self.fused_parts() {
            let accuracy = if forces { Accuracy::Fine } else { accuracy };
            let (mut found, stiff) = fused::jacobians(plan, [q, u, warm], par, b, (forces, accuracy))?;
            if accuracy == Accuracy::Fine && !stiff.is_empty() {
                let (q, u, warm) = self.tensors(q, u, warm, b)?;
                let chosen = Tensor::new(stiff.as_slice(), q.device())?;
                let of = |t: &Tensor| gather(&t.detach(), &chosen, 0);
                let some = self.repeated(b)?.with_own(&of)?;
                let pulled = some.plain_jacobians(&of(&q)?, &of(&u)?, warm.as_ref().map(of).transpose()?, forces)?;
                found.replace(&stiff, &pulled, b);
            }
            return Ok(found);
        }
        let (q, u, warm) = self.tensors(q, u, warm, b)?;
        self.repeated(b)?.plain_jacobians(&q, &u, warm, forces)
    }

    /// [`Quasidynamic::linearize_from`] as plain numbers.
    fn plain_jacobians(&self, q: &Tensor, u: &Tensor, warm: Option<Tensor>, forces: bool) -> Result<Jacobians> {
        let all = self.linearize_from(q, u, warm.as_ref())?;
        let numbers = |t: &Tensor| t.flatten_all()?.to_vec1::<f64>();
        let axes = [q.dim(0)?, self.model().nc(), self.model().n_lambda()];
        let of_forces =
            || Ok(ForceJacobians::of_all([numbers(&all.lambda)?, numbers(&all.c)?, numbers(&all.d)?], axes));
        let forces: Option<Result<ForceJacobians>> = forces.then(of_forces);
        let forces = forces.transpose()?;
        Ok(Jacobians { a: numbers(&all.a)?, b: numbers(&all.b)?, forces })
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
    fn worlds_from(&self, q: &[f64], u: &[f64], warm: Option<&SparseRows>) -> Result<usize> {
        let b = self.worlds(q, u, &[])?;
        if let Some(warm) = warm.filter(|warm| !warm.is_empty())
            && [warm.len(), warm.width()] != [b, self.n_warm()]
        {
            bail!("step: expected forces ({b}, {}) or none, got ({}, {})", self.n_warm(), warm.len(), warm.width());
        }
        Ok(b)
    }

    /// [`Quasidynamic::worlds_from`] with plain numbers.
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
