//! The log of a solve: for each iteration what was tried, and the iterate that it led to.
//!
//! Room for it is behind the rest of the solve's working memory, and only where a solve is to be logged. It is divided
//! among the [phases](Phase) of a solve; each iteration of a phase takes the next row of its part. Only a lane of one
//! world has a log.

use fingertip_lanes::lane::{Lane, Real, clear, copy};
use fingertip_lanes::program::{Group, Stage};
use fingertip_lanes::rows::{Output, Rows};
use fingertip_scene::Friction;

use super::contact_state::ContactState;
use super::forces::put_forces;
use super::kinds::by_dimension;
use super::memory::{Places, RESIDUAL, STATUS, Work};
use super::newton;
use super::optimality::residual;
use super::problem::nth;
use super::refit::refit;
use super::status::{Coded, Status};
use super::structure::Structure;

/// The way in which an iteration of a solve looks for the solution. Coulomb's law has those from [`Attempt::AtOnce`]
/// on: a world that has no answer by one makes the next. All but the first begin with friction that is as stiff as
/// normal forces, and go on from each answer to stiffer friction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// The relaxed law: a primal-dual step towards the central path.
    PrimalDual,
    /// The relaxed law: a step of Newton's method on the dual function.
    Newton,
    /// A step for a smaller κ, which rises: the world has started again.
    Restart,
    /// Coulomb's law with friction at once as stiff as it is: from given forces, or from soft forces of each contact
    /// alone.
    AtOnce,
    /// Coulomb's law from harder forces of each contact alone.
    Hard,
    /// Coulomb's law from the softest forces, with more careful steps.
    Careful,
    /// Coulomb's law from where the relaxed law's answers lead that have their gaps opened by the slips in them.
    FromRelaxed,
}

impl Attempt {
    const ALL: [Self; 7] =
        [Self::PrimalDual, Self::Newton, Self::Restart, Self::AtOnce, Self::Hard, Self::Careful, Self::FromRelaxed];

    /// The name that the command line prints.
    pub fn name(self) -> &'static str {
        match self {
            Self::PrimalDual => "primal_dual",
            Self::Newton => "newton",
            Self::Restart => "restart",
            Self::AtOnce => "at_once",
            Self::Hard => "hard",
            Self::Careful => "careful",
            Self::FromRelaxed => "from_relaxed",
        }
    }

    fn from_code(code: f64) -> Option<Self> {
        Self::ALL.into_iter().find(|attempt| attempt.code() == code)
    }
}

impl Coded for Attempt {
    /// From 1 up: a log's rows that no iteration has taken have 0.
    #[inline(always)]
    fn code(self) -> f64 {
        f64::from(self as u8) + 1.0
    }
}

/// A part of a solve, with iterations of its own. Most worlds need only the first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The solve by the scene's law.
    First,
    /// By the relaxed law, where Coulomb's has no answer.
    Relaxed,
    /// By the relaxed law with gaps that open by the slips, from that answer.
    Opened,
    /// By Coulomb's law from that answer.
    Again,
    /// Without friction, where there is no answer with it.
    Frictionless,
}

impl Phase {
    const ALL: [Self; 5] = [Self::First, Self::Relaxed, Self::Opened, Self::Again, Self::Frictionless];

    /// The friction law of this phase, if there is friction.
    fn friction(self, s: &Structure) -> Option<Friction> {
        match self {
            Self::First | Self::Opened | Self::Again => Some(s.friction),
            Self::Relaxed => Some(Friction::Relaxed),
            Self::Frictionless => None,
        }
    }

    /// A status with which [`refit`] gives contacts the coefficients of this phase.
    fn status(self) -> Status {
        match self {
            Self::First | Self::Relaxed | Self::Opened | Self::Again => Status::Solved,
            Self::Frictionless => Status::Frictionless,
        }
    }
}

/// Numbers of a log's row before δ and η: the code of the attempt, the step's length, and the error before the step.
const HEAD: usize = 3;

fn width(s: &Structure) -> usize {
    HEAD + s.nv + s.n_eta()
}

/// Length of the log of a solve in which each phase has so many iterations at most.
pub(crate) fn length(s: &Structure, max_iterations: usize) -> usize {
    Phase::ALL.len() * max_iterations * width(s)
}

