//! Newton's method on the dual of the smoothed contact problem, in lanes of worlds.
//!
//! The problem, see the crate's front page, is to minimise ½ δᵀPδ + gᵀδ − (1/κ) Σ log ρ(ζ). Its optimality conditions,
//! with scaled forces η and Jacobians J̃ = M J of [`super::cone`]:
//!
//! ```text
//! r₁ = P δ + g − J̃ᵀη = 0        r₂ = ζ − 2 R η / (κ ρ(η)) = 0,    ζ = J̃ δ + φ n
//! ```
//!
//! One step solves (P + J̃ᵀWJ̃) Δδ = −r₁ − J̃ᵀW r₂ and takes Δη = −W (r₂ + J̃ Δδ). It is Newton's step for the dual
//! function ½‖J̃ᵀη − g‖²_P⁻¹ + φᵀη_n − (1/κ) Σ log ρ(η), which is self-concordant up to the factor κ: with an exact
//! line search it converges from *any* η inside the cones. So it converges for any φ, touching and penetrating
//! included.
//!
//! Far from the solution it converges slowly. Most worlds therefore first come near by a primal-dual method
//! ([`super::approach`]), from the forces of the step before or from the root of each contact alone ([`super::start`]).
//! If that fails, they start again with a small κ, which rises tenfold each time the iterate is near the path. If the
//! dual is unbounded below, no δ is feasible. η then grows along a certificate of infeasibility, and that ends the
//! iteration.

use fingertip_lanes::lane::{Mask, Precision, Real, copy, state, when, zero_unless};
use fingertip_scene::Friction;

use super::approach::{ARRIVED, Approach, TRIAL, advance};
use super::contact_state::ContactState;
use super::coulomb;
use super::forces::write_forces;
use super::line_search::line_search;
use super::log::{Attempt, note};
use super::memory::{Problem, Work};
use super::newton;
use super::optimality::{Certificate, are_in_range, are_inside, certificate, noise, residual, tolerance};
use super::presence::listed;
use super::start::{renew, renew_all, soft_kappa, start};
use super::status::{Accuracy, Coded, Status, is_among};
use super::structure::Structure;

/// κ · decrement² below which a step is the last. The error that remains is at most its square, relative to the forces'
/// squares. In single precision that is below rounding sooner.
fn converged<R: Real>(s: &Structure, accuracy: Accuracy) -> f64 {
    match (accuracy, R::precision()) {
        (Accuracy::Rough, _) => s.settings.rough_last_error,
        (Accuracy::Fine, Precision::Double) => s.settings.last_error,
        (Accuracy::Fine, Precision::Single) => s.settings.last_error.max(1e-7),
    }
}

/// κ · decrement² below which an iterate that no longer improves is the last, because only rounding is left. Where
/// rounding is larger (see [`noise`]), the limit is this many times as large.
const STALLED: f64 = 1e-6;
const NOISE: f64 = 16.0;
/// κ · decrement² below which a full step is sure to stay inside and to decrease (self-concordance: decrement < 1/4).
const FULL_STEP: f64 = 0.05;
/// Steps with κ · decrement² above 1 after which an iterate counts as stuck. Far from the path, along the boundary of a
/// cone, steps are short even with an exact line search. An iterate whose step is not a number is stuck too. A stuck
/// iterate starts again on the cones' axes. Its κ is reduced by a factor and is below 1 over the energy reached, so
/// that the barrier outweighs the rest. Each restart gets more steps than the one before, because on the way to a
/// narrow certificate every step is far from the path.
const STUCK: f64 = 8.0;
const PATIENCE: f64 = 4.0;
const FALL: f64 = 0.03;

