//! Pairs without a formula of their own, through [`crate::collision`]: one custom operation for all worlds.

use std::sync::Arc;

use candle_core::{CpuStorage, CustomOp3, Device, Layout, Result, Tensor, bail};
use nalgebra::{Isometry3, Matrix3, Rotation3, Translation3, UnitQuaternion, Vector3};
use rayon::prelude::*;

use crate::collision::{BodyGradient, Collider, Distance, DistanceGradient, MANIFOLD};
use crate::description::Shape;
use crate::math::rows::{Rows, gradient, storage, worlds};

use super::pair::{Shapes, Witness};

/// The φ of a contact that a pair has room for but not at this configuration, m: steps give contacts from here on no weight.
pub const UNUSED: f64 = 1e3;

/// Numbers of a contact: normal, point on A, point on B, φ.
const CONTACT: usize = 10;
const POSE: usize = 12;

/// Pairs of shapes of two kinds, all with the same number of contacts.
#[derive(Clone, Debug)]
pub(super) struct ConvexPairs(Arc<Vec<(Shape, Shape)>>);

/// Contacts that a pair has room for: [`MANIFOLD`] if both shapes can meet in more than a point, else one.
pub(super) fn contacts(a: &Shape, b: &Shape) -> usize {
    if is_flat(a) && is_flat(b) { MANIFOLD } else { 1 }
}

fn is_flat(shape: &Shape) -> bool {
    !matches!(shape, Shape::Sphere { .. } | Shape::Ellipsoid { .. })
}

impl ConvexPairs {
    pub(super) fn new(pairs: Vec<(Shape, Shape)>) -> Self {
        Self(Arc::new(pairs))
    }

    /// Contacts of all pairs in B worlds, [`contacts`] for each; those that are not there repeat the first with
    /// φ = [`UNUSED`]. NaN where a pose or size is not usable.
    pub(super) fn witness(&self, a: &Shapes, b: &Shapes) -> Result<Witness> {
        let rows = self.contacts(a, b)?;
        Ok(Witness {
            normal: rows.narrow(2, 0, 3)?,
            point_a: rows.narrow(2, 3, 3)?,
            point_b: rows.narrow(2, 6, 3)?,
            phi: rows.narrow(2, 9, 1)?.squeeze(2)?,
        })
    }

    /// The same as rows (B, n, 10): normal, points on A and B, φ.
    pub(super) fn contacts(&self, a: &Shapes, b: &Shapes) -> Result<Tensor> {
        let device = a.pose.device();
        let on_cpu = |t: &Tensor| t.to_device(&Device::Cpu)?.flatten_from(1)?.contiguous();
        let sizes = Tensor::cat(&[&a.size, &b.size], 1)?;
        let rows = on_cpu(&a.pose)?.apply_op3(&on_cpu(&b.pose)?, &on_cpu(&sizes)?, ConvexOp(self.clone()))?;
        rows.reshape((a.pose.dim(0)?, (), CONTACT))?.to_device(device)
    }

    fn slots(&self) -> usize {
        self.0.first().map_or(0, |(a, b)| contacts(a, b))
    }
}

/// (poses of A, poses of B, sizes of all A then of all B) → contacts, all in rows.
struct ConvexOp(ConvexPairs);

/// The operands' rows.
struct Operands<'a> {
    pairs: &'a ConvexPairs,
    pose_a: Rows<'a>,
    pose_b: Rows<'a>,
    sizes: Rows<'a>,
}

/// A shape where it is in one world.
type Placed = (Collider, Isometry3<f64>);

