//! The quantities as differentiable tensor operations: (state, parameters, offsets) → one row per world.
//!
//! A state is q and then the quantity's further numbers (v, a, τ); parameters are gravity and the bodies' inertias.
//! Every quantity is a function of the screws and the links' inertias, so that one frame does for all: kinematics,
//! inertias, algorithm; and backwards its adjoint, the inertias' and the kinematics'.

use std::ops::Range;
use std::sync::Arc;

use candle_core::Result;

use crate::kinematics::{PlaceFrames, PullFrames};
use crate::tensor::operation::{Differentiable, Signature};
use crate::tensor::rows::worlds;
use fingertip_lanes::program::{Group, Program, run};
use fingertip_lanes::rows::Rows;

use super::links::Links;
use super::quantity::{Places, Quantity};
use super::stages::{
    Columns, Factor, Finish, ForwardDynamics, InverseDynamics, Load, MassMatrix, Operands, PlaceInertias, Solve,
    SolveColumns, Stages, StoreColumns, StoreInverse, StoreMassMatrix, Totals,
};
use super::vjp::{
    Negate, PullInertias, PullInverse, PullInverseDynamics, PullMassMatrix, PullTotals, Seed, StoreGradients,
};

/// A quantity as a differentiable tensor operation.
pub(super) struct DynamicsOp {
    pub(super) links: Arc<Links>,
    pub(super) quantity: Quantity,
}

pub(super) struct Forward<'a> {
    links: &'a Links,
    quantity: Quantity,
    places: Places,
    operands: Operands<'a>,
}

impl Forward<'_> {
    fn place(&self, group: &mut Group) {
        let (of, at) = (Stages { links: self.links, at: &self.places }, &self.places);
        group.run(&Load(of, &self.operands));
        group.run(&PlaceFrames { tables: &self.links.frames, at: &at.frames });
        group.run(&PlaceInertias(of));
    }
}

impl Program for Forward<'_> {
    fn scratch(&self) -> usize {
        self.places.len()
    }

    fn group(&self, group: &mut Group) {
        let (of, at) = (Stages { links: self.links, at: &self.places }, &self.places);
        self.place(group);
        match self.quantity {
            Quantity::InverseDynamics | Quantity::Bias | Quantity::Gravity => {
                group.run(&InverseDynamics { of, a: &at.input, tau: &at.result });
            }
            Quantity::ForwardDynamics if self.links.open => group.run(&ForwardDynamics(of)),
            Quantity::ForwardDynamics => solve_acceleration(of, group, &at.result),
            Quantity::MassMatrix => {
                group.run(&MassMatrix(of));
                group.run(&StoreMassMatrix(of));
            }
            Quantity::InverseMassMatrix => {
                group.run(&MassMatrix(of));
                group.run(&Factor(of));
                group.run(&StoreInverse(of));
            }
            Quantity::Energy | Quantity::CentreOfMass => group.run(&Totals(of)),
            Quantity::InverseDynamicsDerivatives => {
                group.run(&InverseDynamics { of, a: &at.input, tau: &at.tau });
                group.run(&MassMatrix(of));
                group.run(&Columns(of));
                group.run(&StoreColumns { of, vector: &at.tau, sign: 1.0 });
                group.run(&StoreMassMatrix(of));
            }
            Quantity::ForwardDynamicsDerivatives => {
                solve_acceleration(of, group, &at.a);
                group.run(&InverseDynamics { of, a: &at.a, tau: &at.tau });
                group.run(&Columns(of));
                group.run(&SolveColumns(of));
                group.run(&StoreColumns { of, vector: &at.a, sign: -1.0 });
                group.run(&StoreInverse(of));
            }
        }
        group.run(&Finish(of));
    }
}

/// An empty range, which stands for an acceleration of zero.
const NONE: Range<usize> = 0..0;

/// a = M⁻¹ (τ − b) for τ in the quantity's input; leaves the factor of M.
fn solve_acceleration(of: Stages, group: &mut Group, to: &Range<usize>) {
    let at = of.at;
    group.run(&MassMatrix(of));
    group.run(&Factor(of));
    group.run(&InverseDynamics { of, a: &NONE, tau: &at.tau });
    group.run(&Solve { stages: of, of: &at.input, less: Some(&at.tau), to });
}

