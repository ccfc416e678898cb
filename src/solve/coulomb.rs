//! The solve with Coulomb's law in the place of its relaxation, see [`super::friction`].
//!
//! The equations are P δ + g = J̃ᵀη and z = J̃ δ + φ n on the law. They are no minimiser's: the iteration is a primal-dual one of
//! its own, and not every problem has one answer, or any. It has slacks beside the forces: a gap s_n > 0 for each z_n, and (w, s_t)
//! in the cone for each z_t, whose w nothing else knows. A step is Newton's for
//!
//! ```text
//! z_n = s_n,  s_n η_n = 2τ/κ        z_t = s_t,  (w, s_t) and η complementary at 2τ/κ
//! ```
//!
//! in the scaling of Nesterov and Todd between slacks and forces, as in [`super::approach`], with one solve of the unsymmetric system
//! in what contacts share. What is private to a contact is eliminated there as in [`super::newton`]: with K = 1 + G D G
//!
//! ```text
//! (W̃⁻¹ + D)⁻¹ = G (K − b nᵀ)⁻¹ G = G K⁻¹ G + x yᵀ,   x = G K⁻¹ b,  y = G K⁻¹ n / (1 − nᵀK⁻¹b)
//! ```
//!
//! τ falls to 1 as steps get longer. Near the answer slacks are taken from the forces, and the steps are Newton's.
//!
//! A world takes up to four ways: from given forces, or forces of each contact alone that are soft; from such that are harder; from the
//! softest, with care; from the relaxed answer. Where none ends, the relaxed answer stands, and the status says so.

use crate::description::Friction;
use crate::math::lane::{Lockstep, Mask, Real, clear, copy, state};
use crate::math::vector::{Vec3, add, axpy, dot, scale, sub};

use super::approach::{Approach, limit_misfit};
use super::barrier::Status;
use super::cone::Cone;
use super::friction::Scaling;
use super::judge::{residual, tolerance};
use super::memory::{Problem, Work};
use super::newton;
use super::problem::{along, along_shared, at3};
use super::response::Response;
use super::shared;
use super::start::{renew, renew_all, soft_kappa, start};
use super::structure::{ContactColumns, Structure};
use super::touch::Touch;

const LAW: Friction = Friction::Coulomb;
/// Misfit below which a step is the last: it leaves an error of no more than its square.
const CONVERGED: f64 = 1e-14;
/// Misfit below which an iterate that no longer improves counts as found: rounding has the last word.
const STALLED: f64 = 1e-8;
/// Misfit and τ, after a full step, below which slacks are those of the forces. With slacks of its own an iterate does not get much
/// nearer where κ leaves them few digits.
const ARRIVED: f64 = 0.5;
const NEAR: f64 = 3.0;
/// Misfit of given forces, after [`TRIAL`] steps, from which on slacks of their own lead to the answer.
const FAR: f64 = 1.0;
const TRIAL: f64 = 2.0;
/// κ at which contacts start anew on the first way, 1/J: the way from soft to hard chooses among several answers, as the slow
/// correction of the relaxed law does. From harder starts one in fifty recorded states of fingertips and a cube ends elsewhere; where the
/// path from soft to hard ends before it is there, they help.
const SOFT_KAPPA: f64 = 300.0;
/// How a world goes.
struct Pace {
    /// Part of the way to a boundary that a step goes, and the least part to which τ falls in one: more would leave some contact behind
    /// the others, with steps that end at its boundary.
    reach: f64,
    fastest: f64,
    /// Steps after which a way counts as none.
    longest: f64,
}

const BRISK: Pace = Pace { reach: 0.9, fastest: 0.3, longest: 26.0 };
/// Where the brisk ways have led nowhere, from a softer start.
const CAREFUL: Pace = Pace { reach: 0.7, fastest: 0.6, longest: 90.0 };
const SOFTEST_KAPPA: f64 = 30.0;
/// The ways: soft, hard, careful; from the relaxed answer.
const HARD: f64 = 1.0;
const CAREFULLY: f64 = 2.0;
const FROM_RELAXED: f64 = 3.0;

