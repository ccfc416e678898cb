//! One step of the primal-dual iteration for Coulomb's law: its linear system, its length, and taking it.

use fingertip_lanes::lane::{Mask, Real, Zip, clear, inlined, when};

use super::super::approach::{Approach, advance, limit_products};
use super::super::cones::Coordinate;
use super::super::contact_state::ContactState;
use super::super::friction::Scaling;
use super::super::kinds::cones;
use super::super::memory::{Problem, Work};
use super::super::newton;
use super::super::presence::listed;
use super::super::problem::{along, along_shared};
use super::super::response::Response;
use super::super::shared;
use super::super::slide::Slide;
use super::super::structure::{ContactColumns, Structure};
use super::super::symmetric::Symmetric;
use super::super::vector::{add, axpy, dot, scale, select, sub, zero};

/// Computes a step for friction stiffer by a ratio: that of δ in `work.step`, those of forces in the contacts' and
/// limits' states.
#[inline(always)]
pub(super) fn step<R: Real, const N: usize>(
    s: &Structure,
    problem: &Problem<R>,
    (approach, ratio): (&Approach<R>, R),
    work: &mut Work<&mut [R]>,
) {
    R::call(
        #[inline(always)]
        || {
            let kappa = problem.kappa;
            newton::begin(s, problem, kappa, approach, work);
            let columns = work.columns.as_chunks::<N>().0;
            // What the upper triangle of the system has beside the symmetric part.
            let n_entries = s.factor_h.n_leading_entries(s.n_shared);
            clear(&mut work.upper[..n_entries]);
            let states = ContactState::of(work.contact_states).iter_mut().zip_inline(Slide::of(work.slides).iter_mut());
            for ((state, slide), contact) in listed(work.list, states.zip_inline(&s.contacts)) {
                when!(
                    state.is_there(),
                    &mut ((state, slide), (&mut *work.h, &mut *work.upper), (&mut *work.step, &mut *work.scaled)),
                    |((state, slide), (h, upper), (step, scaled))| {
                        let scaled = scaled.as_chunks_mut().0;
                        state.zeta = axpy(state.cone.phi, state.cone.n, along(contact, columns, work.delta));
                        eliminate(contact, (columns, work.pivot), (kappa, approach, ratio), (state, slide), step);
                        let force = sub(state.eta, answer(&state.response, slide, state.error));
                        shared::add(contact, columns, &state.response, force, scaled, h, step);
                        shared::add_tilt(contact, columns, (slide.up, slide.down), scaled, h, upper);
                    }
                );
            }
            for x in work.step.iter_mut() {
                *x = -*x;
            }
            for (upper, &h) in work.upper[..n_entries].iter_mut().zip_inline(&work.h[..n_entries]) {
                *upper += h;
            }
            shared::solve_pair::<R, N>(s, work.h, work.upper, work.step);

            let states = ContactState::of(work.contact_states).iter_mut().zip_inline(Slide::of(work.slides).iter_mut());
            for ((state, slide), contact) in listed(work.list, states.zip_inline(&s.contacts)) {
                when!(state.is_there(), &mut ((state, slide), &mut *work.step), |((state, slide), step)| {
                    slide.moved = along_shared(contact, columns, step);
                    let d_eta = scale(-R::one(), answer(&state.response, slide, add(state.error, slide.moved)));
                    state.d_eta = d_eta;
                    let private = contact.private_part(columns).iter();
                    for (&column, step) in private.zip_inline(&mut step[contact.private.clone()]) {
                        *step += dot(column, d_eta);
                    }
                });
            }
            newton::end(s, problem, kappa, approach, work);
            let columns = work.columns.as_chunks::<N>().0;
            let states =
                ContactState::<R, N>::of(work.contact_states).iter().zip_inline(Slide::of(work.slides).iter_mut());
            for ((state, slide), contact) in listed(work.list, states.zip_inline(&s.contacts)) {
                when!(state.is_there(), &mut slide.moved, |moved| {
                    let private = contact.private_part(columns);
                    for (&column, &step) in private.iter().zip_inline(&work.step[contact.private.clone()]) {
                        *moved = axpy(step, column, *moved);
                    }
                });
            }
        },
    )
}

