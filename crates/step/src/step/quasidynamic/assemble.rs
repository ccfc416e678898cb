//! The tensor program: the step's kernels composed as tensor operations.

use candle_core::{Result, Tensor};

use super::Quasidynamic;
use crate::contact::Contacts;
use crate::solve::{self, ContactProblem, Report, Solution, Start, Status};
use crate::step::operands::{ContactTables, usable, worlds_with_usable_q};
use crate::step::result::Step;
use crate::tensor::{constant, select};

/// The contacts and the contact problem of a step, before the solve.
pub(super) struct Assembled {
    pub(super) contacts: Contacts,
    pub(super) problem: ContactProblem,
}

impl Quasidynamic {
    /// The step by the tensor program.
    pub(super) fn step_by_tensors(&self, q: &Tensor, u: &Tensor, start: Start) -> Result<Step> {
        let Assembled { contacts, problem } = self.assemble(q, u)?;
        let solution = self.solve(&problem, start.clone())?;
        let reports = solution.report()?;
        if reports.iter().any(|report| report.status == Status::BadInput) {
            return self.step_around(q, u, start, &reports);
        }
        self.finish(q, Assembled { contacts, problem }, solution, reports)
    }

    fn solve(&self, problem: &ContactProblem, start: Start) -> Result<Solution> {
        solve::barrier_from(&self.structure, problem, self.model.params.max_iterations, start)
    }

    fn finish(&self, q: &Tensor, of: Assembled, solution: Solution, reports: Vec<Report>) -> Result<Step> {
        let contacts = of.contacts;
        let [force, torque] = self.contacts.torsion.totals(&solution)?;
        let Solution { delta, limit_force, warm, .. } = solution;
        let q_next = self.manifold.integrate(q, &delta)?;
        Ok(Step { q_next, delta, force, torque, contacts, limit_force, reports, warm })
    }

    /// The step if some worlds have unusable numbers. Those worlds stay where they are, or at home, without forces.
    /// Their numbers are replaced first: a gradient of zero times NaN is NaN, and it would spread through shared
    /// parameters.
    fn step_around(&self, q: &Tensor, u: &Tensor, start: Start, reports: &[Report]) -> Result<Step> {
        let worlds = reports.len();
        let good: Vec<u8> = reports.iter().map(|report| u8::from(report.status != Status::BadInput)).collect();
        let good = Tensor::from_vec(good, (worlds, 1), q.device())?;
        let keep = |t: &Tensor, other: &Tensor| {
            // Candle's kernels for GPUs fail without numbers.
            if t.elem_count() == 0 {
                return Ok(t.clone());
            }
            let shape = (worlds, t.dim(1)?);
            good.broadcast_as(shape)?.where_cond(&t.broadcast_as(shape)?, &other.broadcast_as(shape)?)
        };
        let mut own = self.model.parameters.tensors().into_iter();
        let parameters = self.parameters.map(|_, t| keep(t, own.next().unwrap_or(t)))?;
        let clean = Self { parameters, ..self.clone() };
        let q = self.usable(q)?;
        let Assembled { contacts, mut problem } = clean.assemble(&q, &keep(u, &u.zeros_like()?)?)?;
        // NaN in the problem keeps the world's status.
        let bad = reports.iter().map(|r| if r.status == Status::BadInput { f64::NAN } else { 0.0 }).collect::<Vec<_>>();
        let bad = Tensor::from_vec(bad, (worlds, 1), q.device())?.to_dtype(q.dtype())?;
        problem.problem = problem.problem.broadcast_add(&bad)?;
        let solution = self.solve(&problem, start)?;
        let reports = solution.report()?;
        self.finish(&q, Assembled { contacts, problem }, solution, reports)
    }

    /// q, in worlds where it is finite with nonzero quaternions; the model's home in others.
    pub(super) fn usable(&self, q: &Tensor) -> Result<Tensor> {
        usable(&self.model, &self.structure.kernels, q)
    }

    pub(super) fn assemble(&self, q: &Tensor, u: &Tensor) -> Result<Assembled> {
        let parameters = &self.parameters;
        let frames = self.model.kinematics.frames(q, &parameters.offsets)?;
        let (contacts, good) = self.contacts_of(&frames)?;
        let weights = self.contacts.weights(&contacts.phi)?;
        let placed = ContactTables::placed(&contacts, &contacts.phi, &weights)?;
        let mut operand = self.problem.operand(&self.structure, [q, u], &frames, parameters)?;
        if !self.rolling.is_empty() {
            operand = (operand + self.rolling.operand(&self.structure, &frames, &placed, parameters)?)?;
        }
        // NaN in the problem makes it one of bad input.
        let usable = worlds_with_usable_q(&self.model, &self.structure.kernels, q)?;
        for good in [good, usable].into_iter().flatten() {
            operand = select(&good, &operand, &constant(&[f64::NAN], &operand)?)?;
        }
        let problem = ContactProblem {
            contacts: self.contacts.operand(parameters, &placed)?,
            problem: operand,
            screws: frames.screws,
        };
        Ok(Assembled { contacts, problem })
    }

    /// A first-order estimate of the displacement due to smoothing: δ_∞ − δ (B, nv) ≈ κ ∂δ/∂κ = −H⁻¹ Σ Jᵀλ, with an
    /// error of O(1/κ²) if every contact is either loaded or apart. 0 in worlds without a solution. It has no gradient.
    ///
    /// # Errors
    /// As [`Quasidynamic::forward`].
    pub fn smoothing_error(&self, q: &Tensor, u: &Tensor) -> Result<Tensor> {
        self.check(q, u)?;
        let Assembled { problem, .. } = self.assemble(&q.detach(), &u.detach())?;
        let solution = solve::barrier(&self.structure, &problem, self.model.params.max_iterations, None)?;
        solve::smoothing_error(&self.structure, &problem, &solution)
    }
}
