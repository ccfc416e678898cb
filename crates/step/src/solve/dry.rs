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

use super::cones::{Cone, Coordinate, nearer};
use super::limit::misfit;
use super::structure::Structure;

/// Largest part of F with which a joint or a table starts.
pub(super) const MOST: f64 = 1.0 - 1e-6;

/// The dry friction of a joint, with its largest force F.
pub(super) struct Dry<R> {
    pub(super) on: Coordinate,
    places: (usize, usize),
    most: R,
}

impl<R: Real> Dry<R> {
    /// That of the l-th of a structure's limits.
    #[inline(always)]
    pub(super) fn of(s: &Structure, gaps: &[R], l: usize) -> Self {
        Self { on: Coordinate::of(s, l), places: (l, 2 * l - s.n_limits), most: gaps[l] }
    }

    /// x = F − η and y = F + η.
    #[inline(always)]
    fn room(&self, eta: R) -> [R; 2] {
        [self.most - eta, self.most + eta]
    }

    /// x and y with their changes where the force changes so.
    #[inline(always)]
    fn bounds(&self, eta: R, d_eta: R) -> [(R, R); 2] {
        let [x, y] = self.room(eta);
        [(x, R::zero() - d_eta), (y, d_eta)]
    }

    /// a = κ F δ and s = √(1 + a²).
    #[inline(always)]
    fn stretched(&self, kappa: R, delta: R) -> (R, R) {
        let a = kappa * self.most * delta;
        (a, a.mul_add(a, R::one()).sqrt())
    }

    /// The force −F a / (1 + s) at a displacement.
    #[inline(always)]
    fn force(&self, kappa: R, delta: R) -> R {
        let (a, s) = self.stretched(kappa, delta);
        -(self.most * a / (R::one() + s))
    }

    /// The displacement −2 η / (κ x y) that belongs to the force.
    #[inline(always)]
    fn displacement(&self, kappa: R, eta: R) -> R {
        let [x, y] = self.room(eta);
        -(eta.scale(2.0) / (kappa * x * y))
    }

    /// The derivative of η at fixed δ by F, −a/s.
    #[inline(always)]
    fn by_most(&self, kappa: R, delta: R) -> R {
        let (a, s) = self.stretched(kappa, delta);
        -(a / s)
    }
}

impl<R: Real> Cone<R, 1, 2> for Dry<R> {
    type Weight = [R; 1];

    #[inline(always)]
    fn places(&self) -> (usize, usize) {
        self.places
    }

    #[inline(always)]
    fn at(&self, delta: &[R]) -> [R; 1] {
        self.on.moved(delta)
    }

    #[inline(always)]
    fn is_valid(&self) -> R::Mask {
        self.most.gt(R::zero())
    }

    #[inline(always)]
    fn is_inside(&self, [eta]: [R; 1]) -> R::Mask {
        let [x, y] = self.room(eta);
        x.gt(R::zero()).and(y.gt(R::zero()))
    }

    #[inline(always)]
    fn slack_of(&self, kappa: R, [eta]: [R; 1]) -> [R; 2] {
        let [x, y] = self.room(eta);
        [R::one() / (kappa * x), R::one() / (kappa * y)]
    }

    /// What holds the joint still, or what belongs to all of the displacement that it would have without friction, if
    /// that is less.
    #[inline(always)]
    fn alone(&self, kappa: R, pivot: &[R], [u]: [R; 1]) -> [R; 1] {
        let most = self.force(kappa, u).abs().min(self.most.scale(MOST));
        [R::zero() - (u / pivot[self.on.dof]).max(R::zero() - most).min(most)]
    }

    #[inline(always)]
    fn lifted(&self, mask: R::Mask, [a, b]: [R; 2], [u]: [R; 1], part: f64) -> [R; 2] {
        let lift = R::select(mask, (u - (b - a)).abs().scale(part), R::zero());
        [a + lift, b + lift]
    }

    /// W = κ x²y²/(x² + y²).
    #[inline(always)]
    fn response(&self, kappa: R, [eta]: [R; 1]) -> ([R; 1], [R; 1]) {
        let [x, y] = self.room(eta);
        let product = x * y;
        let weight = kappa * product * product / x.mul_add(x, y * y);
        ([weight], [weight.mul_add(self.displacement(kappa, eta), eta)])
    }