impl Operands<'_> {
    fn check(&self) -> Result<usize> {
        let n = self.pairs.0.len();
        let widths = [self.pose_a.width(), self.pose_b.width(), self.sizes.width()];
        if widths != [POSE * n, POSE * n, 2 * Shape::SIZES * n] {
            bail!(
                "convex pairs: expected poses (B, {n}, 12) and sizes (1 or B, {n}, {}), got {widths:?}",
                Shape::SIZES
            );
        }
        worlds("convex pairs", &[&self.pose_a, &self.pose_b, &self.sizes])
    }

    /// Pair `k` in a world; none where a number is not usable.
    fn pair(&self, world: usize, k: usize) -> Option<[Placed; 2]> {
        let (a, b) = &self.pairs.0[k];
        let side = |shape: &Shape, pose: &Rows, place: usize| -> Option<Placed> {
            let sizes = &self.sizes.row(world)[Shape::SIZES * place..Shape::SIZES * (place + 1)];
            let collider = Collider::with_sizes(shape, std::array::from_fn(|i| sizes[i]))?;
            Some((collider, isometry(&pose.row(world)[POSE * k..POSE * (k + 1)])?))
        };
        Some([side(a, &self.pose_a, k)?, side(b, &self.pose_b, self.pairs.0.len() + k)?])
    }

    fn contacts(&self, [(a, pose_a), (b, pose_b)]: &[Placed; 2]) -> Vec<Distance> {
        match self.pairs.slots() {
            1 => a.distance(pose_a, b, pose_b).into_iter().collect(),
            _ => a.manifold(pose_a, b, pose_b, f64::INFINITY),
        }
    }

    /// The contacts of a world, one after the other.
    fn row(&self, world: usize, out: &mut [f64]) {
        let slots = self.pairs.slots();
        for (k, out) in out.chunks_exact_mut(CONTACT * slots).enumerate() {
            let found = self.pair(world, k).map_or(Vec::new(), |pair| self.contacts(&pair));
            let Some(first) = found.first() else {
                out.fill(f64::NAN);
                continue;
            };
            for (slot, out) in out.chunks_exact_mut(CONTACT).enumerate() {
                let Distance { phi, point_a, point_b, normal, .. } = found.get(slot).unwrap_or(first);
                let vectors = [normal, point_a, point_b].into_iter().flat_map(|v| v.iter());
                out.iter_mut().zip(vectors).for_each(|(out, x)| *out = *x);
                out[CONTACT - 1] = if slot < found.len() { *phi } else { UNUSED };
            }
        }
    }

    /// Gradients by A's poses, B's poses and all sizes of a world, one after the other.
    fn pull(&self, world: usize, grad: &[f64], out: &mut [f64]) {
        let (n, slots) = (self.pairs.0.len(), self.pairs.slots());
        for (k, grad) in grad.chunks_exact(CONTACT * slots).enumerate() {
            let Some([a, b]) = self.pair(world, k) else { continue };
            let [(collider_a, pose_a), (collider_b, pose_b)] = [&a, &b];
            for (contact, grad) in self.contacts(&[a.clone(), b.clone()]).iter().zip(grad.chunks_exact(CONTACT)) {
                let vector = |i: usize| Vector3::from_column_slice(&grad[i..i + 3]);
                let by = DistanceGradient { normal: vector(0), point_a: vector(3), point_b: vector(6), phi: grad[9] };
                let [on_a, on_b] = contact.pull((collider_a, pose_a), (collider_b, pose_b), &by);
                for (gradient, pose, place) in [(on_a, pose_a, k), (on_b, pose_b, n + k)] {
                    let BodyGradient { twist, sizes } = gradient;
                    let (moment, axes) = (twist.fixed_rows::<3>(3).into_owned(), pose.rotation.to_rotation_matrix());
                    let out_pose = &mut out[POSE * place..POSE * (place + 1)];
                    (0..3).for_each(|i| out_pose[i] += twist[i]);
                    // ½ m × r: turning by θ moves each axis r by θ × r, and Σ (m × r)·(θ × r) = 2 m·θ.
                    for (axis, out) in axes.matrix().column_iter().zip(out_pose[3..].chunks_exact_mut(3)) {
                        let pulled = moment.cross(&axis.into_owned()) / 2.0;
                        out.iter_mut().zip(pulled.iter()).for_each(|(out, x)| *out += x);
                    }
                    let first = 2 * POSE * n + Shape::SIZES * place;
                    out[first..first + Shape::SIZES].iter_mut().zip(sizes).for_each(|(out, x)| *out += x);
                }
            }
        }
    }
}

impl CustomOp3 for ConvexOp {
    fn name(&self) -> &'static str {
        "convex-pairs"
    }

    fn cpu_fwd(
        &self,
        pose_a: &CpuStorage,
        layout_a: &Layout,
        pose_b: &CpuStorage,
        layout_b: &Layout,
        sizes: &CpuStorage,
        layout: &Layout,
    ) -> Result<(CpuStorage, candle_core::Shape)> {
        let dtype = candle_core::backend::BackendStorage::dtype(pose_a);
        let operands = Operands {
            pairs: &self.0,
            pose_a: Rows::from_storage(pose_a, layout_a)?,
            pose_b: Rows::from_storage(pose_b, layout_b)?,
            sizes: Rows::from_storage(sizes, layout)?,
        };
        let (worlds, n) = (operands.check()?, CONTACT * self.0.slots() * self.0.0.len());
        let mut data = vec![0.0; worlds * n];
        data.par_chunks_exact_mut(n).enumerate().for_each(|(world, out)| operands.row(world, out));
        Ok((storage(data, dtype)?, (worlds, n).into()))
    }

    fn bwd(
        &self,
        pose_a: &Tensor,
        pose_b: &Tensor,
        sizes: &Tensor,
        _: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let (dtype, grad) = (grad.dtype(), Rows::from_tensor(grad)?);
        let tracked = [pose_a, pose_b, sizes].map(Tensor::track_op);
        let rows = [pose_a.dim(0)?, pose_b.dim(0)?, sizes.dim(0)?];
        let operands = Operands {
            pairs: &self.0,
            pose_a: Rows::from_tensor(pose_a)?,
            pose_b: Rows::from_tensor(pose_b)?,
            sizes: Rows::from_tensor(sizes)?,
        };
        let (worlds, pairs) = (operands.check()?, self.0.0.len());
        let ends = [0, POSE * pairs, 2 * POSE * pairs, 2 * (POSE + Shape::SIZES) * pairs];
        let mut data = vec![0.0; worlds * ends[3]];
        data.par_chunks_exact_mut(ends[3])
            .enumerate()
            .for_each(|(world, out)| operands.pull(world, grad.row(world), out));
        let of =
            |k: usize| tracked[k].then(|| gradient(&data, ends[3], ends[k]..ends[k + 1], rows[k], dtype)).transpose();
        Ok((of(0)?, of(1)?, of(2)?))
    }
}

/// A pose from its position and axes; none if they are not finite or no frame.
pub(super) fn isometry(pose: &[f64]) -> Option<Isometry3<f64>> {
    if !pose.iter().all(|x| x.is_finite()) {
        return None;
    }
    let rotation = Rotation3::from_matrix_unchecked(Matrix3::from_column_slice(&pose[3..]));
    let rotation = UnitQuaternion::from_rotation_matrix(&rotation);
    let rotation = UnitQuaternion::try_new(rotation.into_inner(), f64::EPSILON)?;
    Some(Isometry3::from_parts(Translation3::new(pose[0], pose[1], pose[2]), rotation))
}
