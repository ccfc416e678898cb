//! What the fused step needs to know of a model, as plain tables, and how its working memory is laid out.

use std::sync::Arc;

use candle_core::{Result, Tensor};

use crate::contact::pair::PairFunction;
use crate::kinematics::{Charts, FrameTables, POSE, SCREW};
use crate::math::lane::{Lane, Single};
use crate::model::Model;
use crate::parameters::Parameters;
use crate::solve::{CONTACT, Structure, Work};

use super::super::inertia::InertiaTables;
use super::super::limits::LimitDofs;

/// Numbers of one contact's geometry: normal, point on A, point on B, φ.
pub(super) const GEOMETRY: usize = 10;
/// Numbers of an incidence: velocity of the centre of mass, angular velocity in the body's axes.
pub(super) const MOTION: usize = 6;
/// Numbers of what pulls on a shape: force and moment about its frame's origin.
pub(super) const SHAPE_PULL: usize = 6;
/// Numbers that report a solve: status, iterations, residual.
pub(super) const INFO: usize = 3;

/// A model, ready to be stepped in lanes.
#[derive(Debug)]
pub(in super::super) struct Plan {
    pub(super) nq: usize,
    pub(super) nu: usize,
    pub(super) structure: Arc<Structure>,
    pub(super) frames: Arc<FrameTables>,
    pub(super) charts: Arc<Charts>,
    pub(super) pairs: Vec<PairPlan>,
    pub(super) n_shapes: usize,
    /// (inertial body, screw, place in `free`).
    pub(super) incidences: Vec<(usize, usize, usize)>,
    /// (incidence, incidence, entry of P).
    pub(super) terms: Vec<(usize, usize, usize)>,
    /// Degrees of freedom without command, and those with one (degree of freedom, place in q).
    pub(super) free: Vec<usize>,
    pub(super) commanded: Vec<(usize, usize)>,
    /// Place in q, sign and offset of each limit's gap.
    pub(super) limits: Vec<(usize, f64, f64)>,
    pub(super) at: ParameterPlaces,
    pub(super) home: Vec<f64>,
    /// First numbers in q of the quaternions.
    pub(super) quaternions: Vec<usize>,
    pub(super) contact_distance: Option<f64>,
    pub(super) fade: f64,
    pub(super) max_iterations: usize,
}

/// A pair of shapes and its contacts.
#[derive(Debug)]
pub(super) struct PairPlan {
    pub(super) function: PairFunction,
    pub(super) a: usize,
    pub(super) b: usize,
    /// First contact.
    pub(super) first: usize,
    pub(super) contacts: usize,
}

/// Where each parameter starts in the row of all of them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ParameterPlaces {
    pub(super) h: usize,
    pub(super) kappa: usize,
    pub(super) epsilon: usize,
    pub(super) gravity: usize,
    pub(super) mu: usize,
    pub(super) stiffness: usize,
    pub(super) mass: usize,
    pub(super) inertia: usize,
    pub(super) sizes: usize,
    pub(super) offsets: usize,
    pub(super) tau: usize,
    pub(super) n: usize,
}

impl ParameterPlaces {
    fn new(parameters: &Parameters) -> Result<Self> {
        let mut starts = Vec::new();
        let mut n = 0;
        for tensor in parameters.tensors() {
            starts.push(n);
            n += tensor.dim(1)?;
        }
        let of = |name: &str| Parameters::NAMES.iter().position(|other| *other == name).map_or(0, |k| starts[k]);
        Ok(Self {
            h: of("h"),
            kappa: of("kappa"),
            epsilon: of("epsilon"),
            gravity: of("gravity"),
            mu: of("mu"),
            stiffness: of("stiffness"),
            mass: of("mass"),
            inertia: of("inertia"),
            sizes: of("sizes"),
            offsets: of("offsets"),
            tau: of("tau"),
            n,
        })
    }
}

/// All parameters in one row (1 or B, n), in the order of [`Parameters::NAMES`]; differentiable.
pub(in super::super) fn packed(parameters: &Parameters) -> Result<Tensor> {
    let tensors = parameters.tensors();
    let rows = tensors.iter().map(|t| t.dim(0)).collect::<Result<Vec<_>>>()?.into_iter().max().unwrap_or(1);
    let wide = tensors.iter().map(|t| t.broadcast_as((rows, t.dim(1)?))).collect::<Result<Vec<_>>>()?;
    Tensor::cat(&wide, 1)
}

