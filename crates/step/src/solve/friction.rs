//! Smoothed Coulomb friction, and its convex relaxation.
//!
//! Let z = J̃ δ + φ n be the scaled displacement of a contact and z_n its gap. The relaxed law is z = ζ, η = 2 R ζ / (κ
//! ρ(ζ)), see [`super::cone`]; a slip opens a gap z_n ≥ ‖z_t‖. De Saxcé and Feng (1998) close this gap: with z + ‖z_t‖
//! n in place of z, the same complementarity becomes Coulomb's law. Here it is smoothed, with ‖z‖ in place of ‖z_t‖.
//! The two agree where the gap is small compared with the slip:
//!
//! ```text
//! ζ = z + ‖z‖ n        z_n η_n = 1/κ        z_t = −2 η_t / (κ ρ(η))
//! ```
//!
//! Friction may be stiffer than normal forces by a ratio c, as with MuJoCo's option `impratio`: with C = n nᵀ + c (1 −
//! n nᵀ) in front of z in the law above, z_t = −2 η_t / (c κ ρ(η)), and gaps are as before. Static friction then creeps
//! c times less. C turns with n, and W̃ becomes W̃ C.
//!
//! The gap depends only on the normal force, and friction is as in the relaxed law with the same forces. There is no
//! kink where slip vanishes. The gap of a sliding contact is 1/(κ η_n) however far it slides. That is half the gap of a
//! contact at rest in the relaxed law.
//!
//! Forces respond to displacements by dη = −W̃ dz. W̃ is not symmetric: a larger gap reduces the friction, but a larger
//! slip does not change the normal force. With q = −∂η_n/∂z_n, and S symmetric and across n,
//!
//! ```text
//! W̃ = q (n + k) nᵀ + S = F² + x yᵀ,   F = √S,   x = n + k,   y = q n
//! ```
//!
//! Far slips put a force so near to the boundary of its cone that 1 − ‖k‖ is 10⁻⁹. The force that a change of the gap
//! leaves has to keep to n + k by so much: so this stands on its own, and not in factors of W̃ with √q.

use fingertip_lanes::lane::{Mask, Real, state};
use fingertip_scene::Friction;

use super::cone::{FrictionCone, Pull, Rates};
use super::law::Law;
use super::status::is_relaxed;
use super::structure::Structure;
use super::symmetric::Symmetric;
use super::vector::{add, axpy, dot, first, scale, select, sub, transform, transform_back, zero};

/// The linearised response dη = −W̃ dz of a contact's scaled force to its displacement, W̃ = F² + x yᵀ.
#[derive(Clone, Copy)]
pub(super) struct Answer<R, const N: usize> {
    /// The symmetric F.
    pub(super) root: Symmetric<R, N>,
    /// x and y; 0 in the relaxed law, where F = W^½.
    pub(super) up: [R; N],
    pub(super) down: [R; N],
}

/// The scaling of Nesterov and Todd between forces and slacks of Coulomb's law: q, and of S and k the v with ρ(v) = 1
/// and the size t.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Scaling<R, const N: usize> {
    pub(super) q: R,
    pub(super) v: [R; N],
    pub(super) t: R,
}

state!(Scaling[N] { numbers: [q, t], flags: [], states: [v] });

impl<R: Real, const N: usize> Scaling<R, N> {
    /// The scaling at forces η and the slacks that belong to them, for this contact's own κ.
    #[inline(always)]
    pub(super) fn of_forces(cone: &FrictionCone<R, N>, kappa: R, eta: [R; N]) -> Self {
        let (h, root, along) = (kappa.scale(0.5).sqrt(), cone.rho(eta).sqrt(), dot(cone.n, eta));
        Self { q: kappa * along * along, v: scale(R::one() / root, eta), t: h * root }
    }

    /// W̃ = q (n + k) nᵀ + c S as an [`Answer`], with friction stiffer by the ratio c.
    ///
    /// With N = 1 + 2‖v_t‖²: S = t² (1 − 2 v_t v_tᵀ/N) across n, k = 2 v_n v_t/N.
    #[inline(always)]
    pub(super) fn answer(&self, n: [R; N], impratio: R) -> Answer<R, N> {
        let Self { q, v, t } = *self;
        let t = t * impratio.sqrt();
        let along = dot(n, v);
        let across = axpy(-along, n, v);
        let root = dot(across, across).mul_add(R::splat(2.0), R::one()).sqrt();
        let inverse = R::one() / root;
        let bent = -(t * inverse / (root + R::one())).scale(2.0);
        Answer {
            root: Symmetric::diagonal(t).plus(-t, n).plus(bent, across),
            up: axpy((along * inverse * inverse).scale(2.0), across, n),
            down: scale(q, n),
        }
    }

    /// Q⁻¹ x along n, Q = t² (2 v vᵀ − R) being the scaling of the whole cone.
    #[inline(always)]
    pub(super) fn slack_along(&self, n: [R; N], x: [R; N]) -> R {
        let along = dot(n, self.v);
        // R v · x
        let reflected = (along * dot(n, x)).scale(2.0) - dot(self.v, x);
        ((along * reflected).scale(2.0) - dot(n, x)) / (self.t * self.t)
    }
}

