//! Dry friction of joints: a bounded force in the same barrier.
//!
//! The force η of a joint's dry friction is at most F, and has the barrier −(1/κ) log(F² − η²) in the dual function. So
//! it belongs to the joint's displacement δ in the step by
//!
//! ```text
//! δ = −2 η / (κ (F² − η²))        η = −F a / (1 + √(1 + a²)),   a = κ F δ
//! ```
//!
//! as the friction of a contact whose limit is F. These are two one-sided bounds, x = F − η > 0 and y = F + η > 0, each
//! with a slack: δ = b − a, a x = b y = 1/κ. The primal-dual method of [`super::approach`] has these slacks as
//! unknowns, and aims at τ/κ:
//!
//! ```text
//! Δa = τ/(κ x) − a + (a/x) Δη        Δb = τ/(κ y) − b − (b/y) Δη
//! ```

use fingertip_lanes::lane::{Mask, Real};

use super::limit::{LimitResponse, limit_misfit};

/// Largest part of F with which a joint starts.
const MOST: f64 = 1.0 - 1e-6;

/// The force of a joint's dry friction, with what it may still rise and fall by.
pub(super) struct Dry<R> {
    eta: R,
    /// x = F − η and y = F + η.
    room: [R; 2],
}

/// Slacks a and b of a joint with dry friction, and their changes in the step.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct DryState<R> {
    pub(super) slack: [R; 2],
    pub(super) d_slack: [R; 2],
}

/// Length of a [`DryState`] in numbers.
pub(super) const DRY_STATE: usize = size_of::<DryState<f64>>() / size_of::<f64>();

impl<R: Real> DryState<R> {
    /// Views a slice of numbers as the joints' states, [`DRY_STATE`] numbers each.
    #[inline(always)]
    pub(super) fn of(numbers: &mut [R]) -> &mut [Self] {
        // SAFETY: a `repr(C)` struct of nothing but `R`s is as aligned as one and as large as `DRY_STATE` of them.
        unsafe { std::slice::from_raw_parts_mut(numbers.as_mut_ptr().cast(), numbers.len() / DRY_STATE) }
    }

    /// Takes a step of length α of the slacks in worlds of the mask.
    #[inline(always)]
    pub(super) fn go(&mut self, moving: R::Mask, alpha: R) {
        for k in 0..2 {
            self.slack[k] = R::select(moving, alpha.mul_add(self.d_slack[k], self.slack[k]), self.slack[k]);
        }
    }
}

impl<R: Real> Dry<R> {
    /// The force η where F is `most`.
    #[inline(always)]
    pub(super) fn new(most: R, eta: R) -> Self {
        Self { eta, room: [most - eta, most + eta] }
    }

    /// The force −F a / (1 + √(1 + a²)) at a displacement.
    #[inline(always)]
    pub(super) fn force(kappa: R, most: R, delta: R) -> R {
        let a = kappa * most * delta;
        -(most * a / (R::one() + a.mul_add(a, R::one()).sqrt()))
    }

    /// The root of −∂η/∂δ = κ F²/(s (1 + s)), s = √(1 + a²). From δ, which has the digits that F − η loses where the
    /// joint slips.
    #[inline(always)]
    pub(super) fn scaling(kappa: R, most: R, delta: R) -> R {
        let a = kappa * most * delta;
        let s = a.mul_add(a, R::one()).sqrt();
        most * (kappa / s.mul_add(s, s)).sqrt()
    }

    /// The derivatives of η at fixed δ by F, −a/s, and by κ times κ, −F a/(s (1 + s)).
    #[inline(always)]
    pub(super) fn rates(kappa: R, most: R, delta: R) -> [R; 2] {
        let a = kappa * most * delta;
        let s = a.mul_add(a, R::one()).sqrt();
        let by_most = -(a / s);
        [by_most, by_most * most / (R::one() + s)]
    }

