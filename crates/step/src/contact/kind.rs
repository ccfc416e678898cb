//! The pairs of shapes that have a formula for their contacts.

use fingertip_scene::Shape;

/// A pair of shape types with a formula whose contacts have constant weights. The first shape in the name is A.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "their names are those of the shapes")]
pub enum PairKind {
    SphereSphere,
    SphereCapsule,
    SphereBox,
    SphereCylinder,
    SphereHalfSpace,
    CapsuleHalfSpace,
    BoxHalfSpace,
}

impl PairKind {
    /// The formula for a pair of shapes, whatever their sizes, and whether the shapes have to be swapped to be its A
    /// and B. `None` for pairs without such a formula.
    pub fn find(a: &Shape, b: &Shape) -> Option<(Self, bool)> {
        Self::ordered(a, b).map(|kind| (kind, false)).or_else(|| Some((Self::ordered(b, a)?, true)))
    }

    /// The formula for a pair of shapes in exactly this order.
    fn ordered(a: &Shape, b: &Shape) -> Option<Self> {
        use Shape::{Box, Capsule, Cylinder, HalfSpace, Sphere};
        Some(match (a, b) {
            (Sphere { .. }, Sphere { .. }) => Self::SphereSphere,
            (Sphere { .. }, Capsule { .. }) => Self::SphereCapsule,
            (Sphere { .. }, Box { .. }) => Self::SphereBox,
            (Sphere { .. }, Cylinder { .. }) => Self::SphereCylinder,
            (Sphere { .. }, HalfSpace) => Self::SphereHalfSpace,
            (Capsule { .. }, HalfSpace) => Self::CapsuleHalfSpace,
            (Box { .. }, HalfSpace) => Self::BoxHalfSpace,
            _ => return None,
        })
    }

    /// The number of contacts m per pair.
    pub fn contacts(self) -> usize {
        match self {
            Self::SphereSphere
            | Self::SphereCapsule
            | Self::SphereBox
            | Self::SphereCylinder
            | Self::SphereHalfSpace => 1,
            Self::CapsuleHalfSpace => 2,
            Self::BoxHalfSpace => 8,
        }
    }

    /// The weight of each of its contacts: the share ω of `docs/contact_points.md`.
    pub(super) fn weight(self) -> f64 {
        match self {
            Self::SphereSphere
            | Self::SphereCapsule
            | Self::SphereBox
            | Self::SphereCylinder
            | Self::SphereHalfSpace => 1.0,
            Self::CapsuleHalfSpace => 0.5,
            Self::BoxHalfSpace => 0.25,
        }
    }
}

/// A pair of shape types with a formula that also gives weights, which depend on where the shapes are. The first shape
/// in the name is A. [`fingertip_shapes::collision`] handles pairs without any formula.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WeightedKind {
    BoxBox,
    BoxCapsule,
    CapsuleCapsule,
    HalfSpaceCylinder,
}

impl WeightedKind {
    /// The weighted formula for a pair of shapes, whatever their sizes, and whether the shapes have to be swapped to be
    /// its A and B.
    pub(crate) fn find(a: &Shape, b: &Shape) -> Option<(Self, bool)> {
        Self::ordered(a, b).map(|kind| (kind, false)).or_else(|| Some((Self::ordered(b, a)?, true)))
    }

    /// The formula for a pair of shapes in exactly this order.
    fn ordered(a: &Shape, b: &Shape) -> Option<Self> {
        use Shape::{Box, Capsule, Cylinder, HalfSpace};
        Some(match (a, b) {
            (Box { .. }, Box { .. }) => Self::BoxBox,
            (Box { .. }, Capsule { .. }) => Self::BoxCapsule,
            (Capsule { .. }, Capsule { .. }) => Self::CapsuleCapsule,
            (HalfSpace, Cylinder { .. }) => Self::HalfSpaceCylinder,
            _ => return None,
        })
    }

    /// The number of contacts that the formula has room for.
    pub(crate) fn contacts(self) -> usize {
        match self {
            Self::BoxBox => 20,
            Self::BoxCapsule => 8,
            Self::CapsuleCapsule => 3,
            Self::HalfSpaceCylinder => 10,
        }
    }
}

/// The formula for the contacts of a pair of shapes.
#[derive(Clone, Copy, Debug)]
pub struct PairFunction {
    pub(crate) kind: PairKind,
    /// Are the pair's A and B the formula's B and A?
    pub(crate) swapped: bool,
}

impl PairFunction {
    /// The formula for shapes of the types of `a` and `b`, in this order, whatever their sizes. `None` for pairs
    /// without a formula of constant weights.
    pub fn find(a: &Shape, b: &Shape) -> Option<Self> {
        PairKind::find(a, b).map(|(kind, swapped)| Self { kind, swapped })
    }

    /// The number of contacts m per pair.
    pub fn contacts(&self) -> usize {
        self.kind.contacts()
    }
}
