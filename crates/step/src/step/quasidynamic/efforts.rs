//! The forces of the commands' springs, and where they exceed what joints can give.

use candle_core::{Result, Tensor};

use super::Quasidynamic;
use crate::tensor::numbers;

/// A command that pulls harder than its joint's largest effort.
#[derive(Clone, Debug, PartialEq)]
pub struct BeyondEffort {
    /// In which world of the batch.
    pub world: usize,
    /// The command's place in u.
    pub command: usize,
    /// The force of its spring, N·m or N.
    pub force: f64,
    /// The largest effort of its joint, N·m or N.
    pub effort: f64,
}

impl Quasidynamic {
    /// The forces of the commands' springs where a step ends (B, nu), N·m or N: K (u − q₊), and of a command that pulls
    /// a tendon K (u − q₊ − Σ ratio · q₊), which is the force on its own joint; no more than its effort with
    /// [`effort_limits`](fingertip_scene::Params::effort_limits). What a controller adds against weight is not in them.
    /// Differentiable in all.
    ///
    /// # Errors
    /// As [`Quasidynamic::forward`].
    pub fn command_forces(&self, q_next: &Tensor, u: &Tensor) -> Result<Tensor> {
        self.check(q_next, u)?;
        let (tree, nq, nu) = (&self.model.tree, self.model.nq(), self.model.nu());
        let mut lengths = vec![0.0; nq * nu];
        for (k, c) in tree.coordinates.iter().filter_map(|c| Some((c.u?, c))) {
            lengths[c.q * nu + k] = 1.0;
            c.others.iter().for_each(|&(other, ratio)| lengths[tree.coordinates[other].q * nu + k] += ratio);
        }
        let lengths = Tensor::from_vec(lengths, (nq, nu), &self.model.device)?.to_dtype(self.model.dtype)?;
        let forces = (u - q_next.matmul(&lengths)?)?.broadcast_mul(&self.parameters.stiffness)?;
        if !self.model.params.effort_limits {
            return Ok(forces);
        }
        let efforts = self.model.tensor(&[&self.efforts()])?;
        forces.broadcast_minimum(&efforts)?.broadcast_maximum(&efforts.neg()?)
    }

    /// The commands whose springs pull harder where a step ends than their joints' largest efforts allow: the step
    /// bounds them only with [`effort_limits`](fingertip_scene::Params::effort_limits).
    ///
    /// # Errors
    /// As [`Quasidynamic::forward`].
    pub fn beyond_efforts(&self, q_next: &Tensor, u: &Tensor) -> Result<Vec<BeyondEffort>> {
        let nu = self.model.nu();
        let forces = numbers(&self.command_forces(q_next, u)?)?;
        let efforts = self.efforts();
        let all = forces.iter().enumerate().map(|(i, &force)| (i / nu, i % nu, force));
        let beyond = all.filter(|&(_, command, force)| force.abs() > efforts[command]);
        let of = |(world, command, force)| BeyondEffort { world, command, force, effort: efforts[command] };
        Ok(beyond.map(of).collect())
    }

    /// The largest effort of each command's joint, N·m or N.
    fn efforts(&self) -> Vec<f64> {
        self.model.tree.coordinates.iter().filter(|c| c.u.is_some()).map(|c| c.effort).collect()
    }
}
