//! The stages of a step in lanes, apart from kinematics and the contact solve. [`super::program`] runs them in order.

use candle_core::Result;

use crate::contact::absence::{forget, pass};
use crate::contact::numbers::PHI;
use crate::kinematics::{Integrate, ManifoldMap};
use crate::solve::{CONTACT_OPERAND, Status, WEIGHT, by_dimension, gone, present, touched};
use crate::step::operands::is_usable;
use crate::tensor::rows::TensorGuard;
use fingertip_lanes::lane::{Lane, Mask, Real, Zip, clear, copy, inlined, zero_unless};
use fingertip_lanes::program::Stage;
use fingertip_lanes::rows::{Output, Rows};

use super::super::torsion::is_nowhere;
use super::memory::{GEOMETRY, Memory, Numbers};
use super::plan::Plan;

/// Operands of a step: one row per world, or one for all.
pub(super) struct Operands<'a> {
    pub(super) q: Rows<'a>,
    pub(super) u: Rows<'a>,
    pub(super) par: Rows<'a>,
    /// Forces to start from.
    pub(super) warm: Option<Rows<'a>>,
}

impl<'a> Operands<'a> {
    /// Operands from tensors: q, u, parameters and, for a warm start, forces.
    ///
    /// # Errors
    /// If a tensor is not a matrix of `f32` or `f64` on the CPU.
    pub(super) fn of([q, u, par]: &'a [TensorGuard<'a>; 3], warm: Option<&'a TensorGuard<'a>>) -> Result<Self> {
        Ok(Self { q: q.rows()?, u: u.rows()?, par: par.rows()?, warm: warm.map(TensorGuard::rows).transpose()? })
    }

    /// All operands as rows. If there are no forces to start from, the rows of `none` take their place.
    pub(super) fn rows<'b>(&'b self, none: &'b Rows) -> [&'b Rows<'b>; 4] {
        [&self.q, &self.u, &self.par, self.warm.as_ref().unwrap_or(none)]
    }

    /// The operands of some of the worlds.
    pub(super) fn of_worlds(&self, worlds: &[usize]) -> Operands<'static> {
        let of = |rows: &Rows| rows.of_worlds(worlds);
        Operands { q: of(&self.q), u: of(&self.u), par: of(&self.par), warm: self.warm.as_ref().map(of) }
    }
}

/// Loads the operands into the worlds' memory.
pub(super) struct Load<'a> {
    pub(super) plan: &'a Plan,
    pub(super) operands: &'a Operands<'a>,
    /// Does memory have what an earlier step of this plan left in it? Else it may have anything.
    pub(super) goes_on: bool,
}

impl Stage for Load<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, memory: &mut [R], _: &mut Output) {
        let Memory { numbers: m, work } = self.plan.places.memory(memory).0;
        if !self.goes_on {
            forget(m.near);
            forget(work.presence);
        }
        self.operands.q.load_all(first, 0, m.q);
        self.operands.u.load_all(first, 0, m.u);
        self.operands.par.load_all(first, 0, m.par);
        if let Some(warm) = &self.operands.warm {
            warm.load_all(first, 0, m.warm);
        }
    }
}

/// Clears the forces that the first solve starts from: it starts cold. Memory that [goes on](Load::goes_on) has forces
/// of contacts that took part in the last solve alone.
pub(super) struct Forget<'a> {
    pub(super) plan: &'a Plan,
    pub(super) goes_on: bool,
}

impl Stage for Forget<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let s = &*self.plan.structure;
        let Memory { numbers: m, work } = self.plan.places.memory(memory).0;
        let (forces, limits) = m.warm.split_at_mut(s.n_force());
        clear(limits);
        if self.goes_on {
            by_dimension!(s, N => {
                for force in touched(s, work.presence, forces.as_chunks_mut::<N>().0) {
                    clear(force);
                }
            });
        } else {
            clear(forces);
        }
    }
}

/// Replaces q by the home configuration in worlds whose q cannot be used: not finite, out of range, or with a
/// quaternion of zero or subnormal length. Marks these worlds in `usable`.
pub(super) struct Check<'a>(pub(super) &'a Plan);

