//! What bounds displacements beside contacts: the limits of joints, their dry friction, and tables.
//!
//! Each is a cone with a force η on a displacement u = T δ + c of its own, and with a barrier in the dual function,
//! whose slope is −u(η). For the primal-dual method of [`super::approach`] it also has a slack s, which belongs to η
//! and u on the central path. All that a solve asks of it is a method of [`Cone`], and each of its passes is one loop
//! over [all kinds](super::kinds). Contacts have much that these lack (columns of J̃, weights, degrees of freedom that
//! they alone see), and have loops of their own.

use fingertip_lanes::lane::{Mask, Real, State};

use super::structure::Structure;
use super::symmetric::Symmetric;
use super::vector::{add, select, sub};

/// A cone with N numbers of force and displacement and M of slack.
pub(super) trait Cone<R: Real, const N: usize, const M: usize> {
    /// The form of −∂η/∂u.
    type Weight: Weight<R, N>;

    /// Indices of the first number of its force, among those of limits, and of its slack, among slacks.
    fn places(&self) -> (usize, usize);

    /// Its numbers among forces of limits, or what is in the same order.
    #[inline(always)]
    fn own(&self, of: &[R]) -> [R; N] {
        of[self.places().0..][..N].as_chunks().0[0]
    }

    /// Writes its numbers among forces of limits.
    #[inline(always)]
    fn put(&self, of: &mut [R], x: [R; N]) {
        of[self.places().0..][..N].as_chunks_mut().0[0] = x;
    }

    /// Its numbers among slacks.
    #[inline(always)]
    fn slack(&self, of: &[R]) -> [R; M] {
        of[self.places().1..][..M].as_chunks().0[0]
    }

    /// Writes its numbers among slacks.
    #[inline(always)]
    fn put_slack(&self, of: &mut [R], x: [R; M]) {
        of[self.places().1..][..M].as_chunks_mut().0[0] = x;
    }

    /// The displacement u = T δ + c.
    fn at(&self, delta: &[R]) -> [R; N];

    /// Are its numbers in range?
    #[inline(always)]
    fn is_valid(&self) -> R::Mask {
        R::Mask::splat(true)
    }

    /// Is the force inside the cone?
    fn is_inside(&self, eta: [R; N]) -> R::Mask;

    /// The slack s(η) that belongs to the force on the central path.
    fn slack_of(&self, kappa: R, eta: [R; N]) -> [R; M];

    /// About the force of the cone alone, where it would move by u without it: the root η of u + D η = u(η), D being
    /// made of what each degree of freedom moves by for a unit force, `pivot`.
    fn alone(&self, kappa: R, pivot: &[R], u: [R; N]) -> [R; N];

    /// The slack, in worlds of the mask with a part of what it is off from u added inward.
    fn lifted(&self, mask: R::Mask, slack: [R; M], u: [R; N], part: f64) -> [R; M];

    /// W = −∂η/∂u and p = η + W u(η) of the linearised response η + Δη = p − W u₊, u₊ being u after the step.
    fn response(&self, kappa: R, eta: [R; N]) -> (Self::Weight, [R; N]);

    /// [`Cone::response`] with a slack of its own: W is the scaling of Nesterov and Todd between s and η, and p = η + τ
    /// W u(η).
    fn response_with(&self, kappa: R, tau: R, eta: [R; N], slack: [R; M]) -> (Self::Weight, [R; N]);

    /// Δs for κ and τ, given η and Δη, s, and u and Δu, such that s₊ belongs to u₊ and s₊ ∘ η₊ is τ/κ but for Δs ∘ Δη.
    fn slack_step(&self, at: [R; 2], forces: [[R; N]; 2], slack: [R; M], moves: [[R; N]; 2]) -> [R; M];

    /// The least of `end` and the step length, in steps, by which the force leaves the cone.
    fn nearer(&self, end: R, eta: [R; N], d_eta: [R; N]) -> R;

    /// The least of `end` and the step length, in steps, by which the slack leaves its cone.
    #[inline(always)]
    fn slack_nearer(&self, mut end: R, slack: [R; M], d_slack: [R; M]) -> R {
        for k in 0..M {
            end = nearer(end, slack[k], d_slack[k]);
        }
        end
    }

    /// `sum` with s · η, or twice that: on the central path 2/κ for each of [`Structure::n_products`].
    fn add_product(&self, eta: [R; N], slack: [R; M], sum: R) -> R;

    /// κ r · W r, r = u − u(η): how far u is from what belongs to η, as [`super::cone::FrictionCone::misfit`].
    fn misfit(&self, kappa: R, eta: [R; N], u: [R; N]) -> R;

    /// [`Cone::misfit`] of a slack in place of u.
    fn misfit_with(&self, kappa: R, eta: [R; N], slack: [R; M]) -> R;

    /// κ Δη · (u − u(η)): its part of −κ · decrement².
    fn decrement(&self, kappa: R, eta: [R; N], u: [R; N], d_eta: [R; N]) -> R;

    /// Adds the slope and the curvature of κ times its barrier in the dual function, at η + α Δη along Δη.
    fn add_slopes(&self, alpha: R, eta: [R; N], d_eta: [R; N], sums: &mut [R; 2]);

    /// The larger of `worst` and the rounding of the force, a part `unit` of its bound, relative to what the bound
    /// leaves.
    #[inline(always)]
    fn rounding(&self, _eta: [R; N], _unit: R, worst: R) -> R {
        worst
    }

