//! The solve and its adjoint as stages on a world's memory, for the tensor operation and the fused step alike.

use fingertip_lanes::lane::{Lane, Mask, clear, when};
use fingertip_lanes::layout::parts;
use fingertip_lanes::program::{Group, Stage};
use fingertip_lanes::rows::Output;
use fingertip_scene::Friction;

use super::adjoint;
use super::barrier;
use super::cone::{SLIDING, has_eight};
use super::coulomb;
use super::kinds::{by_dimension, cones};
use super::law::Law;
use super::log::{self, Phase};
use super::memory::{Gradients, Places, STATUS};
use super::presence::{self, listed};
use super::problem::{add_force, balance, factor_p, fill_columns, fill_h, fill_pair, fill_pivots, nth};
use super::refit::Loosen;
use super::status::{Accuracy, Coded, Status, is_relaxed};
use super::structure::Structure;
use super::vector::scale;

/// The solve by the structure's friction law as a program's stages. It leaves δ, η and the report in the working
/// memory.
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
    /// Runs the solve: in single precision if that is the program's and the
    /// [structure](Structure::has_single_precision) has it.
    pub(crate) fn run(self, group: &mut Group) {
        by_dimension!(self.structure, N => self.run_in::<N>(group));
    }

    fn run_in<const N: usize>(self, group: &mut Group) {
        let Self { structure, at, .. } = self;
        let relaxed = |phase: Phase, group: &mut Group| {
            let stage = Relaxed::<N> { of: self, phase };
            // What is not used is not compiled.
            if const { N == SLIDING } { group.run_in_either(&stage) } else { group.run(&stage) }
        };
        match structure.friction {
            Friction::Relaxed => relaxed(Phase::First, group),
            Friction::Coulomb => {
                group.run(&Coulomb::<N> { of: self, phase: Phase::First });
                relaxed(Phase::Relaxed, group);
                relaxed(Phase::Opened, group);
                group.run(&Coulomb::<N> { of: self, phase: Phase::Again });
            }
        }
        group.run_in_either(&Loosen { structure, at, status: Status::Infeasible });
        relaxed(Phase::Frictionless, group);
    }
}

/// The Newton iteration for the relaxed law: of all worlds; of those that Coulomb's law has not settled, and again with
/// their gaps opened; or, without friction, of those that have no solution with it.
struct Relaxed<'a, const N: usize> {
    of: Solve<'a>,
    phase: Phase,
}

impl<const N: usize> Stage for Relaxed<'_, N> {
    const EIGHT: bool = has_eight(N);

    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let Solve { structure, at, max_iterations, warm, accuracy } = self.of;
        let (problem, mut work) = at.of(memory);
        let worlds = match self.phase {
            Phase::First => R::Mask::splat(true),
            Phase::Relaxed | Phase::Again => is_relaxed(work.info[STATUS]),
            Phase::Opened => is_relaxed(work.kept_info[STATUS]),
            Phase::Frictionless => Status::Infeasible.is(work.info[STATUS]),
        };
        let warm = warm && self.phase != Phase::Frictionless;
        log::open(self.phase, &mut work);
        when!(worlds, &mut work, |work| {
            let opens = self.phase == Phase::Opened;
            let (mut worlds, mut accuracy) = (worlds, accuracy);
            if opens {
                coulomb::keep_where::<R, N>(worlds, structure, &problem, work);
                worlds = is_relaxed(work.kept_info[STATUS]);
                accuracy = Accuracy::Rough;
            } else if self.phase != Phase::First {
                coulomb::put_aside(work);
            }
            barrier::solve::<R, N>(structure, &problem, max_iterations, (worlds, warm, accuracy, opens), work);
            match self.phase {
                Phase::Opened => coulomb::opened(worlds, work),
                Phase::Frictionless => coulomb::loosened(worlds, work),
                _ => {}
            }
        });
    }
}

/// The iteration for Coulomb's law; again after the relaxed solve with opened gaps, from its answer.
struct Coulomb<'a, const N: usize> {
    of: Solve<'a>,
    phase: Phase,
}

impl<const N: usize> Stage for Coulomb<'_, N> {
    const EIGHT: bool = has_eight(N);

    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let Solve { structure, at, max_iterations, warm, .. } = self.of;
        let (problem, mut work) = at.of(memory);
        log::open(self.phase, &mut work);
        let again = self.phase == Phase::Again;
        coulomb::solve::<R, N>(structure, &problem, max_iterations, (warm, again), &mut work);
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
        presence::find(s, (problem.near, problem.contacts), (work.presence, work.list));
        fill_pivots(s, problem.p, work.pivot);
        factor_p(s, problem.p, work.pivot, work.factor_p);
        by_dimension!(s, N => {
            fill_columns::<R, N>(s, &problem, work.list, work.columns.as_chunks_mut().0);
            balance::<R, N>(s, &problem, &mut work);
        });
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
        if !self.solved {
            presence::find(s, (problem.near, problem.contacts), (work.presence, work.list));
        }
        by_dimension!(s, N => {
            let columns = work.columns.as_chunks_mut::<N>().0;
            if !self.solved {
                fill_columns(s, &problem, work.list, columns);
            }
            if s.friction.is_symmetric() {
                fill_h(s, &problem, (work.list, columns), (work.eta, work.delta), work.h);
            } else {
                let relaxed = is_relaxed(work.info[STATUS]);
                fill_pair(s, &problem, (work.list, columns), (work.eta, work.delta, relaxed), (work.h, work.upper));
            }
        });
        if s.friction.is_symmetric() {
            s.factor_h.factor(work.h);
        } else {
            s.factor_h.factor_pair_leading(work.h, work.upper, s.nv);
        }
    }
}

/// The solve's adjoint, after [`Factor`]: from the gradients of the results to those of the operands; zeros in worlds
/// without a solution.
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
        let [memory, force, limit, y, screws, contacts, gammas, p, gaps, kappa] = parts(
            memory,
            [
                &(0..self.at.work.end()),
                &of.force,
                &of.limit,
                &of.y,
                &of.screws,
                &of.contacts,
                &of.gammas,
                &of.p,
                &of.gaps,
                &of.kappa,
            ],
        );
        let (problem, mut work) = self.at.of(memory);
        let keep = Status::Infeasible.is_after(work.info[STATUS]);
        let mut gradients = Gradients { force, limit, y, screws, contacts, gammas, p, gaps, kappa };
        by_dimension!(self.structure, N => {
            adjoint::vjp::<R, N>(self.structure, &problem, &mut work, keep, &mut gradients);
        });
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
        cones!(s, problem.gaps, cone => {
            let (eta, u) = (cone.own(&work.eta[s.n_force()..]), cone.at(work.delta));
            cone.put(work.limit_step, cone.by_kappa(problem.kappa, eta, u));
        });
        clear(work.delta);
        by_dimension!(s, N => {
            let columns = work.columns.as_chunks::<N>().0;
            for (i, contact) in listed(work.list, s.contacts.iter().enumerate()) {
                when!(problem.cone::<N>(i).is_there(), &mut *work.delta, |delta| {
                    add_force(contact, columns, scale(-R::one(), nth(work.eta, i)), delta);
                });
            }
        });
        cones!(s, problem.gaps, cone => { cone.on.push(cone.own(work.limit_step), work.delta) });
        s.factor_h.solve_leading(s.factors(work.h, work.upper), work.delta, s.nv);
        let keep = Status::Infeasible.is_after(work.info[STATUS]);
        for x in work.delta.iter_mut() {
            *x = R::select(keep.and(x.is_finite()), *x, R::zero());
        }
    }
}
