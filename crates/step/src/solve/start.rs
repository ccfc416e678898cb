//! The start of the iteration: forces inside the cones, and the δ that follows from them.

use fingertip_lanes::lane::{Mask, Real, Zip, when};
use fingertip_scene::Friction;

use super::contact_state::ContactState;
use super::kinds::cones;
use super::limit::root;
use super::memory::{Problem, Work};
use super::presence::listed;
use super::problem::{add_force, along, nth, solve_p};
use super::structure::{ContactColumns, Structure};
use super::vector::{axpy, dot, select, sub, zero};

/// Least compliance of a contact in the formula of its first force, of that of the stiffest degree of freedom: nothing
/// may move a penetrating contact, and its first force is finite all the same.
const LEAST_COMPLIANCE: f64 = 1e-9;
/// Largest misfit of a contact that keeps its force when others start anew.
const KEPT: f64 = 100.0;
/// Contacts start anew with the geometric mean of κ and this, 1/J: the stiffer they are, the less does the root of each
/// alone say.
const SOFT_KAPPA: f64 = 1000.0;
/// A slack is more than what belongs to its force, by this part of what it is off from the actual: where all are tiny
/// and wrong, steps are.
const LIFT: f64 = 0.03;

/// The contact's compliance along its normal, D_nn by P's diagonal: how far the two sides part for a unit force. At
/// least `least`.
#[inline(always)]
fn compliance<R: Real, const N: usize>(
    contact: &ContactColumns,
    columns: &[[R; N]],
    n: [R; N],
    pivot: &[R],
    least: R,
) -> R {
    let mut d = least;
    for (&column, &dof) in contact.part(columns).iter().zip_inline(&contact.dofs) {
        let j = dot(n, column);
        d = (j * j).mul_add(pivot[dof], d);
    }
    d
}

#[inline(always)]
fn least_compliance<R: Real>(pivot: &[R]) -> R {
    let mut stiffest = R::splat(f64::INFINITY);
    for &compliance in pivot {
        stiffest = stiffest.min(compliance);
    }
    stiffest.scale(LEAST_COMPLIANCE)
}

/// Sets the first forces and the δ that follows from them. Forces are those given (`warm`) or, for contacts that start
/// anew, of each contact alone. Returns the worlds with one or more of the latter.
#[inline(always)]
pub(super) fn start<R: Real, const N: usize>(
    s: &Structure,
    problem: &Problem<R>,
    (law, warm, soft): (Friction, bool, R),
    work: &mut Work<&mut [R]>,
) -> R::Mask {
    R::call(
        #[inline(always)]
        || {
            let all = R::Mask::splat(true);
            let cold = if warm {
                recall::<R, N>(s, problem, work)
            } else {
                forget::<R, N>(all, work);
                all
            };
            balance::<R, N>(s, problem, all, work);
            when!(cold, work, |work| renew::<R, N>(s, problem, (law, cold, soft), work));
            cold
        },
    )
}

/// Sets the forces to zero in worlds of the mask.
#[inline(always)]
fn forget<R: Real, const N: usize>(mask: R::Mask, work: &mut Work<&mut [R]>) {
    for state in listed(work.list, ContactState::<R, N>::of(work.contact_states)) {
        for x in &mut state.eta {
            *x = R::select(mask, R::zero(), *x);
        }
    }
    for x in work.limit_force.iter_mut() {
        *x = R::select(mask, R::zero(), *x);
    }
}

/// All contacts and limits start anew in worlds of the mask, see [`renew`].
#[inline(always)]
pub(super) fn renew_all<R: Real, const N: usize>(
    s: &Structure,
    problem: &Problem<R>,
    (law, mask, soft): (Friction, R::Mask, R),
    work: &mut Work<&mut [R]>,
) {
    forget::<R, N>(mask, work);
    balance::<R, N>(s, problem, mask, work);
    renew::<R, N>(s, problem, (law, mask, soft), work);
}

/// The softer κ at which contacts start anew: see [`SOFT_KAPPA`].
#[inline(always)]
pub(super) fn soft_kappa<R: Real>(kappa: R) -> R {
    (kappa * R::splat(SOFT_KAPPA)).sqrt()
}

