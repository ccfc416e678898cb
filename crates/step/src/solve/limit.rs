//! A joint limit: a contact of one dimension, gap > 0 and force η > 0, with the barrier −(2/κ) log gap.
//!
//! ```text
//! u = ±δ + gap        u(η) = s(η) = 2/(κ η)        W = ½ κ η², with a slack of its own η/s
//! ```

use fingertip_lanes::lane::Real;

use super::cones::{Cone, Coordinate, nearer};
use super::structure::Structure;

/// The limit of a joint on one side.
pub(super) struct Limit<'a, R> {
    pub(super) on: Coordinate,
    l: usize,
    gaps: &'a [R],
}

impl<'a, R: Real> Limit<'a, R> {
    /// The l-th limit of a structure.
    #[inline(always)]
    pub(super) fn of(s: &Structure, gaps: &'a [R], l: usize) -> Self {
        Self { on: Coordinate::of(s, l), l, gaps }
    }
}

impl<R: Real> Cone<R, 1, 1> for Limit<'_, R> {
    type Weight = [R; 1];

    #[inline(always)]
    fn places(&self) -> (usize, usize) {
        (self.l, self.l)
    }

    #[inline(always)]
    fn at(&self, delta: &[R]) -> [R; 1] {
        let [moved] = self.on.moved(delta);
        [moved + self.gaps[self.l]]
    }

    #[inline(always)]
    fn is_inside(&self, [eta]: [R; 1]) -> R::Mask {
        eta.gt(R::zero())
    }

    #[inline(always)]
    fn slack_of(&self, kappa: R, [eta]: [R; 1]) -> [R; 1] {
        [R::splat(2.0) / (kappa * eta)]
    }

    #[inline(always)]
    fn alone(&self, kappa: R, pivot: &[R], [u]: [R; 1]) -> [R; 1] {
        [root(pivot[self.on.dof], u, kappa)]
    }

    #[inline(always)]
    fn lifted(&self, mask: R::Mask, [slack]: [R; 1], [u]: [R; 1], part: f64) -> [R; 1] {
        [slack + R::select(mask, (u - slack).abs().scale(part), R::zero())]
    }

    #[inline(always)]
    fn response(&self, kappa: R, [eta]: [R; 1]) -> ([R; 1], [R; 1]) {
        ([(kappa * eta * eta).scale(0.5)], [eta.scale(2.0)])
    }

    #[inline(always)]
    fn response_with(&self, kappa: R, tau: R, [eta]: [R; 1], [slack]: [R; 1]) -> ([R; 1], [R; 1]) {
        let weight = eta / slack;
        ([weight], [weight.mul_add(tau.scale(2.0) / (kappa * eta), eta)])
    }

    #[inline(always)]
    fn slack_step(&self, _: [R; 2], _: [[R; 1]; 2], [slack]: [R; 1], [[u], [moved]]: [[R; 1]; 2]) -> [R; 1] {
        [moved + (u - slack)]
    }

    #[inline(always)]
    fn nearer(&self, end: R, [eta]: [R; 1], [d_eta]: [R; 1]) -> R {
        nearer(end, eta, d_eta)
    }

    #[inline(always)]
    fn add_product(&self, [eta]: [R; 1], [slack]: [R; 1], sum: R) -> R {
        slack.mul_add(eta, sum)
    }

    #[inline(always)]
    fn misfit(&self, kappa: R, [eta]: [R; 1], [u]: [R; 1]) -> R {
        misfit(kappa, eta, u)
    }

    #[inline(always)]
    fn misfit_with(&self, kappa: R, [eta]: [R; 1], [slack]: [R; 1]) -> R {
        misfit(kappa, eta, slack)
    }

    #[inline(always)]
    fn decrement(&self, kappa: R, [eta]: [R; 1], [u]: [R; 1], [d_eta]: [R; 1]) -> R {
        d_eta * (kappa * u - R::splat(2.0) / eta)
    }

    #[inline(always)]
    fn add_slopes(&self, alpha: R, [eta]: [R; 1], [d_eta]: [R; 1], [first, second]: &mut [R; 2]) {
        let log = d_eta / alpha.mul_add(d_eta, eta);
        *first -= log.scale(2.0);
        *second = (log * log).mul_add(R::splat(2.0), *second);
    }

    /// ½ κ η (u − u(η)), relative to the lengths that u is the sum of.
    #[inline(always)]
    fn residual(&self, kappa: R, [eta]: [R; 1], delta: &[R], unit: R) -> R {
        let ([u], weight) = (self.at(delta), (kappa * eta).scale(0.5));
        let lengths = delta[self.on.dof].abs() + self.gaps[self.l].abs();
        (weight * u - R::one()).abs() / (weight * lengths).mul_add(unit, R::one())
    }

    #[inline(always)]
    fn weight_at(&self, kappa: R, eta: [R; 1], _: [R; 1]) -> [R; 1] {
        self.response(kappa, eta).0
    }

    #[inline(always)]
    fn root_at(&self, kappa: R, [eta]: [R; 1], _: [R; 1]) -> [R; 1] {
        [kappa.scale(0.5).sqrt() * eta]
    }

    #[inline(always)]
    fn by_kappa(&self, _: R, [eta]: [R; 1], _: [R; 1]) -> [R; 1] {
        [-eta]
    }

    #[inline(always)]
    fn vjp(&self, _: R, _: [R; 1], [_, [grad_u]]: [[R; 1]; 2], _: [&[R]; 2], gaps: &mut [R]) {
        gaps[self.l] = grad_u;
    }
}

/// The positive root of λ (d λ + c) = 2/κ, in the form that is stable for either sign of c.
#[inline(always)]
pub(super) fn root<R: Real>(d: R, c: R, kappa: R) -> R {
    let discriminant = c.mul_add(c, (d / kappa).scale(8.0)).sqrt();
    let apart = (R::splat(4.0) / kappa) / (c + discriminant);
    R::select(c.gt(R::zero()), apart, (discriminant - c) / d.scale(2.0))
}

/// [`super::cone::FrictionCone::misfit`] of a force and a gap.
#[inline(always)]
pub(super) fn misfit<R: Real>(kappa: R, eta: R, gap: R) -> R {
    let error = (kappa * eta).mul_add(gap, -R::splat(2.0));
    (error * error).scale(0.5)
}
