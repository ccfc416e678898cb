//! The barrier solve and its adjoint as one differentiable tensor operation.

use std::sync::Arc;

use candle_core::{Device, Result, Tensor};

use crate::contact::absence::forget;
use crate::tensor::operation::{Differentiable, Given, Signature};
use crate::tensor::rows::from_tensor;
use crate::tensor::rows::gradient;
use fingertip_lanes::lane::{InstructionSet, Lane, Mask};
use fingertip_lanes::program::{Group, Program, Stage, run};
use fingertip_lanes::rows::{Output, Rows};
use fingertip_lanes::vector::dot;

use super::cone::CONTACT_OPERAND;
use super::kinds::by_dimension;
use super::memory::{Gradients, INFO, Operands, Places, Work};
use super::problem::nth;
use super::refit::refit;
use super::stages::{Factor, Pull, Smoothing, Solve};
use super::status::Accuracy;
use super::structure::Structure;

/// The start of a solve.
#[derive(Clone, Debug)]
pub(crate) enum Start {
    /// From the forces of a problem nearby (1 or B, [`Structure::n_eta`]), a warm start; or cold.
    Forces(Option<Tensor>),
    /// From the problem's own answer, to differentiate it again without solving. The rows are those of the solved step,
    /// here δ, η and the report ([`Report::row`]).
    Answer(Tensor),
}

impl Start {
    /// A start from forces, which get no gradient.
    pub(crate) fn forces(warm: Option<&Tensor>) -> Self {
        Self::Forces(warm.map(Tensor::detach))
    }
}

/// (screws, contacts, [P | g | κ | gaps]) → [δ | f | limit forces | η | report].
pub(super) struct BarrierOp {
    pub(super) structure: Arc<Structure>,
    pub(super) max_iterations: usize,
    pub(super) start: Start,
}

impl Structure {
    /// Length of the results that gradients flow into: δ and the forces.
    pub(super) fn n_results(&self) -> usize {
        self.nv + self.n_eta()
    }

    /// Columns of the three operands.
    fn widths(&self) -> [usize; 3] {
        [6 * self.ns, CONTACT_OPERAND * self.nc() + self.n_gammas(), self.np() + self.nv + 1 + self.n_gaps()]
    }
}

/// The problem that a program of this operation works on: its structure, its operands and their places in memory.
struct Base<'a> {
    structure: &'a Structure,
    at: Places,
    gradients: Gradients<std::ops::Range<usize>>,
    operands: [Rows<'a>; 3],
    warm: Option<Rows<'a>>,
}

impl<'a> Base<'a> {
    fn new(structure: &'a Structure, operands: [Rows<'a>; 3], warm: Option<Rows<'a>>) -> Self {
        let at = Operands::sizes(structure).from(0);
        let work = Work::sizes(structure).from(at.end());
        let gradients = Gradients::sizes(structure).from(work.end());
        Self { structure, at: Places { operands: at, work }, gradients, operands, warm }
    }

    fn from_tensors(structure: &'a Structure, operands: [&Tensor; 3]) -> Result<Self> {
        let [a, b, c] = operands;
        let rows = [from_tensor(a)?, from_tensor(b)?, from_tensor(c)?];
        Ok(Self::new(structure, rows, None))
    }

    fn factor(&self) -> Factor<'_> {
        Factor { structure: self.structure, at: &self.at, solved: false }
    }
}

/// Tolerance on ‖n‖² − 1 for a unit normal n. In double precision rounding leaves some 1e-16.
const UNIT: f64 = 1e-12;

/// Loads the operands into the worlds' memory.
struct Load<'a>(&'a Base<'a>);

