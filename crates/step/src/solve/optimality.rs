//! The optimality conditions at an iterate: their residual, by which a solution counts, or a certificate that no δ is
//! feasible.

use fingertip_lanes::lane::{Mask, Precision, Real, Zip, clear, state, when};
use fingertip_scene::Friction;

use super::contact_state::ContactState;
use super::kinds::cones;
use super::memory::{Problem, Work};
use super::presence::listed;
use super::problem::{add_force, along, times_p};
use super::structure::Structure;
use super::vector::{axpy, dot, scale, sub};

/// No feasible δ is nearer than this (rad, m, in every degree of freedom): the world is declared infeasible.
const OUT_OF_REACH: f64 = 10.0;

/// Proof from the contact forces about feasible displacements: a certificate that none of them is near.
pub(super) struct Certificate<R: Real> {
    /// Worlds in which the forces prove that every feasible δ is [`OUT_OF_REACH`].
    pub(super) infeasible: R::Mask,
    /// The energy |φ · η_n| + ‖J̃ᵀη‖²_P⁻¹ of the forces, J.
    pub(super) energy: R,
}

/// Computes the certificate of infeasibility of the present forces. For feasible δ, ζ · η ≥ 0 gives (J̃ᵀη) · δ ≥ −φ ·
/// η_n, hence ‖δ‖_P ≥ −φ · η_n / ‖J̃ᵀη‖_P⁻¹. All is computed from forces scaled to a largest component of 1: where the
/// dual is unbounded they grow beyond what rounding leaves of δ.
///
/// Overwrites `work.step`.
#[inline(always)]
pub(super) fn certificate<R: Real, const N: usize>(
    s: &Structure,
    problem: &Problem<R>,
    work: &mut Work<&mut [R]>,
) -> Certificate<R> {
    R::call(
        #[inline(always)]
        || {
            let columns = work.columns.as_chunks().0;
            let states = ContactState::<R, N>::of(work.contact_states);
            let mut size = largest(work.limit_force).max(R::tiny());
            for state in listed(work.list, states.iter()) {
                size = size.max(largest(&state.eta));
            }
            let inverse = R::one() / size;
            let mut depth = [R::zero()];
            clear(work.step);
            for (state, contact) in listed(work.list, states.iter().zip_inline(&s.contacts)) {
                when!(state.is_there(), &mut (&mut depth, &mut *work.step), |([depth], step)| {
                    let eta = scale(inverse, state.eta);
                    *depth -= state.cone.phi * dot(state.cone.n, eta);
                    add_force(contact, columns, eta, step);
                });
            }
            let [mut depth] = depth;
            // Dry friction and that of tables can be overcome.
            for (l, &(dof, sign)) in s.one_sided().iter().enumerate() {
                let eta = work.limit_force[l] * inverse;
                depth -= problem.gaps[l] * eta;
                work.step[dof] += eta.scale(sign);
            }
            let effort = s.factor_p.square(work.factor_p, work.step);
            let mut trace = R::zero();
            for &entry in &s.diagonal {
                trace += problem.p[entry];
            }
            let reach = trace.scale(OUT_OF_REACH * OUT_OF_REACH);
            Certificate {
                infeasible: depth.gt(R::zero()).and((depth * depth).gt(reach * effort)),
                energy: size * (depth.abs() + size * effort),
            }
        },
    )
}

#[inline(always)]
fn largest<R: Real>(x: &[R]) -> R {
    let mut max = R::zero();
    for &value in x {
        max = max.max(value.abs());
    }
    max
}

/// Largest residual at which a world counts as solved.
#[inline(always)]
pub(super) fn tolerance<R: Real>(s: &Structure) -> f64 {
    match R::precision() {
        Precision::Double => s.settings.tolerance,
        Precision::Single => s.settings.tolerance.max(1e-3),
    }
}

/// Rounding error of a slack, in units in the last place of the lengths that it is the sum of.
const ROUNDING: f64 = 16.0;

/// κ · decrement² that rounding leaves: the square of the largest rounding of a force relative to ρ(η), all that keeps
/// it inside its cone.
#[inline(always)]
pub(super) fn noise<R: Real, const N: usize>(s: &Structure, problem: &Problem<R>, work: &mut Work<&mut [R]>) -> R {
    let unit = R::splat(R::precision().epsilon());
    let mut worst = unit;
    for state in listed(work.list, ContactState::<R, N>::of(work.contact_states).iter()) {
        let square = dot(state.eta, state.eta);
        let part = square / state.cone.rho(state.eta).max(square * unit);
        worst = worst.max(R::select(state.is_there(), part * unit, R::zero()));
    }
    cones!(s, problem.gaps, cone => {
        worst = cone.rounding(cone.own(work.limit_force), unit, worst);
    });
    worst * worst
}

/// The worlds whose δ and forces on bodies are numbers in the range in which kernels compute.
#[inline(always)]
pub(super) fn are_in_range<R: Real, const N: usize>(work: &mut Work<&mut [R]>) -> R::Mask {
    let mut sum = R::zero();
    for &x in work.delta.iter().chain(work.limit_force.iter()) {
        sum = x.doubt(sum);
    }
    for state in listed(work.list, ContactState::<R, N>::of(work.contact_states).iter()) {
        let force = state.cone.scaled(state.eta);
        for &x in state.eta.iter().chain(&force) {
            sum = x.doubt(sum);
        }
    }
    sum.is_finite()
}

