//! Balls around shapes, on lanes of worlds. Two shapes whose balls are farther apart than `contact_distance` have one
//! contact, that of the balls: nothing nearer is computed.

use fingertip_lanes::lane::{Mask, Real, Zip};
use fingertip_lanes::vector::{Vec3, add, axpy, cross, dot, rotate_back, scale, splat, sub};
use fingertip_scene::Shape;

use super::sides::{Contact, Contacts, Gradients, Reaction, Side};
use crate::contact::bound::{Bound, Round};
use crate::contact::numbers::{GEOMETRY, PHI, UNUSED};
use crate::kinematics::{POSE, Pose};

impl Bound {
    #[inline(always)]
    fn placed<R: Real>(&self, side: &Side<R>) -> Placed<R> {
        let Side { pose, size } = side;
        match *self {
            Self::HalfSpace => Placed::HalfSpace { normal: pose.axes[2], origin: pose.p },
            Self::Fixed { centre, radius, .. } => {
                let arm = rotate_back(&pose.axes, splat(centre));
                Placed::Ball { centre: add(pose.p, arm), radius: R::splat(radius), arm: Some(arm) }
            }
            Self::Ball(round) => Placed::Ball { centre: pose.p, radius: round.radius(size), arm: None },
        }
    }

    /// The middle of a box around the shape in the world, m, and half of its sides along the axes of the shape's frame.
    /// `None` for a half-space.
    #[inline(always)]
    fn boxed<R: Real>(&self, Side { pose, size }: &Side<R>) -> Option<[Vec3<R>; 2]> {
        match *self {
            Self::HalfSpace => None,
            Self::Fixed { centre, half, .. } => {
                Some([add(pose.p, rotate_back(&pose.axes, splat(centre))), splat(half)])
            }
            Self::Ball(round) => Some([pose.p, round.half(size)]),
        }
    }
}

impl Round {
    /// The radius of the least ball about the origin that holds a shape with these sizes; NaN if none has them, so that
    /// it is never far.
    #[inline(always)]
    fn radius<R: Real>(self, size: &[R; Shape::SIZES]) -> R {
        let &[x, y, z, _] = size;
        let radius = match self {
            Self::Sphere => x,
            Self::Capsule => x + y,
            Self::Cylinder => x.mul_add(x, y * y).sqrt(),
            Self::Box => dot([x, y, z], [x, y, z]).sqrt(),
            Self::Ellipsoid => x.max(y).max(z),
        };
        self.of_shape(size, radius)
    }

    /// Half of the sides of the box around a shape with these sizes; NaN if none has them.
    #[inline(always)]
    fn half<R: Real>(self, size: &[R; Shape::SIZES]) -> Vec3<R> {
        let &[x, y, z, _] = size;
        let half = match self {
            Self::Sphere => [x, x, x],
            Self::Capsule => [x, x, x + y],
            Self::Cylinder => [x, x, y],
            Self::Box | Self::Ellipsoid => [x, y, z],
        };
        [self.of_shape(size, half[0]), self.of_shape(size, half[1]), self.of_shape(size, half[2])]
    }

    /// The number if there is a shape with these sizes, else NaN.
    #[inline(always)]
    fn of_shape<R: Real>(self, &[x, y, z, _]: &[R; Shape::SIZES], number: R) -> R {
        let zero = R::zero();
        let is_there = match self {
            Self::Sphere => x.gt(zero),
            Self::Capsule => x.gt(zero).and(y.lt(zero).not()),
            Self::Cylinder => x.gt(zero).and(y.gt(zero)),
            Self::Box | Self::Ellipsoid => x.gt(zero).and(y.gt(zero)).and(z.gt(zero)),
        };
        R::select(is_there, number, R::splat(f64::NAN))
    }