impl Stage for Load<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, memory: &mut [R], _: &mut Output) {
        let Base { structure: s, at, operands: [screws, contacts, problem], warm, .. } = self.0;
        forget(&mut memory[at.work.presence.clone()]);
        let to = at.operands.cut(memory).0;
        screws.load_all(first, 0, to.screws);
        contacts.load_all(first, 0, to.contacts);
        contacts.load_all(first, to.contacts.len(), to.gammas);
        forget(to.near);
        // Tensors in single precision leave normals short of unit length, which the cones' formulas take for granted.
        // Those in double precision stay as they are.
        for contact in to.contacts.chunks_exact_mut(CONTACT_OPERAND) {
            let n = [contact[0], contact[1], contact[2]];
            let square = dot(n, n);
            let is_off = (square - R::one()).abs().gt(R::splat(UNIT)).and(square.gt(R::zero()));
            let inverse = R::one() / R::select(is_off, square, R::one()).sqrt();
            for x in &mut contact[..3] {
                *x = *x * inverse;
            }
        }
        problem.load_all(first, 0, to.p);
        for (dof, &place) in s.place.iter().enumerate() {
            to.g[place] = problem.load(first, s.np() + dof);
        }
        problem.load_all(first, s.np() + s.nv, to.kappa);
        problem.load_all(first, s.np() + s.nv + 1, to.gaps);
        if let Some(warm) = warm {
            warm.load_all(first, 0, to.warm);
        }
    }
}

struct Forward<'a> {
    base: Base<'a>,
    way: Way<'a>,
}

/// The source of δ, η and the report: a solve, or the row of an earlier result.
enum Way<'a> {
    Solve {
        max_iterations: usize,
    },
    /// δ, η and the report are read from these rows of an earlier result.
    Recall(Rows<'a>),
}

impl Program for Forward<'_> {
    fn scratch(&self) -> usize {
        self.base.at.work.end()
    }

    fn group(&self, group: &mut Group) {
        let Self { base, way } = self;
        group.run(&Load(base));
        let (structure, at, warm) = (base.structure, &base.at, base.warm.is_some());
        match way {
            Way::Solve { max_iterations } => {
                Solve { structure, at, max_iterations: *max_iterations, warm, accuracy: Accuracy::Fine }.run(group);
            }
            Way::Recall(result) => {
                group.run(&Recall { base, result, eta: structure.nv, grad: None });
                refit(base.structure, &base.at, group);
            }
        }
        group.run(&Store(base));
    }
}

/// Writes the result row: δ, forces, limit forces, η, report.
struct Store<'a>(&'a Base<'a>);

impl Stage for Store<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, memory: &mut [R], out: &mut Output) {
        let s = self.0.structure;
        let (problem, work) = self.0.at.of(memory);
        for (dof, &place) in s.place.iter().enumerate() {
            out.store(first, dof, work.delta[place]);
        }
        by_dimension!(s, N => {
            for i in 0..s.nc() {
                let force = problem.cone::<N>(i).scaled(nth(work.eta, i));
                out.store_all(first, s.nv + N * i, &force);
            }
        });
        let mut at = s.nv + s.n_force();
        out.store_all(first, at, &work.eta[s.n_force()..]);
        at += s.nl();
        out.store_all(first, at, work.eta);
        at += s.n_eta();
        out.store_all(first, at, work.info);
    }
}

struct Backward<'a> {
    base: Base<'a>,
    result: Rows<'a>,
    grad: Rows<'a>,
}

impl Program for Backward<'_> {
    fn scratch(&self) -> usize {
        self.base.gradients.end()
    }

    fn group(&self, group: &mut Group) {
        let base = &self.base;
        group.run(&Load(base));
        let eta = base.structure.n_results();
        group.run(&Recall { base, result: &self.result, eta, grad: Some(&self.grad) });
        refit(base.structure, &base.at, group);
        group.run(&base.factor());
        group.run(&Pull { structure: base.structure, at: &base.at, gradients: &base.gradients });
        group.run(&StoreGradients(base));
    }
}

/// The solution from a row that begins with δ and ends with η and the report, and the gradients of a result's row.
struct Recall<'a> {
    base: &'a Base<'a>,
    result: &'a Rows<'a>,
    /// The column of the result in which η begins.
    eta: usize,
    grad: Option<&'a Rows<'a>>,
}

impl Stage for Recall<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, memory: &mut [R], _: &mut Output) {
        let Self { base: Base { structure: s, at, gradients, .. }, result, eta, grad } = self;
        let (memory, rest) = memory.split_at_mut(at.work.end());
        let (_, work) = at.of(memory);
        for (dof, &place) in s.place.iter().enumerate() {
            work.delta[place] = result.load(first, dof);
        }
        result.load_all(first, *eta, work.eta);
        result.load_all(first, eta + s.n_eta(), work.info);
        if let Some(grad) = grad {
            let to = gradients.cut(rest).0;
            for (dof, &place) in s.place.iter().enumerate() {
                to.y[place] = grad.load(first, dof);
            }
            grad.load_all(first, s.nv, to.force);
            grad.load_all(first, s.nv + s.n_force(), to.limit);
        }
    }
}

