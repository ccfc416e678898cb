//! The contacts of pairs with a formula, as tensors: signed distance, normal and witness points, exact and
//! differentiable.

use std::ops::Range;
use std::sync::Arc;

use candle_core::{Result, Tensor};

use super::contacts::Contacts;
use super::kernels::PairKernels;
pub use super::kind::PairFunction;
use super::shapes::{BodyShape, Pair};
use super::window::Window;
use fingertip_scene::{Partners, Shape};
use fingertip_shapes::collision::Detail;

/// One side of n pairs: shapes of one type, with their poses and sizes.
///
/// A pose has twelve numbers: the position of the shape's frame in the world, then the three columns of its rotation
/// matrix (the shape's x, y and z axes in the world).
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
    /// The contacts of n pairs in B worlds, on the CPU. Values and gradients are exact where the geometry is smooth,
    /// and finite everywhere. Where several directions are possible, the files in `contact/lanes` say which one is
    /// taken.
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

/// The signed distances of points from shapes, as tensors: contacts of balls without size.
#[derive(Clone, Debug)]
pub(crate) struct PointDistances {
    kernels: Arc<PairKernels>,
    n_points: usize,
}

impl PointDistances {
    /// Of these pairs of a point and a shape.
    pub(crate) fn new(n_points: usize, shapes: &[BodyShape], pairs: &[(usize, usize)]) -> Self {
        let ball = BodyShape {
            body: 0,
            shape: Shape::Sphere { radius: 0.0 },
            rotation: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            xyz: [0.0; 3],
            surface: None,
            partners: Partners::default(),
            place: [0, 0],
        };
        let all: Vec<BodyShape> = std::iter::repeat_n(&ball, n_points).chain(shapes).cloned().collect();
        let pairs: Vec<Pair> = pairs
            .iter()
            .map(|&(point, shape)| Pair::new([point, n_points + shape], &all, [0.0; 2], Detail::ALL, Window::ALL))
            .collect();
        Self { kernels: Arc::new(PairKernels::new(&pairs, &all)), n_points }
    }

    /// The number of distances.
    pub(crate) fn count(&self) -> usize {
        self.kernels.n_contacts
    }

    /// The places of each pair's distances among all. The nearest one is the pair's.
    pub(crate) fn places(&self) -> impl Iterator<Item = Range<usize>> {
        self.kernels.pairs.iter().map(|pair| pair.first..pair.first + pair.contacts)
    }

    /// The distances (B, n), m, of points at these poses (B, n_points, 12) from shapes at theirs (B, n_shapes, 12) with
    /// these sizes (1 or B, n_shapes, 4). Differentiable.
    pub(crate) fn at(&self, points: &Tensor, shapes: &Tensor, sizes: &Tensor) -> Result<Tensor> {
        let of_points = Tensor::zeros((sizes.dim(0)?, self.n_points, Shape::SIZES), sizes.dtype(), sizes.device())?;
        let (poses, sizes) = (Tensor::cat(&[points, shapes], 1)?, Tensor::cat(&[&of_points, sizes], 1)?);
        Ok(self.kernels.contacts(&poses, &sizes)?.phi)
    }
}
