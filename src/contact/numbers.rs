//! The numbers of contacts, as kernels have them.

/// Numbers of a contact's geometry: normal (A to B), witness point on A, on B, φ.
pub(crate) const GEOMETRY: usize = 10;

/// Numbers of a contact's geometry and weight.
pub(crate) const WEIGHTED_GEOMETRY: usize = GEOMETRY + 1;

/// The φ of a contact that a pair has room for but not at this configuration, m; it takes no part in a step.
pub const UNUSED: f64 = 1e3;

/// Rates of a pair's contacts, six for each number: whose motion they are by, of the normal, which all contacts share, ...
pub(crate) const SHARED_RATES: usize = 1 + 18;
/// ... and of a contact's point on A, point on B, φ and weight.
pub(crate) const OWN_RATES: usize = 48;
