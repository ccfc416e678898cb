//! The second-order step: semi-implicit Euler with inertia, joint friction and contact.
//!
//! ```text
//! M (v₊ − v)/h + D v₊ + b = τ + τ_dry + Jᵀ f        q₊ = q ⊕ h v₊        J v₊ ≥ l  ⟂  f ≥ 0
//! ```
//!
//! b are Coriolis, centrifugal and gravity forces at (q, v), D the joints' viscous damping. Damping is implicit (it acts
//! on v₊), because explicit damping is unstable for h D > 2 M, which small links reach at steps of a millisecond; with
//! it a joint slows down and never turns back. Who wants explicit damping adds −D v to τ.
//!
//! The bound l is what a gap φ allows within the step, see [`Bound`]. With δ = h v₊ the problem is the quasi-dynamic one
//! with another P and g, so that the barrier, its friction cones and its derivatives serve both:
//!
//! ```text
//! P = M/h² + D/h        g = −(M v/h + τ − b)        −h l in place of φ
//! ```

use std::sync::Arc;

use candle_core::{Device, Result, Tensor, bail};

use crate::contact::Contacts;
use crate::dynamics::Dynamics;
use crate::kinematics::Manifold;
use crate::math::rows::Rows;
use crate::math::tensor::index;
use crate::model::Model;
use crate::parameters::Parameters;
use crate::solve::{self, ContactPaths, ContactProblem, Method, Report, Solution, Structure};

use super::bodies::{coupled, dynamics};
use super::joints::Joints;
use super::limits::{LimitDofs, LimitTables};
use super::operands::{contact_operand, contact_paths, detect_on_lanes, is_usable, mask, weights};
use super::rigid::{RigidBatch, RigidContact, RigidStep};
use super::torsion::totals;

/// How contact is solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contact {
    /// Smoothed by the barrier of parameter κ, with Coulomb friction; differentiable.
    Barrier,
    /// Hard and frictionless: μ and κ do not matter. Without gradient.
    Rigid(Method),
}

/// What a contact's gap allows, J v₊ ≥ l.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// l = −max(φ, 0)/h − β min(φ, 0)/h: a gap may close within the step, the part β of a penetration is pushed out.
    Gap {
        /// From 0 (what has sunk in stays) to 1 (all is pushed out in one step, with that velocity); usually 0.1 … 0.3.
        beta: f64,
    },
    /// l = 0 for contacts with φ up to a margin, m; none for others. What is left of the gap stays open, positions are not
    /// corrected.
    Velocity {
        /// Usually 1e-4 … 1e-3 m; below v h, bodies sink in.
        margin: f64,
    },
}

/// Choices of a [`Dynamic`] step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DynamicParams {
    /// How contact is solved.
    pub contact: Contact,
    /// What a gap allows. Joint limits always allow their gap, with the same β, or 0.
    pub bound: Bound,
    /// Creep speed of dry friction under [`Contact::Barrier`], rad/s or m/s, positive: joints that stick move more slowly
    /// than this. Smaller is nearer to Coulomb's law and harder to differentiate; 1e-4 … 1e-2. Rigid contact takes the
    /// law itself.
    pub creep: f64,
}

impl Default for DynamicParams {
    fn default() -> Self {
        Self { contact: Contact::Barrier, bound: Bound::Gap { beta: 0.2 }, creep: 1e-3 }
    }
}

/// The second-order step of a model with given parameters. Cheap to clone.
///
/// Of the model's parameters it uses h, κ, μ, gravity, sizes, offsets, `tau` and, for the bodies that these cover, mass
/// and inertia. All joints move by inertia: stiffness and ε do not matter, impedance is a control law, see
/// [`super::control`].
#[derive(Clone, Debug)]
pub struct Dynamic {
    model: Model,
    parameters: Parameters,
    params: DynamicParams,
    dynamics: Dynamics,
    manifold: Manifold,
    joints: Joints,
    structure: Arc<Structure>,
    paths: Arc<Vec<ContactPaths>>,
    /// Places of P's entries in M (nv · nv): the diagonal, then the others.
    entries: Tensor,
    diagonal: Tensor,
    limits: Option<LimitTables>,
    limit_dofs: LimitDofs,
}

