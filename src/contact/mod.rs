//! Floor 4: which shapes may touch, how far apart they are, and where.

mod contacts;
mod convex;
mod frame;
mod home;
pub(crate) mod kernels;
mod kind;
pub(crate) mod lanes;
mod overlap;
pub mod pair;
mod shapes;
mod table;

pub use contacts::Contacts;
pub use convex::UNUSED;
pub(crate) use convex::{OWN_RATES, SHARED_RATES};
pub use frame::frame;
pub use overlap::Overlap;
pub use shapes::{BodyShape, Pair};
pub use table::PairTable;