    /// The gradient of the sizes from that of [`Round::radius`]. Of equally long axes of an ellipsoid the first one
    /// takes it.
    #[inline(always)]
    fn vjp<R: Real>(self, size: &[R; Shape::SIZES], by_radius: R) -> [R; Shape::SIZES] {
        let ([x, y, z, _], none) = (*size, R::zero());
        let radius = self.radius(size);
        match self {
            Self::Sphere => [by_radius, none, none, none],
            Self::Capsule => [by_radius, by_radius, none, none],
            Self::Cylinder => [by_radius * x / radius, by_radius * y / radius, none, none],
            Self::Box => [by_radius * x / radius, by_radius * y / radius, by_radius * z / radius, none],
            Self::Ellipsoid => {
                let [of_x, of_y] = [x.lt(radius).not(), y.lt(radius).not()];
                let rest = R::select(of_x, none, by_radius);
                [by_radius - rest, R::select(of_y, rest, none), R::select(of_y, none, rest), none]
            }
        }
    }
}

/// The bound of one side of a pair in the world.
#[derive(Clone, Copy)]
enum Placed<R> {
    /// A ball, and its centre from the frame's origin if that is elsewhere.
    Ball {
        centre: Vec3<R>,
        radius: R,
        arm: Option<Vec3<R>>,
    },
    HalfSpace {
        normal: Vec3<R>,
        origin: Vec3<R>,
    },
}

/// The number of numbers of a ball: its centre and its radius.
pub(crate) const BALL: usize = 4;

/// Writes the balls around shapes; those of half-spaces have no number for a radius.
#[inline(always)]
pub(crate) fn put_balls<R: Real>(bounds: &[Bound], [poses, sizes]: [&[R]; 2], balls: &mut [R]) {
    let shapes = poses.as_chunks::<POSE>().0.iter().zip_inline(sizes.as_chunks::<{ Shape::SIZES }>().0);
    for ((bound, (pose, size)), ball) in bounds.iter().zip_inline(shapes).zip_inline(balls.as_chunks_mut::<BALL>().0) {
        *ball = match bound.placed(&Side::new(&Pose::read(pose), size)) {
            Placed::Ball { centre: [x, y, z], radius, .. } => [x, y, z, radius],
            Placed::HalfSpace { .. } => [R::splat(f64::NAN); BALL],
        };
    }
}

/// A part of the reach by which what is passed over is farther than that: more than roundings are.
const BEYOND: f64 = 1e-9;

/// Are two of these balls farther apart than `reach`, m, in every world of the lane?
#[inline(always)]
pub(crate) fn are_apart<R: Real>(balls: &[R], [a, b]: [usize; 2], reach: f64) -> bool {
    let [a, b] = [&balls[BALL * a..BALL * (a + 1)], &balls[BALL * b..BALL * (b + 1)]];
    let between = [b[0] - a[0], b[1] - a[1], b[2] - a[2]];
    let least = a[3] + b[3] + R::splat(reach);
    R::is_nowhere(dot(between, between).gt(least * least.scale(1.0 + BEYOND)).not())
}

/// Are the boxes around two shapes farther apart than `reach`, m, along an axis of one of them, in every world of the
/// lane?
#[inline(always)]
pub fn are_boxes_apart<R: Real>(bounds: &[Bound; 2], [a, b]: [(&[R], &[R]); 2], reach: f64) -> bool {
    let [a, b] = [Side::new(&Pose::read(a.0), a.1), Side::new(&Pose::read(b.0), b.1)];
    let (Some([at_a, half_a]), Some([at_b, half_b])) = (bounds[0].boxed(&a), bounds[1].boxed(&b)) else { return false };
    let between = sub(at_b, at_a);
    let (mut of_a, mut of_b) = (half_a, half_b);
    for i in 0..3 {
        for j in 0..3 {
            let cosine = dot(a.pose.axes[i], b.pose.axes[j]).abs();
            of_a[i] = cosine.mul_add(half_b[j], of_a[i]);
            of_b[j] = cosine.mul_add(half_a[i], of_b[j]);
        }
    }
    let mut gap = R::splat(f64::NEG_INFINITY);
    for k in 0..3 {
        gap = gap.max(dot(a.pose.axes[k], between).abs() - of_a[k]).max(dot(b.pose.axes[k], between).abs() - of_b[k]);
    }
    R::is_nowhere(gap.gt(R::splat(reach * (1.0 + BEYOND))).not())
}

