//! The quasi-dynamic step: force balance of commanded joints with impedance and objects with regularised inertia.

use std::sync::Arc;

use candle_core::{DType, Device, Result, Tensor, bail};
use nalgebra::DMatrix;

use crate::contact::Contacts;
use crate::dynamics::Dynamics;
use crate::kinematics::{Frames, Manifold};
use crate::math::lane::{InstructionSet, Precision};
use crate::math::record::{Row, Trace};
use crate::math::tensor::index;
use crate::model::Model;
use crate::parameters::Parameters;
use crate::rollout::Rollout;
use crate::solve::{self, ContactProblem, Report, Solution, Status, Structure};

use super::fused::{self, Kernel};
use super::geometry::Geometry;
use super::inertia::InertiaTables;
use super::limits::LimitTables;
use super::linearize::Linearization;
use super::operands::{contact_operand, contact_paths, weights, worlds_with_usable_q};
use super::torsion::totals;

/// The step of a model with given parameters. Cheap to clone.
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
    inertia: InertiaTables,
    pub(super) manifold: Manifold,
    /// Places in q of the commanded joints.
    commanded: Tensor,
    /// From [free, commanded] to the order of v; none if that is the order.
    order: Option<Tensor>,
    limits: Option<LimitTables>,
    /// The fused form, where it is wanted.
    fused: Option<Fused>,
    /// Where contacts come from if not from the shapes.
    pub(super) geometry: Option<Arc<dyn Geometry>>,
}

#[derive(Clone, Debug)]
struct Fused {
    plan: Arc<fused::Plan>,
    /// All parameters in one row.
    par: Tensor,
}

/// Which form of the step computes. Both mean the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One kernel, on SIMD lanes of worlds or on a GPU; the default.
    Fused,
    /// The tensor program that defines the step; on the CPU.
    TensorProgram,
}

/// Result of a step. Everything but `reports` and `warm` is differentiable.
#[derive(Clone, Debug)]
pub struct Step {
    /// Next configuration (B, nq). In worlds without a solution it is q, and the model's home where q itself is not finite.
    pub q_next: Tensor,
    /// The step in tangent coordinates δ (B, nv).
    pub delta: Tensor,
    /// Contact force on B in world axes (B, nc, 3), N; −force acts on A.
    pub force: Tensor,
    /// Torque on B about its normal of each contact with torsional friction (B, n), N·m, in the order of
    /// [`PairTable::torsional`](crate::contact::PairTable::torsional); empty unless the scene has such.
    pub torque: Tensor,
    /// Contacts at q.
    pub contacts: Contacts,
    /// Forces of the joint limits (B, nl), N or N·m; empty unless the scene turns them on.
    pub limit_force: Tensor,
    /// How each world's solve went.
    pub reports: Vec<Report>,
    /// Start for the next step's solve (B, 3 n + nl), n the contacts and those with torsional friction once more.
    pub warm: Tensor,
}

impl Step {
    /// Contact force λ (B, nc, 3) in each contact's frame: along the normal and two tangents, N.
    ///
    /// # Errors
    /// Of the tensor operations.
    pub fn lambda(&self) -> Result<Tensor> {
        crate::contact::frame(&self.contacts.normal)?.broadcast_mul(&self.force.unsqueeze(2)?)?.sum(3)
    }

    /// λ of all contacts, then the torques (B, n_lambda): what the rows of C and D in a [`Linearization`] are of.
    ///
    /// # Errors
    /// Of the tensor operations.
    pub fn lambda_and_torque(&self) -> Result<Tensor> {
        let lambda = self.lambda()?.flatten_from(1)?;
        if self.torque.dim(1)? == 0 { Ok(lambda) } else { Tensor::cat(&[&lambda, &self.torque], 1) }
    }
}

/// What a step solves, before the solve.
struct Assembled {
    contacts: Contacts,
    problem: ContactProblem,
}

