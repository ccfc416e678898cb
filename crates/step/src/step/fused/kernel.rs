//! The list of a step's programs (kernels), with their names in printed code.

#[cfg(any(feature = "native", feature = "cuda"))]
use std::{fmt, sync::Arc};

#[cfg(any(feature = "native", feature = "cuda"))]
use candle_core::Result;

use fingertip_lanes::lane::Precision;
#[cfg(any(feature = "native", feature = "cuda"))]
use fingertip_lanes::record::Trace;

/// A program of the step. The second-order step has [`Kernel::SECOND_ORDER`] of them, with v and τ in place of u.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kernel {
    /// (q, u, parameters) → the step's row.
    Step,
    /// (q, u, parameters, forces) → the same, with the solve started at given forces.
    WarmStep,
    /// (q, u, parameters, the step's row, gradient of its results) → gradients of q, u and the parameters.
    Adjoint,
    /// (q, u, parameters) → the step's row, A, B, C, D, the growth of H's factor.
    Jacobians,
    /// (q, u, parameters, forces) → the same, with the solve started at given forces.
    WarmJacobians,
    /// (q₀, u, parameters, forces) → q₁ … q_T, forces to start from, forces, gaps and reports of T steps under one
    /// command.
    Hold,
    /// [`Kernel::Hold`] with less accurate solves, each ending one or two Newton steps sooner: enough to compare
    /// commands.
    RoughHold,
    /// (q₀, u₀ … u_T₋₁, parameters) → q₀ … q_T, contact forces, limit forces and reports of T steps.
    Rollout,
    /// (q₀ … q_T, u₀ … u_T₋₁, parameters, forces, limit forces, reports, gradient of q₀ … q_T) → gradients of q₀, u and
    /// the parameters.
    RolloutAdjoint,
    /// (…, gradient of the contact forces) → gradients of each state, u and the parameters by the forces alone: those
    /// of the states go on to [`Kernel::RolloutAdjoint`].
    RolloutForceAdjoint,
}

impl Kernel {
    /// All kernels of the quasi-dynamic step.
    pub const ALL: [Self; 10] = [
        Self::Step,
        Self::WarmStep,
        Self::Adjoint,
        Self::Jacobians,
        Self::WarmJacobians,
        Self::Hold,
        Self::RoughHold,
        Self::Rollout,
        Self::RolloutAdjoint,
        Self::RolloutForceAdjoint,
    ];

    /// The kernels of the second-order step, [`Dynamic`](crate::step::Dynamic).
    pub const SECOND_ORDER: [Self; 3] = [Self::Step, Self::WarmStep, Self::Adjoint];

    /// The kernel's name in printed code.
    pub fn name(self) -> &'static str {
        match self {
            Self::Step => "step",
            Self::WarmStep => "step_from",
            Self::Adjoint => "adjoint",
            Self::Jacobians => "jacobians",
            Self::WarmJacobians => "jacobians_from",
            Self::Hold => "hold",
            Self::RoughHold => "rough_hold",
            Self::Rollout => "rollout",
            Self::RolloutAdjoint => "rollout_adjoint",
            Self::RolloutForceAdjoint => "rollout_force_adjoint",
        }
    }

    /// The kernel that does the same from given forces, if there is one. Given forces of zero it computes the same
    /// numbers.
    pub fn from_forces(self) -> Option<Self> {
        match self {
            Self::Step => Some(Self::WarmStep),
            Self::Jacobians => Some(Self::WarmJacobians),
            _ => None,
        }
    }

    /// Does the kernel read or write rows of many steps?
    pub fn has_steps(self) -> bool {
        matches!(self, Self::Hold | Self::RoughHold | Self::Rollout | Self::RolloutAdjoint | Self::RolloutForceAdjoint)
    }

    /// Does the kernel read a command for each step?
    pub fn has_commands(self) -> bool {
        matches!(self, Self::Rollout | Self::RolloutAdjoint | Self::RolloutForceAdjoint)
    }

    /// The precision that it computes in if this one is requested. Adjoints, Jacobians and the held steps of planners
    /// always compute in double precision.
    pub fn precision(self, wanted: Precision) -> Precision {
        match self {
            Self::Step | Self::WarmStep | Self::Rollout => wanted,
            Self::Adjoint
            | Self::Jacobians
            | Self::WarmJacobians
            | Self::Hold
            | Self::RoughHold
            | Self::RolloutAdjoint
            | Self::RolloutForceAdjoint => Precision::Double,
        }
    }
}

/// A function that records a kernel in a precision, for the compilers of native and GPU code.
#[cfg(any(feature = "native", feature = "cuda"))]
#[derive(Clone)]
pub(super) struct Recorder(pub(super) Arc<dyn Fn(Kernel, Precision) -> Result<Trace> + Send + Sync>);

#[cfg(any(feature = "native", feature = "cuda"))]
impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Recorder").finish_non_exhaustive()
    }
}
