//! The solve and its adjoint as stages on a world's memory, for the tensor operation and the fused step alike.

use fingertip_lanes::lane::{Lane, Mask, clear};
use fingertip_lanes::layout::parts;
use fingertip_lanes::program::{Group, Stage};
use fingertip_lanes::rows::Output;
use fingertip_lanes::vector::scale;
use fingertip_scene::Friction;

use super::adjoint;
use super::barrier;
use super::cone::{CONTACT_OPERAND, Cone};
use super::coulomb;
use super::memory::{Gradients, Places};
use super::problem::{add_force, balance, factor_p, fill_columns, fill_h, fill_pair, fill_pivots, triple};
use super::status::{Accuracy, Status, is, is_relaxed};
use super::structure::Structure;

/// The solve by the structure's friction law as a program's stages. It leaves δ, η and the report in the working memory.
#[derive(Clone, Copy)]
pub(crate) struct Solve<'a> {
    pub(crate) structure: &'a Structure,
    pub(crate) at: &'a Places,
    pub(crate) max_iterations: usize,
    /// Start at the forces in `warm`, where they are inside the cones?
    pub(crate) warm: bool,
    /// Accuracy of the relaxed law's solution. Coulomb's law is always solved in full.
    pub(crate) accuracy: Accuracy,
}

impl Solve<'_> {
    /// Runs the solve: in single precision if that is the program's and the law is the relaxed one.
    pub(crate) fn run(self, group: &mut Group) {
        match self.structure.friction {
            Friction::Relaxed => group.run_in_either(&Relaxed { of: self, worlds: Worlds::All }),
            Friction::Coulomb => {
                group.run(&Coulomb { of: self, again: false });
                group.run_in_either(&Relaxed { of: self, worlds: Worlds::Unsettled });
                group.run(&Coulomb { of: self, again: true });
                if !self.structure.twins.is_empty() {
                    group.run(&Alone(self));
                    group.run_in_either(&Relaxed { of: self, worlds: Worlds::Unsettled });
                    group.run(&Unsettled(self));
                }
            }
        }
        let worlds = Worlds::Infeasible;
        group.run_in_either(&Loosen { structure: self.structure, at: self.at, status: Status::Infeasible });
        group.run_in_either(&Relaxed { of: self, worlds });
    }
}

/// The worlds that are solved by the relaxed law.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Worlds {
    All,
    /// Those that Coulomb's law has not settled.
    Unsettled,
    /// Those that have no solution with friction.
    Infeasible,
}

/// The Newton iteration for the relaxed law.
struct Relaxed<'a> {
    of: Solve<'a>,
    worlds: Worlds,
}

impl Stage for Relaxed<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let Solve { structure, at, max_iterations, warm, accuracy } = self.of;
        let (problem, mut work) = at.of(memory);
        let worlds = match self.worlds {
            Worlds::All => R::Mask::splat(true),
            Worlds::Unsettled => is_relaxed(work.info[0]),
            Worlds::Infeasible => is(Status::Infeasible, work.info[0]),
        };
        let warm = warm && self.worlds != Worlds::Infeasible;
        R::when(
            worlds,
            &mut work,
            #[inline(always)]
            |work| {
                if self.worlds != Worlds::All {
                    coulomb::put_aside(work);
                }
                barrier::solve(structure, &problem, max_iterations, (warm, accuracy), work);
                if self.worlds == Worlds::Infeasible {
                    coulomb::loosened(worlds, work);
                }
            },
        );
    }
}

/// The iteration for Coulomb's law.
struct Coulomb<'a> {
    of: Solve<'a>,
    /// Start from the answer of the relaxed law, after its solve?
    again: bool,
}

impl Stage for Coulomb<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let Solve { structure, at, max_iterations, warm, .. } = self.of;
        let (problem, mut work) = at.of(memory);
        coulomb::solve(structure, &problem, max_iterations, (warm, self.again), &mut work);
    }
}

/// Puts all results aside, and gives the worlds that Coulomb's law has not settled the relaxed law's coefficients: see [`Untwin`].
struct Alone<'a>(Solve<'a>);

impl Stage for Alone<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, memory: &mut [R], out: &mut Output) {
        let Solve { structure, at, .. } = self.0;
        coulomb::put_aside(&mut at.of(memory).1);
        Untwin { structure, at }.run(first, memory, out);
    }
}

/// After the relaxed solve with its own coefficients: puts the kept results back in the other worlds.
struct Unsettled<'a>(Solve<'a>);

impl Stage for Unsettled<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let Solve { structure, at, .. } = self.0;
        let (problem, mut work) = at.of(memory);
        coulomb::replace_relaxed(structure, &problem, &mut work);
    }
}

/// Takes friction away in worlds with this status.
pub(crate) struct Loosen<'a> {
    pub(crate) structure: &'a Structure,
    pub(crate) at: &'a Places,
    pub(crate) status: Status,
}