/// Result of a second-order step. Under [`Contact::Barrier`], everything but `reports` and `warm` is differentiable.
#[derive(Clone, Debug)]
pub struct DynamicStep {
    /// Next configuration (B, nq). Where there is no solution it is q, and the model's home where a number of the world cannot be
    /// used ([`solve::Status::BadInput`]): one that is not finite, or so large that the step's numbers overflow.
    pub q_next: Tensor,
    /// Next velocity (B, nv); zero where there is no solution.
    pub v_next: Tensor,
    /// Contact force on B in world axes (B, nc, 3), N: the step's impulse over h.
    pub force: Tensor,
    /// Torque on B about its normal of each contact with torsional friction (B, n), N·m, as [`Step::torque`](super::Step::torque);
    /// rigid contact is frictionless and has none.
    pub torque: Tensor,
    /// Contacts at q.
    pub contacts: Contacts,
    /// Forces of the joint limits (B, nl), N or N·m; empty unless the scene turns them on.
    pub limit_force: Tensor,
    /// How each world's solve went. The residual of rigid contact is a velocity, see [`solve::Delassus::residual`].
    pub reports: Vec<Report>,
    /// Start for the next step's solve (B, 3 nc + nl), from the barrier.
    pub warm: Option<Tensor>,
}

/// What a step starts from, with the model's home at rest in worlds where a number cannot be used.
struct State {
    good: Vec<bool>,
    q: Tensor,
    v: Tensor,
    tau: Tensor,
}

/// What a step solves, before the solve.
struct Assembled {
    contacts: Contacts,
    screws: Tensor,
    /// M (B, nv · nv), its diagonal (B, nv), and τ − b (B, nv).
    mass: Tensor,
    diagonal: Tensor,
    force: Tensor,
    /// M v.
    momentum: Tensor,
    /// −h l (B, nc), the contacts' weights (B, nc), −h l of the limits.
    gap: Tensor,
    weight: Tensor,
    limit_gap: Option<Tensor>,
}

