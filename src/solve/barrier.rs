//! Newton's method on the dual of the smoothed contact problem, in lanes of worlds.
//!
//! The problem (MATHS of the crate docs) is to minimise ½ δᵀPδ + gᵀδ − (1/κ) Σ log ρ(ζ). Its optimality conditions,
//! with scaled forces η and Jacobians J̃ = M J of [`super::cone`]:
//!
//! ```text
//! r₁ = P δ + g − J̃ᵀη = 0        r₂ = ζ − 2 R η / (κ ρ(η)) = 0,    ζ = J̃ δ + φ n
//! ```
//!
//! One step solves (P + J̃ᵀWJ̃) Δδ = −r₁ − J̃ᵀW r₂ and takes Δη = −W (r₂ + J̃ Δδ). It is Newton's step for the dual
//! function ½‖J̃ᵀη − g‖²_P⁻¹ + φᵀη_n − (1/κ) Σ log ρ(η), which is self-concordant up to the factor κ: with an exact line
//! search it converges from *any* η inside the cones, and so from any φ, touching and penetrating included. The start is
//! the root of each contact alone; κ rises tenfold each time the iterate is near the path. Where the dual is unbounded
//! below no δ is feasible: η then grows along a certificate of that, which is what ends the iteration.

use crate::math::lane::{Mask, Real};
use crate::math::vector::{Vec3, add, axpy, cross, dot, scale, sub, zero};

use super::cone::Cone;
use super::structure::{Structure, triangle};

/// κ · decrement² below which the quadratic convergence leaves nothing but rounding after the step.
const CONVERGED: f64 = 1e-12;
/// κ · decrement² below which an iterate that no longer improves counts as solved: rounding has the last word.
const STALLED: f64 = 1e-6;
/// κ · decrement² below which κ is raised.
const NEAR_PATH: f64 = 0.5;
/// κ · decrement² below which a full step is sure to stay inside and to decrease (self-concordance: decrement < 1/4).
const FULL_STEP: f64 = 0.05;
/// First κ of a cold start, 1/J, and the factor by which it rises.
const FIRST_KAPPA: f64 = 100.0;
const RISE: f64 = 10.0;
/// Steps with κ · decrement² above 1 after which an iterate counts as stuck: far from the path, along the boundary of a
/// cone, steps are short however well they are searched. It starts again on the cones' axes, with κ less by this factor
/// and below 1 over the energy that it has got to, where the barrier outweighs the rest.
const STUCK: f64 = 8.0;
const FALL: f64 = 0.03;
/// Iterations of the line search, Newton's method between bisections.
const LINE_SEARCH: usize = 8;
/// Longest step, in Newton steps: where the dual is unbounded forces grow fast enough by it, and stay finite.
const LONGEST_STEP: f64 = 100.0;
/// No feasible δ is nearer than this (rad, m, in every degree of freedom): the world is declared infeasible.
const OUT_OF_REACH: f64 = 10.0;

/// How a world's solve ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The minimiser was found.
    Solved,
    /// The iteration limit came first; δ and λ are the last iterate, inside the cones, finite.
    IterationLimit,
    /// No δ satisfies the contacts and limits, or none within reach: δ = 0 and λ = 0.
    Infeasible,
    /// A number of the problem is NaN, infinite or out of its range (κ, μ, P): δ = 0 and λ = 0.
    BadInput,
}

impl Status {
    /// As results of a kernel spell it.
    pub(crate) fn code(self) -> f64 {
        match self {
            Self::Solved => 0.0,
            Self::IterationLimit => 1.0,
            Self::Infeasible => 2.0,
            Self::BadInput => 3.0,
        }
    }

    /// The opposite of [`Status::code`].
    pub(crate) fn from_code(code: f64) -> Self {
        match code {
            0.0 => Self::Solved,
            1.0 => Self::IterationLimit,
            2.0 => Self::Infeasible,
            _ => Self::BadInput,
        }
    }

