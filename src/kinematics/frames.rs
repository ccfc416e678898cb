//! From q to poses and screws, and back: the kernels behind [`super::Kinematics`].
//!
//! A pose is twelve numbers: the position, then the three columns of the rotation matrix.
//! A screw is six, (ω; m): the velocity that one degree of freedom gives to the point p is ω × p + m, in world axes.
//!
//! | joint | screws |
//! |---|---|
//! | revolute about a through o | (a; o × a) |
//! | prismatic along a | (0; a) |
//! | floating, body frame at x | (0; eₖ), (eₖ; x × eₖ) |
//!
//! The adjoint is a recursion over wrenches (moment about the world's origin, force): everything that hangs below a
//! joint pulls on its coordinate with S · wrench.

use crate::description::JointKind;
use crate::math::lane::Real;
use crate::math::vector::{Mat3, Vec3, add, axpy, cross, dot, rotate, rotate_back, scale, splat, sub, zero};

use super::tree::{Body, Tree};

/// Numbers of a pose.
pub const POSE: usize = 12;
/// Numbers of a screw.
pub const SCREW: usize = 6;

/// A frame fixed to a body.
#[derive(Clone, Debug)]
pub struct FrameSpec {
    /// The body.
    pub body: usize,
    /// Rotation in the body's frame, row by row.
    pub rotation: [[f64; 3]; 3],
    /// Position in the body's frame, m. A parameter: kernels read it from their operand.
    pub xyz: [f64; 3],
}

impl FrameSpec {
    /// A body's own frame.
    pub fn of_body(body: usize) -> Self {
        Self { body, rotation: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], xyz: [0.0; 3] }
    }
}

/// What the kernels walk over.
#[derive(Debug)]
pub struct FrameTables {
    joints: Vec<JointTable>,
    frames: Vec<(usize, Option<[[f64; 3]; 3]>)>,
    nq: usize,
    ns: usize,
}

#[derive(Debug)]
struct JointTable {
    parent: usize,
    motion: Motion,
    /// Rotation of the joint's frame in the parent's, none for the identity.
    rotation: Option<[[f64; 3]; 3]>,
    q: usize,
    screw: usize,
    ratio: f64,
    shift: f64,
}

#[derive(Clone, Copy, Debug)]
enum Motion {
    Fixed,
    /// About the axis with this index, with this sign.
    AboutAxis(usize, f64),
    About([f64; 3]),
    Along([f64; 3]),
    /// In the plane of the first two, about the third.
    Planar([[f64; 3]; 3]),
    Translation,
    Floating,
}

/// Position and rotation (as columns) of a body or a frame.
#[derive(Clone, Copy)]
pub struct Pose<R> {
    /// Position, m.
    pub p: Vec3<R>,
    /// The axes in the world: the columns of the rotation matrix.
    pub axes: Mat3<R>,
}

impl<R: Real> Pose<R> {
    /// Reads twelve numbers.
    #[inline(always)]
    pub fn read(from: &[R]) -> Self {
        let v = |k: usize| [from[k], from[k + 1], from[k + 2]];
        Self { p: v(0), axes: [v(3), v(6), v(9)] }
    }
    /// Writes twelve numbers.
    #[inline(always)]
    pub fn write(&self, to: &mut [R]) {
        for i in 0..3 {
            to[i] = self.p[i];
            for j in 0..3 {
                to[3 + 3 * i + j] = self.axes[i][j];
            }
        }
    }
}

#[inline(always)]
fn read3<R: Real>(from: &[R], k: usize) -> Vec3<R> {
    [from[k], from[k + 1], from[k + 2]]
}

#[inline(always)]
fn write3<R: Real>(to: &mut [R], k: usize, v: Vec3<R>) {
    to[k] = v[0];
    to[k + 1] = v[1];
    to[k + 2] = v[2];
}

#[inline(always)]
fn accumulate<R: Real>(to: &mut [R], k: usize, v: Vec3<R>) {
    write3(to, k, add(read3(to, k), v));
}

/// axes · C for a constant C, none for the identity.
#[inline(always)]
fn turned<R: Real>(axes: &Mat3<R>, constant: &Option<[[f64; 3]; 3]>) -> Mat3<R> {
    let Some(constant) = constant else { return *axes };
    let mut result = [zero(); 3];
    for (j, column) in result.iter_mut().enumerate() {
        *column = rotate_back(axes, [R::splat(constant[0][j]), R::splat(constant[1][j]), R::splat(constant[2][j])]);
    }
    result
}

fn is_identity(m: &[[f64; 3]; 3]) -> bool {
    *m == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
}

impl FrameTables {
    /// The tables of a forest and frames on its bodies.
    pub fn new(tree: &Tree, frames: &[FrameSpec]) -> Self {
        let joints = tree.bodies.iter().map(JointTable::new).collect();
        let frames = frames.iter().map(|f| (f.body, (!is_identity(&f.rotation)).then_some(f.rotation))).collect();
        Self { joints, frames, nq: tree.nq, ns: tree.ns }
    }

