//! Separation by geometry alone: the nearest configuration in which bodies do not overlap.
//!
//! With the gaps φ and their slopes J at q, and a push F on whatever can move, the motion δ is that of rigid contact,
//! in positions instead of velocities:
//!
//! ```text
//! minimise ½ δᵀ (M + W) δ − Fᵀ δ   subject to   φ + J δ ≥ 0        q ← q ⊕ δ
//! ```
//!
//! W is inertia added to chosen degrees of freedom, so that the others give way first. Gaps are not linear in q, so the
//! motion is repeated until no gap is negative.

use candle_core::{Result, Tensor, bail};
use nalgebra::DVector;

use crate::kinematics::Manifold;
use crate::model::Model;
use crate::solve::{Frictionless, Method, Status};
use crate::step::bound::Bound;

use super::rigid::RigidContact;
use super::{ContactModel, Dynamic, DynamicParams};

/// Limit of one motion, m and rad: the linear gaps are valid only near q.
const LONGEST: f64 = 0.2;

/// Moves overlapping bodies of a model apart.
#[derive(Clone, Debug)]
pub struct Separation {
    step: Dynamic,
    manifold: Manifold,
    method: Method,
    added_inertia: DVector<f64>,
}

/// Result of a separation.
#[derive(Clone, Debug)]
pub struct Separated {
    /// The configuration (1, nq).
    pub q: Tensor,
    /// Smallest gap at the start and after each motion, m.
    pub gaps: Vec<f64>,
    /// Is the last gap as large as requested?
    pub separated: bool,
}

/// A configuration's contacts as a problem in δ: bounds are −φ.
pub struct Gaps {
    /// The contacts that take part and their problem at δ* = 0, joint limits behind them.
    pub contact: RigidContact,
    /// Smallest gap of contacts and limits, m (rad); infinite without any.
    pub least: f64,
}

impl Separation {
    /// For a model in which everything that moves has mass. `method` solves the problem of each motion.
    ///
    /// # Errors
    /// As [`Dynamic::new`].
    pub fn new(model: &Model, method: Method) -> Result<Self> {
        let mut parameters = model.parameters.clone();
        parameters.h = parameters.h.ones_like()?;
        parameters.gravity = parameters.gravity.zeros_like()?;
        parameters.tau = parameters.tau.zeros_like()?;
        parameters.spring = parameters.spring.zeros_like()?;
        let params = DynamicParams {
            contact: ContactModel::Rigid(method),
            bound: Bound::Gap { beta: 1.0 },
            ..DynamicParams::default()
        };
        Ok(Self {
            step: Dynamic::new(model, &parameters, params)?,
            manifold: Manifold::new(&model.tree, &model.device)?,
            method,
            added_inertia: DVector::zeros(model.nv()),
        })
    }

    /// Adds inertia to each degree of freedom (nv), kg or kg·m², not negative. Those with more give way less.
    ///
    /// # Errors
    /// If there is not exactly one number per degree of freedom.
    pub fn with_added_inertia(mut self, added_inertia: &[f64]) -> Result<Self> {
        if added_inertia.len() != self.added_inertia.len() {
            bail!("added_inertia: expected {} numbers, got {}", self.added_inertia.len(), added_inertia.len());
        }
        self.added_inertia = DVector::from_column_slice(added_inertia);
        Ok(self)
    }

    /// The gaps at q (1, nq).
    ///
    /// # Errors
    /// If the shape is wrong, q cannot be used, or the model is on a GPU.
    pub fn gaps(&self, q: &Tensor) -> Result<Gaps> {
        let rest = Tensor::zeros((1, self.added_inertia.len()), q.dtype(), q.device())?;
        let Some(Some(contact)) = self.step.rigid_contact(q, &rest, &rest)?.pop() else {
            bail!("separation: expected a usable configuration and mass on all that moves");
        };
        let least = contact.problem.bounds().iter().map(|bound| -bound).fold(f64::INFINITY, f64::min);
        Ok(Gaps { contact, least })
    }

    /// The motion under `push` (nv) after which, to first order, no gap is negative; at most 0.2 m or rad in any degree
    /// of freedom. `None` if there is no such motion.
    ///
    /// # Errors
    /// If there is not exactly one number per degree of freedom.
    pub fn motion(&self, gaps: &Gaps, push: &DVector<f64>) -> Result<Option<DVector<f64>>> {
        let problem = &gaps.contact.problem;
        let mut metric = problem.mass().clone();
        for (i, more) in self.added_inertia.iter().enumerate() {
            metric[(i, i)] += more;
        }
        let Some(free) = metric.clone().cholesky().map(|factor| factor.solve(push)) else { return Ok(None) };
        let (jacobian, bounds) = (problem.jacobian().clone(), problem.bounds().clone());
        let impact = Frictionless::new(metric, free, jacobian, bounds)?.solve(self.method);
        let usable = matches!(impact.status, Status::Solved | Status::IterationLimit);
        let longest = impact.v_next.amax();
        Ok(usable.then(|| impact.v_next * (LONGEST / longest.max(LONGEST))))
    }

    /// q ⊕ δ (1, nq).
    ///
    /// # Errors
    /// If a shape does not fit.
    pub fn moved(&self, q: &Tensor, motion: &DVector<f64>) -> Result<Tensor> {
        self.manifold.integrate(q, &self.step.model().tensor(&[motion.as_slice()])?)
    }

    /// Repeats motions from q (1, nq) until no gap is below −`tolerance`, m, but at most `most` of them.
    ///
    /// # Errors
    /// If the shape is wrong, q cannot be used, or the model is on a GPU.
    pub fn separate(&self, q: &Tensor, tolerance: f64, most: usize) -> Result<Separated> {
        let mut q = q.clone();
        let rest = DVector::zeros(self.added_inertia.len());
        let mut gaps = self.gaps(&q)?;
        let mut least = vec![gaps.least];
        while gaps.least < -tolerance && least.len() <= most {
            let Some(motion) = self.motion(&gaps, &rest)? else { break };
            q = self.moved(&q, &motion)?;
            gaps = self.gaps(&q)?;
            least.push(gaps.least);
        }
        Ok(Separated { q, separated: gaps.least >= -tolerance, gaps: least })
    }
}
