//! Steps, rollouts and their gradients on plain numbers, without tensors: for bindings, controllers and optimisers of
//! one's own.
//!
//! All numbers are `f64`, row after row. A batch has B worlds. A cotangent that is empty is zero.

mod dynamic;
mod sensitivities;

use candle_core::{DType, Result, Tensor, Var, bail};

use crate::contact::numbers::{GEOMETRY, NORMAL, PHI, POINT_A, POINT_B};
use crate::parameters::Parameters;
use crate::solve::Report;
use crate::step::fused::{self, Plan, RolloutRows};
use crate::step::mark::mark;
use crate::step::sparse::SparseRows;
use crate::step::{Quasidynamic, Step};
use crate::tensor::rows::TensorGuard;
pub use dynamic::{DynamicJacobians, DynamicRollout};
pub use sensitivities::{Direction, Outputs, Sensitivities};

use super::rollout;

/// A step of B worlds on plain numbers.
#[derive(Clone, Debug)]
pub struct StepNumbers {
    /// q₊ (B, nq), m and rad.
    pub q_next: Vec<f64>,
    /// δ (B, nv), the step in tangent coordinates.
    pub delta: Vec<f64>,
    /// v₊ of a second-order step (B, nv), m/s and rad/s; else empty.
    pub v_next: Vec<f64>,
    /// Force on B of each contact in world axes (B, nc, 3), N.
    pub force: Vec<f64>,
    /// Torque on B about its normal of each contact with torsional friction (B, n_torsional), N·m.
    pub torque: Vec<f64>,
    /// Forces of the joint limits (B, nl), N·m or N.
    pub limit_force: Vec<f64>,
    /// Unit normal of each contact from A to B (B, nc, 3).
    pub normal: Vec<f64>,
    /// Contact points on A (B, nc, 3), m, in world axes.
    pub point_a: Vec<f64>,
    /// Contact points on B (B, nc, 3), m, in world axes.
    pub point_b: Vec<f64>,
    /// Signed distances φ (B, nc), m.
    pub phi: Vec<f64>,
    /// The solver's forces (B, n_warm): a start for steps nearby.
    pub warm: Vec<f64>,
    /// Status, iterations and residual of each world's contact solve (B).
    pub reports: Vec<Report>,
    /// The raw result rows of the step, which its adjoint reads. Empty if the tensor program computed the step.
    rows: Vec<f64>,
    /// The mark of q and u, whose step this is.
    mark: u64,
}

/// Gradients of a cost by the results of a step, and by q, offsets and sizes where the cost depends on them beside
/// these.
#[derive(Clone, Copy, Debug, Default)]
pub struct StepCotangent<'a> {
    /// Gradient of the cost by q itself (B, nq).
    pub q: &'a [f64],
    /// Gradient of the cost by the parameter `offsets` itself (1 or B, n).
    pub offsets: &'a [f64],
    /// Gradient of the cost by the parameter `sizes` itself (1 or B, n).
    pub sizes: &'a [f64],
    /// Gradient of the cost by q₊ (B, nq).
    pub q_next: &'a [f64],
    /// Gradient of the cost by v₊ of a second-order step (B, nv).
    pub v_next: &'a [f64],
    /// Gradient of the cost by the contact forces in world axes (B, nc, 3).
    pub force: &'a [f64],
    /// Gradient of the cost by the torques of contacts with torsional friction (B, n_torsional).
    pub torque: &'a [f64],
    /// Gradient of the cost by the contacts' normals (B, nc, 3).
    pub normal: &'a [f64],
    /// Gradient of the cost by the contact points on A (B, nc, 3).
    pub point_a: &'a [f64],
    /// Gradient of the cost by the contact points on B (B, nc, 3).
    pub point_b: &'a [f64],
    /// Gradient of the cost by the signed distances φ (B, nc).
    pub phi: &'a [f64],
}

