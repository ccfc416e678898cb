//! The friction laws, and how the step differs by them.

use fingertip_scene::Friction;

/// What the rest of the step asks a friction law. What a law makes of a contact is in [`super::friction`], and how it
/// is solved in [`super::stages`].
pub(crate) trait Law: Copy {
    /// The number k in the normal force λ_n = k w/(κ φ) of a contact of weight w that is at rest at the gap φ.
    fn normal_force(self) -> f64;
    /// Are tensors of single precision solved in it?
    fn has_single_precision(self) -> bool;
    /// Is the response W̃ of a force to displacements symmetric?
    fn is_symmetric(self) -> bool;
}

impl Law for Friction {
    #[inline(always)]
    fn normal_force(self) -> f64 {
        match self {
            Self::Relaxed => 2.0,
            Self::Coulomb => 1.0,
        }
    }

    #[inline(always)]
    fn has_single_precision(self) -> bool {
        self == Self::Relaxed
    }

    #[inline(always)]
    fn is_symmetric(self) -> bool {
        self == Self::Relaxed
    }
}
