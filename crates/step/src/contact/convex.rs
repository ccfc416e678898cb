//! Pairs of shapes whose contacts have weights that vary. Some have a formula. The others go through
//! [`fingertip_shapes::collision`], world by world in double precision, see [`super::lanes::convex`].

use std::borrow::Cow;

use nalgebra::{Isometry3, Matrix3, Rotation3, Translation3, UnitQuaternion, Vector3};

use fingertip_scene::Shape;
use fingertip_shapes::collision::{
    BodyGradient, Collider, ContactPoint, ContactRates, Detail, Distance, DistanceGradient, Manifold, ManifoldGradient,
    ManifoldRates,
};
use fingertip_shapes::largest::USABLE;

use super::bound::Bound;
use super::grid::GridPair;
use super::kind::WeightedKind;
pub(super) use super::numbers::WEIGHTED_GEOMETRY;
use super::numbers::{OWN_RATES, UNUSED};

/// A pair of shapes whose contacts have weights that vary.
#[derive(Clone, Debug)]
pub struct ConvexPair {
    sides: [Side; 2],
    contacts: usize,
    /// The formula of the pair, if it has one, and whether the pair's A and B are the formula's B and A.
    formula: Option<(WeightedKind, bool)>,
    /// If one shape is a distance grid and the other is round.
    grid: Option<GridPair>,
    bounds: [Bound; 2],
    /// Shapes that are farther apart than its reach are taken for their bounds.
    detail: Detail,
}

/// One shape of a convex pair.
#[derive(Clone, Debug)]
struct Side {
    shape: Shape,
    /// The collider of a shape whose sizes do not vary (a hull, grid or half-space). It is made once, so that threads
    /// do not contend for a hull's reference count.
    collider: Option<Collider>,
}

/// The pose and sizes of a shape in one world: twelve numbers of the pose, [`Shape::SIZES`] of the sizes.
#[derive(Clone, Copy)]
pub(crate) struct Placement<'a> {
    pub(crate) pose: &'a [f64],
    pub(crate) sizes: &'a [f64],
}

impl Placement<'_> {
    /// Are all numbers in the usable range? Poses may be somewhat beyond the range of usable coordinates.
    fn is_usable(&self) -> bool {
        self.sizes.iter().all(|x| x.abs() <= USABLE) && self.pose.iter().all(|x| x.abs() <= USABLE * USABLE)
    }
}

/// The collider of a shape and its pose in one world.
type Placed<'a> = (Cow<'a, Collider>, Isometry3<f64>);

impl Side {
    /// Prepares a shape, with its collider if its sizes do not vary.
    fn new(shape: &Shape) -> Self {
        let is_fixed = matches!(shape, Shape::Hull(_) | Shape::Grid(_) | Shape::HalfSpace);
        let collider = is_fixed.then(|| Collider::new(shape));
        Self { shape: shape.clone(), collider }
    }