impl Quasidynamic {
    /// The step of a model. `parameters` are the model's own, `model.parameters`, or a changed copy: tracked tensors in it
    /// get gradients.
    ///
    /// # Errors
    /// If a parameter has another shape or type than the model's, or an articulated object has a joint that moves no mass
    /// of its own.
    pub fn new(model: &Model, parameters: &Parameters) -> Result<Self> {
        let tree = &model.tree;
        let worlds = parameters.tensors().into_iter().map(|t| t.dim(0)).collect::<Result<Vec<_>>>()?;
        parameters.check(&model.parameters, worlds.into_iter().max().unwrap_or(1))?;
        check_inertias(model)?;
        let inertia = InertiaTables::new(tree, &model.inertial, model.shapes.len(), &model.device)?;
        let mut entries = inertia.entries.clone();
        entries.extend(tree.actuated.iter().map(|&dof| (dof, dof)));
        let (limits, limit_dofs) = LimitTables::new(model)?;
        let structure = Structure::new(tree.nv, tree.ns, &entries, &contact_paths(model), &limit_dofs);
        let structure = Arc::new(structure.with_friction(model.params.friction));
        let order: Vec<usize> = inertia.free.iter().chain(&tree.actuated).copied().collect();
        let mut inverse = vec![0; order.len()];
        order.iter().enumerate().for_each(|(k, &dof)| inverse[dof] = k);
        let sorted = order.is_sorted();
        let commanded = tree.coordinates.iter().filter(|c| c.u.is_some()).map(|c| c.q);
        let plan = Arc::new(fused::Plan::new(model, &structure, &inertia, &limit_dofs)?);
        if !model.device.is_cpu() {
            plan.check_pairs(|contact| model.contact_names(contact))?;
        }
        let fused = Some(Fused { plan, par: fused::packed(parameters)? });
        Ok(Self {
            model: model.clone(),
            parameters: parameters.clone(),
            structure,
            inertia,
            manifold: Manifold::new(tree, &model.device)?,
            commanded: index(commanded, &model.device)?,
            order: (!sorted).then(|| index(inverse.into_iter(), &model.device)).transpose()?,
            limits,
            fused,
            geometry: None,
        })
    }

    /// The form that computes.
    pub fn form(&self) -> Form {
        if self.fused.is_some() { Form::Fused } else { Form::TensorProgram }
    }

    /// The same step, computed by the tensor program.
    #[must_use]
    pub fn as_tensor_program(&self) -> Self {
        Self { fused: None, ..self.clone() }
    }

    /// The same step on lanes of another width than the widest that the processor has, for comparison: the results have the
    /// same bits, except on [`InstructionSet::Baseline`], which rounds twice where the others fuse multiply-adds.
    ///
    /// # Errors
    /// If the processor lacks the instructions, or the step has no fused form.
    pub fn on(&self, set: InstructionSet) -> Result<Self> {
        let Some(Fused { plan, par }) = &self.fused else { bail!("{}: expected a step with a fused form", set.name()) };
        if !set.is_available() {
            bail!("instruction set {}: this processor does not have it", set.name());
        }
        let plan = Arc::new(plan.on(set));
        Ok(Self { fused: Some(Fused { plan, par: par.clone() }), ..self.clone() })
    }

    /// The same step, its kernels printed for this scene, compiled by the machine's C compiler for the processor's widest
    /// registers, and loaded: the same bits, less time. It serves steps, rollouts, their gradients and `linearize`.
    ///
    /// A kernel is compiled when it is first asked for, which takes seconds, and kept for the next time in a folder of the
    /// user's (`native` in `FINGERTIP_CACHE`, or in `fingertip` in `XDG_CACHE_HOME` or `~/.cache`). The compiler is `$CC`, else cc,
    /// gcc or clang. Instructions that were chosen by [`Quasidynamic::on`] do not matter.
    ///
    /// # Errors
    /// If there is no compiler; if the step has no fused form; if a pair of shapes is one whose closest points are searched
    /// for; if the processor has no fused multiply-add.
    #[cfg(feature = "native")]
    pub fn native(&self) -> Result<Self> {
        self.compiled(None)
    }

    /// [`Quasidynamic::native`] for registers of another width than the widest.
    ///
    /// # Errors
    /// As there, and if the processor lacks the instructions.
    #[cfg(feature = "native")]
    pub fn native_on(&self, set: InstructionSet) -> Result<Self> {
        self.compiled(Some(set))
    }