/// (W̃⁻¹ + D)⁻¹ x: the response of a contact's force, with its private degrees of freedom eliminated.
#[inline(always)]
fn answer<R: Real, const N: usize>(response: &Response<R, N>, slide: &Slide<R, N>, x: [R; N]) -> [R; N] {
    let symmetric = response.force(response.weighed(response.along(x)));
    axpy(dot(slide.down, x), slide.up, symmetric)
}

/// A contact's answer, and in `state.error` z less what it should be and what its private degrees of freedom make of
/// it; in `step` r₁ of these.
#[inline(always)]
fn eliminate<R: Real, const N: usize>(
    contact: &ContactColumns,
    (columns, pivot): (&[[R; N]], &[R]),
    (kappa, approach, ratio): (R, &Approach<R>, R),
    (state, slide): (&mut ContactState<R, N>, &mut Slide<R, N>),
    step: &mut [R],
) {
    let (cone, eta, there) = (&state.cone, state.eta, state.is_there());
    let own = R::select(there, kappa * state.share, R::one());
    let here = approach.worlds.and(there);
    let mut scaling = Scaling::of_forces(cone, own, eta);
    let gap = slide.gap;
    when!(approach.worlds, &mut scaling, |scaling| {
        let (v, t) = cone.between(eta, state.slack);
        for (to, v) in scaling.v.iter_mut().zip_inline(v) {
            *to = R::select(here, v, *to);
        }
        scaling.t = R::select(here, t, scaling.t);
        scaling.q = R::select(here, dot(cone.n, eta) / gap, scaling.q);
    });
    // A contact of no weight: finite, and without an answer. That is zero: the products of a small number are
    // subnormal, which are slow.
    let none = there.not();
    scaling.v = select(none, cone.n, scaling.v);
    (scaling.t, scaling.q) = (R::select(none, R::one(), scaling.t), R::select(none, R::one(), scaling.q));
    slide.scaling = scaling;
    let mut law = scaling.answer(cone.n, ratio);
    law.root = Symmetric::select(none, Symmetric::diagonal(R::zero()), law.root);
    let tau = R::select(here, approach.tau, R::one());
    let target = scale(tau, cone.coulomb_displacement(own, eta, ratio));
    let error = sub(state.zeta, target);
    state.error = select(none, zero(), error);
    if contact.private.is_empty() {
        state.response = Response::rigid(&law.root);
        (slide.up, slide.down) = (law.up, law.down);
    } else {
        let private = contact.private_part(columns);
        for ((&column, r), &pivot) in
            private.iter().zip_inline(&mut step[contact.private.clone()]).zip_inline(&pivot[contact.private.clone()])
        {
            *r -= dot(column, eta);
            state.error = axpy(-(*r * pivot), column, state.error);
        }
        if contact.limited {
            state.compliance = newton::compliance(contact, private, pivot);
        }
        let response = Response::compliant(&law.root, &state.compliance);
        let own = inlined(
            #[inline(always)]
            |x| response.force(response.weighed(response.along(x))),
        );
        let (moved, along) = (state.compliance.times(law.up), state.compliance.times(law.down));
        let down = sub(law.down, own(along));
        slide.up = sub(law.up, own(moved));
        slide.down = scale(R::one() / (R::one() + dot(down, moved)), down);
        state.response = response;
    }
    for k in 0..N {
        slide.up[k] = R::select(none, R::zero(), slide.up[k]);
    }
}

/// The mean of slack times force over gaps, slips and limits, 1 on the path.
#[inline(always)]
pub(super) fn mean_product<R: Real, const N: usize>(
    s: &Structure,
    problem: &Problem<R>,
    work: &mut Work<&mut [R]>,
) -> R {
    let (mut sum, mut weights) = (R::zero(), R::splat(s.n_products()));
    let states = ContactState::<R, N>::of(work.contact_states).iter().zip_inline(Slide::<R, N>::of(work.slides).iter());
    for (state, slide) in listed(work.list, states) {
        let there = state.is_there();
        // A gap's product on the path is half of a slip's.
        let product = (slide.gap + slide.gap).mul_add(dot(state.cone.n, state.eta), dot(state.slack, state.eta));
        sum += R::select(there, product, R::zero());
        weights += R::select(there, state.cone.weight.scale(2.0), R::zero());
    }
    sum = limit_products(s, problem, sum, work);
    (problem.kappa * sum).scale(0.5) / weights.max(R::tiny())
}

