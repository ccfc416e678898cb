//! The working memory of a step and of its adjoint.

use std::ops::Range;

use crate::contact::kernels::{PULL, PairKernels};
pub(super) use crate::contact::numbers::GEOMETRY;
use crate::kinematics::{FrameGradients, FrameNumbers, FrameTables, SCREW};
use crate::solve::{self, CONTACT_OPERAND, Operands, Structure, Work};
use fingertip_lanes::layout;

use super::super::operands::ContactTables;
use super::super::problem::ProblemTables;
use super::super::rolling::RollingTables;

layout! {
    /// A step's numbers except for the solver's own.
    pub(super) struct Numbers {
        q,
        u,
        par,
        bodies,
        /// Poses of the frames, screws.
        kin,
        /// Normal, points and φ of each contact.
        geometry,
        /// Each contact's part of its pair's barrier; nothing where that is 1 for all.
        share,
        /// Normal, closest points and φ of each convex pair's shapes, laid out as `geometry`.
        nearest,
        contacts,
        /// The coefficient of torsional friction of each contact, if there are any.
        gammas,
        /// Which groups of contacts are near: see [`solve::present`].
        near,
        /// A ball around each shape, or nothing where no pair is passed over.
        balls,
        motion,
        p,
        /// Rolling stiffness to be added to P's entries: see `RollingTables::fill`.
        rolling,
        /// The linear term g of the contact problem (nv), in elimination order.
        g,
        /// The barrier parameter κ; NaN where q is not usable.
        kappa,
        gaps,
        warm,
        /// 1 where q is usable, else 0.
        usable,
        q_next,
        /// The step's displacement δ (nv), in the order of v.
        delta,
        /// The next velocity v₊ (nv). It and `extra` are numbers of the second-order step only.
        v_next,
        extra,
        /// Force on B of each contact, in world axes, then the torques about their normals of those that resist
        /// turning.
        force,
    }
}

layout! {
    /// Gradients that the adjoint of a step works with.
    pub(super) struct Gradients {
        /// Gradient of q₊ that the adjoint is given, the first of those of the results: up to `share`.
        q_next,
        delta,
        v_next,
        force,
        limit,
        geometry,
        share,
        /// Gradient of q, the first of the gradients that the adjoint computes for operands and intermediate numbers.
        q,
        u,
        par,
        kin,
        contacts,
        gammas,
        motion,
        p,
        /// y of the solve's adjoint, in the order of elimination.
        y,
        gaps,
        kappa,
        wrenches,
        /// Gradient of q through the retraction q ⊕ δ alone; `through_delta` is that of δ.
        through_q,
        through_delta,
        /// Force and moment on each shape.
        shapes,
        /// Adjoint sweep of a rollout: the gradient of q₊ that later steps pass on. `par_sum` sums the parameters'
        /// gradients over steps.
        carry,
        par_sum,
        /// Gradients of the second-order step's extra numbers.
        extra,
    }
}

/// Offsets of all numbers of a step, its solve and their gradients in a world's working memory.
#[derive(Clone, Debug)]
pub(super) struct Places {
    pub(super) numbers: Numbers<Range<usize>>,
    pub(super) gradients: Gradients<Range<usize>>,
    pub(super) frames: FrameNumbers<Range<usize>>,
    pub(super) frame_gradients: FrameGradients<Range<usize>>,
    pub(super) solve: solve::Places,
    pub(super) solve_gradients: solve::Gradients<Range<usize>>,
}

/// A step's working memory, split into its numbers and the solver's.
pub(super) struct Memory<'a, R> {
    pub(super) numbers: Numbers<&'a mut [R]>,
    pub(super) work: Work<&'a mut [R]>,
}

