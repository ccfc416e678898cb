//! The geometry of pairs of shapes that have a formula, on lanes of worlds, with adjoints by hand.
//!
//! Values and gradients are exact where the geometry is smooth, and finite everywhere: each file says which direction it takes where
//! the geometry leaves several. The tests have the same formulas as tensor operations.
//!
//! The gradient of a pose is a wrench: a rigid motion (t, θ) of a shape about its frame's origin changes p by t and
//! every vector w that is fixed to the shape by θ × w, so that, with bars for gradients,
//!
//! ```text
//! force = p̄,   moment = Σ w × w̄.
//! ```

mod block;
mod box_half_space;
mod boxes;
mod capsule_box;
mod capsule_capsule;
mod capsule_half_space;
pub(crate) mod convex;
mod core;
mod cylinder_half_space;
mod end;
mod frame;
mod half_space;
mod penetration;
mod scalar;
mod segment;
mod sphere_box;
mod sphere_capsule;
mod sphere_cylinder;
mod sphere_half_space;
mod sphere_sphere;
mod tape;
#[cfg(test)]
mod tests;
mod total;

use crate::description::Shape;
use crate::kinematics::Pose;
use crate::math::lane::{Real, copy, state};
use crate::math::spatial::Twist;
use crate::math::vector::{Vec3, add, cross, sub, zero};

use super::kind::PairKind;
use super::numbers::GEOMETRY;

pub(crate) use frame::{frame, frame_rates};

/// The contacts of a pair, [`GEOMETRY`] numbers each, as many as [`PairKind::contacts`] says.
///
/// `swapped` as [`PairKind::find`] gave it; a and b are the pair's sides as the caller names them.
#[inline(always)]
pub(crate) fn witness<R: Real>(
    kind: PairKind,
    swapped: bool,
    a: &Pose<R>,
    size_a: &[R],
    b: &Pose<R>,
    size_b: &[R],
    out: &mut [R],
) {
    let (a, b) = Side::ordered(swapped, Side::new(a, size_a), Side::new(b, size_b));
    let out = &mut Contacts { numbers: out, swapped };
    match kind {
        PairKind::SphereSphere => sphere_sphere::witness(&a, &b, out),
        PairKind::SphereCapsule => sphere_capsule::witness(&a, &b, out),
        PairKind::SphereBox => sphere_box::witness(&a, &b, out),
        PairKind::SphereCylinder => sphere_cylinder::witness(&a, &b, out),
        PairKind::SphereHalfSpace => sphere_half_space::witness(&a, &b, out),
        PairKind::CapsuleCapsule => capsule_capsule::witness(&a, &b, out),
        PairKind::CapsuleBox => capsule_box::witness(&a, &b, out),
        PairKind::CapsuleHalfSpace => capsule_half_space::witness(&a, &b, out),
        PairKind::BoxHalfSpace => box_half_space::witness(&a, &b, out),
        PairKind::CylinderHalfSpace => cylinder_half_space::witness(&a, &b, out),
    }
}

