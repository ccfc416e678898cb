//! Friction of a planar body on a table: a bounded force and torque in the same barrier.
//!
//! A table rubs on the whole footprint of a body that slides and turns on it. Of the forces (f_x, f_y) at the centre of
//! mass and the torque τ about it, those that it can have are, to good approximation, an ellipsoid, the limit surface
//! (Goyal, Ruina, Papadopoulos 1991; Howe, Cutkosky 1996):
//!
//! ```text
//! ‖f‖² + (τ/c)² ≤ F²        F = μ m g,   c = τ_max / F
//! ```
//!
//! With η = (f_x, f_y, τ/c) and the displacement u = T δ = (d_x, d_y, c θ) of the centre of mass and the body that is
//! a ball of radius F. The friction opposes u: the motion is normal to the ellipsoid. In the barrier −(1/κ) log(F² −
//! ‖η‖²) of the dual function this is the dry friction of [`super::dry`] in three dimensions,
//!
//! ```text
//! u = −2 η / (κ (F² − ‖η‖²))        η = −F b / (1 + s),   b = κ F u,   s = √(1 + ‖b‖²)
//! −∂η/∂u = κ F² (1/(1 + s) − b bᵀ/(s (1 + s)²))
//! ```
//!
//! For the primal-dual method of [`super::approach`], z = (F, η) is in the second-order cone of four dimensions, and
//! so is its slack y = (y₀, y_v), with y_v = u and y₀ free, as F does not change. With the scaling of Nesterov and
//! Todd between them, y = θ (2 w wᵀ − R) z and ρ(w) = 1, the step for τ is
//!
//! ```text
//! η + Δη = η + V⁻¹ (τ u(η) − u₊)        V = θ (1 + 2 w_v w_vᵀ)
//! Δy₀ = 2 τ F/(κ ρ(z)) − y₀ − 2 θ w₀ w_v · Δη        Δy_v = u₊ − y_v
//! ```

use fingertip_lanes::lane::{Mask, Real, copy};
use fingertip_lanes::vector::{Vec3, add, axpy, dot, scale, sub, vec3_at, zero};

use super::cones::Cone;
use super::dry::MOST;
use super::structure::{Structure, TABLE_OPERAND, TablePlaces};
use super::symmetric::Symmetric;

/// The friction of a table, with its largest force F.
pub(crate) struct Table<'a, R> {
    pub(super) on: Footprint<'a, R>,
    most: R,
}

/// The motion T of a body on a table.
#[derive(Clone, Copy)]
pub(super) struct Footprint<'a, R> {
    places: &'a TablePlaces,
    /// What turning moves: the centre of mass along x and y, and c.
    lever: Vec3<R>,
}

impl<R: Real> Footprint<'_, R> {
    /// T δ.
    #[inline(always)]
    pub(super) fn moved(&self, delta: &[R]) -> Vec3<R> {
        let [x, y, yaw] = self.places.dofs;
        axpy(delta[yaw], self.lever, [delta[x], delta[y], R::zero()])
    }

    /// x += Tᵀ force.
    #[inline(always)]
    pub(super) fn push(&self, force: Vec3<R>, to: &mut [R]) {
        let [x, y, yaw] = self.places.dofs;
        to[x] += force[0];
        to[y] += force[1];
        to[yaw] += dot(self.lever, force);
    }

    /// x −= Tᵀ force.
    #[inline(always)]
    pub(super) fn pull(&self, force: Vec3<R>, to: &mut [R]) {
        let [x, y, yaw] = self.places.dofs;
        to[x] -= force[0];
        to[y] -= force[1];
        to[yaw] -= dot(self.lever, force);
    }

    /// The diagonal of D = T Tᵀ with the pivots between them.
    #[inline(always)]
    fn compliance(&self, pivot: &[R]) -> Vec3<R> {
        let [x, y, yaw] = self.places.dofs;
        let mut d = [pivot[x], pivot[y], R::zero()];
        for k in 0..3 {
            d[k] = (self.lever[k] * self.lever[k]).mul_add(pivot[yaw], d[k]);
        }
        d
    }

    /// u − D η, the displacement without the force.
    #[inline(always)]
    pub(super) fn freed(&self, pivot: &[R], eta: Vec3<R>, mut u: Vec3<R>) -> Vec3<R> {
        let d = self.compliance(pivot);
        for k in 0..3 {
            u[k] = (-d[k]).mul_add(eta[k], u[k]);
        }
        u
    }

    /// h += Tᵀ W T: none of its degrees of freedom is private.
    #[inline(always)]
    pub(super) fn stiffen(&self, _: &Structure, weight: Symmetric<R, 3>, h: &mut [R], _: Option<&mut [R]>) {
        let [[xx, xy, _], [_, yy, _], _] = weight.rows();
        let turned = weight.times(self.lever);
        let all = [xx, xy, yy, turned[0], turned[1], dot(self.lever, turned)];
        for (k, &entry) in self.places.entries.iter().enumerate() {
            h[entry] += all[k];
        }
    }
}