/// Writes the operands' gradients.
struct StoreGradients<'a>(&'a Base<'a>);

impl Stage for StoreGradients<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, memory: &mut [R], out: &mut Output) {
        let Base { structure: s, gradients, .. } = self.0;
        let of = gradients.cut(&mut memory[gradients.force.start..]).0;
        let mut at = 0;
        for block in [of.screws, of.contacts, of.gammas, of.p] {
            out.store_all(first, at, block);
            at += block.len();
        }
        for (dof, &place) in s.place.iter().enumerate() {
            out.store(first, at + dof, -of.y[place]);
        }
        out.store_all(first, at + s.nv, of.kappa);
        out.store_all(first, at + s.nv + 1, of.gaps);
    }
}

impl Differentiable<3> for BarrierOp {
    fn signature(&self) -> Signature<3> {
        let (s, [screws, contacts, problem]) = (&self.structure, self.structure.widths());
        let operands = [("screws", screws), ("contacts", contacts), ("problem", problem)];
        Signature { name: "barrier solve", operands, width: s.n_results() + s.n_eta() + INFO }
    }

    fn given(&self) -> Option<Given<'_>> {
        let s = &self.structure;
        Some(match &self.start {
            Start::Forces(warm) => {
                Given { expected: "warm start: expected forces", width: s.n_eta(), rows: warm.as_ref() }
            }
            Start::Answer(rows) => {
                let width = s.nv + s.n_eta() + INFO;
                Given { expected: "barrier solve: expected answers", width, rows: Some(rows) }
            }
        })
    }

    fn set(&self) -> InstructionSet {
        self.structure.narrowed(InstructionSet::detect())
    }

    fn kernel(&self) -> String {
        match self.start {
            Start::Forces(_) => format!("barrier_solve_{}", self.max_iterations),
            Start::Answer(_) => "barrier_answer".to_owned(),
        }
    }

    fn value<'a>(&'a self, operands: [Rows<'a>; 3], given: Option<Rows<'a>>) -> Box<dyn Program + 'a> {
        let s = &*self.structure;
        let (warm, way) = match (&self.start, given) {
            (Start::Answer(_), Some(rows)) => (None, Way::Recall(rows)),
            (_, warm) => (warm, Way::Solve { max_iterations: self.max_iterations }),
        };
        Box::new(Forward { base: Base::new(s, operands, warm), way })
    }

    fn adjoint<'a>(&'a self, operands: [Rows<'a>; 3], result: Rows<'a>, grad: Rows<'a>) -> Box<dyn Program + 'a> {
        Box::new(Backward { base: Base::new(&self.structure, operands, None), result, grad })
    }
}

/// −H⁻¹ Σ Jᵀf at a solution.
struct Displacement<'a> {
    base: Base<'a>,
    result: Rows<'a>,
}

impl Program for Displacement<'_> {
    fn scratch(&self) -> usize {
        self.base.at.work.end()
    }

    fn group(&self, group: &mut Group) {
        let base = &self.base;
        group.run(&Load(base));
        group.run(&Recall { base, result: &self.result, eta: base.structure.n_results(), grad: None });
        refit(base.structure, &base.at, group);
        group.run(&base.factor());
        group.run(&Smoothing { structure: base.structure, at: &base.at });
        group.run(&Store(base));
    }
}

/// Computes [`super::smoothing_error`].
pub(super) fn smoothing_error(structure: &Structure, operands: [&Tensor; 3], result: &Tensor) -> Result<Tensor> {
    let on_cpu = |t: &Tensor| t.to_device(&Device::Cpu);
    let [a, b, c] = operands.map(on_cpu);
    let base = Base::from_tensors(structure, [&a?, &b?, &c?])?;
    let (b, n) = result.dims2()?;
    let data = run(&Displacement { base, result: from_tensor(&on_cpu(result)?)? }, b, n);
    gradient(&data, n, 0..structure.nv, b, result.dtype())?.to_device(result.device())
}
