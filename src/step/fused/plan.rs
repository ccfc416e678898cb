//! What the fused step needs to know of a model, as plain tables, and the order of its stages.

use std::sync::Arc;

#[cfg(feature = "cuda")]
use candle_core::Device;
use candle_core::{DType, Result, Tensor, bail};

use crate::contact::lanes::convex::Places as ShapePlaces;
use crate::contact::pair::PairFunction;
use crate::contact::{ConvexPair, UNUSED};
use crate::description::{Friction, Params, Shape};
use crate::kinematics::{FrameTables, POSE, PlaceFrames, PullFrames, Retraction, SCREW};
use crate::math::lane::{Arithmetic, InstructionSet, Precision};
use crate::math::program::{Group, Program, run_parts_on};
use crate::math::rows::Rows;
use crate::model::Model;
use crate::parameters::Parameters;
use crate::solve::{self, INFO, Structure};

use super::super::inertia::InertiaTables;
use super::super::limits::LimitDofs;
use super::super::torsion::Turning;
use super::adjoint::{Clean, PullAssemble, PullForces, PullGeometry, PullIntegrate};
use super::memory::{GEOMETRY, Places};
use super::paths::Paths;
use super::record::Kernel;
use super::second_order::SecondOrder;
use super::stages::{Assemble, Check, Finish, Geometry};

/// A model, ready to be stepped in lanes.
#[derive(Clone, Debug)]
pub(in super::super) struct Plan {
    /// Kernels compiled for this scene, in the place of lanes.
    #[cfg(feature = "native")]
    pub(super) native: Option<Arc<super::native::Native>>,
    /// What the kernels run on.
    pub(super) set: InstructionSet,
    /// The device of a model that is not on the CPU.
    #[cfg(feature = "cuda")]
    pub(super) gpu: Option<Arc<crate::cuda::Gpu>>,
    pub(super) nq: usize,
    pub(super) nu: usize,
    /// Contacts, each once.
    pub(super) nc: usize,
    pub(super) structure: Arc<Structure>,
    pub(super) frames: Arc<FrameTables>,
    pub(super) retraction: Arc<Retraction>,
    pub(super) pairs: Vec<PairPlan>,
    /// The contacts that the structure has behind all of them once more.
    pub(super) turning: Vec<Turning>,
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
    pub(super) places: Places,
    pub(super) paths: Paths,
    pub(super) home: Vec<f64>,
    /// First numbers in q of the quaternions.
    pub(super) quaternions: Vec<usize>,
    /// From where on contacts have no weight, if there is such a distance, and the width of the window below it.
    pub(super) contact_distance: Option<f64>,
    pub(super) fade: f64,
    pub(super) max_iterations: usize,
    /// What there is in the place of inertia, stiffness and command if the step is the second-order one.
    pub(super) second_order: Option<Arc<SecondOrder>>,
}

/// A pair of shapes and its contacts.
#[derive(Clone, Debug)]
pub(super) struct PairPlan {
    pub(super) method: Method,
    pub(super) a: usize,
    pub(super) b: usize,
    /// First contact.
    pub(super) first: usize,
    pub(super) contacts: usize,
}

/// How a pair's contacts come about.
#[derive(Clone, Debug)]
pub(super) enum Method {
    Formula(PairFunction),
    /// By a query in each world, whose result has this place among all; the contacts have shares.
    Convex(ConvexPair, usize),
}

/// Where each parameter starts in the row of all of them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ParameterPlaces {
    pub(super) h: usize,
    pub(super) kappa: usize,
    pub(super) epsilon: usize,
    pub(super) gravity: usize,
    pub(super) mu: usize,
    pub(super) torsion: usize,
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
            torsion: of("torsion"),
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

