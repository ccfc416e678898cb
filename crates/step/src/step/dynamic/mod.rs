//! The second-order step: semi-implicit Euler with inertia, joint friction and contact.
//!
//! ```text
//! M (v₊ − v)/h + D v₊ + S (q₊ − r) + b = τ + τ_dry + Jᵀ f        q₊ = q ⊕ h v₊        J v₊ ≥ l  ⟂  f ≥ 0
//! ```
//!
//! b are the Coriolis, centrifugal and gravity forces at (q, v), D is the joints' viscous damping, S the stiffness of
//! their own springs with rests r (and of connections, whose points are to be apart by 0), and M has the joints'
//! armature on its diagonal. Damping is implicit: it acts on v₊. Explicit damping is unstable for h D > 2 M, which
//! small links reach at steps of a millisecond. With implicit damping a joint slows down and never reverses. For
//! explicit damping add −D v to τ.
//!
//! The bound l is the velocity that a gap φ allows within the step, see [`Bound`]. With δ = h v₊ the problem is the
//! quasi-dynamic one with another P and g. So the barrier, its friction cones and its derivatives serve both:
//!
//! ```text
//! P = M/h² + D/h + S        g = −(M v/h + S (r − q) + τ − b)        −h l in place of φ
//! ```
//!
//! Smoothed contact is computed in SIMD lanes of worlds, or on a GPU: see [`super::fused`]. Rigid contact is solved on
//! the CPU, world by world.

mod bodies;
mod joints;
mod kernels;
mod many;
mod options;
mod rigid;
mod separation;
mod solvers;

use std::sync::Arc;

use candle_core::{Result, Tensor, bail};

use crate::contact::Contacts;
use crate::dynamics::Dynamics;
use crate::kinematics::{Manifold, POSE};
use crate::model::Model;
use crate::parameters::Parameters;
use crate::solve::{ContactPaths, Report, Structure};

use super::connection::ConnectionTables;
use super::fused::{self, Choices, JointForces};
use super::limits::{LimitDofs, LimitTables};
use super::operands::{contact_paths, with_contacts};
use super::strand::Entries;
use bodies::{coupled, dynamics};
use joints::joint_forces;
pub use many::{DynamicLinearization, DynamicTrajectory};
pub use options::{ContactModel, DynamicParams};
pub use rigid::RigidContact;
pub use separation::{Gaps, Separated, Separation};

/// The second-order step of a model with given parameters. Cloning is cheap.
///
/// It uses these of the model's parameters: h, κ, μ, gravity, sizes, offsets, `tau`, springs, damping and armature of
/// the joints, and mass and inertia of the bodies that they cover. All joints move by inertia. Stiffness and ε have no
/// effect; impedance is a control law, see [`super::control`].
#[derive(Clone, Debug)]
pub struct Dynamic {
    model: Model,
    parameters: Parameters,
    params: DynamicParams,
    dynamics: Dynamics,
    pub(super) manifold: Manifold,
    joints: JointForces,
    paths: Arc<Vec<ContactPaths>>,
    limit_dofs: LimitDofs,
    pub(super) plan: Arc<fused::Plan>,
    pub(super) tables: Arc<fused::SecondOrder>,
    /// All parameters side by side in one row (1 or B, n), as kernels read them.
    pub(super) par: Tensor,
}

/// Result of a second-order step. Under [`ContactModel::Barrier`], everything but `reports` and `warm` is
/// differentiable.
#[derive(Clone, Debug)]
pub struct DynamicStep {
    /// Next configuration (B, nq). In worlds without a solution it is q. It is the model's home if a number of the
    /// world is unusable ([`crate::solve::Status::BadInput`]): not finite, or so large that the step's numbers
    /// overflow.
    pub q_next: Tensor,
    /// Next velocity (B, nv); zero if there is no solution.
    pub v_next: Tensor,
    /// Contact force on B in world axes (B, nc, 3), N: the step's impulse divided by h.
    pub force: Tensor,
    /// Torque on B about the normal, for each contact with torsional friction (B, n), N·m, as in
    /// [`Step::torque`](super::Step::torque). Rigid contact has no friction and no torque.
    pub torque: Tensor,
    /// Contacts at q.
    pub contacts: Contacts,
    /// Forces of the joint limits (B, nl), N or N·m, if the scene turns them on; then three of each table, as in
    /// [`Step::limit_force`](super::Step::limit_force).
    pub limit_force: Tensor,
    /// The report of each world's solve. The residual of rigid contact is a velocity, see
    /// [`crate::solve::Delassus::residual`].
    pub reports: Vec<Report>,
    /// Start for the next step's solve with the barrier (B, n): three numbers for each contact, four in scenes with
    /// torsional friction, one for each joint limit, and three for each table.
    pub warm: Option<Tensor>,
}

