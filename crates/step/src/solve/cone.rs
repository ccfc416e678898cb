//! One contact's friction cone, scaled to the Lorentz cone, in world axes.
//!
//! With M = n nᵀ + μ (1 − n nᵀ), the slack ζ = M d + φ n (d the displacement of B against A) must lie in the Lorentz
//! cone ζ_n > ‖ζ_t‖, and the force on B is M η with η in the same cone. No tangent basis is needed and μ = 0 is no
//! special case. Where contacts resist turning about their normal, too, d has a fourth number, n · ω with ω the
//! rotation of B against A, M has the coefficient γ (m) in its place, and n has 0: the turn is tangential, and the
//! fourth number of M η is the torque about n. R = 2 n nᵀ − 1 reflects the tangential part, ρ(x) = xᵀ R x = x_n² −
//! ‖x_t‖², and the barrier is −(1/κ) log ρ(ζ):
//!
//! ```text
//! η  = 2 R ζ / (κ ρ(ζ))        ζ = 2 R η / (κ ρ(η))        ζ · η = 2/κ
//! W  = −∂η/∂ζ = κ (η ηᵀ − ½ ρ(η) R)     positive definite inside the cone
//! ```

use crate::contact::numbers::{GEOMETRY, NORMAL, PHI, POINT_A, POINT_B};
use fingertip_lanes::lane::{Mask, Real};
use fingertip_lanes::vector::{Vec3, vec3_at};

use super::symmetric::Symmetric;
use super::vector::{add, axpy, dot, extended, first, scale, sub};

/// Places of a contact's μ and weight among its numbers, behind its geometry.
pub(crate) const MU: usize = GEOMETRY;
pub(crate) const WEIGHT: usize = GEOMETRY + 1;
/// Numbers of a contact operand: normal, point on A, point on B, φ, μ, weight.
pub const CONTACT_OPERAND: usize = WEIGHT + 1;

/// Numbers of the force and the displacement of a contact that only resists sliding, and of one that resists turning
/// about its normal too.
pub(crate) const SLIDING: usize = 3;
pub(crate) const TURNING: usize = 4;

/// Are solves with contacts of this dimension compiled for lanes of eight worlds? Those in four dimensions, which are
/// rarer and the longest to compile, are not.
pub(super) const fn has_eight(dimension: usize) -> bool {
    dimension == SLIDING
}

/// One contact of a problem with its friction cone in N dimensions: normal, witness points, φ, coefficients and weight.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct FrictionCone<R, const N: usize> {
    pub(crate) n: [R; N],
    pub(crate) point_a: Vec3<R>,
    pub(crate) point_b: Vec3<R>,
    pub(crate) phi: R,
    pub(crate) mu: R,
    /// 0 in three dimensions.
    pub(crate) gamma: R,
    pub(crate) weight: R,
}

impl<R: Real, const N: usize> FrictionCone<R, N> {
    /// Reads a contact. In four dimensions `gammas` has the γ of each contact.
    #[inline(always)]
    pub(crate) fn read(contacts: &[R], gammas: &[R], i: usize) -> Self {
        let c = &contacts[CONTACT_OPERAND * i..CONTACT_OPERAND * (i + 1)];
        Self {
            n: extended(vec3_at(c, NORMAL)),
            point_a: vec3_at(c, POINT_A),
            point_b: vec3_at(c, POINT_B),
            phi: c[PHI],
            mu: c[MU],
            gamma: if N == TURNING { gammas[i] } else { R::zero() },
            weight: c[WEIGHT],
        }
    }

    /// Has the contact a weight?
    #[inline(always)]
    pub(crate) fn is_there(&self) -> R::Mask {
        self.weight.gt(R::zero())
    }

    /// What the contact sees of a motion of B against A: the velocity v and, in four dimensions, n · ω.
    #[inline(always)]
    pub(crate) fn seen(&self, velocity: Vec3<R>, omega: Vec3<R>) -> [R; N] {
        let mut seen = extended(velocity);
        if N == TURNING {
            seen[3] = dot(first(self.n), omega);
        }
        seen
    }