/// Opens a phase's part of the log; the first phase empties all of it.
#[inline(always)]
pub(super) fn open<R: Real>(phase: Phase, work: &mut Work<&mut [R]>) {
    let all = std::mem::take(&mut work.log);
    if phase == Phase::First {
        clear(all);
    }
    let part = all.len() / Phase::ALL.len();
    work.log = &mut all[phase as usize * part..][..part];
}

/// Writes an iteration to the log, if there is one, after its step.
#[inline(always)]
pub(super) fn note<R: Real, const N: usize>(s: &Structure, head: [R; HEAD], work: &mut Work<&mut [R]>) {
    let (nv, n_eta) = (work.delta.len(), work.eta.len());
    if work.log.len() < HEAD + nv + n_eta {
        return;
    }
    let (row, rest) = std::mem::take(&mut work.log).split_at_mut(HEAD + nv + n_eta);
    work.log = rest;
    copy(&mut row[..HEAD], &head);
    copy(&mut row[HEAD..HEAD + nv], work.delta);
    let (contacts, limits) = row[HEAD + nv..].split_at_mut(n_eta - work.limit_force.len());
    clear(contacts);
    put_forces(s, (work.presence, work.list), ContactState::<R, N>::of(work.contact_states), contacts);
    copy(limits, work.limit_force);
}

/// The iterations of one phase.
pub(crate) struct Logged {
    /// The friction law that the phase solves by, if with friction.
    pub(crate) friction: Option<Friction>,
    /// Each iteration's attempt, the length of its step, and the error before it.
    pub(crate) heads: Vec<(Attempt, f64, f64)>,
    phase: Phase,
    /// δ in elimination order and η after each.
    iterates: Rows<'static>,
}

impl Logged {
    /// The phases with iterations, in the order in which they are solved, from a log's numbers.
    pub(crate) fn of(s: &Structure, log: &[f64]) -> Vec<Self> {
        let width = width(s);
        let parts = log.chunks(log.len().div_ceil(Phase::ALL.len()).max(1));
        let phases = Phase::ALL.into_iter().zip(parts).map(|(phase, part)| {
            let rows = part.chunks_exact(width).map_while(|row| Some((Attempt::from_code(row[0])?, row)));
            let (mut heads, mut iterates) = (Vec::new(), Vec::new());
            for (attempt, row) in rows {
                heads.push((attempt, row[1], row[2]));
                iterates.extend(&row[HEAD..]);
            }
            let iterates = Rows::of_worlds_of(iterates, heads.len(), width - HEAD);
            Self { friction: phase.friction(s), heads, phase, iterates }
        });
        phases.filter(|phase| !phase.heads.is_empty()).collect()
    }

    /// Puts the iterates, one per world, into the working memory as if they were solutions, each with its residual in
    /// the report.
    pub(crate) fn recall(&self, s: &Structure, at: &Places, group: &mut Group) {
        group.run(&Recall { s, at, of: self });
        refit(s, at, group);
        group.run(&Judge { s, at, law: self.friction.unwrap_or_default() });
    }
}

/// Loads δ, η, and the status that belongs to the phase.
struct Recall<'a> {
    s: &'a Structure,
    at: &'a Places,
    of: &'a Logged,
}

impl Stage for Recall<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, memory: &mut [R], _: &mut Output) {
        let work = self.at.of(memory).1;
        self.of.iterates.load_all(first, 0, work.delta);
        self.of.iterates.load_all(first, self.s.nv, work.eta);
        work.info[STATUS] = self.of.phase.status().everywhere();
    }
}

/// Writes the residual of the δ and η in memory.
struct Judge<'a> {
    s: &'a Structure,
    at: &'a Places,
    law: Friction,
}

impl Stage for Judge<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let (problem, mut work) = self.at.of(memory);
        by_dimension!(self.s, N => {
            newton::set_up::<R, N>(self.s, &problem, &mut work);
            let (contacts, limits) = work.eta.split_at(self.s.n_force());
            for (i, state) in ContactState::<R, N>::of(work.contact_states).iter_mut().enumerate() {
                state.eta = nth(contacts, i);
            }
            copy(work.limit_force, limits);
            work.info[RESIDUAL] = residual::<R, N>(self.s, &problem, self.law, &mut work);
        });
    }
}
