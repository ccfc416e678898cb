//! One contact's friction cone, scaled to the Lorentz cone, in world axes.
//!
//! With M = n nᵀ + μ (1 − n nᵀ), the slack ζ = M d + φ n (d the displacement of B against A) must lie in the Lorentz
//! cone ζ_n > ‖ζ_t‖, and the force on B is M η with η in the same cone. No tangent basis is needed and μ = 0 is no
//! special case. R = 2 n nᵀ − 1 reflects the tangential part, ρ(x) = xᵀ R x = x_n² − ‖x_t‖², and the barrier is
//! −(1/κ) log ρ(ζ):
//!
//! ```text
//! η  = 2 R ζ / (κ ρ(ζ))        ζ = 2 R η / (κ ρ(η))        ζ · η = 2/κ
//! W  = −∂η/∂ζ = κ (η ηᵀ − ½ ρ(η) R)     positive definite inside the cone
//! ```

use crate::contact::lanes::frame;
use crate::contact::numbers::{GEOMETRY, NORMAL, PHI, POINT_A, POINT_B};
use fingertip_lanes::lane::{Mask, Real};
use fingertip_lanes::vector::{Mat3, Vec3, add, axpy, dot, scale, sub, vec3_at, zero};

use super::symmetric::Symmetric;

/// Places of a contact's μ and weight among its numbers, behind its geometry.
pub(crate) const MU: usize = GEOMETRY;
pub(crate) const WEIGHT: usize = GEOMETRY + 1;
/// Numbers of a contact operand: normal, point on A, point on B, φ, μ, weight.
pub const CONTACT_OPERAND: usize = WEIGHT + 1;

/// One contact of a problem with its friction cone: normal, witness points, φ, μ and weight.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct FrictionCone<R> {
    pub(crate) n: Vec3<R>,
    pub(crate) point_a: Vec3<R>,
    pub(crate) point_b: Vec3<R>,
    pub(crate) phi: R,
    pub(crate) mu: R,
    pub(crate) weight: R,
}

impl<R: Real> FrictionCone<R> {
    #[inline(always)]
    pub(crate) fn read(contacts: &[R], i: usize) -> Self {
        let c = &contacts[CONTACT_OPERAND * i..CONTACT_OPERAND * (i + 1)];
        Self {
            n: vec3_at(c, NORMAL),
            point_a: vec3_at(c, POINT_A),
            point_b: vec3_at(c, POINT_B),
            phi: c[PHI],
            mu: c[MU],
            weight: c[WEIGHT],
        }
    }

    /// Has the contact a weight?
    #[inline(always)]
    pub(crate) fn is_there(&self) -> R::Mask {
        self.weight.gt(R::zero())
    }

    /// The first tangent t of the contact's frame.
    #[inline(always)]
    pub(crate) fn tangent(&self) -> Vec3<R> {
        frame(self.n)[1]
    }

    /// n (n · v) + t (n · ω): see [`Slip::Turns`](super::Slip::Turns).
    #[inline(always)]
    pub(crate) fn turning(&self, velocity: Vec3<R>, omega: Vec3<R>) -> Vec3<R> {
        axpy(dot(self.n, velocity), self.n, scale(dot(self.n, omega), self.tangent()))
    }

    /// M x, with M = n nᵀ + μ (1 − n nᵀ): scales the tangential part by μ.
    #[inline(always)]
    pub(crate) fn scaled(&self, x: Vec3<R>) -> Vec3<R> {
        let along = dot(self.n, x);
        axpy(along * (R::one() - self.mu), self.n, scale(self.mu, x))
    }

    /// κ of this contact's barrier term: κ over its weight; 0 for a contact of no weight, which has no force.
    #[inline(always)]
    pub(crate) fn kappa(&self, kappa: R) -> R {
        let there = self.weight.gt(R::zero());
        R::select(there, kappa / R::select(there, self.weight, R::one()), R::zero())
    }

