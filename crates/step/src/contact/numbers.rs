//! The layout of contacts in kernels: how many numbers describe one.

/// The number of numbers of a contact's geometry: normal (from A to B), witness point on A, witness point on B, φ.
pub(crate) const GEOMETRY: usize = 10;

/// The number of numbers of a contact's geometry and its weight, which comes last.
pub(crate) const WEIGHTED_GEOMETRY: usize = GEOMETRY + 1;

/// The φ of an unused contact, m. A pair has room for contacts that it does not need at each configuration; those have no effect.
pub const UNUSED: f64 = 1e3;

/// The number of rates of one contact in a pair's Jacobian: six for each number of its normal, point on A, point on B, φ and
/// weight. A number before all contacts says which shape moves.
pub(crate) const OWN_RATES: usize = 66;
