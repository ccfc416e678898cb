//! The layout of contacts in kernels.

/// Places of a contact's numbers: its unit normal from A to B, the witness points on A and B, and the gap φ.
pub(crate) const NORMAL: usize = 0;
pub(crate) const POINT_A: usize = 3;
pub(crate) const POINT_B: usize = 6;
pub(crate) const PHI: usize = 9;

/// The number of numbers of a contact's geometry.
pub const GEOMETRY: usize = PHI + 1;

/// The number of numbers of a contact's geometry and its weight, which comes last.
pub const WEIGHTED_GEOMETRY: usize = GEOMETRY + 1;

/// The φ of an unused contact, m. A pair has room for contacts that it does not need at each configuration; those have
/// no effect.
pub const UNUSED: f64 = 1e3;

/// The number of rates of one contact in a pair's Jacobian: six for each number of its normal, point on A, point on B,
/// φ and weight. A number before all contacts says which shape moves.
pub const OWN_RATES: usize = 66;
