//! Newton's method on the dual of the smoothed contact problem, in lanes of worlds.
//!
//! The problem (MATHS of the crate docs) is to minimise ½ δᵀPδ + gᵀδ − (1/κ) Σ log ρ(ζ). Its optimality conditions,
//! with scaled forces η and Jacobians J̃ = M J of [`super::cone`]:
//!
//! ```text
//! r₁ = P δ + g − J̃ᵀη = 0        r₂ = ζ − 2 R η / (κ ρ(η)) = 0,    ζ = J̃ δ + φ n
//! ```
//!
//! One step solves (P + J̃ᵀWJ̃) Δδ = −r₁ − J̃ᵀW r₂ and takes Δη = −W (r₂ + J̃ Δδ). It is Newton's step for the dual
//! function ½‖J̃ᵀη − g‖²_P⁻¹ + φᵀη_n − (1/κ) Σ log ρ(η), which is self-concordant up to the factor κ: with an exact line
//! search it converges from *any* η inside the cones, and so from any φ, touching and penetrating included.
//!
//! It converges slowly from afar. Most worlds therefore come near first by a primal-dual method ([`super::approach`]), from the
//! forces of the step before or from the root of each contact alone ([`super::start`]). Where that fails they start again with
//! a small κ, which rises tenfold each time the iterate is near the path. Where the dual is unbounded below no δ is feasible: η then
//! grows along a certificate of that, which is what ends the iteration.

use crate::math::lane::{Lockstep, Mask, Real, copy};

use super::approach::{Approach, LONGEST};
use super::judge::{Certificate, certificate, residual, tolerance};
use super::line_search::line_search;
use super::memory::{Problem, Work};
use super::newton;
use super::problem::{acceptable, factor_p, fill_columns};
use super::start::{renew, soft_kappa, start, start_again};
use super::structure::Structure;
use super::touch::Touch;

/// κ · decrement² below which a step is the last: it leaves an error of no more than its square, 1e-14 of the forces.
const CONVERGED: f64 = 1e-14;
/// κ · decrement² below which an iterate that no longer improves counts as solved: rounding has the last word.
const STALLED: f64 = 1e-6;
/// κ · decrement² below which κ is raised.
const NEAR_PATH: f64 = 0.5;
/// κ · decrement² below which a full step is sure to stay inside and to decrease (self-concordance: decrement < 1/4).
const FULL_STEP: f64 = 0.05;
/// Steps from given forces after which a world whose step had a κ · decrement² above the second takes another way.
const TRIAL: usize = 2;
const FAR: f64 = 10.0;
/// First κ of worlds that start again, 1/J, and the factor by which it rises.
const FIRST_KAPPA: f64 = 100.0;
const RISE: f64 = 10.0;
/// Steps with κ · decrement² above 1 after which a certificate of infeasibility is looked for: it takes forces that have grown.
const DOUBTFUL: f64 = 2.0;
/// Steps with κ · decrement² above 1 after which an iterate counts as stuck: far from the path, along the boundary of a
/// cone, steps are short however well they are searched. So does one whose step is not a number. It starts again on the
/// cones' axes, with κ less by a factor and below 1 over the energy that it has got to, where the barrier outweighs the rest.
/// Each time it is given more steps than before: on the way to a narrow certificate every step is that far.
const STUCK: f64 = 8.0;
const PATIENCE: f64 = 4.0;
const FALL: f64 = 0.03;

/// How a world's solve ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The minimiser was found: the relative residual is 1e-8 at most, 1e-3 in single precision.
    Solved,
    /// The iteration limit, or what rounding allows, came first: the residual says how far from the minimiser. δ and λ are
    /// the last iterate, inside the cones; zero where the iteration left the range of its numbers.
    IterationLimit,
    /// The iteration for Coulomb's law did not end: δ and λ are those of the relaxed law. Other scenes never say so.
    Unsettled,
    /// No δ satisfies the contacts and limits, or none within reach: δ = 0 and λ = 0.
    Infeasible,
    /// A number of the problem is NaN or out of its range (any number beyond 1e30; κ, μ, P): δ = 0 and λ = 0.
    BadInput,
}