    /// Splits x into its normal part x · n and its tangential vector.
    #[inline(always)]
    pub(crate) fn split(&self, x: Vec3<R>) -> (R, Vec3<R>) {
        let along = dot(self.n, x);
        (along, axpy(-along, self.n, x))
    }

    /// R x, with R = 2 n nᵀ − 1: reflects the tangential part.
    #[inline(always)]
    pub(crate) fn reflected(&self, x: Vec3<R>) -> Vec3<R> {
        sub(scale(dot(self.n, x).scale(2.0), self.n), x)
    }

    /// ρ(x) = (x_n − ‖x_t‖)(x_n + ‖x_t‖).
    #[inline(always)]
    pub(crate) fn rho(&self, x: Vec3<R>) -> R {
        let (along, across) = self.split(x);
        along.mul_add(along, -dot(across, across))
    }

    /// W at η as a symmetric matrix, for this contact's own κ.
    #[inline(always)]
    pub(super) fn weights(&self, kappa: R, eta: Vec3<R>) -> Symmetric<R> {
        // κ (η ηᵀ − ρ n nᵀ + ½ ρ 1)
        let rho = self.rho(eta) * kappa;
        Symmetric::diagonal(rho.scale(0.5)).plus(kappa, eta).plus(-rho, self.n)
    }

    /// F with F² = W at η, for this contact's own κ, given h = √(κ/2) and ρ(η): the scaling point of Nesterov and Todd,
    /// F⁻¹η = n/h.
    ///
    /// F = h (r (1 − 2 n nᵀ) + v vᵀ / (r + η_n)) with r = √ρ and v = η + r n.
    #[inline(always)]
    pub(super) fn scaling(&self, h: R, eta: Vec3<R>, rho: R) -> Symmetric<R> {
        let r = rho.max(R::zero()).sqrt();
        let size = r + dot(self.n, eta);
        let there = size.gt(R::zero());
        let inverse = h / R::select(there, size, R::one());
        Symmetric::diagonal(h * r).plus(-(h * r).scale(2.0), self.n).plus(inverse, axpy(r, self.n, eta))
    }

    /// 2 R η / (κ ρ(η)): the slack that belongs to η, for this contact's own κ and ρ(η).
    #[inline(always)]
    pub(super) fn pole(&self, kappa: R, eta: Vec3<R>, rho: R) -> Vec3<R> {
        scale(R::splat(2.0) / (kappa * rho), self.reflected(eta))
    }

    /// κ r₂ᵀ W r₂ for the slack ζ, r₂ = ζ − 2 R η / (κ ρ(η)): how far the two are from belonging to each other, as the
    /// square of ‖r₂‖ / ‖ζ‖ in the cone's own metric.
    #[inline(always)]
    pub(super) fn misfit(&self, kappa: R, eta: Vec3<R>, zeta: Vec3<R>) -> R {
        let rho = self.rho(eta);
        // W (2 R η / (κ ρ(η))) = η.
        let r = sub(zeta, self.pole(kappa, eta, rho));
        kappa * dot(r, sub(self.weigh(kappa, eta, rho, zeta), eta))
    }

    /// The v with ρ(v) = 1 and the t with F = t (1 − 2 n nᵀ) + t (v + n)(v + n)ᵀ / (v_n + 1), F ζ = F⁻¹η: the scaling
    /// of Nesterov and Todd for any ζ and η inside the cone.
    #[inline(always)]
    pub(super) fn between(&self, eta: Vec3<R>, zeta: Vec3<R>) -> (Vec3<R>, R) {
        let (root_eta, root_zeta) = (self.rho(eta).sqrt(), self.rho(zeta).sqrt());
        let (eta, zeta) = (scale(R::one() / root_eta, eta), scale(R::one() / root_zeta, zeta));
        let size = (dot(eta, zeta) + R::one()).scale(2.0).sqrt();
        (scale(R::one() / size, add(eta, self.reflected(zeta))), (root_eta / root_zeta).sqrt())
    }

