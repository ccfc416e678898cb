//! Pairs without a formula of their own, through [`crate::collision`]: world by world in double precision for the fused step,
//! see [`super::lanes::convex`], and one custom operation for all worlds.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use candle_core::{CpuStorage, CustomOp3, Device, Layout, Result, Tensor, bail};
use nalgebra::{Isometry3, Matrix3, Rotation3, Translation3, UnitQuaternion, Vector3};
use rayon::prelude::*;

use crate::collision::{
    BodyGradient, Collider, ContactRates, Distance, DistanceGradient, Manifold, ManifoldGradient, ManifoldRates,
};
use crate::description::Shape;
use crate::kinematics::POSE;
use crate::math::largest::USABLE;
use crate::math::rows::{Rows, gradient, storage, worlds};

use super::lanes::GEOMETRY;
use super::pair::Shapes;

/// The φ of a contact that a pair has room for but not at this configuration, m; it takes no part in a step.
pub const UNUSED: f64 = 1e3;

/// Numbers of a contact's geometry and weight: normal, point on A, point on B, φ, weight.
pub(super) const WEIGHTED_GEOMETRY: usize = GEOMETRY + 1;
/// Rates of a pair's contacts, six for each number: whose motion they are by, of the normal, which all contacts share, ...
pub(crate) const SHARED_RATES: usize = 1 + 18;
/// ... and of a contact's point on A, point on B, φ and weight.
pub(crate) const OWN_RATES: usize = 48;

/// Two shapes without a formula of their own.
#[derive(Clone, Debug)]
pub(crate) struct ConvexPair {
    sides: [Side; 2],
    contacts: usize,
}

#[derive(Clone, Debug)]
struct Side {
    shape: Shape,
    /// Of a shape whose sizes say nothing: threads do not have to take turns at counting a hull's owners.
    collider: Option<Collider>,
}

/// Where a shape is and how large, in one world: twelve numbers of its pose, [`Shape::SIZES`] of its sizes.
#[derive(Clone, Copy)]
pub(crate) struct Placement<'a> {
    pub(crate) pose: &'a [f64],
    pub(crate) sizes: &'a [f64],
}

/// A shape where it is in one world.
type Placed<'a> = (Cow<'a, Collider>, Isometry3<f64>);

impl Side {
    fn new(shape: &Shape) -> Self {
        let is_fixed = matches!(shape, Shape::Hull(_) | Shape::HalfSpace);
        Self { shape: shape.clone(), collider: is_fixed.then(|| Collider::new(shape)) }
    }

    /// None where a number is not usable.
    fn placed(&self, at: &Placement) -> Option<Placed<'_>> {
        // A place may be somewhat farther away than its usable coordinates say.
        if at.sizes.iter().any(|x| x.abs() > USABLE) || at.pose.iter().any(|x| x.abs() > USABLE * USABLE) {
            return None;
        }
        let collider = match &self.collider {
            Some(collider) => Cow::Borrowed(collider),
            None => Cow::Owned(Collider::with_sizes(&self.shape, std::array::from_fn(|i| at.sizes[i]))?),
        };
        Some((collider, isometry(at.pose)?))
    }
}

impl ConvexPair {
    pub(crate) fn new(a: &Shape, b: &Shape) -> Self {
        let contacts = Collider::new(a).most_points(&Collider::new(b));
        Self { sides: [Side::new(a), Side::new(b)], contacts }
    }

    /// Contacts that the pair has room for: the points that a manifold can have.
    pub(crate) fn contacts(&self) -> usize {
        self.contacts
    }

    /// Are both boxes? Those have formulas on lanes, see [`super::lanes::convex`].
    pub(crate) fn are_boxes(&self) -> bool {
        self.sides.iter().all(|side| matches!(side.shape, Shape::Box { .. }))
    }

    /// Rates of all its contacts.
    pub(crate) fn n_rates(&self) -> usize {
        SHARED_RATES + OWN_RATES * self.contacts
    }