impl Stage for Check<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let plan = self.0;
        let m = plan.places.memory(memory).0.numbers;
        let usable = is_usable(m.q, &plan.quaternions);
        m.usable[0] = R::select(usable, R::one(), R::zero());
        m.kappa[0] = plan.kappa(usable, m.par);
        for (x, &home) in m.q.iter_mut().zip_inline(&plan.home) {
            *x = R::select(usable, *x, R::splat(home));
        }
    }
}

/// Computes the contacts of all pairs: normals, witness points and φ. With `passes`, those of pairs that were far and
/// still are keep what numbers they had.
pub(super) struct Geometry<'a> {
    pub(super) plan: &'a Plan,
    pub(super) passes: bool,
}

impl Stage for Geometry<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let plan = self.plan;
        let m = plan.places.memory(memory).0.numbers;
        let balls = if self.passes { m.balls } else { &mut [] };
        plan.pairs.witness([m.kin, plan.sizes(m.par)], [m.geometry, m.share, m.nearest, m.near, balls]);
    }
}

/// Assembles the operands of the contact problem from geometry, inertia, stiffness and command.
pub(super) struct Assemble<'a>(pub(super) &'a Plan);

impl Stage for Assemble<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let plan = self.0;
        let Memory { numbers: mut m, work } = plan.places.memory(memory).0;
        pass(work.presence);
        plan.place_contacts(&mut m);
        plan.problem.fill(&plan.structure.place, [m.q, m.u, m.kin, m.par], [m.motion, m.p, m.g, m.gaps]);
        plan.resist_rolling(&mut m);
    }
}

/// x/weight, or 0 if the weight is not positive.
#[inline(always)]
pub(super) fn per<R: Real>(weight: R, x: R) -> R {
    let there = weight.gt(R::zero());
    R::select(there, x / R::select(there, weight, R::one()), R::zero())
}

/// A contact's share of its pair's barrier; 1 if there are no shares.
#[inline(always)]
pub(super) fn share<R: Real>(shares: &[R], contact: usize) -> R {
    if shares.is_empty() { R::one() } else { shares[contact] }
}

impl Plan {
    /// The barrier parameter κ; NaN in worlds that are not usable, or have a coefficient of friction that is not: the
    /// solve does not look at those of contacts that are far.
    #[inline(always)]
    pub(super) fn kappa<R: Real>(&self, usable: R::Mask, par: &[R]) -> R {
        let (mut sum, mut least) = (R::zero(), R::zero());
        for &mu in R::parts(&par[self.at.mu..self.at.stiffness]) {
            sum = mu.doubt(sum);
            least = least.min(mu);
        }
        let good = usable.and(sum.is_finite()).and(least.lt(R::zero()).not());
        R::select(good, par[self.at.kappa], R::splat(f64::NAN))
    }

    /// The contacts as the solver takes them: geometry, μ, weight; and γ.
    #[inline(always)]
    pub(super) fn place_contacts<R: Real>(&self, m: &mut Numbers<&mut [R]>) {
        for contact in gone(&self.structure, m.near, m.contacts.chunks_exact_mut(CONTACT_OPERAND)) {
            contact[WEIGHT] = R::zero();
        }
        for c in present(&self.structure, m.near, 0..self.nc) {
            let to = &mut m.contacts[CONTACT_OPERAND * c..CONTACT_OPERAND * (c + 1)];
            copy(&mut to[..GEOMETRY], &m.geometry[GEOMETRY * c..GEOMETRY * (c + 1)]);
            to[WEIGHT] = self.weight(c, to[PHI]).0 * share(m.share, c);
        }
        let present = present(&self.structure, m.near, 0..self.nc);
        self.contacts.complete(present, self.friction(m.par), [m.contacts, m.gammas]);
    }