/// What the iteration knows of a contact beside [`Touch`].
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Slide<R> {
    scaling: Scaling<R>,
    /// s_n.
    gap: R,
    /// x, y.
    up: Vec3<R>,
    down: Vec3<R>,
    /// What the step does to z.
    moved: Vec3<R>,
}

/// Numbers of a [`Slide`].
pub(super) const SLIDE: usize = size_of::<Slide<f64>>() / size_of::<f64>();

impl<R: Real> Slide<R> {
    /// The contacts in [`SLIDE`] numbers each.
    #[inline(always)]
    fn of(numbers: &mut [R]) -> &mut [Self] {
        // SAFETY: a `repr(C)` struct of nothing but `R`s is as aligned as one and as large as `SLIDE` of them.
        unsafe { std::slice::from_raw_parts_mut(numbers.as_mut_ptr().cast(), numbers.len() / SLIDE) }
    }
}

/// How the worlds stand.
struct Iterate<R: Real> {
    approach: Approach<R>,
    running: R::Mask,
    found: R::Mask,
    /// Steps on the present way, and which way it is.
    steps: R,
    way: R,
    iterations: R,
    /// Misfit after the step before.
    last: R,
}

state!(Iterate { numbers: [steps, way, iterations, last], flags: [running, found], states: [approach] });

/// Solves a lane of problems: δ, η and the report are left in `work`. What is not settled has that status, whatever the reason.
///
/// With `again`, after the relaxed solve of worlds that are not settled, they start from its answer; the others are left as
/// they were.
#[inline(always)]
pub(crate) fn solve<R: Real>(
    s: &Structure,
    problem: &Problem<R>,
    max_iterations: usize,
    (warm, again): (bool, bool),
    work: &mut Work<&mut [R]>,
) {
    let status = &mut work.kept[work.delta.len() + work.eta.len()];
    let worlds = if again { is_unsettled(*status) } else { R::Mask::splat(true) };
    if !again {
        *status = R::zero();
    }
    R::when(
        worlds,
        work,
        #[inline(always)]
        |work| {
            if again {
                keep_where(worlds, work);
            }
            let (found, iterations) = find(s, problem, max_iterations, (worlds, warm, again), work);
            report(s, problem, (found, iterations), work);
            if again {
                restore(worlds, s, problem, work);
            }
        },
    );
}

/// Gives the worlds with an answer, and the iterations that it took.
#[inline(always)]
fn find<R: Real>(
    s: &Structure,
    problem: &Problem<R>,
    max_iterations: usize,
    (worlds, warm, again): (R::Mask, bool, bool),
    work: &mut Work<&mut [R]>,
) -> (R::Mask, R) {
    let mut running = worlds.and(newton::set_up(s, problem, work));
    let mut approach = Approach::none();
    if again {
        running = running.and(work.info[0].lt(R::splat(Status::Unsettled.code())));
        recall(s, problem, work);
        join(running, s, problem, &mut approach, work);
    } else {
        let cold = start(s, problem, (LAW, warm, R::splat(SOFT_KAPPA)), work).and(running);
        join_anew(cold, s, problem, &mut approach, work);
    }
    let mut iterate = Iterate {
        approach,
        running,
        found: R::Mask::splat(false),
        steps: R::zero(),
        way: R::splat(if again { FROM_RELAXED } else { 0.0 }),
        iterations: R::zero(),
        last: R::splat(f64::INFINITY),
    };
    R::repeat(
        max_iterations,
        &mut (&mut iterate, &mut *work),
        #[inline(always)]
        |(at, _)| at.running,
        #[inline(always)]
        |(at, work)| at.advance(s, problem, work),
    );
    (iterate.found, iterate.iterations)
}

