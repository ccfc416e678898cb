//! A joint: from the pose of its frame to the body's pose and the joint's screws, and back.

use fingertip_lanes::lane::Real;
use fingertip_lanes::vector::{
    Mat3, Vec3, add, axpy, cross, dot, product, rotate_back, scale, splat, splat_matrix, sub, zero,
};
use fingertip_scene::JointKind;

use super::pose::{Pose, SCREW, is_identity};
use super::rotation::Quaternion;
use super::tree::Body;

#[derive(Debug)]
pub(super) struct JointTable {
    pub(super) parent: usize,
    motion: Motion,
    /// Rotation of the joint's frame in the parent's, none for the identity.
    pub(super) rotation: Option<[[f64; 3]; 3]>,
    q: usize,
    screw: usize,
    ratio: f64,
    shift: f64,
}

#[derive(Clone, Copy, Debug)]
enum Motion {
    Fixed,
    /// Turning about the coordinate axis with this index, with this sign.
    AboutAxis(usize, f64),
    About([f64; 3]),
    Along([f64; 3]),
    /// Sliding in the plane of the first two vectors, and turning about the third.
    Planar([[f64; 3]; 3]),
    /// Sliding along the parent's axes, which are the rows of this matrix in the joint's frame; none for the identity.
    Translation(Option<[[f64; 3]; 3]>),
    /// Turning freely about the origin.
    Spherical,
    Floating,
}

#[inline(always)]
pub(super) fn read3<R: Real>(from: &[R], k: usize) -> Vec3<R> {
    [from[k], from[k + 1], from[k + 2]]
}

#[inline(always)]
pub(super) fn write3<R: Real>(to: &mut [R], k: usize, v: Vec3<R>) {
    to[k] = v[0];
    to[k + 1] = v[1];
    to[k + 2] = v[2];
}

#[inline(always)]
pub(super) fn accumulate<R: Real>(to: &mut [R], k: usize, v: Vec3<R>) {
    write3(to, k, add(read3(to, k), v));
}

/// A wrench: moment about the world's origin, and force.
pub(super) struct Wrench<R> {
    pub(super) moment: Vec3<R>,
    pub(super) force: Vec3<R>,
}

impl<R: Real> Wrench<R> {
    /// The power S · wrench of a screw S: the gradient of its coordinate.
    #[inline(always)]
    fn along(&self, screw: &[R]) -> R {
        dot(read3(screw, 0), self.moment) + dot(read3(screw, 3), self.force)
    }

    /// Adds the pull of a screw's gradient: when the axis is carried by (θ, t), the screw changes by
    /// (θ × ω; θ × m + t × ω).
    #[inline(always)]
    fn add_screw(&mut self, screw: &[R], grad: &[R]) {
        let (omega, m) = (read3(screw, 0), read3(screw, 3));
        let (grad_omega, grad_m) = (read3(grad, 0), read3(grad, 3));
        self.moment = add(self.moment, add(cross(omega, grad_omega), cross(m, grad_m)));
        self.force = add(self.force, cross(omega, grad_m));
    }
}

impl JointTable {
    pub(super) fn new(body: &Body) -> Self {
        let axis: [f64; 3] = body.axis.into();
        let rotation = std::array::from_fn(|i| std::array::from_fn(|j| body.rotation[(i, j)]));
        let rotation = (!is_identity(&rotation)).then_some(rotation);
        let along = |k: usize| (0..3).all(|i| i == k || axis[i] == 0.0).then(|| Motion::AboutAxis(k, axis[k].signum()));
        let motion = match body.kind {
            JointKind::Fixed => Motion::Fixed,
            JointKind::Revolute | JointKind::Continuous => {
                along(0).or(along(1)).or(along(2)).unwrap_or(Motion::About(axis))
            }
            JointKind::Prismatic => Motion::Along(axis),
            JointKind::Planar => Motion::Planar(plane(axis)),
            JointKind::Translation => Motion::Translation(rotation),
            JointKind::Spherical => Motion::Spherical,
            JointKind::Floating => Motion::Floating,
        };
        Self {
            parent: body.parent,
            motion,
            rotation,
            q: body.q,
            screw: body.screw,
            ratio: body.ratio,
            shift: body.shift,
        }
    }

