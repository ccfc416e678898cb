//! First derivatives of steps by q, u and directions of the parameters together, for estimation.

use std::ops::Range;

use candle_core::{Device, Result, Tensor, bail};

use super::{StepCotangent, StepNumbers, columns, expect};
use crate::kinematics::Manifold;
use crate::model::Model;
use crate::step::fused::{self, Plan};
use crate::step::{Dynamic, Quasidynamic};
use crate::tensor::rows::TensorGuard;
use crate::tensor::{COPIES, numbers};

/// The m numbers of a step that are differentiated, in this order.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outputs<'a> {
    /// Sums of degrees of freedom of q₊, along its tangent.
    pub q_next: &'a [Vec<usize>],
    /// Sums of degrees of freedom of v₊ of a second-order step.
    pub v_next: &'a [Vec<usize>],
    /// Weighted sums of the contact forces (nc, 3) in world axes, N: places and weights.
    pub force: &'a [Vec<(usize, f64)>],
}

/// A direction in which parameters change: places in the row of all [`Parameters`](crate::Parameters) side by side, in
/// the order of [`Parameters::NAMES`](crate::Parameters::NAMES), and their rates.
pub type Direction = Vec<(usize, f64)>;

/// First derivatives of m numbers of a step of B worlds, matrices row by row.
#[derive(Clone, Debug)]
pub struct Sensitivities {
    /// By q along its tangent (B, m, nv).
    pub q: Vec<f64>,
    /// By u (B, m, nu); of a second-order step by v, then τ (B, m, 2 nv).
    pub u: Vec<f64>,
    /// By each direction of the parameters (B, m, p).
    pub parameters: Vec<f64>,
}

impl Outputs<'_> {
    fn n(&self) -> usize {
        self.q_next.len() + self.v_next.len() + self.force.len()
    }

    fn check(&self, [nv, n_v, n_force]: [usize; 3]) -> Result<()> {
        let of_force = self.force.iter().flatten().map(|&(at, _)| at).collect();
        let all = |sums: &[Vec<usize>]| sums.concat();
        for (what, places, n) in
            [("q_next", all(self.q_next), nv), ("v_next", all(self.v_next), n_v), ("force", of_force, n_force)]
        {
            if let Some(at) = places.iter().find(|&&at| at >= n) {
                bail!("sensitivities: {what}: expected places below {n}, got {at}");
            }
        }
        Ok(())
    }

    /// The gradients of each of these numbers by a step's results, m rows for each of these worlds.
    fn seeds(&self, plan: &Plan, manifold: &Manifold, step: &StepNumbers, worlds: Range<usize>) -> Result<Vec<f64>> {
        let (nq, nv, m, b) = (manifold.nq(), manifold.nv(), self.n(), worlds.len());
        let (mut q, mut v, mut force) = (vec![0.0; b * m * nv], Vec::new(), Vec::new());
        v.resize(b * m * plan.row().v_next.len(), 0.0);
        force.resize(b * m * plan.row().force.len(), 0.0);
        for world in 0..b {
            let row = |k: usize| world * m + k;
            for (k, sum) in self.q_next.iter().enumerate() {
                sum.iter().for_each(|dof| q[row(k) * nv + dof] += 1.0);
            }
            for (k, sum) in self.v_next.iter().enumerate() {
                sum.iter().for_each(|dof| v[row(self.q_next.len() + k) * nv + dof] += 1.0);
            }
            for (k, sum) in self.force.iter().enumerate() {
                let first = row(self.q_next.len() + self.v_next.len() + k) * plan.row().force.len();
                sum.iter().for_each(|&(at, weight)| force[first + at] += weight);
            }
        }
        let at = copies(&step.q_next, nq, m, worlds);
        let tensor = |x: &[f64], width| Tensor::from_slice(x, (b * m, width), &Device::Cpu);
        let q = numbers(&manifold.from_tangent(&tensor(&at, nq)?, &tensor(&q, nv)?)?)?;
        Ok(StepCotangent { q_next: &q, v_next: &v, force: &force, ..StepCotangent::default() }.rows(plan, b * m))
    }
}

/// The rows of these worlds, each m times.
fn copies(rows: &[f64], width: usize, m: usize, worlds: Range<usize>) -> Vec<f64> {
    worlds
        .flat_map(|world| std::iter::repeat_n(&rows[world * width..(world + 1) * width], m))
        .flatten()
        .copied()
        .collect()
}

