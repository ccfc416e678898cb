//! Collision detection: the pairs of shapes that may touch, and their contacts as differentiable functions of the
//! shapes' poses and sizes.

pub(crate) mod absence;
mod bound;
mod contacts;
pub(crate) mod convex;
mod frame;
mod grid;
mod home;
pub(crate) mod kernels;
pub(crate) mod kind;
pub(crate) mod lanes;
pub(crate) mod numbers;
mod overlap;
pub mod pair;
mod shapes;
mod table;
mod window;

pub use contacts::Contacts;
pub use frame::{JUMP, frame};
pub(crate) use grid::beyond_reach;
pub(crate) use numbers::OWN_RATES;
pub use numbers::UNUSED;
pub use overlap::Overlap;
pub use shapes::{BodyShape, Pair};
pub use table::PairTable;
pub use window::Window;
