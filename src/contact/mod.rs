//! Floor 4: which shapes may touch, how far apart they are, and where.

mod convex;
mod detect;
mod formulas;
mod frame;
mod home;
pub(crate) mod lanes;
pub mod pair;
mod table;
mod warnings;

pub use convex::UNUSED;
pub use detect::Contacts;
pub use frame::frame;
pub use home::Overlap;
pub use table::{BodyShape, Pair, PairTable};