impl Places {
    /// Lays out a step's memory. `extra` has the lengths of a second-order step's further numbers and gradients.
    pub(super) fn new(
        [nq, nu]: [usize; 2],
        s: &Structure,
        frames: &FrameTables,
        pairs: &PairKernels,
        contacts: &ContactTables,
        (problem, rolling): (&ProblemTables, &RollingTables),
        extra: Option<[usize; 2]>,
    ) -> Self {
        let n_velocities = if extra.is_some() { s.nv } else { 0 };
        let [n_extra, n_extra_gradients] = extra.unwrap_or_default();
        let (nc, at) = (s.nc(), &problem.at);
        let sizes = Numbers {
            q: nq,
            u: nu,
            par: at.n,
            bodies: frames.n_bodies(),
            kin: frames.n_outputs(),
            geometry: GEOMETRY * nc,
            share: pairs.n_weights,
            nearest: GEOMETRY * pairs.n_convex,
            contacts: CONTACT_OPERAND * nc,
            gammas: s.n_gammas(),
            near: solve::n_groups(s),
            balls: if solve::n_groups(s) > 0 { pairs.n_balls() } else { 0 },
            motion: problem.n_motions(),
            p: s.np(),
            rolling: rolling.stiffened.entries.len(),
            g: s.nv,
            kappa: 1,
            gaps: s.n_gaps(),
            warm: s.n_eta(),
            usable: 1,
            q_next: nq,
            delta: s.nv,
            v_next: n_velocities,
            extra: n_extra,
            force: contacts.torsion.n_forces(),
        };
        let numbers = sizes.clone().from(0);
        let work = Work::sizes(s).from(numbers.end());
        let gradient_sizes = Gradients {
            q_next: nq,
            delta: s.nv,
            v_next: n_velocities,
            force: s.n_force(),
            limit: s.nl(),
            geometry: sizes.geometry,
            share: pairs.n_weights,
            q: nq,
            u: nu,
            par: at.n,
            kin: sizes.kin,
            contacts: sizes.contacts,
            gammas: sizes.gammas,
            motion: sizes.motion,
            p: sizes.p,
            y: s.nv,
            gaps: sizes.gaps,
            kappa: 1,
            wrenches: frames.n_wrenches(),
            through_q: nq,
            through_delta: s.nv,
            shapes: PULL * pairs.n_shapes,
            carry: nq,
            par_sum: at.n,
            extra: n_extra_gradients,
        };
        let gradients = gradient_sizes.from(work.end());
        let offsets = |par: &Range<usize>| par.start + at.offsets..par.start + at.offsets + frames.n_offsets();
        let screws = |kin: &Range<usize>| kin.end - SCREW * s.ns..kin.end;
        Self {
            frames: FrameNumbers {
                q: numbers.q.clone(),
                offsets: offsets(&numbers.par),
                bodies: numbers.bodies.clone(),
                result: numbers.kin.clone(),
            },
            frame_gradients: FrameGradients {
                result: gradients.kin.clone(),
                wrenches: gradients.wrenches.clone(),
                q: gradients.q.clone(),
                offsets: offsets(&gradients.par),
            },
            solve: solve::Places {
                operands: Operands {
                    screws: screws(&numbers.kin),
                    contacts: numbers.contacts.clone(),
                    gammas: numbers.gammas.clone(),
                    near: numbers.near.clone(),
                    p: numbers.p.clone(),
                    g: numbers.g.clone(),
                    kappa: numbers.kappa.clone(),
                    gaps: numbers.gaps.clone(),
                    warm: numbers.warm.clone(),
                },
                work,
            },
            solve_gradients: solve::Gradients {
                force: gradients.force.clone(),
                limit: gradients.limit.clone(),
                y: gradients.y.clone(),
                screws: screws(&gradients.kin),
                contacts: gradients.contacts.clone(),
                gammas: gradients.gammas.clone(),
                p: gradients.p.clone(),
                gaps: gradients.gaps.clone(),
                kappa: gradients.kappa.clone(),
            },
            numbers,
            gradients,
        }
    }

    /// Splits a world's memory into the step's parts; returns the rest too.
    #[inline(always)]
    pub(super) fn memory<'a, R>(&self, memory: &'a mut [R]) -> (Memory<'a, R>, &'a mut [R]) {
        let (numbers, rest) = self.numbers.cut(memory);
        let (work, rest) = self.solve.work.cut(rest);
        (Memory { numbers, work }, rest)
    }

    /// Splits a world's memory into the parts of the step and of its adjoint.
    #[inline(always)]
    pub(super) fn both<'a, R>(&self, memory: &'a mut [R]) -> (Memory<'a, R>, Gradients<&'a mut [R]>) {
        let (memory, rest) = self.memory(memory);
        (memory, self.gradients.cut(rest).0)
    }
}
