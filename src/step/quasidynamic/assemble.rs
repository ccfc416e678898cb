//! The tensor program: what a step solves, and what becomes of the solution.

use candle_core::{Result, Tensor};

use super::{Quasidynamic, Step};
use crate::contact::Contacts;
use crate::kinematics::Frames;
use crate::math::tensor::{constant, select};
use crate::solve::{self, ContactProblem, Report, Solution, Start, Status};
use crate::step::operands::{contact_operand, weights, worlds_with_usable_q};
use crate::step::torsion::totals;

/// What a step solves, before the solve.
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
        self.finish(q, contacts, solution, reports)
    }

    fn solve(&self, problem: &ContactProblem, start: Start) -> Result<Solution> {
        solve::barrier_from(&self.structure, problem, self.model.params.max_iterations, start)
    }

    fn finish(&self, q: &Tensor, contacts: Contacts, solution: Solution, reports: Vec<Report>) -> Result<Step> {
        let Solution { delta, force, limit_force, warm, .. } = solution;
        let [force, torque] = totals(&self.model, &contacts, &force)?;
        let q_next = self.manifold.integrate(q, &delta)?;
        Ok(Step { q_next, delta, force, torque, contacts, limit_force, reports, warm })
    }

    /// The step where some worlds' numbers are unusable: those stay where they are, or at home, without forces. Their
    /// numbers are replaced first, as a gradient of zero times NaN is NaN, and parameters are shared.
    fn step_around(&self, q: &Tensor, u: &Tensor, start: Start, reports: &[Report]) -> Result<Step> {
        let worlds = reports.len();
        let good: Vec<u8> = reports.iter().map(|report| u8::from(report.status != Status::BadInput)).collect();
        let good = Tensor::from_vec(good, (worlds, 1), q.device())?;
        let keep = |t: &Tensor, other: &Tensor| {
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
        self.finish(&q, contacts, solution, reports)
    }

    /// q, in worlds where it is finite with nonzero quaternions; the model's home in others.
    pub(super) fn usable(&self, q: &Tensor) -> Result<Tensor> {
        match worlds_with_usable_q(&self.model, q)? {
            Some(mask) => mask.broadcast_as(q.shape())?.where_cond(q, &self.model.home(q.dim(0)?)?),
            None => Ok(q.clone()),
        }
    }

    pub(super) fn assemble(&self, q: &Tensor, u: &Tensor) -> Result<Assembled> {
        let (model, parameters) = (&self.model, &self.parameters);
        let frames = model.kinematics.frames(q, &parameters.offsets)?;
        let (contacts, good) = self.contacts_of(&frames)?;
        let weights = weights(model, &contacts.phi)?;
        let problem = self.problem_operand(q, u, &frames)?;
        let problem = ContactProblem {
            contacts: contact_operand(model, parameters, &contacts, &contacts.phi, &weights)?,
            // NaN in the problem makes it one of bad input.
            problem: match good {
                Some(good) => select(&good, &problem, &constant(&[f64::NAN], &problem)?)?,
                None => problem,
            },
            screws: frames.screws,
        };
        Ok(Assembled { contacts, problem })
    }

    /// [P | g | κ | gaps] (B, ·).
    fn problem_operand(&self, q: &Tensor, u: &Tensor, frames: &Frames) -> Result<Tensor> {
        let parameters = &self.parameters;
        let b = q.dim(0)?;
        let wide = |t: &Tensor| t.broadcast_as((b, t.dim(1)?));
        let (inertia, weight) = self.inertia.at(parameters, frames)?;
        let factor = parameters.epsilon.broadcast_div(&parameters.h.sqr()?)?;
        let pull = (u - q.contiguous()?.index_select(&self.commanded, 1)?)?.broadcast_mul(&parameters.stiffness)?;
        let force = Tensor::cat(&[wide(&weight)?, pull], 1)?;
        let force = match &self.order {
            Some(order) => force.index_select(order, 1)?,
            None => force,
        };
        let g = force.broadcast_add(&parameters.tau)?.neg()?;
        let mut parts =
            vec![wide(&inertia.broadcast_mul(&factor)?)?, wide(&parameters.stiffness)?, g, wide(&parameters.kappa)?];
        if let Some(limits) = &self.limits {
            parts.push(limits.gaps(q)?);
        }
        Tensor::cat(&parts, 1)
    }
}
