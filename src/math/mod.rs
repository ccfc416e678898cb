//! Floor 0: numbers, SIMD lanes and the programs that run on them, small vectors and rotations.

#[cfg(any(feature = "native", feature = "cuda"))]
pub(crate) mod cache;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
pub mod factor;
pub(crate) mod known;
pub mod lane;
pub mod largest;
pub(crate) mod layout;
#[cfg(feature = "native")]
pub(crate) mod native;
pub(crate) mod operation;
pub mod order;
pub(crate) mod pool;
pub mod program;
pub(crate) mod record;
pub mod rows;
mod scratch;
pub mod spatial;
pub mod tensor;
pub mod vector;
