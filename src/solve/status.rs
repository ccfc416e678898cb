//! How near a solve has to come, and how it ends.

use crate::math::lane::{Mask, Real};

/// How near to its minimiser a method has to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Accuracy {
    /// To about 1e-5 of the forces, or of what else is sought: enough to compare by, or to see which constraints are active.
    Rough,
    /// About as near as rounding allows.
    Fine,
}

/// How a world's solve ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The minimiser was found: the relative residual is 1e-8 at most, 1e-3 in single precision.
    Solved,
    /// The iteration limit, or what rounding allows, came first: the residual says how far from the minimiser. δ and λ are
    /// the last iterate, inside the cones to rounding; zero where the iteration left those or the range of its numbers.
    ///
    /// A force λ that slides by a length s is inside its cone by about 2/(κ s λ) of its size. From κ s λ of 5 × 10¹⁴ on numbers in
    /// double precision cannot tell it from one outside, nor the stiffness across the slip: the answer is hard contact's, its
    /// derivatives are not to be trusted, and the residual is 1.
    IterationLimit,
    /// The iteration for Coulomb's law did not end: δ and λ are those of the relaxed law. Scenes of the relaxed law never have this
    /// status.
    Unsettled,
    /// No δ satisfies the contacts and limits, or none within reach: δ = 0 and λ = 0.
    Infeasible,
    /// A number of the problem is NaN or out of its range (any number beyond 1e30; κ, μ, P): δ = 0 and λ = 0.
    BadInput,
}

impl Status {
    /// As results of a kernel spell it.
    pub(crate) fn code(self) -> f64 {
        match self {
            Self::Solved => 0.0,
            Self::IterationLimit => 1.0,
            Self::Unsettled => 2.0,
            Self::Infeasible => 3.0,
            Self::BadInput => 4.0,
        }
    }

    /// The opposite of [`Status::code`].
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
