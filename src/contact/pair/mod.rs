//! Signed distance, normal and witness points of shape pairs, as plain differentiable tensor operations.
//!
//! One file per pair. A pair function takes n pairs in each of B worlds and gives m contacts per pair.
//! Values and gradients are exact where the geometry is smooth, and finite everywhere: each file says which direction
//! it takes where the geometry leaves several.

mod block;
mod box_half_space;
pub(super) mod capsule_box;
mod capsule_capsule;
mod capsule_half_space;
mod core;
pub(super) mod cylinder_half_space;
mod half_space;
pub(super) mod penetration;
pub(super) mod segment;
mod sphere_box;
mod sphere_capsule;
mod sphere_cylinder;
mod sphere_half_space;
mod sphere_sphere;

use candle_core::{Result, Tensor};

use crate::description::Shape;
use crate::math::tensor;

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

impl Shapes {
    /// Positions (B, n, 3).
    fn position(&self) -> Result<Tensor> {
        tensor::position(&self.pose)
    }

    /// Number `k` of the sizes (1 or B, n, 1).
    fn length(&self, k: usize) -> Result<Tensor> {
        self.size.narrow(2, k, 1)
    }

    /// Half extents of boxes without their rounding (1 or B, n, 3).
    fn box_core(&self) -> Result<Tensor> {
        self.size.narrow(2, 0, 3)?.broadcast_sub(&self.length(3)?)
    }
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

    fn witness(self) -> fn(&Shapes, &Shapes) -> Result<Witness> {
        match self {
            Self::SphereSphere => sphere_sphere::witness,
            Self::SphereCapsule => sphere_capsule::witness,
            Self::SphereBox => sphere_box::witness,
            Self::SphereCylinder => sphere_cylinder::witness,
            Self::SphereHalfSpace => sphere_half_space::witness,
            Self::CapsuleCapsule => capsule_capsule::witness,
            Self::CapsuleBox => capsule_box::witness,
            Self::CapsuleHalfSpace => capsule_half_space::witness,
            Self::BoxHalfSpace => box_half_space::witness,
            Self::CylinderHalfSpace => cylinder_half_space::witness,
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

    /// The contacts of n pairs in B worlds.
    ///
    /// # Errors
    /// Where the tensors' shapes, types or devices do not fit each other.
    pub fn witness(&self, a: &Shapes, b: &Shapes) -> Result<Witness> {
        let witness = self.kind.witness();
        if !self.swapped {
            return witness(a, b);
        }
        let Witness { point_a, point_b, normal, phi } = witness(b, a)?;
        Ok(Witness { point_a: point_b, point_b: point_a, normal: normal.neg()?, phi })
    }
}
