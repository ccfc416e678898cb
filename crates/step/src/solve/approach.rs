//! A primal-dual method that comes close to the central path (the minimisers for all κ) in few steps, from any forces.
//!
//! Far from the path, Newton's method on the dual is slow: a contact that closes needs a force 10⁶ times as large, and
//! each step at most doubles it. A primal-dual method does not have this limit. It has its own slacks s, inside the
//! cones, besides η. Its step aims at
//!
//! ```text
//! P δ + g − J̃ᵀη = 0        ζ = J̃ δ + φ n = s        λ ∘ λ = τ n / h²,   λ = F s = F⁻¹η,   h² = κ/2
//! ```
//!
//! with the scaling F of Nesterov and Todd between s and η and the product ∘ of the cone (Andersen, Dahl, Vandenberghe,
//! "The CVXOPT linear and quadratic cone program solvers", 2010). That is the dual's step of [`super::newton`] with
//! this F in place of W^½ and τ R λ / (h² ρ(λ)) in place of n/h, so that worlds on the way and worlds that have arrived
//! take it side by side. On the path, s = 2 R η / (κ ρ(η)) and τ = 1, the two are the same.
//!
//! τ is the mean of κ s · η / 2 that the step aims at. It falls fast after long steps and slowly after short ones, and
//! never below 1. A world has arrived when a full step for τ = 1 brings it within reach of Newton's method. If a world
//! has not arrived after [`Settings::primal_dual_iterations`](fingertip_scene::Settings), because there is no solution
//! or because of rounding, it starts again as [`super::barrier`] describes. That takes longer and always ends.

use fingertip_lanes::lane::{Mask, Real, Zip, inlined, state, when};

use super::cones::{Cone, Weight};
use super::contact_state::ContactState;
use super::kinds::cones;
use super::memory::{Problem, Work};
use super::presence::listed;
use super::problem::with_private;
use super::structure::Structure;
use super::symmetric::Symmetric;
use super::vector::{add, dot, scale, select, sub};

/// A contact's misfit, or κ · decrement², within Newton's reach: it halves the error at least, see
/// [`super::cone::FrictionCone::misfit`].
pub(super) const ARRIVED: f64 = 0.5;
/// The least part to which τ falls in a step, but in careful ones.
pub(super) const FASTEST: f64 = 0.1;
/// Number of steps after which an iteration is judged: one from given forces that is still far from the answer starts
/// anew, and where Newton's decrement stays large a certificate of infeasibility is looked for.
pub(super) const TRIAL: f64 = 2.0;

/// The worlds that are still on the way to the central path, and the target τ of their next step.
pub(super) struct Approach<R: Real> {
    pub(super) worlds: R::Mask,
    pub(super) tau: R,
}

state!(Approach { numbers: [tau], flags: [worlds], states: [] });

/// The arguments of [`super::cone::FrictionCone::scaling`] that define a contact's scaling matrix F.
struct Scaled<R, const N: usize> {
    at: [R; N],
    h: R,
    rho: R,
}

state!(Scaled[N] { numbers: [h, rho], flags: [], states: [at] });

impl<R: Real> Approach<R> {
    /// An approach that no world is on.
    #[inline(always)]
    pub(super) fn none() -> Self {
        Self { worlds: R::Mask::splat(false), tau: R::one() }
    }

    /// Lets worlds join the approach; [`super::start::renew`] has set their slacks.
    #[inline(always)]
    pub(super) fn join<const N: usize>(
        &mut self,
        worlds: R::Mask,
        s: &Structure,
        problem: &Problem<R>,
        work: &mut Work<&mut [R]>,
    ) {
        when!(worlds, &mut (self, work), |(approach, work)| {
            approach.enter(worlds, mean_product::<R, N>(s, problem, work));
        });
    }

    /// Lets worlds join the approach, given the mean of their products s · η.
    #[inline(always)]
    pub(super) fn enter(&mut self, worlds: R::Mask, mean: R) {
        self.worlds = self.worlds.or(worlds);
        self.tau = R::select(worlds, mean.max(R::one()), self.tau);
    }