/// Adds to the wrenches on both shapes (force, then moment about the shape's origin) and to the gradients of their sizes,
/// given the gradients `grad` of what [`witness`] gives.
#[expect(clippy::too_many_arguments, reason = "operands and gradients of a kernel")]
#[inline(always)]
pub(crate) fn pull<R: Real>(
    kind: PairKind,
    swapped: bool,
    a: &Pose<R>,
    size_a: &[R],
    b: &Pose<R>,
    size_b: &[R],
    grad: &[R],
    wrench_a: &mut [R],
    wrench_b: &mut [R],
    grad_size_a: &mut [R],
    grad_size_b: &mut [R],
) {
    let (a, b) = Side::ordered(swapped, Side::new(a, size_a), Side::new(b, size_b));
    let grad = &Gradients { numbers: grad, swapped };
    let mut reactions = [Reaction::none(); 2];
    let to = &mut reactions;
    match kind {
        PairKind::SphereSphere => sphere_sphere::pull(&a, &b, grad, to),
        PairKind::SphereCapsule => sphere_capsule::pull(&a, &b, grad, to),
        PairKind::SphereBox => sphere_box::pull(&a, &b, grad, to),
        PairKind::SphereCylinder => sphere_cylinder::pull(&a, &b, grad, to),
        PairKind::SphereHalfSpace => sphere_half_space::pull(&a, &b, grad, to),
        PairKind::CapsuleCapsule => capsule_capsule::pull(&a, &b, grad, to),
        PairKind::CapsuleBox => capsule_box::pull(&a, &b, grad, to),
        PairKind::CapsuleHalfSpace => capsule_half_space::pull(&a, &b, grad, to),
        PairKind::BoxHalfSpace => box_half_space::pull(&a, &b, grad, to),
        PairKind::CylinderHalfSpace => cylinder_half_space::pull(&a, &b, grad, to),
    }
    let [on_a, on_b] = if swapped { [reactions[1], reactions[0]] } else { reactions };
    on_a.add_to(wrench_a, grad_size_a);
    on_b.add_to(wrench_b, grad_size_b);
}

/// Has the kind a [`push`]? For the others its numbers are pulled one by one.
pub(crate) fn has_push(kind: PairKind) -> bool {
    match kind {
        PairKind::SphereSphere
        | PairKind::SphereCapsule
        | PairKind::SphereBox
        | PairKind::SphereHalfSpace
        | PairKind::CapsuleHalfSpace
        | PairKind::BoxHalfSpace => true,
        PairKind::SphereCylinder | PairKind::CapsuleCapsule | PairKind::CapsuleBox | PairKind::CylinderHalfSpace => {
            false
        }
    }
}

/// How what [`witness`] gives changes with motions of the two sides; nothing for kinds without one, see [`has_push`].
#[expect(clippy::too_many_arguments, reason = "operands of a kernel")]
#[inline(always)]
pub(crate) fn push<R: Real>(
    kind: PairKind,
    swapped: bool,
    a: &Pose<R>,
    size_a: &[R],
    b: &Pose<R>,
    size_b: &[R],
    [by_a, by_b]: [Twist<R>; 2],
    out: &mut [R],
) {
    let (a, b) = Side::ordered(swapped, Side::new(a, size_a), Side::new(b, size_b));
    let by = &if swapped { [by_b, by_a] } else { [by_a, by_b] };
    let out = &mut Contacts { numbers: out, swapped };
    match kind {
        PairKind::SphereSphere => sphere_sphere::push(&a, &b, by, out),
        PairKind::SphereCapsule => sphere_capsule::push(&a, &b, by, out),
        PairKind::SphereBox => sphere_box::push(&a, &b, by, out),
        PairKind::SphereHalfSpace => sphere_half_space::push(&a, &b, by, out),
        PairKind::CapsuleHalfSpace => capsule_half_space::push(&a, &b, by, out),
        PairKind::BoxHalfSpace => box_half_space::push(&a, &b, by, out),
        PairKind::SphereCylinder | PairKind::CapsuleCapsule | PairKind::CapsuleBox | PairKind::CylinderHalfSpace => {}
    }
}

/// A shape: where it is and how large.
#[derive(Clone, Copy)]
struct Side<R> {
    pose: Pose<R>,
    /// As [`Shape::sizes`] orders them.
    size: [R; Shape::SIZES],
}

impl<R: Real> Side<R> {
    #[inline(always)]
    fn new(pose: &Pose<R>, size: &[R]) -> Self {
        Self { pose: *pose, size: [size[0], size[1], size[2], size[3]] }
    }

    /// Both in the order in which the pair's file names them.
    #[inline(always)]
    fn ordered(swapped: bool, a: Self, b: Self) -> (Self, Self) {
        if swapped { (b, a) } else { (a, b) }
    }

    /// Half extents of a box without its rounding.
    #[inline(always)]
    fn box_core(&self) -> Vec3<R> {
        let [x, y, z, rounding] = self.size;
        [x - rounding, y - rounding, z - rounding]
    }
}