/// The step length to the nearest cone boundary, in steps; not finite where the step is not. Writes the change of the
/// slacks by a full step to `d_slack`.
#[inline(always)]
pub(super) fn length<R: Real, const N: usize>(
    s: &Structure,
    problem: &Problem<R>,
    (approach, ratio): (&Approach<R>, R),
    work: &mut Work<&mut [R]>,
) -> R {
    R::call(
        #[inline(always)]
        || {
            let (apart, tau, kappa) = (approach.worlds, approach.tau, problem.kappa);
            let mut bounds = [R::splat(f64::INFINITY), R::zero()];
            let states =
                ContactState::of(work.contact_states).iter_mut().zip_inline(Slide::<R, N>::of(work.slides).iter());
            for (state, slide) in listed(work.list, states) {
                let there = state.is_there();
                when!(there, &mut (state, &mut bounds), |(state, [end, doubt])| {
                    let cone = &state.cone;
                    let own = R::select(there, kappa * state.share, R::one());
                    let next = cone.felt(add(state.zeta, slide.moved), ratio);
                    let rho = cone.rho(state.eta);
                    let wanted = (tau.scale(2.0) / own) * dot(cone.n, state.eta) / rho;
                    let w = wanted - slide.scaling.slack_along(cone.n, state.d_eta);
                    let gap = dot(cone.n, next);
                    state.d_slack = sub(axpy(w - gap, cone.n, next), state.slack);
                    let falls = slide.gap - gap;
                    let falling = falls.gt(R::zero());
                    let of_gap =
                        R::select(falling, slide.gap / R::select(falling, falls, R::one()), R::splat(f64::INFINITY));
                    let of_slack = cone.room(state.slack, state.d_slack).0.min(of_gap);
                    let room = cone.room(state.eta, state.d_eta).0;
                    let room = R::select(apart, room.min(of_slack), room);
                    *end = R::select(there, end.min(room), *end);
                    for &x in state.d_eta.iter().chain(&slide.moved) {
                        *doubt = R::select(there, x.doubt(*doubt), *doubt);
                    }
                });
            }
            let [mut end, mut doubt] = bounds;
            end = approach.room(s, problem, (apart, end), work);
            for &x in work.step.iter() {
                doubt = x.doubt(doubt);
            }
            doubt.mul_add(R::zero(), end)
        },
    )
}

/// Takes the step in worlds of the mask; gives the largest misfit there, with friction stiffer by a ratio.
#[inline(always)]
pub(super) fn go<R: Real, const N: usize>(
    s: &Structure,
    problem: &Problem<R>,
    (moving, alpha, ratio): (R::Mask, R, R),
    work: &mut Work<&mut [R]>,
) -> R {
    R::call(
        #[inline(always)]
        || {
            let kappa = problem.kappa;
            let go = |x: R, step: R| R::select(moving, alpha.mul_add(step, x), x);
            let mut worst = [R::zero()];
            let states = ContactState::<R, N>::of(work.contact_states).iter_mut().zip_inline(Slide::of(work.slides));
            for (state, slide) in listed(work.list, states) {
                let there = state.is_there();
                when!(there, &mut ((state, slide), &mut worst), |((state, slide), [worst])| {
                    let gap = dot(state.cone.n, add(state.zeta, slide.moved));
                    slide.gap = go(slide.gap, gap - slide.gap);
                    for k in 0..N {
                        state.eta[k] = go(state.eta[k], state.d_eta[k]);
                        state.slack[k] = go(state.slack[k], state.d_slack[k]);
                    }
                    let z = axpy(alpha, slide.moved, state.zeta);
                    let own = R::select(there, kappa * state.share, R::one());
                    let zeta = state.cone.lifted(state.cone.felt(z, ratio));
                    let misfit = state.cone.misfit(own, state.eta, zeta).abs() * state.cone.weight;
                    *worst = worst.max(R::select(there, misfit, R::zero()));
                });
            }
            let [mut worst] = worst;
            // The slacks of limits go to the gaps themselves.
            for l in 0..s.n_limits {
                let [moved] = Coordinate::of(s, l).moved(work.step);
                work.slack_step[l] = work.limit_gap[l] + moved - work.limit_slack[l];
            }
            advance(moving, alpha, work.limit_slack, work.slack_step);
            advance(moving, alpha, work.limit_force, work.limit_step);
            cones!(s, problem.gaps, cone => {
                worst = worst.max(cone.misfit(kappa, cone.own(work.limit_force), cone.at(work.delta)));
            });
            worst
        },
    )
}
