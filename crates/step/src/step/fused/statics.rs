//! The equations of the quasi-dynamic step.

use fingertip_lanes::program::Group;
use fingertip_lanes::record::Row;

use super::adjoint::PullAssemble;
use super::plan::{Equations, Plan};
use super::stages::Assemble;

/// The quasi-dynamic step's: springs, weight and contact forces balance.
#[derive(Debug)]
pub(in super::super) struct Statics;

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
