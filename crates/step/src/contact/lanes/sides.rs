//! Types that the contacts of a pair are written with: its two sides, their motions, the contacts, and the gradients on
//! the sides.

use super::total;
use crate::contact::numbers::{GEOMETRY, NORMAL, PHI, POINT_A, POINT_B};
use crate::kinematics::Pose;
use crate::kinematics::spatial::Twist;
use fingertip_lanes::lane::{Real, copy, state};
use fingertip_lanes::vector::{Vec3, add, cross, sub, zero};
use fingertip_scene::Shape;

/// A shape in the world: its pose and sizes.
#[derive(Clone, Copy)]
pub(super) struct Side<R> {
    pub(super) pose: Pose<R>,
    /// The sizes, in the order of [`Shape::sizes`].
    pub(super) size: [R; Shape::SIZES],
}

impl<R: Real> Side<R> {
    /// A shape at this pose with these sizes.
    #[inline(always)]
    pub(super) fn new(pose: &Pose<R>, size: &[R]) -> Self {
        Self { pose: *pose, size: [size[0], size[1], size[2], size[3]] }
    }

    /// Both sides in the order of the formula: exchanged if `swapped`.
    #[inline(always)]
    pub(super) fn ordered(swapped: bool, a: Self, b: Self) -> (Self, Self) {
        if swapped { (b, a) } else { (a, b) }
    }

    /// The half extents of a box's core: without its rounding.
    #[inline(always)]
    pub(super) fn box_core(&self) -> Vec3<R> {
        let [x, y, z, rounding] = self.size;
        [x - rounding, y - rounding, z - rounding]
    }
}

/// The twist of a side, or none if it does not move.
#[derive(Clone, Copy)]
pub struct Motion<R>(pub Option<Twist<R>>);

impl<R: Real> Motion<R> {
    /// The velocity of the side's point that is at p.
    #[inline(always)]
    pub(super) fn velocity(&self, p: Vec3<R>) -> Vec3<R> {
        match self.0 {
            Some(twist) => twist.velocity(p),
            None => zero(),
        }
    }

    /// The rate of change of a vector that is fixed to the side.
    #[inline(always)]
    pub(super) fn turn(&self, vector: Vec3<R>) -> Vec3<R> {
        match self.0 {
            Some(twist) => cross(twist.omega, vector),
            None => zero(),
        }
    }
}

/// A contact, the gradient of one, or its rate of change.
#[derive(Clone, Copy)]
pub(super) struct Contact<R> {
    pub(super) normal: Vec3<R>,
    pub(super) point_a: Vec3<R>,
    pub(super) point_b: Vec3<R>,
    pub(super) phi: R,
}

impl<R: Real> Contact<R> {
    /// The contact with A and B exchanged, if `swapped`.
    #[inline(always)]
    fn named(self, swapped: bool) -> Self {
        if !swapped {
            return self;
        }
        let [x, y, z] = self.normal;
        Self { normal: [-x, -y, -z], point_a: self.point_b, point_b: self.point_a, phi: self.phi }
    }
}

/// The contacts of a pair as rows of numbers, to write to. Exchanges A and B on the way if `swapped`.
pub(super) struct Contacts<'a, R> {
    pub(super) numbers: &'a mut [R],
    pub(super) swapped: bool,
}

impl<R: Real> Contacts<'_, R> {
    /// Sets contact k, given with the sides of the formula.
    #[inline(always)]
    pub(super) fn set(&mut self, k: usize, contact: Contact<R>) {
        let contact = contact.named(self.swapped);
        let to = &mut self.numbers[GEOMETRY * k..GEOMETRY * (k + 1)];
        copy(&mut to[NORMAL..POINT_A], &contact.normal);
        copy(&mut to[POINT_A..POINT_B], &contact.point_a);
        copy(&mut to[POINT_B..PHI], &contact.point_b);
        to[PHI] = contact.phi;
    }
}

