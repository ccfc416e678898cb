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

use fingertip_lanes::lane::{Mask, Real, copy, state};
use fingertip_lanes::vector::{Vec3, add, axpy, dot, scale, sub, vec3_at};

use super::symmetric::Symmetric;

/// Numbers of a table among a problem's gaps: F, what turning by one moves the centre of mass by along x and y, and c.
pub(crate) const TABLE_OPERAND: usize = 4;

/// Largest part of F with which a table starts.
const MOST: f64 = 1.0 - 1e-6;

/// A body on a table: where the numbers of both are.
#[derive(Clone, Debug)]
pub(crate) struct TablePlaces {
    /// Places of the body's degrees of freedom x, y and yaw.
    pub(crate) dofs: [usize; 3],
    /// Entries of H: xx, xy, yy, x yaw, y yaw, yaw yaw.
    pub(crate) entries: [usize; 6],
    /// Index of the first of its three forces among those of limits.
    pub(crate) force: usize,
    /// Index of the first of its [`TABLE_OPERAND`] numbers among the gaps.
    pub(crate) numbers: usize,
}

/// The friction of a table: F, and how a body moves on it.
pub(crate) struct Table<'a, R> {
    places: &'a TablePlaces,
    most: R,
    /// What turning moves: the centre of mass along x and y, and c.
    lever: Vec3<R>,
}

/// Linear response of a table's force: η + Δη = pull − weight · (u after the step).
pub(super) struct TableResponse<R> {
    pub(super) weight: Symmetric<R>,
    pub(super) pull: Vec3<R>,
}

state!(TableResponse { numbers: [], flags: [], states: [weight, pull] });

/// The slack y of a table and its change in the step.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct TableState<R> {
    pub(super) slack: [R; 4],
    pub(super) d_slack: [R; 4],
}

/// Length of a [`TableState`] in numbers.
pub(super) const TABLE_STATE: usize = size_of::<TableState<f64>>() / size_of::<f64>();

impl<R: Real> TableState<R> {
    /// Views a slice of numbers as the tables' states, [`TABLE_STATE`] numbers each.
    #[inline(always)]
    pub(super) fn of(numbers: &mut [R]) -> &mut [Self] {
        // SAFETY: a `repr(C)` struct of nothing but `R`s is as aligned as one and as large as `TABLE_STATE` of them.
        unsafe { std::slice::from_raw_parts_mut(numbers.as_mut_ptr().cast(), numbers.len() / TABLE_STATE) }
    }

