//! Signed distance, normal and witness points of shape pairs, as plain differentiable tensor operations.
//!
//! One file per pair. A pair function takes n pairs in each of B worlds and gives m contacts per pair.

use candle_core::Tensor;

/// Shapes of one kind, one per pair: where they are and how large.
///
/// A pose is twelve numbers: the position of the shape's frame in the world, then the three columns of its
/// rotation matrix (the shape's x, y and z axes in the world).
pub struct Shapes {
    /// Poses (B, n, 12).
    pub pose: Tensor,
    /// Sizes (1 or B, n, [`crate::description::Shape::SIZES`]), as [`crate::description::Shape::sizes`] orders them.
    pub size: Tensor,
}

/// Contacts of n pairs, m for each: pair 0's contacts first.
pub struct Witness {
    /// Witness point on A in the world (B, n·m, 3), m.
    pub point_a: Tensor,
    /// Witness point on B in the world (B, n·m, 3), m; `point_b − point_a = phi · normal`.
    pub point_b: Tensor,
    /// Unit normal from A to B (B, n·m, 3).
    pub normal: Tensor,
    /// Signed distance (B, n·m), m; positive apart.
    pub phi: Tensor,
}