/// The scaling of Nesterov and Todd of a table.
struct Scaling<R> {
    /// w₀ and w_v.
    lead: R,
    w: Vec3<R>,
    theta: R,
}

/// ρ of (lead, v) in the cone, (lead − ‖v‖)(lead + ‖v‖).
#[inline(always)]
fn rho<R: Real>(lead: R, v: Vec3<R>) -> R {
    let length = dot(v, v).sqrt();
    (lead - length) * (lead + length)
}

/// The longest step length for which (lead, v) stays in the cone, and c₀, c₁, c₂ of ρ along the step: as
/// [`super::cone::FrictionCone::room`].
#[inline(always)]
fn room<R: Real>((lead, v): (R, Vec3<R>), (d_lead, d_v): (R, Vec3<R>)) -> (R, Vec3<R>) {
    let c0 = rho(lead, v);
    let c1 = (lead * d_lead - dot(v, d_v)).scale(2.0);
    let c2 = d_lead.mul_add(d_lead, -dot(d_v, d_v));
    let discriminant = c1.mul_add(c1, -(c0 * c2).scale(4.0));
    let below = discriminant.max(R::zero()).sqrt() - c1;
    let falling = d_lead.lt(R::zero());
    let leaves = discriminant.lt(R::zero()).not().or(falling).and(below.gt(R::zero()));
    let far = R::splat(f64::INFINITY);
    let through_side = R::select(leaves, c0.scale(2.0) / R::select(leaves, below, R::one()), far);
    let through_tip = R::select(falling, -(lead / R::select(falling, d_lead, R::one())), far);
    (through_side.min(through_tip), [c0, c1, c2])
}

impl<'a, R: Real> Table<'a, R> {
    /// Reads a table from a problem's gaps.
    #[inline(always)]
    pub(crate) fn read(gaps: &[R], places: &'a TablePlaces) -> Self {
        Self { on: Footprint { places, lever: vec3_at(gaps, places.numbers + 1) }, most: gaps[places.numbers] }
    }

    /// How Tᵀη changes where the body's yaw does at fixed δ, along x, y and yaw: the centre of mass goes round the
    /// origin of the body's frame.
    #[inline(always)]
    pub(crate) fn carried(&self, kappa: R, delta: &[R]) -> Vec3<R> {
        let Footprint { places, lever } = self.on;
        let (rate, u) = ([R::zero() - lever[1], lever[0], R::zero()], self.at(delta));
        let change = self.weight_at(kappa, zero(), u).times(scale(-delta[places.dofs[2]], rate));
        [change[0], change[1], dot(rate, self.force(kappa, u)) + dot(lever, change)]
    }

    /// b = κ F u and s = √(1 + ‖b‖²).
    #[inline(always)]
    fn stretched(&self, kappa: R, u: Vec3<R>) -> (Vec3<R>, R) {
        let b = scale(kappa * self.most, u);
        (b, (dot(b, b) + R::one()).sqrt())
    }

    /// The force −F b / (1 + s) at u.
    #[inline(always)]
    fn force(&self, kappa: R, u: Vec3<R>) -> Vec3<R> {
        let (b, s) = self.stretched(kappa, u);
        scale(-(self.most / (R::one() + s)), b)
    }

    /// The displacement u that belongs to the force.
    #[inline(always)]
    fn displacement(&self, kappa: R, eta: Vec3<R>) -> Vec3<R> {
        scale(-(R::splat(2.0) / (kappa * rho(self.most, eta))), eta)
    }

    /// The derivative of η at fixed u by F, −b/s.
    #[inline(always)]
    fn by_most(&self, kappa: R, u: Vec3<R>) -> Vec3<R> {
        let (b, s) = self.stretched(kappa, u);
        scale(-(R::one() / s), b)
    }

    #[inline(always)]
    fn between(&self, eta: Vec3<R>, [lead, x, y, z]: [R; 4]) -> Scaling<R> {
        let (rho_z, rho_y) = (rho(self.most, eta), rho(lead, [x, y, z]));
        let (per_z, per_y) = (R::one() / rho_z.sqrt(), R::one() / rho_y.sqrt());
        let (z0, zv) = (self.most * per_z, scale(per_z, eta));
        let (y0, yv) = (lead * per_y, scale(per_y, [x, y, z]));
        let twice = (z0.mul_add(y0, dot(zv, yv)) + R::one()).scale(2.0).sqrt();
        let inverse = R::one() / twice;
        Scaling { lead: (y0 + z0) * inverse, w: scale(inverse, sub(yv, zv)), theta: (rho_y / rho_z).sqrt() }
    }
}

