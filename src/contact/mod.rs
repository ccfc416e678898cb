//! Floor 4: which shapes may touch, how far apart they are, and where.

mod detect;
mod frame;
#[cfg_attr(not(test), expect(dead_code, reason = "the fused step's; remove with its first use"))]
pub(crate) mod lanes;
pub mod pair;
mod table;

pub use detect::Contacts;
pub use frame::frame;
pub(crate) use table::index;
pub use table::{BodyShape, Pair, PairTable};