    /// After a step of length α in worlds of the mask, which has led to a largest misfit and to products s · η of a
    /// mean: worlds that have arrived leave, since slacks of their own have few digits where κ is large. The next
    /// target τ falls fast after long steps, to the part `fastest` at least.
    #[inline(always)]
    pub(super) fn judge(&mut self, moving: R::Mask, [alpha, worst, mean]: [R; 3], fastest: R) {
        let is_full = alpha.lt(R::one()).not().and(R::one().lt(self.tau).not());
        self.leave(moving.and(is_full).and(worst.lt(R::splat(ARRIVED))));
        let short = R::one() - alpha;
        self.tau = (mean * (short * short).max(fastest).min(R::one())).max(R::one());
    }

    /// Lets worlds leave the approach.
    #[inline(always)]
    pub(super) fn leave(&mut self, worlds: R::Mask) {
        self.worlds = self.worlds.and(worlds.not());
    }

    /// A contact's scaling F, and the target of F ζ in the next step, given h = √(κ/2) and 1/h for the contact's own κ.
    #[inline(always)]
    pub(super) fn contact<const N: usize>(
        &self,
        state: &ContactState<R, N>,
        h: R,
        inverse_h: R,
    ) -> (Symmetric<R, N>, [R; N]) {
        let (cone, eta) = (&state.cone, state.eta);
        let rho = cone.rho(eta);
        let here = self.worlds.and(state.is_there());
        let put = inlined(
            #[inline(always)]
            |from: [R; N], to: &mut [R; N]| {
                for (to, x) in to.iter_mut().zip_inline(from) {
                    *to = R::select(here, x, *to);
                }
            },
        );
        let mut scaled = Scaled { at: eta, h, rho };
        when!(self.worlds, &mut scaled, |scaled| {
            let (v, t) = cone.between(eta, state.slack);
            put(v, &mut scaled.at);
            scaled.h = R::select(here, t, h);
            scaled.rho = R::select(here, R::one(), rho);
        });
        let scaling = cone.scaling(scaled.h, scaled.at, scaled.rho);
        let mut wanted = scale(inverse_h, cone.n);
        when!(self.worlds, &mut wanted, |wanted| {
            let lambda = scaling.times(state.slack);
            // ρ(λ)² = ρ(s) ρ(η)
            let size = (cone.rho(state.slack) * rho).sqrt();
            let factor = self.tau * inverse_h * inverse_h / size;
            put(scale(factor, cone.reflected(lambda)), wanted);
        });
        (scaling, wanted)
    }

    /// The linearised response of a cone's force, see [`Cone::response`].
    #[inline(always)]
    pub(super) fn response<const N: usize, const M: usize, C: Cone<R, N, M>>(
        &self,
        cone: &C,
        kappa: R,
        work: &Work<&mut [R]>,
    ) -> (C::Weight, [R; N]) {
        let (eta, slack) = (cone.own(work.limit_force), cone.slack(work.limit_slack));
        let mut response = cone.response(kappa, eta);
        when!(self.worlds, &mut response, |(weight, pull)| {
            let own = cone.response_with(kappa, self.tau, eta, slack);
            *weight = C::Weight::select(self.worlds, own.0, *weight);
            *pull = select(self.worlds, own.1, *pull);
        });
        response
    }

    /// The length of the next step, in Newton steps: at most 1, and the part of the way to the nearest cone boundary
    /// that the settings say. Writes the change of the slacks by a full step to `d_slack`.
    #[inline(always)]
    pub(super) fn length<const N: usize>(&self, s: &Structure, problem: &Problem<R>, work: &mut Work<&mut [R]>) -> R {
        R::call(
            #[inline(always)]
            || {
                let columns = work.columns.as_chunks::<N>().0;
                let mut room = [R::splat(f64::INFINITY)];
                for (state, contact) in
                    listed(work.list, ContactState::of(work.contact_states).iter_mut().zip_inline(&s.contacts))
                {
                    let (cone, there) = (&state.cone, state.is_there());
                    when!(there, &mut (&mut state.d_slack, &mut room), |(d_slack, [end])| {
                        let moved = with_private(contact, columns, state.moved, work.step);
                        **d_slack = add(moved, sub(state.zeta, state.slack));
                        let room = cone.room(state.eta, state.d_eta).0.min(cone.room(state.slack, **d_slack).0);
                        *end = R::select(there, end.min(room), *end);
                    });
                }
                let end = self.room(s, problem, (R::Mask::splat(true), room[0]), work);
                end.scale(s.settings.boundary_fraction).min(R::one())
            },
        )
    }