/// Contacts of a pair that is told apart by `reach`, m, without weight: no distance between them is less.
#[inline(always)]
pub(crate) fn put_apart<R: Real>(reach: f64, contacts: &mut [R], weights: &mut [R]) {
    let (zero, far) = (splat([0.0; 3]), R::splat(reach));
    let normal = splat([0.0, 0.0, 1.0]);
    let contact = Contact { normal, point_a: zero, point_b: scale(far, normal), phi: far };
    let mut contacts = Contacts { numbers: contacts, swapped: false };
    for (k, weight) in weights.iter_mut().enumerate() {
        contacts.set(k, contact);
        *weight = R::zero();
    }
}

/// The bounds of a pair's two sides.
pub(super) struct Bounds<R> {
    sides: [Placed<R>; 2],
    contact: Contact<R>,
}

impl<R: Real> Bounds<R> {
    #[inline(always)]
    pub(super) fn new(bounds: &[Bound; 2], sides: &[Side<R>; 2]) -> Self {
        let sides = [bounds[0].placed(&sides[0]), bounds[1].placed(&sides[1])];
        let (normal, [point_a, point_b]) = match sides {
            [Placed::Ball { centre: a, radius: r_a, .. }, Placed::Ball { centre: b, radius: r_b, .. }] => {
                let between = sub(b, a);
                let normal = scale(R::one() / dot(between, between).sqrt(), between);
                (normal, [axpy(r_a, normal, a), axpy(-r_b, normal, b)])
            }
            [Placed::HalfSpace { normal, origin }, Placed::Ball { centre, radius, .. }] => {
                let height = dot(normal, sub(centre, origin));
                (normal, [axpy(-height, normal, centre), axpy(-radius, normal, centre)])
            }
            [Placed::Ball { centre, radius, .. }, Placed::HalfSpace { normal, origin }] => {
                let height = dot(normal, sub(centre, origin));
                (scale(-R::one(), normal), [axpy(-radius, normal, centre), axpy(-height, normal, centre)])
            }
            // Two half-spaces are no pair: they are never far.
            [Placed::HalfSpace { normal, origin: a }, Placed::HalfSpace { origin: b, .. }] => (normal, [a, b]),
        };
        let phi = dot(normal, sub(point_b, point_a));
        Self { sides, contact: Contact { normal, point_a, point_b, phi } }
    }

    /// φ.
    #[inline(always)]
    pub(super) fn distance(&self) -> R {
        self.contact.phi
    }

    /// Worlds in which the bounds are farther apart than `reach`, m. Numbers that cannot be used are never far.
    #[inline(always)]
    pub(super) fn are_far(&self, reach: f64) -> R::Mask {
        let phi = self.contact.phi;
        phi.gt(R::splat(reach)).and(phi.doubt(R::zero()).is_finite())
    }

    /// In worlds of the mask, puts the contact of the bounds in place of all contacts of a pair: the first has its
    /// distance, the others are unused.
    #[inline(always)]
    pub(super) fn put(&self, far: R::Mask, contacts: &mut [R], weights: &mut [R]) {
        self.each(contacts, weights, |to, number| *to = R::select(far, number, *to));
    }

    /// [`Bounds::put`] in all worlds.
    #[inline(always)]
    pub(super) fn fill(&self, contacts: &mut [R], weights: &mut [R]) {
        self.each(contacts, weights, |to, number| *to = number);
    }

    /// Sets each number of a pair's contacts, and their weights.
    #[inline(always)]
    fn each(&self, contacts: &mut [R], weights: &mut [R], set: impl Fn(&mut R, R)) {
        let mut numbers = [R::zero(); GEOMETRY];
        Contacts { numbers: &mut numbers, swapped: false }.set(0, self.contact);
        let mut weight = R::one();
        for (contact, to) in contacts.as_chunks_mut::<GEOMETRY>().0.iter_mut().zip_inline(weights) {
            for (to, &number) in contact.iter_mut().zip_inline(&numbers) {
                set(to, number);
            }
            set(to, weight);
            (numbers[PHI], weight) = (R::splat(UNUSED), R::zero());
        }
    }

