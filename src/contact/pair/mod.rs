//! Signed distance, normal and witness points of shape pairs, as plain differentiable tensor operations.
//!
//! One file per pair. A pair function takes n pairs in each of B worlds and gives m contacts per pair.
//! Values and gradients are exact where the geometry is smooth, and finite everywhere: each file says which direction
//! it takes where the geometry leaves several.

mod block;
mod box_half_space;
mod capsule_box;
mod capsule_capsule;
mod capsule_half_space;
mod core;
mod cylinder_half_space;
mod half_space;
mod penetration;
mod segment;
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

type WitnessFunction = fn(&Shapes, &Shapes) -> Result<Witness>;

/// How a pair of shapes is turned into contacts.
#[derive(Clone, Copy, Debug)]
pub struct PairFunction {
    contacts: usize,
    witness: WitnessFunction,
    swapped: bool,
}

impl PairFunction {
    /// The function for shapes of the kinds of `a` and `b` (their sizes do not matter), in this order;
    /// `None` for pairs that have none.
    pub fn find(a: &Shape, b: &Shape) -> Option<Self> {
        let (found, swapped) = match Self::ordered(a, b) {
            Some(found) => (found, false),
            None => (Self::ordered(b, a)?, true),
        };
        Some(Self { contacts: found.0, witness: found.1, swapped })
    }

    /// Contacts per pair and the function, for pairs in the order in which they are written here.
    fn ordered(a: &Shape, b: &Shape) -> Option<(usize, WitnessFunction)> {
        use Shape::{Box, Capsule, Cylinder, HalfSpace, Sphere};
        Some(match (a, b) {
            (Sphere { .. }, Sphere { .. }) => (1, sphere_sphere::witness),
            (Sphere { .. }, Capsule { .. }) => (1, sphere_capsule::witness),
            (Sphere { .. }, Box { .. }) => (1, sphere_box::witness),
            (Sphere { .. }, Cylinder { .. }) => (1, sphere_cylinder::witness),
            (Sphere { .. }, HalfSpace) => (1, sphere_half_space::witness),
            (Capsule { .. }, Capsule { .. }) => (1, capsule_capsule::witness),
            (Capsule { .. }, Box { .. }) => (3, capsule_box::witness),
            (Capsule { .. }, HalfSpace) => (2, capsule_half_space::witness),
            (Box { .. }, HalfSpace) => (8, box_half_space::witness),
            (Cylinder { .. }, HalfSpace) => (10, cylinder_half_space::witness),
            _ => return None,
        })
    }

    /// Contacts per pair, m.
    pub fn contacts(&self) -> usize {
        self.contacts
    }

    /// The contacts of n pairs in B worlds.
    ///
    /// # Errors
    /// Where the tensors' shapes, types or devices do not fit each other.
    pub fn witness(&self, a: &Shapes, b: &Shapes) -> Result<Witness> {
        if !self.swapped {
            return (self.witness)(a, b);
        }
        let Witness { point_a, point_b, normal, phi } = (self.witness)(b, a)?;
        Ok(Witness { point_a: point_b, point_b: point_a, normal: normal.neg()?, phi })
    }
}
