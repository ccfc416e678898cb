//! A step's solve, iteration by iteration.

use std::sync::Arc;

use candle_core::{Result, Tensor};

use super::{Fused, Quasidynamic};
use crate::solve::Report;
use crate::tensor::numbers;

/// How far the solve of one world has come when it is ended after some of its iterations.
#[derive(Clone, Debug, PartialEq)]
pub struct Iterate {
    /// The report there: its status is that of a solve with no more iterations, its residual is relative to the forces.
    pub report: Report,
    /// Largest change of a number of δ since the iteration before, m or rad.
    pub moved: f64,
    /// The least gap that the step would leave, m; ∞ without contacts. See [`Quasidynamic::gaps`].
    pub gap: f64,
    /// The largest contact force, N.
    pub force: f64,
}

impl Quasidynamic {
    /// The solve of one world from q (1, nq) under u (1, nu), iteration by iteration, up to the last one. It is solved anew for each, so
    /// that this is for looking, not for speed. In an iterate that is infeasible or of bad input δ and forces are 0.
    ///
    /// # Errors
    /// As [`Quasidynamic::forward`], and if the step has no fused form.
    pub fn iterates(&self, q: &Tensor, u: &Tensor) -> Result<Vec<Iterate>> {
        let Fused { plan, par } = self.fused_form("iterates")?;
        let (q, u) = (&q.detach(), &u.detach());
        let total = self.step(q, u)?.reports[0].iterations;
        let (mut iterates, mut before) = (Vec::with_capacity(total), vec![0.0; self.model.nv()]);
        for most in 1..=total {
            let plan = Arc::new(plan.ended_after(most));
            let ended = Self { fused: Some(Fused { plan, par: par.clone() }), ..self.clone() };
            let step = ended.step(q, u)?;
            let (delta, forces) = (numbers(&step.delta)?, numbers(&step.force)?);
            let changes = delta.iter().zip(&before).map(|(now, before)| (now - before).abs());
            let forces = forces.as_chunks().0.iter().map(|&[x, y, z]: &[f64; 3]| x.hypot(y).hypot(z));
            iterates.push(Iterate {
                report: step.reports[0],
                moved: changes.fold(0.0, f64::max),
                gap: numbers(&self.gaps(q, &step)?)?.into_iter().fold(f64::INFINITY, f64::min),
                force: forces.fold(0.0, f64::max),
            });
            before = delta;
        }
        Ok(iterates)
    }
}