    fn placed(&self, at: &[Placement; 2]) -> Option<[Placed<'_>; 2]> {
        Some([self.sides[0].placed(&at[0])?, self.sides[1].placed(&at[1])?])
    }

    /// Fills in the pair's contacts, [`WEIGHTED_GEOMETRY`] numbers each: normal, points on A and B, φ, weight. Those that are not there
    /// repeat the first with φ = [`UNUSED`] and no weight. NaN where a pose or size is not usable. Returns the distance.
    pub(super) fn witness(&self, at: &[Placement; 2], out: &mut [f64]) -> Option<Distance> {
        let found =
            self.placed(at).and_then(|[(a, pose_a), (b, pose_b)]| a.manifold(&pose_a, &b, &pose_b, f64::INFINITY));
        let Some((Manifold { distance, points }, first)) = found.as_ref().and_then(|m| Some((m, m.points.first()?)))
        else {
            out.fill(f64::NAN);
            return None;
        };
        for (slot, out) in out.chunks_exact_mut(WEIGHTED_GEOMETRY).enumerate() {
            let point = points.get(slot).unwrap_or(first);
            let vectors = [&distance.normal, &point.point_a, &point.point_b].into_iter().flat_map(|v| v.iter());
            out.iter_mut().zip(vectors).for_each(|(out, x)| *out = *x);
            let used = slot < points.len();
            (out[9], out[10]) = if used { (point.phi, point.weight) } else { (UNUSED, 0.0) };
        }
        Some(*distance)
    }

    /// The distance that [`ConvexPair::witness`] returns.
    fn distance(&self, at: &[Placement; 2]) -> Option<Distance> {
        let [(a, pose_a), (b, pose_b)] = self.placed(at)?;
        a.distance(&pose_a, &b, &pose_b)
    }

    /// Gradients by the motions (force, and moment about the shape's origin) and sizes of both shapes, given those of what
    /// [`ConvexPair::witness`] gives, with its distance; none where a number is not usable or what comes of it is not finite.
    pub(super) fn pull(&self, at: &[Placement; 2], distance: &Distance, grad: &[f64]) -> Option<[BodyGradient; 2]> {
        let [(a, pose_a), (b, pose_b)] = &self.placed(at)?;
        let gradient = |grad: &[f64]| {
            let vector = |i: usize| Vector3::from_column_slice(&grad[i..i + 3]);
            let contact = DistanceGradient { normal: vector(0), point_a: vector(3), point_b: vector(6), phi: grad[9] };
            ManifoldGradient { contact, weight: grad[10] }
        };
        let gradients: Vec<ManifoldGradient> = grad.chunks_exact(WEIGHTED_GEOMETRY).map(gradient).collect();
        let pulled = distance.pull_manifold((a, pose_a), (b, pose_b), &gradients);
        let finite = |on: &BodyGradient| on.twist.iter().chain(&on.sizes).all(|x| x.is_finite());
        pulled.iter().all(finite).then_some(pulled)
    }

    /// Fills in how what [`ConvexPair::witness`] gives changes with a motion of one shape while the other stays, given its
    /// distance: 1 if B moves or 0 if A does; then six for each number, by the velocity of that shape's origin and its angular
    /// velocity: those of the normal, and [`OWN_RATES`] for each contact. Zero for contacts that are not there, and where a
    /// number is not usable.
    pub(super) fn rates(&self, at: &[Placement; 2], distance: &Distance, out: &mut [f64]) {
        out.fill(0.0);
        let Some([(a, pose_a), (b, pose_b)]) = &self.placed(at) else { return };
        let ManifoldRates { of_b, normal, points } = distance.manifold_rates((a, pose_a), (b, pose_b));
        let (shared, own) = out.split_at_mut(SHARED_RATES);
        shared[0] = if of_b { 1.0 } else { 0.0 };
        shared[1..].copy_from_slice(normal.as_flattened());
        for (ContactRates { point_a, point_b, phi, weight }, out) in points.iter().zip(own.chunks_exact_mut(OWN_RATES))
        {
            out[..18].copy_from_slice(point_a.as_flattened());
            out[18..36].copy_from_slice(point_b.as_flattened());
            out[36..42].copy_from_slice(phi);
            out[42..].copy_from_slice(weight);
        }
    }
}

