//! The joint-space inertia matrix: the composite-rigid-body algorithm and its adjoint.
//!
//! With I^c_i the inertia of link i and all that hangs from it (Featherstone, table 6.2, in world axes):
//!
//! ```text
//! M_ji = S_j · I^c_i S_i      for j = i and every link j above i, else 0
//! ```
//!
//! Adjoint, for each pair with gradient m̄ = M̄_ij + M̄_ji (M̄_ii on the diagonal): S̄_j += m̄ I^c_i S_i,
//! S̄_i += m̄ I^c_i S_j, Ī^c_i += m̄ ∂(S_j · I S_i)/∂I; then down the tree Ī_i = Ī^c_i + Ī_above.

use crate::kinematics::spatial::{SpatialInertia, Twist};
use fingertip_lanes::lane::{Real, clear, copy};

use super::links::{INERTIA, Links, Placed, PlacedGradients};

/// Fills in the composite inertias of all links, ten numbers each.
#[inline(always)]
pub fn composite<R: Real>(links: &Links, placed: &Placed<R>, composites: &mut [R]) {
    copy(composites, placed.inertias);
    for (i, link) in R::parts(links.links.iter().enumerate().skip(1).rev()) {
        SpatialInertia::read(composites, i).accumulate(composites, link.above);
    }
}

/// Fills in M in the places of [`Links::pattern`]; `composites` is working memory, ten numbers per link.
#[inline(always)]
pub fn packed<R: Real>(links: &Links, placed: &Placed<R>, composites: &mut [R], m: &mut [R]) {
    composite(links, placed, composites);
    clear(m);
    for (i, link) in R::parts(links.links.iter().enumerate().skip(1)) {
        let screw = Twist::read(placed.screws, i - 1);
        let force = SpatialInertia::read(composites, i).apply(screw);
        m[links.pattern.at(link.slot, link.slot)] += screw.dot(force);
        let mut j = link.above;
        while j != 0 {
            let other = &links.links[j];
            let mut entry = Twist::read(placed.screws, j - 1).dot(force);
            if other.slot == link.slot {
                // Two screws of one degree of freedom: (i, j) and (j, i) are the same entry.
                entry += entry;
            }
            m[links.pattern.at(link.slot, other.slot)] += entry;
            j = other.above;
        }
    }
}

/// Fills in M (nv × nv, row by row).
#[inline(always)]
pub fn dense<R: Real>(links: &Links, packed: &[R], m: &mut [R]) {
    let (pattern, n) = (&links.pattern, links.nv);
    clear(m);
    for i in 0..n {
        let of = pattern.dof(i);
        m[of * n + of] = packed[pattern.at(i, i)];
        for &j in pattern.above(i) {
            let (entry, other) = (packed[pattern.at(i, j)], pattern.dof(j));
            m[of * n + other] = entry;
            m[other * n + of] = entry;
        }
    }
}

/// The vector-Jacobian product of M: adds to the gradients of screws and inertias, given those of M (nv × nv).
/// `composites` is as [`packed`] left it; `work` holds ten numbers per link.
#[inline(always)]
pub fn vjp<R: Real>(
    links: &Links,
    placed: &Placed<R>,
    composites: &[R],
    grad_m: &[R],
    grad: &mut PlacedGradients<R>,
    work: &mut [R],
) {
    let n = links.nv;
    let pulls = &mut work[..INERTIA * links.n()];
    clear(pulls);
    for (i, link) in R::parts(links.links.iter().enumerate().skip(1)) {
        let screw = Twist::read(placed.screws, i - 1);
        let inertia = SpatialInertia::read(composites, i);
        let force = inertia.apply(screw);
        // Σ m̄ S_j over the link itself and those above it.
        let weight = grad_m[link.dof * n + link.dof];
        let mut rate = screw.times(weight);
        force.times(weight).accumulate(grad.screws, i - 1);
        let mut j = link.above;
        while j != 0 {
            let other = &links.links[j];
            let weight = grad_m[link.dof * n + other.dof] + grad_m[other.dof * n + link.dof];
            rate = Twist::read(placed.screws, j - 1).axpy(weight, rate);
            force.times(weight).accumulate(grad.screws, j - 1);
            j = other.above;
        }
        inertia.apply(rate).accumulate(grad.screws, i - 1);
        SpatialInertia::gradient(rate, screw).accumulate(pulls, i);
    }
    for (i, link) in R::parts(links.links.iter().enumerate().skip(1)) {
        SpatialInertia::read(pulls, link.above).accumulate(pulls, i);
        SpatialInertia::read(pulls, i).accumulate(grad.inertias, i);
    }
}

/// y ← M x, both in the order of the degrees of freedom.
#[inline(always)]
pub fn times<R: Real>(links: &Links, packed: &[R], x: &[R], y: &mut [R]) {
    let pattern = &links.pattern;
    clear(y);
    for i in 0..links.nv {
        let of = pattern.dof(i);
        let mut sum = y[of];
        for &j in pattern.above(i) {
            let (entry, other) = (packed[pattern.at(i, j)], pattern.dof(j));
            sum = entry.mul_add(x[other], sum);
            y[other] = entry.mul_add(x[of], y[other]);
        }
        y[of] = packed[pattern.at(i, i)].mul_add(x[of], sum);
    }
}

/// Adds to the gradients of M (nv × nv, row by row) and x, given that of M x.
#[inline(always)]
pub fn vjp_times<R: Real>(links: &Links, packed: &[R], x: &[R], grad: &[R], grad_m: &mut [R], grad_x: &mut [R]) {
    let (pattern, n) = (&links.pattern, links.nv);
    for i in 0..n {
        let of = pattern.dof(i);
        let mut sum = grad_x[of];
        for &j in pattern.above(i) {
            let (entry, other) = (packed[pattern.at(i, j)], pattern.dof(j));
            sum = entry.mul_add(grad[other], sum);
            grad_x[other] = entry.mul_add(grad[of], grad_x[other]);
            grad_m[of * n + other] += grad[of] * x[other];
            grad_m[other * n + of] += grad[other] * x[of];
        }
        grad_x[of] = packed[pattern.at(i, i)].mul_add(grad[of], sum);
        grad_m[of * n + of] += grad[of] * x[of];
    }
}

/// x ← M⁻¹ x for x in the order of the degrees of freedom; `work` holds nv numbers.
#[inline(always)]
pub fn solve<R: Real>(links: &Links, factor: &[R], x: &mut [R], work: &mut [R]) {
    let work = &mut work[..links.nv];
    for (i, entry) in work.iter_mut().enumerate() {
        *entry = x[links.pattern.dof(i)];
    }
    links.pattern.solve(factor, work);
    for (i, entry) in work.iter().enumerate() {
        x[links.pattern.dof(i)] = *entry;
    }
}

/// M⁻¹ (nv × nv, row by row), given the factor; `work` holds as many numbers.
#[inline(always)]
pub fn inverse<R: Real>(links: &Links, factor: &[R], inverse: &mut [R], work: &mut [R]) {
    let (n, pattern) = (links.nv, &links.pattern);
    let work = &mut work[..n * n];
    pattern.inverse(factor, work);
    for (i, row) in work.chunks_exact(n.max(1)).enumerate() {
        for (j, entry) in row.iter().enumerate() {
            inverse[pattern.dof(i) * n + pattern.dof(j)] = *entry;
        }
    }
}
