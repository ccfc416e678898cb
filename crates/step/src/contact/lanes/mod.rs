//! The contacts of pairs of shapes, on lanes of worlds. Pairs whose weights vary are differentiated by a tape, see
//! [`formula`]. Those whose weights are constant have derivatives written by hand. By a tape the backward pass of
//! `hand_ball` took 10.6 % more instructions, and that of `allegro_cube` 17.5 %; with tangents of numbers with rates,
//! the Jacobians of `allegro_cube` took 3.7 % more (callgrind, 64 worlds, 2026-11-28).
//!
//! Values and gradients are exact where the geometry is smooth, and finite everywhere. Where several directions are
//! possible, each file says which one it takes. The tests have the same formulas as tensor operations.
//!
//! The gradient with respect to a pose is a wrench. A rigid motion (t, θ) of a shape about its frame's origin changes
//! its position p by t, and every vector w that is fixed to the shape by θ × w. So, with bars for gradients,
//!
//! ```text
//! force = p̄,   moment = Σ w × w̄.
//! ```

mod block;
pub(crate) mod bound;
mod box_capsule;
mod box_half_space;
mod boxes;
mod capsule_capsule;
mod capsule_half_space;
pub mod convex;
mod core;
mod face;
mod formula;
mod frame;
mod half_space;
mod half_space_cylinder;
pub(crate) mod hanging;
mod penetration;
pub(crate) mod rolling;
mod scalar;
mod segment;
mod sides;
mod sphere_box;
mod sphere_capsule;
mod sphere_cylinder;
mod sphere_half_space;
mod sphere_sphere;
mod tape;
mod total;
mod traced;
mod weight;

use crate::kinematics::Pose;
use fingertip_lanes::lane::Real;

use super::kind::PairKind;
use formula::Formula;
use sides::{Contacts, Gradients, Reaction, Side};
use tape::SLOPES;

pub(crate) use frame::{frame, frame_rates};
pub use sides::Motion;

/// Computes the contacts of a pair by the formula of its kind, [`GEOMETRY`](super::numbers::GEOMETRY) numbers each, as
/// many contacts as [`PairKind::contacts`] says.
///
/// `swapped` is as [`PairKind::find`] gave it; a and b are the pair's sides as the caller names them.
#[inline(always)]
pub fn witness<R: Real>(
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
        PairKind::CapsuleHalfSpace => capsule_half_space::witness(&a, &b, out),
        PairKind::BoxHalfSpace => box_half_space::witness(&a, &b, out),
    }
}

/// Vector-Jacobian product of [`witness`]: given the gradients `grad` of the contacts, adds to the wrenches on both
/// shapes (force, then moment about the shape's origin) and to the gradients of their sizes.
#[expect(clippy::too_many_arguments, reason = "operands and gradients of a kernel")]
#[inline(always)]
pub fn vjp<R: Real>(
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
        PairKind::SphereSphere => sphere_sphere::vjp(&a, &b, grad, to),
        PairKind::SphereCapsule => sphere_capsule::vjp(&a, &b, grad, to),
        PairKind::SphereBox => sphere_box::vjp(&a, &b, grad, to),
        PairKind::SphereCylinder => sphere_cylinder::vjp(&a, &b, grad, to),
        PairKind::SphereHalfSpace => sphere_half_space::vjp(&a, &b, grad, to),
        PairKind::CapsuleHalfSpace => capsule_half_space::vjp(&a, &b, grad, to),
        PairKind::BoxHalfSpace => box_half_space::vjp(&a, &b, grad, to),
    }
    let [on_a, on_b] = if swapped { [reactions[1], reactions[0]] } else { reactions };
    on_a.add_to(wrench_a, grad_size_a);
    on_b.add_to(wrench_b, grad_size_b);
}

/// A list of motions of one side or both, and a place for the changes of contacts that they cause.
pub trait Motions<R: Real> {
    /// Calls `change` for one motion after the other. It sets the changes of the contacts.
    fn each(&mut self, change: impl Fn([Motion<R>; 2], &mut [R]));
}

/// Jacobian-vector product of [`witness`]: the changes of the contacts with each of some motions of the two sides. What
/// does not depend on the motion is computed once for all motions.
#[inline(always)]
pub fn jvp<R: Real>(
    kind: PairKind,
    swapped: bool,
    a: &Pose<R>,
    size_a: &[R],
    b: &Pose<R>,
    size_b: &[R],
    motions: &mut impl Motions<R>,
) {
    let (a, b) = Side::ordered(swapped, Side::new(a, size_a), Side::new(b, size_b));
    macro_rules! each {
        ($pair:ident) => {
            motions.each(
                #[inline(always)]
                |[by_a, by_b], numbers| {
                    let by = &if swapped { [by_b, by_a] } else { [by_a, by_b] };
                    $pair::jvp(&a, &b, by, &mut Contacts { numbers, swapped });
                },
            )
        };
    }
    match kind {
        PairKind::SphereSphere => each!(sphere_sphere),
        PairKind::SphereCapsule => each!(sphere_capsule),
        PairKind::SphereBox => each!(sphere_box),
        PairKind::SphereCylinder => each!(sphere_cylinder),
        PairKind::SphereHalfSpace => each!(sphere_half_space),
        PairKind::CapsuleHalfSpace => each!(capsule_half_space),
        PairKind::BoxHalfSpace => each!(box_half_space),
    }
}

/// The formulas that are differentiated by tapes, by name: how many numbers and slopes each has, and the room for them.
pub fn tapes() -> [(&'static str, [[usize; 2]; 2]); 4] {
    fn of<F: Formula<CONTACTS, NUMBERS>, const CONTACTS: usize, const NUMBERS: usize>() -> [[usize; 2]; 2] {
        [F::places().structure.size(), [NUMBERS, SLOPES]]
    }
    [
        ("boxes", of::<boxes::TwoBoxes, { boxes::POINTS }, { boxes::NUMBERS }>()),
        ("box and capsule", of::<box_capsule::BoxCapsule, { box_capsule::POINTS }, { box_capsule::NUMBERS }>()),
        (
            "capsules",
            of::<capsule_capsule::CapsuleCapsule, { capsule_capsule::POINTS }, { capsule_capsule::NUMBERS }>(),
        ),
        (
            "cylinder",
            of::<
                half_space_cylinder::HalfSpaceCylinder,
                { half_space_cylinder::POINTS },
                { half_space_cylinder::NUMBERS },
            >(),
        ),
    ]
}
