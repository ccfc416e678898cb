//! The contacts of pairs with weights, on lanes of worlds. Pairs without a formula are computed world by world, as
//! their queries branch freely, and in double precision whatever the lanes' precision is. That code is not compiled for
//! each instruction set, so that a world's bits are the same on all.

use nalgebra::Vector3;

use crate::contact::absence::{is_absent, leave};
use crate::contact::convex::{ConvexPair, Placement};
use crate::contact::kind::WeightedKind;
use crate::contact::numbers::{GEOMETRY, WEIGHTED_GEOMETRY};
use crate::kinematics::{POSE, Pose};
use fingertip_lanes::lane::{Lane, Mask, Number, Real, Zip};
use fingertip_scene::Shape;
use fingertip_shapes::collision::{BodyGradient, Distance};

use super::bound::Bounds;
use super::sides::{Reaction, Side};
use super::{box_capsule, boxes, capsule_capsule, formula, half_space_cylinder};

/// The number of numbers of a shape's pose and sizes.
const PLACE: usize = POSE + Shape::SIZES;

/// The poses and sizes of A and of B, in all worlds of a lane.
pub type Places<'a, R> = [(&'a [R], &'a [R]); 2];

/// Calls a function of [`formula`] with the formula that belongs to a kind of pair.
macro_rules! of_kind {
    ($kind:expr, $function:ident $arguments:tt) => {
        match $kind {
            WeightedKind::BoxBox => of_kind!(boxes::TwoBoxes, boxes, $function $arguments),
            WeightedKind::BoxCapsule => of_kind!(box_capsule::BoxCapsule, box_capsule, $function $arguments),
            WeightedKind::CapsuleCapsule => {
                of_kind!(capsule_capsule::CapsuleCapsule, capsule_capsule, $function $arguments)
            }
            WeightedKind::HalfSpaceCylinder => {
                of_kind!(half_space_cylinder::HalfSpaceCylinder, half_space_cylinder, $function $arguments)
            }
        }
    };
    ($formula:ty, $module:ident, $function:ident ($($argument:expr),*)) => {
        formula::$function::<_, $formula, { $module::POINTS }, { $module::NUMBERS }>($($argument),*)
    };
}

/// Computes the contacts of a pair, [`GEOMETRY`] numbers each, and their weights. For a pair without a formula also
/// `nearest`: normal, points and φ where the shapes are nearest, for the derivatives. If the pair is far in every
/// world, its `presence`, if there is one, says so.
#[inline(always)]
pub fn witness<R: Lane>(
    pair: &ConvexPair,
    places: Places<R>,
    (contacts, weights): (&mut [R], &mut [R]),
    nearest: &mut [R],
    presence: Option<&mut R>,
) {
    let Some((bounds, reach)) = pair.bounds() else {
        return near_witness(pair, places, R::Mask::splat(true), [contacts, weights, nearest]);
    };
    let bounds = Bounds::new(bounds, &sides(places));
    let far = bounds.are_far(reach);
    let near = far.not();
    if R::is_nowhere(near) {
        let Some(presence) = presence else { return bounds.fill(contacts, weights) };
        // Of what was absent before only the first contact changes.
        let changed = if is_absent(*presence) { 1 } else { weights.len() };
        bounds.fill(&mut contacts[..GEOMETRY * changed], &mut weights[..changed]);
        return leave(presence);
    }
    if let Some(presence) = presence {
        *presence = R::one();
    }
    R::when(
        near,
        &mut (&mut *contacts, &mut *weights, nearest),
        #[inline(always)]
        |(contacts, weights, nearest)| near_witness(pair, places, near, [contacts, weights, nearest]),
    );
    R::when(
        far,
        &mut (contacts, weights),
        #[inline(always)]
        |(contacts, weights)| bounds.put(far, contacts, weights),
    );
}

/// φ of the bounds of a pair, m, which stands for that of its shapes where they are far; none if it has no bounds.
#[inline(always)]
pub(crate) fn far_distance<R: Real>(pair: &ConvexPair, places: Places<R>) -> Option<R> {
    pair.bounds().map(|(bounds, _)| Bounds::new(bounds, &sides(places)).distance())
}

/// [`witness`] in worlds of the mask. Others get any numbers.
#[inline(always)]
fn near_witness<R: Lane>(
    pair: &ConvexPair,
    places: Places<R>,
    near: R::Mask,
    [contacts, weights, nearest]: [&mut [R]; 3],
) {
    if let Some((kind, swapped)) = pair.formula() {
        return of_kind!(kind, witness(&sides(places), swapped, contacts, weights));
    }
    let [(pose_a, size_a), (pose_b, size_b)] = places;
    let needed = [indicator(near)];
    R::exchange(
        [pose_a, size_a, pose_b, size_b, &needed],
        [contacts, weights, nearest],
        |[pose_a, size_a, pose_b, size_b, needed], out| {
            let worlds = Worlds { width: R::WIDTH, places: [pose_a, size_a, pose_b, size_b] };
            witness_worlds(pair, worlds, needed, out);
        },
    );
}

