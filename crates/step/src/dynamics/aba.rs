//! Forward dynamics: the articulated-body algorithm.
//!
//! Screw by screw (see [`super::links`]), from the leaves up, with I and p the inertia and the bias force of all that
//! hangs from link i as it is felt through the joints (Featherstone, table 7.1, in world axes):
//!
//! ```text
//! p ← p + I c,  c = V_base × S v          U = I S,  D = S · U,  u = τ − S · p
//! I ← I − U Uᵀ/D                          p ← p + U u/D
//! ```
//!
//! and then down: a = (u − U · A_above)/D, A = A_above + c + S a. A joint with k degrees of freedom needs no
//! k × k inverse: its screws are eliminated one after the other.
//!
//! Degrees of freedom that several screws share (mimic joints) close loops; there a = M⁻¹ (τ − b) is solved with the
//! factor of M instead.
//!
//! The adjoint is RNEA's, by the implicit function theorem: with y = M⁻¹ ā, τ̄ = y, and every other gradient is that
//! of −y · RNEA(q, v, a).

use crate::kinematics::spatial::{SpatialInertia, Twist, Wrench};
use fingertip_lanes::lane::{Real, clear};
use fingertip_lanes::vector::{Vec3, add, dot, rotate_back, sub};

use super::links::{Links, Placed};

/// Articulated-body inertia, as a joint below feels it: the mass need not be the same in all directions.
#[derive(Clone, Copy)]
struct Articulated<R> {
    /// Moment by angular acceleration: xx, xy, xz, yy, yz, zz.
    tensor: [R; 6],
    /// Moment by linear acceleration, row by row; force by angular acceleration is its transpose.
    coupling: [Vec3<R>; 3],
    /// Force by linear acceleration: xx, xy, xz, yy, yz, zz.
    mass: [R; 6],
}

const ARTICULATED: usize = 21;

#[inline(always)]
fn symmetric<R: Real>([xx, xy, xz, yy, yz, zz]: [R; 6], a: Vec3<R>) -> Vec3<R> {
    [dot([xx, xy, xz], a), dot([xy, yy, yz], a), dot([xz, yz, zz], a)]
}

impl<R: Real> Articulated<R> {
    #[inline(always)]
    fn read(from: &[R], i: usize) -> Self {
        let x = &from[ARTICULATED * i..ARTICULATED * (i + 1)];
        Self {
            tensor: [x[0], x[1], x[2], x[3], x[4], x[5]],
            coupling: [[x[6], x[7], x[8]], [x[9], x[10], x[11]], [x[12], x[13], x[14]]],
            mass: [x[15], x[16], x[17], x[18], x[19], x[20]],
        }
    }

    #[inline(always)]
    fn accumulate(&self, to: &mut [R], i: usize) {
        let to = &mut to[ARTICULATED * i..ARTICULATED * (i + 1)];
        for k in 0..6 {
            to[k] += self.tensor[k];
            to[15 + k] += self.mass[k];
        }
        for k in 0..9 {
            to[6 + k] += self.coupling[k / 3][k % 3];
        }
    }

    #[inline(always)]
    fn rigid(of: &SpatialInertia<R>) -> Self {
        let ([x, y, z], o) = (of.first, R::zero());
        Self {
            tensor: of.second,
            coupling: [[o, -z, y], [z, o, -x], [-y, x, o]],
            mass: [of.mass, o, o, of.mass, o, of.mass],
        }
    }

    #[inline(always)]
    fn apply(&self, x: Twist<R>) -> Wrench<R> {
        let c = &self.coupling;
        let back = rotate_back(c, x.omega);
        let moment = [dot(c[0], x.m), dot(c[1], x.m), dot(c[2], x.m)];
        Wrench { moment: add(symmetric(self.tensor, x.omega), moment), force: add(symmetric(self.mass, x.m), back) }
    }

    /// self − s u uᵀ.
    #[inline(always)]
    fn without(mut self, u: &Wrench<R>, s: R) -> Self {
        let mut n = 0;
        for i in 0..3 {
            let (moment, force) = (-(u.moment[i] * s), -(u.force[i] * s));
            for j in i..3 {
                self.tensor[n] = moment.mul_add(u.moment[j], self.tensor[n]);
                self.mass[n] = force.mul_add(u.force[j], self.mass[n]);
                n += 1;
            }
            for j in 0..3 {
                self.coupling[i][j] = moment.mul_add(u.force[j], self.coupling[i][j]);
            }
        }
        self
    }
}

/// Length of the working memory of [`forward_dynamics`].
pub fn n_work(links: &Links) -> usize {
    (4 * 6 + ARTICULATED + 2) * links.n()
}

/// Forward dynamics: fills in a, given v and τ (nv numbers each). Only for [`Links::open`] forests.
#[inline(always)]
pub fn forward_dynamics<R: Real>(links: &Links, placed: &Placed<R>, v: &[R], tau: &[R], a: &mut [R], work: &mut [R]) {
    let n = links.n();
    let (velocities, work) = work.split_at_mut(6 * n);
    let (carried, work) = work.split_at_mut(6 * n);
    let (forces, work) = work.split_at_mut(6 * n);
    let (u, work) = work.split_at_mut(6 * n);
    let (inertias, work) = work.split_at_mut(ARTICULATED * n);
    let (rest, inverse_d) = work.split_at_mut(n);
    Twist::zero().write(velocities, 0);
    clear(forces);
    clear(inertias);
    for (i, link) in R::parts(links.links.iter().enumerate().skip(1)) {
        let moved = Twist::read(placed.screws, i - 1).times(v[link.dof]);
        Twist::read(velocities, link.base).cross(moved).write(carried, i);
        let velocity = Twist::read(velocities, link.above).plus(moved);
        velocity.write(velocities, i);
        if link.massive {
            let inertia = SpatialInertia::read(placed.inertias, i);
            Articulated::rigid(&inertia).accumulate(inertias, i);
            velocity.cross_wrench(inertia.apply(velocity)).write(forces, i);
        }
    }
    for i in R::parts((1..links.links.len()).rev()) {
        let link = &links.links[i];
        let screw = Twist::read(placed.screws, i - 1);
        let inertia = Articulated::read(inertias, i);
        let force = Wrench::read(forces, i).plus(inertia.apply(Twist::read(carried, i)));
        let along = inertia.apply(screw);
        let inverse = R::one() / screw.dot(along);
        let left = tau[link.dof] - screw.dot(force);
        along.write(u, i);
        inverse_d[i] = inverse;
        rest[i] = left;
        if link.above != 0 {
            inertia.without(&along, inverse).accumulate(inertias, link.above);
            along.axpy(left * inverse, force).accumulate(forces, link.above);
        }
    }
    // V has been used up: its place takes A.
    let accelerations = velocities;
    Twist { m: sub([R::zero(); 3], placed.gravity), ..Twist::zero() }.write(accelerations, 0);
    for (i, link) in R::parts(links.links.iter().enumerate().skip(1)) {
        let above = Twist::read(accelerations, link.above);
        let rate = (rest[i] - above.dot(Wrench::read(u, i))) * inverse_d[i];
        a[link.dof] = rate;
        Twist::read(placed.screws, i - 1).axpy(rate, above.plus(Twist::read(carried, i))).write(accelerations, i);
    }
}
