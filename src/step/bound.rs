//! How fast contacts may close in a second-order step.

/// The bound l of the non-penetration constraint J v₊ ≥ l: how fast a contact's gap may close.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// l = −max(φ, 0)/h − β min(φ, 0)/h: a gap may close within the step, and the fraction β of a penetration is pushed
    /// out (Baumgarte's stabilisation).
    Gap {
        /// From 0 (a penetration stays) to 1 (all of it is pushed out in one step, with the velocity that this takes).
        /// Usually 0.1 … 0.3.
        beta: f64,
    },
    /// l = 0 for contacts with φ up to a margin, m. Other contacts have no bound. The gap that is left at contact stays
    /// open; positions are not corrected.
    Velocity {
        /// Usually 1e-4 … 1e-3 m. If it is less than v h, bodies sink in.
        margin: f64,
    },
}

impl Bound {
    /// The distance up to which contacts have weight, if the bound says so.
    #[inline(always)]
    pub(super) fn margin(self) -> Option<f64> {
        match self {
            Self::Velocity { margin } => Some(margin),
            Self::Gap { .. } => None,
        }
    }

    /// The part of a contact's gap, not negative and negative, that the step counts.
    #[inline(always)]
    pub(super) fn contact_slopes(self) -> [f64; 2] {
        match self {
            Self::Gap { beta } => [1.0, beta],
            Self::Velocity { .. } => [0.0, 0.0],
        }
    }

    /// The same of a limit's gap.
    #[inline(always)]
    pub(super) fn limit_slopes(self) -> [f64; 2] {
        match self {
            Self::Gap { beta } => [1.0, beta],
            Self::Velocity { .. } => [1.0, 0.0],
        }
    }
}