impl Plan {
    /// The plan of a model.
    pub(in super::super) fn new(
        model: &Model,
        structure: &Arc<Structure>,
        inertia: &InertiaTables,
        limits: &LimitDofs,
    ) -> Result<Self> {
        let tree = &model.tree;
        let mut pairs = Vec::new();
        let mut first = 0;
        for pair in &model.pairs.pairs {
            let contacts = pair.function.contacts();
            pairs.push(PairPlan { function: pair.function, a: pair.a, b: pair.b, first, contacts });
            first += contacts;
        }
        let commanded = tree.coordinates.iter().filter(|c| c.u.is_some()).map(|c| (c.v, c.q)).collect();
        let of_dof = |dof: usize| tree.coordinates.iter().find(|c| c.v == dof && c.kind.nv() == 1);
        let limits = limits
            .iter()
            .filter_map(|&(dof, sign)| {
                let coordinate = of_dof(dof)?;
                let bounds = coordinate.limits?;
                Some((coordinate.q, sign, if sign > 0.0 { -bounds.lower } else { bounds.upper }))
            })
            .collect();
        Ok(Self {
            nq: tree.nq,
            nu: tree.nu,
            structure: structure.clone(),
            frames: model.kinematics.tables().clone(),
            charts: Arc::new(Charts::new(tree)),
            pairs,
            n_shapes: model.shapes.len(),
            incidences: inertia.incidences.clone(),
            terms: inertia.terms.clone(),
            free: inertia.free.clone(),
            commanded,
            limits,
            at: ParameterPlaces::new(&model.parameters)?,
            home: tree.home(),
            quaternions: tree.coordinates.iter().filter(|c| c.kind.nq() == 7).map(|c| c.q + 3).collect(),
            contact_distance: model.params.contact_distance,
            fade: model.params.fade,
            max_iterations: model.params.max_iterations,
        })
    }

    /// Forces as the solver has them: three per contact, one per limit.
    pub(super) fn n_eta(&self) -> usize {
        3 * self.structure.nc() + self.structure.nl()
    }

    /// Numbers of a step's result that gradients flow into: q₊, δ, forces, limit forces, the contacts' geometry.
    pub(super) fn n_results(&self) -> usize {
        self.nq + self.structure.nv + self.n_eta() + GEOMETRY * self.structure.nc()
    }

    /// Numbers of a result row: those, then η and the report.
    pub(super) fn n_row(&self) -> usize {
        self.n_results() + self.n_eta() + INFO
    }

    /// Numbers of the gradient of q, u and the parameters.
    pub(super) fn n_gradient(&self) -> usize {
        self.nq + self.nu + self.at.n
    }

    /// Working memory of a step.
    pub(super) fn n_memory(&self) -> usize {
        let s = &self.structure;
        self.nq
            + self.nu
            + self.at.n
            + self.frames.n_bodies()
            + self.frames.n_outputs()
            + GEOMETRY * s.nc()
            + CONTACT * s.nc()
            + MOTION * self.incidences.len()
            + s.np()
            + s.nv
            + s.nl()
            + 1
            + self.n_eta()
            + self.nq
            + s.nv
            + 3 * s.nc()
            + INFO
            + Work::<Single<false>>::size(s)
    }

    /// Working memory of a step's adjoint.
    pub(super) fn n_adjoint(&self) -> usize {
        let s = &self.structure;
        self.n_results()
            + self.n_gradient()
            + self.frames.n_outputs()
            + CONTACT * s.nc()
            + MOTION * self.incidences.len()
            + s.np()
            + s.nv
            + s.nl()
            + 1
            + self.frames.n_wrenches()
            + self.nq
            + s.nv
            + SHAPE_PULL * self.n_shapes
            + 1
            + self.nq
            + self.at.n
    }
}

/// A step's working memory.
pub(super) struct Memory<'a, R> {
    pub(super) q: &'a mut [R],
    pub(super) u: &'a mut [R],
    pub(super) par: &'a mut [R],
    pub(super) bodies: &'a mut [R],
    /// Poses of the frames, screws.
    pub(super) kin: &'a mut [R],
    /// Normal, points and φ of each contact.
    pub(super) geometry: &'a mut [R],
    pub(super) contacts: &'a mut [R],
    pub(super) motion: &'a mut [R],
    pub(super) p: &'a mut [R],
    /// In the order of elimination.
    pub(super) g: &'a mut [R],
    pub(super) gaps: &'a mut [R],
    /// 1 where q is usable.
    pub(super) usable: &'a mut [R],
    pub(super) warm: &'a mut [R],
    pub(super) q_next: &'a mut [R],
    /// In the order of v.
    pub(super) delta: &'a mut [R],
    /// Force on B of each contact.
    pub(super) force: &'a mut [R],
    /// Status, iterations, residual.
    pub(super) info: &'a mut [R],
    pub(super) work: Work<'a, R>,
}