    /// M x, with M = n nᵀ + μ (1 − n nᵀ): scales the tangential part by μ, the turn by γ.
    #[inline(always)]
    pub(crate) fn scaled(&self, x: [R; N]) -> [R; N] {
        let along = dot(self.n, x);
        let mut scaled = scale(self.mu, x);
        if N == TURNING {
            scaled[3] = self.gamma * x[3];
        }
        axpy(along * (R::one() - self.mu), self.n, scaled)
    }

    /// M⁻¹ f for a force and a torque about n, and 0 where a coefficient is.
    #[inline(always)]
    pub(crate) fn unscaled(&self, force: Vec3<R>, torque: R) -> [R; N] {
        let (force, per_mu) = (extended(force), inverse(self.mu));
        let along = dot(self.n, force);
        let mut scaled = scale(per_mu, force);
        if N == TURNING {
            scaled[3] = inverse(self.gamma) * torque;
        }
        axpy(along * (R::one() - per_mu), self.n, scaled)
    }

    /// The gradients of μ and γ of a · C b, C being what M has beside the normal: for a tangential b.
    #[inline(always)]
    pub(super) fn by_coefficients(a: [R; N], b: [R; N]) -> [R; 2] {
        [dot(first(a), first(b)), if N == TURNING { a[3] * b[3] } else { R::zero() }]
    }

    /// κ of this contact's barrier term: κ over its weight; 0 for a contact of no weight, which has no force.
    #[inline(always)]
    pub(crate) fn kappa(&self, kappa: R) -> R {
        let there = self.weight.gt(R::zero());
        R::select(there, kappa / R::select(there, self.weight, R::one()), R::zero())
    }

    /// Splits x into its normal part x · n and its tangential vector.
    #[inline(always)]
    pub(crate) fn split(&self, x: [R; N]) -> (R, [R; N]) {
        let along = dot(self.n, x);
        (along, axpy(-along, self.n, x))
    }

    /// R x, with R = 2 n nᵀ − 1: reflects the tangential part.
    #[inline(always)]
    pub(crate) fn reflected(&self, x: [R; N]) -> [R; N] {
        sub(scale(dot(self.n, x).scale(2.0), self.n), x)
    }

    /// ρ(x) = (x_n − ‖x_t‖)(x_n + ‖x_t‖).
    #[inline(always)]
    pub(crate) fn rho(&self, x: [R; N]) -> R {
        let (along, across) = self.split(x);
        along.mul_add(along, -dot(across, across))
    }

    /// W at η as a symmetric matrix, for this contact's own κ.
    #[inline(always)]
    pub(super) fn weights(&self, kappa: R, eta: [R; N]) -> Symmetric<R, N> {
        // κ (η ηᵀ − ρ n nᵀ + ½ ρ 1)
        let rho = self.rho(eta) * kappa;
        Symmetric::diagonal(rho.scale(0.5)).plus(kappa, eta).plus(-rho, self.n)
    }

    /// F with F² = W at η, for this contact's own κ, given h = √(κ/2) and ρ(η): the scaling point of Nesterov and Todd,
    /// F⁻¹η = n/h.
    ///
    /// F = h (r (1 − 2 n nᵀ) + v vᵀ / (r + η_n)) with r = √ρ and v = η + r n.
    #[inline(always)]
    pub(super) fn scaling(&self, h: R, eta: [R; N], rho: R) -> Symmetric<R, N> {
        let r = rho.max(R::zero()).sqrt();
        let size = r + dot(self.n, eta);
        let there = size.gt(R::zero());
        let inverse = h / R::select(there, size, R::one());
        Symmetric::diagonal(h * r).plus(-(h * r).scale(2.0), self.n).plus(inverse, axpy(r, self.n, eta))
    }

    /// 2 R η / (κ ρ(η)): the slack that belongs to η, for this contact's own κ and ρ(η).
    #[inline(always)]
    pub(super) fn pole(&self, kappa: R, eta: [R; N], rho: R) -> [R; N] {
        scale(R::splat(2.0) / (kappa * rho), self.reflected(eta))
    }

