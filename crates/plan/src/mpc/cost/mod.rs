//! The objective, a sum of terms. Each is a function of a state, with its gradient in tangent coordinates and a
//! positive semidefinite Gauss–Newton Hessian.
//!
//! ```text
//! J = Σ_k Σ_i w_i c_i(q_k) + Σ_k Σ_j ½ s(v_k)        c = ‖r‖², gradient 2 Jᵀr, Hessian 2 JᵀJ
//! ```

mod closure;
mod force;
mod joints;
mod order;
mod pose;
mod reach;
mod residual;

use std::sync::Arc;

use candle_core::Result;
use nalgebra::{DMatrix, DVector};

pub use closure::Closure;
pub use force::ContactForce;
pub(super) use force::ForceRates;
pub use joints::{JointLimits, Posture};
pub(super) use joints::{object_joint, object_joints};
pub use order::Order;
pub use pose::{Goal, Orientation, Position, Turn};
pub use reach::Reach;
pub use residual::Residual;

/// A function of a state: a sum of squares.
pub trait Cost: std::fmt::Debug + Send + Sync {
    /// The cost's value at q (nq numbers).
    ///
    /// # Errors
    /// If q has a wrong length.
    fn value(&self, q: &[f64]) -> Result<f64>;

    /// Adds `weight` times the gradient (nv) and the Hessian (nv, nv), in tangent coordinates.
    ///
    /// # Errors
    /// As [`Cost::value`].
    fn expand(&self, q: &[f64], weight: f64, to: &mut Expansion) -> Result<()>;

    /// The term's name in messages.
    fn name(&self) -> &'static str {
        "cost"
    }

    /// The cost of plans that begin at q (nq numbers), if it is another one.
    fn beginning_at(&self, _q: &[f64]) -> Option<Arc<dyn Cost>> {
        None
    }
}

/// A cost to second order in tangent coordinates.
#[derive(Clone, Debug)]
pub struct Expansion {
    /// Gradient (nv).
    pub gradient: DVector<f64>,
    /// Hessian (nv, nv).
    pub hessian: DMatrix<f64>,
}

impl Expansion {
    /// Zeros for `n` degrees of freedom.
    pub fn zeros(n: usize) -> Self {
        Self { gradient: DVector::zeros(n), hessian: DMatrix::zeros(n, n) }
    }

    /// Adds weight · ‖r‖² for a residual r (m) with its Jacobian (m, nv).
    pub fn add_squares(&mut self, weight: f64, residual: &DVector<f64>, jacobian: &DMatrix<f64>) {
        self.gradient.gemv_tr(2.0 * weight, jacobian, residual, 1.0);
        // The product of matrices is blocked, that with a transposed one is not.
        self.hessian.gemm(2.0 * weight, &jacobian.transpose(), jacobian, 1.0);
    }
}

/// A term of an objective.
#[derive(Clone, Debug)]
pub struct Term {
    /// What is summed: a function of a state.
    pub cost: Arc<dyn Cost>,
    /// The term's weight at every state but the last, per squared unit of its residual.
    pub running: f64,
    /// The term's weight at the last state, per squared unit of its residual.
    pub terminal: f64,
    /// Is this term part of the task's purpose? Only such terms count in the check for a missing gradient.
    pub purpose: bool,
}

/// The objective along a trajectory.
#[derive(Clone, Debug, Default)]
pub struct Objective {
    /// Costs of the state after each command.
    pub terms: Vec<Term>,
    /// Weight of |v|², 1/rad² or 1/m².
    pub command: f64,
    /// Weight of |u − u_before|², 1/rad² or 1/m².
    pub smoothness: f64,
    /// Weight of |K (u − q_a)|², 1/(N m)² or 1/N².
    pub effort: f64,
    /// Terms of the contact forces at the end of each period.
    pub forces: Vec<ContactForce>,
}

impl Objective {
    /// The cost of a state. `last` selects the weights of the last state; `purpose` leaves out terms that are not part
    /// of the task's purpose.
    ///
    /// # Errors
    /// If q has a wrong length.
    pub fn state(&self, q: &[f64], last: bool, purpose: bool) -> Result<f64> {
        let terms = self.terms.iter().filter(|term| term.purpose || !purpose);
        terms
            .map(|term| (term.weight(last), term))
            .filter(|(weight, _)| *weight > 0.0)
            .try_fold(0.0, |sum, (weight, term)| Ok(weight.mul_add(term.cost.value(q)?, sum)))
    }

    /// Adds the gradient and the Gauss–Newton Hessian of [`Objective::state`] to an expansion.
    ///
    /// # Errors
    /// As [`Objective::state`].
    pub fn expand(&self, q: &[f64], last: bool, purpose: bool, to: &mut Expansion) -> Result<()> {
        let terms = self.terms.iter().filter(|term| term.purpose || !purpose);
        for (weight, term) in terms.map(|term| (term.weight(last), term)).filter(|(weight, _)| *weight > 0.0) {
            term.cost.expand(q, weight, to)?;
        }
        Ok(())
    }
}

impl Objective {
    /// Fits the terms that depend on where a plan begins to one that begins at q (nq numbers).
    pub(super) fn begin_at(&mut self, q: &[f64]) {
        for term in &mut self.terms {
            if let Some(cost) = term.cost.beginning_at(q) {
                term.cost = cost;
            }
        }
    }
}

impl Term {
    fn weight(&self, last: bool) -> f64 {
        if last { self.terminal } else { self.running }
    }
}