/// T steps of B worlds on plain numbers.
#[derive(Clone, Debug)]
pub struct RolloutNumbers {
    /// q₀ … q_T (B, T + 1, nq).
    pub q: Vec<f64>,
    /// Contact force on B in world axes of each step (B · T, 3 nc), N.
    pub force: SparseRows,
    /// Torques as in [`StepNumbers::torque`] (B, T, n_torsional), N·m.
    pub torque: Vec<f64>,
    /// Status, iterations and residual of the contact solve of each step of each world (B, T).
    pub reports: Vec<Report>,
    /// The number of steps T.
    pub n_steps: usize,
    /// Further results that the adjoint sweep reads: limit forces, reports. Empty if the tensor program computed the
    /// rollout.
    kept: [Vec<f64>; 2],
    /// The mark of u, under which this rollout is.
    mark: u64,
}

/// Gradients of a cost by what a step or a rollout was given.
#[derive(Clone, Debug)]
pub struct GradientNumbers {
    /// Gradient of the cost by q, or by q₀ of a rollout (B, nq).
    pub q: Vec<f64>,
    /// Gradient of the cost by u: (B, nu) of a step, (B, T, nu) of a rollout, (B, 2 nv) of a second-order step, v and
    /// then τ.
    pub u: Vec<f64>,
    /// Gradients of the cost by each of [`Parameters::NAMES`]: rows (1 or B, as the parameter has) times its columns.
    pub parameters: Vec<Vec<f64>>,
}

/// Checks that a slice has `rows` × `width` numbers, or none if it is `optional`. The error says what was expected.
fn expect(what: &str, given: &[f64], rows: usize, width: usize, optional: bool) -> Result<()> {
    if given.len() == rows * width || (optional && given.is_empty()) {
        return Ok(());
    }
    let or = if optional { " or none" } else { "" };
    bail!("{what}: expected {rows} × {width} numbers{or}, got {}", given.len())
}

/// The number of worlds B of a slice that has `width` numbers for each, at least one world.
fn count(what: &str, given: &[f64], width: usize) -> Result<usize> {
    match given.len() / width.max(1) {
        b if b > 0 && b * width == given.len() => Ok(b),
        _ => bail!("{what}: expected (B, {width}) numbers with B ≥ 1, got {}", given.len()),
    }
}

/// Copies a range of columns out of rows of `width` numbers.
fn columns(rows: &[f64], width: usize, at: std::ops::Range<usize>) -> Vec<f64> {
    rows.chunks_exact(width).flat_map(|row| &row[at.clone()]).copied().collect()
}

/// Copies the numbers `of` out of each item of `n` numbers, where the items lie in the columns `at` of rows of `width`
/// numbers.
fn items(rows: &[f64], width: usize, at: &std::ops::Range<usize>, n: usize, of: std::ops::Range<usize>) -> Vec<f64> {
    let items = rows.chunks_exact(width).flat_map(|row| row[at.clone()].chunks_exact(n));
    items.flat_map(|item| &item[of.clone()]).copied().collect()
}

impl StepNumbers {
    fn of_rows(plan: &Plan, rows: Vec<f64>) -> Self {
        let at = plan.row();
        let n = at.info.end;
        let of = |part: std::ops::Range<usize>| columns(&rows, n, part);
        let of_contact = |k| items(&rows, n, &at.contact, GEOMETRY, k);
        Self {
            q_next: of(at.q_next.clone()),
            delta: of(at.delta.clone()),
            v_next: of(at.v_next.clone()),
            force: of(at.force.clone()),
            torque: of(at.torque.clone()),
            limit_force: of(at.limit_force.clone()),
            normal: of_contact(0..3),
            point_a: of_contact(3..6),
            point_b: of_contact(6..9),
            phi: of_contact(9..10),
            warm: of(at.warm.clone()),
            reports: Report::of(&of(at.info.clone())).collect(),
            rows,
            mark: 0,
        }
    }

    fn of_step(step: &Step) -> Result<Self> {
        let of = crate::tensor::numbers;
        Ok(Self {
            q_next: of(&step.q_next)?,
            delta: of(&step.delta)?,
            v_next: Vec::new(),
            force: of(&step.force)?,
            torque: of(&step.torque)?,
            limit_force: of(&step.limit_force)?,
            normal: of(&step.contacts.normal)?,
            point_a: of(&step.contacts.point_a)?,
            point_b: of(&step.contacts.point_b)?,
            phi: of(&step.contacts.phi)?,
            warm: of(&step.warm)?,
            reports: step.reports.clone(),
            rows: Vec::new(),
            mark: 0,
        })
    }

