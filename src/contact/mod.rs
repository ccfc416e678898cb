//! Floor 4: which shapes may touch, how far apart they are, and where.

mod convex;
mod detect;
mod frame;
mod home;
pub(crate) mod kernels;
pub(crate) mod lanes;
mod overlap;
pub mod pair;
mod table;

pub use convex::UNUSED;
pub(crate) use convex::{OWN_RATES, SHARED_RATES};
pub use detect::Contacts;
pub use frame::frame;
pub use overlap::Overlap;
pub use table::{BodyShape, Pair, PairTable};