/// η and the report, zeros for δ and η where there is no answer.
#[inline(always)]
fn report<R: Real>(s: &Structure, problem: &Problem<R>, (found, iterations): (R::Mask, R), work: &mut Work<&mut [R]>) {
    let (contacts, limits) = work.eta.split_at_mut(3 * s.nc());
    for (touch, eta) in Touch::of(work.touches).iter().lockstep(contacts.as_chunks_mut().0) {
        *eta = touch.eta;
    }
    copy(limits, work.limit_force);
    let residual = residual(s, problem, LAW, work);
    let settled = found.and(residual.lt(R::splat(tolerance::<R>())));
    for x in work.delta.iter_mut().chain(work.eta.iter_mut()) {
        *x = R::select(settled, *x, R::zero());
    }
    let code = |status: Status| R::splat(status.code());
    let status = R::select(settled, code(Status::Solved), code(Status::Unsettled));
    copy(work.info, &[status, iterations, R::select(settled, residual, R::one()), R::zero()]);
}

/// Keeps the results.
#[inline(always)]
pub(super) fn put_aside<R: Real>(work: &mut Work<&mut [R]>) {
    let results = work.delta.iter().chain(work.eta.iter()).chain(work.info.iter());
    for (kept, &result) in work.kept.iter_mut().zip(results) {
        *kept = result;
    }
}

/// Does the status say that the answer is that of the relaxed law?
#[inline(always)]
pub(super) fn is_unsettled<R: Real>(status: R) -> R::Mask {
    let code = Status::Unsettled.code();
    status.gt(R::splat(code - 0.5)).and(status.lt(R::splat(code + 0.5)))
}

/// The results of the first call are in `kept`: those of the relaxed solve take their place in worlds of the mask, with all
/// iterations so far.
#[inline(always)]
fn keep_where<R: Real>(mask: R::Mask, work: &mut Work<&mut [R]>) {
    let iterations = work.kept[work.delta.len() + work.eta.len() + 1];
    work.info[1] += R::select(mask, iterations, R::zero());
    let results = work.delta.iter().chain(work.eta.iter()).chain(work.info.iter());
    for (kept, &result) in work.kept.iter_mut().zip(results) {
        *kept = R::select(mask, result, *kept);
    }
}

/// The kept results, but in worlds that have been settled since; worlds of the mask that are not settled have the relaxed answer
/// under a status of their own.
#[inline(always)]
fn restore<R: Real>(worlds: R::Mask, s: &Structure, problem: &Problem<R>, work: &mut Work<&mut [R]>) {
    let unsettled = R::splat(Status::Unsettled.code());
    let settled = worlds.and(work.info[0].lt(unsettled));
    let before = work.kept[work.delta.len() + work.eta.len() + 1];
    let iterations = R::select(worlds, work.info[1] + before, before);
    let results = work.delta.iter_mut().chain(work.eta.iter_mut()).chain(work.info.iter_mut());
    for (result, &kept) in results.zip(work.kept.iter()) {
        *result = R::select(settled, *result, kept);
    }
    work.info[1] = iterations;
    // What the relaxed law has not solved either keeps its status.
    let relaxed = worlds.and(settled.not()).and(work.info[0].lt(R::splat(Status::IterationLimit.code())));
    work.info[0] = R::select(relaxed, unsettled, work.info[0]);
    work.info[3] = R::select(relaxed, slip_gap(s, problem, work.eta), work.info[3]);
}

/// The largest gap μ‖ν_t‖ of relaxed contacts with these forces: ‖z_t‖ of the displacements that belong to them.
#[inline(always)]
fn slip_gap<R: Real>(s: &Structure, problem: &Problem<R>, eta: &[R]) -> R {
    let mut largest = R::zero();
    for i in 0..s.nc() {
        let (cone, eta) = (Cone::read(problem.contacts, i), at3(eta, i));
        let there = cone.weight.gt(R::zero());
        let own = R::select(there, cone.kappa(problem.kappa), R::one());
        let (_, across) = cone.split(cone.pole(own, eta, cone.rho(eta)));
        largest = R::select(there, largest.max(dot(across, across)), largest);
    }
    largest.sqrt()
}