    /// Checks that this is the step at these inputs.
    fn check_mark(&self, inputs: [&[f64]; 2]) -> Result<()> {
        if self.mark == mark(inputs) {
            return Ok(());
        }
        bail!("step: expected the step at these inputs, got that at others")
    }
}

impl StepCotangent<'_> {
    /// Does the cost depend on no results of the step but q₊ and forces?
    fn is_of_state_and_force(&self) -> bool {
        [self.v_next, self.torque, self.normal, self.point_a, self.point_b, self.phi].iter().all(|by| by.is_empty())
    }

    fn check(&self, [nq, nv, nc, n_torsional]: [usize; 4], b: usize) -> Result<()> {
        expect("gradient by q", self.q, b, nq, true)?;
        expect("gradient by q_next", self.q_next, b, nq, true)?;
        expect("gradient by v_next", self.v_next, b, nv, true)?;
        expect("gradient by force", self.force, b, 3 * nc, true)?;
        expect("gradient by torque", self.torque, b, n_torsional, true)?;
        for (what, by) in [("normal", self.normal), ("point_a", self.point_a), ("point_b", self.point_b)] {
            expect(&format!("gradient by {what}"), by, b, 3 * nc, true)?;
        }
        expect("gradient by phi", self.phi, b, nc, true)
    }

    /// The cotangent as gradients of the step's result rows, one row for each world.
    fn rows(&self, plan: &Plan, b: usize) -> Vec<f64> {
        let at = plan.row();
        let n = at.share.end;
        let mut rows = vec![0.0; b * n];
        for (world, row) in rows.chunks_exact_mut(n).enumerate() {
            let mut put = |numbers: &[f64], start: usize, stride: usize, width: usize| {
                let per = numbers.len() / b;
                for (k, x) in numbers[world * per..(world + 1) * per].iter().enumerate() {
                    row[start + k / width * stride + k % width] = *x;
                }
            };
            put(self.q_next, at.q_next.start, 1, 1);
            put(self.v_next, at.v_next.start, 1, 1);
            put(self.force, at.force.start, 1, 1);
            put(self.torque, at.torque.start, 1, 1);
            put(self.normal, at.contact.start + NORMAL, GEOMETRY, 3);
            put(self.point_a, at.contact.start + POINT_A, GEOMETRY, 3);
            put(self.point_b, at.contact.start + POINT_B, GEOMETRY, 3);
            put(self.phi, at.contact.start + PHI, GEOMETRY, 1);
        }
        rows
    }

    /// A scalar tensor whose gradient by the step's results is this cotangent, so that candle can pull it back.
    fn cost(&self, step: &Step) -> Result<Tensor> {
        let parts = [
            (self.q_next, &step.q_next),
            (self.force, &step.force),
            (self.torque, &step.torque),
            (self.normal, &step.contacts.normal),
            (self.point_a, &step.contacts.point_a),
            (self.point_b, &step.contacts.point_b),
            (self.phi, &step.contacts.phi),
        ];
        dot(parts, &step.q_next)
    }
}

/// The sum of the inner products of numbers with tensors of the same size; parts without numbers count as zero.
fn dot<const N: usize>(parts: [(&[f64], &Tensor); N], like: &Tensor) -> Result<Tensor> {
    let mut cost = (like.sum_all()? * 0.0)?;
    for (numbers, tensor) in parts.into_iter().filter(|(numbers, _)| !numbers.is_empty()) {
        let numbers = Tensor::from_slice(numbers, tensor.shape(), tensor.device())?;
        cost = (cost + (numbers * tensor)?.sum_all()?)?;
    }
    Ok(cost)
}

impl GradientNumbers {
    /// Splits gradients by all parameters side by side (B, n) into single parameters. Where a parameter has one row for
    /// all worlds, the gradients of all worlds are summed.
    fn new(q: Vec<f64>, u: Vec<f64>, by_parameters: &[f64], parameters: &Parameters) -> Result<Self> {
        let tensors = parameters.tensors();
        let shapes = tensors.iter().map(|t| t.dims2()).collect::<Result<Vec<_>>>()?;
        let n: usize = shapes.iter().map(|(_, width)| width).sum();
        let mut start = 0;
        let mut all = Vec::with_capacity(shapes.len());
        for (rows, width) in shapes {
            let own = columns(by_parameters, n.max(1), start..start + width);
            start += width;
            all.push(if rows == 1 { summed(&own, width) } else { own });
        }
        Ok(Self { q, u, parameters: all })
    }

