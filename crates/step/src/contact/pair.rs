//! The contacts of pairs with a formula, as tensors: signed distance, normal and witness points, exact and differentiable.

use std::sync::Arc;

use candle_core::{Result, Tensor};

use super::contacts::Contacts;
use super::kernels::PairKernels;
pub use super::kind::PairFunction;
use fingertip_scene::Shape;

/// One side of n pairs: shapes of one type, with their poses and sizes.
///
/// A pose has twelve numbers: the position of the shape's frame in the world, then the three columns of its rotation matrix (the
/// shape's x, y and z axes in the world).
pub struct Shapes {
    /// Poses (B, n, 12).
    pub pose: Tensor,
    /// Sizes (1 or B, n, [`fingertip_scene::Shape::SIZES`]), as [`fingertip_scene::Shape::sizes`] orders them.
    pub size: Tensor,
}

/// Contacts of n pairs, m per pair, pair by pair.
pub struct Witness {
    /// Witness point on A in the world (B, n·m, 3), m.
    pub point_a: Tensor,
    /// Witness point on B in the world (B, n·m, 3), m; `point_b − point_a = phi · normal`.
    pub point_b: Tensor,
    /// Unit normal from A to B (B, n·m, 3).
    pub normal: Tensor,
    /// Signed distance (B, n·m), m. Positive for separate bodies.
    pub phi: Tensor,
}

impl PairFunction {
    /// The contacts of n pairs in B worlds, on the CPU. Values and gradients are exact where the geometry is smooth, and finite
    /// everywhere. Where several directions are possible, the files in `contact/lanes` say which one is taken.
    ///
    /// # Errors
    /// If the tensors' shapes, types or devices do not fit each other.
    pub fn witness(&self, a: &Shapes, b: &Shapes) -> Result<Witness> {
        let n = a.pose.dim(1)?;
        let worlds = a.size.dim(0)?.max(b.size.dim(0)?);
        let wide = |t: &Tensor| t.broadcast_as((worlds, n, Shape::SIZES));
        let pairs = Arc::new(PairKernels::of_formula(*self, n));
        let (poses, sizes) = (Tensor::cat(&[&a.pose, &b.pose], 1)?, Tensor::cat(&[wide(&a.size)?, wide(&b.size)?], 1)?);
        let Contacts { point_a, point_b, normal, phi, .. } = pairs.contacts(&poses, &sizes)?;
        Ok(Witness { point_a, point_b, normal, phi })
    }
}