/// The worlds whose forces are inside their cones, to rounding.
#[inline(always)]
pub(super) fn are_inside<R: Real, const N: usize>(
    s: &Structure,
    problem: &Problem<R>,
    work: &mut Work<&mut [R]>,
) -> R::Mask {
    let mut inside = R::Mask::splat(true);
    for state in listed(work.list, ContactState::<R, N>::of(work.contact_states).iter()) {
        let (rho, square) = (state.cone.rho(state.eta), dot(state.eta, state.eta));
        let outside =
            dot(state.cone.n, state.eta).lt(R::zero()).or(rho.lt(square.scale(-ROUNDING * R::precision().epsilon())));
        inside = inside.and(outside.not());
    }
    cones!(s, problem.gaps, cone => { inside = inside.and(cone.is_inside(cone.own(work.limit_force))) });
    inside
}

/// Relative residual of the optimality conditions, from 0 to 1, the larger of
///
/// - ‖r₁‖∞ over its largest term,
/// - the contacts' errors e = √(κ r₂ᵀ W r₂), each relative to the slack: ‖r₂‖ / ‖ζ‖ in the cone's own metric. A slack
///   is a sum of lengths ℓ and has no more digits than they leave it, one that belongs to a force has no more than the
///   force near the boundary of its cone: as much of e as a rounding of length x explains, e x / ‖r₂‖, counts for the
///   [`tolerance`] at most, e / (1 + e x / (‖r₂‖ · tolerance)).
///
/// - the errors of the forces of dry friction and tables, each relative to the largest that it can be.
///
/// 1 where it is not a number.
#[inline(always)]
pub(super) fn residual<R: Real, const N: usize>(
    s: &Structure,
    problem: &Problem<R>,
    law: Friction,
    work: &mut Work<&mut [R]>,
) -> R {
    R::call(
        #[inline(always)]
        || {
            let kappa = problem.kappa;
            let columns = work.columns.as_chunks::<N>().0;
            let rounding = ROUNDING * R::precision().epsilon();
            let unit = rounding / tolerance::<R>(s);
            // How much larger than it is friction feels a slip, and its rounding.
            let felt = match law {
                Friction::Relaxed => 1.0,
                Friction::Coulomb => s.impratio,
            };
            // P δ in step, J̃ᵀη in free.
            clear(work.step);
            clear(work.free);
            times_p(s, problem.p, work.delta, work.step);
            let mut worst = Worst { error: R::zero(), is_relative: R::Mask::splat(true) };
            for (state, contact) in
                listed(work.list, ContactState::of(work.contact_states).iter().zip_inline(&s.contacts))
            {
                when!(state.is_there(), &mut (&mut worst, &mut *work.free), |(worst, free)| {
                    let (cone, eta, there) = (&state.cone, state.eta, state.is_there());
                    let own = R::select(there, kappa * state.share, R::one());
                    let (rho, square) = (cone.rho(eta), dot(eta, eta));
                    let zeta = s.lifted(cone, law, axpy(cone.phi, cone.n, along(contact, columns, work.delta)));
                    add_force(contact, columns, eta, free);
                    let pole = cone.pole(own, eta, rho);
                    let mut lengths = cone.phi.abs().scale(felt) + length(pole) * square / rho;
                    for (column, &dof) in contact.part(columns).iter().zip_inline(&contact.dofs) {
                        let mut sum = column[0].abs();
                        for x in &column[1..] {
                            sum += x.abs();
                        }
                        lengths = sum.mul_add(work.delta[dof].abs().scale(felt), lengths);
                    }
                    let error = cone.misfit(own, eta, zeta).abs().sqrt();
                    let missed = length(sub(zeta, pole)).max(R::tiny());
                    let relative = error / (error * lengths / missed).mul_add(R::splat(unit), R::one());
                    // Whether a force is inside its cone at all is more than rounding may say.
                    let relative = R::select(rho.gt(square.scale(rounding)), relative, R::one());
                    worst.add(R::select(there, relative, R::zero()));
                });
            }
            cones!(s, problem.gaps, cone => {
                let eta = cone.own(work.limit_force);
                cone.on.push(eta, work.free);
                worst.add(cone.residual(kappa, eta, work.delta, R::splat(unit)));
            });
            let scale = largest(problem.g).max(largest(work.step)).max(largest(work.free)).max(R::tiny());
            for k in 0..s.nv {
                worst.add((work.step[k] + problem.g[k] - work.free[k]).abs() / scale);
            }
            R::select(worst.is_relative, worst.error, R::one())
        },
    )
}

#[inline(always)]
fn length<R: Real, const N: usize>(x: [R; N]) -> R {
    dot(x, x).sqrt()
}

/// The largest of some relative errors.
struct Worst<R: Real> {
    error: R,
    /// Are all of them less than 1? NaN is not.
    is_relative: R::Mask,
}

state!(Worst { numbers: [error], flags: [is_relative], states: [] });

impl<R: Real> Worst<R> {
    #[inline(always)]
    fn add(&mut self, error: R) {
        self.error = self.error.max(error);
        self.is_relative = self.is_relative.and(error.lt(R::one()));
    }
}
