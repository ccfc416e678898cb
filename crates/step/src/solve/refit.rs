//! Friction that is taken away where there is no answer with it.

use fingertip_lanes::lane::{Lane, when};
use fingertip_lanes::program::{Group, Stage};
use fingertip_lanes::rows::Output;

use super::cone::{CONTACT_OPERAND, MU};
use super::memory::{Places, STATUS};
use super::status::{Coded, Status};
use super::structure::Structure;

/// Takes friction away in worlds with a status. The report is in the working memory, and the contacts are as the step
/// has assembled them.
pub(super) struct Loosen<'a> {
    pub(super) structure: &'a Structure,
    pub(super) at: &'a Places,
    pub(super) status: Status,
}

/// Gives the contacts of a recalled answer the friction of the law that it follows.
pub(crate) fn refit(structure: &Structure, at: &Places, group: &mut Group) {
    group.run(&Loosen { structure, at, status: Status::Frictionless });
}

impl Stage for Loosen<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let Self { structure: s, at, status } = *self;
        let worlds = status.is(memory[at.work.info.start + STATUS]);
        when!(worlds, &mut memory[at.operands.contacts.clone()], |operands| {
            for k in R::parts(0..s.nc()) {
                let mu = &mut operands[CONTACT_OPERAND * k + MU];
                *mu = R::select(worlds, R::zero(), *mu);
            }
        });
        if s.n_gammas() > 0 {
            when!(worlds, &mut memory[at.operands.gammas.clone()], |gammas| {
                for gamma in gammas {
                    *gamma = R::select(worlds, R::zero(), *gamma);
                }
            });
        }
    }
}