impl Dynamic {
    /// The step of a model. `parameters` are the model's own, `model.parameters`, or a changed copy: tracked tensors in it
    /// get gradients.
    ///
    /// # Errors
    /// If a parameter has another shape or type than the model's, or a choice is out of its range.
    pub fn new(model: &Model, parameters: &Parameters, params: DynamicParams) -> Result<Self> {
        match params.bound {
            Bound::Gap { beta } if !(0.0..=1.0).contains(&beta) => bail!("bound: expected β from 0 to 1, got {beta}"),
            Bound::Velocity { margin } if margin.is_nan() => bail!("bound: expected a margin in m, got {margin}"),
            _ => {}
        }
        if !(params.creep > 0.0 && params.creep.is_finite()) {
            bail!("creep: expected a positive speed, got {}", params.creep);
        }
        let (tree, device) = (&model.tree, &model.device);
        let entries = coupled(tree);
        let (limits, limit_dofs) = LimitTables::new(model)?;
        let paths = contact_paths(model);
        let structure = Structure::new(tree.nv, tree.ns, &entries, &paths, &limit_dofs);
        let structure = structure.with_friction(model.params.friction);
        Ok(Self {
            model: model.clone(),
            parameters: parameters.clone(),
            params,
            dynamics: dynamics(model, parameters)?,
            manifold: Manifold::new(tree, device)?,
            joints: Joints::new(tree, model.dtype, device)?,
            structure: Arc::new(structure),
            paths: Arc::new(paths),
            entries: index(entries.iter().map(|&(i, j)| i * tree.nv + j), device)?,
            diagonal: index((0..tree.nv).map(|i| i * tree.nv + i), device)?,
            limits,
            limit_dofs,
        })
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The rigid-body dynamics that the step integrates, with the parameters' gravity, masses and offsets.
    pub fn dynamics(&self) -> &Dynamics {
        &self.dynamics
    }

    /// The same step with other parameters.
    ///
    /// # Errors
    /// If a parameter has another shape or type than the model's.
    pub fn with_parameters(&self, parameters: &Parameters) -> Result<Self> {
        let dynamics = dynamics(&self.model, parameters)?;
        Ok(Self { parameters: parameters.clone(), dynamics, ..self.clone() })
    }

    /// One step from q (B, nq) and v (B, nv) under the generalised forces τ (B, nv), N·m or N, which the joints' efforts
    /// limit. Differentiable in q, v, τ and parameters under [`Contact::Barrier`].
    ///
    /// # Errors
    /// If a shape or type is not as said. Numerical trouble is no error: see [`DynamicStep::reports`].
    pub fn step(&self, q: &Tensor, v: &Tensor, tau: &Tensor) -> Result<DynamicStep> {
        self.step_from(q, v, tau, None)
    }

    /// [`Dynamic::step`], with the barrier's solve started at a nearby step's forces, [`DynamicStep::warm`].
    ///
    /// # Errors
    /// As [`Dynamic::step`].
    pub fn step_from(&self, q: &Tensor, v: &Tensor, tau: &Tensor, warm: Option<&Tensor>) -> Result<DynamicStep> {
        self.check(q, v, tau)?;
        let mut good = self.usable(q, v, tau)?;
        let next = self.advance(&good, [q, v, tau], warm)?;
        let finite = next.finite()?;
        if finite.iter().all(|&finite| finite) {
            return Ok(next);
        }
        // Finite numbers that overflow on the way cannot be used either.
        good.iter_mut().zip(finite).for_each(|(good, finite)| *good &= finite);
        self.advance(&good, [q, v, tau], warm)
    }

    /// The step of the worlds that are good; the others stay at home.
    fn advance(&self, good: &[bool], state: [&Tensor; 3], warm: Option<&Tensor>) -> Result<DynamicStep> {
        let (clean, state) = self.cleaned(good, state)?;
        let assembled = clean.assemble(&state)?;
        match self.params.contact {
            Contact::Barrier => clean.smooth(&state, assembled, warm),
            Contact::Rigid(method) => clean.rigid(&state, assembled, method),
        }
    }

    /// Each world's step as a problem of rigid, frictionless contact, whatever [`DynamicParams::contact`] says: for other
    /// solvers, or for [`solve::qcqp`]. None where the state is not usable or M is not positive definite.
    ///
    /// # Errors
    /// As [`Dynamic::step`].
    pub fn rigid_contact(&self, q: &Tensor, v: &Tensor, tau: &Tensor) -> Result<Vec<Option<RigidContact>>> {
        self.check(q, v, tau)?;
        let (clean, state) = self.cleaned(&self.usable(q, v, tau)?, [q, v, tau])?;
        let batch = clean.batch(&clean.assemble(&state)?)?;
        let contact = |(world, good): (usize, &bool)| if *good { batch.contact(world) } else { None };
        Ok(state.good.iter().enumerate().map(contact).collect())
    }

    fn assemble(&self, State { q, v, tau, .. }: &State) -> Result<Assembled> {
        let (model, parameters) = (&self.model, &self.parameters);
        let (b, nv) = v.dims2()?;
        let frames = model.kinematics.frames(q, &parameters.offsets)?;
        let contacts = detect_on_lanes(model, parameters, &frames)?;
        let (gap, weight) = self.gaps(&contacts.phi)?;
        let limit_gap = match &self.limits {
            Some(limits) => Some(self.allowed(&limits.gaps(q)?)?),
            None => None,
        };
        let mass = self.dynamics.mass_matrix(q)?;
        let momentum = mass.broadcast_mul(&v.unsqueeze(1)?)?.sum(2)?;
        let applied = self.joints.limited(tau)?.broadcast_add(&parameters.tau)?;
        let force = (applied - self.dynamics.bias(q, v)?)?;
        let mass = mass.reshape((b, nv * nv))?;
        let diagonal = mass.index_select(&self.diagonal, 1)?;
        Ok(Assembled { contacts, screws: frames.screws, mass, diagonal, force, momentum, gap, weight, limit_gap })
    }

    /// −h l and weight of each contact (B, nc).
    fn gaps(&self, phi: &Tensor) -> Result<(Tensor, Tensor)> {
        let weight = weights(&self.model, phi)?;
        match self.params.bound {
            Bound::Gap { .. } => Ok((self.allowed(phi)?, weight)),
            Bound::Velocity { margin } => {
                let near = phi.detach().le(margin)?.to_dtype(phi.dtype())?;
                Ok((phi.detach().zeros_like()?, (weight * near)?))
            }
        }
    }

    /// max(φ, 0) + β min(φ, 0): the way that a gap may close within the step; negative, the way that it must open.
    fn allowed(&self, phi: &Tensor) -> Result<Tensor> {
        let beta = match self.params.bound {
            Bound::Gap { beta } => beta,
            Bound::Velocity { .. } => 0.0,
        };
        phi.relu()? - (phi.neg()?.relu()? * beta)?
    }

    /// Damping (B, nv) at v₊: the joints' own, and dry friction's of a smooth step.
    fn damping(&self, h: &Tensor, assembled: &Assembled) -> Result<Option<Tensor>> {
        let Assembled { diagonal, force, momentum, .. } = assembled;
        let per_inertia = diagonal.recip()?.broadcast_mul(h)?;
        let free = ((momentum + force.broadcast_mul(h)?)? / diagonal)?;
        let dry = self.joints.dry_damping(&free, &per_inertia, self.params.creep)?;
        Ok(match (&self.joints.damping, dry) {
            (Some(viscous), Some(dry)) => Some(dry.broadcast_add(viscous)?),
            (Some(viscous), None) => Some(viscous.broadcast_as(diagonal.shape())?),
            (None, dry) => dry,
        })
    }

    fn smooth(&self, state: &State, assembled: Assembled, warm: Option<&Tensor>) -> Result<DynamicStep> {
        let (State { good, q, .. }, h) = (state, &self.parameters.h);
        let damping = self.damping(h, &assembled)?;
        let Assembled { contacts, screws, mass, force, momentum, gap, weight, limit_gap, .. } = assembled;
        let (b, nv) = force.dims2()?;
        let mut p = mass.index_select(&self.entries, 1)?.broadcast_div(&h.sqr()?)?;
        if let Some(damping) = damping {
            let diagonal = (p.narrow(1, 0, nv)? + damping.broadcast_div(h)?)?;
            p = Tensor::cat(&[diagonal, p.narrow(1, nv, p.dim(1)? - nv)?], 1)?;
        }
        let g = (momentum.broadcast_div(h)? + force)?.neg()?;
        let kappa = self.parameters.kappa.broadcast_as((b, 1))?;
        let mut parts = vec![p, g, kappa];
        parts.extend(limit_gap);
        let mut problem = Tensor::cat(&parts, 1)?;
        if good.contains(&false) {
            // NaN in the problem is what tells the solve.
            let marks: Vec<f64> = good.iter().map(|&good| if good { 0.0 } else { f64::NAN }).collect();
            let marks = Tensor::from_vec(marks, (b, 1), q.device())?.to_dtype(q.dtype())?;
            problem = problem.broadcast_add(&marks)?;
        }
        let contact = contact_operand(&self.model, &self.parameters, &contacts, &gap, &weight)?;
        let problem = ContactProblem { screws, contacts: contact, problem };
        let solution = solve::barrier(&self.structure, &problem, self.model.params.max_iterations, warm)?;
        let reports = solution.report()?;
        let Solution { delta, force, limit_force, warm, .. } = solution;
        let [force, torque] = totals(&self.model, &contacts, &force)?;
        let q_next = self.manifold.integrate(q, &delta)?;
        let v_next = delta.broadcast_div(h)?;
        Ok(DynamicStep { q_next, v_next, force, torque, contacts, limit_force, reports, warm: Some(warm) })
    }

    fn rigid(&self, State { good, q, .. }: &State, assembled: Assembled, method: Method) -> Result<DynamicStep> {
        let RigidStep { v_next, force, limit_force, reports } = self.batch(&assembled)?.solve(good, method, q)?;
        let q_next = self.manifold.integrate(&q.detach(), &v_next.broadcast_mul(&self.parameters.h.detach())?)?;
        let torque = Tensor::zeros((good.len(), self.model.pairs.torsional.len()), q.dtype(), q.device())?;
        let contacts = assembled.contacts;
        Ok(DynamicStep { q_next, v_next, force, torque, contacts, limit_force, reports, warm: None })
    }

    /// All worlds' rigid problems.
    fn batch(&self, assembled: &Assembled) -> Result<RigidBatch<'_>> {
        let h = &self.parameters.h.detach();
        let Assembled { contacts, screws, mass, force, momentum, gap, weight, limit_gap, .. } = assembled;
        let [normal, point_a, point_b] = RigidBatch::contact_rows(contacts)?;
        Ok(RigidBatch {
            paths: &self.paths,
            limits: &self.limit_dofs,
            screws: rows(screws)?,
            normal,
            point_a,
            point_b,
            gap: rows(gap)?,
            weight: rows(weight)?,
            limit_gap: limit_gap.as_ref().map(rows).transpose()?,
            mass: rows(mass)?,
            damping: self.joints.damping.as_ref().map(rows).transpose()?,
            momentum: rows(&(momentum + force.broadcast_mul(h)?)?)?,
            dry: self.joints.dry_impulses(h)?.as_ref().map(rows).transpose()?,
            h: rows(h)?,
        })
    }