    /// The longest step length α for which x + α step stays in the cone, ∞ if it never leaves it. Also returns c₀, c₁,
    /// c₂ of ρ(x + α step) = c₀ + c₁ α + c₂ α².
    #[inline(always)]
    pub(super) fn room(&self, x: Vec3<R>, step: Vec3<R>) -> (R, Vec3<R>) {
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
    pub(crate) fn weigh(&self, kappa: R, eta: Vec3<R>, rho: R, x: Vec3<R>) -> Vec3<R> {
        let along = scale(dot(eta, x), eta);
        scale(kappa, axpy(-rho.scale(0.5), self.reflected(x), along))
    }

    /// Gradients of f = M η(ζ), ζ = M d + φ n, given f̄ = e: for d, and for n, φ, μ and this contact's κ. W M e comes
    /// along, as W may be so large that little is left of it by a product.
    #[inline(always)]
    pub(crate) fn vjp(&self, kappa: R, eta: Vec3<R>, d: Vec3<R>, e: Vec3<R>, weighed: Vec3<R>) -> Pull<R> {
        let n = self.n;
        let keep = R::one() - self.mu;
        let (d_n, d_t) = self.split(d);
        let (eta_n, eta_t) = self.split(eta);
        // f = μ η + (1 − μ) n (n · η)
        let mut grad_mu = dot(e, eta_t);
        let mut grad_n = add(scale(keep * eta_n, e), scale(keep * dot(n, e), eta));
        // η = 2 R ζ / (κ ρ(ζ)); ζ = 2 R η / (κ ρ(η)) has more digits than M d + φ n.
        let grad_eta = self.scaled(e);
        let pulled = dot(grad_eta, eta);
        let inverse_rho = inverse(self.rho(eta));
        let reflected = self.reflected(eta);
        let across = add(scale(eta_n, grad_eta), scale(dot(n, grad_eta), reflected));
        grad_n = add(grad_n, scale(R::splat(2.0), across));
        grad_n = axpy(-(pulled * eta_n * inverse_rho).scale(4.0), reflected, grad_n);
        let grad_kappa = -(pulled * inverse(kappa));
        // ζ = μ d + (1 − μ) n (n · d) + φ n
        let grad_zeta = scale(-R::one(), weighed);
        let grad_phi = dot(n, grad_zeta);
        grad_mu += dot(grad_zeta, d_t);
        grad_n = add(grad_n, scale(self.phi + keep * d_n, grad_zeta));
        grad_n = axpy(keep * grad_phi, d, grad_n);
        Pull { d: self.scaled(grad_zeta), n: grad_n, phi: grad_phi, mu: grad_mu, kappa: grad_kappa }
    }

    /// The derivatives of f = M η(ζ), ζ = M d + φ n: what [`FrictionCone::vjp`] multiplies from the left, as matrices.
    ///
    /// With k = 1 − μ and c = κ ρ(η) = 4/(κ ρ(ζ)):
    ///
    /// ```text
    /// ∂f/∂ζ = −M W = −κ (f ηᵀ − ½ ρ ((1 + μ) n nᵀ − μ))       ∂f/∂d = −M W M = −κ (f fᵀ − ½ ρ ((1 + μ²) n nᵀ − μ²))
    /// ∂f/∂n = ∂f/∂ζ ((k d_n + φ) + k n dᵀ) + c (ζ_n M + n ζᵀ) − κ c ζ_n f ζᵀ + k (η_n + n ηᵀ)
    /// ```
    #[inline(always)]
    pub(crate) fn rates(&self, kappa: R, eta: Vec3<R>, d: Vec3<R>) -> Rates<R> {
        let (n, mu, keep) = (self.n, self.mu, R::one() - self.mu);
        let (force, rho) = (self.scaled(eta), self.rho(eta));
        let half = (kappa * rho).scale(0.5);
        let pulled = scale(-kappa, force);
        let by_zeta = matrix(-(half * mu), [(scale(half * (R::one() + mu), n), n), (pulled, eta)]);
        let square = mu * mu;
        let by_d = matrix(-(half * square), [(scale(half * (R::one() + square), n), n), (pulled, force)]);

        let eta_n = dot(n, eta);
        let inverse_rho = inverse(rho);
        // c ζ.
        let reflected = scale(R::splat(2.0), self.reflected(eta));
        let by_phi = [dot(by_zeta[0], n), dot(by_zeta[1], n), dot(by_zeta[2], n)];
        let direct = matrix(
            eta_n * (R::splat(2.0) * mu + keep),
            [
                (n, axpy((eta_n * keep).scale(2.0), n, axpy(keep, eta, reflected))),
                (scale(-(eta_n * inverse_rho).scale(2.0), force), reflected),
            ],
        );
        let through = keep.mul_add(dot(n, d), self.phi);
        let mut by_n = direct;
        for i in 0..3 {
            by_n[i] = axpy(through, by_zeta[i], axpy(keep * by_phi[i], d, direct[i]));
        }
        Rates { zeta: by_zeta, d: by_d, n: by_n, phi: by_phi }
    }
}

impl<R: Real> FrictionCone<R> {
    /// The derivative of [`FrictionCone::turning`] when the normal turns at the rate ṅ, with ∂t = −n (t · ∂n) for the
    /// tangent t.
    #[inline(always)]
    pub(crate) fn turning_rate(&self, [velocity, omega]: [Vec3<R>; 2], rate: Vec3<R>) -> Vec3<R> {
        let (n, t) = (self.n, self.tangent());
        let along = dot(rate, velocity) - dot(t, rate) * dot(n, omega);
        axpy(dot(n, velocity), rate, axpy(along, n, scale(dot(rate, omega), t)))
    }

