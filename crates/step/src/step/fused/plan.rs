//! The fused step's view of a model, as plain tables.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use candle_core::{DType, Result, bail};

use crate::contact::kernels::PairKernels;
use crate::kinematics::{FrameTables, Retraction};
use crate::model::Model;
use crate::parameters::ParameterPlaces;
use crate::solve::{Structure, log_length};
use fingertip_lanes::lane::{Arithmetic, InstructionSet, Precision};
use fingertip_lanes::program::Group;
use fingertip_lanes::record::Row;
use fingertip_lanes::rows::Rows;

use super::super::mark::mark;
use super::super::operands::{ContactTables, quaternions};
use super::super::problem::ProblemTables;
use super::super::rolling::RollingTables;
use super::memory::Places;
use super::paths::Paths;

/// The equations that a step solves. Kinematics, contacts, the solve and the forces are common to all of them. What one
/// kind of step has of its own: the stages around those that all have, in the order in which they run.
pub(in super::super) trait Equations: Debug + Send + Sync {
    /// The rows beside q and the parameters that a world is moved by. Kernels read them side by side.
    fn inputs(&self, plan: &Plan) -> Vec<Row>;
    /// Are there lanes of single precision?
    fn has_single_precision(&self) -> bool;
    /// Before kinematics: makes q, the inputs and the parameters usable.
    fn set_up(&self, _: &Plan, _: &mut Group) {}
    /// Assembles the problem, P, g, contacts and gaps, from frames and geometry.
    fn assemble(&self, plan: &Plan, group: &mut Group);
    /// After the solve: what follows from δ beside q₊.
    fn finish(&self, _: &Plan, _: &mut Group) {}
    /// The adjoint of [`Equations::finish`].
    fn vjp_finish(&self, _: &Plan, _: &mut Group) {}
    /// The adjoint of [`Equations::assemble`].
    fn vjp_assemble(&self, plan: &Plan, group: &mut Group);
    /// The adjoint of [`Equations::set_up`].
    fn vjp_set_up(&self, _: &Plan, _: &mut Group) {}
}

/// A model, ready to be stepped in lanes.
#[derive(Clone, Debug)]
pub(in super::super) struct Plan {
    /// A number of its own, but for copies.
    pub(super) id: u64,
    /// Kernels compiled for this scene, in place of lanes.
    #[cfg(feature = "native")]
    pub(super) native: Option<Arc<super::native::Native>>,
    /// The instruction set (lane width) that the kernels run on.
    pub(super) set: InstructionSet,
    /// GPU and kernel recorder of a model that is not on the CPU.
    #[cfg(feature = "cuda")]
    pub(super) gpu: Option<(Arc<crate::cuda::Gpu>, super::kernel::Recorder)>,
    pub(in super::super) nq: usize,
    pub(in super::super) nu: usize,
    /// The number of contacts.
    pub(super) nc: usize,
    pub(in super::super) structure: Arc<Structure>,
    pub(super) frames: Arc<FrameTables>,
    pub(super) retraction: Arc<Retraction>,
    pub(super) pairs: Arc<PairKernels>,
    pub(super) contacts: Arc<ContactTables>,
    pub(super) problem: Arc<ProblemTables>,
    pub(in super::super) rolling: Arc<RollingTables>,
    pub(super) at: ParameterPlaces,
    pub(super) places: Places,
    pub(super) paths: Paths,
    pub(super) home: Vec<f64>,
    /// First numbers in q of the quaternions.
    pub(super) quaternions: Vec<usize>,
    pub(super) max_iterations: usize,
    /// The step's own equations.
    pub(super) equations: Arc<dyn Equations>,
    /// Contacts that are farther apart than this have no weight, m.
    pub(super) margin: Option<f64>,
}