    /// The body's pose, given the pose of the joint's frame; fills in the joint's screws.
    #[inline(always)]
    pub(super) fn place<R: Real>(&self, above: Pose<R>, q: &[R], screws: &mut [R]) -> Pose<R> {
        let Pose { p: o, axes } = above;
        let screws = &mut screws[SCREW * self.screw..];
        let value = || q[self.q].mul_add(R::splat(self.ratio), R::splat(self.shift));
        let ratio = R::splat(self.ratio);
        match self.motion {
            Motion::Fixed => above,
            Motion::AboutAxis(k, sign) => {
                let a = scale(R::splat(sign), axes[k]);
                write3(screws, 0, scale(ratio, a));
                write3(screws, 3, scale(ratio, cross(o, a)));
                let (s, c) = value().sin_cos();
                let s = s.scale(sign);
                let [x, y, z] = axes;
                let axes = match k {
                    0 => [x, axpy(c, y, scale(s, z)), axpy(c, z, scale(-s, y))],
                    1 => [axpy(c, x, scale(-s, z)), y, axpy(c, z, scale(s, x))],
                    _ => [axpy(c, x, scale(s, y)), axpy(c, y, scale(-s, x)), z],
                };
                Pose { p: o, axes }
            }
            Motion::About(axis) => {
                let a = rotate_back(&axes, splat(axis));
                write3(screws, 0, scale(ratio, a));
                write3(screws, 3, scale(ratio, cross(o, a)));
                let (s, c) = value().sin_cos();
                Pose { p: o, axes: [turn(axes[0], a, s, c), turn(axes[1], a, s, c), turn(axes[2], a, s, c)] }
            }
            Motion::Along(axis) => {
                let a = rotate_back(&axes, splat(axis));
                write3(screws, 0, zero());
                write3(screws, 3, scale(ratio, a));
                Pose { p: axpy(value(), a, o), axes }
            }
            Motion::Planar(basis) => {
                let [e1, e2, a] = product(&splat_matrix(basis), &axes);
                let p = axpy(q[self.q], e1, axpy(q[self.q + 1], e2, o));
                for (k, e) in [e1, e2].into_iter().enumerate() {
                    write3(screws, SCREW * k, zero());
                    write3(screws, SCREW * k + 3, e);
                }
                write3(screws, 2 * SCREW, a);
                write3(screws, 2 * SCREW + 3, cross(p, a));
                let (s, c) = q[self.q + 2].sin_cos();
                Pose { p, axes: [turn(axes[0], a, s, c), turn(axes[1], a, s, c), turn(axes[2], a, s, c)] }
            }
            Motion::Translation(rotation) => {
                let parent = match rotation {
                    Some(rotation) => product(&splat_matrix(rotation), &axes),
                    None => axes,
                };
                let p = add(o, rotate_back(&parent, read3(q, self.q)));
                for k in 0..3 {
                    write3(screws, SCREW * k, zero());
                    write3(screws, SCREW * k + 3, parent[k]);
                }
                Pose { p, axes }
            }
            Motion::Spherical => spin(o, axes, &q[self.q..], screws),
            Motion::Floating => {
                let p = add(o, rotate_back(&axes, read3(q, self.q)));
                for k in 0..3 {
                    write3(screws, SCREW * k, zero());
                    write3(screws, SCREW * k + 3, axes[k]);
                }
                spin(p, axes, &q[self.q + 3..], &mut screws[3 * SCREW..])
            }
        }
    }

