//! The accuracy of a solve, and how it ended.

use crate::math::lane::{Mask, Real};

/// The accuracy that a method has to reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Accuracy {
    /// To about 1e-5 of the forces, or of the other unknowns: enough to compare solutions, or to see which constraints
    /// are active.
    Rough,
    /// About as accurate as rounding allows.
    Fine,
}

/// How a world's solve ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The minimiser was found. The relative residual is at most 1e-8, or 1e-3 in single precision.
    Solved,
    /// The solver reached its iteration limit, or the accuracy that rounding allows, before it found the minimiser. The
    /// residual says how far it was from it. δ and λ are the last iterate, which is inside the cones to rounding. They
    /// are zero if the iteration left the cones or the range of its numbers.
    ///
    /// A force λ that slides by a length s is inside its cone by about 2/(κ s λ) of its size. When κ s λ exceeds 5 ×
    /// 10¹⁴, double precision cannot tell such a force from one outside the cone, and it loses the stiffness across the
    /// slip. Then the answer is that of hard contact, its derivatives are not reliable, and the residual is 1.
    IterationLimit,
    /// The iteration for Coulomb's law did not converge. δ and λ are those of the relaxed law. Only scenes with
    /// Coulomb's law can have this status.
    Unsettled,
    /// No δ satisfies the contacts and limits, or none within reach. δ = 0 and λ = 0.
    Infeasible,
    /// A number of the problem is NaN or out of its range (any number beyond 1e30; also κ, μ and P). δ = 0 and λ = 0.
    BadInput,
}

impl Status {
    /// The number that stands for it in results of kernels.
    pub(crate) fn code(self) -> f64 {
        match self {
            Self::Solved => 0.0,
            Self::IterationLimit => 1.0,
            Self::Unsettled => 2.0,
            Self::Infeasible => 3.0,
            Self::BadInput => 4.0,
        }
    }

    /// The inverse of [`Status::code`].
    pub(crate) fn from_code(code: f64) -> Self {
        match code {
            0.0 => Self::Solved,
            1.0 => Self::IterationLimit,
            2.0 => Self::Unsettled,
            3.0 => Self::Infeasible,
            _ => Self::BadInput,
        }
    }

    /// The name that the command line prints.
    pub fn name(self) -> &'static str {
        match self {
            Self::Solved => "solved",
            Self::IterationLimit => "iteration_limit",
            Self::Unsettled => "unsettled",
            Self::Infeasible => "infeasible",
            Self::BadInput => "bad_input",
        }
    }
}

/// Does the status say that the answer is that of the relaxed law?
#[inline(always)]
pub(super) fn is_unsettled<R: Real>(status: R) -> R::Mask {
    let code = Status::Unsettled.code();
    status.gt(R::splat(code - 0.5)).and(status.lt(R::splat(code + 0.5)))
}