    /// The name that the command line prints.
    pub fn name(self) -> &'static str {
        match self {
            Self::Solved => "solved",
            Self::IterationLimit => "iteration_limit",
            Self::Infeasible => "infeasible",
            Self::BadInput => "bad_input",
        }
    }
}

/// A lane of problems, as the operands have them.
pub(crate) struct Problem<'a, R> {
    /// Screws, six numbers each.
    pub(crate) screws: &'a [R],
    /// Contacts, [`super::cone::CONTACT`] numbers each.
    pub(crate) contacts: &'a [R],
    /// P's entries.
    pub(crate) p: &'a [R],
    /// Linear term, in the order of elimination.
    pub(crate) g: &'a [R],
    pub(crate) kappa: R,
    /// Gaps to the joint limits.
    pub(crate) gaps: &'a [R],
}

/// Working memory of one lane.
pub(crate) struct Work<'a, R> {
    /// J̃ column by column, three numbers per slot.
    pub(crate) columns: &'a mut [R],
    /// Forces: three numbers per contact, one per limit.
    pub(crate) eta: &'a mut [R],
    /// ζ and the limits' gaps at δ.
    zeta: &'a mut [R],
    d_eta: &'a mut [R],
    pub(crate) h: &'a mut [R],
    pub(crate) delta: &'a mut [R],
    step: &'a mut [R],
    free: &'a mut [R],
}

impl<'a, R: Real> Work<'a, R> {
    pub(crate) fn size(s: &Structure) -> usize {
        3 * s.n_slots + 3 * (3 * s.nc() + s.nl()) + s.n_triangle() + 3 * s.nv
    }

    /// Cuts the memory up; the rest comes back.
    #[inline(always)]
    pub(crate) fn new(s: &Structure, memory: &'a mut [R]) -> (Self, &'a mut [R]) {
        let n = 3 * s.nc() + s.nl();
        let (columns, rest) = memory.split_at_mut(3 * s.n_slots);
        let (eta, rest) = rest.split_at_mut(n);
        let (zeta, rest) = rest.split_at_mut(n);
        let (d_eta, rest) = rest.split_at_mut(n);
        let (h, rest) = rest.split_at_mut(s.n_triangle());
        let (delta, rest) = rest.split_at_mut(s.nv);
        let (step, rest) = rest.split_at_mut(s.nv);
        let (free, rest) = rest.split_at_mut(s.nv);
        (Self { columns, eta, zeta, d_eta, h, delta, step, free }, rest)
    }
}

/// What came out, beside δ and η in the working memory.
pub(crate) struct Outcome<R> {
    /// [`Status::code`].
    pub(crate) status: R,
    pub(crate) iterations: R,
    /// Relative residual of the optimality conditions: the larger of ‖r₁‖∞ over its largest term and the contacts'
    /// errors in their own norms √(κ r₂ᵀ W r₂).
    pub(crate) residual: R,
}

#[inline(always)]
pub(crate) fn at3<R: Real>(from: &[R], i: usize) -> Vec3<R> {
    [from[3 * i], from[3 * i + 1], from[3 * i + 2]]
}

#[inline(always)]
pub(crate) fn put3<R: Real>(to: &mut [R], i: usize, v: Vec3<R>) {
    to[3 * i] = v[0];
    to[3 * i + 1] = v[1];
    to[3 * i + 2] = v[2];
}

/// The columns of J̃: M (ω × p + m) for each screw, summed over the screws of a slot, B's less A's.
#[inline(always)]
pub(crate) fn columns<R: Real>(s: &Structure, problem: &Problem<R>, columns: &mut [R]) {
    columns.fill(R::zero());
    for (i, contact) in s.contacts.iter().enumerate() {
        let cone = Cone::read(problem.contacts, i);
        for &(screw, slot, b) in &contact.columns {
            let (omega, m) = (at3(problem.screws, 2 * screw), at3(problem.screws, 2 * screw + 1));
            let at = contact.first + slot;
            let velocity = add(m, cross(omega, if b { cone.point_b } else { cone.point_a }));
            let sum = at3(columns, at);
            put3(columns, at, if b { add(sum, velocity) } else { sub(sum, velocity) });
        }
        for slot in 0..contact.dofs.len() {
            let column = at3(columns, contact.first + slot);
            put3(columns, contact.first + slot, cone.scaled(column));
        }
    }
}