    /// The force of the joint alone, about: by `free` it would move without friction, by d more for a unit force. What
    /// holds it still, or what belongs to all of that displacement, if that is less.
    #[inline(always)]
    pub(super) fn alone(kappa: R, most: R, d: R, free: R) -> R {
        let most_now = Self::force(kappa, most, free).abs().min(most.scale(MOST));
        R::zero() - (free / d).max(R::zero() - most_now).min(most_now)
    }

    /// Is the force within its bounds?
    #[inline(always)]
    pub(super) fn is_inside(&self) -> R::Mask {
        let [x, y] = self.room;
        x.gt(R::zero()).and(y.gt(R::zero()))
    }

    /// The slacks that belong to the force.
    #[inline(always)]
    pub(super) fn slacks(&self, kappa: R) -> [R; 2] {
        let [x, y] = self.room;
        [R::one() / (kappa * x), R::one() / (kappa * y)]
    }

    /// The displacement that belongs to the force.
    #[inline(always)]
    pub(super) fn displacement(&self, kappa: R) -> R {
        let [x, y] = self.room;
        -(self.eta.scale(2.0) / (kappa * x * y))
    }

    /// −∂η/∂δ = κ x²y²/(x² + y²).
    #[inline(always)]
    pub(super) fn weight(&self, kappa: R) -> R {
        let [x, y] = self.room;
        let product = x * y;
        kappa * product * product / x.mul_add(x, y * y)
    }

    /// The linearised response η + Δη = pull − weight · (δ after the step), for forces whose slacks belong to them.
    #[inline(always)]
    pub(super) fn response(&self, kappa: R) -> LimitResponse<R> {
        let weight = self.weight(kappa);
        LimitResponse { weight, pull: weight.mul_add(self.displacement(kappa), self.eta) }
    }

    /// [`Dry::response`] with slacks of their own.
    #[inline(always)]
    pub(super) fn response_with(&self, kappa: R, tau: R, [a, b]: [R; 2]) -> LimitResponse<R> {
        let [x, y] = self.room;
        let weight = x * y / a.mul_add(y, b * x);
        LimitResponse { weight, pull: weight.mul_add(tau * self.displacement(kappa), self.eta) }
    }

    /// The changes of the slacks where the force changes so.
    #[inline(always)]
    pub(super) fn slack_steps(&self, kappa: R, tau: R, [a, b]: [R; 2], d_eta: R) -> [R; 2] {
        let [x, y] = self.room;
        let target = tau / kappa;
        [(a.mul_add(d_eta, target)) / x - a, (target - b * d_eta) / y - b]
    }

    /// x and y with their changes where the force changes so.
    #[inline(always)]
    pub(super) fn bounds(&self, d_eta: R) -> [(R, R); 2] {
        let [x, y] = self.room;
        [(x, R::zero() - d_eta), (y, d_eta)]
    }

    /// How far δ is from what belongs to the force, as [`super::cone::Cone::misfit`].
    #[inline(always)]
    pub(super) fn misfit(&self, kappa: R, delta: R) -> R {
        let error = delta - self.displacement(kappa);
        kappa * self.weight(kappa) * error * error
    }

    /// How far slacks are from those of the force, as [`super::cone::Cone::misfit`].
    #[inline(always)]
    pub(super) fn misfit_with(&self, kappa: R, [a, b]: [R; 2]) -> R {
        let [x, y] = self.room;
        limit_misfit(kappa, x.scale(2.0), a).max(limit_misfit(kappa, y.scale(2.0), b))
    }

    /// Twice the sum of slacks times x and y.
    #[inline(always)]
    pub(super) fn product(&self, [a, b]: [R; 2]) -> R {
        let [x, y] = self.room;
        a.mul_add(x, b * y).scale(2.0)
    }

    /// F over what is left of it, which rounding of the force leaves digits of.
    #[inline(always)]
    pub(super) fn narrowness(&self) -> R {
        let [x, y] = self.room;
        (x + y) / x.min(y)
    }
}