/// A contact, or the gradient of one.
#[derive(Clone, Copy)]
struct Contact<R> {
    normal: Vec3<R>,
    point_a: Vec3<R>,
    point_b: Vec3<R>,
    phi: R,
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
struct Contacts<'a, R> {
    numbers: &'a mut [R],
    swapped: bool,
}

impl<R: Real> Contacts<'_, R> {
    #[inline(always)]
    fn set(&mut self, k: usize, contact: Contact<R>) {
        let contact = contact.named(self.swapped);
        let to = &mut self.numbers[GEOMETRY * k..GEOMETRY * (k + 1)];
        copy(&mut to[..3], &contact.normal);
        copy(&mut to[3..6], &contact.point_a);
        copy(&mut to[6..9], &contact.point_b);
        to[9] = contact.phi;
    }
}

/// Where the contacts' gradients are.
struct Gradients<'a, R> {
    numbers: &'a [R],
    swapped: bool,
}

impl<R: Real> Gradients<'_, R> {
    #[inline(always)]
    fn get(&self, k: usize) -> Contact<R> {
        let from = &self.numbers[GEOMETRY * k..GEOMETRY * (k + 1)];
        let v = |i: usize| [from[i], from[i + 1], from[i + 2]];
        Contact { normal: v(0), point_a: v(3), point_b: v(6), phi: from[9] }.named(self.swapped)
    }
}

/// What a shape feels: the gradients of its pose and size.
#[derive(Clone, Copy)]
struct Reaction<R> {
    force: Vec3<R>,
    moment: Vec3<R>,
    size: [R; Shape::SIZES],
}

state!(Reaction { numbers: [], flags: [], states: [force, moment, size] });

impl<R: Real> Reaction<R> {
    #[inline(always)]
    fn none() -> Self {
        Self { force: zero(), moment: zero(), size: [R::zero(); Shape::SIZES] }
    }

    /// A force at the origin: the gradient of the position.
    #[inline(always)]
    fn push(&mut self, force: Vec3<R>) {
        self.force = add(self.force, force);
    }

    /// The gradient `force` of Rᵀ(x − o), turned to the world, pulls the shape back at d = x − o.
    #[inline(always)]
    fn carry(&mut self, d: Vec3<R>, force: Vec3<R>) {
        self.force = sub(self.force, force);
        self.turn_back(d, force);
    }

    /// The gradient of a vector that is fixed to the shape.
    #[inline(always)]
    fn turn(&mut self, vector: Vec3<R>, gradient: Vec3<R>) {
        self.moment = add(self.moment, cross(vector, gradient));
    }

    /// The gradient of Rᵀw, turned to the world, for a vector w that is not fixed to the shape.
    #[inline(always)]
    fn turn_back(&mut self, vector: Vec3<R>, gradient: Vec3<R>) {
        self.moment = sub(self.moment, cross(vector, gradient));
    }

    /// The gradient of the half extents that [`Side::box_core`] gives.
    #[inline(always)]
    fn grow_box_core(&mut self, gradient: Vec3<R>) {
        for i in 0..3 {
            self.size[i] += gradient[i];
            self.size[3] -= gradient[i];
        }
    }

    /// Adds one reaction where the mask is set, else another.
    #[inline(always)]
    fn accumulate(&mut self, mask: R::Mask, yes: &Self, no: &Self) {
        self.force = add(self.force, total::choose(mask, yes.force, no.force));
        self.moment = add(self.moment, total::choose(mask, yes.moment, no.moment));
        for i in 0..Shape::SIZES {
            self.size[i] += R::select(mask, yes.size[i], no.size[i]);
        }
    }

    #[inline(always)]
    fn add_to(&self, wrench: &mut [R], size: &mut [R]) {
        for i in 0..3 {
            wrench[i] += self.force[i];
            wrench[3 + i] += self.moment[i];
        }
        for i in 0..Shape::SIZES {
            size[i] += self.size[i];
        }
    }
}
