//! Which pairs of shapes have a formula.

use fingertip_scene::Shape;

/// Two kinds of shapes with a formula, A's first, whose contacts all have the weight 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PairKind {
    SphereSphere,
    SphereCapsule,
    SphereBox,
    SphereCylinder,
    SphereHalfSpace,
    CapsuleHalfSpace,
    BoxHalfSpace,
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
            (Capsule { .. }, HalfSpace) => Self::CapsuleHalfSpace,
            (Box { .. }, HalfSpace) => Self::BoxHalfSpace,
            _ => return None,
        })
    }

    /// m, the number of contacts per pair.
    pub(crate) fn contacts(self) -> usize {
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
}

/// Two kinds of shapes with a formula that also gives weights, A's first. [`fingertip_shapes::collision`] handles all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WeightedKind {
    BoxBox,
    BoxCapsule,
    CapsuleCapsule,
    HalfSpaceCylinder,
}

impl WeightedKind {
    /// As [`PairKind::find`].
    pub(crate) fn find(a: &Shape, b: &Shape) -> Option<(Self, bool)> {
        Self::ordered(a, b).map(|kind| (kind, false)).or_else(|| Some((Self::ordered(b, a)?, true)))
    }

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

    /// The number of contacts per pair.
    pub(crate) fn contacts(self) -> usize {
        match self {
            Self::BoxBox => 20,
            Self::BoxCapsule => 8,
            Self::CapsuleCapsule => 3,
            Self::HalfSpaceCylinder => 10,
        }
    }
}

/// How contacts of a pair of shapes are computed.
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

    /// m, the number of contacts per pair.
    pub fn contacts(&self) -> usize {
        self.kind.contacts()
    }
}
