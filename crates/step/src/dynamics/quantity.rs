//! The quantities that [`super::Dynamics`] computes: their operands, their results, and the working memory on the way.

use std::ops::Range;

use crate::kinematics::{FrameGradients, FrameNumbers};

use super::derivatives;
use super::links::Links;
use super::{aba, rnea};

/// A function of the configuration q, further numbers of the state, gravity, inertias and offsets. Rows are in the
/// units of [`super::Dynamics`]; matrices are (nv, nv), row by row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Quantity {
    /// (v, a) → τ.
    InverseDynamics,
    /// v → b, which is τ at a = 0.
    Bias,
    /// () → τ at v = a = 0.
    Gravity,
    /// (v, τ) → a.
    ForwardDynamics,
    /// () → M.
    MassMatrix,
    /// () → M⁻¹.
    InverseMassMatrix,
    /// v → kinetic and potential energy.
    Energy,
    /// () → centre of mass.
    CentreOfMass,
    /// (v, a) → τ, ∂τ/∂q, ∂τ/∂v, M. Without gradient.
    InverseDynamicsDerivatives,
    /// (v, τ) → a, ∂a/∂q, ∂a/∂v, M⁻¹. Without gradient.
    ForwardDynamicsDerivatives,
}

impl Quantity {
    /// The quantity's name in messages and in printed code.
    pub fn name(self) -> &'static str {
        match self {
            Self::InverseDynamics => "inverse_dynamics",
            Self::Bias => "bias",
            Self::Gravity => "gravity",
            Self::ForwardDynamics => "forward_dynamics",
            Self::MassMatrix => "mass_matrix",
            Self::InverseMassMatrix => "inverse_mass_matrix",
            Self::Energy => "energy",
            Self::CentreOfMass => "centre_of_mass",
            Self::InverseDynamicsDerivatives => "inverse_dynamics_derivatives",
            Self::ForwardDynamicsDerivatives => "forward_dynamics_derivatives",
        }
    }

    /// The number of state inputs behind q: v, a or τ.
    pub(super) fn n_inputs(self, links: &Links) -> usize {
        match self {
            Self::InverseDynamics
            | Self::ForwardDynamics
            | Self::InverseDynamicsDerivatives
            | Self::ForwardDynamicsDerivatives => 2 * links.nv,
            Self::Bias | Self::Energy => links.nv,
            Self::Gravity | Self::MassMatrix | Self::InverseMassMatrix | Self::CentreOfMass => 0,
        }
    }

    /// The length of the result.
    pub(super) fn n_outputs(self, links: &Links) -> usize {
        let n = links.nv;
        match self {
            Self::InverseDynamics | Self::Bias | Self::Gravity | Self::ForwardDynamics => n,
            Self::MassMatrix | Self::InverseMassMatrix => n * n,
            Self::Energy => 2,
            Self::CentreOfMass => 3,
            Self::InverseDynamicsDerivatives | Self::ForwardDynamicsDerivatives => n + 3 * n * n,
        }
    }

    fn has_rows(self) -> bool {
        matches!(self, Self::InverseDynamicsDerivatives | Self::ForwardDynamicsDerivatives | Self::InverseMassMatrix)
    }
}

/// Offsets of all operands, intermediate numbers and results in the working memory of a world.
#[derive(Debug)]
pub(super) struct Places {
    /// The state: q, then the quantity's inputs.
    pub(super) state: Range<usize>,
    pub(super) v: Range<usize>,
    /// The quantity's last input: a or τ.
    pub(super) input: Range<usize>,
    pub(super) parameters: Range<usize>,
    /// The result: poses of bodies with mass, and screws.
    pub(super) frames: FrameNumbers<Range<usize>>,
    pub(super) inertias: Range<usize>,
    /// Velocities V, accelerations A and forces F of the links, six numbers each.
    pub(super) motion: Range<usize>,
    pub(super) composites: Range<usize>,
    /// M in its pattern, or its factor.
    pub(super) m: Range<usize>,
    /// Vectors in the order of v.
    pub(super) a: Range<usize>,
    pub(super) tau: Range<usize>,
    pub(super) y: Range<usize>,
    pub(super) spare: Range<usize>,
    /// Square matrices.
    pub(super) by_q: Range<usize>,
    pub(super) by_v: Range<usize>,
    /// The result, or its gradient.
    pub(super) result: Range<usize>,
    /// Gradients, in the order in which they are given out; offsets of frames included.
    pub(super) grad_state: Range<usize>,
    pub(super) grad_parameters: Range<usize>,
    pub(super) grad_frames: FrameGradients<Range<usize>>,
    pub(super) grad_inertias: Range<usize>,
    pub(super) work: Range<usize>,
}

impl Places {
    /// The places for a quantity or, if `adjoint`, its gradients.
    pub(super) fn new(links: &Links, quantity: Quantity, adjoint: bool) -> Self {
        let (n, frames, n_links) = (links.nv, &links.frames, links.n());
        let n_state = links.nq + quantity.n_inputs(links);
        let mut next = 0;
        let mut take = |n: usize| {
            next += n;
            next - n..next
        };
        let square = if quantity.has_rows() { n * n } else { 0 };
        let back = |n: usize| if adjoint { n } else { 0 };
        let work = [
            aba::n_work(links),
            derivatives::n_work(links),
            back(rnea::n_motion(links)),
            back(links.n_inertias()),
            back(12 * n_links),
        ];
        let state = take(n_state);
        let grad_state = take(back(n_state));
        Self {
            grad_parameters: take(back(links.n_parameters())),
            grad_frames: FrameGradients {
                q: grad_state.start..grad_state.start + back(links.nq),
                offsets: take(back(frames.n_offsets())),
                result: take(back(links.n_placed())),
                wrenches: take(back(frames.n_wrenches())),
            },
            grad_state,
            grad_inertias: take(back(links.n_inertias())),
            v: links.nq..(links.nq + n).min(n_state),
            input: (links.nq + n).min(n_state)..n_state,
            state,
            parameters: take(links.n_parameters()),
            frames: FrameNumbers {
                q: 0..links.nq,
                offsets: take(frames.n_offsets()),
                bodies: take(frames.n_bodies()),
                result: take(links.n_placed()),
            },
            inertias: take(links.n_inertias()),
            motion: take(rnea::n_motion(links)),
            composites: take(links.n_inertias()),
            m: take(links.pattern.n_entries()),
            a: take(n),
            tau: take(n),
            y: take(n),
            spare: take(n),
            by_q: take(square),
            by_v: take(square),
            result: take(quantity.n_outputs(links)),
            work: take(work.into_iter().max().unwrap_or(0)),
        }
    }

    /// The total length of the working memory.
    pub(super) fn len(&self) -> usize {
        self.work.end
    }
}
