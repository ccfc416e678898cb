//! The two ways in which contact is solved.

use candle_core::{Device, Result, Tensor};

use super::rigid::{RigidBatch, RigidStep};
use super::{Dynamic, DynamicStep};
use crate::contact::Contacts;
use crate::solve::{Method, Start};
use crate::step::fused;
use crate::step::result::Step;
use crate::tensor::rows::from_tensor;
use fingertip_lanes::rows::Rows;

impl Dynamic {
    /// The step with the barrier's smoothed contact: one tensor operation, on lanes of worlds or on a GPU.
    pub(super) fn smooth(&self, q: &Tensor, motion: &Tensor, warm: Option<&Tensor>) -> Result<DynamicStep> {
        self.read(&fused::rows(&self.plan, [q, motion, &self.par], Start::forces(warm))?)
    }

    /// The step with the barrier's contact from its rows.
    pub(super) fn read(&self, rows: &Tensor) -> Result<DynamicStep> {
        let (step, v_next) = fused::read_dynamic(&self.plan, rows)?;
        let Step { q_next, force, torque, contacts, limit_force, reports, warm, .. } = step;
        Ok(DynamicStep { q_next, v_next, force, torque, contacts, limit_force, reports, warm: Some(warm) })
    }

    /// The step with rigid contact, solved world by world.
    pub(super) fn rigid(&self, q: &Tensor, motion: &Tensor, method: Method) -> Result<DynamicStep> {
        let next = self.rigid_once(q, motion, method)?;
        let marks = next.marks()?;
        if marks.iter().all(|&mark| mark == 0.0) {
            return Ok(next);
        }
        // Finite numbers that overflow on the way cannot be used either.
        let marks = Tensor::from_vec(marks, (q.dim(0)?, 1), q.device())?.to_dtype(q.dtype())?;
        self.rigid_once(q, &motion.broadcast_add(&marks)?, method)
    }

    fn rigid_once(&self, q: &Tensor, motion: &Tensor, method: Method) -> Result<DynamicStep> {
        let batch = self.batch(q, motion)?;
        let contacts = batch.of.contacts(q)?;
        let RigidStep { v_next, delta, force, limit_force, reports } = batch.solve(method, q)?;
        let q = batch.q(q)?;
        let torque = Tensor::zeros((reports.len(), self.model.pairs.torsional.len()), q.dtype(), q.device())?;
        let q_next = self.manifold.integrate(&q, &delta)?;
        Ok(DynamicStep { q_next, v_next, force, torque, contacts, limit_force, reports, warm: None })
    }

    /// Assembles the rigid contact problems of all worlds.
    pub(super) fn batch(&self, q: &Tensor, motion: &Tensor) -> Result<RigidBatch<'_>> {
        Ok(RigidBatch {
            // Twins of contacts that resist turning are friction's.
            paths: &self.paths[..self.model.nc()],
            limits: &self.limit_dofs,
            of: self.tables.assembly(&self.plan, [rows(q)?, rows(motion)?, rows(&self.par)?])?,
            joints: &self.joints,
            dry_friction: rows(&self.parameters.dry_friction)?,
        })
    }
}

impl DynamicStep {
    /// 0 for worlds whose numbers are all finite, NaN for the others.
    fn marks(&self) -> Result<Vec<f64>> {
        let Contacts { phi, normal, point_a, point_b, .. } = &self.contacts;
        let mut marks: Vec<f64> = self.reports.iter().map(|report| report.residual * 0.0).collect();
        for x in
            [&self.q_next, &self.v_next, &self.force, &self.torque, &self.limit_force, phi, normal, point_a, point_b]
        {
            let rows = rows(&x.flatten_from(1)?)?;
            for (world, mark) in marks.iter_mut().enumerate() {
                *mark += rows.row(world).iter().map(|x| x * 0.0).sum::<f64>();
            }
        }
        Ok(marks)
    }
}

/// A tensor's numbers, without its graph.
fn rows(tensor: &Tensor) -> Result<Rows<'static>> {
    from_tensor(&tensor.detach().to_device(&Device::Cpu)?)
}
