//! The barrier's second-order step as a tensor program: the step's formulas, line by line, over the library's
//! kinematics, contacts, M, b and solve.

use std::sync::Arc;

use candle_core::{Result, Tensor};
use fingertip::contact::Contacts;
use fingertip::description::Shape;
use fingertip::kinematics::{Coordinate, Manifold};
use fingertip::math::tensor::clamp;
use fingertip::solve::{self, ContactPaths, ContactProblem, Structure};
use fingertip::step::{Bound, Dynamic, DynamicParams, DynamicStep};
use fingertip::{Model, Parameters};

use support::formulas::Formulas;

/// A step of worlds that can all be used.
pub struct TensorProgram<'a> {
    model: &'a Model,
    parameters: &'a Parameters,
    params: DynamicParams,
    dynamics: fingertip::dynamics::Dynamics,
    structure: Arc<Structure>,
    /// Entries of P, its diagonal first.
    entries: Vec<(usize, usize)>,
    /// Place in q, sign and offset of each limit's gap.
    limits: Vec<(usize, f64, f64)>,
}

fn index(of: impl Iterator<Item = usize>, like: &Tensor) -> Result<Tensor> {
    let of: Vec<u32> = of.map(|k| k as u32).collect();
    let n = of.len();
    Tensor::from_vec(of, n, like.device())
}

impl<'a> TensorProgram<'a> {
    pub fn new(model: &'a Model, parameters: &'a Parameters, params: DynamicParams) -> Result<Self> {
        let (tree, pairs) = (&model.tree, &model.pairs);
        let entries = (0..tree.nv).map(|i| (i, i));
        let entries = entries.chain((0..tree.nv).flat_map(|i| (0..i).map(move |j| (i, j)))).collect::<Vec<_>>();
        let path = |shape: usize| -> Vec<(usize, usize)> {
            tree.path(model.shapes[shape].body).into_iter().map(|screw| (screw, tree.screw_dof[screw])).collect()
        };
        let of = |contact: usize| {
            let pair = &pairs.pairs[pairs.pair_of_contact[contact]];
            ContactPaths { a: path(pair.a), b: path(pair.b) }
        };
        let paths: Vec<_> = (0..model.nc()).map(of).collect();
        let (mut dofs, mut limits) = (Vec::new(), Vec::new());
        for c in tree.coordinates.iter().filter(|_| model.params.joint_limits) {
            let Some(bounds) = c.limits else { continue };
            for (sign, bound) in [(1.0, bounds.lower), (-1.0, bounds.upper)] {
                dofs.push((c.v, sign));
                limits.push((c.q, sign, -sign * bound));
            }
        }
        let structure = Structure::new(tree.nv, tree.ns, &entries, &paths, &dofs)
            .with_friction(model.params.friction)
            .with_impratio(model.params.impratio);
        let structure = if pairs.torsional.is_empty() { structure } else { structure.with_torsion() };
        Ok(Self {
            model,
            parameters,
            params,
            dynamics: Dynamic::new(model, parameters, params)?.dynamics().clone(),
            structure: Arc::new(structure),
            entries,
            limits,
        })
    }

    /// Numbers of the degrees of freedom (1, nv).
    fn joints(&self, of: fn(&Coordinate) -> f64) -> Result<Tensor> {
        let mut values = vec![0.0; self.model.nv()];
        for c in &self.model.tree.coordinates {
            values[c.v..c.v + c.kind.nv()].fill(of(c));
        }
        self.model.tensor(&[&values])
    }

    /// The largest dry friction of each degree of freedom (1 or B, nv).
    fn dry_friction(&self) -> Result<Tensor> {
        let (tree, own) = (&self.model.tree, &self.parameters.dry_friction);
        let mut all = Tensor::zeros((own.dim(0)?, self.model.nv()), own.dtype(), own.device())?;
        let rough = tree.coordinates.iter().filter(|c| c.friction > 0.0).enumerate();
        for (k, dof) in rough.flat_map(|(k, c)| (c.v..c.v + c.kind.nv()).map(move |dof| (k, dof))) {
            all = all.index_add(&index([dof].into_iter(), &all)?, &own.narrow(1, k, 1)?.contiguous()?, 1)?;
        }
        Ok(all)
    }

