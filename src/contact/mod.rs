//! Floor 4: which shapes may touch, how far apart they are, and where.

mod detect;
pub mod pair;
mod table;

pub use detect::Contacts;
pub(crate) use table::index;
pub use table::{BodyShape, Pair, PairTable};