    /// The worlds with numbers that a step can start from.
    fn usable(&self, q: &Tensor, v: &Tensor, tau: &Tensor) -> Result<Vec<bool>> {
        let numbers = [rows(q)?, rows(v)?, rows(tau)?, rows(&self.parameters.h)?];
        let steps = |h: f64| h > 0.0 && h.is_finite();
        let good = |world: usize| {
            let [q, v, tau, h] = numbers.each_ref().map(|rows| rows.row(world));
            is_usable(&self.model, q) && v.iter().chain(tau).all(|x| x.is_finite()) && steps(h[0])
        };
        Ok((0..q.dim(0)?).map(good).collect())
    }

    /// The state at home, and the model's own parameters, in worlds that are not good: a gradient of zero times NaN would be
    /// NaN.
    fn cleaned(&self, good: &[bool], [q, v, tau]: [&Tensor; 3]) -> Result<(Self, State)> {
        let Some(mask) = mask(good, q.device())? else {
            let [q, v, tau] = [q, v, tau].map(Tensor::clone);
            return Ok((self.clone(), State { good: good.to_vec(), q, v, tau }));
        };
        let keep = |x: &Tensor, other: &Tensor| {
            let shape = (good.len(), x.dim(1)?);
            mask.broadcast_as(shape)?.where_cond(&x.broadcast_as(shape)?, &other.broadcast_as(shape)?)
        };
        let mut own = self.model.parameters.tensors().into_iter();
        let parameters = self.parameters.map(|_, x| keep(x, own.next().unwrap_or(x)))?;
        let q = keep(q, &self.model.home(good.len())?)?;
        let (v, tau) = (keep(v, &v.zeros_like()?)?, keep(tau, &tau.zeros_like()?)?);
        Ok((self.with_parameters(&parameters)?, State { good: good.to_vec(), q, v, tau }))
    }

    fn check(&self, q: &Tensor, v: &Tensor, tau: &Tensor) -> Result<()> {
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

impl DynamicStep {
    /// Which worlds' numbers are all finite.
    fn finite(&self) -> Result<Vec<bool>> {
        let Contacts { phi, normal, point_a, point_b, .. } = &self.contacts;
        let mut finite = vec![true; self.reports.len()];
        for x in
            [&self.q_next, &self.v_next, &self.force, &self.torque, &self.limit_force, phi, normal, point_a, point_b]
        {
            let rows = rows(&x.flatten_from(1)?)?;
            for (world, finite) in finite.iter_mut().enumerate() {
                *finite &= rows.row(world).iter().all(|x| x.is_finite());
            }
        }
        finite.iter_mut().zip(&self.reports).for_each(|(finite, report)| *finite &= report.residual.is_finite());
        Ok(finite)
    }
}

/// A tensor's numbers, without its graph.
fn rows(tensor: &Tensor) -> Result<Rows<'static>> {
    Rows::from_tensor(&tensor.detach().to_device(&Device::Cpu)?)
}