/// J̃ x for contact `i`.
#[inline(always)]
pub(crate) fn along<R: Real>(s: &Structure, columns: &[R], i: usize, x: &[R]) -> Vec3<R> {
    let contact = &s.contacts[i];
    let mut sum = zero();
    for (slot, &dof) in contact.dofs.iter().enumerate() {
        sum = axpy(x[dof], at3(columns, contact.first + slot), sum);
    }
    sum
}

/// x += J̃ᵀ force of contact `i`.
#[inline(always)]
pub(crate) fn add_force<R: Real>(s: &Structure, columns: &[R], i: usize, force: Vec3<R>, x: &mut [R]) {
    let contact = &s.contacts[i];
    for (slot, &dof) in contact.dofs.iter().enumerate() {
        x[dof] += dot(at3(columns, contact.first + slot), force);
    }
}

/// h ← P.
#[inline(always)]
pub(crate) fn fill_p<R: Real>(s: &Structure, p: &[R], h: &mut [R]) {
    h.fill(R::zero());
    for (entry, &value) in s.entries.iter().zip(p) {
        h[entry.index] = value;
    }
}

/// h ← P + J̃ᵀWJ̃ at η.
#[inline(always)]
pub(crate) fn fill_h<R: Real>(s: &Structure, problem: &Problem<R>, kappa: R, columns: &[R], eta: &[R], h: &mut [R]) {
    fill_p(s, problem.p, h);
    for (i, contact) in s.contacts.iter().enumerate() {
        let cone = Cone::read(problem.contacts, i);
        let (own, force) = (cone.kappa(kappa), at3(eta, i));
        let rho = cone.rho(force);
        for (a, &row) in contact.dofs.iter().enumerate() {
            let weighed = cone.weigh(own, force, rho, at3(columns, contact.first + a));
            for (b, &column) in contact.dofs[..=a].iter().enumerate() {
                h[triangle(row, column)] += dot(weighed, at3(columns, contact.first + b));
            }
        }
    }
    for (l, &(dof, _)) in s.limits.iter().enumerate() {
        let force = eta[3 * s.nc() + l];
        h[triangle(dof, dof)] += (kappa * force * force).scale(0.5);
    }
}

/// P x − y into y, with P from its entries.
#[inline(always)]
fn times_p<R: Real>(s: &Structure, p: &[R], x: &[R], y: &mut [R]) {
    for (entry, &value) in s.entries.iter().zip(p) {
        y[entry.row] = value.mul_add(x[entry.column], y[entry.row]);
        if entry.row != entry.column {
            y[entry.column] = value.mul_add(x[entry.row], y[entry.column]);
        }
    }
}

/// Worlds whose numbers are finite and in range.
#[inline(always)]
fn acceptable<R: Real>(s: &Structure, problem: &Problem<R>) -> R::Mask {
    let mut sum = problem.kappa;
    let all = [problem.screws, problem.contacts, problem.p, problem.g, problem.gaps];
    for &x in all.into_iter().flatten() {
        // NaN and infinity survive the multiplication by zero.
        sum = x.mul_add(R::zero(), sum);
    }
    let mut good = sum.is_finite().and(problem.kappa.gt(R::zero()));
    for i in 0..s.nc() {
        let cone = Cone::read(problem.contacts, i);
        good = good.and(cone.mu.lt(R::zero()).not());
    }
    good
}

