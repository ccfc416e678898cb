//! What pairs are written with: two sides, their contacts, and what gradients do to the sides.

use super::total;
use crate::contact::numbers::GEOMETRY;
use crate::kinematics::Pose;
use crate::kinematics::spatial::Twist;
use fingertip_lanes::lane::{Real, copy, state};
use fingertip_lanes::vector::{Vec3, add, cross, sub, zero};
use fingertip_scene::Shape;

/// A shape: where it is and how large.
#[derive(Clone, Copy)]
pub(super) struct Side<R> {
    pub(super) pose: Pose<R>,
    /// As [`Shape::sizes`] orders them.
    pub(super) size: [R; Shape::SIZES],
}

impl<R: Real> Side<R> {
    #[inline(always)]
    pub(super) fn new(pose: &Pose<R>, size: &[R]) -> Self {
        Self { pose: *pose, size: [size[0], size[1], size[2], size[3]] }
    }

    /// Both in the order in which the pair's file names them.
    #[inline(always)]
    pub(super) fn ordered(swapped: bool, a: Self, b: Self) -> (Self, Self) {
        if swapped { (b, a) } else { (a, b) }
    }

    /// Half extents of a box without its rounding.
    #[inline(always)]
    pub(super) fn box_core(&self) -> Vec3<R> {
        let [x, y, z, rounding] = self.size;
        [x - rounding, y - rounding, z - rounding]
    }
}

/// How a side moves, if it does.
#[derive(Clone, Copy)]
pub(crate) struct Motion<R>(pub(crate) Option<Twist<R>>);

impl<R: Real> Motion<R> {
    /// Of the side's point that is at p.
    #[inline(always)]
    pub(super) fn velocity(&self, p: Vec3<R>) -> Vec3<R> {
        match self.0 {
            Some(twist) => twist.velocity(p),
            None => zero(),
        }
    }

    /// The rate of a vector that is fixed to the side.
    #[inline(always)]
    pub(super) fn turn(&self, vector: Vec3<R>) -> Vec3<R> {
        match self.0 {
            Some(twist) => cross(twist.omega, vector),
            None => zero(),
        }
    }
}

/// A contact, or the gradient of one.
#[derive(Clone, Copy)]
pub(super) struct Contact<R> {
    pub(super) normal: Vec3<R>,
    pub(super) point_a: Vec3<R>,
    pub(super) point_b: Vec3<R>,
    pub(super) phi: R,
}

impl<R: Real> Contact<R> {
    /// The same with the sides' names exchanged, if they are.
    #[inline(always)]
    fn named(self, swapped: bool) -> Self {
        if !swapped {
            return self;
        }
        let [x, y, z] = self.normal;
        Self { normal: [-x, -y, -z], point_a: self.point_b, point_b: self.point_a, phi: self.phi }
    }
}

/// Where contacts are written.
pub(super) struct Contacts<'a, R> {
    pub(super) numbers: &'a mut [R],
    pub(super) swapped: bool,
}

impl<R: Real> Contacts<'_, R> {
    #[inline(always)]
    pub(super) fn set(&mut self, k: usize, contact: Contact<R>) {
        let contact = contact.named(self.swapped);
        let to = &mut self.numbers[GEOMETRY * k..GEOMETRY * (k + 1)];
        copy(&mut to[..3], &contact.normal);
        copy(&mut to[3..6], &contact.point_a);
        copy(&mut to[6..9], &contact.point_b);
        to[9] = contact.phi;
    }
}

/// Where the contacts' gradients are.
pub(super) struct Gradients<'a, R> {
    pub(super) numbers: &'a [R],
    pub(super) swapped: bool,
}

impl<R: Real> Gradients<'_, R> {
    #[inline(always)]
    pub(super) fn get(&self, k: usize) -> Contact<R> {
        let from = &self.numbers[GEOMETRY * k..GEOMETRY * (k + 1)];
        let v = |i: usize| [from[i], from[i + 1], from[i + 2]];
        Contact { normal: v(0), point_a: v(3), point_b: v(6), phi: from[9] }.named(self.swapped)
    }
}

/// What a shape feels: the gradients of its pose and size.
#[derive(Clone, Copy)]
pub(super) struct Reaction<R> {
    pub(super) force: Vec3<R>,
    pub(super) moment: Vec3<R>,
    pub(super) size: [R; Shape::SIZES],
}

state!(Reaction { numbers: [], flags: [], states: [force, moment, size] });

impl<R: Real> Reaction<R> {
    #[inline(always)]
    pub(super) fn none() -> Self {
        Self { force: zero(), moment: zero(), size: [R::zero(); Shape::SIZES] }
    }

    /// A force at the origin: the gradient of the position.
    #[inline(always)]
    pub(super) fn push(&mut self, force: Vec3<R>) {
        self.force = add(self.force, force);
    }

    /// The gradient `force` of Rᵀ(x − o), turned to the world, pulls the shape back at d = x − o.
    #[inline(always)]
    pub(super) fn carry(&mut self, d: Vec3<R>, force: Vec3<R>) {
        self.force = sub(self.force, force);
        self.turn_back(d, force);
    }

    /// The gradient of a vector that is fixed to the shape.
    #[inline(always)]
    pub(super) fn turn(&mut self, vector: Vec3<R>, gradient: Vec3<R>) {
        self.moment = add(self.moment, cross(vector, gradient));
    }

    /// The gradient of Rᵀw, turned to the world, for a vector w that is not fixed to the shape.
    #[inline(always)]
    pub(super) fn turn_back(&mut self, vector: Vec3<R>, gradient: Vec3<R>) {
        self.moment = sub(self.moment, cross(vector, gradient));
    }

    /// The gradient of the half extents that [`Side::box_core`] gives.
    #[inline(always)]
    pub(super) fn grow_box_core(&mut self, gradient: Vec3<R>) {
        for i in 0..3 {
            self.size[i] += gradient[i];
            self.size[3] -= gradient[i];
        }
    }

    /// Adds one reaction where the mask is set, else another.
    #[inline(always)]
    pub(super) fn accumulate(&mut self, mask: R::Mask, yes: &Self, no: &Self) {
        self.force = add(self.force, total::choose(mask, yes.force, no.force));
        self.moment = add(self.moment, total::choose(mask, yes.moment, no.moment));
        for i in 0..Shape::SIZES {
            self.size[i] += R::select(mask, yes.size[i], no.size[i]);
        }
    }

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