/// The gradients of a pair's contacts as rows of numbers, to read from. Exchanges A and B on the way if `swapped`.
pub(super) struct Gradients<'a, R> {
    pub(super) numbers: &'a [R],
    pub(super) swapped: bool,
}

impl<R: Real> Gradients<'_, R> {
    /// The numbers of the gradient of contact k.
    #[inline(always)]
    pub(super) fn of(&self, k: usize) -> &[R] {
        &self.numbers[GEOMETRY * k..GEOMETRY * (k + 1)]
    }

    /// The gradient of contact k, with the sides of the formula.
    #[inline(always)]
    pub(super) fn get(&self, k: usize) -> Contact<R> {
        let from = self.of(k);
        let v = |i: usize| [from[i], from[i + 1], from[i + 2]];
        Contact { normal: v(NORMAL), point_a: v(POINT_A), point_b: v(POINT_B), phi: from[PHI] }.named(self.swapped)
    }
}

/// The gradients of a shape's pose and sizes: a force, a moment about its origin, and one number per size.
#[derive(Clone, Copy)]
pub(super) struct Reaction<R> {
    pub(super) force: Vec3<R>,
    pub(super) moment: Vec3<R>,
    pub(super) size: [R; Shape::SIZES],
}

state!(Reaction { numbers: [], flags: [], states: [force, moment, size] });

impl<R: Real> Reaction<R> {
    /// A reaction of zeros.
    #[inline(always)]
    pub(super) fn none() -> Self {
        Self { force: zero(), moment: zero(), size: [R::zero(); Shape::SIZES] }
    }

    /// Adds a force at the shape's origin: the gradient of the position.
    #[inline(always)]
    pub(super) fn push(&mut self, force: Vec3<R>) {
        self.force = add(self.force, force);
    }

    /// Adds the gradient of Rᵀ(x − o), the point x in the shape's frame, where d = x − o and `force` is that gradient
    /// in the world.
    #[inline(always)]
    pub(super) fn carry(&mut self, d: Vec3<R>, force: Vec3<R>) {
        self.force = sub(self.force, force);
        self.turn_back(d, force);
    }

    /// Adds the gradient of a vector that is fixed to the shape.
    #[inline(always)]
    pub(super) fn turn(&mut self, vector: Vec3<R>, gradient: Vec3<R>) {
        self.moment = add(self.moment, cross(vector, gradient));
    }

    /// Adds the gradient of Rᵀw, a vector w in the shape's frame that is not fixed to the shape, where `gradient` is in
    /// the world.
    #[inline(always)]
    pub(super) fn turn_back(&mut self, vector: Vec3<R>, gradient: Vec3<R>) {
        self.moment = sub(self.moment, cross(vector, gradient));
    }

    /// Adds the gradient of the half extents that [`Side::box_core`] gives.
    #[inline(always)]
    pub(super) fn grow_box_core(&mut self, gradient: Vec3<R>) {
        for i in 0..3 {
            self.size[i] += gradient[i];
            self.size[3] -= gradient[i];
        }
    }

    /// Adds the reaction `yes` in worlds where the mask is set, and `no` in the others.
    #[inline(always)]
    pub(super) fn accumulate(&mut self, mask: R::Mask, yes: &Self, no: &Self) {
        self.force = add(self.force, total::choose(mask, yes.force, no.force));
        self.moment = add(self.moment, total::choose(mask, yes.moment, no.moment));
        for i in 0..Shape::SIZES {
            self.size[i] += R::select(mask, yes.size[i], no.size[i]);
        }
    }

    /// Adds this reaction to a wrench (force, then moment) and to the gradient of the sizes.
    #[inline(always)]
    pub(super) fn add_to(&self, wrench: &mut [R], size: &mut [R]) {
        for i in 0..3 {
            wrench[i] += self.force[i];
            wrench[3 + i] += self.moment[i];
        }
        for i in 0..Shape::SIZES {
            size[i] += self.size[i];
        }
    }
}