impl Stage for Loosen<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let Self { structure, at, status } = self;
        let worlds = is(*status, memory[at.work.info.start]);
        R::when(
            worlds,
            &mut memory[at.operands.contacts.clone()],
            #[inline(always)]
            |contacts| {
                for contact in R::parts(0..structure.nc()) {
                    let mu = &mut contacts[CONTACT_OPERAND * contact + 10];
                    *mu = R::select(worlds, R::zero(), *mu);
                }
            },
        );
    }
}

/// Halves the coefficients of contacts that carry a force in pairs, in worlds that have the relaxed law's answer although the law is
/// Coulomb's: see [`Structure::with_twins`]. The report is in the working memory, and the contacts are as the step has assembled them.
pub(crate) struct Untwin<'a> {
    pub(crate) structure: &'a Structure,
    pub(crate) at: &'a Places,
}

impl Stage for Untwin<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let Self { structure, at } = self;
        let relaxed = is_relaxed(memory[at.work.info.start]);
        let contacts = &mut memory[at.operands.contacts.clone()];
        for &contact in R::parts(&structure.twins) {
            let mu = &mut contacts[CONTACT_OPERAND * contact + 10];
            *mu = R::select(relaxed, mu.scale(0.5), *mu);
        }
    }
}

/// Computes the δ that belongs to given forces η, P⁻¹ (J̃ᵀη − g), in `free`. Leaves J̃ in the working memory too.
pub(crate) struct Balance<'a> {
    pub(crate) structure: &'a Structure,
    pub(crate) at: &'a Places,
}

impl Stage for Balance<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let s = self.structure;
        let (problem, mut work) = self.at.of(memory);
        fill_columns(s, &problem, work.columns.as_chunks_mut().0);
        fill_pivots(s, problem.p, work.pivot);
        factor_p(s, problem.p, work.pivot, work.factor_p);
        balance(s, &problem, &mut work);
    }
}

/// Factors H at a solution: the working memory holds δ and η, zero in worlds without one.
pub(crate) struct Factor<'a> {
    pub(crate) structure: &'a Structure,
    pub(crate) at: &'a Places,
    /// Is J̃ still there from the solve?
    pub(crate) solved: bool,
}

impl Stage for Factor<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let s = self.structure;
        let (problem, work) = self.at.of(memory);
        let columns = work.columns.as_chunks_mut().0;
        if !self.solved {
            fill_columns(s, &problem, columns);
        }
        match s.friction {
            Friction::Relaxed => {
                fill_h(s, &problem, columns, work.eta, work.h);
                s.factor_h.factor(work.h);
            }
            Friction::Coulomb => {
                let relaxed = is_relaxed(work.info[0]);
                fill_pair(s, &problem, columns, (work.eta, relaxed), (work.h, work.upper));
                s.factor_h.factor_pair_leading(work.h, work.upper, s.nv);
            }
        }
    }
}

/// The solve's adjoint, after [`Factor`]: from the gradients of the results to those of the operands; zeros in worlds without a solution.
pub(crate) struct Pull<'a> {
    pub(crate) structure: &'a Structure,
    pub(crate) at: &'a Places,
    /// Offsets of the gradients, which lie behind the working memory.
    pub(crate) gradients: &'a Gradients<std::ops::Range<usize>>,
}

impl Stage for Pull<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let of = self.gradients;
        let [memory, force, limit, y, screws, contacts, p, gaps, kappa] = parts(
            memory,
            [
                &(0..self.at.work.end()),
                &of.force,
                &of.limit,
                &of.y,
                &of.screws,
                &of.contacts,
                &of.p,
                &of.gaps,
                &of.kappa,
            ],
        );
        let (problem, mut work) = self.at.of(memory);
        let keep = work.info[0].lt(R::splat(Status::Infeasible.code()));
        let mut gradients = Gradients { force, limit, y, screws, contacts, p, gaps, kappa };
        adjoint::pull(self.structure, &problem, &mut work, keep, &mut gradients);
    }
}

/// After [`Factor`]: −H⁻¹ Σ Jᵀf in place of δ, see [`super::smoothing_error`]; zeros in worlds without a solution.
pub(super) struct Smoothing<'a> {
    pub(super) structure: &'a Structure,
    pub(super) at: &'a Places,
}

impl Stage for Smoothing<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let s = self.structure;
        let (problem, work) = self.at.of(memory);
        clear(work.delta);
        let columns = work.columns.as_chunks().0;
        for (i, contact) in s.contacts.iter().enumerate() {
            R::when(
                Cone::read(problem.contacts, i).is_there(),
                &mut *work.delta,
                #[inline(always)]
                |delta| add_force(contact, columns, scale(-R::one(), triple(work.eta, i)), delta),
            );
        }
        for (l, &(dof, sign)) in s.limits.iter().enumerate() {
            work.delta[dof] -= work.eta[3 * s.nc() + l].scale(sign);
        }
        s.factor_h.solve_leading(s.factors(work.h, work.upper), work.delta, s.nv);
        let keep = work.info[0].lt(R::splat(Status::Infeasible.code()));
        for x in work.delta.iter_mut() {
            *x = R::select(keep.and(x.is_finite()), *x, R::zero());
        }
    }
}