    /// Adds what a cost depends on q, offsets and sizes beside a step's results.
    fn with_own(mut self, by: &StepCotangent) -> Result<Self> {
        for (own, name) in self.parameters.iter_mut().zip(Parameters::NAMES) {
            let by = match *name {
                "offsets" => by.offsets,
                "sizes" => by.sizes,
                _ => continue,
            };
            expect(&format!("gradient by {name}"), by, 1, own.len(), true)?;
            own.iter_mut().zip(by).for_each(|(sum, x)| *sum += x);
        }
        self.q.iter_mut().zip(by.q).for_each(|(sum, x)| *sum += x);
        Ok(self)
    }

    /// The gradient by the parameter with this name, one of [`Parameters::NAMES`]; none for other names.
    pub fn parameter(&self, name: &str) -> Option<&[f64]> {
        let place = Parameters::NAMES.iter().position(|own| *own == name)?;
        self.parameters.get(place).map(Vec::as_slice)
    }
}

fn summed(rows: &[f64], width: usize) -> Vec<f64> {
    let mut sum = vec![0.0; width];
    for row in rows.chunks_exact(width.max(1)) {
        sum.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
    }
    sum
}

/// Splits the rows of a step's adjoint into gradients by q, u and parameters.
fn split(plan: &Plan, rows: &[f64], parameters: &Parameters) -> Result<GradientNumbers> {
    let n = plan.n_gradient();
    let of_u = plan.nq..plan.nq + plan.nu;
    let by_parameters = columns(rows, n, of_u.end..n);
    GradientNumbers::new(columns(rows, n, 0..plan.nq), columns(rows, n, of_u), &by_parameters, parameters)
}

impl Quasidynamic {
    /// One step from q (B, nq) under u (B, nu), on plain numbers. The solve starts from `warm` (B,
    /// [`n_warm`](Self::n_warm)), or cold if that is empty. The numbers are those of [`Quasidynamic::step_from`].
    ///
    /// # Errors
    /// If the model's numbers are not `f64`, or a length differs from these. Numerical trouble is not an error: see
    /// [`StepNumbers::reports`].
    pub fn step_numbers(&self, q: &[f64], u: &[f64], warm: &[f64]) -> Result<StepNumbers> {
        let b = self.worlds(q, u, warm)?;
        if let Some((plan, par)) = self.fused_parts() {
            let par = TensorGuard::new(par);
            let rows = fused::step_rows(plan, [q, u, warm], par.rows()?, b)?;
            return Ok(StepNumbers { mark: mark([q, u]), ..StepNumbers::of_rows(plan, rows) });
        }
        let mark = mark([q, u]);
        let (q, u, warm) = self.tensors(q, u, warm, b)?;
        Ok(StepNumbers { mark, ..StepNumbers::of_step(&self.step_from(&q, &u, warm.as_ref())?)? })
    }

    /// Gradients by q, u and all parameters of a cost whose gradient by a step's results is given (vector-Jacobian
    /// product). `step` is that of [`Quasidynamic::step_numbers`] at the same q (B, nq) and u (B, nu). Where a world's
    /// given gradient is not finite, all of its gradients are NaN.
    ///
    /// # Errors
    /// As [`Quasidynamic::step_numbers`], if a cotangent has another length than it should, or if `step` is that at
    /// another q or u.
    pub fn vjp(&self, q: &[f64], u: &[f64], step: &StepNumbers, by: &StepCotangent) -> Result<GradientNumbers> {
        let model = self.model();
        let b = self.worlds(q, u, &[])?;
        expect("step", &step.q_next, b, model.nq(), false)?;
        step.check_mark([q, u])?;
        by.check([model.nq(), 0, model.nc(), model.pairs.torsional.len()], b)?;
        if let Some((plan, par)) = self.fused_parts().filter(|_| !step.rows.is_empty()) {
            expect("step: rows of this model", &step.rows, b, plan.row().info.end, false)?;
            let par = TensorGuard::new(par);
            let rows = fused::step_adjoint(plan, [q, u], par.rows()?, [&step.rows, &by.rows(plan, b)], b)?;
            return split(plan, &rows, self.parameters())?.with_own(by);
        }
        self.vjp_by_tensors(q, u, (b, 1), |sim, q, u| by.cost(&sim.step(q, &u.squeeze(1)?)?))?.with_own(by)
    }