    /// How far η is from what belongs to u, relative. Rounding of u may explain it: see [`super::optimality`].
    fn residual(&self, kappa: R, eta: [R; N], delta: &[R], unit: R) -> R;

    /// η at a solution: η itself, or from u, where that has the digits that η loses near the boundary.
    #[inline(always)]
    fn settled(&self, _kappa: R, eta: [R; N], _u: [R; N]) -> [R; N] {
        eta
    }

    /// W = −∂η/∂u at a solution.
    fn weight_at(&self, kappa: R, eta: [R; N], u: [R; N]) -> Self::Weight;

    /// The root F of W = F² at a solution.
    fn root_at(&self, kappa: R, eta: [R; N], u: [R; N]) -> Self::Weight;

    /// κ ∂η/∂κ at a solution.
    fn by_kappa(&self, kappa: R, eta: [R; N], u: [R; N]) -> [R; N];

    /// Writes the gradients of its numbers among the gaps, given κ, u, the gradients e of η at fixed u and ū of u, and
    /// y and δ: see [`super::adjoint`].
    fn vjp(&self, kappa: R, u: [R; N], grads: [[R; N]; 2], of: [&[R]; 2], gaps: &mut [R]);
}

/// A positive definite matrix of order N.
pub(super) trait Weight<R: Real, const N: usize>: Copy + State<R> {
    /// W x.
    fn times(&self, x: [R; N]) -> [R; N];
    /// p − W u₊, the force after the step.
    fn force(&self, pull: [R; N], next: [R; N]) -> [R; N];
    /// p − W u₊ − η: the force's change.
    fn change(&self, pull: [R; N], next: [R; N], eta: [R; N]) -> [R; N];
    /// `yes` where the mask is set, else `no`.
    fn select(mask: R::Mask, yes: Self, no: Self) -> Self;
}

impl<R: Real> Weight<R, 1> for [R; 1] {
    #[inline(always)]
    fn times(&self, [x]: [R; 1]) -> [R; 1] {
        [self[0] * x]
    }

    #[inline(always)]
    fn force(&self, [pull]: [R; 1], [next]: [R; 1]) -> [R; 1] {
        [self[0].mul_add(-next, pull)]
    }

    #[inline(always)]
    fn change(&self, [pull]: [R; 1], [next]: [R; 1], [eta]: [R; 1]) -> [R; 1] {
        [self[0].mul_add(-next, pull - eta)]
    }

    #[inline(always)]
    fn select(mask: R::Mask, yes: Self, no: Self) -> Self {
        select(mask, yes, no)
    }
}

impl<R: Real> Weight<R, 3> for Symmetric<R, 3> {
    #[inline(always)]
    fn times(&self, x: [R; 3]) -> [R; 3] {
        Self::times(self, x)
    }

    #[inline(always)]
    fn force(&self, pull: [R; 3], next: [R; 3]) -> [R; 3] {
        sub(pull, Self::times(self, next))
    }

    #[inline(always)]
    fn change(&self, pull: [R; 3], next: [R; 3], eta: [R; 3]) -> [R; 3] {
        sub(pull, add(eta, Self::times(self, next)))
    }

    #[inline(always)]
    fn select(mask: R::Mask, yes: Self, no: Self) -> Self {
        Self::select(mask, yes, no)
    }
}

/// The motion of one degree of freedom, T = ±1.
#[derive(Clone, Copy)]
pub(super) struct Coordinate {
    pub(super) dof: usize,
    sign: f64,
}

impl Coordinate {
    /// That of the l-th of a structure's limits.
    #[inline(always)]
    pub(super) fn of(s: &Structure, l: usize) -> Self {
        let (dof, sign) = s.limits[l];
        Self { dof, sign }
    }

    /// T δ.
    #[inline(always)]
    pub(super) fn moved<R: Real>(self, delta: &[R]) -> [R; 1] {
        [delta[self.dof].scale(self.sign)]
    }

    /// x += Tᵀ force.
    #[inline(always)]
    pub(super) fn push<R: Real>(self, [force]: [R; 1], to: &mut [R]) {
        to[self.dof] += force.scale(self.sign);
    }

    /// x −= Tᵀ force.
    #[inline(always)]
    pub(super) fn pull<R: Real>(self, [force]: [R; 1], to: &mut [R]) {
        to[self.dof] -= force.scale(self.sign);
    }

    /// u − D η, the displacement without the force, where D is made of the pivots.
    #[inline(always)]
    pub(super) fn freed<R: Real>(self, pivot: &[R], [eta]: [R; 1], [u]: [R; 1]) -> [R; 1] {
        [(-pivot[self.dof]).mul_add(eta, u)]
    }

    /// h += Tᵀ W T; where the degree of freedom is private, its pivot += W, if there are pivots.
    #[inline(always)]
    pub(super) fn stiffen<R: Real>(self, s: &Structure, [weight]: [R; 1], h: &mut [R], pivot: Option<&mut [R]>) {
        match pivot {
            Some(pivot) if self.dof >= s.n_shared => pivot[self.dof] += weight,
            _ => h[s.factor_h.at(self.dof, self.dof)] += weight,
        }
    }
}

/// The least of `end` and the step length at which x + α step is 0.
#[inline(always)]
pub(super) fn nearer<R: Real>(end: R, x: R, step: R) -> R {
    let leaves = step.lt(R::zero());
    let ratio = -(x / R::select(leaves, step, R::one()));
    R::select(leaves, end.min(ratio), end)
}