/// Solves a lane of problems: δ, η and the report are left in `work`.
///
/// Only worlds of the mask count. With `warm` it starts from the problem's own forces; worlds in which these are
/// outside the cones start cold. With `opens` each answer [opens](coulomb::open) gaps by the slips in it, and the solve
/// goes on from there.
#[inline(always)]
pub(crate) fn solve<R: Real, const N: usize>(
    s: &Structure,
    problem: &Problem<R>,
    max_iterations: usize,
    (worlds, warm, accuracy, opens): (R::Mask, bool, Accuracy, bool),
    work: &mut Work<&mut [R]>,
) {
    let good_p = newton::set_up::<R, N>(s, problem, work);
    let running = good_p.and(worlds);
    if opens {
        coulomb::close::<R, N>(work);
    }

    let cold = start::<R, N>(s, problem, (Friction::Relaxed, warm, soft_kappa(problem.kappa)), work);
    let mut approach = Approach::none();
    approach.join::<N>(cold.and(running), s, problem, work);
    let status = R::select(good_p, Status::IterationLimit.everywhere(), Status::BadInput.everywhere());
    let mut iterate = Iterate {
        approach,
        kappa: problem.kappa,
        status,
        iterations: R::zero(),
        last: R::splat(f64::INFINITY),
        began: R::zero(),
        slow: R::zero(),
        patience: R::splat(STUCK),
        running,
    };
    R::repeat(
        max_iterations,
        &mut (&mut iterate, &mut *work),
        #[inline(always)]
        |(at, _)| at.running,
        #[inline(always)]
        |(at, work)| at.advance::<N>(s, problem, (accuracy, opens), work),
    );
    let Iterate { status, iterations, .. } = iterate;
    let keep = Status::Infeasible.is_after(status);
    let sound = are_in_range::<R, N>(work).and(are_inside::<R, N>(s, problem, work));
    let residual = residual::<R, N>(s, problem, Friction::Relaxed, work);
    let solved = sound.and(residual.gt(R::splat(tolerance::<R>(s))).not());
    let found = R::select(solved, Status::Solved.everywhere(), Status::IterationLimit.everywhere());
    let status = R::select(keep, found, status);
    write_forces::<R, N>(s, problem, work);
    zero_unless(keep.and(sound), work.delta);
    zero_unless(keep.and(sound), work.eta);
    copy(work.info, &[status, iterations, R::select(keep, residual, R::zero()), R::zero()]);
}

/// State of the Newton iteration of a lane's worlds, except δ and the forces.
struct Iterate<R: Real> {
    approach: Approach<R>,
    kappa: R,
    status: R,
    iterations: R,
    /// κ · decrement² of the step before.
    last: R,
    /// Number of iterations before the present start.
    began: R,
    /// Steps in a row that were far from the path, and the number from which an iterate is stuck.
    slow: R,
    patience: R,
    running: R::Mask,
}

state!(Iterate {
    numbers: [kappa, status, iterations, last, began, slow, patience],
    flags: [running],
    states: [approach]
});

impl<R: Real> Iterate<R> {
    /// One Newton iteration of all running worlds.
    #[inline(always)]
    fn advance<const N: usize>(
        &mut self,
        s: &Structure,
        problem: &Problem<R>,
        (accuracy, opens): (Accuracy, bool),
        work: &mut Work<&mut [R]>,
    ) {
        let running = self.running;
        let (alone, change) = newton::step::<R, N>(s, problem, self.kappa, &self.approach, work);
        let decrement = alone.max(change);
        let sound = alone.is_finite().and(change.is_finite());
        let moving = running.and(sound);
        let apart = self.approach.worlds;
        let full = decrement.lt(R::splat(FULL_STEP));
        // Worlds that are not yet in the region of quadratic convergence.
        let far = moving.and(full.or(apart).not());
        let kappa = self.kappa;
        let (mut alpha, approach) = ([R::one()], &self.approach);
        when!(far, &mut (&mut alpha, &mut *work), |(alpha, work)| {
            alpha[0] = line_search::<R, N>(s, problem, kappa, (far, alone), work);
        });
        when!(apart, &mut (&mut alpha, &mut *work), |(alpha, work)| {
            alpha[0] = R::select(apart, approach.length::<N>(s, problem, work), alpha[0]);
        });
        let [alpha] = alpha;
        advance(moving, alpha, work.delta, work.step);
        for state in listed(work.list, ContactState::<R, N>::of(work.contact_states)) {
            when!(state.is_there(), &mut state.eta, |eta| advance(moving, alpha, eta, &state.d_eta));
        }
        advance(moving, alpha, work.limit_force, work.limit_step);
        self.iterations += R::select(running, R::one(), R::zero());
        let newton = R::select(kappa.lt(problem.kappa), Attempt::Restart.everywhere(), Attempt::Newton.everywhere());
        note::<R, N>(s, [R::select(apart, Attempt::PrimalDual.everywhere(), newton), alpha, decrement], work);
        when!(apart, &mut (&mut *self, &mut *work), |(at, work)| {
            at.follow::<N>(s, problem, (moving.and(apart), alpha, sound), work);
        });

        let trial = is_among([TRIAL; 2], self.iterations);
        let steady = self.kappa.lt(problem.kappa).or(apart).not();
        let late = moving.and(trial).and(steady).and(decrement.gt(R::splat(ARRIVED)));
        when!(late, &mut (&mut self.approach, &mut *work), |(approach, work)| {
            newton::prepare::<R, N>(s, problem, work);
            renew::<R, N>(s, problem, (Friction::Relaxed, late, soft_kappa(problem.kappa)), work);
            approach.join::<N>(late, s, problem, work);
        });

        let apart = apart.or(self.approach.worlds);
        let at_last = self.kappa.lt(problem.kappa).not().and(apart.not());
        let idle = moving.and(at_last).and(self.last.scale(0.25).lt(decrement)).and(decrement.lt(R::splat(NOISE)));
        let mut stalled = [R::splat(STALLED)];
        when!(idle, &mut (&mut stalled, &mut *work), |(stalled, work)| {
            stalled[0] = stalled[0].max(noise::<R, N>(s, problem, work).scale(NOISE));
        });
        let stalled = idle.and(decrement.lt(stalled[0]));
        let done = running.and(at_last).and(decrement.lt(R::splat(converged::<R>(s, accuracy))).or(stalled));
        self.running = running.and(done.not());
        let rise = decrement.lt(R::splat(ARRIVED)).and(at_last.or(apart).not());
        self.last = R::select(rise.or(apart), R::splat(f64::INFINITY), decrement);
        self.kappa = R::select(rise, self.kappa.scale(s.settings.restart_growth).min(problem.kappa), self.kappa);
        self.slow = R::select(alone.gt(R::one()).and(apart.not()), self.slow + R::one(), R::zero());
        let broken = self.running.and(sound.or(apart).not());
        // Forces must have grown before they can be a certificate.
        let doubtful = self.running.and(self.slow.gt(R::splat(TRIAL))).or(broken);
        when!(doubtful, &mut (&mut *self, &mut *work), |(at, work)| {
            at.doubt::<N>(s, problem, (doubtful, broken, sound), work);
        });
        if opens {
            when!(done, &mut (self, work), |(at, work)| at.open::<N>(s, problem, done, work));
        }
    }

