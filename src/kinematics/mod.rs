//! Floor 3: where every body is, and how it moves with each degree of freedom.

mod tree;

pub use tree::{Body, Coordinate, Owner, Tree};