/// A step's adjoint's working memory.
pub(super) struct Adjoint<'a, R> {
    /// Gradient of the results.
    pub(super) grad: &'a mut [R],
    /// Gradients of q, u and the parameters.
    pub(super) q: &'a mut [R],
    pub(super) u: &'a mut [R],
    pub(super) par: &'a mut [R],
    pub(super) kin: &'a mut [R],
    pub(super) contacts: &'a mut [R],
    pub(super) motion: &'a mut [R],
    pub(super) p: &'a mut [R],
    /// y of the solve's adjoint, in the order of elimination.
    pub(super) y: &'a mut [R],
    pub(super) gaps: &'a mut [R],
    pub(super) kappa: &'a mut [R],
    pub(super) wrenches: &'a mut [R],
    /// Gradients of q and δ through q ⊕ δ.
    pub(super) through_q: &'a mut [R],
    pub(super) through_delta: &'a mut [R],
    /// Force and moment on each shape.
    pub(super) shapes: &'a mut [R],
    /// 1 in worlds with a solution.
    pub(super) keep: &'a mut [R],
    /// What later steps of a rollout want of q₊, and of the parameters.
    pub(super) carry: &'a mut [R],
    pub(super) par_sum: &'a mut [R],
}

/// Takes the next `n` numbers off.
fn cut<'a, R>(rest: &mut &'a mut [R], n: usize) -> &'a mut [R] {
    let (part, left) = std::mem::take(rest).split_at_mut(n);
    *rest = left;
    part
}

impl Plan {
    /// Lays the memory out; the rest comes back.
    #[inline(always)]
    pub(super) fn memory<'a, R: Lane>(&self, memory: &'a mut [R]) -> (Memory<'a, R>, &'a mut [R]) {
        let s = &*self.structure;
        let mut rest = memory;
        let rest = &mut rest;
        let (q, u, par) = (cut(rest, self.nq), cut(rest, self.nu), cut(rest, self.at.n));
        let (bodies, kin) = (cut(rest, self.frames.n_bodies()), cut(rest, self.frames.n_outputs()));
        let (geometry, contacts) = (cut(rest, GEOMETRY * s.nc()), cut(rest, CONTACT * s.nc()));
        let motion = cut(rest, MOTION * self.incidences.len());
        let (p, g, gaps) = (cut(rest, s.np()), cut(rest, s.nv), cut(rest, s.nl()));
        let (usable, warm, q_next) = (cut(rest, 1), cut(rest, self.n_eta()), cut(rest, self.nq));
        let (delta, force, info) = (cut(rest, s.nv), cut(rest, 3 * s.nc()), cut(rest, INFO));
        let (work, rest) = Work::new(s, std::mem::take(rest));
        (
            Memory {
                q,
                u,
                par,
                bodies,
                kin,
                geometry,
                contacts,
                motion,
                p,
                g,
                gaps,
                usable,
                warm,
                q_next,
                delta,
                force,
                info,
                work,
            },
            rest,
        )
    }

    /// Lays the adjoint's memory out.
    #[inline(always)]
    pub(super) fn adjoint<'a, R: Lane>(&self, memory: &'a mut [R]) -> Adjoint<'a, R> {
        let s = &*self.structure;
        let mut rest = memory;
        let rest = &mut rest;
        Adjoint {
            grad: cut(rest, self.n_results()),
            q: cut(rest, self.nq),
            u: cut(rest, self.nu),
            par: cut(rest, self.at.n),
            kin: cut(rest, self.frames.n_outputs()),
            contacts: cut(rest, CONTACT * s.nc()),
            motion: cut(rest, MOTION * self.incidences.len()),
            p: cut(rest, s.np()),
            y: cut(rest, s.nv),
            gaps: cut(rest, s.nl()),
            kappa: cut(rest, 1),
            wrenches: cut(rest, self.frames.n_wrenches()),
            through_q: cut(rest, self.nq),
            through_delta: cut(rest, s.nv),
            shapes: cut(rest, SHAPE_PULL * self.n_shapes),
            keep: cut(rest, 1),
            carry: cut(rest, self.nq),
            par_sum: cut(rest, self.at.n),
        }
    }

    /// Where frame `f`'s pose starts among the kinematics' results.
    pub(super) fn pose(f: usize) -> usize {
        POSE * f
    }

    /// Where screw `k` starts among the kinematics' results.
    pub(super) fn screw(&self, k: usize) -> usize {
        self.frames.n_outputs() - SCREW * (self.structure.ns - k)
    }
}
