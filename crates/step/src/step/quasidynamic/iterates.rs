//! A step's solve, iteration by iteration.

use candle_core::{Result, Tensor, bail};

use super::{Fused, Quasidynamic, fused};
use crate::solve::Attempt;
use fingertip_scene::Friction;

/// One iteration of the solve of a world, and where the step would end if it were the last.
#[derive(Clone, Debug, PartialEq)]
pub struct Iterate {
    /// The friction law that is solved for: the scene's own, or the relaxed one where Coulomb's law has no answer yet.
    /// `None` is the solve without friction, of worlds that have no solution with it.
    pub friction: Option<Friction>,
    /// The way in which the iteration looked for the solution.
    pub attempt: Attempt,
    /// Length of the step, in steps of the method: 1 is a full one.
    pub length: f64,
    /// The error by which the method decides how to go on, without unit: κ times Newton's decrement squared before the
    /// step; by Coulomb's law the largest of the same quantity over the contacts, after the step.
    pub error: f64,
    /// Relative residual after the step, from 0 to 1: see [`Report::residual`](crate::solve::Report::residual).
    pub residual: f64,
    /// Largest change of a number of δ since the iteration before, m or rad.
    pub moved: f64,
    /// The least gap that the step would leave, m; ∞ without contacts. See [`Quasidynamic::gaps`].
    pub gap: f64,
    /// The largest contact force, N.
    pub force: f64,
}

impl Quasidynamic {
    /// The solve of one world from q (1, nq) under u (1, nu), iteration by iteration, in double precision. A world may
    /// be solved several times, as by Coulomb's law and then by the relaxed one; the iterations of all solves follow
    /// each other.
    ///
    /// # Errors
    /// As [`Quasidynamic::forward`], and if there are several worlds or the step has no fused form.
    pub fn iterates(&self, q: &Tensor, u: &Tensor) -> Result<Vec<Iterate>> {
        let Fused { plan, par } = self.fused_form("iterates")?;
        self.check(q, u)?;
        if (q.dim(0)?, par.dim(0)?) != (1, 1) {
            bail!("iterates: expected one world, got {}", q.dim(0)?.max(par.dim(0)?));
        }
        let (mut iterates, mut before) = (Vec::new(), vec![0.0; self.model.nv()]);
        for phase in fused::log(plan, [q, u, par])? {
            let n = phase.of.heads.len();
            for (k, &(attempt, length, error)) in phase.of.heads.iter().enumerate() {
                let own = |all: &Vec<f64>| all[k * all.len() / n..(k + 1) * all.len() / n].to_vec();
                let delta = own(&phase.delta);
                let changes = delta.iter().zip(&before).map(|(now, before)| (now - before).abs());
                let size = |&[x, y, z]: &[f64; 3]| x.hypot(y).hypot(z);
                iterates.push(Iterate {
                    friction: phase.of.friction,
                    attempt,
                    length,
                    error,
                    residual: phase.residuals[k],
                    moved: changes.fold(0.0, f64::max),
                    gap: own(&phase.gaps).into_iter().fold(f64::INFINITY, f64::min),
                    force: own(&phase.forces).as_chunks().0.iter().map(size).fold(0.0, f64::max),
                });
                before = delta;
            }
        }
        Ok(iterates)
    }
}
