//! The mass matrix M and the bias force b inside a larger program: stages on its working memory, and their adjoints.

use std::ops::Range;
use std::sync::Arc;

use crate::kinematics::{FrameGradients, FrameNumbers};
use fingertip_lanes::lane::Real;
use fingertip_lanes::layout;
use fingertip_lanes::program::Group;

use super::links::{INERTIA, Links};
use super::quantity::Places;
use super::stages::{InverseDynamics, MassMatrix, PlaceInertias, Stages};
use super::vjp::{PullInertias, PullInverseDynamics, PullMassMatrix};
use super::{crba, rnea};

layout! {
    /// Numbers of the embedded dynamics: operands, intermediate numbers and results.
    pub(crate) struct MassNumbers {
        /// Gravity, then the inertias of the bodies, ten numbers each: to be filled in.
        parameters,
        inertias,
        motion,
        composites,
        /// M in its pattern: see [`MassAndBias::entry`].
        m,
        /// b: Coriolis, centrifugal and gravity forces.
        bias,
    }
}

layout! {
    /// Gradients: those of M, row by row, and of b are to be filled in, the others to be cleared.
    pub(crate) struct MassGradients {
        parameters,
        inertias,
        m,
        bias,
        work,
    }
}

/// Numbers of the larger program that the dynamics read, or add gradients to.
pub(crate) struct State<'a> {
    /// Poses of the bodies of [`super::Dynamics::bodies`] with their own axes, then all screws.
    pub(crate) placed: &'a Range<usize>,
    /// Offset of the velocity v.
    pub(crate) v: &'a Range<usize>,
}

/// The mass matrix and the bias force of a forest whose frames the larger program has placed.
#[derive(Clone, Debug)]
pub(crate) struct MassAndBias {
    links: Arc<Links>,
    at: Arc<Places>,
}

/// An empty range, which stands for an acceleration of zero.
const NONE: Range<usize> = 0..0;

impl MassNumbers<usize> {
    pub(crate) fn sizes(links: &Links) -> Self {
        Self {
            parameters: links.n_parameters(),
            inertias: links.n_inertias(),
            motion: rnea::n_motion(links),
            composites: links.n_inertias(),
            m: links.pattern.n_entries(),
            bias: links.nv,
        }
    }
}

impl MassGradients<usize> {
    pub(crate) fn sizes(links: &Links) -> Self {
        Self {
            parameters: links.n_parameters(),
            inertias: links.n_inertias(),
            m: links.nv * links.nv,
            bias: links.nv,
            work: rnea::n_motion(links).max(INERTIA * links.n()),
        }
    }
}

impl MassAndBias {
    pub(crate) fn new(
        links: &Arc<Links>,
        (numbers, state): (&MassNumbers<Range<usize>>, State),
        (gradients, grad_state): (&MassGradients<Range<usize>>, State),
    ) -> Self {
        let at = Places {
            state: NONE,
            v: state.v.clone(),
            input: NONE,
            parameters: numbers.parameters.clone(),
            frames: FrameNumbers { q: NONE, offsets: NONE, bodies: NONE, result: state.placed.clone() },
            inertias: numbers.inertias.clone(),
            motion: numbers.motion.clone(),
            composites: numbers.composites.clone(),
            m: numbers.m.clone(),
            a: NONE,
            tau: numbers.bias.clone(),
            y: gradients.bias.clone(),
            spare: NONE,
            by_q: NONE,
            by_v: NONE,
            result: gradients.m.clone(),
            grad_state: grad_state.v.clone(),
            grad_parameters: gradients.parameters.clone(),
            grad_frames: FrameGradients { result: grad_state.placed.clone(), wrenches: NONE, q: NONE, offsets: NONE },
            grad_inertias: gradients.inertias.clone(),
            work: gradients.work.clone(),
        };
        Self { links: links.clone(), at: Arc::new(at) }
    }

    fn stages(&self) -> Stages<'_> {
        Stages { links: &self.links, at: &self.at }
    }

    /// Computes M and b from the frames and parameters in memory.
    pub(crate) fn run(&self, group: &mut Group) {
        let (of, at) = (self.stages(), &*self.at);
        group.run(&PlaceInertias(of));
        group.run(&MassMatrix(of));
        group.run(&InverseDynamics { of, a: &NONE, tau: &at.tau });
    }

    /// After [`MassAndBias::run`]: adds to the gradients of frames, v and parameters, given those of M and b; sets that
    /// of gravity.
    pub(crate) fn vjp(&self, group: &mut Group) {
        let (of, at) = (self.stages(), &*self.at);
        let grad_v = at.grad_state.clone();
        group.run(&PullInverseDynamics { of, a: &NONE, grad_tau: &at.y, grad_a: &NONE, grad_v });
        group.run(&PullMassMatrix(of));
        group.run(&PullInertias(of));
    }

    /// The place of M_ij, degrees of freedom that move one body, in its pattern.
    pub(crate) fn entry(&self, i: usize, j: usize) -> usize {
        let pattern = &self.links.pattern;
        let slot = |dof: usize| (0..pattern.n()).position(|slot| pattern.dof(slot) == dof).unwrap_or(0);
        pattern.at(slot(i), slot(j))
    }

    /// M, row by row, from its pattern.
    #[inline(always)]
    pub(crate) fn dense<R: Real>(&self, m: &[R], to: &mut [R]) {
        crba::dense(&self.links, m, to);
    }

    /// y ← M x.
    #[inline(always)]
    pub(crate) fn times<R: Real>(&self, m: &[R], x: &[R], y: &mut [R]) {
        crba::times(&self.links, m, x, y);
    }

    /// Adds to the gradients of M, row by row, and of x, given that of M x.
    #[inline(always)]
    pub(crate) fn vjp_times<R: Real>(&self, m: &[R], x: &[R], grad: &[R], grad_m: &mut [R], grad_x: &mut [R]) {
        crba::vjp_times(&self.links, m, x, grad, grad_m, grad_x);
    }
}
