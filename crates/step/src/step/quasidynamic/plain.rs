//! Steps and their Jacobians on plain numbers, without tensors, for controllers, which need a few worlds at a time.

use std::ops::Range;

use candle_core::{DType, Result, Tensor, bail};

use super::Quasidynamic;
use crate::solve::{Accuracy, Report};
use crate::step::fused;
use crate::step::sparse::SparseRows;
use crate::tensor::gather;

/// Result of [`Quasidynamic::hold`]: world by world, and for each world step by step.
#[derive(Clone, Debug)]
pub struct Held {
    /// q after each step (B, n, nq).
    pub q: Vec<f64>,
    /// The solver's forces of each step (B · n, n_warm), see [`Quasidynamic::n_warm`]: a start for solves nearby.
    pub warm: SparseRows,
    /// Contact force on B in world axes of each step (B · n, 3 nc), N.
    pub force: SparseRows,
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
    /// λ, C and D, where they were asked for.
    pub forces: Option<ForceJacobians>,
}

/// λ and its derivatives, of contacts with a force alone: of all others they are zero. A hand whose links may touch
/// each other has thousands of contacts, of which some dozens press.
#[derive(Clone, Debug, Default)]
pub struct ForceJacobians {
    /// The world of each row and its place in λ (n), in this order. In λ come first 3 nc forces, along each contact's
    /// normal and tangents, then the torques as in [`Held::torque`]; see
    /// [`Model::n_lambda`](crate::model::Model::n_lambda). All numbers of a contact are there if one is not zero.
    pub rows: Vec<[usize; 2]>,
    /// λ (n), N and N·m.
    pub lambda: Vec<f64>,
    /// C = ∂λ/∂q (n, nv).
    pub c: Vec<f64>,
    /// D = ∂λ/∂u (n, nu).
    pub d: Vec<f64>,
}

/// World and place of a row of λ, its number there, its rows of C and D.
pub(in super::super) type ForceRow<'a> = ([usize; 2], f64, [&'a [f64]; 2]);

impl Jacobians {
    /// Puts those of some of `b` worlds in place of their own.
    fn replace(&mut self, worlds: &[u32], by: &Self, b: usize) {
        for (own, by) in [(&mut self.a, &by.a), (&mut self.b, &by.b)] {
            let width = own.len() / b;
            for (&world, by) in worlds.iter().zip(by.chunks_exact(width.max(1))) {
                own[world as usize * width..][..width].copy_from_slice(by);
            }
        }
        if let (Some(own), Some(by)) = (&mut self.forces, &by.forces) {
            let kept = own.each().filter(|([world, _], ..)| !worlds.iter().any(|&of| of as usize == *world));
            let by = by.each().map(|([k, place], lambda, of)| ([worlds[k] as usize, place], lambda, of));
            let mut rows: Vec<_> = kept.chain(by).collect();
            rows.sort_unstable_by_key(|(row, ..)| *row);
            *own = ForceJacobians::of_rows(&rows);
        }
    }
}

impl ForceJacobians {
    /// Each row: world and place, λ, C and D.
    fn each(&self) -> impl Iterator<Item = ForceRow<'_>> {
        let [nv, nu] = [&self.c, &self.d].map(|of| of.len() / self.rows.len().max(1));
        let rows = self.rows.iter().zip(&self.lambda).enumerate();
        rows.map(move |(k, (row, lambda))| (*row, *lambda, [&self.c[k * nv..][..nv], &self.d[k * nu..][..nu]]))
    }

    /// Rows in their order.
    pub(in super::super) fn of_rows(rows: &[ForceRow]) -> Self {
        let side = |k: usize| {
            let mut all = Vec::with_capacity(rows.iter().map(|(.., of)| of[k].len()).sum());
            rows.iter().for_each(|(.., of)| all.extend_from_slice(of[k]));
            all
        };
        Self {
            rows: rows.iter().map(|(row, ..)| *row).collect(),
            lambda: rows.iter().map(|(_, lambda, _)| *lambda).collect(),
            c: side(0),
            d: side(1),
        }
    }

    /// The rows of λ (B, n_lambda), C and D that belong to contacts with a force, and all of torques.
    pub(in super::super) fn of_all([lambda, c, d]: [Vec<f64>; 3], [worlds, nc, n_lambda]: [usize; 3]) -> Self {
        let presses = |row: usize| {
            let (world, place) = (row / n_lambda, row % n_lambda);
            let first = world * n_lambda + place - place % 3;
            place >= 3 * nc || lambda[first..first + 3] != [0.0; 3]
        };
        let chosen: Vec<usize> = (0..worlds * n_lambda).filter(|&row| presses(row)).collect();
        let some = |of: Vec<f64>| {
            if chosen.len() == worlds * n_lambda {
                return of;
            }
            let width = of.len() / (worlds * n_lambda).max(1);
            let mut some = Vec::with_capacity(chosen.len() * width);
            chosen.iter().for_each(|row| some.extend_from_slice(&of[row * width..(row + 1) * width]));
            some
        };
        let rows = chosen.iter().map(|row| [row / n_lambda, row % n_lambda]).collect();
        let [c, d] = [c, d].map(some);
        Self { rows, lambda: chosen.iter().map(|&row| lambda[row]).collect(), c, d }
    }

    /// The rows of one world.
    pub fn of_world(&self, world: usize) -> Range<usize> {
        let first = |world: usize| self.rows.partition_point(|row| row[0] < world);
        first(world)..first(world + 1)
    }

    /// One of λ, C and D with all its rows, (B, `n_lambda`, width).
    pub fn all(&self, of: &[f64], worlds: usize, n_lambda: usize) -> Vec<f64> {
        let width = of.len() / self.rows.len().max(1);
        let mut all = vec![0.0; worlds * n_lambda * width];
        for ([world, place], row) in self.rows.iter().zip(of.chunks_exact(width.max(1))) {
            let first = (world * n_lambda + place) * width;
            all[first..first + width].copy_from_slice(row);
        }
        all
    }
}

impl Quasidynamic {
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