    /// The least of `end` and the length of a step, in steps, by which a limit, dry friction or a table has its force
    /// at a bound or, in worlds of the mask, its slack. Writes the changes of the slacks by a full step.
    #[inline(always)]
    pub(super) fn room(
        &self,
        s: &Structure,
        problem: &Problem<R>,
        (apart, mut end): (R::Mask, R),
        work: &mut Work<&mut [R]>,
    ) -> R {
        cones!(s, problem.gaps, cone => {
            let (eta, d_eta) = (cone.own(work.limit_force), cone.own(work.limit_step));
            let (slack, moves) = (cone.slack(work.limit_slack), [cone.own(work.limit_gap), cone.on.moved(work.step)]);
            let d_slack = cone.slack_step([problem.kappa, self.tau], [eta, d_eta], slack, moves);
            cone.put_slack(work.slack_step, d_slack);
            end = cone.nearer(end, eta, d_eta);
            end = R::select(apart, cone.slack_nearer(end, slack, d_slack), end);
        });
        end
    }

    /// Follows a step of length α of δ and the forces in worlds of the mask: steps the slacks, finds the worlds that
    /// have arrived, and sets the next target τ.
    #[inline(always)]
    pub(super) fn follow<const N: usize>(
        &mut self,
        s: &Structure,
        problem: &Problem<R>,
        (moving, alpha): (R::Mask, R),
        work: &mut Work<&mut [R]>,
    ) {
        R::call(
            #[inline(always)]
            || {
                let kappa = problem.kappa;
                let moving = moving.and(self.worlds);
                let mut worst = [R::zero()];
                for state in listed(work.list, ContactState::<R, N>::of(work.contact_states)) {
                    let there = state.is_there();
                    when!(there, &mut (&mut state.slack, &mut worst), |(slack, [worst])| {
                        for (x, &step) in slack.iter_mut().zip_inline(&state.d_slack) {
                            *x = R::select(moving, alpha.mul_add(step, *x), *x);
                        }
                        let misfit = state.cone.misfit(kappa * state.share, state.eta, **slack) * state.cone.weight;
                        *worst = worst.max(R::select(there, misfit, R::zero()));
                    });
                }
                let [mut worst] = worst;
                advance(moving, alpha, work.limit_slack, work.slack_step);
                cones!(s, problem.gaps, cone => {
                    let (eta, slack) = (cone.own(work.limit_force), cone.slack(work.limit_slack));
                    worst = worst.max(cone.misfit_with(kappa, eta, slack));
                });
                let mean = mean_product::<R, N>(s, problem, work);
                self.judge(moving, [alpha, worst, mean], R::splat(FASTEST));
            },
        )
    }
}

/// x ← x + α step in worlds of the mask.
#[inline(always)]
pub(super) fn advance<R: Real>(mask: R::Mask, alpha: R, x: &mut [R], step: &[R]) {
    for (x, &step) in x.iter_mut().zip_inline(step) {
        *x = R::select(mask, alpha.mul_add(step, *x), *x);
    }
}

/// `sum` with s · η of all limits, dry friction and tables.
#[inline(always)]
pub(super) fn limit_products<R: Real>(s: &Structure, problem: &Problem<R>, mut sum: R, work: &mut Work<&mut [R]>) -> R {
    cones!(s, problem.gaps, cone => {
        sum = cone.add_product(cone.own(work.limit_force), cone.slack(work.limit_slack), sum);
    });
    sum
}

/// The mean of s · η over contacts and limits, 1 on the path.
#[inline(always)]
fn mean_product<R: Real, const N: usize>(s: &Structure, problem: &Problem<R>, work: &mut Work<&mut [R]>) -> R {
    let (mut sum, mut weights) = (R::zero(), R::splat(s.n_products()));
    for state in listed(work.list, ContactState::<R, N>::of(work.contact_states).iter()) {
        let there = state.is_there();
        sum += R::select(there, dot(state.slack, state.eta), R::zero());
        weights += R::select(there, state.cone.weight, R::zero());
    }
    sum = limit_products(s, problem, sum, work);
    (problem.kappa * sum).scale(0.5) / weights.max(R::tiny())
}