pub(super) struct Backward<'a> {
    forward: Forward<'a>,
    grad: Rows<'a>,
}

impl Program for Backward<'_> {
    fn scratch(&self) -> usize {
        self.forward.places.len()
    }

    fn group(&self, group: &mut Group) {
        let Forward { links, quantity, places: at, .. } = &self.forward;
        let of = Stages { links, at };
        let gradient = |of: &Range<usize>| at.grad_state.start + of.start..at.grad_state.start + of.end;
        let (grad_v, grad_input) = (gradient(&at.v), gradient(&at.input));
        self.forward.place(group);
        group.run(&Seed(of, &self.grad));
        match quantity {
            Quantity::InverseDynamics | Quantity::Bias | Quantity::Gravity => {
                group.run(&InverseDynamics { of, a: &at.input, tau: &at.tau });
                let (a, grad_tau, grad_a) = (&at.input, &at.result, &grad_input);
                group.run(&PullInverseDynamics { of, a, grad_tau, grad_a, grad_v });
            }
            Quantity::ForwardDynamics => {
                solve_acceleration(of, group, &at.a);
                group.run(&Solve { stages: of, of: &at.result, less: None, to: &at.y });
                group.run(&InverseDynamics { of, a: &at.a, tau: &at.tau });
                group.run(&Negate { of: &at.y, add_to: grad_input });
                // a is no operand: its gradient goes nowhere.
                let (a, grad_tau, grad_a) = (&at.a, &at.y, &at.spare);
                group.run(&PullInverseDynamics { of, a, grad_tau, grad_a, grad_v });
            }
            Quantity::MassMatrix => {
                group.run(&MassMatrix(of));
                group.run(&PullMassMatrix(of));
            }
            Quantity::InverseMassMatrix => {
                group.run(&MassMatrix(of));
                group.run(&Factor(of));
                group.run(&PullInverse(of));
                group.run(&PullMassMatrix(of));
            }
            Quantity::Energy | Quantity::CentreOfMass => group.run(&PullTotals(of)),
            // These carry no graph.
            Quantity::InverseDynamicsDerivatives | Quantity::ForwardDynamicsDerivatives => {}
        }
        group.run(&PullInertias(of));
        group.run(&PullFrames { tables: &links.frames, at: &at.frames, gradients: &at.grad_frames });
        group.run(&StoreGradients(of));
    }
}

/// One row per world, and the number of worlds.
///
/// # Errors
/// If the operands disagree in the number of worlds.
pub(super) fn evaluate(links: &Links, quantity: Quantity, operands: Operands) -> Result<(Vec<f64>, usize)> {
    let b = worlds(quantity.name(), &[&operands.state, &operands.parameters, &operands.offsets])?;
    let program = Forward { links, quantity, places: Places::new(links, quantity, false), operands };
    Ok((run(&program, b, quantity.n_outputs(links)), b))
}

impl Differentiable<3> for DynamicsOp {
    fn signature(&self) -> Signature<3> {
        let Self { links, quantity } = self;
        let n_state = links.nq + quantity.n_inputs(links);
        let operands = [("state", n_state), ("parameters", links.n_parameters()), ("offsets", links.n_offsets)];
        Signature { name: quantity.name(), operands, width: quantity.n_outputs(links) }
    }

    fn value<'a>(&'a self, operands: [Rows<'a>; 3], _: Option<Rows<'a>>) -> Box<dyn Program + 'a> {
        Box::new(self.forward(operands, false))
    }

    fn adjoint<'a>(&'a self, operands: [Rows<'a>; 3], _: Rows<'a>, grad: Rows<'a>) -> Box<dyn Program + 'a> {
        Box::new(self.backward(operands, grad))
    }
}

impl DynamicsOp {
    pub(super) fn forward<'a>(&'a self, [state, parameters, offsets]: [Rows<'a>; 3], adjoint: bool) -> Forward<'a> {
        let Self { links, quantity } = self;
        let places = Places::new(links, *quantity, adjoint);
        Forward { links, quantity: *quantity, places, operands: Operands { state, parameters, offsets } }
    }

    pub(super) fn backward<'a>(&'a self, operands: [Rows<'a>; 3], grad: Rows<'a>) -> Backward<'a> {
        Backward { forward: self.forward(operands, true), grad }
    }
}