/// Solves a lane of problems: δ and η are left in `work`.
///
/// `warm` holds forces to start from; worlds where they are outside the cones start cold.
#[inline(always)]
pub(crate) fn solve<R: Real>(
    s: &Structure,
    problem: &Problem<R>,
    max_iterations: usize,
    warm: Option<&[R]>,
    work: &mut Work<R>,
) -> Outcome<R> {
    let good = acceptable(s, problem);
    columns(s, problem, work.columns);
    fill_p(s, problem.p, work.h);
    s.factor_p.factor(work.h);
    let mut good_p = good;
    for k in 0..s.nv {
        good_p = good_p.and(work.h[triangle(k, k)].gt(R::zero())).and(work.h[triangle(k, k)].is_finite());
    }
    for k in 0..s.nv {
        work.delta[k] = -problem.g[k];
    }
    s.factor_p.solve(work.h, work.delta);
    work.free.copy_from_slice(work.delta);

    let mut kappa = problem.kappa.min(R::splat(FIRST_KAPPA));
    cold_start(s, problem, kappa, work);
    warm_start(s, problem, &mut kappa, warm, work);
    balance(s, problem, work);
    work.delta.copy_from_slice(work.step);
    work.eta.copy_from_slice(work.d_eta);

    let mut trace = R::zero();
    for (entry, &value) in s.entries.iter().zip(problem.p) {
        if entry.row == entry.column {
            trace += value;
        }
    }
    let reach = trace.scale(OUT_OF_REACH * OUT_OF_REACH);

    let code = |status: Status| R::splat(status.code());
    let mut status = R::select(good_p, code(Status::IterationLimit), code(Status::BadInput));
    let mut running = good_p;
    let mut iterations = R::zero();
    let mut last = R::splat(f64::INFINITY);
    let mut slow = R::zero();
    for _ in 0..max_iterations {
        if !running.any() {
            break;
        }
        let (alone, change) = newton(s, problem, kappa, work);
        let decrement = alone.max(change);
        let full = decrement.lt(R::splat(FULL_STEP));
        // Worlds that are not yet in the region of quadratic convergence.
        let far = running.and(full.not());
        let alpha = if far.any() { R::select(full, R::one(), line_search(s, problem, kappa, work)) } else { R::one() };
        let alpha = R::select(running, alpha, R::zero());
        for k in 0..s.nv {
            work.delta[k] = R::select(running, alpha.mul_add(work.step[k], work.delta[k]), work.delta[k]);
        }
        for k in 0..work.eta.len() {
            work.eta[k] = R::select(running, alpha.mul_add(work.d_eta[k], work.eta[k]), work.eta[k]);
        }
        iterations += R::select(running, R::one(), R::zero());

        let at_last = kappa.lt(problem.kappa).not();
        let stalled = decrement.lt(R::splat(STALLED)).and(last.scale(0.25).lt(decrement));
        let solved = running.and(at_last).and(decrement.lt(R::splat(CONVERGED)).or(stalled));
        status = R::select(solved, code(Status::Solved), status);
        running = running.and(solved.not());
        last = decrement;
        let rise = decrement.lt(R::splat(NEAR_PATH)).and(at_last.not());
        last = R::select(rise, R::splat(f64::INFINITY), last);
        kappa = R::select(rise, kappa.scale(RISE).min(problem.kappa), kappa);
        slow = R::select(alone.gt(R::one()), slow + R::one(), R::zero());
        if far.any() {
            let (depth, effort) = certificate(s, problem, work);
            let lost = far.and(depth.gt(R::zero())).and((depth * depth).gt(reach * effort));
            status = R::select(lost, code(Status::Infeasible), status);
            running = running.and(lost.not());
            let stuck = running.and(slow.gt(R::splat(STUCK)));
            slow = R::select(stuck, R::zero(), slow);
            if stuck.any() {
                let energy = (depth.abs() + effort).max(R::splat(f64::MIN_POSITIVE));
                kappa = R::select(stuck, kappa.scale(FALL).min(R::one() / energy), kappa);
                fill_p(s, problem.p, work.h);
                s.factor_p.factor(work.h);
                cold_start(s, problem, kappa, work);
                balance(s, problem, work);
                for k in 0..s.nv {
                    work.delta[k] = R::select(stuck, work.step[k], work.delta[k]);
                }
                for k in 0..work.eta.len() {
                    work.eta[k] = R::select(stuck, work.d_eta[k], work.eta[k]);
                }
            }
        }
    }
    let keep = status.lt(code(Status::Infeasible));
    for x in work.delta.iter_mut().chain(work.eta.iter_mut()) {
        *x = R::select(keep, *x, R::zero());
    }
    let residual = R::select(keep, residual(s, problem, work), R::zero());
    Outcome { status, iterations, residual }
}