/// The relaxed answer's forces, and its slacks.
#[inline(always)]
fn recall<R: Real>(s: &Structure, problem: &Problem<R>, work: &mut Work<&mut [R]>) {
    for (i, (touch, slide)) in
        Touch::of(work.touches).iter_mut().lockstep(Slide::of(work.slides).iter_mut()).enumerate()
    {
        let there = touch.is_there();
        touch.eta = at3(work.eta, i);
        let own = R::select(there, problem.kappa * touch.share, R::one());
        touch.slack = touch.cone.pole(own, touch.eta, touch.cone.rho(touch.eta));
        slide.gap = dot(touch.cone.n, touch.slack);
    }
    copy(work.limit_force, &work.eta[3 * s.nc()..]);
    for (slack, &force) in work.limit_slack.iter_mut().lockstep(work.limit_force.iter()) {
        *slack = R::splat(2.0) / (problem.kappa * force);
    }
}

impl<R: Real> Iterate<R> {
    /// One step of the worlds that are running, and where they go from there.
    #[inline(always)]
    fn advance(&mut self, s: &Structure, problem: &Problem<R>, work: &mut Work<&mut [R]>) {
        let (running, apart) = (self.running, self.approach.worlds);
        step(s, problem, &self.approach, work);
        let careful = self.takes(CAREFULLY);
        let pace = |brisk: f64, careful_one: f64| R::select(careful, R::splat(careful_one), R::splat(brisk));
        let end = length(s, problem.kappa, &self.approach, work);
        let alpha = (end * pace(BRISK.reach, CAREFUL.reach)).min(R::one());
        let sound = alpha.is_finite();
        let moving = running.and(sound);
        for (delta, &step) in work.delta.iter_mut().lockstep(work.step.iter()) {
            *delta = R::select(moving, alpha.mul_add(step, *delta), *delta);
        }
        let worst = go(s, problem, (moving, alpha), work);
        self.iterations += R::select(running, R::one(), R::zero());
        self.steps += R::one();

        let is_full = alpha.lt(R::one()).not();
        let on_path = self.approach.tau.lt(R::splat(NEAR));
        self.approach.leave(moving.and(is_full).and(on_path).and(worst.lt(R::splat(ARRIVED))));
        let short = R::one() - alpha;
        let part = (short * short).max(pace(BRISK.fastest, CAREFUL.fastest)).min(R::one());
        self.approach.tau = (mean_product(s, problem.kappa, work) * part).max(R::one());
        let stalled = worst.lt(R::splat(STALLED)).and(self.last.scale(0.25).lt(worst));
        let last_step = self.last.lt(R::splat(CONVERGED)).or(stalled);
        let found = moving.and(apart.not()).and(is_full).and(last_step);
        self.last = worst;
        self.found = self.found.or(found);
        self.running = running.and(found.not());

        let trial = self.iterations.gt(R::splat(TRIAL - 0.5)).and(self.iterations.lt(R::splat(TRIAL + 0.5)));
        let far = worst.lt(R::splat(FAR)).not().and(apart.not());
        let late = self.running.and(trial).and(far);
        R::when(
            late,
            &mut (&mut self.approach, &mut *work),
            #[inline(always)]
            |(approach, work)| {
                newton::prepare(s, problem, work);
                renew(s, problem, (LAW, late, R::splat(SOFT_KAPPA)), work);
                join_anew(late, s, problem, approach, work);
            },
        );
        let lost = self.running.and(sound.not().or(self.steps.gt(pace(BRISK.longest, CAREFUL.longest))));
        R::when(
            lost,
            &mut (self, work),
            #[inline(always)]
            |(at, work)| at.give_up(s, problem, lost, work),
        );
    }

    /// Are worlds on this way?
    #[inline(always)]
    fn takes(&self, way: f64) -> R::Mask {
        self.way.gt(R::splat(way - 0.5)).and(self.way.lt(R::splat(way + 0.5)))
    }

    /// The end of a way: worlds of the mask take the next one, and none after the careful one.
    #[inline(always)]
    fn give_up(&mut self, s: &Structure, problem: &Problem<R>, lost: R::Mask, work: &mut Work<&mut [R]>) {
        let again = lost.and(self.way.lt(R::splat(CAREFULLY - 0.5)));
        self.running = self.running.and(lost.not().or(again));
        self.way += R::select(again, R::one(), R::zero());
        let soft = R::select(self.takes(HARD), soft_kappa(problem.kappa), R::splat(SOFTEST_KAPPA));
        self.steps = R::select(again, R::zero(), self.steps);
        newton::prepare(s, problem, work);
        renew_all(s, problem, (LAW, again, soft), work);
        join_anew(again, s, problem, &mut self.approach, work);
    }
}

