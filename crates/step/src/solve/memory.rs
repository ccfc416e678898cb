//! A problem's operands and working memory, as places in a world's memory.

use std::ops::Range;

use fingertip_lanes::lane::Real;
use fingertip_lanes::layout;

use super::cone::{CONTACT_OPERAND, FrictionCone};
use super::contact_state::ContactState;
use super::kinds::by_dimension;
use super::law::Law;
use super::presence;
use super::slide::Slide;
use super::structure::Structure;

layout! {
    /// The operands of a contact problem in a world's memory.
    pub(crate) struct Operands {
        /// The screws, six numbers (ω; m) each.
        screws,
        /// The contacts, [`CONTACT_OPERAND`] numbers each.
        contacts,
        /// The coefficient of torsional friction of each contact, m, if they resist turning.
        gammas,
        /// A number for each group of contacts, or none: see [`presence`].
        near,
        /// P's entries, in the order of [`Structure`].
        p,
        /// The linear term g, in elimination order.
        g,
        /// The barrier parameter κ, one number. NaN makes the world one of bad input.
        kappa,
        /// Gaps to the joint limits, then the largest force of dry friction in each degree of freedom with some, then
        /// the numbers of tables ([`super::table`]).
        gaps,
        /// Forces to start from, in the form of [`Work::eta`].
        warm,
    }
}

layout! {
    /// The working memory of a solve.
    pub(crate) struct Work {
        /// See [`presence`].
        presence,
        /// How many contacts take part, then their indices, or nothing: see [`presence::listed`].
        list,
        /// J̃ column by column, as many numbers per slot as a contact's force has.
        columns,
        /// Columns of J̃ for one contact's shared degrees of freedom, in the coordinates of its response A = Zᵀ E Z.
        scaled,
        /// Scaled forces η: those of the contacts, one number per limit and per degree of freedom with dry friction,
        /// three per table.
        eta,
        /// A [`ContactState`] for each contact.
        contact_states,
        /// Forces of the joint limits, then of dry friction, then of tables, three each. `limit_step` and `limit_gap`
        /// are of the same.
        limit_force,
        limit_step,
        /// Gaps to the joint limits at δ; δ itself where there is dry friction, u on tables.
        limit_gap,
        /// Slacks of limits, dry friction and tables in worlds on the way to the central path, like the contacts'
        /// `slack`, and their changes in a step.
        limit_slack,
        slack_step,
        /// The factor of P alone.
        factor_p,
        /// The inverse of P's diagonal. In a Newton step, the limits' terms are included for private degrees of
        /// freedom.
        pivot,
        /// H = P + J̃ᵀWJ̃ in its sparsity pattern, or, in the leading rows, what is left of it without the private
        /// degrees of freedom; or the factor of either.
        h,
        /// The upper triangle of H in the same pattern, where H is not symmetric. It and `slides` are for
        /// [`super::coulomb`].
        upper,
        slides,
        /// Results of settled worlds, δ, η and the report, kept while others are solved by the relaxed law or without
        /// friction.
        kept_delta,
        kept_eta,
        kept_info,
        /// The displacement δ, in elimination order, as are `step` and `free`.
        delta,
        step,
        /// The displacement that minimises the objective without contacts. The adjoint's linear system uses this room
        /// for its residual.
        free,
        /// The report: the [`STATUS`] and the others.
        info,
        /// See [`super::log`].
        log,
    }
}

layout! {
    /// Gradients that the solve's adjoint is given (of the results) and computes (of the operands).
    pub(crate) struct Gradients {
        /// Gradient of the contacts' M η: of the force on B and, if they resist turning, of the torque.
        force,
        /// Gradient of the joint limits' forces.
        limit,
        /// Gradient of δ, in elimination order. The solve's adjoint replaces it by y of [`super::adjoint`]; −y is the
        /// gradient of g.
        y,
        screws,
        contacts,
        gammas,
        p,
        gaps,
        kappa,
    }
}

