//! A problem's operands and working memory, as places in a world's memory.

use std::ops::Range;

use fingertip_lanes::lane::Real;
use fingertip_lanes::layout;
use fingertip_scene::Friction;

use super::cone::CONTACT_OPERAND;
use super::contact_state::CONTACT_STATE;
use super::slide::SLIDE;
use super::structure::Structure;

layout! {
    /// A problem's numbers.
    pub(crate) struct Operands {
        /// Six numbers each.
        screws,
        /// [`CONTACT_OPERAND`] numbers each.
        contacts,
        /// P's entries.
        p,
        /// Linear term, in the order of elimination.
        g,
        /// One number. NaN makes the world one of bad input.
        kappa,
        /// Gaps to the joint limits.
        gaps,
        /// Forces to start from, in the form of [`Work::eta`].
        warm,
    }
}

layout! {
    /// What a solve works on.
    pub(crate) struct Work {
        /// J̃ column by column, three numbers per slot.
        columns,
        /// Of one contact's shared degrees of freedom, in the coordinates of its response.
        scaled,
        /// Forces: three numbers per contact, one per limit.
        eta,
        /// [`CONTACT_STATE`] numbers for each contact.
        contact_states,
        limit_force,
        limit_step,
        /// At δ.
        limit_gap,
        /// As the contacts' own.
        limit_slack,
        /// Of P.
        factor_p,
        /// 1 over P's diagonal; in a Newton step with what the limits add to it, for private degrees of freedom.
        pivot,
        /// In the places of its pattern: H = P + J̃ᵀWJ̃, or in its leading rows what is left without the private degrees of
        /// freedom; or the factor of either.
        h,
        /// The upper triangle of H in the same places, where it is not symmetric: see [`super::coulomb`], as for the next two.
        upper,
        slides,
        /// Results of the worlds that are settled, while others are solved by the relaxed law: δ, η, report.
        kept,
        /// In the order of elimination, as the vectors that follow.
        delta,
        step,
        /// Where everything would go without contacts.
        free,
        /// [`super::Status::code`], iterations, residual, the gap that slip opens where the status is unsettled.
        info,
    }
}

layout! {
    /// Gradients of the results, and of the operands that they reach.
    pub(crate) struct Gradients {
        /// Of the forces on B.
        force,
        /// Of the limits' forces.
        limit,
        /// Of δ in the order of elimination; then y of [`super::adjoint`], −y being the gradient of g.
        y,
        screws,
        contacts,
        p,
        gaps,
        kappa,
    }
}

/// Numbers of a report: status, iterations, residual, slip gap.
pub const INFO: usize = 4;

impl Operands<usize> {
    pub(crate) fn sizes(s: &Structure) -> Self {
        Self {
            screws: 6 * s.ns,
            contacts: CONTACT_OPERAND * s.nc(),
            p: s.np(),
            g: s.nv,
            kappa: 1,
            gaps: s.nl(),
            warm: s.n_eta(),
        }
    }
}

impl Work<usize> {
    pub(crate) fn sizes(s: &Structure) -> Self {
        let coulomb = s.friction == Friction::Coulomb;
        Self {
            columns: 3 * s.n_slots,
            scaled: 3 * s.contacts.iter().map(|contact| contact.n_shared).max().unwrap_or(0),
            eta: s.n_eta(),
            contact_states: CONTACT_STATE * s.nc(),
            limit_force: s.nl(),
            limit_step: s.nl(),
            limit_gap: s.nl(),
            limit_slack: s.nl(),
            factor_p: s.factor_p.n_entries(),
            pivot: s.nv,
            h: s.factor_h.n_entries(),
            upper: if coulomb { s.factor_h.n_entries() } else { 0 },
            slides: if coulomb { SLIDE * s.nc() } else { 0 },
            kept: if coulomb { s.nv + s.n_eta() + INFO } else { 0 },
            delta: s.nv,
            step: s.nv,
            free: s.nv,
            info: INFO,
        }
    }
}

impl Gradients<usize> {
    pub(crate) fn sizes(s: &Structure) -> Self {
        let of = Operands::sizes(s);
        let Operands { screws, contacts, p, gaps, kappa, .. } = of;
        Self { force: 3 * s.nc(), limit: s.nl(), y: s.nv, screws, contacts, p, gaps, kappa }
    }
}

/// Where a problem and its working memory are: operands first.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    pub(crate) operands: Operands<Range<usize>>,
    pub(crate) work: Work<Range<usize>>,
}

impl Places {
    /// The problem, and what to work on.
    #[inline(always)]
    pub(crate) fn of<'a, R: Real>(&self, memory: &'a mut [R]) -> (Problem<'a, R>, Work<&'a mut [R]>) {
        let (operands, work) = memory.split_at_mut(self.work.columns.start);
        (Problem::read(&self.operands, operands), self.work.cut(work).0)
    }
}

/// A lane of problems.
pub(crate) struct Problem<'a, R> {
    pub(crate) screws: &'a [R],
    pub(crate) contacts: &'a [R],
    pub(crate) p: &'a [R],
    pub(crate) g: &'a [R],
    pub(crate) kappa: R,
    pub(crate) gaps: &'a [R],
    pub(crate) warm: &'a [R],
}

impl<'a, R: Real> Problem<'a, R> {
    #[inline(always)]
    fn read(at: &Operands<Range<usize>>, memory: &'a [R]) -> Self {
        let part = |range: &Range<usize>| &memory[range.start..range.end];
        Self {
            screws: part(&at.screws),
            contacts: part(&at.contacts),
            p: part(&at.p),
            g: part(&at.g),
            kappa: memory[at.kappa.start],
            gaps: part(&at.gaps),
            warm: part(&at.warm),
        }
    }
}