/// All parameters in one row (1 or B, n), in the order of [`Parameters::NAMES`]; differentiable. On a GPU those without numbers are
/// left out: candle's gradients fail there.
pub(in super::super) fn packed(parameters: &Parameters) -> Result<Tensor> {
    let tensors = parameters.tensors();
    let rows = tensors.iter().map(|t| t.dim(0)).collect::<Result<Vec<_>>>()?.into_iter().max().unwrap_or(1);
    let tensors = tensors.iter().filter(|t| t.elem_count() > 0 || t.device().is_cpu());
    let wide = tensors.map(|t| t.broadcast_as((rows, t.dim(1)?))).collect::<Result<Vec<_>>>()?;
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
        let (mut first, mut n_convex) = (0, 0);
        for pair in &model.pairs.pairs {
            let mut convex = || {
                n_convex += 1;
                let [a, b] = [pair.a, pair.b].map(|shape| &model.shapes[shape].shape);
                Method::Convex(ConvexPair::new(a, b), n_convex - 1)
            };
            let method = pair.formula.map_or_else(&mut convex, Method::Formula);
            pairs.push(PairPlan { method, a: pair.a, b: pair.b, first, contacts: pair.contacts });
            first += pair.contacts;
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
        let frames = model.kinematics.tables();
        let at = ParameterPlaces::new(&model.parameters)?;
        let turning = Turning::all(model);
        let counts = [tree.nq, tree.nu, first, turning.len(), inertia.incidences.len(), model.shapes.len(), n_convex];
        let places = Places::new(structure, frames, &at, counts, None);
        let Params { contact_distance, fade, max_iterations, .. } = model.params;
        // A contact that a pair has room for but not now has no weight in any case.
        let (contact_distance, fade) = match contact_distance {
            None if n_convex > 0 => (Some(UNUSED), 0.0),
            distance => (distance.map(|distance| distance.min(UNUSED)), fade),
        };
        Ok(Self {
            #[cfg(feature = "native")]
            native: None,
            set: InstructionSet::detect(),
            #[cfg(feature = "cuda")]
            gpu: match &model.device {
                Device::Cuda(device) => Some(Arc::new(crate::cuda::Gpu::new(device)?)),
                _ => None,
            },
            nq: tree.nq,
            nu: tree.nu,
            nc: first,
            turning,
            structure: structure.clone(),
            frames: frames.clone(),
            paths: Paths::new(model, structure, &pairs, places.solve.work.end()),
            places,
            retraction: Arc::new(Retraction::new(tree)),
            pairs,
            n_shapes: model.shapes.len(),
            incidences: inertia.incidences.clone(),
            terms: inertia.terms.clone(),
            free: inertia.free.clone(),
            commanded,
            limits,
            at,
            home: tree.home(),
            quaternions: tree.coordinates.iter().filter(|c| c.kind.nq() == 7).map(|c| c.q + 3).collect(),
            contact_distance,
            fade,
            max_iterations,
            second_order: None,
        })
    }

    /// The same plan on other instructions, which the processor must have.
    pub(in super::super) fn on(&self, set: InstructionSet) -> Self {
        Self {
            #[cfg(feature = "native")]
            native: None,
            set,
            ..self.clone()
        }
    }

    /// What kernels compute in for tensors of a type: Coulomb's law asks for double precision.
    pub(super) fn arithmetic(&self, dtype: DType) -> Arithmetic {
        let precision = match (self.structure.friction, dtype) {
            // The dynamics know the double one alone.
            (Friction::Relaxed, DType::F32) if self.second_order.is_none() => Precision::Single,
            _ => Precision::Double,
        };
        #[cfg(feature = "native")]
        if self.native.is_some() {
            return Arithmetic { set: self.set, precision };
        }
        Arithmetic::new(self.set, precision)
    }

    /// Forces to start from that are none.
    pub(super) fn no_forces(&self) -> Rows<'static> {
        Rows::owned(vec![0.0; self.structure.n_eta()])
    }

    /// What a kernel computes of so many worlds and steps: in lanes, by its program, or natively, of the rows that
    /// [`Plan::operand_rows`] says.
    ///
    /// # Errors
    /// If it is to be compiled, and cannot be.
    #[cfg_attr(not(feature = "native"), allow(clippy::unnecessary_wraps, unused_variables))]
    pub(super) fn run_kernel<P: Program, const N: usize>(
        &self,
        kernel: Kernel,
        arithmetic: Arithmetic,
        program: &P,
        rows: &[&Rows],
        (worlds, n_steps): (usize, usize),
        widths: [usize; N],
    ) -> Result<[Vec<f64>; N]> {
        #[cfg(feature = "native")]
        if let Some(native) = &self.native {
            return Ok(native.function(self, kernel, arithmetic.precision)?.run(n_steps, rows, worlds));
        }
        Ok(run_parts_on(arithmetic, program, worlds, widths))
    }

    /// Numbers of a step's result that gradients flow into: q₊, δ, v₊ of a second-order step, forces, limit forces, the contacts' geometry and shares.
    pub(super) fn n_results(&self) -> usize {
        let n_motion = self.structure.nv + self.n_velocities();
        self.nq + n_motion + self.n_forces() + self.structure.nl() + GEOMETRY * self.nc + self.n_shares()
    }

    /// Numbers of v₊: those of v, or none.
    pub(super) fn n_velocities(&self) -> usize {
        self.places.numbers.v_next.len()
    }

    /// Numbers of a step's forces: see [`Numbers`](super::memory::Numbers).
    pub(super) fn n_forces(&self) -> usize {
        self.places.numbers.force.len()
    }

    /// Numbers of λ: three per contact, and the torques.
    pub(super) fn n_lambda(&self) -> usize {
        3 * self.nc + self.turning.len()
    }

    /// The places of the structure's contacts that resist turning.
    #[inline(always)]
    pub(super) fn turning(&self) -> impl Iterator<Item = (usize, Turning)> {
        self.turning.iter().enumerate().map(|(k, &turning)| (self.nc + k, turning))
    }

    /// The contact that one of the structure's is.
    pub(super) fn once(&self, contact: usize) -> usize {
        if contact < self.nc { contact } else { self.turning[contact - self.nc].contact }
    }

    /// As many as contacts, or none: see [`Numbers`](super::memory::Numbers).
    pub(super) fn n_shares(&self) -> usize {
        self.places.numbers.share.len()
    }

    /// Numbers of a result row: those, then η and the report.
    pub(super) fn n_row(&self) -> usize {
        self.n_results() + self.structure.n_eta() + INFO
    }

    /// Numbers of the gradient of q, u and the parameters.
    pub(super) fn n_gradient(&self) -> usize {
        self.nq + self.nu + self.at.n
    }

    /// Checks the rows and columns of forces to start from, for so many worlds.
    pub(super) fn check_warm(&self, warm: Option<[usize; 2]>, worlds: usize) -> Result<()> {
        let n = self.structure.n_eta();
        match warm {
            Some([rows, width]) if width != n || (rows != worlds && rows != 1) => {
                bail!("warm start: expected forces (1 or {worlds}, {n}), got ({rows}, {width})")
            }
            _ => Ok(()),
        }
    }

    /// Everything up to the solve, once q, u and the parameters are there.
    pub(super) fn prepare(&self, group: &mut Group) {
        group.run_in_either(&Check(self));
        self.set_up_second_order(group);
        group.run_in_either(&PlaceFrames { tables: &self.frames, at: &self.places.frames });
        group.run_in_either(&Geometry(self));
        if !self.assemble_second_order(group) {
            group.run_in_either(&Assemble(self));
        }
    }

    /// The solve, forces and q₊; `warm` starts it at the forces that are there.
    pub(super) fn solve(&self, group: &mut Group, warm: bool) {
        let (structure, at, max_iterations) = (&*self.structure, &self.places.solve, self.max_iterations);
        solve::Solve { structure, at, max_iterations, warm }.run(group);
        group.run_in_either(&Finish(self));
        self.finish_second_order(group);
    }

    /// Factors H at the solution that is there.
    pub(super) fn factor(&self, group: &mut Group, solved: bool) {
        group.run(&solve::Factor { structure: &self.structure, at: &self.places.solve, solved });
    }

    /// From the gradients of the results to those of q, u and the parameters.
    pub(super) fn pull(&self, group: &mut Group) {
        let Places { frames, frame_gradients, solve, solve_gradients, .. } = &self.places;
        self.pull_finish_second_order(group);
        group.run(&PullIntegrate(self));
        if !self.turning.is_empty() {
            group.run(&PullForces(self));
        }
        group.run(&solve::Pull { structure: &self.structure, at: solve, gradients: solve_gradients });
        if !self.pull_second_order(group) {
            group.run(&PullAssemble(self));
        }
        group.run(&PullGeometry(self));
        group.run(&PullFrames { tables: &self.frames, at: frames, gradients: frame_gradients });
        self.pull_set_up_second_order(group);
        group.run(&Clean(self));
    }

    /// The poses and sizes of a pair's shapes.
    #[inline(always)]
    pub(super) fn shapes<'a, R>(&self, pair: &PairPlan, kin: &'a [R], par: &'a [R]) -> ShapePlaces<'a, R> {
        let (a, b) = (Self::pose(pair.a), Self::pose(pair.b));
        let (size_a, size_b) = (self.size(pair.a), self.size(pair.b));
        [
            (&kin[a..a + POSE], &par[size_a..size_a + Shape::SIZES]),
            (&kin[b..b + POSE], &par[size_b..size_b + Shape::SIZES]),
        ]
    }

    /// Where a shape's sizes start among the parameters.
    #[inline(always)]
    pub(super) fn size(&self, shape: usize) -> usize {
        self.at.sizes + Shape::SIZES * shape
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
