//! The quasi-dynamic step: a balance of forces. Springs pull commanded joints, and objects have regularised inertia.

mod assemble;
mod contacts;
mod efforts;
mod gaps;
mod geometry;
mod iterates;
mod kernels;
mod linearize;
mod plain;
mod walk;
mod weightless;

use std::sync::Arc;

use candle_core::{Result, Tensor, bail};

use crate::kinematics::Manifold;
use crate::model::Model;
use crate::parameters::Parameters;
use crate::solve::{ContactProblem, Start, Structure};
use crate::tensor::guarded;
use fingertip_lanes::lane::InstructionSet;

use super::fused;
use super::limits::LimitTables;
use super::operands::{ContactTables, contact_paths, with_contacts};
use super::problem::ProblemTables;
use super::result::{Linearization, Rollout, Step};
use super::rolling::RollingTables;
pub use efforts::BeyondEffort;
pub use geometry::Geometry;
pub use iterates::Iterate;

pub use walk::{NearContact, Walk, Walked};
use weightless::check_inertias;

/// The step of a model with given parameters. Cloning is cheap.
///
/// ```text
/// minimise over δ   ½ δᵀPδ + gᵀδ − (1/κ) Σ log(ν_n² − μ²‖ν_t‖²)     P = blkdiag(ε M_o/h², K_a)
/// ν = J δ + φ n                                                     g = −(τ_o ; K_a (u − q_a) + τ_a)
/// q₊ = q ⊕ δ
/// ```
#[derive(Clone, Debug)]
pub struct Quasidynamic {
    model: Model,
    parameters: Parameters,
    structure: Arc<Structure>,
    contacts: Arc<ContactTables>,
    problem: Arc<ProblemTables>,
    rolling: Arc<RollingTables>,
    pub(super) manifold: Manifold,
    /// The fused form, if it is used.
    fused: Option<Fused>,
    /// The source of contacts, if it is not the shapes.
    pub(super) geometry: Option<Arc<dyn Geometry>>,
}

#[derive(Clone, Debug)]
struct Fused {
    plan: Arc<fused::Plan>,
    /// All parameters side by side in one row (1 or B, n), as kernels read them.
    par: Tensor,
}

/// The form that computes the step. Both compute the same step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The default: one kernel, on SIMD lanes of worlds or on a GPU.
    Fused,
    /// The kernels of the fused form, each as its own tensor operation, so that other tensors may stand between them.
    TensorProgram,
}

impl Quasidynamic {
    /// The step of a model. `parameters` is `model.parameters` or a changed copy of it. Tracked tensors in it get
    /// gradients.
    ///
    /// # Errors
    /// If a parameter's shape or type differs from the model's, or an articulated object has a joint that moves no mass
    /// of its own.
    pub fn new(model: &Model, parameters: &Parameters) -> Result<Self> {
        Self::check_model(model, parameters)?;
        let tree = &model.tree;
        let (limits, limit_dofs, dry) = LimitTables::with_dry_friction(model)?;
        let (contacts, problem) = (ContactTables::new(model), Arc::new(ProblemTables::new(model, &limits)?));
        let structure = Structure::new(tree.nv, tree.ns, &problem.entries, &contact_paths(model), &limit_dofs);
        let structure = structure
            .with_dry_friction(&dry)
            .with_tables(&tree.on_tables())
            .with_friction(model.params.friction)
            .with_impratio(model.params.impratio)
            .with_settings(model.params.solver);
        let structure = Arc::new(with_contacts(structure, model));
        let plan = fused::Plan::new(model, &structure, &contacts, &problem, Arc::new(fused::Statics))?;
        let rolling = plan.rolling.clone();
        let plan = plan.on_device(&model.device, |contact| model.contact_names(contact))?;
        let fused = Some(Fused { plan: Arc::new(plan), par: parameters.packed()? });
        Ok(Self {
            model: model.clone(),
            parameters: parameters.clone(),
            structure,
            contacts,
            problem,
            rolling,
            manifold: Manifold::new(tree, &model.device)?,
            fused,
            geometry: None,
        })
    }

