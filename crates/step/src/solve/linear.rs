//! The adjoint's linear system, solved to rounding accuracy.
//!
//! H y = δ̄ − Σ J̃ᵀ W M f̄ alone is not enough where contacts are stiff: W = F² may be 10¹⁸ times P, what rounding
//! leaves of P in H is little, and so is what it leaves of J̃ y in the forces W (J̃ y + M f̄). With the forces F w as
//! unknowns of their own,
//!
//! ```text
//! P y + Σ J̃ᵀF w = δ̄        F (J̃ y + M f̄) − w = 0
//! ```
//!
//! has no large numbers that cancel; what is left of both equations is solved for again with the same factor of H
//! (iterative refinement), until nothing is. A limit is a contact of one dimension, and so is dry friction; a table is
//! one of three. By Coulomb's law W̃ᵀ = G (1 + n bᵀ) G takes the place of F F, see [`super::friction`], and Hᵀ that of
//! H.

use fingertip_lanes::lane::{Mask, Real, State, Zip, clear, copy, state};
use fingertip_lanes::vector::{Vec3, add, scale, sub, zero};

use super::cone::Cone;
use super::dry::Dry;
use super::friction::Answer;
use super::memory::{Gradients, Problem, Work};
use super::presence::listed;
use super::problem::{add_force, along, put_triple, times_p, triple};
use super::status::is_relaxed;
use super::structure::Structure;
use super::symmetric::Symmetric;
use super::table::{Table, TablePlaces};

/// The contacts and limits at a solution.
struct System<'a, R: Real> {
    s: &'a Structure,
    problem: &'a Problem<'a, R>,
    eta: &'a [R],
    delta: &'a [R],
    /// Worlds whose forces follow the relaxed law.
    relaxed: R::Mask,
    columns: &'a [Vec3<R>],
    list: &'a [R],
}

/// A vector with three numbers per contact and one per limit.
struct Parts<'a, R> {
    contacts: &'a mut [R],
    limits: &'a mut [R],
}

state!(Parts<'a> { numbers: [], flags: [], states: [contacts, limits] });

/// The state of the iterative refinement: the solution y so far, and the residual of P y + Σ J̃ᵀF w = δ̄.
struct Refinement<'a, R: Real> {
    y: &'a mut [R],
    /// Residual of the first equation, P y + Σ J̃ᵀF w = δ̄, in elimination order.
    free: &'a mut [R],
    /// Worlds whose residual is too large, and which are refined once more.
    again: R::Mask,
}

state!(Refinement<'a> { numbers: [], flags: [again], states: [y, free] });

impl<R: Real> System<'_, R> {
    /// Calls `body` with a contact's cone and answer, where it has a weight.
    #[inline(always)]
    fn answer<S: State<R> + ?Sized>(&self, i: usize, state: &mut S, body: impl Fn(&Cone<R>, &Answer<R>, &mut S)) {
        let cone = Cone::read(self.problem.contacts, i);
        R::when(
            cone.is_there(),
            state,
            #[inline(always)]
            |state| {
                let (own, eta) = (cone.kappa(self.problem.kappa), triple(self.eta, i));
                body(&cone, &self.s.answer(&cone, own, eta, self.relaxed), state);
            },
        );
    }

    #[inline(always)]
    fn limit_scaling(&self, l: usize) -> R {
        let kappa = self.problem.kappa;
        if l < self.s.n_limits {
            kappa.scale(0.5).sqrt() * self.eta[3 * self.s.nc() + l]
        } else {
            Dry::scaling(kappa, self.problem.gaps[l], self.delta[self.s.limits[l].0])
        }
    }

    /// A table and its F.
    #[inline(always)]
    fn table<'b>(&self, places: &'b TablePlaces) -> (Table<'b, R>, Symmetric<R>) {
        let table = Table::read(self.problem.gaps, places);
        let root = table.root_at(self.problem.kappa, table.moved(self.delta));
        (table, root)
    }

    /// x −= J̃ᵀF w.
    #[inline(always)]
    fn subtract(&self, w: &Parts<R>, x: &mut [R]) {
        for (i, contact) in listed(self.list, self.s.contacts.iter().enumerate()) {
            self.answer(
                i,
                x,
                #[inline(always)]
                |_, Answer { root, .. }, x| {
                    add_force(contact, self.columns, scale(-R::one(), root.times(triple(w.contacts, i))), x);
                },
            );
        }
        for (l, &(dof, sign)) in self.s.limits.iter().enumerate() {
            x[dof] -= (self.limit_scaling(l) * w.limits[l]).scale(sign);
        }
        for places in &self.s.tables {
            let (table, root) = self.table(places);
            table.push(scale(-R::one(), root.times(table.own(w.limits))), x);
        }
    }

    /// w += F J̃ y.
    #[inline(always)]
    fn add_moved(&self, y: &[R], w: &mut Parts<R>) {
        for (i, contact) in listed(self.list, self.s.contacts.iter().enumerate()) {
            self.answer(
                i,
                &mut w.contacts[3 * i..3 * (i + 1)],
                #[inline(always)]
                |cone, answer, w| {
                    let moved = self.s.gather(cone.n, answer, along(contact, self.columns, y));
                    put_triple(w, 0, add(triple(w, 0), moved));
                },
            );
        }
        for (l, &(dof, sign)) in self.s.limits.iter().enumerate() {
            w.limits[l] += self.limit_scaling(l) * y[dof].scale(sign);
        }
        for places in &self.s.tables {
            let (table, root) = self.table(places);
            let moved = root.times(table.moved(y));
            table.put(w.limits, add(table.own(w.limits), moved));
        }
    }

    /// Writes the residual of the second equation, F (J̃ y + M f̄) − w, for all contacts and limits.
    #[inline(always)]
    fn left(&self, y: &[R], grad_force: &[R], grad_limit: &[R], w: &Parts<R>, to: &mut Parts<R>) {
        for (i, contact) in listed(self.list, self.s.contacts.iter().enumerate()) {
            put_triple(to.contacts, i, zero());
            self.answer(
                i,
                &mut to.contacts[3 * i..3 * (i + 1)],
                #[inline(always)]
                |cone, answer, to| {
                    let moved = add(along(contact, self.columns, y), cone.scaled(triple(grad_force, i)));
                    put_triple(to, 0, sub(self.s.gather(cone.n, answer, moved), triple(w.contacts, i)));
                },
            );
        }
        for (l, &(dof, sign)) in self.s.limits.iter().enumerate() {
            to.limits[l] = self.limit_scaling(l) * (y[dof].scale(sign) + grad_limit[l]) - w.limits[l];
        }
        for places in &self.s.tables {
            let (table, root) = self.table(places);
            let moved = root.times(add(table.moved(y), table.own(grad_limit)));
            table.put(to.limits, sub(moved, table.own(w.limits)));
        }
    }
}

