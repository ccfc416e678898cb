//! One world, step after step, of whose contacts only those that are near are given.

use candle_core::{DType, Result};

use super::Quasidynamic;
use crate::contact::UNUSED;
use crate::solve::Report;
use crate::step::fused;

/// One world that goes from step to step in memory of its own, made by [`Quasidynamic::walk`]. What a step costs grows
/// with the contacts that are near, and not with all that the scene has room for.
#[derive(Debug)]
pub struct Walk {
    world: fused::Walk,
    /// What is known to be far is farther apart than this, m.
    reach: f64,
}

/// A step of a [`Walk`]. It has the bits of [`Quasidynamic::step_from`].
#[derive(Clone, Debug)]
pub struct Walked {
    /// q₊ (nq), m and rad.
    pub q_next: Vec<f64>,
    /// The contacts that are nearer than their pair [reaches](crate::contact::Window), in ascending order. All others
    /// have no force.
    pub contacts: Vec<NearContact>,
    /// The least signed distance of all contacts at the step's start, m; none if the scene has no contacts. Of shapes
    /// that are out of reach it is that of the balls around them.
    pub gap: Option<f64>,
    /// The report of the contact solve.
    pub report: Report,
}

/// A contact that is near.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NearContact {
    /// Its index among all contacts of the scene.
    pub contact: usize,
    /// Signed distance φ at the step's start, m.
    pub phi: f64,
    /// The contact's part of its pair's barrier, from 0 to 1.
    pub share: f64,
    /// Unit normal from A to B at the step's start.
    pub normal: [f64; 3],
    /// Point on A at the step's start, m, in world axes.
    pub point_a: [f64; 3],
    /// Point on B.
    pub point_b: [f64; 3],
    /// Force on B during the step, N, in world axes.
    pub force: [f64; 3],
}

impl Quasidynamic {
    /// A world to be stepped in place. None where steps are not the CPU's own in `f64`: on a GPU, in single precision,
    /// by the tensor program or by code compiled for the scene.
    pub fn walk(&self) -> Option<Walk> {
        let (plan, _) = self.fused_parts().filter(|(plan, _)| self.model().dtype == DType::F64 && !plan.is_native())?;
        let reach = self.model().pairs.windows().map(|window| window.reach).fold(f64::INFINITY, f64::min);
        Some(Walk { world: fused::Walk::new(plan), reach })
    }
}

impl Walk {
    /// Has the next solve start cold, as the first one does. The others start from the forces of the step before.
    pub fn forget(&mut self) {
        self.world.forget();
    }

    /// Can this world be stepped by `step`? It can if that is the step that made it, or a copy with other parameters.
    pub fn is_of(&self, step: &Quasidynamic) -> bool {
        step.fused_parts().is_some_and(|(plan, _)| self.world.is_of(plan))
    }

    /// One step from q (nq) under the command u (nu), by the step that made this world or a copy with other parameters.
    ///
    /// # Errors
    /// If `step` is another one or has parameters of several worlds, or q or u has another length.
    pub fn step(&mut self, step: &Quasidynamic, q: &[f64], u: &[f64]) -> Result<Walked> {
        let model = step.model();
        let Some((_, par)) = step.fused_parts().filter(|(plan, _)| self.world.is_of(plan)) else {
            candle_core::bail!("walk: expected the step that made this world, or a copy with other parameters");
        };
        if q.len() != model.nq() || u.len() != model.nu() {
            let (nq, nu) = (model.nq(), model.nu());
            candle_core::bail!("walk: expected q ({nq}) and u ({nu}), got {} and {} numbers", q.len(), u.len());
        }
        if par.dim(0)? != 1 {
            candle_core::bail!("walk: expected parameters of one world, got those of {}", par.dim(0)?);
        }
        let found = self.world.step(q, u, par)?;
        let (mut contacts, mut gap) = (Vec::new(), f64::INFINITY);
        for contact in found.contacts() {
            let phi = found.phi(contact);
            if phi < gap {
                gap = phi;
            }
            if phi < model.pairs.pairs[model.pairs.pair_of_contact[contact]].window.reach.min(UNUSED) {
                let [normal, point_a, point_b] = found.geometry(contact);
                let (share, force) = (found.share(contact), found.force(contact));
                contacts.push(NearContact { contact, phi, share, normal, point_a, point_b, force });
            }
        }
        if gap > self.reach {
            gap = gap.min(found.far());
        }
        let report = found.report();
        let gap = (model.nc() > 0).then_some(gap);
        Ok(Walked { q_next: found.q_next().to_vec(), contacts, gap, report })
    }
}