    /// max(φ, 0) + β min(φ, 0), at 0 with the slope of the first.
    fn allowed(phi: &Tensor, beta: f64) -> Result<Tensor> {
        phi.detach().ge(0.0)?.where_cond(phi, &(phi * beta)?)
    }

    /// Dry friction c as a damping: c over what is left of the speed |v*| after the friction has acted, smoothed by the
    /// stiction speed s.
    fn dry_damping(&self, free: &Tensor, per_inertia: &Tensor) -> Result<Tensor> {
        let (c, s) = (self.dry_friction()?, self.params.stiction_speed);
        let x = (free.sqr()?.affine(1.0, s * s)?.sqrt()? - per_inertia.broadcast_mul(&c)?)?;
        let root = x.sqr()?.affine(1.0, 4.0 * s * s)?.sqrt()?;
        let larger = ((x.abs()? + root)? * 0.5)?;
        let positive = x.ge(0.0)?.where_cond(&larger, &(larger.recip()? * (s * s))?)?;
        positive.recip()?.broadcast_mul(&c)
    }

    /// Rows of contacts (B, 12 n) as the solver takes them: what of a gap the step may close in its place.
    fn contacts(&self, formulas: &Formulas, contacts: &Contacts) -> Result<Tensor> {
        let rows = formulas.contacts(contacts)?;
        let (b, width, nc) = (rows.dim(0)?, rows.dim(1)?, self.model.nc());
        let gammas = rows.narrow(1, 12 * nc, width - 12 * nc)?;
        let rows = rows.narrow(1, 0, 12 * nc)?.reshape((b, nc, 12))?;
        let [phi, weight] = [9, 11].map(|k| rows.narrow(2, k, 1));
        let (phi, weight) = (phi?.contiguous()?, weight?);
        let (gap, weight) = match self.params.bound {
            Bound::Gap { beta } => (Self::allowed(&phi, beta)?, weight),
            Bound::Velocity { margin } => {
                let near = phi.detach().le(margin)?.to_dtype(phi.dtype())?;
                (phi.detach().zeros_like()?, (weight * near)?)
            }
        };
        let rows =
            Tensor::cat(&[&rows.narrow(2, 0, 9)?, &gap, &rows.narrow(2, 10, 1)?, &weight], 2)?.flatten_from(1)?;
        if width == 12 * nc { Ok(rows) } else { Tensor::cat(&[rows, gammas], 1) }
    }

