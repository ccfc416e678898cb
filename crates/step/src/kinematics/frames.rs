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

use fingertip_lanes::lane::{Real, clear};
use fingertip_lanes::vector::{Mat3, add, cross, rotate, rotate_back, splat, zero};

use super::joint::{JointTable, Wrench, accumulate, read3};
use super::pose::{POSE, Pose, SCREW, is_identity};
use super::tree::Tree;

/// A frame fixed to a body.
#[derive(Clone, Debug)]
pub struct FrameSpec {
    /// Index of the body in the tree.
    pub body: usize,
    /// Rotation in the body's frame, row by row.
    pub rotation: [[f64; 3]; 3],
    /// Position in the body's frame, m. A parameter: kernels read it from their operand.
    pub xyz: [f64; 3],
}

impl FrameSpec {
    /// A frame at a pose in a body's frame.
    pub fn at(body: usize, pose: &nalgebra::Isometry3<f64>) -> Self {
        let rotation = pose.rotation.to_rotation_matrix();
        let rotation = std::array::from_fn(|i| std::array::from_fn(|j| rotation[(i, j)]));
        Self { body, rotation, xyz: pose.translation.vector.into() }
    }

    /// A body's own frame.
    pub fn of_body(body: usize) -> Self {
        Self { body, rotation: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], xyz: [0.0; 3] }
    }
}

/// Joints and frames of a forest as plain tables, over which the kinematic kernels walk.
#[derive(Debug)]
pub struct FrameTables {
    joints: Vec<JointTable>,
    frames: Vec<(usize, Option<[[f64; 3]; 3]>)>,
    nq: usize,
    ns: usize,
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

impl FrameTables {
    /// The tables of a forest and frames on its bodies.
    pub fn new(tree: &Tree, frames: &[FrameSpec]) -> Self {
        let joints = tree.bodies.iter().map(JointTable::new).collect();
        let frames = frames.iter().map(|f| (f.body, (!is_identity(&f.rotation)).then_some(f.rotation))).collect();
        Self { joints, frames, nq: tree.nq, ns: tree.ns }
    }

    /// The number of coordinates in q.
    pub fn nq(&self) -> usize {
        self.nq
    }

    /// Length of the offsets: the positions of all joints in their parents (body by body), then of all frames in their
    /// bodies.
    pub fn n_offsets(&self) -> usize {
        3 * (self.joints.len() + self.frames.len())
    }

    /// Length of the result of [`FrameTables::forward`]: the frames' poses, then the screws.
    pub fn n_outputs(&self) -> usize {
        POSE * self.frames.len() + SCREW * self.ns
    }

    /// Length of the working memory of [`FrameTables::forward`]: a pose per body.
    pub fn n_bodies(&self) -> usize {
        POSE * self.joints.len()
    }

    /// Forward kinematics: computes the poses of all bodies and frames, and the screws.
    #[inline(always)]
    pub fn forward<R: Real>(&self, q: &[R], offsets: &[R], bodies: &mut [R], out: &mut [R]) {
        let (frames, screws) = out.split_at_mut(POSE * self.frames.len());
        for (b, joint) in R::parts(self.joints.iter().enumerate()) {
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
        for (f, (body, rotation)) in R::parts(self.frames.iter().enumerate()) {
            let body = Pose::read(&bodies[POSE * body..]);
            let xyz = read3(offsets, 3 * (self.joints.len() + f));
            let axes = turned(&body.axes, rotation);
            Pose { p: add(body.p, rotate_back(&body.axes, xyz)), axes }.write(&mut frames[POSE * f..]);
        }
    }

    /// Length of the working memory of [`FrameTables::backward`]: a wrench per body.
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
        clear(wrenches);
        for (f, (body, _)) in R::parts(self.frames.iter().enumerate()) {
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
        for b in R::parts((1..self.joints.len()).rev()) {
            let joint = &self.joints[b];
            let mut wrench = Wrench { moment: read3(wrenches, 6 * b), force: read3(wrenches, 6 * b + 3) };
            joint.vjp(q, screws, grad_screws, &mut wrench, grad_q);
            accumulate(wrenches, 6 * joint.parent, wrench.moment);
            accumulate(wrenches, 6 * joint.parent + 3, wrench.force);
            let parent = Pose::read(&bodies[POSE * joint.parent..]);
            accumulate(grad_offsets, 3 * b, rotate(&parent.axes, wrench.force));
        }
        // The world's own offset carries everything.
        accumulate(grad_offsets, 0, read3(wrenches, 3));
    }
}
