//! Inverse dynamics: the recursive Newton–Euler algorithm and its adjoint.
//!
//! Down the tree V and A (see [`super::links`]), then up it (Featherstone, table 5.1, in world axes)
//!
//! ```text
//! f_i = I_i A_i + V_i ×* I_i V_i        F_i = f_i + Σ_below F        τ_i = S_i · F_i
//! ```
//!
//! The adjoint of τ̄ walks the same way: with W_i = W_above + S_i τ̄_i, the "velocity" of rates τ̄,
//!
//! ```text
//! Ā_i = I_i W_i + Σ_below Ā                V̄_i = −W_i ×* I_i V_i − I_i (V_i × W_i) + Σ_below V̄ + Σ v_k S_k ×* Ā_k
//! ā_i = S_i · Ā_i                          v̄_i = S_i · V̄_i + Ā_i · (V_base × S_i)
//! S̄_i = τ̄_i F_i + v_i V̄_i + a_i Ā_i − v_i V_base ×* Ā_i
//! Ī_i = ∂(W_i · I A_i − (V_i × W_i) · I V_i)/∂I
//! ```
//!
//! where the last sum in V̄_i is over the links k whose base is i. It costs about three times the algorithm itself.

use crate::kinematics::spatial::{SpatialInertia, Twist, Wrench};
use fingertip_lanes::lane::{Real, clear};
use fingertip_lanes::vector::sub;

use super::links::{Links, Placed, PlacedGradients};

/// Velocities, accelerations and total forces of the links.
pub struct Motion<'a, R> {
    /// Spatial velocities V, six numbers for each link.
    pub velocities: &'a mut [R],
    /// Spatial accelerations A, with −g for the world: six numbers for each link.
    pub accelerations: &'a mut [R],
    /// Total forces F that pass through the links' joints, six numbers each.
    pub forces: &'a mut [R],
}

/// Length of a [`Motion`] in numbers.
pub fn n_motion(links: &Links) -> usize {
    18 * links.n()
}

impl<'a, R: Real> Motion<'a, R> {
    /// A motion on working memory of [`n_motion`] numbers.
    #[inline(always)]
    pub fn new(links: &Links, memory: &'a mut [R]) -> Self {
        let (velocities, memory) = memory.split_at_mut(6 * links.n());
        let (accelerations, forces) = memory.split_at_mut(6 * links.n());
        Self { velocities, accelerations, forces }
    }

    /// Fills in V and A at the rates v and accelerations a; without numbers v or a is zero.
    #[inline(always)]
    fn move_links(&mut self, links: &Links, placed: &Placed<R>, v: &[R], a: &[R]) {
        Twist::zero().write(self.velocities, 0);
        Twist { m: sub([R::zero(); 3], placed.gravity), ..Twist::zero() }.write(self.accelerations, 0);
        for (i, link) in R::parts(links.links.iter().enumerate().skip(1)) {
            let screw = Twist::read(placed.screws, i - 1);
            let mut velocity = Twist::read(self.velocities, link.above);
            let mut acceleration = Twist::read(self.accelerations, link.above);
            if !v.is_empty() {
                let moved = screw.times(v[link.dof]);
                acceleration = acceleration.plus(Twist::read(self.velocities, link.base).cross(moved));
                velocity = velocity.plus(moved);
            }
            if !a.is_empty() {
                acceleration = screw.axpy(a[link.dof], acceleration);
            }
            velocity.write(self.velocities, i);
            acceleration.write(self.accelerations, i);
        }
    }

    /// Fills in V, A and F and adds τ (nv numbers) to `tau`. v and a have nv numbers or, where they are zero, none.
    #[inline(always)]
    pub fn inverse_dynamics(&mut self, links: &Links, placed: &Placed<R>, v: &[R], a: &[R], tau: &mut [R]) {
        self.move_links(links, placed, v, a);
        clear(self.forces);
        for i in R::parts((1..links.links.len()).rev()) {
            let link = &links.links[i];
            let mut force = Wrench::read(self.forces, i);
            if link.massive {
                let inertia = SpatialInertia::read(placed.inertias, i);
                force = force.plus(inertia.apply(Twist::read(self.accelerations, i)));
                if !v.is_empty() {
                    let velocity = Twist::read(self.velocities, i);
                    force = force.plus(velocity.cross_wrench(inertia.apply(velocity)));
                }
                force.write(self.forces, i);
            }
            tau[link.dof] += Twist::read(placed.screws, i - 1).dot(force);
            force.accumulate(self.forces, link.above);
        }
    }

    /// Adds to the gradients, given those of τ. `self` is as [`Motion::inverse_dynamics`] left it; `work` holds
    /// [`n_motion`] numbers. Where v or a has no numbers its gradient has none.
    #[expect(clippy::too_many_arguments, reason = "operands, results and gradients of a kernel")]
    #[inline(always)]
    pub fn vjp(
        &self,
        links: &Links,
        placed: &Placed<R>,
        v: &[R],
        a: &[R],
        grad_tau: &[R],
        grad: &mut PlacedGradients<R>,
        grad_v: &mut [R],
        grad_a: &mut [R],
        work: &mut [R],
    ) {
        let (rates, work) = work.split_at_mut(6 * links.n());
        let (pull_v, work) = work.split_at_mut(6 * links.n());
        let pull_a = &mut work[..6 * links.n()];
        Twist::zero().write(rates, 0);
        clear(pull_v);
        clear(pull_a);
        for (i, link) in R::parts(links.links.iter().enumerate().skip(1)) {
            let screw = Twist::read(placed.screws, i - 1);
            let rate = screw.axpy(grad_tau[link.dof], Twist::read(rates, link.above));
            rate.write(rates, i);
            Wrench::read(self.forces, i).times(grad_tau[link.dof]).accumulate(grad.screws, i - 1);
            if link.massive {
                let inertia = SpatialInertia::read(placed.inertias, i);
                inertia.apply(rate).write(pull_a, i);
                SpatialInertia::gradient(rate, Twist::read(self.accelerations, i)).accumulate(grad.inertias, i);
                if !v.is_empty() {
                    let velocity = Twist::read(self.velocities, i);
                    let turned = rate.cross(velocity);
                    inertia.apply(turned).minus(rate.cross_wrench(inertia.apply(velocity))).write(pull_v, i);
                    SpatialInertia::gradient(turned, velocity).accumulate(grad.inertias, i);
                }
            }
        }
        for i in R::parts((1..links.links.len()).rev()) {
            let link = &links.links[i];
            let screw = Twist::read(placed.screws, i - 1);
            let of_a = Wrench::read(pull_a, i);
            let mut by_screw = Wrench::zero();
            if !v.is_empty() {
                let (of_v, x) = (Wrench::read(pull_v, i), v[link.dof]);
                let base = Twist::read(self.velocities, link.base);
                grad_v[link.dof] += screw.dot(of_v) + base.cross(screw).dot(of_a);
                by_screw = of_v.minus(base.cross_wrench(of_a)).times(x);
                screw.cross_wrench(of_a).times(x).accumulate(pull_v, link.base);
                of_v.accumulate(pull_v, link.above);
            }
            if !a.is_empty() {
                grad_a[link.dof] += screw.dot(of_a);
                by_screw = of_a.axpy(a[link.dof], by_screw);
            }
            by_screw.accumulate(grad.screws, i - 1);
            of_a.accumulate(pull_a, link.above);
        }
        grad.gravity = sub(grad.gravity, Wrench::read(pull_a, 0).force);
    }
}