/// Vector-Jacobian product of [`witness`]: sets the wrenches on both shapes (force, then moment about the shape's
/// origin) and the gradients of their sizes. It takes `nearest` as [`witness`] set it, and the gradients of the
/// contacts and their weights. Worlds where those are all zero are skipped.
#[inline(always)]
pub fn vjp<R: Lane>(
    pair: &ConvexPair,
    places: Places<R>,
    nearest: &[R],
    (contacts, weights): (&[R], &[R]),
    wrenches: &mut [[R; 6]; 2],
    sizes: &mut [[R; Shape::SIZES]; 2],
) {
    // Those of a contact do not wait for each other.
    let mut most = [R::zero(); GEOMETRY];
    for contact in contacts.as_chunks::<GEOMETRY>().0 {
        for (most, gradient) in most.iter_mut().zip_inline(contact) {
            *most = most.max(gradient.abs());
        }
    }
    let mut all = R::zero();
    for most in most {
        all = all.max(most);
    }
    for gradient in weights {
        all = all.max(gradient.abs());
    }
    let mut needed = all.gt(R::zero());
    let mut reactions = (Reaction::none(), Reaction::none());
    if let Some((bounds, reach)) = pair.bounds() {
        let sides = &sides(places);
        let placed = Bounds::new(bounds, sides);
        let far = placed.are_far(reach).and(needed);
        R::when(
            far,
            &mut reactions,
            #[inline(always)]
            |(on_a, on_b)| placed.vjp(far, contacts, (bounds, sides), [on_a, on_b]),
        );
        needed = needed.and(far.not());
    }
    let [on_a, on_b] = wrenches;
    let [grow_a, grow_b] = sizes;
    if let Some((kind, swapped)) = pair.formula() {
        of_kind!(kind, vjp(&self::sides(places), swapped, needed, (contacts, weights), &mut reactions));
    } else {
        let [(pose_a, size_a), (pose_b, size_b)] = places;
        R::exchange(
            [pose_a, size_a, pose_b, size_b, nearest, contacts, weights, &[indicator(needed)]],
            [&mut *on_a, &mut *grow_a, &mut *on_b, &mut *grow_b],
            |[pose_a, size_a, pose_b, size_b, nearest, contacts, weights, needed], [on_a, grow_a, on_b, grow_b]| {
                let worlds = Worlds { width: R::WIDTH, places: [pose_a, size_a, pose_b, size_b] };
                vjp_worlds(pair, worlds, (nearest, needed), (contacts, weights), [(on_a, grow_a), (on_b, grow_b)]);
            },
        );
    }
    reactions.0.add_to(on_a, grow_a);
    reactions.1.add_to(on_b, grow_b);
}

/// 1 in worlds of the mask, 0 in the others.
#[inline(always)]
fn indicator<R: Real>(mask: R::Mask) -> R {
    R::select(mask, R::one(), R::zero())
}

/// Jacobian of [`witness`] by the motion of one shape, in the layout of `ConvexPair::rates`. In worlds where `needed`
/// is not positive it is zero.
#[inline(always)]
pub fn rates<R: Lane>(pair: &ConvexPair, places: Places<R>, nearest: &[R], needed: R, rates: &mut [R]) {
    if let Some((kind, swapped)) = pair.formula() {
        return of_kind!(kind, rates(&sides(places), swapped, needed.gt(R::zero()), rates));
    }
    let [(pose_a, size_a), (pose_b, size_b)] = places;
    R::exchange(
        [pose_a, size_a, pose_b, size_b, nearest, &[needed]],
        [rates],
        |[pose_a, size_a, pose_b, size_b, nearest, needed], [rates]| {
            let worlds = Worlds { width: R::WIDTH, places: [pose_a, size_a, pose_b, size_b] };
            rates_of_worlds(pair, worlds, nearest, needed, rates);
        },
    );
}

/// The pair's two sides, from their poses and sizes.
#[inline(always)]
fn sides<R: Real>([(pose_a, size_a), (pose_b, size_b)]: Places<R>) -> [Side<R>; 2] {
    [Side::new(&Pose::read(pose_a), size_a), Side::new(&Pose::read(pose_b), size_b)]
}

/// [`Places`] as plain numbers, those of `width` worlds side by side.
struct Worlds<'a, N> {
    width: usize,
    /// Pose and sizes of A, then of B.
    places: [&'a [N]; 4],
}