    /// Turns the wrench on the body into gradients of the joint's coordinates and the wrench on the parent.
    #[inline(always)]
    pub(super) fn vjp<R: Real>(&self, q: &[R], screws: &[R], grads: &[R], wrench: &mut Wrench<R>, grad_q: &mut [R]) {
        let screw = |k: usize| &screws[SCREW * (self.screw + k)..SCREW * (self.screw + k + 1)];
        let grad = |k: usize| &grads[SCREW * (self.screw + k)..SCREW * (self.screw + k + 1)];
        match self.motion {
            Motion::Fixed => {}
            // The joint's own motion leaves its screw in place: its pull has no component along itself.
            Motion::AboutAxis(..) | Motion::About(_) | Motion::Along(_) => {
                wrench.add_screw(screw(0), grad(0));
                grad_q[self.q] += wrench.along(screw(0));
            }
            Motion::Planar(_) => {
                // The axis of the rotation moves with x and y: m = p × a, so that the gradient pulls p with a × m̄.
                let carried = cross(read3(screw(2), 0), read3(grad(2), 3));
                for k in 0..3 {
                    grad_q[self.q + k] += wrench.along(screw(k));
                }
                for k in 0..2 {
                    grad_q[self.q + k] += dot(read3(screw(k), 3), carried);
                }
                (0..3).for_each(
                    #[inline(always)]
                    |k| wrench.add_screw(screw(k), grad(k)),
                );
            }
            Motion::Translation(_) => {
                for k in 0..3 {
                    grad_q[self.q + k] += wrench.along(screw(k));
                }
                (0..3).for_each(
                    #[inline(always)]
                    |k| wrench.add_screw(screw(k), grad(k)),
                );
            }
            Motion::Spherical => {
                let moment = [wrench.along(screw(0)), wrench.along(screw(1)), wrench.along(screw(2))];
                vjp_spin(&q[self.q..], moment, &mut grad_q[self.q..]);
                (0..3).for_each(
                    #[inline(always)]
                    |k| wrench.add_screw(screw(k), grad(k)),
                );
            }
            Motion::Floating => {
                let mut carried = zero();
                for k in 3..6 {
                    carried = add(carried, cross(read3(screw(k), 0), read3(grad(k), 3)));
                }
                let mut moment = zero();
                for k in 0..3 {
                    let along = dot(read3(screw(k), 3), carried);
                    grad_q[self.q + k] += wrench.along(screw(k)) + along;
                    moment[k] = wrench.along(screw(3 + k));
                }
                vjp_spin(&q[self.q + 3..], moment, &mut grad_q[self.q + 3..]);
                (0..6).for_each(
                    #[inline(always)]
                    |k| wrench.add_screw(screw(k), grad(k)),
                );
            }
        }
    }
}

/// The pose of what turns freely about a point, from the joint's axes and a quaternion; fills in the three screws.
#[inline(always)]
fn spin<R: Real>(p: Vec3<R>, axes: Mat3<R>, quaternion: &[R], screws: &mut [R]) -> Pose<R> {
    for k in 0..3 {
        write3(screws, SCREW * k, axes[k]);
        write3(screws, SCREW * k + 3, cross(p, axes[k]));
    }
    let Quaternion { w, v } = Quaternion::read(quaternion).unit().0;
    // Columns of the rotation matrix: R eₖ = eₖ + 2 w v × eₖ + 2 v × (v × eₖ).
    let mut turned = axes;
    for (k, column) in turned.iter_mut().enumerate() {
        let e = splat([f64::from(k == 0), f64::from(k == 1), f64::from(k == 2)]);
        let t = scale(R::splat(2.0), cross(v, e));
        let local = add(axpy(w, t, e), cross(v, t));
        *column = rotate_back(&axes, local);
    }
    Pose { p, axes: turned }
}

/// Adds to a quaternion's gradient, given the moment along the axes of its rotation: q̄ = 4 N moment / |q|, N = ½ [−vᵀ;
/// w − [v]×].
#[inline(always)]
fn vjp_spin<R: Real>(quaternion: &[R], moment: Vec3<R>, grad: &mut [R]) {
    let (Quaternion { w, v }, inverse) = Quaternion::read(quaternion).unit();
    let factor = inverse.scale(2.0);
    grad[0] -= factor * dot(v, moment);
    let vector = sub(scale(w, moment), cross(v, moment));
    accumulate(grad, 1, scale(factor, vector));
}

/// Two unit vectors that make a right-handed basis with the axis (x, y for the z axis).
fn plane(axis: [f64; 3]) -> [[f64; 3]; 3] {
    // Duff et al., Building an Orthonormal Basis, Revisited, 2017.
    let [x, y, z] = axis;
    let sign = if z >= 0.0 { 1.0 } else { -1.0 };
    let a = -1.0 / (sign + z);
    let b = x * y * a;
    [[1.0 + sign * x * x * a, sign * b, -sign * x], [b, sign + y * y * a, -y], axis]
}

/// The vector e turned about the unit axis a by the angle with sine s and cosine c (Rodrigues).
#[inline(always)]
fn turn<R: Real>(e: Vec3<R>, a: Vec3<R>, s: R, c: R) -> Vec3<R> {
    let along = dot(e, a) * (R::one() - c);
    axpy(along, a, axpy(s, cross(a, e), scale(c, e)))
}