/// Pairs of shapes of two kinds, and where the numbers of each are among those of all contacts.
#[derive(Clone, Debug)]
pub(super) struct ConvexPairs(Arc<Vec<(ConvexPair, Range<usize>)>>);

impl ConvexPairs {
    pub(super) fn new<'a>(pairs: impl Iterator<Item = (&'a Shape, &'a Shape)>) -> Self {
        let mut end = 0;
        let pairs = pairs.map(|(a, b)| {
            let (pair, first) = (ConvexPair::new(a, b), end);
            end += WEIGHTED_GEOMETRY * pair.contacts();
            (pair, first..end)
        });
        Self(Arc::new(pairs.collect()))
    }

    /// Contacts (B, n, 11) of all pairs in B worlds, as [`ConvexPair::witness`] gives them.
    pub(super) fn contacts(&self, a: &Shapes, b: &Shapes) -> Result<Tensor> {
        let device = a.pose.device();
        let on_cpu = |t: &Tensor| t.to_device(&Device::Cpu)?.flatten_from(1)?.contiguous();
        let sizes = Tensor::cat(&[&a.size, &b.size], 1)?;
        let rows = on_cpu(&a.pose)?.apply_op3(&on_cpu(&b.pose)?, &on_cpu(&sizes)?, ConvexOp(self.clone()))?;
        rows.reshape((a.pose.dim(0)?, (), WEIGHTED_GEOMETRY))?.to_device(device)
    }

    /// Of all contacts.
    fn n_numbers(&self) -> usize {
        self.0.last().map_or(0, |(_, numbers)| numbers.end)
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

    /// The shapes of pair `k` in a world.
    fn pair(&self, world: usize, k: usize) -> [Placement<'_>; 2] {
        [(&self.pose_a, k), (&self.pose_b, self.pairs.0.len() + k)].map(|(pose, place)| Placement {
            pose: &pose.row(world)[POSE * k..POSE * (k + 1)],
            sizes: &self.sizes.row(world)[Shape::SIZES * place..Shape::SIZES * (place + 1)],
        })
    }

    /// The contacts of a world, one after the other.
    fn row(&self, world: usize, out: &mut [f64]) {
        for (k, (pair, numbers)) in self.pairs.0.iter().enumerate() {
            pair.witness(&self.pair(world, k), &mut out[numbers.clone()]);
        }
    }

    /// Gradients by A's poses, B's poses and all sizes of a world, one after the other.
    fn pull(&self, world: usize, grad: &[f64], out: &mut [f64]) {
        let n = self.pairs.0.len();
        for (k, (pair, numbers)) in self.pairs.0.iter().enumerate() {
            let at = self.pair(world, k);
            let pulled = pair.distance(&at).and_then(|distance| pair.pull(&at, &distance, &grad[numbers.clone()]));
            let Some([on_a, on_b]) = pulled else { continue };
            for (gradient, at, place) in [(on_a, &at[0], k), (on_b, &at[1], n + k)] {
                let BodyGradient { twist, sizes } = gradient;
                let moment = twist.fixed_rows::<3>(3).into_owned();
                let out_pose = &mut out[POSE * place..POSE * (place + 1)];
                (0..3).for_each(|i| out_pose[i] += twist[i]);
                // ½ m × r: turning by θ moves each axis r by θ × r, and Σ (m × r)·(θ × r) = 2 m·θ.
                for (axis, out) in at.pose[3..].chunks_exact(3).zip(out_pose[3..].chunks_exact_mut(3)) {
                    let pulled = moment.cross(&Vector3::from_column_slice(axis)) / 2.0;
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