    /// Adds the rolling stiffness of [`RollingTables`](crate::step::rolling::RollingTables) to P.
    #[inline(always)]
    fn resist_rolling<R: Real>(&self, m: &mut Numbers<&mut [R]>) {
        let contact = self.placed(m.geometry, m.share);
        self.rolling.fill([m.kin, m.par], contact, m.rolling);
        for (&entry, &more) in self.rolling.stiffened.entries.iter().zip_inline(&*m.rolling) {
            m.p[entry] += more;
        }
    }

    /// A contact's geometry and weight.
    #[inline(always)]
    pub(super) fn placed<'a, R: Real>(&self, geometry: &'a [R], share: &'a [R]) -> impl Fn(usize) -> (&'a [R], R) {
        inlined(
            #[inline(always)]
            move |c: usize| {
                let geometry = &geometry[GEOMETRY * c..GEOMETRY * (c + 1)];
                (geometry, self.weight(c, geometry[PHI]).0 * self::share(share, c))
            },
        )
    }

    /// Weight of the barrier of a contact with this φ, and its derivative.
    #[inline(always)]
    pub(super) fn weight<R: Real>(&self, contact: usize, phi: R) -> (R, R) {
        let (weight, slope) = self.contacts.weight(contact, phi);
        match self.margin {
            None => (weight, slope),
            Some(margin) => {
                let near = R::splat(margin).lt(phi).not();
                (R::select(near, weight, R::zero()), R::select(near, slope, R::zero()))
            }
        }
    }

    /// μ and the coefficients of torsional friction, which follow each other among the parameters.
    #[inline(always)]
    fn friction<'a, R>(&self, par: &'a [R]) -> [&'a [R]; 2] {
        let (mu, torsion) = par[self.at.mu..self.at.stiffness].split_at(self.at.torsion - self.at.mu);
        [mu, torsion]
    }

    /// The gradients of μ and of the coefficients of torsional friction, among the parameters' gradients.
    #[inline(always)]
    pub(super) fn friction_mut<'a, R>(&self, par: &'a mut [R]) -> [&'a mut [R]; 2] {
        let (mu, torsion) = par[self.at.mu..self.at.stiffness].split_at_mut(self.at.torsion - self.at.mu);
        [mu, torsion]
    }
}

/// A place for results: one of the matrices that a program writes, and the first column in it.
#[derive(Clone, Copy)]
pub(super) struct Columns(pub(super) usize, pub(super) usize);

/// Results begin as zeros. What belongs to contacts without weight stays so.
impl Plan {
    /// Writes the contact forces, then the torques.
    #[inline(always)]
    pub(super) fn store_forces<R: Lane>(
        &self,
        m: &Numbers<&mut [R]>,
        first: usize,
        (Columns(part, at), out): (Columns, &mut Output),
    ) {
        for c in present(&self.structure, m.near, 0..self.nc) {
            if !is_nowhere(m.contacts, c) {
                out.store_in(part, first, at + 3 * c, &m.force[3 * c..3 * (c + 1)]);
            }
        }
        out.store_in(part, first, at + 3 * self.nc, &m.force[3 * self.nc..]);
    }

    /// Writes the solver's forces η.
    #[inline(always)]
    pub(super) fn store_warm<R: Lane>(
        &self,
        (m, eta): (&Numbers<&mut [R]>, &[R]),
        first: usize,
        (Columns(part, at), out): (Columns, &mut Output),
    ) {
        let n = self.structure.dimension;
        for c in present(&self.structure, m.near, 0..self.nc) {
            if !is_nowhere(m.contacts, c) {
                out.store_in(part, first, at + n * c, &eta[n * c..n * (c + 1)]);
            }
        }
        out.store_in(part, first, at + n * self.nc, &eta[n * self.nc..]);
    }
}

/// Finishes a step after the solve: δ in the order of v, forces and q₊. The forces are also the next solve's warm
/// start.
pub(super) struct Finish<'a>(pub(super) &'a Plan);