/// In worlds of the mask, contacts and limits that are far from where their forces would have them start anew, each
/// alone, from the gap that the others' forces leave it, with a κ that is soft; all get a slack.
#[inline(always)]
pub(super) fn renew<R: Real, const N: usize>(
    s: &Structure,
    problem: &Problem<R>,
    (law, mask, soft): (Friction, R::Mask, R),
    work: &mut Work<&mut [R]>,
) {
    R::call(
        #[inline(always)]
        || {
            let columns = work.columns.as_chunks::<N>().0;
            let least = least_compliance(work.pivot);
            let kappa = problem.kappa;
            let part = (soft / kappa).min(R::one());
            for (state, contact) in
                listed(work.list, ContactState::of(work.contact_states).iter_mut().zip_inline(&s.contacts))
            {
                when!(state.is_there(), state, |state| {
                    let (cone, there, eta) = (&state.cone, state.is_there(), state.eta);
                    let z = axpy(cone.phi, cone.n, along(contact, columns, work.delta));
                    let zeta = s.lifted(cone, law, z);
                    let own = R::select(there, kappa * state.share, R::one());
                    // Not a number where there is no force yet.
                    let keep = (cone.misfit(own, eta, zeta) * cone.weight).lt(R::splat(KEPT));
                    let d = compliance(contact, columns, cone.n, work.pivot, least);
                    let own_soft = own * part;
                    let force = root(d, (-d).mul_add(dot(cone.n, eta), dot(cone.n, z)), own_soft);
                    let (kept, fresh) = (cone.pole(own, eta, cone.rho(eta)), R::splat(2.0) / (own_soft * force));
                    let anew = mask.and(there).and(keep.not());
                    for k in 0..N {
                        state.eta[k] = R::select(anew, force * cone.n[k], eta[k]);
                        let slack = R::select(keep, kept[k], fresh * cone.n[k]);
                        state.slack[k] = R::select(mask, slack, state.slack[k]);
                    }
                });
            }
            let soft = kappa.min(soft);
            cones!(s, problem.gaps, cone => {
                let (eta, u) = (cone.own(work.limit_force), cone.at(work.delta));
                let keep = cone.is_inside(eta).and(cone.misfit(kappa, eta, u).lt(R::splat(KEPT)));
                let eta = select(mask.and(keep.not()), cone.alone(soft, work.pivot, cone.on.freed(work.pivot, eta, u)), eta);
                cone.put(work.limit_force, eta);
                let slack = cone.slack_of(R::select(keep, kappa, soft), eta);
                cone.put_slack(work.limit_slack, select(mask, slack, cone.slack(work.limit_slack)));
            });
            balance::<R, N>(s, problem, mask, work);
            let columns = work.columns.as_chunks::<N>().0;
            for (state, contact) in
                listed(work.list, ContactState::of(work.contact_states).iter_mut().zip_inline(&s.contacts))
            {
                when!(state.is_there(), &mut state.slack, |slack| {
                    let cone = &state.cone;
                    let z = axpy(cone.phi, cone.n, along(contact, columns, work.delta));
                    let off = sub(s.lifted(cone, law, z), *slack);
                    let lift = R::select(mask, dot(off, off).sqrt().scale(LIFT), R::zero());
                    *slack = axpy(lift, cone.n, *slack);
                });
            }
            cones!(s, problem.gaps, cone => {
                let slack = cone.slack(work.limit_slack);
                cone.put_slack(work.limit_slack, cone.lifted(mask, slack, cone.at(work.delta), LIFT));
            });
        },
    )
}

/// The given forces, and none where they are outside their cones. Gives the worlds that lack such a force or are given
/// none at all: forces of zero mean the same as no forces.
#[inline(always)]
fn recall<R: Real, const N: usize>(s: &Structure, problem: &Problem<R>, work: &mut Work<&mut [R]>) -> R::Mask {
    let (mut lacking, mut largest) = (R::Mask::splat(false), R::zero());
    for (i, state) in listed(work.list, ContactState::of(work.contact_states).iter_mut().enumerate()) {
        let force: [R; N] = nth(problem.warm, i);
        let rho = state.cone.rho(force);
        let valid = dot(state.cone.n, force).gt(R::zero()).and(rho.gt(R::zero())).and(rho.doubt(R::zero()).is_finite());
        let there = state.is_there();
        for (eta, warm) in state.eta.iter_mut().zip_inline(force) {
            *eta = R::select(valid.and(there), warm, R::zero());
            largest = R::select(there, largest.max(warm.abs()), largest);
        }
        lacking = lacking.or(there.and(valid.not()));
    }
    let limits = &problem.warm[s.n_force()..];
    cones!(s, problem.gaps, cone => {
        let force = cone.own(limits);
        let mut sum = R::zero();
        for x in &force {
            sum = x.doubt(sum);
        }
        let valid = cone.is_inside(force).and(sum.is_finite());
        cone.put(work.limit_force, select(valid, force, zero()));
        lacking = lacking.or(valid.not());
    });
    for force in limits {
        largest = largest.max(force.abs());
    }
    lacking.or(largest.gt(R::zero()).not())
}

/// δ ← P⁻¹ (J̃ᵀη − g), which belongs to the forces, in worlds of the mask.
#[inline(always)]
fn balance<R: Real, const N: usize>(s: &Structure, problem: &Problem<R>, mask: R::Mask, work: &mut Work<&mut [R]>) {
    R::call(
        #[inline(always)]
        || {
            let columns = work.columns.as_chunks::<N>().0;
            for (x, &g) in work.step.iter_mut().zip_inline(problem.g) {
                *x = R::zero() - g;
            }
            for (state, contact) in
                listed(work.list, ContactState::of(work.contact_states).iter().zip_inline(&s.contacts))
            {
                when!(state.is_there(), &mut *work.step, |step| add_force(contact, columns, state.eta, step));
            }
            cones!(s, problem.gaps, cone => { cone.on.push(cone.own(work.limit_force), work.step) });
            solve_p(s, work.factor_p, work.step);
            for (delta, &balanced) in work.delta.iter_mut().zip_inline(work.step.iter()) {
                *delta = R::select(mask, balanced, *delta);
            }
        },
    )
}
