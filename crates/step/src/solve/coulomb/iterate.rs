//! The iteration for Coulomb's law: its steps, and the attempts from several starts (multi-start continuation in κ and,
//! after the first, in how much stiffer friction is than normal forces).

use fingertip_lanes::lane::{Mask, Real, Zip, state, when};
use fingertip_scene::Friction;

use super::super::approach::{ARRIVED, Approach, FASTEST, TRIAL};
use super::super::log::{Attempt, note};
use super::super::memory::{Problem, STATUS, Work};
use super::super::newton;
use super::super::start::{renew, renew_all, soft_kappa, start};
use super::super::status::{Coded, Status, is_among};
use super::super::structure::Structure;
use super::join::{join_anew, recall};
use super::step::{go, length, mean_product, step};

/// Misfit below which an iterate that no longer improves counts as found: what is left is rounding.
const STALLED: f64 = 1e-8;
/// Where the ratio of stiffness begins with 1: misfit below which it grows, and by what factor.
const STIFFER: f64 = 1e-2;
const GROWTH: f64 = 1.5;
/// Step-size rules of an attempt.
struct Pace {
    /// Part of the way to a boundary that a step goes, and the least part to which τ falls in one. Less leaves some
    /// contact behind the others, with steps that end at its boundary, and longer steps end at other answers.
    reach: f64,
    fastest: f64,
    /// Steps after which an attempt has failed, relative to
    /// [`Settings::coulomb_iterations`](fingertip_scene::Settings).
    longest: f64,
}

const BRISK: Pace = Pace { reach: 0.9, fastest: FASTEST, longest: 1.0 };
/// The pace of the careful attempt, from a softer start, where the attempts with the brisk pace have failed.
const CAREFUL: Pace = Pace { reach: 0.7, fastest: 0.6, longest: 120.0 / 36.0 };
const SOFTEST_KAPPA: f64 = 30.0;

/// State of the iteration for Coulomb's law in a lane's worlds.
struct Iterate<R: Real> {
    approach: Approach<R>,
    running: R::Mask,
    found: R::Mask,
    /// Number of steps of the present [`Attempt`], and its code.
    steps: R,
    attempt: R,
    iterations: R,
    /// Misfit after the step before.
    last: R,
    /// How much stiffer friction is than normal forces: at last as the structure says.
    ratio: R,
}

state!(Iterate { numbers: [steps, attempt, iterations, last, ratio], flags: [running, found], states: [approach] });

/// Runs the iteration. Returns the worlds with an answer, and the numbers of iterations that it took.
#[inline(always)]
pub(super) fn find<R: Real, const N: usize>(
    s: &Structure,
    problem: &Problem<R>,
    max_iterations: usize,
    (worlds, warm, again): (R::Mask, bool, bool),
    work: &mut Work<&mut [R]>,
) -> (R::Mask, R) {
    let mut running = worlds.and(newton::set_up::<R, N>(s, problem, work));
    let mut approach = Approach::none();
    if again {
        running = running.and(Status::Unsettled.is_after(work.info[STATUS]));
        recall::<R, N>(s, problem, work);
    } else {
        let soft = R::splat(s.settings.coulomb_kappa);
        let cold = start::<R, N>(s, problem, (Friction::Coulomb, warm, soft), work);
        join_anew::<R, N>(cold.and(running), s, problem, &mut approach, work);
    }
    let (first, ratio) = if again { (Attempt::FromRelaxed, 1.0) } else { (Attempt::AtOnce, s.impratio) };
    let mut iterate = Iterate {
        approach,
        running,
        found: R::Mask::splat(false),
        steps: R::zero(),
        attempt: first.everywhere(),
        iterations: R::zero(),
        last: R::splat(f64::INFINITY),
        ratio: R::splat(ratio),
    };
    R::repeat(
        max_iterations,
        &mut (&mut iterate, &mut *work),
        #[inline(always)]
        |(at, _)| at.running,
        #[inline(always)]
        |(at, work)| at.advance::<N>(s, problem, work),
    );
    (iterate.found, iterate.iterations)
}

/// A number of the pace of each world: that of the careful pace in worlds of the mask, else of the brisk one.
#[inline(always)]
fn pace<R: Real>(careful: R::Mask, brisk: f64, careful_one: f64) -> R {
    R::select(careful, R::splat(careful_one), R::splat(brisk))
}