    /// Numbers in q.
    pub fn nq(&self) -> usize {
        self.nq
    }

    /// Offsets: the positions of all joints in their parents (body by body), then of all frames in their bodies.
    pub fn n_offsets(&self) -> usize {
        3 * (self.joints.len() + self.frames.len())
    }

    /// Numbers that [`FrameTables::forward`] gives: the frames' poses, then the screws.
    pub fn n_outputs(&self) -> usize {
        POSE * self.frames.len() + SCREW * self.ns
    }

    /// Working memory of [`FrameTables::forward`].
    pub fn n_bodies(&self) -> usize {
        POSE * self.joints.len()
    }

    /// Poses of all bodies, of the frames, and the screws.
    #[inline(always)]
    pub fn forward<R: Real>(&self, q: &[R], offsets: &[R], bodies: &mut [R], out: &mut [R]) {
        let (frames, screws) = out.split_at_mut(POSE * self.frames.len());
        for (b, joint) in self.joints.iter().enumerate() {
            let xyz = read3(offsets, 3 * b);
            let above = if b == 0 {
                let e = |k| splat([f64::from(k == 0), f64::from(k == 1), f64::from(k == 2)]);
                Pose { p: xyz, axes: [e(0), e(1), e(2)] }
            } else {
                let parent = Pose::read(&bodies[POSE * joint.parent..]);
                let axes = turned(&parent.axes, &joint.rotation);
                Pose { p: add(parent.p, rotate_back(&parent.axes, xyz)), axes }
            };
            joint.place(above, q, screws).write(&mut bodies[POSE * b..]);
        }
        for (f, (body, rotation)) in self.frames.iter().enumerate() {
            let body = Pose::read(&bodies[POSE * body..]);
            let xyz = read3(offsets, 3 * (self.joints.len() + f));
            let axes = turned(&body.axes, rotation);
            Pose { p: add(body.p, rotate_back(&body.axes, xyz)), axes }.write(&mut frames[POSE * f..]);
        }
    }

    /// Working memory of [`FrameTables::backward`]: a wrench per body.
    pub fn n_wrenches(&self) -> usize {
        6 * self.joints.len()
    }

    /// Adds to the gradients of q and of the offsets, given those of [`FrameTables::forward`]'s results.
    ///
    /// `bodies` and `out` are as `forward` left them.
    #[expect(clippy::too_many_arguments, reason = "operands, results and gradients of a kernel")]
    #[inline(always)]
    pub fn backward<R: Real>(
        &self,
        q: &[R],
        bodies: &[R],
        out: &[R],
        grad: &[R],
        wrenches: &mut [R],
        grad_q: &mut [R],
        grad_offsets: &mut [R],
    ) {
        let (frames, screws) = out.split_at(POSE * self.frames.len());
        let (grad_frames, grad_screws) = grad.split_at(POSE * self.frames.len());
        wrenches.fill(R::zero());
        for (f, (body, _)) in self.frames.iter().enumerate() {
            let pose = Pose::read(&frames[POSE * f..]);
            let pull = Pose::read(&grad_frames[POSE * f..]);
            let mut moment = cross(pose.p, pull.p);
            for k in 0..3 {
                moment = add(moment, cross(pose.axes[k], pull.axes[k]));
            }
            accumulate(wrenches, 6 * body, moment);
            accumulate(wrenches, 6 * body + 3, pull.p);
            let body = Pose::read(&bodies[POSE * body..]);
            accumulate(grad_offsets, 3 * (self.joints.len() + f), rotate(&body.axes, pull.p));
        }
        for (b, joint) in self.joints.iter().enumerate().skip(1).rev() {
            let mut wrench = Wrench { moment: read3(wrenches, 6 * b), force: read3(wrenches, 6 * b + 3) };
            joint.pull(q, screws, grad_screws, &mut wrench, grad_q);
            accumulate(wrenches, 6 * joint.parent, wrench.moment);
            accumulate(wrenches, 6 * joint.parent + 3, wrench.force);
            let parent = Pose::read(&bodies[POSE * joint.parent..]);
            accumulate(grad_offsets, 3 * b, rotate(&parent.axes, wrench.force));
        }
        // The world's own offset carries everything.
        accumulate(grad_offsets, 0, read3(wrenches, 3));
    }
}

/// Moment about the world's origin and force.
struct Wrench<R> {
    moment: Vec3<R>,
    force: Vec3<R>,
}

impl<R: Real> Wrench<R> {
    /// S · wrench.
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
    fn new(body: &Body) -> Self {
        let axis: [f64; 3] = body.axis.into();
        let along = |k: usize| (0..3).all(|i| i == k || axis[i] == 0.0).then(|| Motion::AboutAxis(k, axis[k].signum()));
        let motion = match body.kind {
            JointKind::Fixed => Motion::Fixed,
            JointKind::Revolute | JointKind::Continuous => {
                along(0).or(along(1)).or(along(2)).unwrap_or(Motion::About(axis))
            }
            JointKind::Prismatic => Motion::Along(axis),
            JointKind::Planar => Motion::Planar(plane(axis)),
            JointKind::Translation => Motion::Translation,
            JointKind::Floating => Motion::Floating,
        };
        let rotation = std::array::from_fn(|i| std::array::from_fn(|j| body.rotation[(i, j)]));
        Self {
            parent: body.parent,
            motion,
            rotation: (!is_identity(&rotation)).then_some(rotation),
            q: body.q,
            screw: body.screw,
            ratio: body.ratio,
            shift: body.shift,
        }
    }

