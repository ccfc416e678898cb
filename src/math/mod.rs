//! Floor 0: numbers, SIMD lanes and their run-time dispatch, small vectors and rotations.

pub mod lane;
pub mod op;
pub mod spatial;
pub mod tensor;
pub mod vector;