    #[inline(always)]
    fn response_with(&self, kappa: R, tau: R, [eta]: [R; 1], [a, b]: [R; 2]) -> ([R; 1], [R; 1]) {
        let [x, y] = self.room(eta);
        let weight = x * y / a.mul_add(y, b * x);
        ([weight], [weight.mul_add(tau * self.displacement(kappa, eta), eta)])
    }

    #[inline(always)]
    fn slack_step(
        &self,
        [kappa, tau]: [R; 2],
        [[eta], [d_eta]]: [[R; 1]; 2],
        [a, b]: [R; 2],
        _: [[R; 1]; 2],
    ) -> [R; 2] {
        let [x, y] = self.room(eta);
        let target = tau / kappa;
        [(a.mul_add(d_eta, target)) / x - a, (target - b * d_eta) / y - b]
    }

    #[inline(always)]
    fn nearer(&self, end: R, [eta]: [R; 1], [d_eta]: [R; 1]) -> R {
        let [(x, d_x), (y, d_y)] = self.bounds(eta, d_eta);
        nearer(nearer(end, x, d_x), y, d_y)
    }

    /// Twice the sum of slacks times x and y.
    #[inline(always)]
    fn add_product(&self, [eta]: [R; 1], [a, b]: [R; 2], sum: R) -> R {
        let [x, y] = self.room(eta);
        sum + a.mul_add(x, b * y).scale(2.0)
    }

    #[inline(always)]
    fn misfit(&self, kappa: R, eta: [R; 1], [u]: [R; 1]) -> R {
        let error = u - self.displacement(kappa, eta[0]);
        kappa * self.response(kappa, eta).0[0] * error * error
    }

    #[inline(always)]
    fn misfit_with(&self, kappa: R, [eta]: [R; 1], [a, b]: [R; 2]) -> R {
        let [x, y] = self.room(eta);
        misfit(kappa, x.scale(2.0), a).max(misfit(kappa, y.scale(2.0), b))
    }

    #[inline(always)]
    fn decrement(&self, kappa: R, [eta]: [R; 1], [u]: [R; 1], [d_eta]: [R; 1]) -> R {
        d_eta * kappa * (u - self.displacement(kappa, eta))
    }

    #[inline(always)]
    fn add_slopes(&self, alpha: R, [eta]: [R; 1], [d_eta]: [R; 1], [first, second]: &mut [R; 2]) {
        for (bound, step) in self.bounds(eta, d_eta) {
            let log = step / alpha.mul_add(step, bound);
            *first -= log;
            *second = log.mul_add(log, *second);
        }
    }

    #[inline(always)]
    fn rounding(&self, [eta]: [R; 1], unit: R, worst: R) -> R {
        let [x, y] = self.room(eta);
        worst.max((x + y) / x.min(y) * unit)
    }

    /// As a part of F.
    #[inline(always)]
    fn residual(&self, kappa: R, [eta]: [R; 1], delta: &[R], _: R) -> R {
        let [u] = self.at(delta);
        (eta - self.force(kappa, u)).abs() / self.most
    }

    /// From u, which has the digits that F − η loses where the joint slips.
    #[inline(always)]
    fn settled(&self, kappa: R, _: [R; 1], [u]: [R; 1]) -> [R; 1] {
        [self.force(kappa, u)]
    }

    #[inline(always)]
    fn weight_at(&self, kappa: R, eta: [R; 1], u: [R; 1]) -> [R; 1] {
        let [scaling] = self.root_at(kappa, eta, u);
        [scaling * scaling]
    }

    /// The root of κ F²/(s (1 + s)).
    #[inline(always)]
    fn root_at(&self, kappa: R, _: [R; 1], [u]: [R; 1]) -> [R; 1] {
        let (_, s) = self.stretched(kappa, u);
        [self.most * (kappa / s.mul_add(s, s)).sqrt()]
    }

    /// −F a/(s (1 + s)).
    #[inline(always)]
    fn by_kappa(&self, kappa: R, _: [R; 1], [u]: [R; 1]) -> [R; 1] {
        let (_, s) = self.stretched(kappa, u);
        [self.by_most(kappa, u) * self.most / (R::one() + s)]
    }

    #[inline(always)]
    fn vjp(&self, kappa: R, [u]: [R; 1], [[e], _]: [[R; 1]; 2], _: [&[R]; 2], gaps: &mut [R]) {
        gaps[self.places.0] = e * self.by_most(kappa, u);
    }
}