    /// κ r₂ᵀ W r₂ for the slack ζ, r₂ = ζ − 2 R η / (κ ρ(η)): how far the two are from belonging to each other, as the
    /// square of ‖r₂‖ / ‖ζ‖ in the cone's own metric.
    #[inline(always)]
    pub(super) fn misfit(&self, kappa: R, eta: [R; N], zeta: [R; N]) -> R {
        let rho = self.rho(eta);
        // W (2 R η / (κ ρ(η))) = η.
        let r = sub(zeta, self.pole(kappa, eta, rho));
        kappa * dot(r, sub(self.weigh(kappa, eta, rho, zeta), eta))
    }

    /// The v with ρ(v) = 1 and the t with F = t (1 − 2 n nᵀ) + t (v + n)(v + n)ᵀ / (v_n + 1), F ζ = F⁻¹η: the scaling
    /// of Nesterov and Todd for any ζ and η inside the cone.
    #[inline(always)]
    pub(super) fn between(&self, eta: [R; N], zeta: [R; N]) -> ([R; N], R) {
        let (root_eta, root_zeta) = (self.rho(eta).sqrt(), self.rho(zeta).sqrt());
        let (eta, zeta) = (scale(R::one() / root_eta, eta), scale(R::one() / root_zeta, zeta));
        let size = (dot(eta, zeta) + R::one()).scale(2.0).sqrt();
        (scale(R::one() / size, add(eta, self.reflected(zeta))), (root_eta / root_zeta).sqrt())
    }

    /// The longest step length α for which x + α step stays in the cone, ∞ if it never leaves it. Also returns c₀, c₁,
    /// c₂ of ρ(x + α step) = c₀ + c₁ α + c₂ α².
    #[inline(always)]
    pub(super) fn room(&self, x: [R; N], step: [R; N]) -> (R, Vec3<R>) {
        let (c0, c1, c2) = (self.rho(x), dot(self.reflected(x), step).scale(2.0), self.rho(step));
        let discriminant = c1.mul_add(c1, -(c0 * c2).scale(4.0));
        let below = discriminant.max(R::zero()).sqrt() - c1;
        // A ray whose normal part falls leaves the cone whatever rounding makes of a double root: a force along the
        // normal, as at μ = 0, leaves through the tip, and behind it is the mirror cone, where ρ > 0 again.
        let falls = -dot(self.n, step);
        let falling = falls.gt(R::zero());
        let leaves = discriminant.lt(R::zero()).not().or(falling).and(below.gt(R::zero()));
        let far = R::splat(f64::INFINITY);
        let through_side = R::select(leaves, c0.scale(2.0) / R::select(leaves, below, R::one()), far);
        let through_tip = R::select(falling, dot(self.n, x) / R::select(falling, falls, R::one()), far);
        (through_side.min(through_tip), [c0, c1, c2])
    }

    /// W x at η, for this contact's own κ and ρ(η).
    #[inline(always)]
    pub(crate) fn weigh(&self, kappa: R, eta: [R; N], rho: R, x: [R; N]) -> [R; N] {
        let along = scale(dot(eta, x), eta);
        scale(kappa, axpy(-rho.scale(0.5), self.reflected(x), along))
    }
}

/// 1/x, or 0 if x is not positive, as for a contact without weight.
#[inline(always)]
fn inverse<R: Real>(x: R) -> R {
    let there = x.gt(R::zero());
    R::select(there, R::one() / R::select(there, x, R::one()), R::zero())
}

/// Derivatives of a contact's force by ζ, d, n and φ: see [`FrictionCone::rates`]. Those by n are for a change ṅ of the
/// normal in its first three numbers.
pub(crate) struct Rates<R, const N: usize> {
    /// Derivative of the force by ζ at fixed n.
    pub(crate) zeta: [[R; N]; N],
    pub(crate) d: [[R; N]; N],
    pub(crate) n: [[R; N]; N],
    pub(crate) phi: [R; N],
}

/// Result of the vector-Jacobian product [`FrictionCone::vjp`].
pub(crate) struct Pull<R, const N: usize> {
    pub(crate) d: [R; N],
    pub(crate) n: Vec3<R>,
    pub(crate) phi: R,
    /// Gradients of μ and γ.
    pub(crate) coefficients: [R; 2],
    pub(crate) kappa: R,
}