    /// Vector-Jacobian product of [`Bounds::put`]: adds to the reactions on both sides in worlds of the mask, given the
    /// gradients of a pair's contacts. All have the normal and points of the bounds; the first has their distance.
    #[inline(always)]
    pub(super) fn vjp(
        &self,
        far: R::Mask,
        gradients: &[R],
        (bounds, sides): (&[Bound; 2], &[Side<R>; 2]),
        to: [&mut Reaction<R>; 2],
    ) {
        let gradients = Gradients { numbers: gradients, swapped: false };
        let mut sum = gradients.get(0);
        for k in 1..gradients.numbers.len() / GEOMETRY {
            let Contact { normal, point_a, point_b, .. } = gradients.get(k);
            sum.normal = add(sum.normal, normal);
            sum.point_a = add(sum.point_a, point_a);
            sum.point_b = add(sum.point_b, point_b);
        }
        let Contact { normal: n, phi, .. } = self.contact;
        let mut pulled = [Reaction::none(), Reaction::none()];
        match self.sides {
            [Placed::Ball { radius: r_a, .. }, Placed::Ball { radius: r_b, .. }] => {
                // The points are a + r_a n and b − r_b n, φ = |b − a| − r_a − r_b, and n turns with the centres.
                let by_n = add(sum.normal, sub(scale(r_a, sum.point_a), scale(r_b, sum.point_b)));
                let across = axpy(-dot(n, by_n), n, by_n);
                let force = axpy(sum.phi, n, scale(R::one() / (phi + r_a + r_b), across));
                let [on_a, on_b] = [dot(sum.point_a, n) - sum.phi, -dot(sum.point_b, n) - sum.phi];
                pulled[0] = self.on_ball(0, sub(sum.point_a, force), on_a, (bounds, sides));
                pulled[1] = self.on_ball(1, add(sum.point_b, force), on_b, (bounds, sides));
            }
            [Placed::HalfSpace { .. }, Placed::Ball { .. }] => {
                let by = [sum.normal, sum.point_a, sum.point_b];
                (pulled[0], pulled[1]) = self.on_plane([0, 1], by, sum.phi, (bounds, sides));
            }
            [Placed::Ball { .. }, Placed::HalfSpace { .. }] => {
                let by = [scale(-R::one(), sum.normal), sum.point_b, sum.point_a];
                (pulled[1], pulled[0]) = self.on_plane([1, 0], by, sum.phi, (bounds, sides));
            }
            [Placed::HalfSpace { .. }, Placed::HalfSpace { .. }] => {}
        }
        let none = Reaction::none();
        let [on_a, on_b] = to;
        on_a.accumulate(far, &pulled[0], &none);
        on_b.accumulate(far, &pulled[1], &none);
    }

    /// The reaction on a ball, from the gradients of its centre and radius.
    #[inline(always)]
    fn on_ball(
        &self,
        side: usize,
        force: Vec3<R>,
        by_radius: R,
        (bounds, sides): (&[Bound; 2], &[Side<R>; 2]),
    ) -> Reaction<R> {
        let mut on = Reaction::none();
        on.push(force);
        if let Placed::Ball { arm: Some(arm), .. } = self.sides[side] {
            on.turn(arm, force);
        }
        if let Bound::Ball(round) = bounds[side] {
            on.size = round.vjp(&sides[side].size, by_radius);
        }
        on
    }

    /// The reactions on a half-space with normal m through o and a ball at c with radius r. With d = m·(c − o) the
    /// points are c − m d and c − m r, and φ = d − r.
    #[inline(always)]
    fn on_plane(
        &self,
        [plane, ball]: [usize; 2],
        [by_normal, on_plane, on_ball]: [Vec3<R>; 3],
        by_phi: R,
        of: (&[Bound; 2], &[Side<R>; 2]),
    ) -> (Reaction<R>, Reaction<R>) {
        let (Placed::HalfSpace { normal: m, origin: o }, Placed::Ball { centre, radius: r, .. }) =
            (self.sides[plane], self.sides[ball])
        else {
            return (Reaction::none(), Reaction::none());
        };
        let from = sub(centre, o);
        let d = dot(m, from);
        let by_d = by_phi - dot(on_plane, m);
        let by_m = axpy(by_d, from, axpy(-r, on_ball, axpy(-d, on_plane, by_normal)));
        let mut on = Reaction::none();
        on.push(scale(-by_d, m));
        on.moment = cross(m, by_m);
        (on, self.on_ball(ball, axpy(by_d, m, add(on_plane, on_ball)), -dot(on_ball, m) - by_phi, of))
    }
}
