//! Floor 4: which shapes may touch, how far apart they are, and where.

pub mod pair;
