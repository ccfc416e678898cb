//! The two ways in which contact is solved.

use candle_core::{Result, Tensor};

use super::assembled::Assembled;
use super::rigid::{RigidBatch, RigidStep};
use super::state::State;
use super::{Dynamic, DynamicStep, rows};
use crate::solve::{self, ContactProblem, Method, Solution};

impl Dynamic {
    /// Damping (B, nv) at v₊: the joints' own, and dry friction's of a smooth step.
    fn damping(&self, h: &Tensor, assembled: &Assembled) -> Result<Option<Tensor>> {
        let Assembled { diagonal, force, momentum, .. } = assembled;
        let per_inertia = diagonal.recip()?.broadcast_mul(h)?;
        let free = ((momentum + force.broadcast_mul(h)?)? / diagonal)?;
        let dry = self.joints.dry_damping(&free, &per_inertia, self.params.stiction_speed)?;
        Ok(match (&self.joints.damping, dry) {
            (Some(viscous), Some(dry)) => Some(dry.broadcast_add(viscous)?),
            (Some(viscous), None) => Some(viscous.broadcast_as(diagonal.shape())?),
            (None, dry) => dry,
        })
    }

    pub(super) fn smooth(&self, state: &State, assembled: Assembled, warm: Option<&Tensor>) -> Result<DynamicStep> {
        let (State { good, q, .. }, h) = (state, &self.parameters.h);
        let damping = self.damping(h, &assembled)?;
        let Assembled { contacts, screws, mass, force, momentum, gap, weight, limit_gap, .. } = assembled;
        let (b, nv) = force.dims2()?;
        let mut p = mass.index_select(&self.entries, 1)?.broadcast_div(&h.sqr()?)?;
        if let Some(damping) = damping {
            let diagonal = (p.narrow(1, 0, nv)? + damping.broadcast_div(h)?)?;
            p = Tensor::cat(&[diagonal, p.narrow(1, nv, p.dim(1)? - nv)?], 1)?;
        }
        let g = (momentum.broadcast_div(h)? + force)?.neg()?;
        let kappa = self.parameters.kappa.broadcast_as((b, 1))?;
        let mut parts = vec![p, g, kappa];
        parts.extend(limit_gap);
        let mut problem = Tensor::cat(&parts, 1)?;
        if good.contains(&false) {
            // NaN in the problem is what tells the solve.
            let marks: Vec<f64> = good.iter().map(|&good| if good { 0.0 } else { f64::NAN }).collect();
            let marks = Tensor::from_vec(marks, (b, 1), q.device())?.to_dtype(q.dtype())?;
            problem = problem.broadcast_add(&marks)?;
        }
        let contact = self.contacts.operand(&self.parameters, &contacts, &gap, &weight)?;
        let problem = ContactProblem { screws, contacts: contact, problem };
        let solution = solve::barrier(&self.structure, &problem, self.model.params.max_iterations, warm)?;
        let reports = solution.report()?;
        let [force, torque] = self.contacts.torsion.totals(&problem.contacts, &solution)?;
        let Solution { delta, limit_force, warm, .. } = solution;
        let q_next = self.manifold.integrate(q, &delta)?;
        let v_next = delta.broadcast_div(h)?;
        Ok(DynamicStep { q_next, v_next, force, torque, contacts, limit_force, reports, warm: Some(warm) })
    }

    pub(super) fn rigid(
        &self,
        State { good, q, .. }: &State,
        assembled: Assembled,
        method: Method,
    ) -> Result<DynamicStep> {
        let RigidStep { v_next, force, limit_force, reports } = self.batch(&assembled)?.solve(good, method, q)?;
        let q_next = self.manifold.integrate(&q.detach(), &v_next.broadcast_mul(&self.parameters.h.detach())?)?;
        let torque = Tensor::zeros((good.len(), self.model.pairs.torsional.len()), q.dtype(), q.device())?;
        let contacts = assembled.contacts;
        Ok(DynamicStep { q_next, v_next, force, torque, contacts, limit_force, reports, warm: None })
    }

    /// All worlds' rigid problems.
    pub(super) fn batch(&self, assembled: &Assembled) -> Result<RigidBatch<'_>> {
        let h = &self.parameters.h.detach();
        let Assembled { contacts, screws, mass, force, momentum, gap, weight, limit_gap, .. } = assembled;
        let [normal, point_a, point_b] = RigidBatch::contact_rows(contacts)?;
        Ok(RigidBatch {
            paths: &self.paths,
            limits: &self.limit_dofs,
            screws: rows(screws)?,
            normal,
            point_a,
            point_b,
            gap: rows(gap)?,
            weight: rows(weight)?,
            limit_gap: limit_gap.as_ref().map(rows).transpose()?,
            mass: rows(mass)?,
            damping: self.joints.damping.as_ref().map(rows).transpose()?,
            momentum: rows(&(momentum + force.broadcast_mul(h)?)?)?,
            dry: self.joints.dry_impulses(h)?.as_ref().map(rows).transpose()?,
            h: rows(h)?,
        })
    }
}
