//! Pairs without a formula of their own, through [`crate::collision`]: one custom operation for all worlds.

use std::ops::Range;
use std::sync::Arc;

use candle_core::{CpuStorage, CustomOp3, Device, Layout, Result, Tensor, bail};
use nalgebra::{Isometry3, Matrix3, Rotation3, Translation3, UnitQuaternion, Vector3};
use rayon::prelude::*;

use crate::collision::{BodyGradient, Collider, DistanceGradient, Manifold, ManifoldGradient};
use crate::description::Shape;
use crate::math::rows::{Rows, gradient, storage, worlds};

use super::pair::Shapes;

/// The φ of a contact that a pair has room for but not at this configuration, m; it takes no part in a step.
pub const UNUSED: f64 = 1e3;

/// Numbers of a contact: normal, point on A, point on B, φ, weight.
pub(super) const CONTACT: usize = 11;
const POSE: usize = 12;

/// Pairs of shapes of two kinds.
#[derive(Clone, Debug)]
pub(super) struct ConvexPairs(Arc<Vec<ConvexPair>>);

#[derive(Debug)]
struct ConvexPair {
    shapes: (Shape, Shape),
    /// Its numbers among all contacts'.
    numbers: Range<usize>,
}

/// Contacts that a pair has room for: the points that a manifold can have.
pub(super) fn contacts(a: &Shape, b: &Shape) -> usize {
    Collider::new(a).most_points(&Collider::new(b))
}

impl ConvexPairs {
    pub(super) fn new(pairs: impl Iterator<Item = (Shape, Shape)>) -> Self {
        let mut end = 0;
        let pairs = pairs.map(|shapes| {
            let first = end;
            end += CONTACT * contacts(&shapes.0, &shapes.1);
            ConvexPair { shapes, numbers: first..end }
        });
        Self(Arc::new(pairs.collect()))
    }

    /// Contacts (B, n, 11) of all pairs in B worlds, [`contacts`] for each: normal, points on A and B, φ, weight. Those that
    /// are not there repeat the first with φ = [`UNUSED`] and no weight. NaN where a pose or size is not usable.
    pub(super) fn contacts(&self, a: &Shapes, b: &Shapes) -> Result<Tensor> {
        let device = a.pose.device();
        let on_cpu = |t: &Tensor| t.to_device(&Device::Cpu)?.flatten_from(1)?.contiguous();
        let sizes = Tensor::cat(&[&a.size, &b.size], 1)?;
        let rows = on_cpu(&a.pose)?.apply_op3(&on_cpu(&b.pose)?, &on_cpu(&sizes)?, ConvexOp(self.clone()))?;
        rows.reshape((a.pose.dim(0)?, (), CONTACT))?.to_device(device)
    }

    /// Of all contacts.
    fn n_numbers(&self) -> usize {
        self.0.last().map_or(0, |pair| pair.numbers.end)
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
        let (a, b) = &self.pairs.0[k].shapes;
        let side = |shape: &Shape, pose: &Rows, place: usize| -> Option<Placed> {
            let sizes = &self.sizes.row(world)[Shape::SIZES * place..Shape::SIZES * (place + 1)];
            let collider = Collider::with_sizes(shape, std::array::from_fn(|i| sizes[i]))?;
            Some((collider, isometry(&pose.row(world)[POSE * k..POSE * (k + 1)])?))
        };
        Some([side(a, &self.pose_a, k)?, side(b, &self.pose_b, self.pairs.0.len() + k)?])
    }

    fn manifold([(a, pose_a), (b, pose_b)]: &[Placed; 2]) -> Option<Manifold> {
        a.manifold(pose_a, b, pose_b, f64::INFINITY)
    }

    /// The contacts of a world, one after the other.
    fn row(&self, world: usize, out: &mut [f64]) {
        for (k, pair) in self.pairs.0.iter().enumerate() {
            let out = &mut out[pair.numbers.clone()];
            let found = self.pair(world, k).and_then(|pair| Self::manifold(&pair));
            let Some((Manifold { distance, points }, first)) =
                found.as_ref().and_then(|m| Some((m, m.points.first()?)))
            else {
                out.fill(f64::NAN);
                continue;
            };
            for (slot, out) in out.chunks_exact_mut(CONTACT).enumerate() {
                let point = points.get(slot).unwrap_or(first);
                let vectors = [&distance.normal, &point.point_a, &point.point_b].into_iter().flat_map(|v| v.iter());
                out.iter_mut().zip(vectors).for_each(|(out, x)| *out = *x);
                let used = slot < points.len();
                (out[9], out[10]) = if used { (point.phi, point.weight) } else { (UNUSED, 0.0) };
            }
        }
    }

    /// Gradients by A's poses, B's poses and all sizes of a world, one after the other.
    fn pull(&self, world: usize, grad: &[f64], out: &mut [f64]) {
        let n = self.pairs.0.len();
        for (k, pair) in self.pairs.0.iter().enumerate() {
            let Some(placed) = self.pair(world, k) else { continue };
            let Some(manifold) = Self::manifold(&placed) else { continue };
            let gradients: Vec<ManifoldGradient> = grad[pair.numbers.clone()]
                .chunks_exact(CONTACT)
                .take(manifold.points.len())
                .map(|grad| {
                    let vector = |i: usize| Vector3::from_column_slice(&grad[i..i + 3]);
                    let contact =
                        DistanceGradient { normal: vector(0), point_a: vector(3), point_b: vector(6), phi: grad[9] };
                    ManifoldGradient { contact, weight: grad[10] }
                })
                .collect();
            let [(a, pose_a), (b, pose_b)] = &placed;
            let [on_a, on_b] = manifold.pull((a, pose_a), (b, pose_b), &gradients);
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
        let (worlds, n) = (operands.check()?, self.0.n_numbers());
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