impl<R: Real> Cone<R, 3, 4> for Table<'_, R> {
    type Weight = Symmetric<R, 3>;

    #[inline(always)]
    fn places(&self) -> (usize, usize) {
        (self.on.places.force, self.on.places.slack)
    }

    #[inline(always)]
    fn at(&self, delta: &[R]) -> Vec3<R> {
        self.on.moved(delta)
    }

    /// Are F and c positive?
    #[inline(always)]
    fn is_valid(&self) -> R::Mask {
        self.most.gt(R::zero()).and(self.on.lever[2].gt(R::zero()))
    }

    #[inline(always)]
    fn is_inside(&self, eta: Vec3<R>) -> R::Mask {
        rho(self.most, eta).gt(R::zero())
    }

    #[inline(always)]
    fn slack_of(&self, kappa: R, eta: Vec3<R>) -> [R; 4] {
        let [x, y, z] = self.displacement(kappa, eta);
        [self.most.scale(2.0) / (kappa * rho(self.most, eta)), x, y, z]
    }

    /// As that of [`super::dry::Dry`].
    #[inline(always)]
    fn alone(&self, kappa: R, pivot: &[R], u: Vec3<R>) -> Vec3<R> {
        let (d, mut held) = (self.on.compliance(pivot), u);
        for k in 0..3 {
            held[k] = -(u[k] / d[k]);
        }
        let slips = self.force(kappa, u);
        let most = dot(slips, slips).sqrt().min(self.most.scale(MOST));
        let length = dot(held, held).sqrt().max(R::tiny());
        scale((most / length).min(R::one()), held)
    }

    #[inline(always)]
    fn lifted(&self, mask: R::Mask, [lead, x, y, z]: [R; 4], u: Vec3<R>, part: f64) -> [R; 4] {
        let off = sub(u, [x, y, z]);
        [lead + R::select(mask, dot(off, off).sqrt().scale(part), R::zero()), x, y, z]
    }

    /// W = ½ κ ρ (1 − 2 η ηᵀ/(F² + ‖η‖²)).
    #[inline(always)]
    fn response(&self, kappa: R, eta: Vec3<R>) -> (Symmetric<R, 3>, Vec3<R>) {
        let half = (kappa * rho(self.most, eta)).scale(0.5);
        let sum = self.most.mul_add(self.most, dot(eta, eta));
        let weight = Symmetric::diagonal(half).plus(-(half.scale(2.0) / sum), eta);
        (weight, add(eta, weight.times(self.displacement(kappa, eta))))
    }

    #[inline(always)]
    fn response_with(&self, kappa: R, tau: R, eta: Vec3<R>, slack: [R; 4]) -> (Symmetric<R, 3>, Vec3<R>) {
        let Scaling { w, theta, .. } = self.between(eta, slack);
        let per = R::one() / theta;
        let part = R::splat(2.0) / dot(w, w).mul_add(R::splat(2.0), R::one());
        let weight = Symmetric::diagonal(per).plus(-(per * part), w);
        (weight, add(eta, weight.times(scale(tau, self.displacement(kappa, eta)))))
    }

    #[inline(always)]
    fn slack_step(
        &self,
        [kappa, tau]: [R; 2],
        [eta, d_eta]: [Vec3<R>; 2],
        s: [R; 4],
        [u, moved]: [Vec3<R>; 2],
    ) -> [R; 4] {
        let next = add(u, moved);
        let Scaling { lead, w, theta } = self.between(eta, s);
        let wanted = (tau * self.most).scale(2.0) / (kappa * rho(self.most, eta));
        let first = wanted - s[0] - (theta * lead * dot(w, d_eta)).scale(2.0);
        [first, next[0] - s[1], next[1] - s[2], next[2] - s[3]]
    }

    #[inline(always)]
    fn nearer(&self, end: R, eta: Vec3<R>, d_eta: Vec3<R>) -> R {
        end.min(room((self.most, eta), (R::zero(), d_eta)).0)
    }

    #[inline(always)]
    fn slack_nearer(&self, end: R, [y0, x, y, z]: [R; 4], [d0, dx, dy, dz]: [R; 4]) -> R {
        end.min(room((y0, [x, y, z]), (d0, [dx, dy, dz])).0)
    }

    /// The slack times (F, η).
    #[inline(always)]
    fn add_product(&self, eta: Vec3<R>, [y0, x, y, z]: [R; 4], sum: R) -> R {
        sum + y0.mul_add(self.most, dot(eta, [x, y, z]))
    }

    #[inline(always)]
    fn misfit(&self, kappa: R, eta: Vec3<R>, u: Vec3<R>) -> R {
        let error = sub(u, self.displacement(kappa, eta));
        kappa * dot(error, self.response(kappa, eta).0.times(error))
    }

    #[inline(always)]
    fn misfit_with(&self, kappa: R, eta: Vec3<R>, [y0, x, y, z]: [R; 4]) -> R {
        let [p0, px, py, pz] = self.slack_of(kappa, eta);
        let (r0, r) = (y0 - p0, sub([x, y, z], [px, py, pz]));
        let along = self.most.mul_add(r0, dot(eta, r));
        let size = r0.mul_add(r0, -dot(r, r)) * rho(self.most, eta);
        (kappa * kappa).scale(0.5) * ((along * along).scale(2.0) - size)
    }

    #[inline(always)]
    fn decrement(&self, kappa: R, eta: Vec3<R>, u: Vec3<R>, d_eta: Vec3<R>) -> R {
        dot(d_eta, sub(u, self.displacement(kappa, eta))) * kappa
    }

    #[inline(always)]
    fn add_slopes(&self, alpha: R, eta: Vec3<R>, d_eta: Vec3<R>, [first, second]: &mut [R; 2]) {
        let [c0, c1, c2] = room((self.most, eta), (R::zero(), d_eta)).1;
        let inverse = R::one() / c2.mul_add(alpha, c1).mul_add(alpha, c0);
        let log = c2.scale(2.0).mul_add(alpha, c1) * inverse;
        *first -= log;
        *second += log * log - c2.scale(2.0) * inverse;
    }

    #[inline(always)]
    fn rounding(&self, eta: Vec3<R>, unit: R, worst: R) -> R {
        worst.max(self.most.scale(2.0) / (self.most - dot(eta, eta).sqrt()) * unit)
    }

    /// As a part of F.
    #[inline(always)]
    fn residual(&self, kappa: R, eta: Vec3<R>, delta: &[R], _: R) -> R {
        let error = sub(eta, self.force(kappa, self.at(delta)));
        dot(error, error).sqrt() / self.most
    }

    /// From u, which has the digits that F − ‖η‖ loses where the body slips.
    #[inline(always)]
    fn settled(&self, kappa: R, _: Vec3<R>, u: Vec3<R>) -> Vec3<R> {
        self.force(kappa, u)
    }

    #[inline(always)]
    fn weight_at(&self, kappa: R, _: Vec3<R>, u: Vec3<R>) -> Symmetric<R, 3> {
        let (b, s) = self.stretched(kappa, u);
        let across = kappa * self.most * self.most / (R::one() + s);
        Symmetric::diagonal(across).plus(-(across / s.mul_add(s, s)), b)
    }

    /// α (1 − b bᵀ/(√s (√s + 1)(s + 1))), α = F √(κ/(1 + s)).
    #[inline(always)]
    fn root_at(&self, kappa: R, _: Vec3<R>, u: Vec3<R>) -> Symmetric<R, 3> {
        let (b, s) = self.stretched(kappa, u);
        let (alpha, root) = (self.most * (kappa / (R::one() + s)).sqrt(), s.sqrt());
        Symmetric::diagonal(alpha).plus(-(alpha / (root.mul_add(root, root) * (s + R::one()))), b)
    }

    /// −F b/(s (1 + s)).
    #[inline(always)]
    fn by_kappa(&self, kappa: R, _: Vec3<R>, u: Vec3<R>) -> Vec3<R> {
        let (_, s) = self.stretched(kappa, u);
        scale(self.most / (R::one() + s), self.by_most(kappa, u))
    }

    /// Those of F and of the lever: T̄ = η yᵀ + ū δᵀ.
    #[inline(always)]
    fn vjp(&self, kappa: R, u: Vec3<R>, [e, grad_u]: [Vec3<R>; 2], [y, delta]: [&[R]; 2], gaps: &mut [R]) {
        let TablePlaces { dofs: [_, _, yaw], numbers, .. } = *self.on.places;
        let lever = axpy(y[yaw], self.force(kappa, u), scale(delta[yaw], grad_u));
        let grad_most = dot(e, self.by_most(kappa, u));
        copy(&mut gaps[numbers..numbers + TABLE_OPERAND], &[grad_most, lever[0], lever[1], lever[2]]);
    }
}
