//! Contacts that do not come from the scene's shapes.

use std::fmt::Debug;

use candle_core::{DType, Result, Tensor, bail};

use crate::contact::Contacts;
use crate::contact::numbers::GEOMETRY;
use crate::tensor::operation::{Function, Signature};
use fingertip_lanes::lane::{Lane, Mask, Zip};
use fingertip_lanes::vector::{dot, vec3_at};

/// A source of contacts other than the scene's shapes: a learned distance, a height field, a camera's data.
///
/// The scene still says which bodies may touch and how many contacts a pair has; its shapes serve as stand-ins. See
/// [`Quasidynamic::with_geometry`](super::Quasidynamic::with_geometry).
pub trait Geometry: Debug + Send + Sync {
    /// The contacts of B worlds where the model's shapes have the given poses (B, n_shapes, 12): position, then the
    /// three columns of the rotation matrix. `own` are the contacts of the shapes themselves, in the order of
    /// [`PairTable::pair_of_contact`](crate::contact::PairTable::pair_of_contact); the result has the same tensor
    /// shapes. Copy from `own` the contacts that should stay as they are.
    ///
    /// Gradients flow through all tensors in the result. φ (m) should be the signed distance of the two bodies, or
    /// close to it. The normal has length one and points from A to B, the direction in which φ grows as B moves. A
    /// contact of weight 0 has no effect.
    ///
    /// A world is bad input if a number is not finite or beyond 1e30, or if a normal has another length. It stays where
    /// it is, with the contacts of the shapes, and has no part in gradients. For this the function is called again,
    /// with the poses of a good world in place of the bad world's.
    ///
    /// B may differ from the step's number of worlds, and the k-th pose need not belong to the k-th world: Jacobians
    /// pass many copies of each world, and planners pass some worlds at a time. So a geometry must be the same function
    /// for all worlds.
    ///
    /// # Errors
    /// The implementation's own errors; the step returns them.
    fn contacts(&self, poses: &Tensor, own: Contacts) -> Result<Contacts>;
}

/// (contacts, weights) → 1 if numbers are in range and the normals of those with weight of length one, else 0.
pub(super) struct UsableContacts {
    pub(super) nc: usize,
    pub(super) tolerance: f64,
}

impl Function<2> for UsableContacts {
    fn signature(&self) -> Signature<2> {
        let operands = [("contacts", GEOMETRY * self.nc), ("weights", self.nc)];
        Signature { name: "usable contacts", operands, width: 1 }
    }

    #[inline(always)]
    fn value<R: Lane>(&self, [contacts, weights]: [&[R]; 2], _: &mut [R], out: &mut [R]) {
        let mut sum = R::zero();
        for &x in contacts.iter().chain(weights) {
            sum = x.doubt(sum);
        }
        let mut usable = sum.is_finite();
        for (contact, &weight) in contacts.chunks_exact(GEOMETRY).zip_inline(weights) {
            let normal = vec3_at(contact, 0);
            let is_off = R::splat(self.tolerance).lt((dot(normal, normal) - R::one()).abs());
            usable = usable.and(is_off.and(weight.gt(R::zero())).not());
        }
        out[0] = R::select(usable, R::one(), R::zero());
    }

    /// The gradient stays zero: a choice between 0 and 1 has no slope.
    #[inline(always)]
    fn vjp<R: Lane>(&self, _: [&[R]; 2], _: &mut [R], _: &[R], _: [&mut [R]; 2]) {}
}

/// Asks a [`Geometry`] for its contacts, and checks that their shapes and types match those of the scene's `own`
/// contacts.
pub(super) fn asked(geometry: &dyn Geometry, poses: &Tensor, own: &Contacts) -> Result<Contacts> {
    let contacts = geometry.contacts(poses, own.clone())?;
    let weight = contacts.weight.as_ref().map(|weight| ("weight", weight, &own.phi));
    let parts = [
        ("point_a", &contacts.point_a, &own.point_a),
        ("point_b", &contacts.point_b, &own.point_b),
        ("normal", &contacts.normal, &own.normal),
        ("phi", &contacts.phi, &own.phi),
    ];
    for (name, got, own) in parts.into_iter().chain(weight) {
        if got.dims() != own.dims() || got.dtype() != own.dtype() {
            let (expected, dtype, dims, found) = (own.dims(), own.dtype(), got.dims(), got.dtype());
            bail!("geometry: expected `{name}` {expected:?} of {dtype:?}, got {dims:?} of {found:?}");
        }
    }
    Ok(contacts)
}

/// A mask of worlds (B, 1), reshaped to as many dimensions as `like` has.
pub(super) fn deep(worlds: &Tensor, like: &Tensor) -> Result<Tensor> {
    let mut dims = vec![1; like.rank()];
    dims[0] = worlds.dim(0)?;
    worlds.reshape(dims)
}

/// Tolerance on ‖n‖² − 1 for a normal n: above rounding, and below the error that the gradients promise.
pub(super) fn tolerance(dtype: DType) -> f64 {
    if dtype == DType::F32 { 1e-4 } else { 1e-6 }
}
