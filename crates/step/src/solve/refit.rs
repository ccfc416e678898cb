//! The friction coefficients of the law that an answer follows, where that is not the scene's.

use fingertip_lanes::lane::{Lane, when};
use fingertip_lanes::program::{Group, Stage};
use fingertip_lanes::rows::Output;

use super::cone::{CONTACT_OPERAND, MU};
use super::memory::{Places, STATUS};
use super::status::{RELAXED, Status, is_among};
use super::structure::Structure;

/// Scales the friction coefficients of contacts in worlds whose status is one of several. The report is in the working
/// memory, and the contacts are as the step has assembled them.
pub(super) struct Refit<'a> {
    structure: &'a Structure,
    at: &'a Places,
    /// Only those of contacts that carry a force in pairs?
    twins: bool,
    by: f64,
    /// The first and the last status.
    statuses: [Status; 2],
}

impl<'a> Refit<'a> {
    /// Takes friction away in worlds with this status.
    pub(super) fn loosened(structure: &'a Structure, at: &'a Places, status: Status) -> Self {
        Self { structure, at, twins: false, by: 0.0, statuses: [status; 2] }
    }

    /// Halves the coefficients of contacts that carry a force in pairs, in worlds that have the relaxed law's answer
    /// although the law is Coulomb's: see [`Structure::with_twins`].
    pub(super) fn untwinned(structure: &'a Structure, at: &'a Places) -> Self {
        Self { structure, at, twins: true, by: 0.5, statuses: RELAXED }
    }
}

/// Gives the contacts of a recalled answer the friction coefficients of the law that it follows.
pub(crate) fn refit(s: &Structure, at: &Places, group: &mut Group) {
    if !s.twins.is_empty() {
        group.run(&Refit::untwinned(s, at));
    }
    group.run(&Refit::loosened(s, at, Status::Frictionless));
}

impl Stage for Refit<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let Self { structure: s, at, twins, by, statuses: [first, last] } = *self;
        let worlds = is_among([first.code(), last.code()], memory[at.work.info.start + STATUS]);
        let n = if twins { s.twins.len() } else { s.nc() };
        when!(worlds, &mut memory[at.operands.contacts.clone()], |operands| {
            for k in R::parts(0..n) {
                let contact = if twins { s.twins[k] } else { k };
                let mu = &mut operands[CONTACT_OPERAND * contact + MU];
                *mu = R::select(worlds, mu.scale(by), *mu);
            }
        });
    }
}