impl Dynamic {
    /// The step of a model. `parameters` is `model.parameters` or a changed copy of it. Tracked tensors in it get
    /// gradients.
    ///
    /// # Errors
    /// If a parameter has another shape or type than the model's, an option is out of its range, or contact is rigid
    /// and a body lies on a table. With smoothed contact on a GPU, if a pair of shapes has no formula (the message
    /// names the pair), or the GPU cannot be used.
    pub fn new(model: &Model, parameters: &Parameters, params: DynamicParams) -> Result<Self> {
        params.check()?;
        let model = &model.with_friction(params.friction);
        let tree = &model.tree;
        if let (ContactModel::Rigid(_), Some((c, _))) = (params.contact, tree.tables().next()) {
            bail!("contact: expected the barrier's, as \"{}\" lies on a table: rigid contact has no friction", c.name);
        }
        let entries = coupled(tree);
        let mut all = Entries::of(entries.clone());
        let (limits, limit_dofs) = LimitTables::new(model)?;
        let paths = contact_paths(model);
        let (dynamics, joints) = (dynamics(model, parameters)?, joint_forces(tree));
        let screws = POSE * (model.n_front_frames() + dynamics.bodies().len());
        let connections = ConnectionTables::new(tree, model.shapes.len(), screws, |i, j| all.at(i, j));
        let structure = Structure::new(tree.nv, tree.ns, &all.all, &paths, &limit_dofs);
        let structure = structure
            .with_tables(&tree.on_tables())
            .with_friction(model.params.friction)
            .with_impratio(model.params.impratio)
            .with_settings(model.params.solver);
        let structure = Arc::new(with_contacts(structure, model));
        let choices = Choices {
            dynamics: &dynamics,
            joints: joints.clone(),
            bound: params.bound,
            stiction_speed: params.stiction_speed,
            entries: &entries,
            connections,
        };
        let (plan, tables) = fused::second_order(model, &structure, &limits, choices)?;
        let plan = match params.contact {
            ContactModel::Barrier => plan.on_device(&model.device, |contact| model.contact_names(contact))?,
            ContactModel::Rigid(_) => plan,
        };
        Ok(Self {
            model: model.clone(),
            parameters: parameters.clone(),
            params,
            dynamics,
            manifold: Manifold::new(tree, &model.device)?,
            joints,
            paths: Arc::new(paths),
            limit_dofs,
            plan: Arc::new(plan),
            tables,
            par: parameters.packed()?,
        })
    }

    /// The model, with this step's law of friction.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The parameters of the model that this step uses.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    pub(super) fn contact_model(&self) -> ContactModel {
        self.params.contact
    }

    /// The rigid-body dynamics that the step integrates, with the parameters' gravity, masses and offsets.
    pub fn dynamics(&self) -> &Dynamics {
        &self.dynamics
    }

    /// A copy of this second-order step with other parameters.
    ///
    /// # Errors
    /// If a parameter's shape or type differs from the model's.
    pub fn with_parameters(&self, parameters: &Parameters) -> Result<Self> {
        let dynamics = dynamics(&self.model, parameters)?;
        Ok(Self { parameters: parameters.clone(), dynamics, par: parameters.packed()?, ..self.clone() })
    }

    /// One step from q (B, nq) and v (B, nv) under the generalised forces τ (B, nv), N·m or N. The joints' effort
    /// limits bound τ. Differentiable in q, v, τ and parameters under [`ContactModel::Barrier`].
    ///
    /// # Errors
    /// If a shape or type differs from these, or contact is rigid and the model on a GPU. Numerical trouble is not an
    /// error: see [`DynamicStep::reports`].
    pub fn step(&self, q: &Tensor, v: &Tensor, tau: &Tensor) -> Result<DynamicStep> {
        self.step_from(q, v, tau, None)
    }

    /// [`Dynamic::step`] with the barrier's solve started from a nearby step's forces, [`DynamicStep::warm`].
    ///
    /// # Errors
    /// As [`Dynamic::step`].
    pub fn step_from(&self, q: &Tensor, v: &Tensor, tau: &Tensor, warm: Option<&Tensor>) -> Result<DynamicStep> {
        self.check(q, v, tau)?;
        let motion = Tensor::cat(&[v, tau], 1)?;
        match self.params.contact {
            ContactModel::Barrier => self.smooth(q, &motion, warm),
            ContactModel::Rigid(method) => {
                self.on_cpu("rigid contact")?;
                self.rigid(q, &motion, method)
            }
        }
    }

    /// Each world's step as a problem of rigid, frictionless contact, whatever [`DynamicParams::contact`] says, for use
    /// with other solvers or [`crate::solve::qcqp`]. `None` if the state is not usable or M is not positive definite.
    ///
    /// # Errors
    /// As [`Dynamic::step`], or if the model is on a GPU.
    pub fn rigid_contact(&self, q: &Tensor, v: &Tensor, tau: &Tensor) -> Result<Vec<Option<RigidContact>>> {
        self.check(q, v, tau)?;
        self.on_cpu("rigid contact")?;
        let batch = self.batch(q, &Tensor::cat(&[v, tau], 1)?)?;
        Ok((0..q.dim(0)?).map(|world| batch.contact(world)).collect())
    }

    /// Checks that the model is on the CPU, for what runs only there.
    pub(super) fn on_cpu(&self, what: &str) -> Result<()> {
        if self.model.device.is_cpu() {
            return Ok(());
        }
        bail!("{what}: expected a model on the CPU, got one on {:?}", self.model.device.location())
    }

    pub(super) fn check(&self, q: &Tensor, v: &Tensor, tau: &Tensor) -> Result<()> {
        let (nq, nv, dtype) = (self.model.nq(), self.model.nv(), self.model.dtype);
        let worlds = match q.dims() {
            [b, n] if *b > 0 && *n == nq => *b,
            other => bail!("dynamic step: expected q (B, {nq}) with B ≥ 1, got {other:?}"),
        };
        for (name, x) in [("v", v), ("tau", tau)] {
            if x.dims() != [worlds, nv] {
                bail!("dynamic step: expected {name} ({worlds}, {nv}), got {:?}", x.dims());
            }
        }
        if let Some(other) = [q, v, tau].into_iter().find(|x| x.dtype() != dtype) {
            bail!("dynamic step: expected q, v and tau of {dtype:?}, the model's type, got {:?}", other.dtype());
        }
        self.parameters.check(&self.model.parameters, worlds)
    }
}
