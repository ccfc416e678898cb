//! The quantities as differentiable tensor operations: (state, parameters, offsets) → one row per world.
//!
//! A state is q and then the quantity's further numbers (v, a, τ); parameters are gravity and the bodies' inertias.
//! Every quantity is a function of the screws and the links' inertias, so that one frame does for all: kinematics,
//! inertias, algorithm; and backwards its adjoint, the inertias' and the kinematics'.

use std::sync::Arc;

use candle_core::backend::BackendStorage;
use candle_core::{CpuStorage, CustomOp3, Layout, Result, Shape, Tensor, bail};

use crate::kinematics::{PlaceFrames, PullFrames};
use crate::math::program::{Group, Program, run};
use crate::math::rows::{Rows, gradient, storage, worlds};

use super::links::Links;
use super::pulls::{
    Negate, PullInertias, PullInverse, PullInverseDynamics, PullMassMatrix, PullTotals, Seed, StoreGradients,
};
use super::quantity::{Places, Quantity};
use super::stages::{
    Clear, Columns, Factor, Finish, ForwardDynamics, InverseDynamics, Load, MassMatrix, Operands, PlaceInertias, Solve,
    SolveColumns, Stages, StoreColumns, StoreInverse, StoreMassMatrix, StorePivots, Totals,
};

/// A quantity's tensor operation.
pub(super) struct DynamicsOp {
    pub(super) links: Arc<Links>,
    pub(super) quantity: Quantity,
}

struct Forward<'a> {
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
            Quantity::InverseDynamics => group.run(&InverseDynamics { of, a: &at.input, tau: &at.result }),
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
            Quantity::Pivots => {
                group.run(&MassMatrix(of));
                group.run(&StorePivots { of, diagonal: true });
                group.run(&Factor(of));
                group.run(&StorePivots { of, diagonal: false });
            }
        }
        group.run(&Finish(of));
    }
}

/// a = M⁻¹ (τ − b) for τ in the quantity's input; leaves the factor of M.
fn solve_acceleration(of: Stages, group: &mut Group, to: &std::ops::Range<usize>) {
    let at = of.at;
    group.run(&MassMatrix(of));
    group.run(&Factor(of));
    group.run(&Clear(&at.y));
    group.run(&InverseDynamics { of, a: &at.y, tau: &at.tau });
    group.run(&Solve { stages: of, of: &at.input, less: Some(&at.tau), to });
}

struct Backward<'a> {
    forward: Forward<'a>,
    grad: Rows<'a>,
}

impl Backward<'_> {
    /// Numbers of the gradients: state, parameters, offsets.
    fn widths(&self) -> [usize; 3] {
        let Forward { links, quantity, .. } = self.forward;
        [links.nq + quantity.n_inputs(links), links.n_parameters(), links.n_offsets]
    }
}

impl Program for Backward<'_> {
    fn scratch(&self) -> usize {
        self.forward.places.len()
    }

    fn group(&self, group: &mut Group) {
        let Forward { links, quantity, places: at, .. } = &self.forward;
        let of = Stages { links, at };
        let grad_x = at.grad_state.start + links.nq;
        let (grad_v, grad_input) = (grad_x..grad_x + links.nv, grad_x + links.nv..at.grad_state.end);
        self.forward.place(group);
        group.run(&Seed(of, &self.grad));
        match quantity {
            Quantity::InverseDynamics => {
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
            Quantity::InverseDynamicsDerivatives | Quantity::ForwardDynamicsDerivatives | Quantity::Pivots => {}
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

impl CustomOp3 for DynamicsOp {
    fn name(&self) -> &'static str {
        self.quantity.name()
    }

    fn cpu_fwd(
        &self,
        state: &CpuStorage,
        ls: &Layout,
        parameters: &CpuStorage,
        lp: &Layout,
        offsets: &CpuStorage,
        lo: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let Self { links, quantity } = self;
        let operands = Operands {
            state: Rows::from_storage(state, ls)?,
            parameters: Rows::from_storage(parameters, lp)?,
            offsets: Rows::from_storage(offsets, lo)?,
        };
        let widths = [operands.state.width(), operands.parameters.width(), operands.offsets.width()];
        let expected = [links.nq + quantity.n_inputs(links), links.n_parameters(), links.n_offsets];
        if widths != expected {
            bail!("{}: expected operands with {expected:?} columns, got {widths:?}", quantity.name());
        }
        let (data, b) = evaluate(links, *quantity, operands)?;
        Ok((storage(data, state.dtype())?, Shape::from((b, quantity.n_outputs(links)))))
    }

    fn bwd(
        &self,
        state: &Tensor,
        parameters: &Tensor,
        offsets: &Tensor,
        _: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let Self { links, quantity } = self;
        let (dtype, b) = (grad.dtype(), grad.dim(0)?);
        let wanted = [state.track_op(), parameters.track_op(), offsets.track_op()];
        let operands = Operands {
            state: Rows::from_tensor(state)?,
            parameters: Rows::from_tensor(parameters)?,
            offsets: Rows::from_tensor(offsets)?,
        };
        let rows = [operands.state.rows(), operands.parameters.rows(), operands.offsets.rows()];
        let places = Places::new(links, *quantity, true);
        let forward = Forward { links, quantity: *quantity, places, operands };
        let program = Backward { forward, grad: Rows::from_tensor(grad)? };
        let widths = program.widths();
        let n = widths.iter().sum();
        let data = run(&program, b, n);
        let of = |k: usize| {
            let from = widths[..k].iter().sum::<usize>();
            wanted[k].then(|| gradient(&data, n, from..from + widths[k], rows[k], dtype)).transpose()
        };
        Ok((of(0)?, of(1)?, of(2)?))
    }
}
