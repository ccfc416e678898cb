//! Bounds on how fast gaps may close in a second-order step: the right-hand side l of the contact constraint J v₊ ≥ l.

/// The bound l of the non-penetration constraint J v₊ ≥ l: how fast a contact's gap may close.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// l = −max(φ, 0)/h − β min(φ, 0)/h: a gap may close within the step, and a share β of a penetration is pushed out
    /// (Baumgarte's stabilisation).
    Gap {
        /// β, from 0 (a penetration stays) to 1 (all of it is pushed out in one step, which leaves that velocity);
        /// usually 0.1 … 0.3.
        beta: f64,
    },
    /// l = 0 for contacts with φ up to a margin, m; no bound for others. The rest of the gap stays open, and positions
    /// are not corrected.
    Velocity {
        /// The margin, usually 1e-4 … 1e-3 m; with less than v h, bodies sink in.
        margin: f64,
    },
}

impl Bound {
    /// The distance up to which contacts have weight, if the bound has a margin.
    #[inline(always)]
    pub(super) fn margin(self) -> Option<f64> {
        match self {
            Self::Velocity { margin } => Some(margin),
            Self::Gap { .. } => None,
        }
    }

    /// The factors [a, b] by which a contact's gap φ enters its bound l: −h l = a φ where φ ≥ 0, and b φ where the
    /// bodies penetrate.
    #[inline(always)]
    pub(super) fn contact_slopes(self) -> [f64; 2] {
        match self {
            Self::Gap { beta } => [1.0, beta],
            Self::Velocity { .. } => [0.0, 0.0],
        }
    }

    /// The factors [a, b] by which a joint limit's gap φ enters its bound l: −h l = a φ where φ ≥ 0, and b φ where the
    /// limit is exceeded.
    #[inline(always)]
    pub(super) fn limit_slopes(self) -> [f64; 2] {
        match self {
            Self::Gap { beta } => [1.0, beta],
            Self::Velocity { .. } => [1.0, 0.0],
        }
    }
}