impl Stage for Finish<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let plan = self.0;
        let s = &*plan.structure;
        let Memory { numbers: m, work } = plan.places.memory(memory).0;
        let (forces, limits) = work.eta.split_at(s.n_force());
        let (warm, warm_limits) = m.warm.split_at_mut(s.n_force());
        copy(warm_limits, limits);
        by_dimension!(s, N => {
            let forces = forces.as_chunks::<N>().0;
            for (warm, &force) in touched(s, work.presence, warm.as_chunks_mut::<N>().0.iter_mut().zip_inline(forces)) {
                *warm = force;
            }
        });
        for (dof, &place) in s.place.iter().enumerate() {
            m.delta[dof] = work.delta[place];
        }
        Integrate::value(&plan.retraction, m.q, m.delta, m.q_next);
        // What a parameter that is not a number has made of the geometry.
        let bad = work.info[0].gt(R::splat(Status::Infeasible.code()));
        R::when(
            bad,
            &mut (&mut *m.geometry, &mut *m.share),
            #[inline(always)]
            |(geometry, share)| {
                for numbers in R::parts(geometry.chunks_mut(GEOMETRY).chain(share.chunks_mut(GEOMETRY))) {
                    for x in numbers {
                        *x = R::select(bad.and(x.is_finite().not()), R::zero(), *x);
                    }
                }
            },
        );
        // In a world of bad input even a product with zero may be NaN.
        let solved = work.info[0].lt(R::splat(Status::Infeasible.code()));
        for force in gone(s, m.near, m.force.as_chunks_mut::<3>().0) {
            clear(force);
        }
        by_dimension!(s, N => {
            let present = present(s, m.near, 0..plan.nc);
            plan.contacts.torsion.forces::<R, N>(present, (m.contacts, m.gammas), work.eta, m.force);
        });
        zero_unless(solved, m.force);
    }
}

/// [`Store`] without what belongs to contacts that have no weight.
pub(super) struct StoreNear<'a>(pub(super) &'a Plan);

impl Stage for StoreNear<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, memory: &mut [R], out: &mut Output) {
        let plan = self.0;
        let Memory { numbers: m, work } = plan.places.memory(memory).0;
        let (limits, row) = (&work.eta[plan.structure.n_force()..], plan.row());
        out.store_all(first, row.q_next.start, m.q_next);
        out.store_all(first, row.delta.start, m.delta);
        out.store_all(first, row.v_next.start, m.v_next);
        plan.store_forces(&m, first, (Columns(0, row.force.start), out));
        out.store_all(first, row.limit_force.start, limits);
        for c in present(&plan.structure, m.near, 0..plan.nc) {
            if is_nowhere(m.contacts, c) {
                continue;
            }
            // Another world of the lane may have a weight where this one has none.
            let there = m.contacts[CONTACT_OPERAND * c + WEIGHT].gt(R::zero());
            for k in GEOMETRY * c..GEOMETRY * (c + 1) {
                out.store(first, row.contact.start + k, R::select(there, m.geometry[k], R::zero()));
            }
            if !m.share.is_empty() {
                out.store(first, row.share.start + c, R::select(there, m.share[c], R::zero()));
            }
        }
        plan.store_warm((&m, work.eta), first, (Columns(0, row.warm.start), out));
        out.store_all(first, row.info.start, work.info);
    }
}

/// Writes a step's whole row: q₊, δ, v₊ of a second-order step, forces, limit forces, geometry, shares; η; report.
pub(super) struct Store<'a>(pub(super) &'a Plan);

impl Stage for Store<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, memory: &mut [R], out: &mut Output) {
        let Memory { numbers: m, work } = self.0.places.memory(memory).0;
        let (limits, row) = (&work.eta[self.0.structure.n_force()..], self.0.row());
        out.store_all(first, row.q_next.start, m.q_next);
        out.store_all(first, row.delta.start, m.delta);
        out.store_all(first, row.v_next.start, m.v_next);
        out.store_all(first, row.force.start, m.force);
        out.store_all(first, row.limit_force.start, limits);
        out.store_all(first, row.contact.start, m.geometry);
        out.store_all(first, row.share.start, m.share);
        out.store_all(first, row.warm.start, work.eta);
        out.store_all(first, row.info.start, work.info);
    }
}