    /// One step of q (B, nq), v (B, nv), τ (B, nv).
    pub fn step(&self, q: &Tensor, v: &Tensor, tau: &Tensor) -> Result<DynamicStep> {
        let (model, parameters, h) = (self.model, self.parameters, &self.parameters.h);
        let (b, nv) = v.dims2()?;
        let frames = model.kinematics.frames(q, &parameters.offsets)?;
        let poses = frames.poses.narrow(1, 0, model.shapes.len())?.contiguous()?;
        let sizes = parameters.sizes.reshape((parameters.sizes.dim(0)?, model.shapes.len(), Shape::SIZES))?;
        let contacts = model.pairs.detect(&poses, &sizes)?;

        let (tree, armature) = (&model.tree, &parameters.armature);
        let mut mass = self.dynamics.mass_matrix(q)?;
        let all = index(0..nv, q)?;
        for (k, dof) in tree.armoured().enumerate().flat_map(|(k, c)| c.dofs().map(move |dof| (k, dof))) {
            let unit = all.eq(dof as u32)?.to_dtype(q.dtype())?;
            let unit = unit.unsqueeze(1)?.broadcast_mul(&unit.unsqueeze(0)?)?;
            mass = mass.broadcast_add(&armature.narrow(1, k, 1)?.unsqueeze(2)?.broadcast_mul(&unit)?)?;
        }
        let momentum = mass.broadcast_mul(&v.unsqueeze(1)?)?.sum(2)?;
        let applied = clamp(tau, &self.joints(|c| c.effort.min(1e30))?)?.broadcast_add(&parameters.tau)?;
        let mut force = (applied - self.dynamics.bias(q, v)?)?;
        let mut stiffness = force.zeros_like()?;
        for (k, c) in tree.sprung().enumerate() {
            let [spring, rest] = [&parameters.spring, &parameters.spring_rest].map(|t| t.narrow(1, k, 1));
            let pull = rest?.broadcast_sub(&q.narrow(1, c.q, 1)?)?.broadcast_mul(spring.as_ref().unwrap())?;
            force = force.index_add(&index([c.v].into_iter(), q)?, &pull, 1)?;
            stiffness =
                stiffness.index_add(&index([c.v].into_iter(), q)?, &spring?.broadcast_as((b, 1))?.contiguous()?, 1)?;
        }
        let formulas = Formulas { model, parameters };
        let mut connected = Tensor::zeros((b, nv, nv), q.dtype(), q.device())?;
        for connection in formulas.connections(&frames)? {
            force = (force + connection.pull)?;
            connected = (connected + connection.stiffness)?;
        }
        let mut viscous = force.zeros_like()?;
        for (k, dof) in tree.damped().enumerate().flat_map(|(k, c)| c.dofs().map(move |dof| (k, dof))) {
            let damping = parameters.damping.narrow(1, k, 1)?.broadcast_as((b, 1))?.contiguous()?;
            viscous = viscous.index_add(&index([dof].into_iter(), q)?, &damping, 1)?;
        }
        let mass = mass.reshape((b, nv * nv))?;
        let diagonal = mass.index_select(&index((0..nv).map(|i| i * nv + i), q)?, 1)?;
        let free = ((&momentum + force.broadcast_mul(h)?)? / &diagonal)?;
        let dry = self.dry_damping(&free, &diagonal.recip()?.broadcast_mul(h)?)?;
        let damping = dry.broadcast_add(&viscous)?;
        let p = mass.index_select(&index(self.entries.iter().map(|&(i, j)| i * nv + j), q)?, 1)?;
        let connected = connected.reshape((b, nv * nv))?;
        let connected = connected.index_select(&index(self.entries.iter().map(|&(i, j)| i * nv + j), q)?, 1)?;
        let p = (p.broadcast_div(&h.sqr()?)? + connected)?;
        let damped = ((p.narrow(1, 0, nv)? + damping.broadcast_div(h)?)? + stiffness)?;
        let coupling = p.narrow(1, nv, self.entries.len() - nv)?;
        let g = (momentum.broadcast_div(h)? + force)?.neg()?;
        let mut parts = vec![damped];
        parts.extend((nv > 1).then_some(coupling));
        parts.extend([g, parameters.kappa.broadcast_as((b, 1))?]);
        if !self.limits.is_empty() {
            let row =
                |of: fn(&(usize, f64, f64)) -> f64| model.tensor(&[&self.limits.iter().map(of).collect::<Vec<_>>()]);
            let at = q.contiguous()?.index_select(&index(self.limits.iter().map(|limit| limit.0), q)?, 1)?;
            let gaps = at.broadcast_mul(&row(|limit| limit.1)?)?.broadcast_add(&row(|limit| limit.2)?)?;
            let beta = if let Bound::Gap { beta } = self.params.bound { beta } else { 0.0 };
            parts.push(Self::allowed(&gaps, beta)?);
        }
        let problem = Tensor::cat(&parts, 1)?;
        let operand = self.contacts(&formulas, &contacts)?;
        let problem = ContactProblem { screws: frames.screws, contacts: operand, problem };
        let solution = solve::barrier(&self.structure, &problem, model.params.max_iterations, None)?;
        let [force, torque] = formulas.totals(&solution)?;
        Ok(DynamicStep {
            q_next: Manifold::new(&model.tree, q.device())?.integrate(q, &solution.delta)?,
            v_next: solution.delta.broadcast_div(h)?,
            force,
            torque,
            contacts,
            reports: solution.report()?,
            warm: Some(solution.warm),
            limit_force: solution.limit_force,
        })
    }
}
