//! Which pairs of shapes have a formula, and their contacts: signed distance, normal and witness points, exact and differentiable.

use std::sync::Arc;

use candle_core::{Result, Tensor};

use super::detect::Contacts;
use super::kernels::PairKernels;
use crate::description::Shape;

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

/// Two kinds of shapes that there are formulas for, A's first; [`crate::collision`] handles all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PairKind {
    SphereSphere,
    SphereCapsule,
    SphereBox,
    SphereCylinder,
    SphereHalfSpace,
    CapsuleCapsule,
    CapsuleBox,
    CapsuleHalfSpace,
    BoxHalfSpace,
    CylinderHalfSpace,
}

impl PairKind {
    /// The kind of a pair of shapes (their sizes do not matter), and whether they have to be swapped to be in its order;
    /// `None` for pairs that have no function.
    pub(crate) fn find(a: &Shape, b: &Shape) -> Option<(Self, bool)> {
        Self::ordered(a, b).map(|kind| (kind, false)).or_else(|| Some((Self::ordered(b, a)?, true)))
    }

    fn ordered(a: &Shape, b: &Shape) -> Option<Self> {
        use Shape::{Box, Capsule, Cylinder, HalfSpace, Sphere};
        Some(match (a, b) {
            (Sphere { .. }, Sphere { .. }) => Self::SphereSphere,
            (Sphere { .. }, Capsule { .. }) => Self::SphereCapsule,
            (Sphere { .. }, Box { .. }) => Self::SphereBox,
            (Sphere { .. }, Cylinder { .. }) => Self::SphereCylinder,
            (Sphere { .. }, HalfSpace) => Self::SphereHalfSpace,
            (Capsule { .. }, Capsule { .. }) => Self::CapsuleCapsule,
            (Capsule { .. }, Box { .. }) => Self::CapsuleBox,
            (Capsule { .. }, HalfSpace) => Self::CapsuleHalfSpace,
            (Box { .. }, HalfSpace) => Self::BoxHalfSpace,
            (Cylinder { .. }, HalfSpace) => Self::CylinderHalfSpace,
            _ => return None,
        })
    }

    /// Contacts per pair, m.
    pub(crate) fn contacts(self) -> usize {
        match self {
            Self::SphereSphere
            | Self::SphereCapsule
            | Self::SphereBox
            | Self::SphereCylinder
            | Self::SphereHalfSpace
            | Self::CapsuleCapsule => 1,
            Self::CapsuleHalfSpace => 2,
            Self::CapsuleBox => 3,
            Self::BoxHalfSpace => 8,
            Self::CylinderHalfSpace => 10,
        }
    }
}

/// How a pair of shapes is turned into contacts.
#[derive(Clone, Copy, Debug)]
pub struct PairFunction {
    pub(crate) kind: PairKind,
    /// Are the pair's A and B the kind's B and A?
    pub(crate) swapped: bool,
}

impl PairFunction {
    /// The function for shapes of the kinds of `a` and `b` (their sizes do not matter), in this order;
    /// `None` for pairs that have none.
    pub fn find(a: &Shape, b: &Shape) -> Option<Self> {
        PairKind::find(a, b).map(|(kind, swapped)| Self { kind, swapped })
    }

    /// Contacts per pair, m.
    pub fn contacts(&self) -> usize {
        self.kind.contacts()
    }

    /// The contacts of n pairs in B worlds, on the CPU. Values and gradients are exact where the geometry is smooth, and finite
    /// everywhere; `contact/lanes` says for each kind which direction is taken where the geometry leaves several.
    ///
    /// # Errors
    /// Where the tensors' shapes, types or devices do not fit each other.
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