    /// The shape in one world; `None` if a number is out of the usable range.
    fn placed(&self, at: &Placement) -> Option<Placed<'_>> {
        if !at.is_usable() {
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
    /// Prepares a pair of two shapes, whose contacts are told apart as `detail` says: finds its formula or makes its
    /// colliders, and counts its contacts.
    pub fn new(a: &Shape, b: &Shape, detail: Detail) -> Self {
        let formula = WeightedKind::find(a, b);
        let searched = || Collider::new(a).most_points(&Collider::new(b), detail);
        let grid = GridPair::new(a, b, detail.reach);
        let of_grid = || grid.as_ref().map_or_else(searched, GridPair::contacts);
        let contacts = formula.map_or_else(of_grid, |(kind, _)| kind.contacts());
        let bounds = [Bound::new(a), Bound::new(b)];
        Self { sides: [Side::new(a), Side::new(b)], contacts, formula, grid, bounds, detail }
    }

    /// Is the signed distance of two shapes sampled on a grid?
    pub(crate) fn is_of_grid(a: &Shape, b: &Shape) -> bool {
        [a, b].iter().any(|shape| matches!(shape, Shape::Grid(_)))
    }

    /// Volumes that the shapes lie within, and the distance, m, from which on nothing nearer is computed, if there is
    /// one.
    pub fn bounds(&self) -> Option<(&[Bound; 2], f64)> {
        let Detail { reach, .. } = self.detail;
        (reach < f64::INFINITY).then_some((&self.bounds, reach))
    }

    /// The number of contacts that the pair has room for.
    pub fn contacts(&self) -> usize {
        self.contacts
    }

    /// The formula for lanes, and whether the pair's A and B are the formula's B and A. `None` for pairs whose closest
    /// points are searched for.
    pub(crate) fn formula(&self) -> Option<(WeightedKind, bool)> {
        self.formula
    }

    /// The number of rates that [`ConvexPair::rates`] fills in.
    pub fn n_rates(&self) -> usize {
        1 + OWN_RATES * self.contacts
    }

    /// Both shapes in one world; `None` if a number is out of the usable range.
    fn placed(&self, at: &[Placement; 2]) -> Option<[Placed<'_>; 2]> {
        Some([self.sides[0].placed(&at[0])?, self.sides[1].placed(&at[1])?])
    }

    /// Computes the pair's contacts, [`WEIGHTED_GEOMETRY`] numbers each: normal, points on A and B, φ, weight. Unused
    /// contacts repeat the first one, with φ = [`UNUSED`] and weight 0. All are NaN if a pose or size is not usable.
    /// Returns the distance of the shapes, for the derivatives.
    pub(super) fn witness(&self, at: &[Placement; 2], out: &mut [f64]) -> Option<Distance> {
        if let Some(grid) = &self.grid {
            let placed = self.placed(at);
            let Some([(_, a), (_, b)]) = &placed else {
                out.fill(f64::NAN);
                return None;
            };
            let at = [(a, at[0].sizes), (b, at[1].sizes)];
            grid.witness(at, out);
            return grid.deepest(at);
        }
        let found =
            self.placed(at).and_then(|[(a, pose_a), (b, pose_b)]| a.manifold(&pose_a, &b, &pose_b, self.detail));
        let Some(Manifold { distance, points, .. }) = found else {
            out.fill(f64::NAN);
            return None;
        };
        let Distance { normal, point_a, point_b, .. } = distance;
        let unused = ContactPoint { phi: UNUSED, point_a, point_b, weight: 0.0 };
        let unused = points.first().map_or(unused, |first| ContactPoint { phi: UNUSED, weight: 0.0, ..*first });
        for (slot, out) in out.chunks_exact_mut(WEIGHTED_GEOMETRY).enumerate() {
            let ContactPoint { phi, point_a, point_b, weight } = points.get(slot).unwrap_or(&unused);
            let vectors = [&normal, point_a, point_b].into_iter().flat_map(|v| v.iter());
            out.iter_mut().zip(vectors).for_each(|(out, x)| *out = *x);
            (out[9], out[10]) = (*phi, *weight);
        }
        Some(distance)
    }

    /// Vector-Jacobian product of [`ConvexPair::witness`]: the gradients of both shapes' motions (force, and moment
    /// about the shape's origin) and sizes, given the distance that it returned and the gradient `grad` of its
    /// contacts. `None` if a number is not usable or the result is not finite.
    pub(super) fn vjp(&self, at: &[Placement; 2], distance: &Distance, grad: &[f64]) -> Option<[BodyGradient; 2]> {
        let finite = |on: &BodyGradient| on.twist.iter().chain(&on.sizes).all(|x| x.is_finite());
        let gradient = |grad: &[f64]| {
            let vector = |i: usize| Vector3::from_column_slice(&grad[i..i + 3]);
            let contact = DistanceGradient { normal: vector(0), point_a: vector(3), point_b: vector(6), phi: grad[9] };
            ManifoldGradient { contact, weight: grad[10] }
        };
        let gradients: Vec<ManifoldGradient> = grad.chunks_exact(WEIGHTED_GEOMETRY).map(gradient).collect();
        let [(a, pose_a), (b, pose_b)] = &self.placed(at)?;
        let pulled = match &self.grid {
            Some(pair) => pair.vjp([(pose_a, at[0].sizes), (pose_b, at[1].sizes)], grad),
            None => distance.vjp_manifold((a, pose_a), (b, pose_b), self.detail, &gradients),
        };
        pulled.iter().all(finite).then_some(pulled)
    }

    /// Jacobian of [`ConvexPair::witness`] by the motion of one shape while the other stays, given the distance that it
    /// returned. The first number is 1 if B is the one that moves, 0 if A is. Then each contact has [`OWN_RATES`]
    /// numbers: for each of its numbers six rates, by the velocity of the moving shape's origin and by its angular
    /// velocity. All rates are zero for unused contacts, and if a pose or size is not usable.
    pub(super) fn rates(&self, at: &[Placement; 2], distance: &Distance, out: &mut [f64]) {
        out.fill(0.0);
        let Some([(a, pose_a), (b, pose_b)]) = &self.placed(at) else { return };
        if let Some(pair) = &self.grid {
            return pair.rates([(pose_a, at[0].sizes), (pose_b, at[1].sizes)], out);
        }
        let ManifoldRates { of_b, normal, points } = distance.manifold_rates((a, pose_a), (b, pose_b), self.detail);
        let (side, own) = out.split_at_mut(1);
        side[0] = if of_b { 1.0 } else { 0.0 };
        for (ContactRates { point_a, point_b, phi, weight }, out) in points.iter().zip(own.chunks_exact_mut(OWN_RATES))
        {
            out[..18].copy_from_slice(normal.as_flattened());
            out[18..36].copy_from_slice(point_a.as_flattened());
            out[36..54].copy_from_slice(point_b.as_flattened());
            out[54..60].copy_from_slice(phi);
            out[60..].copy_from_slice(weight);
        }
    }
}

/// The pose with this position and these axes; `None` if they are not finite or no rotation.
pub(super) fn isometry(pose: &[f64]) -> Option<Isometry3<f64>> {
    if !pose.iter().all(|x| x.is_finite()) {
        return None;
    }
    let rotation = Rotation3::from_matrix_unchecked(Matrix3::from_column_slice(&pose[3..]));
    let rotation = UnitQuaternion::from_rotation_matrix(&rotation);
    let rotation = UnitQuaternion::try_new(rotation.into_inner(), f64::EPSILON)?;
    Some(Isometry3::from_parts(Translation3::new(pose[0], pose[1], pose[2]), rotation))
}