    /// The body's pose, given the pose of the joint's frame; fills in the joint's screws.
    #[inline(always)]
    fn place<R: Real>(&self, above: Pose<R>, q: &[R], screws: &mut [R]) -> Pose<R> {
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
                let (i, j) = ((k + 1) % 3, (k + 2) % 3);
                let mut turned = axes;
                turned[i] = axpy(c, axes[i], scale(s, axes[j]));
                turned[j] = axpy(c, axes[j], scale(-s, axes[i]));
                Pose { p: o, axes: turned }
            }
            Motion::About(axis) => {
                let a = rotate_back(&axes, splat(axis));
                write3(screws, 0, scale(ratio, a));
                write3(screws, 3, scale(ratio, cross(o, a)));
                let (s, c) = value().sin_cos();
                Pose {
                    p: o,
                    axes: axes.map(
                        #[inline(always)]
                        |e| turn(e, a, s, c),
                    ),
                }
            }
            Motion::Along(axis) => {
                let a = rotate_back(&axes, splat(axis));
                write3(screws, 0, zero());
                write3(screws, 3, scale(ratio, a));
                Pose { p: axpy(value(), a, o), axes }
            }
            Motion::Planar(basis) => {
                let [e1, e2, a] = basis.map(
                    #[inline(always)]
                    |e| rotate_back(&axes, splat(e)),
                );
                let p = axpy(q[self.q], e1, axpy(q[self.q + 1], e2, o));
                for (k, e) in [e1, e2].into_iter().enumerate() {
                    write3(screws, SCREW * k, zero());
                    write3(screws, SCREW * k + 3, e);
                }
                write3(screws, 2 * SCREW, a);
                write3(screws, 2 * SCREW + 3, cross(p, a));
                let (s, c) = q[self.q + 2].sin_cos();
                Pose {
                    p,
                    axes: axes.map(
                        #[inline(always)]
                        |e| turn(e, a, s, c),
                    ),
                }
            }
            Motion::Translation => {
                let p = add(o, rotate_back(&axes, read3(q, self.q)));
                for k in 0..3 {
                    write3(screws, SCREW * k, zero());
                    write3(screws, SCREW * k + 3, axes[k]);
                }
                Pose { p, axes }
            }
            Motion::Floating => {
                let p = add(o, rotate_back(&axes, read3(q, self.q)));
                for k in 0..3 {
                    write3(screws, SCREW * k, zero());
                    write3(screws, SCREW * k + 3, axes[k]);
                    write3(screws, SCREW * (3 + k), axes[k]);
                    write3(screws, SCREW * (3 + k) + 3, cross(p, axes[k]));
                }
                let (_, w, v) = unit_quaternion(&q[self.q + 3..]);
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
        }
    }

    /// Turns the wrench on the body into gradients of the joint's coordinates and the wrench on the parent.
    #[inline(always)]
    fn pull<R: Real>(&self, q: &[R], screws: &[R], grads: &[R], wrench: &mut Wrench<R>, grad_q: &mut [R]) {
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
            Motion::Translation => {
                for k in 0..3 {
                    grad_q[self.q + k] += wrench.along(screw(k));
                }
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
                // q̄ = 4 N moment / |q|, N = ½ [−vᵀ; w − [v]×].
                let (norm, w, v) = unit_quaternion(&q[self.q + 3..]);
                let factor = R::splat(2.0) / norm;
                grad_q[self.q + 3] -= factor * dot(v, moment);
                let vector = sub(scale(w, moment), cross(v, moment));
                accumulate(grad_q, self.q + 4, scale(factor, vector));
                (0..6).for_each(
                    #[inline(always)]
                    |k| wrench.add_screw(screw(k), grad(k)),
                );
            }
        }
    }
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

/// e turned about the unit axis a (Rodrigues).
#[inline(always)]
fn turn<R: Real>(e: Vec3<R>, a: Vec3<R>, s: R, c: R) -> Vec3<R> {
    let along = dot(e, a) * (R::one() - c);
    axpy(along, a, axpy(s, cross(a, e), scale(c, e)))
}

/// Norm, and scalar and vector part of the quaternion (w, x, y, z) over its norm.
#[inline(always)]
fn unit_quaternion<R: Real>(q: &[R]) -> (R, R, Vec3<R>) {
    let v = read3(q, 1);
    let norm = q[0].mul_add(q[0], dot(v, v)).sqrt();
    let inverse = R::one() / norm;
    (norm, q[0] * inverse, scale(inverse, v))
}