/// x += change in worlds of the mask.
#[inline(always)]
fn add_where<R: Real>(mask: R::Mask, change: &[R], x: &mut [R]) {
    for (x, &change) in x.iter_mut().zip_inline(change) {
        *x = R::select(mask, *x + change, *x);
    }
}

/// Solves for y, in place of δ̄, given f̄ and the factor of H; the forces F w = W (J̃ y + M f̄) are left in
/// `work.contact_states`, those of the limits in `work.limit_force`. Overwrites `work.step`, `work.free`,
/// `work.limit_step`.
#[inline(always)]
pub(super) fn solve<R: Real>(
    s: &Structure,
    problem: &Problem<R>,
    work: &mut Work<&mut [R]>,
    to: &mut Gradients<&mut [R]>,
) {
    let relaxed = is_relaxed(work.info[0]);
    let (list, columns) = (&*work.list, work.columns.as_chunks().0);
    let system = System { s, problem, eta: work.eta, delta: work.delta, relaxed, columns, list };
    let [substitute, eliminate] = s.factors(work.h, work.upper);
    let (forces, rest) = work.contact_states.split_at_mut(3 * s.nc());
    let mut w = Parts { contacts: forces, limits: work.limit_force };
    let mut left = Parts { contacts: &mut rest[..3 * s.nc()], limits: work.limit_step };
    for (target, y) in work.step.iter_mut().zip_inline(to.y.iter_mut()) {
        // No −0, which sums with zeros change.
        *y += R::zero();
        *target = *y;
    }
    let (target, free) = (&*work.step, &mut *work.free);
    clear(w.contacts);
    clear(w.limits);
    clear(free);
    system.left(free, to.force, to.limit, &w, &mut left);
    copy(w.contacts, left.contacts);
    copy(w.limits, left.limits);
    system.subtract(&w, to.y);
    s.factor_h.solve_leading([eliminate, substitute], to.y, s.nv);
    system.add_moved(to.y, &mut w);

    let (grad_force, grad_limit) = (&*to.force, &*to.limit);
    let mut state = (
        Refinement { y: &mut *to.y, free, again: R::Mask::splat(true) },
        (Parts { contacts: &mut *w.contacts, limits: &mut *w.limits }, left),
    );
    R::repeat(
        s.settings.refinements as usize,
        &mut state,
        #[inline(always)]
        |(Refinement { y, free, again }, (w, _))| {
            clear(free);
            times_p(s, problem.p, y, free);
            let mut largest = R::tiny();
            for (free, &target) in free.iter_mut().zip_inline(target.iter()) {
                largest = largest.max(target.abs()).max(free.abs());
                *free = target - *free;
            }
            system.subtract(w, free);
            let mut worst = R::zero();
            for free in free.iter() {
                worst = worst.max(free.abs());
            }
            *again = worst.gt(largest.scale(s.settings.refinement_tolerance));
            *again
        },
        #[inline(always)]
        |(Refinement { y, free, again }, (w, left))| {
            system.left(y, grad_force, grad_limit, w, left);
            system.subtract(left, free);
            s.factor_h.solve_leading([eliminate, substitute], free, s.nv);
            system.add_moved(free, left);
            add_where(*again, left.contacts, w.contacts);
            add_where(*again, left.limits, w.limits);
            add_where(*again, free, y);
        },
    );
    for i in listed(work.list, 0..s.nc()) {
        system.answer(
            i,
            &mut w.contacts[3 * i..3 * (i + 1)],
            #[inline(always)]
            |_, Answer { root, .. }, w| put_triple(w, 0, root.times(triple(w, 0))),
        );
    }
    for (l, force) in w.limits[..s.limits.len()].iter_mut().enumerate() {
        *force = *force * system.limit_scaling(l);
    }
    for places in &s.tables {
        let (table, root) = system.table(places);
        table.put(w.limits, root.times(table.own(w.limits)));
    }
}