impl<N: Number> Worlds<'_, N> {
    /// The pose and sizes of both shapes in one world.
    fn at(&self, world: usize) -> [[f64; PLACE]; 2] {
        let [pose_a, sizes_a, pose_b, sizes_b] = self.places;
        [(pose_a, sizes_a), (pose_b, sizes_b)].map(|(pose, sizes)| {
            let mut all = [0.0; PLACE];
            self.gather(world, pose, &mut all[..POSE]);
            self.gather(world, sizes, &mut all[POSE..]);
            all
        })
    }

    /// The distance that [`witness`] found in one world; `None` if a number was not usable there.
    fn distance(&self, world: usize, nearest: &[N]) -> Option<Distance> {
        let mut all = [0.0; GEOMETRY];
        self.gather(world, nearest, &mut all);
        let vector = |k: usize| Vector3::new(all[k], all[k + 1], all[k + 2]);
        let found = Distance { normal: vector(0), point_a: vector(3), point_b: vector(6), phi: all[9] };
        found.phi.is_finite().then_some(found)
    }

    /// Copies the numbers of one world out of lanes.
    fn gather(&self, world: usize, from: &[N], to: &mut [f64]) {
        from[world..].iter().step_by(self.width).zip(to).for_each(|(from, to)| *to = from.value());
    }

    /// Copies the numbers of one world into lanes.
    fn scatter(&self, world: usize, from: &[f64], to: &mut [N]) {
        to[world..].iter_mut().step_by(self.width).zip(from).for_each(|(to, from)| *to = N::of(*from));
    }
}

/// Splits the numbers of both shapes in one world into pose and sizes.
fn placed(at: &[[f64; PLACE]; 2]) -> [Placement<'_>; 2] {
    at.each_ref().map(|at| Placement { pose: &at[..POSE], sizes: &at[POSE..] })
}

/// [`witness`] for a pair without a formula, world by world, where `needed` is positive.
#[inline(never)]
fn witness_worlds<N: Number>(
    pair: &ConvexPair,
    worlds: Worlds<N>,
    needed: &[N],
    [contacts, weights, nearest]: [&mut [N]; 3],
) {
    let found = &mut vec![0.0; WEIGHTED_GEOMETRY * pair.contacts()];
    for world in (0..worlds.width).filter(|&world| needed[world].value() > 0.0) {
        let distance = pair.witness(&placed(&worlds.at(world)), found);
        for (k, contact) in found.as_chunks::<WEIGHTED_GEOMETRY>().0.iter().enumerate() {
            worlds.scatter(world, &contact[..GEOMETRY], &mut contacts[worlds.width * GEOMETRY * k..]);
            worlds.scatter(world, &contact[GEOMETRY..], &mut weights[worlds.width * k..]);
        }
        let all = distance.map_or([f64::NAN; GEOMETRY], |Distance { phi, point_a, point_b, normal: n }| {
            [n.x, n.y, n.z, point_a.x, point_a.y, point_a.z, point_b.x, point_b.y, point_b.z, phi]
        });
        worlds.scatter(world, &all, nearest);
    }
}

/// [`pull`] for a pair without a formula, world by world, where `needed` is positive.
#[inline(never)]
fn vjp_worlds<N: Number>(
    pair: &ConvexPair,
    worlds: Worlds<N>,
    (nearest, needed): (&[N], &[N]),
    (contacts, weights): (&[N], &[N]),
    mut to: [(&mut [N], &mut [N]); 2],
) {
    let gradients = &mut vec![0.0; WEIGHTED_GEOMETRY * pair.contacts()];
    for world in (0..worlds.width).filter(|&world| needed[world].value() > 0.0) {
        for (k, contact) in gradients.as_chunks_mut::<WEIGHTED_GEOMETRY>().0.iter_mut().enumerate() {
            worlds.gather(world, &contacts[worlds.width * GEOMETRY * k..], &mut contact[..GEOMETRY]);
            worlds.gather(world, &weights[worlds.width * k..], &mut contact[GEOMETRY..]);
        }
        let pulled = worlds
            .distance(world, nearest)
            .and_then(|distance| pair.vjp(&placed(&worlds.at(world)), &distance, gradients));
        for ((wrench, grow), BodyGradient { twist, sizes }) in to.iter_mut().zip(pulled.into_iter().flatten()) {
            worlds.scatter(world, twist.as_slice(), wrench);
            worlds.scatter(world, &sizes, grow);
        }
    }
}

/// [`rates`] for a pair without a formula, world by world.
#[inline(never)]
fn rates_of_worlds<N: Number>(pair: &ConvexPair, worlds: Worlds<N>, nearest: &[N], needed: &[N], rates: &mut [N]) {
    let found = &mut vec![0.0; pair.n_rates()];
    for world in 0..worlds.width {
        match worlds.distance(world, nearest).filter(|_| needed[world].value() > 0.0) {
            Some(distance) => pair.rates(&placed(&worlds.at(world)), &distance, found),
            None => found.fill(0.0),
        }
        worlds.scatter(world, found, rates);
    }
}