    #[cfg(feature = "native")]
    fn compiled(&self, set: Option<InstructionSet>) -> Result<Self> {
        let Some(Fused { plan, par }) = &self.fused else { bail!("native code: expected a step with a fused form") };
        if !self.model.device.is_cpu() {
            bail!("native code: expected a model on the CPU");
        }
        let plan = Arc::new(plan.native(set, self.model.dtype, |contact| self.model.contact_names(contact))?);
        Ok(Self { fused: Some(Fused { plan, par: par.clone() }), ..self.clone() })
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// What of the problem can be nonzero.
    pub(super) fn structure(&self) -> &Structure {
        &self.structure
    }

    /// The parameters.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The same step with other parameters.
    ///
    /// # Errors
    /// If a parameter has another shape or type than the model's.
    pub fn with_parameters(&self, parameters: &Parameters) -> Result<Self> {
        let worlds = parameters.tensors().into_iter().map(|t| t.dim(0)).collect::<Result<Vec<_>>>()?;
        parameters.check(&self.model.parameters, worlds.into_iter().max().unwrap_or(1))?;
        let fused = self.fused.as_ref().map(|fused| {
            Ok::<_, candle_core::Error>(Fused { plan: fused.plan.clone(), par: fused::packed(parameters)? })
        });
        Ok(Self { parameters: parameters.clone(), fused: fused.transpose()?, ..self.clone() })
    }

    /// Next configuration q₊ (B, nq) of q (B, nq) under the command u (B, nu). Differentiable in q, u and parameters.
    ///
    /// # Errors
    /// If a shape or type is not as said. Numerical trouble is no error: see [`Step::reports`].
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

    /// [`Quasidynamic::step`], with the solve started at a nearby step's forces, [`Step::warm`] (B, 3 nc + nl).
    ///
    /// # Errors
    /// As [`Quasidynamic::forward`].
    pub fn step_from(&self, q: &Tensor, u: &Tensor, warm: Option<&Tensor>) -> Result<Step> {
        self.check(q, u)?;
        if let Some(Fused { plan, par }) = &self.fused {
            return fused::step(plan, q, u, par, warm);
        }
        let Assembled { contacts, problem } = self.assemble(q, u)?;
        let solution = solve::barrier(&self.structure, &problem, self.model.params.max_iterations, warm)?;
        let reports = solution.report()?;
        if reports.iter().any(|report| report.status == Status::BadInput) {
            return self.step_around(q, u, warm, &reports);
        }
        self.finish(q, contacts, solution, reports)
    }

    /// The whole rollout in the fused form, where there is one.
    pub(crate) fn fused_rollout(&self, q0: &Tensor, u: &Tensor) -> Result<Option<Rollout>> {
        self.fused.as_ref().map(|Fused { plan, par }| fused::rollout(plan, q0, u, par)).transpose()
    }

    /// The step and its Jacobians in the fused form, where there is one, and the worlds whose contacts are too stiff for them.
    pub(super) fn fused_linearize(
        &self,
        q: &Tensor,
        u: &Tensor,
        warm: Option<&Tensor>,
    ) -> Result<Option<(Linearization, Vec<u32>)>> {
        let Some(Fused { plan, par }) = &self.fused else { return Ok(None) };
        self.check(q, u)?;
        fused::linearize(plan, [q, u, par], warm).map(Some)
    }

    /// A program of the fused form as the list of its operations: see [`Trace`].
    ///
    /// Of two precisions only the step has the single one.
    ///
    /// # Errors
    /// If the step has no fused form, or a pair of shapes is one whose closest points are searched for; the message names it.
    pub fn record(&self, kernel: Kernel, precision: Precision) -> Result<Trace> {
        let Some(Fused { plan, .. }) = &self.fused else { bail!("record: expected a step with a fused form") };
        plan.record(kernel, precision, |contact| self.model.contact_names(contact))
    }

    /// The rows of numbers that a program reads and writes.
    ///
    /// # Errors
    /// If the step has no fused form.
    pub fn rows_of(&self, kernel: Kernel) -> Result<[Vec<Row>; 2]> {
        let Some(Fused { plan, .. }) = &self.fused else {
            bail!("{}: expected a step with a fused form", kernel.name())
        };
        Ok([plan.operand_rows(kernel), plan.result_rows(kernel)])
    }

    /// What the row of a step consists of.
    pub(crate) fn row_parts(&self) -> Result<Vec<Row>> {
        let Some(Fused { plan, .. }) = &self.fused else { bail!("expected a step with a fused form") };
        Ok(plan.row_parts())
    }

    /// What a program computes on plain numbers of one world, the rows that [`Quasidynamic::rows_of`] says, of so many steps if it
    /// is a rollout's: in a lane of one world with fused multiply-adds; nothing where this processor or this build has none of that
    /// precision.
    ///
    /// # Errors
    /// If the step has no fused form, a row is of another length, or there is no step.
    pub fn run_kernel(
        &self,
        kernel: Kernel,
        precision: Precision,
        n_steps: usize,
        operands: &[Vec<f64>],
    ) -> Result<Option<Vec<f64>>> {
        if n_steps == 0 {
            bail!("{}: expected one step or more, got none", kernel.name());
        }
        let [rows, _] = self.rows_of(kernel)?;
        let (expected, got): (Vec<_>, Vec<_>) =
            (rows.iter().map(|row| row.length(n_steps)).collect(), operands.iter().map(Vec::len).collect());
        if expected != got {
            bail!("{}: expected operands of {expected:?} numbers, got {got:?}", kernel.name());
        }
        Ok(self.fused.as_ref().and_then(|Fused { plan, .. }| plan.run(kernel, precision, n_steps, operands)))
    }

    /// All parameters in one row (1 or B, n), one after the other as [`Parameters::NAMES`] has them: the operand `par` of a
    /// recording.
    ///
    /// # Errors
    /// Of the tensor operations.
    pub fn packed_parameters(&self) -> Result<Tensor> {
        fused::packed(&self.parameters)
    }

    /// The fused form's tables and parameters, where there is one on the CPU.
    pub(super) fn fused_parts(&self) -> Option<(&fused::Plan, &Tensor)> {
        let fused = self.fused.as_ref().filter(|_| self.model.device.is_cpu());
        fused.map(|Fused { plan, par }| (&**plan, par))
    }

    fn finish(&self, q: &Tensor, contacts: Contacts, solution: Solution, reports: Vec<Report>) -> Result<Step> {
        let Solution { delta, force, limit_force, warm, .. } = solution;
        let [force, torque] = totals(&self.model, &contacts, &force)?;
        let q_next = self.manifold.integrate(q, &delta)?;
        Ok(Step { q_next, delta, force, torque, contacts, limit_force, reports, warm })
    }

    /// The step where some worlds' numbers are unusable: those stay where they are, or at home, without forces. Their
    /// numbers are replaced first, as a gradient of zero times NaN is NaN, and parameters are shared.
    fn step_around(&self, q: &Tensor, u: &Tensor, warm: Option<&Tensor>, reports: &[Report]) -> Result<Step> {
        let worlds = reports.len();
        let good: Vec<u8> = reports.iter().map(|report| u8::from(report.status != Status::BadInput)).collect();
        let good = Tensor::from_vec(good, (worlds, 1), q.device())?;
        let keep = |t: &Tensor, other: &Tensor| {
            let shape = (worlds, t.dim(1)?);
            good.broadcast_as(shape)?.where_cond(&t.broadcast_as(shape)?, &other.broadcast_as(shape)?)
        };
        let mut own = self.model.parameters.tensors().into_iter();
        let parameters = self.parameters.map(|_, t| keep(t, own.next().unwrap_or(t)))?;
        let clean = Self { parameters, ..self.clone() };
        let q = self.usable(q)?;
        let Assembled { contacts, mut problem } = clean.assemble(&q, &keep(u, &u.zeros_like()?)?)?;
        // NaN in the problem keeps the world's status.
        let bad = reports.iter().map(|r| if r.status == Status::BadInput { f64::NAN } else { 0.0 }).collect::<Vec<_>>();
        let bad = Tensor::from_vec(bad, (worlds, 1), q.device())?.to_dtype(q.dtype())?;
        problem.problem = problem.problem.broadcast_add(&bad)?;
        let solution = solve::barrier(&self.structure, &problem, self.model.params.max_iterations, warm)?;
        let reports = solution.report()?;
        self.finish(&q, contacts, solution, reports)
    }

    /// q, in worlds where it is finite with nonzero quaternions; the model's home in others.
    pub(super) fn usable(&self, q: &Tensor) -> Result<Tensor> {
        match worlds_with_usable_q(&self.model, q)? {
            Some(mask) => mask.broadcast_as(q.shape())?.where_cond(q, &self.model.home(q.dim(0)?)?),
            None => Ok(q.clone()),
        }
    }

    /// To first order, what the smoothing has displaced: δ_∞ − δ (B, nv) ≈ κ ∂δ/∂κ = −H⁻¹ Σ Jᵀλ, with an error of
    /// O(1/κ²) where every contact is either loaded or apart. No gradient.
    ///
    /// # Errors
    /// As [`Quasidynamic::forward`].
    pub fn smoothing_error(&self, q: &Tensor, u: &Tensor) -> Result<Tensor> {
        self.check(q, u)?;
        let Assembled { problem, .. } = self.assemble(&q.detach(), &u.detach())?;
        let solution = solve::barrier(&self.structure, &problem, self.model.params.max_iterations, None)?;
        solve::smoothing_error(&self.structure, &problem, &solution)
    }

    fn assemble(&self, q: &Tensor, u: &Tensor) -> Result<Assembled> {
        let (model, parameters) = (&self.model, &self.parameters);
        let frames = model.kinematics.frames(q, &parameters.offsets)?;
        let contacts = self.contacts_of(&frames)?;
        let weights = weights(model, &contacts.phi)?;
        let problem = ContactProblem {
            contacts: contact_operand(model, parameters, &contacts, &contacts.phi, &weights)?,
            problem: self.problem_operand(q, u, &frames)?,
            screws: frames.screws,
        };
        Ok(Assembled { contacts, problem })
    }

    /// [P | g | κ | gaps] (B, ·).
    fn problem_operand(&self, q: &Tensor, u: &Tensor, frames: &Frames) -> Result<Tensor> {
        let parameters = &self.parameters;
        let b = q.dim(0)?;
        let wide = |t: &Tensor| t.broadcast_as((b, t.dim(1)?));
        let (inertia, weight) = self.inertia.at(parameters, frames)?;
        let factor = parameters.epsilon.broadcast_div(&parameters.h.sqr()?)?;
        let pull = (u - q.contiguous()?.index_select(&self.commanded, 1)?)?.broadcast_mul(&parameters.stiffness)?;
        let force = Tensor::cat(&[wide(&weight)?, pull], 1)?;
        let force = match &self.order {
            Some(order) => force.index_select(order, 1)?,
            None => force,
        };
        let g = force.broadcast_add(&parameters.tau)?.neg()?;
        let mut parts =
            vec![wide(&inertia.broadcast_mul(&factor)?)?, wide(&parameters.stiffness)?, g, wide(&parameters.kappa)?];
        if let Some(limits) = &self.limits {
            parts.push(limits.gaps(q)?);
        }
        Tensor::cat(&parts, 1)
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

/// Each motion that no command holds must move some mass that the others do not, or the step has no answer.
fn check_inertias(model: &Model) -> Result<()> {
    let tree = &model.tree;
    // A rigid object's inertia has been validated by itself.
    if model.inertial.iter().all(|&body| tree.bodies[body].parent == 0) {
        return Ok(());
    }
    let free: Vec<usize> = (0..tree.nv).filter(|dof| !tree.actuated.contains(dof)).collect();
    let dynamics = Dynamics::new(tree, [0.0; 3], DType::F64, &Device::Cpu)?;
    // What is weightless is so at every q, so that one q that has nothing special shows it.
    let q = Manifold::new(tree, &Device::Cpu)?.random(1, 1, DType::F64, &Device::Cpu)?;
    let rows = dynamics.mass_matrix(&q)?.squeeze(0)?.to_vec2::<f64>()?;
    let m = DMatrix::from_fn(free.len(), free.len(), |i, j| rows[free[i]][free[j]]);
    match weightless(m).and_then(|place| tree.coordinate_of(free[place])).map(|coordinate| &coordinate.name) {
        None => Ok(()),
        Some(name) => bail!(
            "\"{name}\": expected it to move some mass that no other joint moves in the same way, got none: give its link \
             an inertia, or fix it"
        ),
    }
}

/// The last place whose motion moves no mass but what those after it move: there the pivot of M = LᵀL vanishes.
fn weightless(mut m: DMatrix<f64>) -> Option<usize> {
    /// Pivots of joints with mass are above 1e-6 of their diagonal entry; rounding leaves 1e-16 of it.
    const PIVOT: f64 = 1e-13;
    let diagonal = m.diagonal();
    for k in (0..m.nrows()).rev() {
        let has_mass = m[(k, k)] > PIVOT * diagonal[k];
        if !has_mass {
            return Some(k);
        }
        for i in 0..k {
            let factor = m[(i, k)] / m[(k, k)];
            (0..k).for_each(|j| m[(i, j)] -= factor * m[(k, j)]);
        }
    }
    None
}