impl Structure {
    /// The response of a contact's force to its displacement at the force η, with the contact's own κ. Worlds in
    /// `relaxed` follow the relaxed law.
    #[inline(always)]
    pub(super) fn answer<R: Real, const N: usize>(
        &self,
        cone: &FrictionCone<R, N>,
        kappa: R,
        eta: [R; N],
        relaxed: R::Mask,
    ) -> Answer<R, N> {
        let root = cone.scaling(kappa.scale(0.5).sqrt(), eta, cone.rho(eta));
        match self.friction {
            Friction::Relaxed => Answer { root, up: zero(), down: zero() },
            Friction::Coulomb => {
                let there = kappa.gt(R::zero()).and(relaxed.not());
                let own = Scaling::of_forces(cone, kappa, eta).answer(cone.n, R::splat(self.impratio));
                Answer {
                    root: Symmetric::select(there, own.root, root),
                    up: select(there, own.up, zero()),
                    down: select(there, own.down, zero()),
                }
            }
        }
    }

    /// The unknowns w that stand for the force W̃ᵀ x: F x by the relaxed law, else the force itself.
    #[inline(always)]
    pub(super) fn gather<R: Real, const N: usize>(&self, answer: &Answer<R, N>, x: [R; N]) -> [R; N] {
        let half = answer.root.times(x);
        match self.friction {
            Friction::Relaxed => half,
            Friction::Coulomb => axpy(dot(answer.up, x), answer.down, answer.root.times(half)),
        }
    }

    /// The force that the unknowns w of [`Structure::gather`] stand for.
    #[inline(always)]
    pub(super) fn gathered<R: Real, const N: usize>(&self, answer: &Answer<R, N>, w: [R; N]) -> [R; N] {
        match self.friction {
            Friction::Relaxed => answer.root.times(w),
            Friction::Coulomb => w,
        }
    }

    /// The displacement z that belongs to a contact's force η by the friction law, with the contact's own κ. Worlds in
    /// `relaxed` follow the relaxed law.
    #[inline(always)]
    pub(super) fn displacement<R: Real, const N: usize>(
        &self,
        cone: &FrictionCone<R, N>,
        kappa: R,
        eta: [R; N],
        relaxed: R::Mask,
    ) -> [R; N] {
        let mut z = cone.pole(kappa, eta, cone.rho(eta));
        if self.friction == Friction::Coulomb {
            z = select(relaxed, z, cone.coulomb_displacement(kappa, eta, R::splat(self.impratio)));
        }
        select(kappa.gt(R::zero()), z, zero())
    }

    /// The point ζ of the cone that belongs to a displacement z by a friction law.
    #[inline(always)]
    pub(super) fn lifted<R: Real, const N: usize>(
        &self,
        cone: &FrictionCone<R, N>,
        law: Friction,
        z: [R; N],
    ) -> [R; N] {
        match law {
            Friction::Relaxed => z,
            Friction::Coulomb => cone.lifted(cone.felt(z, R::splat(self.impratio))),
        }
    }

    /// The derivatives of a contact's f = M η(ζ), ζ = M d + φ n, for its own κ; by the relaxed law in worlds whose
    /// status says so.
    #[inline(always)]
    pub(crate) fn rates<R: Real, const N: usize>(
        &self,
        cone: &FrictionCone<R, N>,
        kappa: R,
        eta: [R; N],
        d: [R; N],
        status: R,
    ) -> Rates<R, N> {
        let relaxed = is_relaxed(status);
        let w = match self.friction {
            Friction::Relaxed => cone.weights(kappa, eta).rows(),
            Friction::Coulomb => {
                let Answer { root, up, down } = self.answer(cone, kappa, eta, relaxed);
                let (rows, mut w) = (root.rows(), [zero(); N]);
                for i in 0..N {
                    w[i] = axpy(up[i], down, transform_back(&rows, rows[i]));
                }
                w
            }
        };
        cone.rates((eta, self.displacement(cone, kappa, eta, relaxed)), d, &w)
    }

    /// The vector-Jacobian product of a contact's f = M η(ζ), ζ = M d + φ n, for its own κ, given the gradient e of f
    /// and W̃ᵀ M e; by the relaxed law in worlds whose status says so.
    #[inline(always)]
    pub(super) fn vjp<R: Real, const N: usize>(
        &self,
        cone: &FrictionCone<R, N>,
        (kappa, eta): (R, [R; N]),
        (d, e, weighed): ([R; N], [R; N], [R; N]),
        status: R,
    ) -> Pull<R, N> {
        let z = self.displacement(cone, kappa, eta, is_relaxed(status));
        cone.vjp(kappa, (eta, z), d, e, weighed)
    }

    /// The factors that solve with H, for elimination and for substitution. Those of Hᵀ are the same in reverse order.
    #[inline(always)]
    pub(crate) fn factors<'a, R>(&self, h: &'a [R], upper: &'a [R]) -> [&'a [R]; 2] {
        if self.friction.is_symmetric() { [h, h] } else { [upper, h] }
    }
}