    /// The vector-Jacobian product of [`FrictionCone::turning`]: gradients of velocity, ω and n. That of n is for its
    /// turning: ∂t = −n (t · ∂n).
    #[inline(always)]
    pub(super) fn vjp_turning(&self, velocity: Vec3<R>, omega: Vec3<R>, grad: Vec3<R>) -> Turning<R> {
        let (n, t) = (self.n, self.tangent());
        let (along, across) = (dot(n, grad), dot(t, grad));
        let spin = dot(n, omega);
        let by_n =
            add(axpy(along, velocity, scale(dot(n, velocity), grad)), axpy(-(along * spin), t, scale(across, omega)));
        Turning { by_velocity: scale(along, n), by_omega: scale(across, n), by_n }
    }
}

/// Result of [`FrictionCone::vjp_turning`]: gradients by velocity, ω and n.
pub(super) struct Turning<R> {
    pub(super) by_velocity: Vec3<R>,
    pub(super) by_omega: Vec3<R>,
    pub(super) by_n: Vec3<R>,
}

/// 1/x, or 0 if x is not positive, as for a contact without weight.
#[inline(always)]
fn inverse<R: Real>(x: R) -> R {
    let there = x.gt(R::zero());
    R::select(there, R::one() / R::select(there, x, R::one()), R::zero())
}

/// s 1 + Σ a bᵀ.
#[inline(always)]
fn matrix<R: Real>(s: R, products: [(Vec3<R>, Vec3<R>); 2]) -> Mat3<R> {
    let mut rows = [zero(); 3];
    for (i, row) in rows.iter_mut().enumerate() {
        row[i] = s;
        for (a, b) in &products {
            *row = axpy(a[i], *b, *row);
        }
    }
    rows
}

/// Derivatives of a contact's force by ζ, d, n and φ: see [`FrictionCone::rates`].
pub(crate) struct Rates<R> {
    /// Derivative of the force by ζ at fixed n.
    pub(crate) zeta: Mat3<R>,
    pub(crate) d: Mat3<R>,
    pub(crate) n: Mat3<R>,
    pub(crate) phi: Vec3<R>,
}

/// Result of the vector-Jacobian product [`FrictionCone::vjp`].
pub(crate) struct Pull<R> {
    pub(crate) d: Vec3<R>,
    pub(crate) n: Vec3<R>,
    pub(crate) phi: R,
    pub(crate) mu: R,
    pub(crate) kappa: R,
}