/// The step of δ into `work.step`, and the contacts' and limits' own.
#[inline(always)]
fn step<R: Real>(s: &Structure, problem: &Problem<R>, approach: &Approach<R>, work: &mut Work<&mut [R]>) {
    let kappa = problem.kappa;
    newton::begin(s, problem, kappa, approach, work);
    let columns = work.columns.as_chunks().0;
    let scaled_columns = work.scaled.as_chunks_mut().0;
    // What the upper triangle of the system has beside the symmetric part.
    let n_entries = s.factor_h.n_leading_entries(s.n_shared);
    clear(&mut work.upper[..n_entries]);
    for ((touch, slide), contact) in
        Touch::of(work.touches).iter_mut().lockstep(Slide::of(work.slides).iter_mut()).lockstep(&s.contacts)
    {
        touch.zeta = axpy(touch.cone.phi, touch.cone.n, along(contact, columns, work.delta));
        eliminate(contact, columns, kappa, approach, (touch, slide), work.pivot, work.step);
        let force = sub(touch.eta, answer(&touch.response, slide, touch.error));
        shared::add(contact, columns, &touch.response, force, scaled_columns, work.h, work.step);
        shared::add_tilt(contact, columns, (slide.up, slide.down), scaled_columns, work.h, work.upper);
    }
    for x in work.step.iter_mut() {
        *x = -*x;
    }
    for (upper, &h) in work.upper[..n_entries].iter_mut().lockstep(&work.h[..n_entries]) {
        *upper += h;
    }
    shared::solve_pair(s, work.h, work.upper, work.step);

    for ((touch, slide), contact) in
        Touch::of(work.touches).iter_mut().lockstep(Slide::of(work.slides).iter_mut()).lockstep(&s.contacts)
    {
        slide.moved = along_shared(contact, columns, work.step);
        let d_eta = scale(-R::one(), answer(&touch.response, slide, add(touch.error, slide.moved)));
        touch.d_eta = d_eta;
        for (&column, step) in contact.private_part(columns).iter().lockstep(&mut work.step[contact.private.clone()]) {
            *step += dot(column, d_eta);
        }
    }
    newton::end(s, kappa, approach, work);
    let columns = work.columns.as_chunks().0;
    for (slide, contact) in Slide::of(work.slides).iter_mut().lockstep(&s.contacts) {
        let private = contact.private_part(columns);
        for (&column, &step) in private.iter().lockstep(&work.step[contact.private.clone()]) {
            slide.moved = axpy(step, column, slide.moved);
        }
    }
}

/// (W̃⁻¹ + D)⁻¹ x.
#[inline(always)]
fn answer<R: Real>(response: &Response<R>, slide: &Slide<R>, x: Vec3<R>) -> Vec3<R> {
    let symmetric = response.force(response.weighed(response.along(x)));
    axpy(dot(slide.down, x), slide.up, symmetric)
}