impl Plan {
    /// The plan of a model for one kind of step.
    pub(in super::super) fn new(
        model: &Model,
        structure: &Arc<Structure>,
        contacts: &Arc<ContactTables>,
        problem: &Arc<ProblemTables>,
        equations: Arc<dyn Equations>,
    ) -> Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let tree = &model.tree;
        let pairs = &model.pairs.kernels;
        let frames = model.kinematics.tables();
        let rolling = Arc::new(RollingTables::new(model, problem));
        let places = Places::new([tree.nq, tree.nu], structure, frames, pairs, contacts, (problem, &rolling), None);
        Ok(Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            #[cfg(feature = "native")]
            native: None,
            set: structure.narrowed(InstructionSet::detect()),
            #[cfg(feature = "cuda")]
            gpu: None,
            nq: tree.nq,
            nu: tree.nu,
            nc: model.nc(),
            contacts: contacts.clone(),
            problem: problem.clone(),
            rolling,
            structure: structure.clone(),
            frames: frames.clone(),
            paths: Paths::new(model, structure, &pairs.pairs, problem, places.solve.work.end()),
            places,
            retraction: Arc::new(Retraction::new(tree)),
            pairs: pairs.clone(),
            at: problem.at,
            home: tree.home(),
            quaternions: quaternions(tree),
            max_iterations: model.params.max_iterations,
            equations,
            margin: None,
        })
    }

    /// A mark of what steps leave in working memory that others may go on from: what is far keeps numbers that follow
    /// from the parameters. None where each world has parameters of its own, or contacts are few.
    pub(super) fn mark(&self, par: &Rows) -> Option<u64> {
        (par.rows() == 1 && self.lists_contacts()).then(|| mark([par.row(0)]).wrapping_add(self.id))
    }

    /// Does code that is compiled for the scene take the place of lanes?
    pub(in super::super) fn is_native(&self) -> bool {
        #[cfg(feature = "native")]
        return self.native.is_some();
        #[cfg(not(feature = "native"))]
        false
    }

    /// A copy of this plan whose kernels run on another instruction set, which the processor must have.
    pub(in super::super) fn on(&self, set: InstructionSet) -> Self {
        Self {
            #[cfg(feature = "native")]
            native: None,
            set: self.structure.narrowed(set),
            ..self.clone()
        }
    }

    /// A copy of this plan with room for a solve's log behind the step's memory. It has no native code and no adjoint.
    pub(super) fn logged(&self) -> Self {
        let mut plan = self.on(self.set);
        let log = &mut plan.places.solve.work.log;
        log.end = log.start + log_length(&self.structure, self.max_iterations);
        plan
    }

    /// Instruction set and precision in which kernels compute for tensors of `dtype`. Single precision is for `f32`
    /// tensors with the relaxed friction law; Coulomb's law, torsional friction and the second-order step always
    /// compute in double precision.
    pub(super) fn arithmetic(&self, dtype: DType) -> Arithmetic {
        let is_single = dtype == DType::F32 && self.has_single_precision();
        let precision = if is_single { Precision::Single } else { Precision::Double };
        #[cfg(feature = "native")]
        if self.native.is_some() {
            return Arithmetic { set: self.set, precision };
        }
        Arithmetic::new(self.set, precision)
    }

    /// Can steps be solved in single precision?
    pub(super) fn has_single_precision(&self) -> bool {
        self.structure.has_single_precision() && self.equations.has_single_precision()
    }

    /// Zero warm-start forces, in place of ones that are not given.
    pub(super) fn no_forces(&self) -> Rows<'static> {
        Rows::owned(vec![0.0; self.structure.n_eta()])
    }

    /// Length of v₊ in a result row: nv for a second-order step, else 0.
    pub(super) fn n_velocities(&self) -> usize {
        self.places.numbers.v_next.len()
    }

    /// Length of a step's forces: see [`Numbers`](super::memory::Numbers).
    pub(super) fn n_forces(&self) -> usize {
        self.places.numbers.force.len()
    }

    /// Length of the shares: one number per contact, or 0 where all are 1. See [`Numbers`](super::memory::Numbers).
    pub(super) fn n_shares(&self) -> usize {
        self.places.numbers.share.len()
    }

    /// Length of the gradients of q, u and the parameters side by side.
    pub(in super::super) fn n_gradient(&self) -> usize {
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

    /// The shapes' sizes among the parameters.
    #[inline(always)]
    pub(super) fn sizes<'a, R>(&self, par: &'a [R]) -> &'a [R] {
        &par[self.at.sizes..self.at.offsets]
    }
}
