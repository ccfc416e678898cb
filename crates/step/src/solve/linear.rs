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
//! one of three. By Coulomb's law the forces W̃ᵀ (J̃ y + M f̄) are the unknowns, see [`super::friction`], and Hᵀ takes
//! the place of H.

use fingertip_lanes::lane::{Mask, Real, Zip, clear, copy, state, when};

use super::cone::FrictionCone;
use super::cones::{Cone, Weight};
use super::friction::Answer;
use super::kinds::cones;
use super::memory::{Gradients, Problem, STATUS, Work};
use super::presence::listed;
use super::problem::{add_force, along, nth, put_nth, times_p};
use super::status::is_relaxed;
use super::structure::Structure;
use super::vector::{add, scale, sub, zero};

/// The contacts and limits at a solution.
struct System<'a, R: Real, const N: usize> {
    s: &'a Structure,
    problem: &'a Problem<'a, R>,
    eta: &'a [R],
    delta: &'a [R],
    /// Worlds whose forces follow the relaxed law.
    relaxed: R::Mask,
    columns: &'a [[R; N]],
    list: &'a [R],
}

/// A vector with N numbers per contact and one per limit.
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

impl<R: Real, const N: usize> System<'_, R, N> {
    /// A contact.
    #[inline(always)]
    fn contact(&self, i: usize) -> FrictionCone<R, N> {
        self.problem.cone(i)
    }

    /// A contact's answer.
    #[inline(always)]
    fn answer(&self, cone: &FrictionCone<R, N>, i: usize) -> Answer<R, N> {
        self.s.answer(cone, cone.kappa(self.problem.kappa), nth(self.eta, i), self.relaxed)
    }

    /// A cone's F.
    #[inline(always)]
    fn root<const K: usize, const M: usize, C: Cone<R, K, M>>(&self, cone: &C) -> C::Weight {
        cone.root_at(self.problem.kappa, cone.own(&self.eta[self.s.n_force()..]), cone.at(self.delta))
    }

    /// x −= J̃ᵀF w.
    #[inline(always)]
    fn subtract(&self, w: &Parts<R>, x: &mut [R]) {
        R::call(
            #[inline(always)]
            || {
                for (i, contact) in listed(self.list, self.s.contacts.iter().enumerate()) {
                    let cone = self.contact(i);
                    when!(cone.is_there(), x, |x| {
                        let force = self.s.gathered(&self.answer(&cone, i), nth(w.contacts, i));
                        add_force(contact, self.columns, scale(-R::one(), force), x);
                    });
                }
                cones!(self.s, self.problem.gaps, cone => {
                    cone.on.pull(self.root(&cone).times(cone.own(w.limits)), x);
                });
            },
        )
    }

    /// w += F J̃ y.
    #[inline(always)]
    fn add_moved(&self, y: &[R], w: &mut Parts<R>) {
        R::call(
            #[inline(always)]
            || {
                for (i, contact) in listed(self.list, self.s.contacts.iter().enumerate()) {
                    let cone = self.contact(i);
                    when!(cone.is_there(), &mut w.contacts[N * i..N * (i + 1)], |w| {
                        let moved = self.s.gather(&self.answer(&cone, i), along(contact, self.columns, y));
                        put_nth(w, 0, add(nth(w, 0), moved));
                    });
                }
                cones!(self.s, self.problem.gaps, cone => {
                    let moved = self.root(&cone).times(cone.on.moved(y));
                    cone.put(w.limits, add(cone.own(w.limits), moved));
                });
            },
        )
    }

    /// Writes the residual of the second equation, F (J̃ y + M f̄) − w, for all contacts and limits.
    #[inline(always)]
    fn left(&self, y: &[R], grad_force: &[R], grad_limit: &[R], w: &Parts<R>, to: &mut Parts<R>) {
        R::call(
            #[inline(always)]
            || {
                for (i, contact) in listed(self.list, self.s.contacts.iter().enumerate()) {
                    put_nth(to.contacts, i, zero::<R, N>());
                    let cone = self.contact(i);
                    when!(cone.is_there(), &mut to.contacts[N * i..N * (i + 1)], |to| {
                        let moved = add(along(contact, self.columns, y), cone.scaled(nth(grad_force, i)));
                        let gathered = self.s.gather(&self.answer(&cone, i), moved);
                        put_nth(to, 0, sub(gathered, nth(w.contacts, i)));
                    });
                }
                cones!(self.s, self.problem.gaps, cone => {
                    let moved = add(cone.on.moved(y), cone.own(grad_limit));
                    cone.put(to.limits, sub(self.root(&cone).times(moved), cone.own(w.limits)));
                });
            },
        )
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
pub(super) fn solve<R: Real, const N: usize>(
    s: &Structure,
    problem: &Problem<R>,
    work: &mut Work<&mut [R]>,
    to: &mut Gradients<&mut [R]>,
) {
    let relaxed = is_relaxed(work.info[STATUS]);
    let (list, columns) = (&*work.list, work.columns.as_chunks::<N>().0);
    let system = System { s, problem, eta: work.eta, delta: work.delta, relaxed, columns, list };
    let [substitute, eliminate] = s.factors(work.h, work.upper);
    let (forces, rest) = work.contact_states.split_at_mut(s.n_force());
    let mut w = Parts { contacts: forces, limits: work.limit_force };
    let mut left = Parts { contacts: &mut rest[..s.n_force()], limits: work.limit_step };
    for (target, y) in work.step.iter_mut().zip_inline(to.y.iter_mut()) {
        // No −0, which sums with zeros change.
        *y += R::zero();
        *target = *y;
    }
    let (target, free) = (&*work.step, &mut *work.free);
    for i in listed(list, 0..s.nc()) {
        put_nth(w.contacts, i, zero::<R, N>());
    }
    clear(w.limits);
    clear(free);
    system.left(free, to.force, to.limit, &w, &mut left);
    for i in listed(list, 0..s.nc()) {
        put_nth(w.contacts, i, nth::<R, N>(left.contacts, i));
    }
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
            for i in listed(list, 0..s.nc()) {
                add_where(*again, &left.contacts[N * i..N * (i + 1)], &mut w.contacts[N * i..N * (i + 1)]);
            }
            add_where(*again, left.limits, w.limits);
            add_where(*again, free, y);
        },
    );
    for i in listed(work.list, 0..s.nc()) {
        let cone = system.contact(i);
        when!(cone.is_there(), &mut w.contacts[N * i..N * (i + 1)], |w| {
            put_nth(w, 0, s.gathered(&system.answer(&cone, i), nth(w, 0)));
        });
    }
    cones!(s, problem.gaps, cone => { cone.put(w.limits, system.root(&cone).times(cone.own(w.limits))) });
}
