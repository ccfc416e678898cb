//! All pairs with a formula as one differentiable tensor operation on [`super::lanes`]: (poses, sizes) → contacts.

use std::ops::Range;
use std::sync::Arc;

use candle_core::{Result, Tensor};

use crate::description::Shape;
use crate::kinematics::{POSE, Pose};
use crate::math::lane::{Lane, clear};
use crate::math::layout::layout;
use crate::math::operation::{Differentiable, Operation};
use crate::math::program::{Group, Program, Stage};
use crate::math::rows::{Output, Rows};
use crate::math::vector::{cross, scale};

use super::convex::ConvexPair;
use super::lanes::{self, GEOMETRY};
use super::pair::PairFunction;

/// Force and moment.
const WRENCH: usize = 6;

/// The pairs, in the order of their contacts.
#[derive(Debug)]
pub(super) struct FormulaPairs {
    pairs: Vec<FormulaPair>,
    n_shapes: usize,
    /// Are weights asked for?
    weighted: bool,
}

#[derive(Debug)]
struct FormulaPair {
    a: usize,
    b: usize,
    formula: Formula,
    /// Among all contacts.
    contacts: Range<usize>,
}

/// Where a pair's contacts come from.
#[derive(Debug)]
pub(super) enum Formula {
    Function(PairFunction),
    /// Two boxes, whose contacts have weights.
    Boxes(ConvexPair),
}

layout! {
    /// Operands, contacts and gradients.
    struct Numbers {
        poses,
        sizes,
        contacts,
        weights,
        wrenches,
        grad_poses,
        grad_sizes,
    }
}

impl FormulaPairs {
    /// Of pairs' shapes and formulas. Contacts have weights if that is asked for; formulas other than those of boxes give 1.
    pub(super) fn new(pairs: impl Iterator<Item = (usize, usize, Formula)>, n_shapes: usize, weighted: bool) -> Self {
        let mut end = 0;
        let pairs = pairs.map(|(a, b, formula)| {
            let first = end;
            end += formula.contacts();
            FormulaPair { a, b, formula, contacts: first..end }
        });
        Self { pairs: pairs.collect(), n_shapes, weighted }
    }

    /// Contacts (B, n, 10) of all pairs: normal, points on A and B, φ, or (B, n, 11) with weights; of poses (B, n_shapes, 12) and
    /// sizes (1 or B, n_shapes, 4) on the CPU.
    pub(super) fn contacts(self: &Arc<Self>, poses: &Tensor, sizes: &Tensor) -> Result<Tensor> {
        let rows = poses.flatten_from(1)?.apply_op2(&sizes.flatten_from(1)?, Operation(FormulaOp(self.clone())))?;
        let (worlds, n) = (poses.dim(0)?, self.n_contacts());
        let contacts = rows.narrow(1, 0, GEOMETRY * n)?.reshape((worlds, n, GEOMETRY))?;
        if !self.weighted {
            return Ok(contacts);
        }
        let weights = rows.narrow(1, GEOMETRY * n, n)?.reshape((worlds, n, 1))?;
        Tensor::cat(&[contacts, weights], 2)
    }

    fn n_contacts(&self) -> usize {
        self.pairs.last().map_or(0, |pair| pair.contacts.end)
    }

    fn n_weights(&self) -> usize {
        if self.weighted { self.n_contacts() } else { 0 }
    }

    fn places(&self, adjoint: bool) -> Numbers<Range<usize>> {
        let back = |n: usize| if adjoint { n * self.n_shapes } else { 0 };
        let sizes = Numbers {
            poses: POSE * self.n_shapes,
            sizes: Shape::SIZES * self.n_shapes,
            contacts: GEOMETRY * self.n_contacts(),
            weights: self.n_weights(),
            wrenches: back(WRENCH),
            grad_poses: back(POSE),
            grad_sizes: back(Shape::SIZES),
        };
        sizes.from(0)
    }
}

impl Formula {
    fn contacts(&self) -> usize {
        match self {
            Self::Function(function) => function.contacts(),
            Self::Boxes(pair) => pair.contacts(),
        }
    }
}

impl FormulaPair {
    /// Its shapes' poses and sizes.
    #[inline(always)]
    fn shapes<'a, R>(&self, poses: &'a [R], sizes: &'a [R]) -> lanes::convex::Places<'a, R> {
        let (a, b) = (self.a, self.b);
        [(&poses[of(a, POSE)], &sizes[of(a, Shape::SIZES)]), (&poses[of(b, POSE)], &sizes[of(b, Shape::SIZES)])]
    }

    /// Its numbers among those of all contacts.
    #[inline(always)]
    fn numbers(&self) -> Range<usize> {
        GEOMETRY * self.contacts.start..GEOMETRY * self.contacts.end
    }
}

/// The operation on its operands; with the contacts' gradient it is the adjoint.
struct Geometry<'a> {
    pairs: &'a FormulaPairs,
    at: Numbers<Range<usize>>,
    poses: Rows<'a>,
    sizes: Rows<'a>,
    grad: Option<Rows<'a>>,
}

impl<'a> Geometry<'a> {
    fn new(pairs: &'a FormulaPairs, [poses, sizes]: [Rows<'a>; 2], grad: Option<Rows<'a>>) -> Self {
        Self { pairs, at: pairs.places(grad.is_some()), poses, sizes, grad }
    }
}

