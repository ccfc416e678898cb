//! The numbers that describe contacts in kernels.

/// Numbers of a contact's geometry: normal (A to B), witness point on A, on B, φ.
pub(crate) const GEOMETRY: usize = 10;

/// Numbers of a contact's geometry and weight.
pub(crate) const WEIGHTED_GEOMETRY: usize = GEOMETRY + 1;

/// The φ of an unused contact, m: one that the pair has room for but does not need at this configuration. It has no
/// effect.
pub const UNUSED: f64 = 1e3;

/// Rates of a pair's contacts: first, whose motion they are by; then six for each number of each contact: its normal, point on A, point on
/// B, φ and weight.
pub(crate) const OWN_RATES: usize = 66;