/// The positive root of λ (d λ + c) = 2/κ, in the form that is stable for either sign of c.
#[inline(always)]
fn root<R: Real>(d: R, c: R, kappa: R) -> R {
    let discriminant = c.mul_add(c, (d / kappa).scale(8.0)).sqrt();
    let apart = (R::splat(4.0) / kappa) / (c + discriminant);
    R::select(c.gt(R::zero()), apart, (discriminant - c) / d.scale(2.0))
}

/// First forces, into `work.d_eta`: the root of each contact alone, λ (D_nn λ + c) = 2/κ with D_nn from P's diagonal
/// and c the gap after the free motion.
#[inline(always)]
fn cold_start<R: Real>(s: &Structure, problem: &Problem<R>, kappa: R, work: &mut Work<R>) {
    // The diagonal of P in the order of elimination.
    for (entry, &value) in s.entries.iter().zip(problem.p) {
        if entry.row == entry.column {
            work.step[entry.row] = value;
        }
    }
    for (i, contact) in s.contacts.iter().enumerate() {
        let cone = Cone::read(problem.contacts, i);
        let mut d = R::splat(f64::MIN_POSITIVE);
        for (slot, &dof) in contact.dofs.iter().enumerate() {
            let j = dot(cone.n, at3(work.columns, contact.first + slot));
            d += j * j / work.step[dof];
        }
        let c = dot(cone.n, along(s, work.columns, i, work.free)) + cone.phi;
        let there = cone.weight.gt(R::zero());
        let own = R::select(there, cone.kappa(kappa), R::one());
        let force = R::select(there, root(d, c, own), R::zero());
        put3(work.d_eta, i, scale(force, cone.n));
    }
    for (l, &(dof, sign)) in s.limits.iter().enumerate() {
        let c = work.free[dof].scale(sign) + problem.gaps[l];
        work.d_eta[3 * s.nc() + l] = root(R::one() / work.step[dof], c, kappa);
    }
}

/// Given forces in the place of `work.d_eta`, and κ itself, in worlds where they are inside the cones.
#[inline(always)]
fn warm_start<R: Real>(s: &Structure, problem: &Problem<R>, kappa: &mut R, warm: Option<&[R]>, work: &mut Work<R>) {
    let Some(warm) = warm else { return };
    let mut inside = R::zero().lt(R::one());
    for i in 0..s.nc() {
        let cone = Cone::read(problem.contacts, i);
        let force = at3(warm, i);
        let absent = cone.weight.gt(R::zero()).not();
        let valid = dot(cone.n, force).gt(R::zero()).and(cone.rho(force).gt(R::zero()));
        inside = inside.and(valid.or(absent));
    }
    for l in 3 * s.nc()..work.eta.len() {
        inside = inside.and(warm[l].gt(R::zero()));
    }
    for i in 0..s.nc() {
        let taken = inside.and(Cone::read(problem.contacts, i).weight.gt(R::zero()));
        for k in 3 * i..3 * i + 3 {
            work.d_eta[k] = R::select(taken, warm[k], work.d_eta[k]);
        }
    }
    for l in 3 * s.nc()..work.eta.len() {
        work.d_eta[l] = R::select(inside, warm[l], work.d_eta[l]);
    }
    *kappa = R::select(inside, problem.kappa, *kappa);
}