    /// Worlds that have been solved go on with the gaps that their slips open, until these are nearly those that they
    /// have.
    #[inline(always)]
    fn open<const N: usize>(
        &mut self,
        s: &Structure,
        problem: &Problem<R>,
        solved: R::Mask,
        work: &mut Work<&mut [R]>,
    ) {
        let again = coulomb::open::<R, N>(s, problem, solved, work);
        newton::prepare::<R, N>(s, problem, work);
        renew::<R, N>(s, problem, (Friction::Relaxed, again, soft_kappa(problem.kappa)), work);
        self.approach.join::<N>(again, s, problem, work);
        self.running = self.running.or(again);
        self.last = R::select(again, R::splat(f64::INFINITY), self.last);
        self.began = R::select(again, self.iterations, self.began);
        self.slow = R::select(again, R::zero(), self.slow);
    }

    /// After a step of the approach: worlds in which it makes no progress start again.
    #[inline(always)]
    fn follow<const N: usize>(
        &mut self,
        s: &Structure,
        problem: &Problem<R>,
        (moving, alpha, sound): (R::Mask, R, R::Mask),
        work: &mut Work<&mut [R]>,
    ) {
        self.approach.follow::<N>(s, problem, (moving, alpha), work);
        let most = R::splat(f64::from(s.settings.primal_dual_iterations));
        let late = (self.iterations - self.began).lt(most).not();
        let lost = self.approach.worlds.and(sound.not().or(late)).and(self.running);
        when!(lost, &mut (self, work), |(at, work)| {
            at.approach.leave(lost);
            let soft = at.kappa.min(R::splat(s.settings.restart_kappa));
            at.restart::<N>(s, problem, (lost, soft), work);
        });
    }

    /// Looks for a certificate of infeasibility, and restarts stuck iterates.
    #[inline(always)]
    fn doubt<const N: usize>(
        &mut self,
        s: &Structure,
        problem: &Problem<R>,
        (doubtful, broken, sound): (R::Mask, R::Mask, R::Mask),
        work: &mut Work<&mut [R]>,
    ) {
        let Certificate { infeasible, energy } = certificate::<R, N>(s, problem, work);
        let lost = doubtful.and(infeasible).and(sound);
        self.status = R::select(lost, Status::Infeasible.everywhere(), self.status);
        self.running = self.running.and(lost.not());
        let stuck = self.running.and(self.slow.gt(self.patience)).or(broken);
        self.slow = R::select(stuck, R::zero(), self.slow);
        self.patience = R::select(stuck, self.patience.scale(PATIENCE), self.patience);
        when!(stuck, &mut (self, work), |(at, work)| {
            let soft = R::one() / energy.max(R::tiny());
            let soft = R::select(soft.gt(R::zero()), at.kappa.scale(FALL).min(soft), at.kappa.scale(FALL));
            at.restart::<N>(s, problem, (stuck, soft), work);
        });
    }

    /// Worlds of the mask start again on the cones' axes, with a κ that is soft.
    #[inline(always)]
    fn restart<const N: usize>(
        &mut self,
        s: &Structure,
        problem: &Problem<R>,
        (worlds, soft): (R::Mask, R),
        work: &mut Work<&mut [R]>,
    ) {
        self.kappa = R::select(worlds, soft, self.kappa);
        newton::prepare::<R, N>(s, problem, work);
        renew_all::<R, N>(s, problem, (Friction::Relaxed, worlds, soft), work);
    }
}
