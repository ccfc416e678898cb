//! The start of the iteration: forces inside the cones, and the δ that follows from them.

use fingertip_lanes::lane::{Mask, Real, Zip};
use fingertip_lanes::vector::{Vec3, axpy, dot, scale, select, sub, zero};
use fingertip_scene::Friction;

use super::contact_state::ContactState;
use super::dry::{Dry, DryState};
use super::law::Law;
use super::limit::limit_misfit;
use super::memory::{Problem, Work};
use super::presence::listed;
use super::problem::{add_force, along, solve_p, triple};
use super::structure::{ContactColumns, Structure};
use super::table::{Table, TableState};

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

/// The positive root of λ (d λ + c) = 2/κ, in the form that is stable for either sign of c.
#[inline(always)]
fn root<R: Real>(d: R, c: R, kappa: R) -> R {
    let discriminant = c.mul_add(c, (d / kappa).scale(8.0)).sqrt();
    let apart = (R::splat(4.0) / kappa) / (c + discriminant);
    R::select(c.gt(R::zero()), apart, (discriminant - c) / d.scale(2.0))
}

/// The contact's compliance along its normal, D_nn by P's diagonal: how far the two sides part for a unit force. At
/// least `least`.
#[inline(always)]
fn compliance<R: Real>(contact: &ContactColumns, columns: &[Vec3<R>], n: Vec3<R>, pivot: &[R], least: R) -> R {
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
pub(super) fn start<R: Real>(
    s: &Structure,
    problem: &Problem<R>,
    (law, warm, soft): (Friction, bool, R),
    work: &mut Work<&mut [R]>,
) -> R::Mask {
    let all = R::Mask::splat(true);
    let cold = if warm {
        recall(s, problem, work)
    } else {
        forget(all, work);
        all
    };
    balance(s, problem, all, work);
    R::when(
        cold,
        work,
        #[inline(always)]
        |work| renew(s, problem, (law, cold, soft), work),
    );
    cold
}

/// Sets the forces to zero in worlds of the mask.
#[inline(always)]
fn forget<R: Real>(mask: R::Mask, work: &mut Work<&mut [R]>) {
    for state in listed(work.list, ContactState::of(work.contact_states)) {
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
pub(super) fn renew_all<R: Real>(
    s: &Structure,
    problem: &Problem<R>,
    (law, mask, soft): (Friction, R::Mask, R),
    work: &mut Work<&mut [R]>,
) {
    forget_all(s, problem, mask, work);
    renew(s, problem, (law, mask, soft), work);
}

/// Sets the forces to zero, and δ to the one that follows, in worlds of the mask.
#[inline(always)]
pub(super) fn forget_all<R: Real>(s: &Structure, problem: &Problem<R>, mask: R::Mask, work: &mut Work<&mut [R]>) {
    forget(mask, work);
    balance(s, problem, mask, work);
}

/// The softer κ at which contacts start anew: see [`SOFT_KAPPA`].
#[inline(always)]
pub(super) fn soft_kappa<R: Real>(kappa: R) -> R {
    (kappa * R::splat(SOFT_KAPPA)).sqrt()
}

/// In worlds of the mask, contacts and limits that are far from where their forces would have them start anew, each
/// alone, from the gap that the others' forces leave it, with a κ that is soft; all get a slack.
#[inline(always)]
pub(super) fn renew<R: Real>(
    s: &Structure,
    problem: &Problem<R>,
    (law, mask, soft): (Friction, R::Mask, R),
    work: &mut Work<&mut [R]>,
) {
    let columns = work.columns.as_chunks().0;
    let least = least_compliance(work.pivot);
    let kappa = problem.kappa;
    let part = (soft / kappa).min(R::one());
    for (state, contact) in listed(work.list, ContactState::of(work.contact_states).iter_mut().zip_inline(&s.contacts))
    {
        // By Coulomb's law contacts without weight have slacks too.
        R::when(
            R::Mask::splat(law.has_idle_slacks()).or(state.is_there()),
            state,
            #[inline(always)]
            |state| {
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
                for k in 0..3 {
                    state.eta[k] = R::select(anew, force * cone.n[k], eta[k]);
                    let slack = R::select(keep, kept[k], fresh * cone.n[k]);
                    state.slack[k] = R::select(mask, slack, state.slack[k]);
                }
            },
        );
    }
    for (l, &(dof, sign)) in s.one_sided().iter().enumerate() {
        let (force, d) = (work.limit_force[l], work.pivot[dof]);
        let gap = work.delta[dof].scale(sign) + problem.gaps[l];
        let keep = force.gt(R::zero()).and(limit_misfit(kappa, force, gap).lt(R::splat(KEPT)));
        let soft = kappa.min(soft);
        let fresh = root(d, (-d).mul_add(force, gap), soft);
        work.limit_force[l] = R::select(mask.and(keep.not()), fresh, force);
        let slack = R::splat(2.0) / (R::select(keep, kappa, soft) * work.limit_force[l]);
        work.limit_slack[l] = R::select(mask, slack, work.limit_slack[l]);
    }
    for (l, state) in s.dry().zip_inline(DryState::of(work.dry_states)) {
        let (most, force, dof) = (problem.gaps[l], work.limit_force[l], s.limits[l].0);
        let (d, delta) = (work.pivot[dof], work.delta[dof]);
        let keep = Dry::new(most, force).misfit(kappa, delta).lt(R::splat(KEPT));
        let soft = kappa.min(soft);
        let fresh = Dry::alone(soft, most, d, (-d).mul_add(force, delta));
        let force = R::select(mask.and(keep.not()), fresh, force);
        work.limit_force[l] = force;
        let slack = Dry::new(most, force).slacks(R::select(keep, kappa, soft));
        for k in 0..2 {
            state.slack[k] = R::select(mask, slack[k], state.slack[k]);
        }
    }
    for (places, state) in s.tables.iter().zip_inline(TableState::of(work.table_states)) {
        let table = Table::read(problem.gaps, places);
        let (eta, u) = (table.own(work.limit_force), table.moved(work.delta));
        let keep = table.misfit(kappa, eta, u).lt(R::splat(KEPT));
        let soft = kappa.min(soft);
        let fresh = table.alone(soft, work.pivot, eta, u);
        let eta = select(mask.and(keep.not()), fresh, eta);
        table.put(work.limit_force, eta);
        let slack = table.slack(R::select(keep, kappa, soft), eta);
        for k in 0..4 {
            state.slack[k] = R::select(mask, slack[k], state.slack[k]);
        }
    }
    balance(s, problem, mask, work);
    let columns = work.columns.as_chunks().0;
    for (state, contact) in listed(work.list, ContactState::of(work.contact_states).iter_mut().zip_inline(&s.contacts))
    {
        R::when(
            R::Mask::splat(law.has_idle_slacks()).or(state.is_there()),
            &mut state.slack,
            #[inline(always)]
            |slack| {
                let cone = &state.cone;
                let z = axpy(cone.phi, cone.n, along(contact, columns, work.delta));
                let off = sub(s.lifted(cone, law, z), *slack);
                let lift = R::select(mask, dot(off, off).sqrt().scale(LIFT), R::zero());
                *slack = axpy(lift, cone.n, *slack);
            },
        );
    }
    for (l, &(dof, sign)) in s.one_sided().iter().enumerate() {
        let gap = work.delta[dof].scale(sign) + problem.gaps[l];
        let lift = (gap - work.limit_slack[l]).abs().scale(LIFT);
        work.limit_slack[l] += R::select(mask, lift, R::zero());
    }
    for (l, state) in s.dry().zip_inline(DryState::of(work.dry_states)) {
        let [a, b] = state.slack;
        let lift = (work.delta[s.limits[l].0] - (b - a)).abs().scale(LIFT);
        for slack in &mut state.slack {
            *slack += R::select(mask, lift, R::zero());
        }
    }
    for (places, state) in s.tables.iter().zip_inline(TableState::of(work.table_states)) {
        let [_, x, y, z] = state.slack;
        let off = sub(Table::read(problem.gaps, places).moved(work.delta), [x, y, z]);
        state.slack[0] += R::select(mask, dot(off, off).sqrt().scale(LIFT), R::zero());
    }
}

/// The worlds that are given nonzero forces (warm start).
#[inline(always)]
pub(super) fn are_given<R: Real>(problem: &Problem<R>) -> R::Mask {
    // Four maxima do not wait for each other.
    let mut largest = [R::zero(); 4];
    let (fours, rest) = problem.warm.as_chunks::<4>();
    for four in fours {
        for (largest, force) in largest.iter_mut().zip_inline(four) {
            *largest = largest.max(force.abs());
        }
    }
    for force in rest {
        largest[0] = largest[0].max(force.abs());
    }
    largest[0].max(largest[1]).max(largest[2].max(largest[3])).gt(R::zero())
}

/// The given forces, and none where they are outside their cones; gives the worlds with such, and those that are given
/// none at all: forces of zero mean the same as no forces.
#[inline(always)]
fn recall<R: Real>(s: &Structure, problem: &Problem<R>, work: &mut Work<&mut [R]>) -> R::Mask {
    let mut lacking = are_given(problem).not();
    for (i, state) in listed(work.list, ContactState::of(work.contact_states).iter_mut().enumerate()) {
        let force = triple(problem.warm, i);
        let rho = state.cone.rho(force);
        let valid = dot(state.cone.n, force).gt(R::zero()).and(rho.gt(R::zero())).and(rho.doubt(R::zero()).is_finite());
        let there = state.is_there();
        for (eta, warm) in state.eta.iter_mut().zip_inline(force) {
            *eta = R::select(valid.and(there), warm, R::zero());
        }
        lacking = lacking.or(there.and(valid.not()));
    }
    let warm = &problem.warm[3 * s.nc()..];
    for (l, (to, &force)) in work.limit_force[..s.limits.len()].iter_mut().zip_inline(warm).enumerate() {
        let is_inside = if l < s.n_limits { force.gt(R::zero()) } else { Dry::new(problem.gaps[l], force).is_inside() };
        let valid = is_inside.and(force.doubt(R::zero()).is_finite());
        *to = R::select(valid, force, R::zero());
        lacking = lacking.or(valid.not());
    }
    for places in &s.tables {
        let table = Table::read(problem.gaps, places);
        let force = table.own(warm);
        let valid = table.is_inside(force).and(dot(force, force).doubt(R::zero()).is_finite());
        table.put(work.limit_force, select(valid, force, zero()));
        lacking = lacking.or(valid.not());
    }
    lacking
}

/// Forces along the normals, in worlds of the mask: the root of each contact alone, λ (D_nn λ + c) = 2/κ with c the gap
/// after the free motion.
#[inline(always)]
pub(super) fn start_again<R: Real>(
    s: &Structure,
    problem: &Problem<R>,
    kappa: R,
    mask: R::Mask,
    work: &mut Work<&mut [R]>,
) {
    for (x, &g) in work.free.iter_mut().zip_inline(problem.g) {
        *x = R::zero() - g;
    }
    solve_p(s, work.factor_p, work.free);
    let columns = work.columns.as_chunks().0;
    let least = least_compliance(work.pivot);
    for (state, contact) in listed(work.list, ContactState::of(work.contact_states).iter_mut().zip_inline(&s.contacts))
    {
        let (cone, there) = (&state.cone, state.is_there());
        R::when(
            there,
            &mut state.eta,
            #[inline(always)]
            |eta| {
                let d = compliance(contact, columns, cone.n, work.pivot, least);
                let c = dot(cone.n, along(contact, columns, work.free)) + cone.phi;
                let own = R::select(there, kappa * state.share, R::one());
                let cold = scale(root(d, c, own), cone.n);
                for (eta, cold) in eta.iter_mut().zip_inline(cold) {
                    *eta = R::select(mask.and(there), cold, *eta);
                }
            },
        );
    }
    for (l, &(dof, _)) in s.limits.iter().enumerate() {
        let (d, c) = (work.pivot[dof], s.gap(problem, l, work.free));
        let alone = if l < s.n_limits { root(d, c, kappa) } else { Dry::alone(kappa, problem.gaps[l], d, c) };
        work.limit_force[l] = R::select(mask, alone, work.limit_force[l]);
    }
    for places in &s.tables {
        let table = Table::read(problem.gaps, places);
        let alone = table.alone(kappa, work.pivot, zero(), table.moved(work.free));
        table.put(work.limit_force, select(mask, alone, table.own(work.limit_force)));
    }
    balance(s, problem, mask, work);
}

/// δ ← P⁻¹ (J̃ᵀη − g), which belongs to the forces, in worlds of the mask.
#[inline(always)]
fn balance<R: Real>(s: &Structure, problem: &Problem<R>, mask: R::Mask, work: &mut Work<&mut [R]>) {
    let columns = work.columns.as_chunks().0;
    for (x, &g) in work.step.iter_mut().zip_inline(problem.g) {
        *x = R::zero() - g;
    }
    for (state, contact) in listed(work.list, ContactState::of(work.contact_states).iter().zip_inline(&s.contacts)) {
        R::when(
            state.is_there(),
            &mut *work.step,
            #[inline(always)]
            |step| add_force(contact, columns, state.eta, step),
        );
    }
    for (&force, &(dof, sign)) in work.limit_force.iter().zip_inline(&s.limits) {
        work.step[dof] += force.scale(sign);
    }
    for places in &s.tables {
        let table = Table::read(problem.gaps, places);
        table.push(table.own(work.limit_force), work.step);
    }
    solve_p(s, work.factor_p, work.step);
    for (delta, &balanced) in work.delta.iter_mut().zip_inline(work.step.iter()) {
        *delta = R::select(mask, balanced, *delta);
    }
}