/// The derivatives of steps at q and the plan's other operand u, by as many gradients as there are outputs.
fn sensitivities(
    model: &Model,
    plan: &Plan,
    par: &Tensor,
    [q, u]: [&[f64]; 2],
    step: &StepNumbers,
    outputs: &Outputs,
    directions: &[Direction],
) -> Result<Sensitivities> {
    let (nq, nv, nu, m, n_row) = (plan.nq, model.nv(), plan.nu, outputs.n(), plan.row().info.end);
    let (worlds, n_par) = (q.len() / nq.max(1), par.dim(1)?);
    expect("step: rows of this model", &step.rows, worlds, n_row, false)?;
    step.check_mark([q, u])?;
    outputs.check([nv, plan.row().v_next.len(), 3 * model.nc()])?;
    if par.dim(0)? != 1 {
        bail!("sensitivities: expected parameters with one row for all worlds, got {} rows", par.dim(0)?);
    }
    if let Some((at, _)) = directions.iter().flatten().find(|(at, _)| *at >= n_par) {
        bail!("sensitivities: directions: expected places below {n_par}, got {at}");
    }
    let (manifold, par) = (Manifold::new(&model.tree, &Device::Cpu)?, TensorGuard::new(par));
    let mut all = Sensitivities { q: Vec::new(), u: Vec::new(), parameters: Vec::new() };
    let together = (COPIES / m.max(1)).max(1);
    for first in (0..worlds).step_by(together).filter(|_| m > 0) {
        let some = first..worlds.min(first + together);
        let b = some.len() * m;
        let [q, u, rows] = [(q, nq), (u, nu), (&step.rows[..], n_row)].map(|(x, n)| copies(x, n, m, some.clone()));
        let seeds = outputs.seeds(plan, &manifold, step, some)?;
        let pulled = fused::step_adjoint(plan, [&q, &u], par.rows()?, [&rows, &seeds], b)?;
        let n = plan.n_gradient();
        let tensor = |x: &[f64]| Tensor::from_slice(x, (b, nq), &Device::Cpu);
        let by_q = manifold.to_tangent(&tensor(&q)?, &tensor(&columns(&pulled, n, 0..nq))?)?;
        all.q.extend(numbers(&by_q)?);
        all.u.extend(columns(&pulled, n, nq..nq + nu));
        let along =
            |row: &[f64], direction: &Direction| direction.iter().map(|&(at, rate)| row[at] * rate).sum::<f64>();
        let by_parameters = pulled.chunks_exact(n).map(|row| &row[nq + nu..]);
        all.parameters.extend(by_parameters.flat_map(|row| directions.iter().map(move |way| along(row, way))));
    }
    Ok(all)
}

impl Quasidynamic {
    /// The derivatives of numbers of the steps at q (B, nq) and u (B, nu) by q, u and directions of the parameters.
    /// `step` is that of [`Quasidynamic::step_numbers`] there. They cost as much as m gradients. Worlds without a
    /// solution have zeros.
    ///
    /// # Errors
    /// As [`Quasidynamic::vjp`], if the step has no fused form on the CPU, its parameters differ from world to world,
    /// or a place does not exist.
    pub fn sensitivities(
        &self,
        [q, u]: [&[f64]; 2],
        step: &StepNumbers,
        outputs: &Outputs,
        directions: &[Direction],
    ) -> Result<Sensitivities> {
        self.worlds(q, u, &[])?;
        let Some((plan, par)) = self.fused_parts() else {
            bail!("sensitivities: expected a step in the fused form on the CPU, see `Quasidynamic::form`")
        };
        sensitivities(self.model(), plan, par, [q, u], step, outputs, directions)
    }
}

impl Dynamic {
    /// The derivatives of numbers of the second-order steps at q (B, nq) and v (B, nv) under τ (B, nv), as
    /// [`Quasidynamic::sensitivities`].
    ///
    /// # Errors
    /// As [`Dynamic::vjp`], if the parameters differ from world to world, or a place does not exist.
    pub fn sensitivities(
        &self,
        [q, v, tau]: [&[f64]; 3],
        step: &StepNumbers,
        outputs: &Outputs,
        directions: &[Direction],
    ) -> Result<Sensitivities> {
        let (_, motion) = self.motion(q, v, tau)?;
        sensitivities(self.model(), &self.plan, &self.par, [q, &motion], step, outputs, directions)
    }
}