/// `work.step` ← P⁻¹ (J̃ᵀη − g), the δ that belongs to the forces in `work.d_eta`; `work.h` holds the factor of P.
#[inline(always)]
fn balance<R: Real>(s: &Structure, problem: &Problem<R>, work: &mut Work<R>) {
    for k in 0..s.nv {
        work.step[k] = -problem.g[k];
    }
    for i in 0..s.nc() {
        add_force(s, work.columns, i, at3(work.d_eta, i), work.step);
    }
    for (l, &(dof, sign)) in s.limits.iter().enumerate() {
        work.step[dof] += work.d_eta[3 * s.nc() + l].scale(sign);
    }
    s.factor_p.solve(work.h, work.step);
}

/// One Newton step into `work.step` and `work.d_eta`; gives κ · decrement², and how far the step goes in the most
/// affected contact's own measure, Δη · ∇²(−log ρ) Δη: no more than the former unless the contact fades.
#[inline(always)]
fn newton<R: Real>(s: &Structure, problem: &Problem<R>, kappa: R, work: &mut Work<R>) -> (R, R) {
    fill_h(s, problem, kappa, work.columns, work.eta, work.h);
    s.factor_h.factor(work.h);
    // Right-hand side −(P δ + g) − J̃ᵀ (W r₂ − η), where W r₂ = W ζ − η.
    for k in 0..s.nv {
        work.step[k] = problem.g[k];
    }
    times_p(s, problem.p, work.delta, work.step);
    for k in 0..s.nv {
        work.step[k] = -work.step[k];
    }
    for i in 0..s.nc() {
        let cone = Cone::read(problem.contacts, i);
        let (own, eta) = (cone.kappa(kappa), at3(work.eta, i));
        let zeta = axpy(cone.phi, cone.n, along(s, work.columns, i, work.delta));
        put3(work.zeta, i, zeta);
        let weighed = cone.weigh(own, eta, cone.rho(eta), zeta);
        add_force(s, work.columns, i, sub(scale(R::splat(2.0), eta), weighed), work.step);
    }
    for (l, &(dof, sign)) in s.limits.iter().enumerate() {
        let l = 3 * s.nc() + l;
        let (eta, gap) = (work.eta[l], work.delta[dof].scale(sign) + problem.gaps[l - 3 * s.nc()]);
        work.zeta[l] = gap;
        let weighed = (kappa * eta * eta).scale(0.5) * gap;
        work.step[dof] += (eta.scale(2.0) - weighed).scale(sign);
    }
    s.factor_h.solve(work.h, work.step);
    // Δη = −W (ζ + J̃ Δδ) + η, decrement² = −r₂ · Δη.
    let mut decrement = R::zero();
    let mut change = R::zero();
    for i in 0..s.nc() {
        let cone = Cone::read(problem.contacts, i);
        let (own, eta) = (cone.kappa(kappa), at3(work.eta, i));
        let rho = cone.rho(eta);
        let zeta = at3(work.zeta, i);
        let next = add(zeta, along(s, work.columns, i, work.step));
        let step = sub(eta, cone.weigh(own, eta, rho, next));
        put3(work.d_eta, i, step);
        decrement -= (kappa * dot(zeta, step)) - pull_of_barrier(&cone, kappa, own, eta, rho, step);
        let slope = dot(cone.reflected(eta), step).scale(2.0) / rho;
        let far = slope.mul_add(slope, -(cone.rho(step) / rho).scale(2.0));
        change = R::select(own.gt(R::zero()), change.max(far), change);
    }
    for (l, &(dof, sign)) in s.limits.iter().enumerate() {
        let l = 3 * s.nc() + l;
        let eta = work.eta[l];
        let next = work.zeta[l] + work.step[dof].scale(sign);
        let step = eta - (kappa * eta * eta).scale(0.5) * next;
        work.d_eta[l] = step;
        decrement -= step * (kappa * work.zeta[l] - R::splat(2.0) / eta);
        change = change.max((step / eta * (step / eta)).scale(2.0));
    }
    (decrement, change)
}

/// κ ζ*(η) · Δη = 2 (κ/κᵢ) η · RΔη / ρ(η); zero for a contact of no weight.
#[inline(always)]
fn pull_of_barrier<R: Real>(cone: &Cone<R>, kappa: R, own: R, eta: Vec3<R>, rho: R, step: Vec3<R>) -> R {
    let there = own.gt(R::zero());
    let ratio = R::select(there, kappa / R::select(there, own, R::one()), R::zero());
    let rho = R::select(there, rho, R::one());
    ratio * dot(cone.reflected(eta), step).scale(2.0) / rho
}