impl Status {
    /// As results of a kernel spell it.
    pub(crate) fn code(self) -> f64 {
        match self {
            Self::Solved => 0.0,
            Self::IterationLimit => 1.0,
            Self::Unsettled => 2.0,
            Self::Infeasible => 3.0,
            Self::BadInput => 4.0,
        }
    }

    /// The opposite of [`Status::code`].
    pub(crate) fn from_code(code: f64) -> Self {
        match code {
            0.0 => Self::Solved,
            1.0 => Self::IterationLimit,
            2.0 => Self::Unsettled,
            3.0 => Self::Infeasible,
            _ => Self::BadInput,
        }
    }

    /// The name that the command line prints.
    pub fn name(self) -> &'static str {
        match self {
            Self::Solved => "solved",
            Self::IterationLimit => "iteration_limit",
            Self::Unsettled => "unsettled",
            Self::Infeasible => "infeasible",
            Self::BadInput => "bad_input",
        }
    }
}

/// Solves a lane of problems: δ, η and the report are left in `work`.
///
/// With `warm` the start is at the problem's own forces; worlds where they are outside the cones start cold.
#[inline(always)]
pub(crate) fn solve<R: Real>(
    s: &Structure,
    problem: &Problem<R>,
    max_iterations: usize,
    warm: bool,
    work: &mut Work<&mut [R]>,
) {
    let good = acceptable(s, problem);
    fill_columns(s, problem, work.columns.as_chunks_mut().0);
    for (i, touch) in Touch::of(work.touches).iter_mut().enumerate() {
        touch.start(problem.contacts, i);
    }
    newton::prepare(s, problem, work);
    factor_p(s, problem.p, work.pivot, work.factor_p);
    let mut good_p = good;
    for &pivot in work.pivot.iter() {
        good_p = good_p.and(pivot.gt(R::zero())).and(pivot.doubt(R::zero()).is_finite());
    }
    for k in 0..s.n_shared {
        let pivot = work.factor_p[s.factor_p.at(k, k)];
        good_p = good_p.and(pivot.gt(R::zero())).and(pivot.doubt(R::zero()).is_finite());
    }

    let cold = start(s, problem, (warm, soft_kappa(problem.kappa)), work);
    let mut approach = Approach::none();
    approach.join(cold.and(good_p), s, problem, work);
    let mut kappa = problem.kappa;

    let code = |status: Status| R::splat(status.code());
    let mut status = R::select(good_p, code(Status::IterationLimit), code(Status::BadInput));
    let mut running = good_p;
    let mut iterations = R::zero();
    let mut last = R::splat(f64::INFINITY);
    let mut slow = R::zero();
    let mut patience = R::splat(STUCK);
    for iteration in 1..=max_iterations {
        if !running.any() {
            break;
        }
        let (alone, change) = newton::step(s, problem, kappa, &approach, work);
        let decrement = alone.max(change);
        let sound = alone.is_finite().and(change.is_finite());
        let moving = running.and(sound);
        let apart = approach.worlds;
        let full = decrement.lt(R::splat(FULL_STEP));
        // Worlds that are not yet in the region of quadratic convergence.
        let far = moving.and(full.or(apart).not());
        let mut alpha = if far.any() { line_search(s, kappa, (far, alone), work) } else { R::one() };
        if approach.any() {
            alpha = R::select(apart, approach.length(s, work), alpha);
        }
        advance(moving, alpha, work.delta, work.step);
        for touch in Touch::of(work.touches) {
            advance(moving, alpha, &mut touch.eta, &touch.d_eta);
        }
        advance(moving, alpha, work.limit_force, work.limit_step);
        iterations += R::select(running, R::one(), R::zero());
        if apart.any() {
            approach.follow(s, problem, (moving.and(apart), alpha), work);
            let lost =
                if iteration < LONGEST { approach.worlds.and(sound.not()) } else { approach.worlds }.and(running);
            if lost.any() {
                approach.leave(lost);
                kappa = R::select(lost, kappa.min(R::splat(FIRST_KAPPA)), kappa);
                newton::prepare(s, problem, work);
                start_again(s, problem, kappa, lost, work);
            }
        }

        if iteration == TRIAL {
            let steady = kappa.lt(problem.kappa).or(apart).not();
            let late = moving.and(steady).and(decrement.gt(R::splat(FAR)));
            if late.any() {
                newton::prepare(s, problem, work);
                renew(s, problem, (late, soft_kappa(problem.kappa)), work);
                approach.join(late, s, problem, work);
            }
        }

        let apart = apart.or(approach.worlds);
        let at_last = kappa.lt(problem.kappa).not().and(apart.not());
        let stalled = decrement.lt(R::splat(STALLED)).and(last.scale(0.25).lt(decrement));
        let solved = running.and(at_last).and(decrement.lt(R::splat(CONVERGED)).or(stalled));
        running = running.and(solved.not());
        last = decrement;
        let rise = decrement.lt(R::splat(NEAR_PATH)).and(at_last.or(apart).not());
        last = R::select(rise.or(apart), R::splat(f64::INFINITY), last);
        kappa = R::select(rise, kappa.scale(RISE).min(problem.kappa), kappa);
        slow = R::select(alone.gt(R::one()).and(apart.not()), slow + R::one(), R::zero());
        let broken = running.and(sound.or(apart).not());
        let doubtful = running.and(slow.gt(R::splat(DOUBTFUL))).or(broken);
        if doubtful.any() {
            let Certificate { hopeless, energy } = certificate(s, problem, work);
            let lost = doubtful.and(hopeless).and(sound);
            status = R::select(lost, code(Status::Infeasible), status);
            running = running.and(lost.not());
            let stuck = running.and(slow.gt(patience)).or(broken);
            slow = R::select(stuck, R::zero(), slow);
            patience = R::select(stuck, patience.scale(PATIENCE), patience);
            if stuck.any() {
                let soft = R::one() / energy.max(R::tiny());
                let soft = R::select(soft.gt(R::zero()), kappa.scale(FALL).min(soft), kappa.scale(FALL));
                kappa = R::select(stuck, soft, kappa);
                newton::prepare(s, problem, work);
                start_again(s, problem, kappa, stuck, work);
            }
        }
    }
    let keep = status.lt(code(Status::Infeasible));
    let mut sum = R::zero();
    for &x in work.delta.iter().chain(work.limit_force.iter()) {
        sum = x.mul_add(R::zero(), sum);
    }
    for touch in Touch::of(work.touches).iter() {
        for &x in &touch.eta {
            sum = x.mul_add(R::zero(), sum);
        }
    }
    let sound = sum.is_finite();
    let residual = residual(s, problem, work);
    let solved = residual.gt(R::splat(tolerance::<R>())).not();
    let status = R::select(keep, R::select(solved, code(Status::Solved), code(Status::IterationLimit)), status);
    let (contacts, limits) = work.eta.split_at_mut(3 * s.nc());
    for (touch, eta) in Touch::of(work.touches).iter().lockstep(contacts.as_chunks_mut().0) {
        *eta = touch.eta;
    }
    copy(limits, work.limit_force);
    for x in work.delta.iter_mut().chain(work.eta.iter_mut()) {
        *x = R::select(keep.and(sound), *x, R::zero());
    }
    copy(work.info, &[status, iterations, R::select(keep, residual, R::zero())]);
}

/// x ← x + α step in worlds of the mask.
#[inline(always)]
fn advance<R: Real>(mask: R::Mask, alpha: R, x: &mut [R], step: &[R]) {
    for (x, &step) in x.iter_mut().lockstep(step) {
        *x = R::select(mask, alpha.mul_add(step, *x), *x);
    }
}
