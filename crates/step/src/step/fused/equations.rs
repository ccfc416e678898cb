//! The equations that a step solves. Kinematics, contacts, the solve and the forces are common to all of them.

use std::fmt::Debug;

use fingertip_lanes::program::Group;
use fingertip_lanes::record::Row;

use super::adjoint::PullAssemble;
use super::plan::Plan;
use super::stages::Assemble;

/// What one kind of step has of its own: the stages around those that all have, in the order in which they run.
pub(super) trait Equations: Debug + Send + Sync {
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

/// The quasi-dynamic step's: springs, weight and contact forces balance.
#[derive(Debug)]
pub(super) struct Statics;

impl Equations for Statics {
    fn inputs(&self, plan: &Plan) -> Vec<Row> {
        vec![Row::new("u", plan.nu)]
    }

    fn has_single_precision(&self) -> bool {
        true
    }

    fn assemble(&self, plan: &Plan, group: &mut Group) {
        group.run_in_either(&Assemble(plan));
    }

    fn vjp_assemble(&self, plan: &Plan, group: &mut Group) {
        group.run(&PullAssemble(plan));
    }
}