/// A contact's answer, and in `touch.error` z less what it should be and what its private degrees of freedom make of it; in `step` r₁
/// of these.
#[inline(always)]
fn eliminate<R: Real>(
    contact: &ContactColumns,
    columns: &[Vec3<R>],
    kappa: R,
    approach: &Approach<R>,
    (touch, slide): (&mut Touch<R>, &mut Slide<R>),
    pivot: &[R],
    step: &mut [R],
) {
    let (cone, eta, there) = (&touch.cone, touch.eta, touch.is_there());
    let own = R::select(there, kappa * touch.share, R::one());
    let here = approach.worlds.and(there);
    let mut scaling = Scaling::of_forces(cone, own, eta);
    let gap = slide.gap;
    R::when(
        approach.worlds,
        &mut scaling,
        #[inline(always)]
        |scaling| {
            let (v, t) = cone.between(eta, touch.slack);
            for (to, v) in scaling.v.iter_mut().lockstep(v) {
                *to = R::select(here, v, *to);
            }
            scaling.t = R::select(here, t, scaling.t);
            scaling.sqrt_q = R::select(here, (dot(cone.n, eta) / gap).sqrt(), scaling.sqrt_q);
        },
    );
    // A contact of no weight: finite, and without an answer.
    let none = there.not();
    scaling.v = [0, 1, 2].map(|k| R::select(none, cone.n[k], scaling.v[k]));
    (scaling.t, scaling.sqrt_q) = (R::select(none, R::tiny(), scaling.t), R::select(none, R::tiny(), scaling.sqrt_q));
    slide.scaling = scaling;
    let law = scaling.answer(cone.n);
    let tau = R::select(here, approach.tau, R::one());
    let target = scale(tau, cone.displacement(own, eta, cone.rho(eta)));
    let error = sub(touch.zeta, target);
    touch.error = [0, 1, 2].map(|k| R::select(none, R::zero(), error[k]));
    if contact.private.is_empty() {
        touch.response = Response::rigid(&law.root);
        (slide.up, slide.down) = (law.root.times(law.tilt), law.root.times(cone.n));
    } else {
        let private = contact.private_part(columns);
        for ((&column, r), &pivot) in
            private.iter().lockstep(&mut step[contact.private.clone()]).lockstep(&pivot[contact.private.clone()])
        {
            *r -= dot(column, eta);
            touch.error = axpy(-(*r * pivot), column, touch.error);
        }
        if contact.limited {
            touch.compliance = newton::compliance(contact, private, pivot);
        }
        let response = Response::compliant(&law.root, &touch.compliance);
        let (b, n) = (response.down(law.tilt), response.down(cone.n));
        let (b, n) = (response.weighed(b), (n, response.weighed(n)));
        let inverse = R::one() / (R::one() - dot(n.0, b));
        (slide.up, slide.down) = (response.force(b), scale(inverse, response.force(n.1)));
        touch.response = response;
    }
    for k in 0..3 {
        slide.up[k] = R::select(none, R::zero(), slide.up[k]);
    }
}

/// Takes worlds in whose slacks are those of [`renew`], each with the gap that belongs to it.
#[inline(always)]
fn join_anew<R: Real>(
    worlds: R::Mask,
    s: &Structure,
    problem: &Problem<R>,
    approach: &mut Approach<R>,
    work: &mut Work<&mut [R]>,
) {
    for (touch, slide) in Touch::of(work.touches).iter_mut().lockstep(Slide::of(work.slides)) {
        let gap = touch.cone.rho(touch.slack) / dot(touch.cone.n, touch.slack);
        slide.gap = R::select(worlds, gap, slide.gap);
    }
    join(worlds, s, problem, approach, work);
}

/// Takes worlds in whose slacks and gaps are there.
#[inline(always)]
fn join<R: Real>(
    worlds: R::Mask,
    s: &Structure,
    problem: &Problem<R>,
    approach: &mut Approach<R>,
    work: &mut Work<&mut [R]>,
) {
    approach.worlds = approach.worlds.or(worlds);
    let product = mean_product(s, problem.kappa, work).max(R::one());
    approach.tau = R::select(worlds, product, approach.tau);
}

/// The mean of slack times force over gaps, slips and limits, 1 on the path.
#[inline(always)]
fn mean_product<R: Real>(s: &Structure, kappa: R, work: &mut Work<&mut [R]>) -> R {
    #[expect(clippy::cast_precision_loss, reason = "a count")]
    let (mut sum, mut weights) = (R::zero(), R::splat(s.nl() as f64));
    for (touch, slide) in Touch::of(work.touches).iter().lockstep(Slide::of(work.slides).iter()) {
        let there = touch.is_there();
        let product = slide.gap.mul_add(dot(touch.cone.n, touch.eta), dot(touch.slack, touch.eta));
        sum += R::select(there, product, R::zero());
        weights += R::select(there, touch.cone.weight.scale(2.0), R::zero());
    }
    for (&slack, &force) in work.limit_slack.iter().lockstep(work.limit_force.iter()) {
        sum = slack.mul_add(force, sum);
    }
    (kappa * sum).scale(0.5) / weights.max(R::tiny())
}