    /// [`Quasidynamic::vjp`] of the step that starts cold, which need not be given. Where there are many contacts and
    /// the cost is of q₊ and forces, both pass over what is far.
    ///
    /// # Errors
    /// As [`Quasidynamic::vjp`].
    pub fn vjp_at(&self, q: &[f64], u: &[f64], by: &StepCotangent) -> Result<GradientNumbers> {
        if !self.lists_contacts() || !by.is_of_state_and_force() {
            return self.vjp(q, u, &self.step_numbers(q, u, &[])?, by);
        }
        let model = self.model();
        by.check([model.nq(), 0, model.nc(), model.pairs.torsional.len()], self.worlds(q, u, &[])?)?;
        let rollout = self.rollout_numbers(q, u, 1)?;
        let none = vec![0.0; model.nq()];
        let by_q: Vec<f64> = by.q_next.chunks(model.nq()).flat_map(|by| none.iter().chain(by)).copied().collect();
        self.rollout_vjp(u, &rollout, &by_q, by.force)?.with_own(by)
    }

    /// T steps from q₀ (B, nq) under u (B, T, nu), on plain numbers: see [`rollout`](crate::rollout::rollout).
    ///
    /// # Errors
    /// As [`Quasidynamic::step_numbers`].
    pub fn rollout_numbers(&self, q0: &[f64], u: &[f64], n_steps: usize) -> Result<RolloutNumbers> {
        let b = self.lengths(q0, u, n_steps)?;
        if let Some((plan, par)) = self.fused_parts() {
            let par = TensorGuard::new(par);
            let RolloutRows { q, force, torque, limit_force, info } =
                fused::rollout_rows(plan, [q0, u], par.rows()?, (b, n_steps))?;
            let reports = Report::of(&info).collect();
            let (kept, mark) = ([limit_force, info], mark([u]));
            return Ok(RolloutNumbers { q, force, torque, reports, n_steps, kept, mark });
        }
        let mark = mark([u]);
        let (q0, u) = self.rollout_tensors(q0, u, b, n_steps)?;
        let all = rollout::rollout(self, &q0, &u)?;
        let of = crate::tensor::numbers;
        let reports = (0..b).flat_map(|world| all.reports.iter().map(move |step| step[world])).collect();
        Ok(RolloutNumbers {
            q: of(&all.q)?,
            force: SparseRows::whole(of(&all.force)?, 3 * self.model().nc()),
            torque: of(&all.torque)?,
            reports,
            n_steps,
            kept: [const { Vec::new() }; 2],
            mark,
        })
    }