/// The minimum of the dual function along the Newton step, as near as [`LINE_SEARCH`] iterations come.
#[inline(always)]
fn line_search<R: Real>(s: &Structure, problem: &Problem<R>, kappa: R, work: &mut Work<R>) -> R {
    let (nc, n) = (s.nc(), 3 * s.nc() + s.nl());
    // Slope of the quadratic part at 0 and its curvature, times κ; work.zeta is overwritten by each cone's
    // ρ(η + α Δη) = c₀ + c₁ α + c₂ α².
    let mut slope = R::zero();
    let mut curvature = R::zero();
    let mut end = R::splat(f64::INFINITY);
    for i in 0..nc {
        let cone = Cone::read(problem.contacts, i);
        let (eta, step) = (at3(work.eta, i), at3(work.d_eta, i));
        slope += dot(at3(work.zeta, i), step);
        curvature += dot(along(s, work.columns, i, work.step), step);
        let there = cone.weight.gt(R::zero());
        let c0 = R::select(there, cone.rho(eta), R::one());
        let c1 = dot(cone.reflected(eta), step).scale(2.0);
        let c2 = cone.rho(step);
        let discriminant = c1.mul_add(c1, -(c0 * c2).scale(4.0));
        let below = discriminant.max(R::zero()).sqrt() - c1;
        // A ray whose normal part falls leaves the cone whatever rounding makes of a double root: a force along the
        // normal, as at μ = 0, leaves through the tip, and behind it is the mirror cone, where ρ > 0 again.
        let falls = -dot(cone.n, step);
        let falling = there.and(falls.gt(R::zero()));
        let leaves = discriminant.lt(R::zero()).not().or(falling).and(below.gt(R::zero()));
        end = R::select(leaves, end.min(c0.scale(2.0) / R::select(leaves, below, R::one())), end);
        end = R::select(falling, end.min(dot(cone.n, eta) / R::select(falling, falls, R::one())), end);
        put3(work.zeta, i, [c0, c1, c2]);
    }
    for (l, &(dof, sign)) in s.limits.iter().enumerate() {
        let l = 3 * nc + l;
        slope += work.zeta[l] * work.d_eta[l];
        curvature += work.step[dof].scale(sign) * work.d_eta[l];
        let leaves = work.d_eta[l].lt(R::zero());
        let ratio = -(work.eta[l] / R::select(leaves, work.d_eta[l], R::one()));
        end = R::select(leaves, end.min(ratio), end);
    }
    slope = slope * kappa;
    curvature = curvature.max(R::zero()) * kappa;
    let mut low = R::zero();
    let mut high = end;
    let mut alpha = R::one().min(end.scale(0.9));
    for _ in 0..LINE_SEARCH {
        let mut first = curvature.mul_add(alpha, slope);
        let mut second = curvature;
        for i in 0..nc {
            let cone = Cone::read(problem.contacts, i);
            let [c0, c1, c2] = at3(work.zeta, i);
            let inverse = cone.weight / c2.mul_add(alpha, c1).mul_add(alpha, c0);
            let log = c2.scale(2.0).mul_add(alpha, c1) * inverse;
            first -= log;
            let there = cone.weight.gt(R::zero());
            let square = log * log / R::select(there, cone.weight, R::one());
            second += square - c2.scale(2.0) * inverse;
        }
        for l in 3 * nc..n {
            let log = work.d_eta[l] / alpha.mul_add(work.d_eta[l], work.eta[l]);
            first -= log.scale(2.0);
            second = (log * log).mul_add(R::splat(2.0), second);
        }
        let beyond = first.gt(R::zero());
        high = R::select(beyond, alpha, high);
        low = R::select(beyond, low, alpha);
        let newton = alpha - first / second;
        let bounded = high.is_finite();
        let middle = R::select(bounded, (low + R::select(bounded, high, low)).scale(0.5), alpha.scale(10.0));
        let inside = newton.gt(low).and(newton.lt(high));
        alpha = R::select(inside, newton.min(alpha.scale(1e3)), middle);
    }
    // `low` is inside and on the descending side; a Newton iterate just past the minimum is inside as well.
    let safe = alpha.lt(end);
    R::select(safe, alpha, low).min(R::splat(LONGEST_STEP))
}