/// How far it is to a boundary along the step, in steps; leaves in `d_slack` what a whole one does to the slacks. Not finite where the step is not.
#[inline(always)]
fn length<R: Real>(s: &Structure, kappa: R, approach: &Approach<R>, work: &mut Work<&mut [R]>) -> R {
    let (apart, tau) = (approach.worlds, approach.tau);
    let mut end = R::splat(f64::INFINITY);
    let mut doubt = R::zero();
    for (touch, slide) in Touch::of(work.touches).iter_mut().lockstep(Slide::of(work.slides).iter()) {
        let (cone, there) = (&touch.cone, touch.is_there());
        let own = R::select(there, kappa * touch.share, R::one());
        let next = add(touch.zeta, slide.moved);
        let rho = cone.rho(touch.eta);
        let wanted = (tau.scale(2.0) / own) * dot(cone.n, touch.eta) / rho;
        let w = wanted - slide.scaling.slack_along(cone.n, touch.d_eta);
        let gap = dot(cone.n, next);
        touch.d_slack = sub(axpy(w - gap, cone.n, next), touch.slack);
        let falls = slide.gap - gap;
        let falling = falls.gt(R::zero());
        let of_gap = R::select(falling, slide.gap / R::select(falling, falls, R::one()), R::splat(f64::INFINITY));
        let of_slack = cone.room(touch.slack, touch.d_slack).0.min(of_gap);
        let room = cone.room(touch.eta, touch.d_eta).0;
        let room = R::select(apart, room.min(of_slack), room);
        end = R::select(there, end.min(room), end);
        for &x in touch.d_eta.iter().chain(&slide.moved) {
            doubt = R::select(there, x.doubt(doubt), doubt);
        }
    }
    for (l, &(dof, sign)) in s.limits.iter().enumerate() {
        let d_slack = work.step[dof].scale(sign) + (work.limit_gap[l] - work.limit_slack[l]);
        let d_slack = R::select(apart, d_slack, R::zero());
        for (x, step) in [(work.limit_force[l], work.limit_step[l]), (work.limit_slack[l], d_slack)] {
            let falls = step.lt(R::zero());
            end = R::select(falls, end.min(-(x / R::select(falls, step, R::one()))), end);
        }
    }
    for &x in work.step.iter() {
        doubt = x.doubt(doubt);
    }
    doubt.mul_add(R::zero(), end)
}

/// Takes the step in worlds of the mask; gives the largest misfit there.
#[inline(always)]
fn go<R: Real>(s: &Structure, problem: &Problem<R>, (moving, alpha): (R::Mask, R), work: &mut Work<&mut [R]>) -> R {
    let kappa = problem.kappa;
    let go = |x: R, step: R| R::select(moving, alpha.mul_add(step, x), x);
    let mut worst = R::zero();
    for (touch, slide) in Touch::of(work.touches).iter_mut().lockstep(Slide::of(work.slides)) {
        let (n, there) = (touch.cone.n, touch.is_there());
        let gap = dot(n, add(touch.zeta, slide.moved));
        slide.gap = go(slide.gap, gap - slide.gap);
        for k in 0..3 {
            touch.eta[k] = go(touch.eta[k], touch.d_eta[k]);
            touch.slack[k] = go(touch.slack[k], touch.d_slack[k]);
        }
        let z = axpy(alpha, slide.moved, touch.zeta);
        let own = R::select(there, kappa * touch.share, R::one());
        let misfit = touch.cone.misfit(own, touch.eta, touch.cone.lifted(z)).abs() * touch.cone.weight;
        worst = worst.max(R::select(there, misfit, R::zero()));
    }
    for (l, &(dof, sign)) in s.limits.iter().enumerate() {
        let gap = work.limit_gap[l] + work.step[dof].scale(sign);
        work.limit_slack[l] = go(work.limit_slack[l], gap - work.limit_slack[l]);
        work.limit_force[l] = go(work.limit_force[l], work.limit_step[l]);
        let gap = work.delta[dof].scale(sign) + problem.gaps[l];
        worst = worst.max(limit_misfit(kappa, work.limit_force[l], gap));
    }
    worst
}
