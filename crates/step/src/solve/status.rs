//! The accuracy that is asked of a solve, and the outcomes that it can have.

use fingertip_lanes::lane::{Mask, Real};

/// The accuracy with which a solve approximates the minimiser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accuracy {
    /// To about 1e-5 of the forces, or of the other unknowns: enough to compare plans, or to see which constraints are
    /// active.
    Rough,
    /// About as close as rounding allows.
    Fine,
}

/// The outcome of one world's contact solve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The minimiser was found: the relative residual is at most [`Settings::tolerance`](super::Settings::tolerance),
    /// by default 1e-8. In single precision that is 1e-3 at least.
    Solved,
    /// The iteration reached its limit, or the limit of rounding, before it had converged. The residual says how far it
    /// is from the minimiser. δ and λ are the last iterate, which is inside the cones up to rounding. They are zero if
    /// the iteration left the cones or the range of numbers. In scenes with Coulomb's law this, too, is the relaxed
    /// law's iterate.
    ///
    /// A force λ that slides by a length s is inside its cone by about 2/(κ s λ) of its size. From κ s λ = 5 × 10¹⁴ on,
    /// double precision cannot tell it from a force outside, and cannot resolve the stiffness across the slip. The
    /// answer is then that of hard contact, its derivatives are not reliable, and the residual is 1.
    IterationLimit,
    /// The iteration for Coulomb's law found no answer by any [attempt](super::Attempt); δ and λ are those of the
    /// relaxed law. Scenes with the relaxed law never have this status.
    Unsettled,
    /// No δ satisfies the contacts with friction, as where a body has been pressed deep between two others; δ and λ are
    /// those of the relaxed law without friction, by which it gets out.
    Frictionless,
    /// No δ satisfies the contacts and limits, or none within reach, even without friction. δ = 0 and λ = 0.
    Infeasible,
    /// A number of the problem is NaN, beyond 1e30, or out of its range (κ, μ, P). δ = 0 and λ = 0.
    BadInput,
}

impl Status {
    const ALL: [Self; 6] =
        [Self::Solved, Self::IterationLimit, Self::Unsettled, Self::Frictionless, Self::Infeasible, Self::BadInput];

    /// The code in a kernel's results.
    pub(crate) fn code(self) -> f64 {
        f64::from(self as u8)
    }

    /// The status with this number in rows of reports: 0 solved and so on, in the order of the variants; any other
    /// number is bad input.
    pub fn from_code(code: f64) -> Self {
        Self::ALL.into_iter().find(|status| status.code() == code).unwrap_or(Self::BadInput)
    }

    /// The name that the command line prints.
    pub fn name(self) -> &'static str {
        match self {
            Self::Solved => "solved",
            Self::IterationLimit => "iteration_limit",
            Self::Unsettled => "unsettled",
            Self::Frictionless => "frictionless",
            Self::Infeasible => "infeasible",
            Self::BadInput => "bad_input",
        }
    }
}

/// The worlds in which a whole number is among those from the first to the last.
#[inline(always)]
pub(super) fn is_among<R: Real>([first, last]: [f64; 2], whole: R) -> R::Mask {
    whole.gt(R::splat(first - 0.5)).and(whole.lt(R::splat(last + 0.5)))
}

/// What stands in lanes as whole numbers, in the order of its variants.
pub(super) trait Coded: Copy {
    /// Its number.
    fn code(self) -> f64;

    /// Its number in every world.
    #[inline(always)]
    fn everywhere<R: Real>(self) -> R {
        R::splat(self.code())
    }

    /// The worlds whose number is this one.
    #[inline(always)]
    fn is<R: Real>(self, code: R) -> R::Mask {
        is_among([self.code(); 2], code)
    }

    /// The worlds whose number is of a variant before this one.
    #[inline(always)]
    fn is_after<R: Real>(self, code: R) -> R::Mask {
        code.lt(self.everywhere())
    }
}

impl Coded for Status {
    #[inline(always)]
    fn code(self) -> f64 {
        Self::code(self)
    }
}

/// The first and the last status under which the answer is that of the relaxed law although the scene's is Coulomb's.
/// That law's iteration may have reached its limit, too: Coulomb's own ends with an answer or without one. Without
/// friction both laws are one.
pub(super) const RELAXED: [Status; 2] = [Status::IterationLimit, Status::Frictionless];

/// Is the status among the [`RELAXED`] ones?
#[inline(always)]
pub(super) fn is_relaxed<R: Real>(status: R) -> R::Mask {
    let [first, last] = RELAXED;
    is_among([first.code(), last.code()], status)
}
