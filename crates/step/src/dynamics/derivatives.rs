//! Derivatives of inverse and forward dynamics by q (in tangent coordinates) and v, all at once.
//!
//! A displacement along screw i carries all that hangs from link i with it. What is left beside being carried, for
//! every body b below, is (Carpentier & Mansard, *Analytical Derivatives of Rigid Body Dynamics Algorithms*, 2018;
//! Singh, Russo & Wensing, *Efficient Analytical Derivatives …*, 2022; here in the world's axes and for our tangent):
//!
//! ```text
//! by q:  δf_b = I_b ψ̈ + B_b ψ     ψ = V_end × S       ψ̈ = A_end × S + V_end × ψ
//! by v:  δf_b = I_b χ + B_b S     χ = (V_base + V_end) × S
//! B x = V ×* I x − I (V × x) + x ×* I V = (2 [ω]× (Ī − ½ tr Ī 1) x_ω − 2 [h]× [u]× x_ω; 2 x_ω × P)
//! ```
//!
//! with V = (ω; u), h the first moment, Ī the tensor and P the linear momentum, so that B is twelve numbers; and
//! `end`, `base` as in [`super::links`]. With the sums I^c, B^c, F over all that hangs from a link, for j above i:
//!
//! ```text
//! ∂τ_j/∂q_i = S_j · (I^c_i ψ̈_i + B^c_i ψ_i + S_i ×* F_i)      ∂τ_i/∂q_j = ψ̈_j · I^c_i S_i + ψ_j · B^cᵀ_i S_i
//! ∂τ_j/∂v_i = S_j · (I^c_i χ_i + B^c_i S_i)                    ∂τ_i/∂v_j = χ_j · I^c_i S_i + S_j · B^cᵀ_i S_i
//! ```
//!
//! Axes that turn together (a floating joint's rotation) do not carry each other: there ∂τ_i/∂q_j has the term
//! S_i · S_j ×* F_j as well.
//!
//! Forward dynamics: ∂a/∂τ = M⁻¹, ∂a/∂q = −M⁻¹ ∂τ/∂q, ∂a/∂v = −M⁻¹ ∂τ/∂v at the a that the dynamics give.

use crate::kinematics::spatial::{SpatialInertia, Twist, Wrench};
use fingertip_lanes::lane::{Real, clear};
use fingertip_lanes::vector::{Mat3, Vec3, add, axpy, cross, dot, rotate, rotate_back, scale};

use super::links::{Links, Placed};
use super::rnea::Motion;

/// The operator B: the change of a body's inertial force with its velocity.
#[derive(Clone, Copy)]
struct Rate<R> {
    /// Moment by angular velocity.
    moment: Mat3<R>,
    /// Twice the linear momentum.
    momentum: Vec3<R>,
}

const RATE: usize = 12;

impl<R: Real> Rate<R> {
    #[inline(always)]
    fn new(inertia: &SpatialInertia<R>, velocity: Twist<R>) -> Self {
        let two = R::splat(2.0);
        let [xx, xy, xz, yy, yz, zz] = inertia.second;
        let half = (xx + yy + zz).scale(0.5);
        let (w, u, h) = (scale(two, velocity.omega), scale(two, velocity.m), inertia.first);
        let columns = [cross(w, [xx - half, xy, xz]), cross(w, [xy, yy - half, yz]), cross(w, [xz, yz, zz - half])];
        let hu = dot(h, u);
        let mut moment = [[R::zero(); 3]; 3];
        for (i, row) in moment.iter_mut().enumerate() {
            for (j, entry) in row.iter_mut().enumerate() {
                // [h]× [u]× = u hᵀ − (h · u) 1.
                *entry = columns[j][i] - u[i] * h[j];
            }
            row[i] += hu;
        }
        Self { moment, momentum: axpy(inertia.mass, u, cross(w, h)) }
    }

    #[inline(always)]
    fn read(from: &[R], i: usize) -> Self {
        let x = &from[RATE * i..RATE * (i + 1)];
        let row = |k: usize| [x[k], x[k + 1], x[k + 2]];
        Self { moment: [row(0), row(3), row(6)], momentum: row(9) }
    }

    #[inline(always)]
    fn accumulate(&self, to: &mut [R], i: usize) {
        let to = &mut to[RATE * i..RATE * (i + 1)];
        for k in 0..3 {
            for l in 0..3 {
                to[3 * k + l] += self.moment[k][l];
            }
            to[9 + k] += self.momentum[k];
        }
    }

