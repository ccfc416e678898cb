//! Numerical kernels that are written once and run on any number of worlds at a time.
//!
//! A kernel is generic over [`lane::Real`]: a single number, or the numbers of several worlds side by side in a SIMD
//! register. A [`program`] runs kernels in stages over a batch of worlds, on all threads. The same kernels can be
//! [recorded](record), and the recording printed as C or CUDA.

#![deny(missing_docs)]

#[cfg(any(feature = "native", feature = "cuda"))]
pub mod cache;
pub mod factor;
pub mod lane;
pub mod layout;
#[cfg(feature = "native")]
pub mod native;
pub mod order;
pub mod pool;
pub mod program;
pub mod record;
pub mod rows;
mod scratch;
pub mod session;
pub mod vector;
