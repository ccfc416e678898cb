//! All pairs with a formula as one differentiable tensor operation on [`super::lanes`]: (poses, sizes) → contacts.

use std::ops::Range;
use std::sync::Arc;

use candle_core::{Result, Tensor};

use crate::description::Shape;
use crate::kinematics::{POSE, Pose};
use crate::math::lane::{Lane, clear};
use crate::math::operation::{Function, Operation, Rowwise, Signature};
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
        let rows =
            poses.flatten_from(1)?.apply_op2(&sizes.flatten_from(1)?, Operation(Rowwise(FormulaOp(self.clone()))))?;
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

/// The places of a shape's numbers.
#[inline(always)]
fn of(shape: usize, n: usize) -> Range<usize> {
    n * shape..n * (shape + 1)
}

/// (poses, sizes) → contacts, then weights, all in rows.
struct FormulaOp(Arc<FormulaPairs>);

impl Function<2> for FormulaOp {
    fn signature(&self) -> Signature<2> {
        let (of, n) = (&self.0, self.0.n_shapes);
        let operands = [("poses", POSE * n), ("sizes", Shape::SIZES * n)];
        Signature { name: "contacts", operands, width: GEOMETRY * of.n_contacts() + of.n_weights() }
    }

    /// What pulls on the shapes.
    fn scratch(&self) -> usize {
        WRENCH * self.0.n_shapes
    }

    #[inline(always)]
    fn value<R: Lane>(&self, [poses, sizes]: [&[R]; 2], _: &mut [R], out: &mut [R]) {
        let (contacts, weights) = out.split_at_mut(GEOMETRY * self.0.n_contacts());
        for weight in weights.iter_mut() {
            *weight = R::one();
        }
        for pair in &self.0.pairs {
            let shapes = pair.shapes(poses, sizes);
            let to = &mut contacts[pair.numbers()];
            match &pair.formula {
                Formula::Function(PairFunction { kind, swapped }) => {
                    let [(a, size_a), (b, size_b)] = shapes;
                    lanes::witness(*kind, *swapped, &Pose::read(a), size_a, &Pose::read(b), size_b, to);
                }
                Formula::Boxes(boxes) => {
                    lanes::convex::witness(boxes, shapes, to, &mut weights[pair.contacts.clone()], &mut []);
                }
            }
        }
    }

    #[inline(always)]
    fn pull<R: Lane>(
        &self,
        [poses, sizes]: [&[R]; 2],
        pulls: &mut [R],
        grad: &[R],
        [to_poses, to_sizes]: [&mut [R]; 2],
    ) {
        let (contacts, weights) = grad.split_at(GEOMETRY * self.0.n_contacts());
        clear(pulls);
        for pair in &self.0.pairs {
            let shapes = pair.shapes(poses, sizes);
            let mut wrenches = [[R::zero(); WRENCH]; 2];
            let mut grown = [[R::zero(); Shape::SIZES]; 2];
            let grad = &contacts[pair.numbers()];
            match &pair.formula {
                Formula::Function(PairFunction { kind, swapped }) => {
                    let ([on_a, on_b], [grow_a, grow_b]) = (&mut wrenches, &mut grown);
                    let [(a, size_a), (b, size_b)] = shapes;
                    let (a, b) = (Pose::read(a), Pose::read(b));
                    lanes::pull(*kind, *swapped, &a, size_a, &b, size_b, grad, on_a, on_b, grow_a, grow_b);
                }
                Formula::Boxes(boxes) => {
                    let grad = (grad, &weights[pair.contacts.clone()]);
                    lanes::convex::pull(boxes, shapes, &[], grad, &mut wrenches, &mut grown);
                }
            }
            for (side, shape) in [pair.a, pair.b].into_iter().enumerate() {
                for i in 0..WRENCH {
                    pulls[WRENCH * shape + i] += wrenches[side][i];
                }
                for i in 0..Shape::SIZES {
                    to_sizes[Shape::SIZES * shape + i] += grown[side][i];
                }
            }
        }
        for shape in 0..self.0.n_shapes {
            let pose = Pose::read(&poses[of(shape, POSE)]);
            let wrench = &pulls[of(shape, WRENCH)];
            let moment = [wrench[3], wrench[4], wrench[5]];
            // ½ m × r: turning by θ moves each axis r by θ × r, and Σ (m × r)·(θ × r) = 2 m·θ.
            let axes = pose.axes.map(|axis| scale(R::splat(0.5), cross(moment, axis)));
            Pose { p: [wrench[0], wrench[1], wrench[2]], axes }.write(&mut to_poses[of(shape, POSE)]);
        }
    }
}