/// Places of a report's numbers: [`super::Status::code`], the number of iterations, the residual, and the gap that slip
/// opens where the status is unsettled.
pub(super) const STATUS: usize = 0;
pub(super) const ITERATIONS: usize = 1;
pub(super) const RESIDUAL: usize = 2;
pub(super) const SLIP_GAP: usize = 3;
/// Numbers of a report: status, iterations, residual, slip gap.
pub const INFO: usize = SLIP_GAP + 1;

impl Operands<usize> {
    pub(crate) fn sizes(s: &Structure) -> Self {
        Self {
            screws: 6 * s.ns,
            contacts: CONTACT_OPERAND * s.nc(),
            gammas: s.n_gammas(),
            near: presence::n_groups(s),
            p: s.np(),
            g: s.nv,
            kappa: 1,
            gaps: s.n_gaps(),
            warm: s.n_eta(),
        }
    }
}

impl Work<usize> {
    pub(crate) fn sizes(s: &Structure) -> Self {
        let is_symmetric = s.friction.is_symmetric();
        let [state, slide] = by_dimension!(s, N => [ContactState::<f64, N>::LENGTH, Slide::<f64, N>::LENGTH]);
        Self {
            presence: presence::n_groups(s),
            list: presence::n_listed(s),
            columns: s.dimension * s.n_slots,
            scaled: s.dimension * s.contacts.iter().map(|contact| contact.n_shared).max().unwrap_or(0),
            eta: s.n_eta(),
            contact_states: state * s.nc(),
            limit_force: s.nl(),
            limit_step: s.nl(),
            limit_gap: s.nl(),
            limit_slack: s.n_slacks(),
            slack_step: s.n_slacks(),
            factor_p: s.factor_p.n_entries(),
            pivot: s.nv,
            h: s.factor_h.n_entries(),
            upper: if is_symmetric { 0 } else { s.factor_h.n_entries() },
            slides: if is_symmetric { 0 } else { slide * s.nc() },
            kept_delta: s.nv,
            kept_eta: s.n_eta(),
            kept_info: INFO,
            delta: s.nv,
            step: s.nv,
            free: s.nv,
            info: INFO,
            log: 0,
        }
    }
}

impl Gradients<usize> {
    pub(crate) fn sizes(s: &Structure) -> Self {
        let of = Operands::sizes(s);
        let Operands { screws, contacts, gammas, p, gaps, kappa, .. } = of;
        Self { force: s.n_force(), limit: s.nl(), y: s.nv, screws, contacts, gammas, p, gaps, kappa }
    }
}

/// Offsets of a problem's operands and of its working memory in a world's memory, operands first.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    pub(crate) operands: Operands<Range<usize>>,
    pub(crate) work: Work<Range<usize>>,
}

impl Places {
    /// Splits a world's memory into the problem's operands and the solve's working memory.
    #[inline(always)]
    pub(crate) fn of<'a, R: Real>(&self, memory: &'a mut [R]) -> (Problem<'a, R>, Work<&'a mut [R]>) {
        let (operands, work) = memory.split_at_mut(self.work.presence.start);
        (Problem::read(&self.operands, operands), self.work.cut(work).0)
    }
}

/// The operands of a lane of contact problems, one in each world of the lane.
pub(crate) struct Problem<'a, R> {
    pub(crate) screws: &'a [R],
    pub(crate) contacts: &'a [R],
    pub(crate) gammas: &'a [R],
    pub(crate) near: &'a [R],
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
            gammas: part(&at.gammas),
            near: part(&at.near),
            p: part(&at.p),
            g: part(&at.g),
            kappa: memory[at.kappa.start],
            gaps: part(&at.gaps),
            warm: part(&at.warm),
        }
    }

    /// A contact.
    #[inline(always)]
    pub(crate) fn cone<const N: usize>(&self, i: usize) -> FrictionCone<R, N> {
        FrictionCone::read(self.contacts, self.gammas, i)
    }
}