impl<R: Real, const N: usize> FrictionCone<R, N> {
    /// Gradients of f = M η(z), z = M d + φ n, for any law that turns with its arguments, given f̄ = e and W̃ᵀ M e: for
    /// d, and for n, φ, μ, γ and this contact's κ. Those of the unit normal are for its turning. z is that of the law,
    /// as it has more digits than M d + φ n, and W̃ may be so large that little is left of it by a product.
    ///
    /// A law that turns with its arguments, η(Q z, Q n) = Q η, has ∂η/∂n ṅ = η_n ṅ − (ṅ · η) n + W̃ (z_n ṅ − (ṅ · z) n)
    /// for ṅ ⟂ n.
    #[inline(always)]
    fn vjp(&self, kappa: R, (eta, z): ([R; N], [R; N]), d: [R; N], e: [R; N], weighed: [R; N]) -> Pull<R, N> {
        let n = self.n;
        let keep = R::one() - self.mu;
        let (d_n, d_t) = self.split(d);
        let (eta_n, eta_t) = self.split(eta);
        let grad_eta = self.scaled(e);
        let grad_zeta = scale(-R::one(), weighed);
        let grad_phi = dot(n, grad_zeta);
        let mut grad_n = scale(keep, add(scale(eta_n, e), scale(dot(n, e), eta)));
        grad_n = add(grad_n, sub(scale(eta_n, grad_eta), scale(dot(n, grad_eta), eta)));
        grad_n = add(grad_n, sub(scale(dot(n, z), weighed), scale(dot(n, weighed), z)));
        grad_n = axpy(self.phi + keep * d_n, grad_zeta, axpy(keep * grad_phi, d, grad_n));
        let there = kappa.gt(R::zero());
        let grad_kappa = -(dot(grad_eta, eta) / R::select(there, kappa, R::one()));
        let coefficients = add(Self::by_coefficients(e, eta_t), Self::by_coefficients(grad_zeta, d_t));
        Pull { d: self.scaled(grad_zeta), n: first(grad_n), phi: grad_phi, coefficients, kappa: grad_kappa }
    }

    /// What [`FrictionCone::vjp`] multiplies from the left, as matrices, given W̃:
    ///
    /// ∂f/∂n = k (η_n + n ηᵀ) + η_n M − n ηᵀ + M W̃ ((z_n − φ − k d_n) − n (z + k d)ᵀ), k = 1 − μ.
    #[inline(always)]
    fn rates(&self, (eta, z): ([R; N], [R; N]), d: [R; N], w: &[[R; N]; N]) -> Rates<R, N> {
        let (n, keep) = (self.n, R::one() - self.mu);
        // M W̃ by its columns.
        let (mut mw, mut by_zeta) = ([zero(); N], [zero(); N]);
        for j in 0..N {
            let mut column = zero();
            for i in 0..N {
                column[i] = w[i][j];
            }
            column = self.scaled(column);
            for i in 0..N {
                mw[i][j] = column[i];
            }
        }
        let mut by_d = [zero(); N];
        for i in 0..N {
            by_zeta[i] = scale(-R::one(), mw[i]);
            by_d[i] = self.scaled(by_zeta[i]);
        }
        let by_phi = transform(&by_zeta, n);
        let (eta_n, d_n) = (dot(n, eta), dot(n, d));
        let turned = dot(n, z) - self.phi - keep * d_n;
        let zd = axpy(keep, d, z);
        let mut by_n = [zero(); N];
        for (i, row) in by_n.iter_mut().enumerate() {
            let mut unit = zero();
            unit[i] = R::one();
            let of_force = add(scale(keep * eta_n, unit), scale((keep - R::one()) * n[i], eta));
            let of_answer = sub(scale(turned, mw[i]), scale(dot(mw[i], n), zd));
            *row = add(add(of_force, scale(eta_n, self.scaled(unit))), of_answer);
        }
        Rates { zeta: by_zeta, d: by_d, n: by_n, phi: by_phi }
    }

    /// The displacement z that belongs to η by Coulomb's law, for the contact's own κ and the ratio c.
    #[inline(always)]
    pub(super) fn coulomb_displacement(&self, kappa: R, eta: [R; N], impratio: R) -> [R; N] {
        let (along, across) = self.split(eta);
        let unit = R::one() / kappa;
        add(scale(unit / along, self.n), scale(-((unit + unit) / (self.rho(eta) * impratio)), across))
    }

    /// C z: a displacement with its slip as large as friction feels it.
    #[inline(always)]
    pub(super) fn felt(&self, z: [R; N], impratio: R) -> [R; N] {
        axpy(dot(self.n, z) * (R::one() - impratio), self.n, scale(impratio, z))
    }

    /// The point ζ = z + ‖z‖ n of the cone that belongs to a felt displacement z by Coulomb's law.
    #[inline(always)]
    pub(super) fn lifted(&self, z: [R; N]) -> [R; N] {
        axpy(dot(z, z).sqrt(), self.n, z)
    }
}