    /// B x.
    #[inline(always)]
    fn apply(&self, x: Twist<R>) -> Wrench<R> {
        Wrench { moment: rotate(&self.moment, x.omega), force: cross(x.omega, self.momentum) }
    }

    /// The angular part of Bᵀ y; the other one is zero.
    #[inline(always)]
    fn back(&self, y: Twist<R>) -> Vec3<R> {
        add(rotate_back(&self.moment, y.omega), cross(self.momentum, y.m))
    }
}

/// Length of the working memory of [`inverse_dynamics`].
pub fn n_work(links: &Links) -> usize {
    (RATE + 18) * links.n()
}

/// Fills in ∂τ/∂q and ∂τ/∂v column by column, rows and columns in the order of [`Links::pattern`].
///
/// `motion` is as [`Motion::inverse_dynamics`] left it, `composites` as [`crba::packed`] did.
#[inline(always)]
pub fn inverse_dynamics<R: Real>(
    links: &Links,
    placed: &Placed<R>,
    motion: &Motion<R>,
    composites: &[R],
    [by_q, by_v]: [&mut [R]; 2],
    work: &mut [R],
) {
    let n = links.nv;
    let (rates, work) = work.split_at_mut(RATE * links.n());
    let (psi, work) = work.split_at_mut(6 * links.n());
    let (psi_dot, work) = work.split_at_mut(6 * links.n());
    let chi = &mut work[..6 * links.n()];
    clear(by_q);
    clear(by_v);
    clear(rates);
    for (i, link) in R::parts(links.links.iter().enumerate().skip(1)) {
        let screw = Twist::read(placed.screws, i - 1);
        let end = Twist::read(motion.velocities, link.end);
        let turning = end.cross(screw);
        turning.write(psi, i);
        Twist::read(motion.accelerations, link.end).cross(screw).plus(end.cross(turning)).write(psi_dot, i);
        Twist::read(motion.velocities, link.base).cross(screw).plus(turning).write(chi, i);
        if link.massive {
            let inertia = SpatialInertia::read(placed.inertias, i);
            Rate::new(&inertia, Twist::read(motion.velocities, i)).accumulate(rates, i);
        }
    }
    for (i, link) in R::parts(links.links.iter().enumerate().skip(1).rev()) {
        let rate = Rate::read(rates, i);
        rate.accumulate(rates, link.above);
        let screw = Twist::read(placed.screws, i - 1);
        let inertia = SpatialInertia::read(composites, i);
        let along = inertia.apply(screw);
        let back = rate.back(screw);
        let force_q = inertia
            .apply(Twist::read(psi_dot, i))
            .plus(rate.apply(Twist::read(psi, i)))
            .plus(screw.cross_wrench(Wrench::read(motion.forces, i)));
        let force_v = inertia.apply(Twist::read(chi, i)).plus(rate.apply(screw));
        by_q[link.slot * n + link.slot] += screw.dot(force_q);
        by_v[link.slot * n + link.slot] += screw.dot(force_v);
        let mut j = link.above;
        while j != 0 {
            let above = &links.links[j];
            let other = Twist::read(placed.screws, j - 1);
            by_q[link.slot * n + above.slot] += other.dot(force_q);
            by_v[link.slot * n + above.slot] += other.dot(force_v);
            let mut entry = Twist::read(psi_dot, j).dot(along) + dot(Twist::read(psi, j).omega, back);
            if above.end >= i {
                entry += screw.dot(other.cross_wrench(Wrench::read(motion.forces, i)));
            }
            by_q[above.slot * n + link.slot] += entry;
            by_v[above.slot * n + link.slot] += Twist::read(chi, j).dot(along) + dot(other.omega, back);
            j = above.above;
        }
    }
}

/// Stores a matrix that was filled column by column in the order of the pattern, row by row in that of v.
#[inline(always)]
pub fn store<R: Real>(links: &Links, columns: &[R], sign: f64, to: &mut [R]) {
    let (n, pattern) = (links.nv, &links.pattern);
    for (i, column) in columns.chunks_exact(n.max(1)).enumerate() {
        for (j, entry) in column.iter().enumerate() {
            to[pattern.dof(j) * n + pattern.dof(i)] = entry.scale(sign);
        }
    }
}