impl<R: Real> Iterate<R> {
    /// One step of the running worlds; decides which have found an answer, go on, or make the next attempt.
    #[inline(always)]
    fn advance<const N: usize>(&mut self, s: &Structure, problem: &Problem<R>, work: &mut Work<&mut [R]>) {
        let (running, apart) = (self.running, self.approach.worlds);
        step::<R, N>(s, problem, (&self.approach, self.ratio), work);
        let careful = Attempt::Careful.is(self.attempt);
        let end = length::<R, N>(s, problem, (&self.approach, self.ratio), work);
        let alpha = (end * pace(careful, BRISK.reach, CAREFUL.reach)).min(R::one());
        let sound = alpha.is_finite();
        let moving = running.and(sound);
        for (delta, &step) in work.delta.iter_mut().zip_inline(work.step.iter()) {
            *delta = R::select(moving, alpha.mul_add(step, *delta), *delta);
        }
        let worst = go::<R, N>(s, problem, (moving, alpha, self.ratio), work);
        self.iterations += R::select(running, R::one(), R::zero());
        self.steps += R::one();
        note::<R, N>(s, [self.attempt, alpha, worst], work);

        let is_full = alpha.lt(R::one()).not();
        let fastest = pace(careful, BRISK.fastest, CAREFUL.fastest);
        self.approach.judge(moving, [alpha, worst, mean_product::<R, N>(s, problem, work)], fastest);
        let stalled = worst.lt(R::splat(STALLED)).and(self.last.scale(0.25).lt(worst));
        let last_step = self.last.lt(R::splat(s.settings.last_error)).or(stalled);
        let stiff = self.ratio.lt(R::splat(s.impratio)).not();
        let found = moving.and(apart.not()).and(is_full).and(last_step).and(stiff);
        let stiffer = moving.and(is_full).and(worst.lt(R::splat(STIFFER))).and(stiff.not());
        self.last = R::select(stiffer, R::splat(f64::INFINITY), worst);
        self.steps = R::select(stiffer, R::zero(), self.steps);
        self.ratio = R::select(stiffer, self.ratio.scale(GROWTH).min(R::splat(s.impratio)), self.ratio);
        self.found = self.found.or(found);
        self.running = running.and(found.not());

        let trial = is_among([TRIAL; 2], self.iterations);
        let far = worst.lt(R::splat(ARRIVED)).not().and(apart.not());
        let late = self.running.and(trial).and(far);
        when!(late, &mut (&mut self.approach, &mut *work), |(approach, work)| {
            newton::prepare::<R, N>(s, problem, work);
            renew::<R, N>(s, problem, (Friction::Coulomb, late, R::splat(s.settings.coulomb_kappa)), work);
            join_anew::<R, N>(late, s, problem, approach, work);
        });
        let most = f64::from(s.settings.coulomb_iterations);
        let longest = pace(careful, most * BRISK.longest, most * CAREFUL.longest);
        let lost = self.running.and(sound.not().or(self.steps.gt(longest)));
        when!(lost, &mut (self, work), |(at, work)| at.give_up::<N>(s, problem, lost, work));
    }

    /// Gives up an attempt that has failed: worlds of the mask make the next one, and none after the careful one.
    #[inline(always)]
    fn give_up<const N: usize>(
        &mut self,
        s: &Structure,
        problem: &Problem<R>,
        lost: R::Mask,
        work: &mut Work<&mut [R]>,
    ) {
        let again = lost.and(Attempt::Careful.is_after(self.attempt));
        self.running = self.running.and(lost.not().or(again));
        self.attempt += R::select(again, R::one(), R::zero());
        let soft = R::select(Attempt::Careful.is(self.attempt), R::splat(SOFTEST_KAPPA), soft_kappa(problem.kappa));
        self.steps = R::select(again, R::zero(), self.steps);
        self.ratio = R::select(again, R::one(), self.ratio);
        newton::prepare::<R, N>(s, problem, work);
        renew_all::<R, N>(s, problem, (Friction::Coulomb, again, soft), work);
        join_anew::<R, N>(again, s, problem, &mut self.approach, work);
    }
}