    /// Gradients by q₀, u (B, T, nu) and all parameters of a cost whose gradients by the states q₀ … q_T (B, T + 1, nq)
    /// and the contact forces (B, T, nc, 3) are given; either may be empty. `rollout` is that of
    /// [`Quasidynamic::rollout_numbers`] at the same u.
    ///
    /// # Errors
    /// As [`Quasidynamic::vjp`], and if the rollout is under another u.
    pub fn rollout_vjp(
        &self,
        u: &[f64],
        rollout: &RolloutNumbers,
        by_q: &[f64],
        by_force: &[f64],
    ) -> Result<GradientNumbers> {
        let model = self.model();
        let (nq, nu, nc) = (model.nq(), model.nu(), model.nc());
        let n_steps = rollout.n_steps;
        let b = count("rollout: q", &rollout.q, (n_steps + 1) * nq)?;
        expect("rollout: u", u, b, n_steps * nu, false)?;
        if rollout.mark != mark([u]) {
            bail!("rollout: expected the rollout under this u, got that under another");
        }
        expect("gradient by q", by_q, b, (n_steps + 1) * nq, true)?;
        expect("gradient by force", by_force, b, n_steps * 3 * nc, true)?;
        if let Some((plan, par)) = self.fused_parts().filter(|_| !rollout.kept[1].is_empty()) {
            let (par, [limit_force, info]) = (TensorGuard::new(par), &rollout.kept);
            let mut by_q = if by_q.is_empty() { vec![0.0; b * (n_steps + 1) * nq] } else { by_q.to_vec() };
            let n_torques = model.pairs.torsional.len();
            let [states, _, limits, reports] = plan.rollout_rows().map(|row| row.length(n_steps));
            let kept =
                [(&rollout.q, states), (&rollout.torque, n_steps * n_torques), (limit_force, limits), (info, reports)];
            for (rows, width) in kept {
                expect("rollout: rows of this model", rows, b, width, false)?;
            }
            if nc > 0 && [rollout.force.len(), rollout.force.width()] != [b * n_steps, 3 * nc] {
                let [expected, got] = [n_steps * 3 * nc, rollout.force.len() * rollout.force.width()];
                bail!("rollout: rows of this model: expected {b} × {expected} numbers, got {got}");
            }
            let kept = kept.map(|(rows, _)| rows.as_slice());
            let adjoint = |of_forces: bool, grad: &[f64]| {
                fused::rollout_adjoint(plan, of_forces, (u, par.rows()?), kept, &rollout.force, grad, (b, n_steps))
            };
            let mut more = None;
            if !by_force.is_empty() {
                let by_forces = plan.join_forces(by_force.into(), &[]);
                let [states, u_too, par_too] = adjoint(true, &by_forces)?;
                by_q.iter_mut().zip(states).for_each(|(sum, x)| *sum += x);
                more = Some((u_too, par_too));
            }
            let [q, mut u, mut par] = adjoint(false, &by_q)?;
            if let Some((u_too, par_too)) = more {
                u.iter_mut().zip(u_too).for_each(|(sum, x)| *sum += x);
                par.iter_mut().zip(par_too).for_each(|(sum, x)| *sum += x);
            }
            return GradientNumbers::new(q, u, &par, self.parameters());
        }
        let q0 = columns(&rollout.q, (n_steps + 1) * nq, 0..nq);
        self.vjp_by_tensors(&q0, u, (b, n_steps), |sim, q, u| {
            let all = rollout::rollout(sim, q, u)?;
            dot([(by_q, &all.q), (by_force, &all.force)], &all.q)
        })
    }

    /// Checks the lengths of q₀ (B, nq) and u (B, T, nu), and returns the number of worlds B.
    fn lengths(&self, q0: &[f64], u: &[f64], n_steps: usize) -> Result<usize> {
        if self.model().dtype != DType::F64 {
            bail!("plain numbers: expected a model of F64, got {:?}", self.model().dtype);
        }
        if n_steps == 0 {
            bail!("rollout: expected at least 1 step, got 0");
        }
        let b = count("rollout: q0", q0, self.model().nq())?;
        expect("rollout: u", u, b, n_steps * self.model().nu(), false)?;
        Ok(b)
    }

    fn rollout_tensors(&self, q0: &[f64], u: &[f64], b: usize, n_steps: usize) -> Result<(Tensor, Tensor)> {
        let (model, device) = (self.model(), &self.model().device);
        let q0 = Tensor::from_slice(q0, (b, model.nq()), device)?;
        Ok((q0, Tensor::from_slice(u, (b, n_steps, model.nu()), device)?))
    }

    /// Gradients of a cost by q, u and parameters through candle's graph, for steps that have no fused form.
    fn vjp_by_tensors(
        &self,
        q: &[f64],
        u: &[f64],
        (b, n_steps): (usize, usize),
        cost: impl Fn(&Self, &Tensor, &Tensor) -> Result<Tensor>,
    ) -> Result<GradientNumbers> {
        let (q, u) = self.rollout_tensors(q, u, b, n_steps)?;
        let (q, u) = (Var::from_tensor(&q)?, Var::from_tensor(&u)?);
        let parameters = self.parameters().map(|_, t| Ok(Var::from_tensor(&t.detach())?.into_inner()))?;
        let gradients = cost(&self.with_parameters(&parameters)?, &q, &u)?.backward()?;
        let of = |t: &Tensor| match gradients.get(t) {
            Some(gradient) => crate::tensor::numbers(gradient),
            None => Ok(vec![0.0; t.elem_count()]),
        };
        let all = parameters.tensors().into_iter().map(of).collect::<Result<Vec<_>>>()?;
        Ok(GradientNumbers { q: of(&q)?, u: of(&u)?, parameters: all })
    }
}