    /// Takes a step of length α of the slack in worlds of the mask.
    #[inline(always)]
    pub(super) fn go(&mut self, moving: R::Mask, alpha: R) {
        for k in 0..4 {
            self.slack[k] = R::select(moving, alpha.mul_add(self.d_slack[k], self.slack[k]), self.slack[k]);
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
/// [`super::cone::Cone::room`].
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
        Self { places, most: gaps[places.numbers], lever: vec3_at(gaps, places.numbers + 1) }
    }

    /// Its force η, among those of limits.
    #[inline(always)]
    pub(super) fn own(&self, of: &[R]) -> Vec3<R> {
        vec3_at(of, self.places.force)
    }

    /// Writes its three numbers among those of limits.
    #[inline(always)]
    pub(super) fn put(&self, of: &mut [R], x: Vec3<R>) {
        copy(&mut of[self.places.force..self.places.force + 3], &x);
    }

    /// Are F and c positive?
    #[inline(always)]
    pub(super) fn is_there(&self) -> R::Mask {
        self.most.gt(R::zero()).and(self.lever[2].gt(R::zero()))
    }

    /// u = T δ.
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

    /// h += Tᵀ weight T.
    #[inline(always)]
    pub(super) fn stiffen(&self, weight: &Symmetric<R>, h: &mut [R]) {
        let [[xx, xy, _], [_, yy, _], _] = weight.rows();
        let turned = weight.times(self.lever);
        let all = [xx, xy, yy, turned[0], turned[1], dot(self.lever, turned)];
        for (k, &entry) in self.places.entries.iter().enumerate() {
            h[entry] += all[k];
        }
    }

    /// Gradients of F and of the lever, given those of η at fixed u, of u, and T y, for the displacement δ: T̄ = η yᵀ +
    /// ū δᵀ.
    #[inline(always)]
    pub(super) fn vjp(
        &self,
        (eta, grad_moved): (Vec3<R>, Vec3<R>),
        grad_most: R,
        (y, delta): (&[R], &[R]),
        to: &mut [R],
    ) {
        let yaw = self.places.dofs[2];
        let lever = axpy(y[yaw], eta, scale(delta[yaw], grad_moved));
        copy(
            &mut to[self.places.numbers..self.places.numbers + TABLE_OPERAND],
            &[grad_most, lever[0], lever[1], lever[2]],
        );
    }

    /// How Tᵀη changes where the body's yaw does at fixed δ, along x, y and yaw: the centre of mass goes round the
    /// origin of the body's frame.
    #[inline(always)]
    pub(crate) fn carried(&self, kappa: R, delta: &[R]) -> Vec3<R> {
        let [x, y, _] = self.lever;
        let (rate, u) = ([R::zero() - y, x, R::zero()], self.moved(delta));
        let change = self.weight_at(kappa, u).times(scale(-delta[self.places.dofs[2]], rate));
        [change[0], change[1], dot(rate, self.force(kappa, u)) + dot(self.lever, change)]
    }

    /// b = κ F u and s = √(1 + ‖b‖²).
    #[inline(always)]
    fn stretched(&self, kappa: R, u: Vec3<R>) -> (Vec3<R>, R) {
        let b = scale(kappa * self.most, u);
        (b, (dot(b, b) + R::one()).sqrt())
    }

    /// The force −F b / (1 + s) at u.
    #[inline(always)]
    pub(super) fn force(&self, kappa: R, u: Vec3<R>) -> Vec3<R> {
        let (b, s) = self.stretched(kappa, u);
        scale(-(self.most / (R::one() + s)), b)
    }

    /// −∂η/∂u at u, which has the digits that F − ‖η‖ loses where the body slips.
    #[inline(always)]
    pub(super) fn weight_at(&self, kappa: R, u: Vec3<R>) -> Symmetric<R> {
        let (b, s) = self.stretched(kappa, u);
        let across = kappa * self.most * self.most / (R::one() + s);
        Symmetric::diagonal(across).plus(-(across / s.mul_add(s, s)), b)
    }

    /// The root of [`Table::weight_at`]: α (1 − b bᵀ/(√s (√s + 1)(s + 1))), α = F √(κ/(1 + s)).
    #[inline(always)]
    pub(super) fn root_at(&self, kappa: R, u: Vec3<R>) -> Symmetric<R> {
        let (b, s) = self.stretched(kappa, u);
        let (alpha, root) = (self.most * (kappa / (R::one() + s)).sqrt(), s.sqrt());
        Symmetric::diagonal(alpha).plus(-(alpha / (root.mul_add(root, root) * (s + R::one()))), b)
    }

    /// The derivatives of η at fixed u by F, −b/s, and by κ times κ, −F b/(s (1 + s)).
    #[inline(always)]
    pub(super) fn rates(&self, kappa: R, u: Vec3<R>) -> [Vec3<R>; 2] {
        let (b, s) = self.stretched(kappa, u);
        let by_most = scale(-(R::one() / s), b);
        [by_most, scale(self.most / (R::one() + s), by_most)]
    }

    /// The force of the body alone, about, as [`super::dry::Dry::alone`]: with the force `eta` it moves by u. `pivot`
    /// is what each degree of freedom moves by for a unit force.
    #[inline(always)]
    pub(super) fn alone(&self, kappa: R, pivot: &[R], eta: Vec3<R>, u: Vec3<R>) -> Vec3<R> {
        let [x, y, yaw] = self.places.dofs;
        let by_axis = [pivot[x], pivot[y], R::zero()];
        let (mut free, mut held) = (u, u);
        for k in 0..3 {
            let d = (self.lever[k] * self.lever[k]).mul_add(pivot[yaw], by_axis[k]);
            free[k] = (-d).mul_add(eta[k], u[k]);
            held[k] = -(free[k] / d);
        }
        let slips = self.force(kappa, free);
        let most = dot(slips, slips).sqrt().min(self.most.scale(MOST));
        let length = dot(held, held).sqrt().max(R::tiny());
        scale((most / length).min(R::one()), held)
    }

    /// Is the force within its bound?
    #[inline(always)]
    pub(super) fn is_inside(&self, eta: Vec3<R>) -> R::Mask {
        rho(self.most, eta).gt(R::zero())
    }

    /// The displacement u that belongs to the force.
    #[inline(always)]
    pub(super) fn displacement(&self, kappa: R, eta: Vec3<R>) -> Vec3<R> {
        scale(-(R::splat(2.0) / (kappa * rho(self.most, eta))), eta)
    }

    /// The slack that belongs to the force.
    #[inline(always)]
    pub(super) fn slack(&self, kappa: R, eta: Vec3<R>) -> [R; 4] {
        let [x, y, z] = self.displacement(kappa, eta);
        [self.most.scale(2.0) / (kappa * rho(self.most, eta)), x, y, z]
    }

    /// −∂η/∂u = ½ κ ρ (1 − 2 η ηᵀ/(F² + ‖η‖²)).
    #[inline(always)]
    fn weight(&self, kappa: R, eta: Vec3<R>) -> Symmetric<R> {
        let half = (kappa * rho(self.most, eta)).scale(0.5);
        let sum = self.most.mul_add(self.most, dot(eta, eta));
        Symmetric::diagonal(half).plus(-(half.scale(2.0) / sum), eta)
    }

    /// The linearised response for a force whose slack belongs to it.
    #[inline(always)]
    pub(super) fn response(&self, kappa: R, eta: Vec3<R>) -> TableResponse<R> {
        let weight = self.weight(kappa, eta);
        TableResponse { pull: add(eta, weight.times(self.displacement(kappa, eta))), weight }
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

    /// [`Table::response`] with a slack of its own.
    #[inline(always)]
    pub(super) fn response_with(&self, kappa: R, tau: R, eta: Vec3<R>, slack: [R; 4]) -> TableResponse<R> {
        let Scaling { w, theta, .. } = self.between(eta, slack);
        let per = R::one() / theta;
        let part = R::splat(2.0) / dot(w, w).mul_add(R::splat(2.0), R::one());
        let weight = Symmetric::diagonal(per).plus(-(per * part), w);
        TableResponse { pull: add(eta, weight.times(scale(tau, self.displacement(kappa, eta)))), weight }
    }

    /// The change of the slack where the force changes so, and u is `next` after the step.
    #[inline(always)]
    pub(super) fn slack_step(
        &self,
        (kappa, tau): (R, R),
        (eta, d_eta): (Vec3<R>, Vec3<R>),
        slack: [R; 4],
        next: Vec3<R>,
    ) -> [R; 4] {
        let Scaling { lead, w, theta } = self.between(eta, slack);
        let wanted = (tau * self.most).scale(2.0) / (kappa * rho(self.most, eta));
        let first = wanted - slack[0] - (theta * lead * dot(w, d_eta)).scale(2.0);
        [first, next[0] - slack[1], next[1] - slack[2], next[2] - slack[3]]
    }

    /// The step length, in steps, by which the force reaches its bound, and c₀, c₁, c₂ of F² − ‖η‖² along the step.
    #[inline(always)]
    pub(super) fn room(&self, eta: Vec3<R>, d_eta: Vec3<R>) -> (R, Vec3<R>) {
        room((self.most, eta), (R::zero(), d_eta))
    }

    /// The step length, in steps, by which the slack leaves its cone.
    #[inline(always)]
    pub(super) fn slack_room(&self, [y0, x, y, z]: [R; 4], [d0, dx, dy, dz]: [R; 4]) -> R {
        room((y0, [x, y, z]), (d0, [dx, dy, dz])).0
    }

    /// How far u is from what belongs to the force, as [`super::cone::Cone::misfit`].
    #[inline(always)]
    pub(super) fn misfit(&self, kappa: R, eta: Vec3<R>, u: Vec3<R>) -> R {
        let error = sub(u, self.displacement(kappa, eta));
        kappa * dot(error, self.weight(kappa, eta).times(error))
    }

    /// How far a slack is from that of the force, as [`super::cone::Cone::misfit`].
    #[inline(always)]
    pub(super) fn misfit_with(&self, kappa: R, eta: Vec3<R>, [y0, x, y, z]: [R; 4]) -> R {
        let [p0, px, py, pz] = self.slack(kappa, eta);
        let (r0, r) = (y0 - p0, sub([x, y, z], [px, py, pz]));
        let along = self.most.mul_add(r0, dot(eta, r));
        let size = r0.mul_add(r0, -dot(r, r)) * rho(self.most, eta);
        (kappa * kappa).scale(0.5) * ((along * along).scale(2.0) - size)
    }

    /// The slack times (F, η).
    #[inline(always)]
    pub(super) fn product(&self, eta: Vec3<R>, [y0, x, y, z]: [R; 4]) -> R {
        y0.mul_add(self.most, dot(eta, [x, y, z]))
    }

    /// F over what is left of it, which rounding of the force leaves digits of.
    #[inline(always)]
    pub(super) fn narrowness(&self, eta: Vec3<R>) -> R {
        self.most.scale(2.0) / (self.most - dot(eta, eta).sqrt())
    }

    /// How far the force is from what belongs to u, as a part of F.
    #[inline(always)]
    pub(super) fn off(&self, kappa: R, eta: Vec3<R>, u: Vec3<R>) -> R {
        let error = sub(eta, self.force(kappa, u));
        dot(error, error).sqrt() / self.most
    }
}
