//! Energy and centre of mass of everything that can move, and their adjoints.
//!
//! Kinetic ½ Σ V · I V, potential −g · Σ M c (zero at the world's origin), centre Σ M c / Σ M.

use crate::kinematics::spatial::{SpatialInertia, Twist, Wrench};
use fingertip_lanes::lane::{Real, clear, copy};
use fingertip_lanes::vector::{Vec3, add, axpy, dot, scale, sub, zero};

use super::links::{INERTIA, Links, Placed, PlacedGradients};

/// Velocities of the links, six numbers each.
#[inline(always)]
fn velocities<R: Real>(links: &Links, placed: &Placed<R>, v: &[R], velocities: &mut [R]) {
    Twist::zero().write(velocities, 0);
    for (i, link) in R::parts(links.links.iter().enumerate().skip(1)) {
        let above = Twist::read(velocities, link.above);
        Twist::read(placed.screws, i - 1).axpy(v[link.dof], above).write(velocities, i);
    }
}

/// Mass and first moment of all that moves.
#[inline(always)]
fn total<R: Real>(links: &Links, placed: &Placed<R>) -> (R, Vec3<R>) {
    let mut total = (R::zero(), zero());
    for i in (1..links.n()).filter(|&i| links.links[i].massive) {
        let SpatialInertia { mass, first, .. } = SpatialInertia::read(placed.inertias, i);
        total = (total.0 + mass, add(total.1, first));
    }
    total
}

/// Kinetic and potential energy, J; `work` holds six numbers per link.
#[inline(always)]
pub fn energy<R: Real>(links: &Links, placed: &Placed<R>, v: &[R], work: &mut [R]) -> [R; 2] {
    velocities(links, placed, v, work);
    let mut kinetic = R::zero();
    for i in (1..links.n()).filter(|&i| links.links[i].massive) {
        let velocity = Twist::read(work, i);
        kinetic += velocity.dot(SpatialInertia::read(placed.inertias, i).apply(velocity));
    }
    [kinetic.scale(0.5), -dot(placed.gravity, total(links, placed).1)]
}

/// Adds to the gradients, given those of [`energy`]; `work` holds twelve numbers per link.
#[inline(always)]
pub fn vjp_energy<R: Real>(
    links: &Links,
    placed: &Placed<R>,
    v: &[R],
    of: [R; 2],
    grad: &mut PlacedGradients<R>,
    grad_v: &mut [R],
    work: &mut [R],
) {
    let (moving, pulls) = work.split_at_mut(6 * links.n());
    velocities(links, placed, v, moving);
    clear(pulls);
    let half = of[0].scale(0.5);
    for (i, link) in R::parts(links.links.iter().enumerate().skip(1).rev()) {
        if link.massive {
            let (velocity, inertia) = (Twist::read(moving, i), SpatialInertia::read(placed.inertias, i));
            inertia.apply(velocity).times(of[0]).accumulate(pulls, i);
            SpatialInertia::gradient(velocity, velocity).times(half).accumulate(grad.inertias, i);
            let by_first = &mut grad.inertias[INERTIA * i + 1..INERTIA * i + 4];
            for k in 0..3 {
                by_first[k] -= of[1] * placed.gravity[k];
            }
        }
        let pull = Wrench::read(pulls, i);
        grad_v[link.dof] += Twist::read(placed.screws, i - 1).dot(pull);
        pull.times(v[link.dof]).accumulate(grad.screws, i - 1);
        pull.accumulate(pulls, link.above);
    }
    grad.gravity = sub(grad.gravity, scale(of[1], total(links, placed).1));
}

/// Centre of mass, m; not a number if nothing has mass.
#[inline(always)]
pub fn centre_of_mass<R: Real>(links: &Links, placed: &Placed<R>) -> Vec3<R> {
    let (mass, first) = total(links, placed);
    scale(R::one() / mass, first)
}

/// Adds to the gradients, given those of [`centre_of_mass`].
#[inline(always)]
pub fn vjp_centre_of_mass<R: Real>(links: &Links, placed: &Placed<R>, of: Vec3<R>, grad: &mut PlacedGradients<R>) {
    let (mass, first) = total(links, placed);
    let by_first = scale(R::one() / mass, of);
    let by_mass = -(dot(by_first, first) / mass);
    for i in (1..links.n()).filter(|&i| links.links[i].massive) {
        let to = &mut grad.inertias[INERTIA * i..INERTIA * i + 4];
        to[0] += by_mass;
        let moment = axpy(R::one(), by_first, [to[1], to[2], to[3]]);
        copy(&mut to[1..], &moment);
    }
}