/// −φ · η_n and ‖J̃ᵀη‖²_P⁻¹, which prove that every feasible δ has ‖δ‖_P ≥ the first over the root of the second.
///
/// For feasible δ, ζ · η ≥ 0 gives (J̃ᵀη) · δ ≥ −φ · η_n, hence ‖δ‖_P ≥ −φ · η_n / ‖J̃ᵀη‖_P⁻¹; and
/// ‖J̃ᵀη‖²_P⁻¹ = (δ − δ_free) · J̃ᵀη at the iterate's own δ.
#[inline(always)]
fn certificate<R: Real>(s: &Structure, problem: &Problem<R>, work: &mut Work<R>) -> (R, R) {
    let mut depth = R::zero();
    let mut effort = R::zero();
    for k in 0..s.nv {
        work.step[k] = work.delta[k] - work.free[k];
    }
    for i in 0..s.nc() {
        let cone = Cone::read(problem.contacts, i);
        let eta = at3(work.eta, i);
        depth -= cone.phi * dot(cone.n, eta);
        effort += dot(along(s, work.columns, i, work.step), eta);
    }
    for (l, &(dof, sign)) in s.limits.iter().enumerate() {
        let eta = work.eta[3 * s.nc() + l];
        depth -= problem.gaps[l] * eta;
        effort += work.step[dof].scale(sign) * eta;
    }
    (depth, effort.max(R::zero()))
}

#[inline(always)]
fn largest<R: Real>(x: &[R]) -> R {
    let mut max = R::zero();
    for &value in x {
        max = max.max(value.abs());
    }
    max
}

/// See [`Outcome::residual`].
#[inline(always)]
fn residual<R: Real>(s: &Structure, problem: &Problem<R>, work: &mut Work<R>) -> R {
    let kappa = problem.kappa;
    // P δ in step, J̃ᵀη in free.
    work.step.fill(R::zero());
    work.free.fill(R::zero());
    times_p(s, problem.p, work.delta, work.step);
    let mut error = R::zero();
    for i in 0..s.nc() {
        let cone = Cone::read(problem.contacts, i);
        let (own, eta) = (cone.kappa(kappa), at3(work.eta, i));
        let rho = cone.rho(eta);
        let zeta = axpy(cone.phi, cone.n, along(s, work.columns, i, work.delta));
        add_force(s, work.columns, i, eta, work.free);
        // √(κ r₂ᵀ W r₂) with W r₂ = W ζ − η.
        let there = own.gt(R::zero());
        let pole = scale(R::splat(2.0) / R::select(there, own * rho, R::one()), cone.reflected(eta));
        let r = sub(zeta, pole);
        let square = own * dot(r, sub(cone.weigh(own, eta, rho, zeta), eta));
        error = error.max(R::select(there, square, R::zero()));
    }
    for (l, &(dof, sign)) in s.limits.iter().enumerate() {
        let eta = work.eta[3 * s.nc() + l];
        work.free[dof] += eta.scale(sign);
        let product = (kappa * eta).scale(0.5) * (work.delta[dof].scale(sign) + problem.gaps[l]);
        let relative = product - R::one();
        error = error.max(relative * relative);
    }
    let scale = largest(problem.g).max(largest(work.step)).max(largest(work.free));
    for k in 0..s.nv {
        work.step[k] += problem.g[k] - work.free[k];
    }
    let relative = largest(work.step) / scale.max(R::splat(f64::MIN_POSITIVE));
    relative.max(error.max(R::zero()).sqrt())
}
