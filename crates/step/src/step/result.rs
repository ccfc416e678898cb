//! Results of steps.

use candle_core::{Result, Tensor};

use crate::contact::Contacts;
use crate::solve::{INFO, Report};

/// Result of a step. Everything but `reports` and `warm` is differentiable.
#[derive(Clone, Debug)]
pub struct Step {
    /// Next configuration (B, nq). In worlds without a solution it is q, or the model's home if q itself is not finite.
    pub q_next: Tensor,
    /// The step in tangent coordinates δ (B, nv).
    pub delta: Tensor,
    /// Contact force on B in world axes (B, nc, 3), N; −force acts on A.
    pub force: Tensor,
    /// Torque on B about its normal of each contact with torsional friction (B, n), N·m, in the order of
    /// [`PairTable::torsional`](crate::contact::PairTable::torsional); empty unless the scene has such contacts.
    pub torque: Tensor,
    /// Contacts at q.
    pub contacts: Contacts,
    /// Forces of the joint limits (B, nl), N or N·m, if the scene turns them on; then, in the order of
    /// [`crate::kinematics::Tree::dry_friction`], what dry friction pushes each of its degrees of freedom with; last,
    /// in that of [`crate::kinematics::Tree::tables`], three numbers of each table: the force on the body along x and
    /// y, and the torque about its centre of mass over the table's radius, all in N.
    pub limit_force: Tensor,
    /// The report of each world's solve.
    pub reports: Vec<Report>,
    /// Start for the next step's solve (B, 3 nc + nl), or (B, 4 nc + nl) in scenes with torsional friction.
    pub warm: Tensor,
}

/// A batch of trajectories, the result of [`rollout`](crate::rollout::rollout).
#[derive(Clone, Debug)]
pub struct Rollout {
    /// Configurations (B, T + 1, nq). The first is q₀. Differentiable.
    pub q: Tensor,
    /// Contact forces on B of each contact in world axes (B, T, nc, 3), N. Differentiable.
    pub force: Tensor,
    /// Torques on B of the contacts with torsional friction (B, T, n), N·m, as in [`Step::torque`]. Differentiable.
    pub torque: Tensor,
    /// The reports of all solves, step by step: T rows of B.
    pub reports: Vec<Vec<Report>>,
}

/// First derivatives of a step in tangent coordinates. The tensors have no gradients.
#[derive(Clone, Debug)]
pub struct Linearization {
    /// Next configuration (B, nq), as [`Step::q_next`].
    pub q_next: Tensor,
    /// The step in tangent coordinates δ (B, nv).
    pub delta: Tensor,
    /// λ of all contacts in their frames, then the torques (B, n): what C and D are of, see
    /// [`Step::lambda_and_torque`].
    pub lambda: Tensor,
    /// Start for a solve nearby, as [`Step::warm`].
    pub warm: Tensor,
    /// The report of each world's solve.
    pub reports: Vec<Report>,
    /// A = ∂q₊/∂q (B, nv, nv).
    pub a: Tensor,
    /// B = ∂q₊/∂u (B, nv, nu).
    pub b: Tensor,
    /// C = ∂λ/∂q (B, n, nv), N/rad or N/m, with λ in the contact frames (normal, two tangents), which move with q. The
    /// first 3 nc rows are those of the contacts; the rows of [`Step::torque`] follow, N·m/rad or N.
    pub c: Tensor,
    /// D = ∂λ/∂u (B, n, nu).
    pub d: Tensor,
}

impl Step {
    /// The tensor program's answer: δ, the solver's forces and the report of each world side by side. No gradient.
    pub(crate) fn answer(&self) -> Result<Tensor> {
        let reports: Vec<f64> = self.reports.iter().flat_map(Report::row).collect();
        let reports = Tensor::from_vec(reports, (self.reports.len(), INFO), self.delta.device())?;
        Tensor::cat(&[&self.delta.detach(), &self.warm, &reports.to_dtype(self.delta.dtype())?], 1)
    }

    /// Contact force λ (B, nc, 3) in each contact's frame: along the normal and two tangents, N.
    ///
    /// # Errors
    /// If a tensor operation fails.
    pub fn lambda(&self) -> Result<Tensor> {
        crate::contact::frame(&self.contacts.normal)?.broadcast_mul(&self.force.unsqueeze(2)?)?.sum(3)
    }

    /// λ of all contacts, then the torques (B, n_lambda), in the order of the rows of C and D in a [`Linearization`].
    ///
    /// # Errors
    /// If a tensor operation fails.
    pub fn lambda_and_torque(&self) -> Result<Tensor> {
        let lambda = self.lambda()?.flatten_from(1)?;
        if self.torque.dim(1)? == 0 { Ok(lambda) } else { Tensor::cat(&[&lambda, &self.torque], 1) }
    }
}