    /// Checks what [`Self::new`] asks of a model and its parameters, without the tables of a step, which are long where
    /// very many things may touch.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn check_model(model: &Model, parameters: &Parameters) -> Result<()> {
        let worlds = parameters.tensors().into_iter().map(|t| t.dim(0)).collect::<Result<Vec<_>>>()?;
        parameters.check(&model.parameters, worlds.into_iter().max().unwrap_or(1))?;
        check_inertias(model)
    }

    /// The form in which the step is computed.
    pub fn form(&self) -> Form {
        if self.fused.is_some() { Form::Fused } else { Form::TensorProgram }
    }

    /// A copy of this step that the tensor program computes.
    #[must_use]
    pub fn as_tensor_program(&self) -> Self {
        Self { fused: None, ..self.clone() }
    }

    /// A copy of this step that runs in lanes of a chosen width, for comparison. The default is the widest that the
    /// processor has. The results have the same bits, except on [`InstructionSet::Baseline`], which rounds twice where
    /// the others fuse multiply-adds.
    ///
    /// # Errors
    /// If the processor lacks the instructions, or the step has no fused form.
    pub fn on(&self, set: InstructionSet) -> Result<Self> {
        let Fused { plan, par } = self.fused_form(set.name())?;
        if !set.is_available() {
            bail!("instruction set {}: this processor does not have it", set.name());
        }
        let plan = Arc::new(plan.on(set));
        Ok(Self { fused: Some(Fused { plan, par: par.clone() }), ..self.clone() })
    }

    /// A copy of this step with native kernels: printed for this scene, compiled by the machine's C compiler for the
    /// processor's widest registers, and loaded. The results have the same bits and take less time. Native kernels
    /// serve steps, rollouts, their gradients and `linearize`.
    ///
    /// A kernel is compiled when it is first needed, which takes seconds, and cached in a folder of the user's
    /// (`native` in `FINGERTIP_CACHE`, or in `fingertip` in `XDG_CACHE_HOME` or `~/.cache`). The compiler is `$CC`, or
    /// else cc, gcc or clang. A choice made by [`Quasidynamic::on`] has no effect.
    ///
    /// # Errors
    /// If there is no compiler, the step has no fused form, a pair of shapes has no formula, or the processor has no
    /// fused multiply-add.
    #[cfg(feature = "native")]
    pub fn native(&self) -> Result<Self> {
        self.compiled(None)
    }

    /// [`Quasidynamic::native`] for registers of a chosen width.
    ///
    /// # Errors
    /// As [`Quasidynamic::native`], and if the processor lacks the instructions.
    #[cfg(feature = "native")]
    pub fn native_on(&self, set: InstructionSet) -> Result<Self> {
        self.compiled(Some(set))
    }

    #[cfg(feature = "native")]
    fn compiled(&self, set: Option<InstructionSet>) -> Result<Self> {
        let Fused { plan, par } = self.fused_form("native code")?;
        if !self.model.device.is_cpu() {
            bail!("native code: expected a model on the CPU");
        }
        let plan = Arc::new(plan.native(set, self.model.dtype, |contact| self.model.contact_names(contact))?);
        Ok(Self { fused: Some(Fused { plan, par: par.clone() }), ..self.clone() })
    }

    /// The fused form; `asked` says in an error what it is needed for.
    fn fused_form(&self, asked: &str) -> Result<&Fused> {
        self.fused.as_ref().map_or_else(|| bail!("{asked}: expected a step with a fused form"), Ok)
    }

    /// The model that is stepped.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The sparsity structure of the problem.
    pub fn structure(&self) -> &Arc<Structure> {
        &self.structure
    }

    /// The problem that a step from q (B, nq) under u (B, nu) solves, as [`solve::barrier`](crate::solve::barrier)
    /// takes it with [`Quasidynamic::structure`]. Differentiable in q, u and parameters. Unusable numbers are not
    /// replaced.
    ///
    /// # Errors
    /// As [`Quasidynamic::forward`].
    pub fn problem(&self, q: &Tensor, u: &Tensor) -> Result<ContactProblem> {
        self.check(q, u)?;
        Ok(self.assemble(q, u)?.problem)
    }

    /// The parameters of the model that this step uses.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// A copy of this step with other parameters.
    ///
    /// # Errors
    /// If a parameter's shape or type differs from the model's.
    pub fn with_parameters(&self, parameters: &Parameters) -> Result<Self> {
        let worlds = parameters.tensors().into_iter().map(|t| t.dim(0)).collect::<Result<Vec<_>>>()?;
        parameters.check(&self.model.parameters, worlds.into_iter().max().unwrap_or(1))?;
        let fused = self
            .fused
            .as_ref()
            .map(|fused| Ok::<_, candle_core::Error>(Fused { plan: fused.plan.clone(), par: parameters.packed()? }));
        Ok(Self { parameters: parameters.clone(), fused: fused.transpose()?, ..self.clone() })
    }

    /// The next configuration q₊ (B, nq) from q (B, nq) under the command u (B, nu). Differentiable in q, u and
    /// parameters.
    ///
    /// # Errors
    /// If a shape or type differs from these. Numerical trouble is not an error: see [`Step::reports`].
    pub fn forward(&self, q: &Tensor, u: &Tensor) -> Result<Tensor> {
        Ok(self.step(q, u)?.q_next)
    }

    /// One step from q (B, nq) under the command u (B, nu), rad or m. Differentiable in q, u and parameters.
    ///
    /// # Errors
    /// As [`Quasidynamic::forward`].
    pub fn step(&self, q: &Tensor, u: &Tensor) -> Result<Step> {
        self.step_from(q, u, None)
    }

    /// [`Quasidynamic::step`] with the solve started from a nearby step's forces, [`Step::warm`] (B,
    /// [`n_warm`](Self::n_warm)).
    ///
    /// # Errors
    /// As [`Quasidynamic::forward`].
    pub fn step_from(&self, q: &Tensor, u: &Tensor, warm: Option<&Tensor>) -> Result<Step> {
        self.step_by(q, u, Start::forces(warm))
    }

    /// The step, with its solve from any start. The two forms keep their answers differently: see [`Step::answer`] and
    /// [`fused::linearize`].
    pub(crate) fn step_by(&self, q: &Tensor, u: &Tensor, start: Start) -> Result<Step> {
        self.check(q, u)?;
        if let Some(Fused { plan, par }) = &self.fused {
            return fused::step(plan, q, u, par, start);
        }
        let worlds = q.dim(0)?;
        let guard = Self { parameters: self.parameters.guarded(worlds)?, ..self.clone() };
        guard.step_by_tensors(&guarded(q, worlds)?, &guarded(u, worlds)?, start)
    }

    /// The whole rollout in the fused form, if there is one.
    pub(crate) fn fused_rollout(&self, q0: &Tensor, u: &Tensor) -> Result<Option<Rollout>> {
        self.fused.as_ref().map(|Fused { plan, par }| fused::rollout(plan, q0, u, par)).transpose()
    }

    /// The step and its Jacobians in the fused form, if there is one, and the worlds whose contacts are too stiff for
    /// pushing derivatives forward.
    pub(super) fn fused_linearize(
        &self,
        q: &Tensor,
        u: &Tensor,
        warm: Option<&Tensor>,
    ) -> Result<Option<(Linearization, fused::Stiff)>> {
        let Some(Fused { plan, par }) = &self.fused else { return Ok(None) };
        self.check(q, u)?;
        fused::linearize(plan, [q, u, par], warm).map(Some)
    }

    /// The fused form's tables and parameters, if there is one on the CPU.
    pub(super) fn fused_parts(&self) -> Option<(&Arc<fused::Plan>, &Tensor)> {
        let fused = self.fused.as_ref().filter(|_| self.model.device.is_cpu());
        fused.map(|Fused { plan, par }| (plan, par))
    }

    /// Checks the shapes and types of q and u.
    pub(crate) fn check(&self, q: &Tensor, u: &Tensor) -> Result<()> {
        let model = &self.model;
        let (nq, nu) = (model.nq(), model.nu());
        match (q.dims(), u.dims()) {
            ([b, n], [c, m]) if b == c && *n == nq && *m == nu && *b > 0 => {}
            (q, u) => bail!("step: expected q (B, {nq}) and u (B, {nu}) with the same B ≥ 1, got {q:?} and {u:?}"),
        }
        if q.dtype() != model.dtype || u.dtype() != model.dtype {
            bail!(
                "step: expected q and u of {:?}, the model's type, got {:?} and {:?}",
                model.dtype,
                q.dtype(),
                u.dtype()
            );
        }
        self.parameters.check(&model.parameters, q.dim(0)?)
    }
}
