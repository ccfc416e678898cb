//! The step and its adjoint: which stage follows which.

use crate::kinematics::{PlaceFrames, PullFrames};
use crate::solve::{self, Accuracy};
use fingertip_lanes::program::{Group, Program};
use fingertip_lanes::rows::Rows;

use super::adjoint::{Clean, PullGeometry, PullIntegrate, Recall, StoreGradients};
use super::memory::Places;
use super::plan::Plan;
use super::stages::{Check, Finish, Geometry, Load, Operands, Store};

impl Plan {
    /// Runs all stages up to the solve, once q, u and the parameters are loaded.
    pub(super) fn prepare(&self, group: &mut Group) {
        self.prepare_with(false, group);
    }

    /// [`Plan::prepare`] for steps whose results do not tell how far apart what is far is.
    pub(super) fn prepare_near(&self, group: &mut Group) {
        self.prepare_with(true, group);
    }

    fn prepare_with(&self, passes: bool, group: &mut Group) {
        group.run_in_either(&Check(self));
        self.equations.set_up(self, group);
        group.run_in_either(&PlaceFrames { tables: &self.frames, at: &self.places.frames });
        group.run_in_either(&Geometry { plan: self, passes });
        self.equations.assemble(self, group);
    }

    /// Runs the solve, then the forces and q₊. With `warm` the solve starts from the forces in memory.
    pub(super) fn solve(&self, group: &mut Group, warm: bool) {
        self.solve_to(Accuracy::Fine, group, warm);
    }

    /// [`Plan::solve`] with a given accuracy.
    pub(super) fn solve_to(&self, accuracy: Accuracy, group: &mut Group, warm: bool) {
        let (structure, at, max_iterations) = (&*self.structure, &self.places.solve, self.max_iterations);
        solve::Solve { structure, at, max_iterations, warm, accuracy }.run(group);
        group.run_in_either(&Finish(self));
        self.equations.finish(self, group);
    }

    /// Gives the contacts of a recalled answer the friction of the law that it follows.
    pub(super) fn refit(&self, group: &mut Group) {
        solve::refit(&self.structure, &self.places.solve, group);
    }

    /// Factors H at the solution in memory.
    pub(super) fn factor(&self, group: &mut Group, solved: bool) {
        group.run(&solve::Factor { structure: &self.structure, at: &self.places.solve, solved });
    }

    /// Runs the adjoint stages: from the gradients of the results to those of q, u and the parameters. With `passes`,
    /// after [`Plan::prepare_near`], what is far has no gradient.
    pub(super) fn vjp(&self, passes: bool, group: &mut Group) {
        let Places { frames, frame_gradients, solve, solve_gradients, .. } = &self.places;
        self.equations.vjp_finish(self, group);
        group.run(&PullIntegrate(self));
        group.run(&solve::Pull { structure: &self.structure, at: solve, gradients: solve_gradients });
        self.equations.vjp_assemble(self, group);
        group.run(&PullGeometry { plan: self, passes });
        group.run(&PullFrames { tables: &self.frames, at: frames, gradients: frame_gradients });
        self.equations.vjp_set_up(self, group);
        group.run(&Clean(self));
    }
}

/// The program of one step: from the operands to the step's result row.
pub(super) struct Forward<'a> {
    pub(super) plan: &'a Plan,
    pub(super) operands: &'a Operands<'a>,
}

impl Program for Forward<'_> {
    fn scratch(&self) -> usize {
        self.plan.places.solve.work.end()
    }

    fn group(&self, group: &mut Group) {
        let Self { plan, operands } = self;
        group.run_in_either(&Load { plan, operands, goes_on: false });
        plan.prepare(group);
        plan.solve(group, operands.warm.is_some());
        group.run_in_either(&Store(plan));
    }
}

/// The adjoint (vector-Jacobian product) of a step, given the step's operands, its result row and the gradient of that
/// row.
pub(super) struct Backward<'a> {
    pub(super) plan: &'a Plan,
    pub(super) operands: Operands<'a>,
    pub(super) result: Rows<'a>,
    pub(super) grad: Rows<'a>,
}

impl Program for Backward<'_> {
    fn scratch(&self) -> usize {
        self.plan.places.gradients.end()
    }

    fn group(&self, group: &mut Group) {
        let Self { plan, operands, result, grad } = self;
        group.run(&Load { plan, operands, goes_on: false });
        plan.prepare(group);
        group.run(&Recall { plan, result, grad });
        plan.refit(group);
        plan.factor(group, false);
        plan.vjp(false, group);
        group.run(&StoreGradients(plan));
    }
}