impl Program for Geometry<'_> {
    fn scratch(&self) -> usize {
        self.at.end()
    }

    fn group(&self, group: &mut Group) {
        group.run(&Load(self));
        match &self.grad {
            None => group.run(&Place(self)),
            Some(grad) => group.run(&Pull(self, grad)),
        }
    }
}

struct Load<'a>(&'a Geometry<'a>);

impl Stage for Load<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, memory: &mut [R], _: &mut Output) {
        let m = self.0.at.cut(memory).0;
        self.0.poses.load_all(first, 0, m.poses);
        self.0.sizes.load_all(first, 0, m.sizes);
    }
}

/// The places of a shape's numbers.
#[inline(always)]
fn of(shape: usize, n: usize) -> Range<usize> {
    n * shape..n * (shape + 1)
}

struct Place<'a>(&'a Geometry<'a>);

impl Stage for Place<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, memory: &mut [R], out: &mut Output) {
        let m = self.0.at.cut(memory).0;
        for weight in m.weights.iter_mut() {
            *weight = R::one();
        }
        for pair in &self.0.pairs.pairs {
            let shapes = pair.shapes(m.poses, m.sizes);
            let to = &mut m.contacts[pair.numbers()];
            match &pair.formula {
                Formula::Function(PairFunction { kind, swapped }) => {
                    let [(a, size_a), (b, size_b)] = shapes;
                    lanes::witness(*kind, *swapped, &Pose::read(a), size_a, &Pose::read(b), size_b, to);
                }
                Formula::Boxes(boxes) => {
                    lanes::convex::witness(boxes, shapes, to, &mut m.weights[pair.contacts.clone()], &mut []);
                }
            }
        }
        out.store_all(first, 0, m.contacts);
        out.store_all(first, m.contacts.len(), m.weights);
    }
}

struct Pull<'a>(&'a Geometry<'a>, &'a Rows<'a>);

impl Stage for Pull<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, memory: &mut [R], out: &mut Output) {
        let Self(Geometry { pairs, at, .. }, grad) = self;
        let m = at.cut(memory).0;
        grad.load_all(first, 0, m.contacts);
        grad.load_all(first, m.contacts.len(), m.weights);
        clear(m.wrenches);
        clear(m.grad_sizes);
        for pair in &pairs.pairs {
            let shapes = pair.shapes(m.poses, m.sizes);
            let mut wrenches = [[R::zero(); WRENCH]; 2];
            let mut sizes = [[R::zero(); Shape::SIZES]; 2];
            let grad = &m.contacts[pair.numbers()];
            match &pair.formula {
                Formula::Function(PairFunction { kind, swapped }) => {
                    let ([on_a, on_b], [grow_a, grow_b]) = (&mut wrenches, &mut sizes);
                    let [(a, size_a), (b, size_b)] = shapes;
                    let (a, b) = (Pose::read(a), Pose::read(b));
                    lanes::pull(*kind, *swapped, &a, size_a, &b, size_b, grad, on_a, on_b, grow_a, grow_b);
                }
                Formula::Boxes(boxes) => {
                    let grad = (grad, &m.weights[pair.contacts.clone()]);
                    lanes::convex::pull(boxes, shapes, &[], grad, &mut wrenches, &mut sizes);
                }
            }
            for (side, shape) in [pair.a, pair.b].into_iter().enumerate() {
                for i in 0..WRENCH {
                    m.wrenches[WRENCH * shape + i] += wrenches[side][i];
                }
                for i in 0..Shape::SIZES {
                    m.grad_sizes[Shape::SIZES * shape + i] += sizes[side][i];
                }
            }
        }
        for shape in 0..pairs.n_shapes {
            let pose = Pose::read(&m.poses[of(shape, POSE)]);
            let wrench = &m.wrenches[of(shape, WRENCH)];
            let moment = [wrench[3], wrench[4], wrench[5]];
            // ½ m × r: turning by θ moves each axis r by θ × r, and Σ (m × r)·(θ × r) = 2 m·θ.
            let axes = pose.axes.map(|axis| scale(R::splat(0.5), cross(moment, axis)));
            Pose { p: [wrench[0], wrench[1], wrench[2]], axes }.write(&mut m.grad_poses[of(shape, POSE)]);
        }
        out.store_all(first, 0, m.grad_poses);
        out.store_all(first, POSE * pairs.n_shapes, m.grad_sizes);
    }
}

/// (poses, sizes) → contacts, all in rows.
struct FormulaOp(Arc<FormulaPairs>);

impl Differentiable<2> for FormulaOp {
    fn name(&self) -> &'static str {
        "contacts"
    }

    fn operands(&self) -> [(&'static str, usize); 2] {
        [("poses", POSE * self.0.n_shapes), ("sizes", Shape::SIZES * self.0.n_shapes)]
    }

    fn width(&self) -> usize {
        GEOMETRY * self.0.n_contacts() + self.0.n_weights()
    }

    fn value<'a>(&'a self, operands: [Rows<'a>; 2], _: usize) -> Result<Box<dyn Program + 'a>> {
        Ok(Box::new(Geometry::new(&self.0, operands, None)))
    }

    fn adjoint<'a>(&'a self, operands: [Rows<'a>; 2], _: &Tensor, grad: Rows<'a>) -> Result<Box<dyn Program + 'a>> {
        Ok(Box::new(Geometry::new(&self.0, operands, Some(grad))))
    }
}
