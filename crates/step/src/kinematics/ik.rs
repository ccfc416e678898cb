//! Inverse kinematics: finds joint positions that bring points on bodies to goals in the world.
//!
//! Let e = (goalₖ − pₖ(q))ₖ be the stacked errors of the targets and J their Jacobians. One step is that of Levenberg
//! and Marquardt,
//!
//! ```text
//! δ = Jᵀ (J Jᵀ + d 1)⁻¹ e
//! ```
//!
//! over the joints that do not press against a limit. It is cut off at the limits, and taken if ‖e‖ falls. Then the
//! damping d falls; otherwise it grows. Poses and Jacobians come from the crate [`k`], whose own solver moves one tip
//! at a time and without damping; several fingers that share a wrist need the joint step.
//!
//! ```
//! use candle_core::{DType, Device};
//! use fingertip::{Model, description::Scene, kinematics::ik::{InverseKinematics, Target}};
//!
//! # fn main() -> candle_core::Result<()> {
//! # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).unwrap();
//! let model = Model::new(&Scene::load("assets/scenes/two_fingers.toml")?, DType::F64, &Device::Cpu)?;
//! let goals = [("fingers/left_lower", [0.13, 0.05, 0.0]), ("fingers/right_lower", [0.13, -0.05, 0.0])];
//! let targets = goals.map(|(body, goal)| Target::new(body, [0.08, 0.0, 0.0], goal));
//! let reached = InverseKinematics::default().solve(&model.tree, &model.tree.home(), &targets)?;
//! assert!(reached.converged, "{:?} m off", reached.distances);
//! # Ok(())
//! # }
//! ```

use candle_core::{DType, Device, Tensor};
use k::nalgebra::{DMatrix, DVector, Isometry3, Matrix3, Rotation3, Translation3, Unit, UnitQuaternion, Vector3};
use k::{Chain, JointType, Node, NodeBuilder, SerialChain};

use super::{Body, Coordinate, FrameSpec, Kinematics, POSE, Tree};
use fingertip_scene::JointKind;
use fingertip_shapes::largest::largest;
use fingertip_shapes::{Error, Result, message};

/// A point of a body and its goal.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// The body, `"owner/link"`.
    pub body: String,
    /// The point in the body's frame, m.
    pub point: [f64; 3],
    /// The goal in the world, m.
    pub goal: [f64; 3],
}

impl Target {
    /// A target that brings `point` (in the frame of `body`, `"owner/link"`; m) to `goal` (in the world, m).
    pub fn new(body: impl Into<String>, point: [f64; 3], goal: [f64; 3]) -> Self {
        Self { body: body.into(), point, goal }
    }
}

/// Settings of the search. The search is local: it descends from the given q.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InverseKinematics {
    /// A target counts as reached within this distance, m; positive.
    pub tolerance: f64,
    /// Initial damping d, m²; positive. A larger value starts with shorter steps.
    pub damping: f64,
    /// The most steps.
    pub max_iterations: usize,
}

impl Default for InverseKinematics {
    fn default() -> Self {
        Self { tolerance: 1e-6, damping: 1e-4, max_iterations: 200 }
    }
}

/// Result of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Reached {
    /// The configuration, `nq` numbers. Commanded joints are within their limits, all else is unchanged.
    pub q: Vec<f64>,
    /// Remaining distance between each target's point and its goal, m.
    pub distances: Vec<f64>,
    /// Is every distance within the tolerance? If not, the goals are out of reach, or the search has ended in a local
    /// minimum; then try another start.
    pub converged: bool,
    /// The number of steps tried.
    pub iterations: usize,
}

/// Damping stays between these, m². Below, rounding takes the rank of J Jᵀ of fingers; above, steps have no effect.
const DAMPING: (f64, f64) = (1e-12, 1e6);
/// Damping is divided by this after a step that helped and multiplied by it after one that did not.
const DAMPING_FACTOR: f64 = 5.0;
/// A gradient ‖Jᵀe‖ below this, m² per rad or m, counts as zero.
const LEVEL: f64 = 1e-14;

impl InverseKinematics {
    /// Searches from q (`nq` numbers) for positions of the commanded joints that satisfy all targets at once. What is
    /// not commanded (objects, planar or floating joints) does not move; mimic joints follow.
    ///
    /// # Errors
    /// If a name is not a body's, q has another length, a number is not finite, or a setting is not positive. A goal
    /// that is not reached is not an error: see [`Reached::converged`].
    pub fn solve(&self, tree: &Tree, q: &[f64], targets: &[Target]) -> Result<Reached> {
        self.check(tree, q, targets)?;
        let arms = Arms::new(tree, q, targets)?;
        let mut x = arms.start(q);
        let (mut e, mut jacobian) = arms.errors(&x);
        let mut damping = self.damping.clamp(DAMPING.0, DAMPING.1);
        let mut iterations = 0;
        while iterations < self.max_iterations && farthest(&e) > self.tolerance && damping <= DAMPING.1 {
            let Some(free) = arms.free(&x, &jacobian.tr_mul(&e), jacobian.clone()) else { break };
            iterations += 1;
            let matrix = &free * free.transpose() + DMatrix::identity(e.len(), e.len()) * damping;
            let step = matrix.cholesky().map(|factor| free.tr_mul(&factor.solve(&e)));
            let next = step.map(|step| arms.clamped(&x + step));
            match next.map(|next| (arms.errors(&next), next)) {
                Some(((e_next, jacobian_next), next)) if e_next.norm() < e.norm() => {
                    (x, e, jacobian) = (next, e_next, jacobian_next);
                    damping = (damping / DAMPING_FACTOR).max(DAMPING.0);
                }
                _ => damping *= DAMPING_FACTOR,
            }
        }
        let distances = distances(&e);
        let converged = farthest(&e) <= self.tolerance;
        Ok(Reached { q: arms.configuration(q, &x), distances, converged, iterations })
    }

    fn check(&self, tree: &Tree, q: &[f64], targets: &[Target]) -> Result<()> {
        let invalid = |place: &str, message: String| Err(Error::invalid(place, message));
        if q.len() != tree.nq {
            return invalid("q", format!("expected {} numbers, got {}", tree.nq, q.len()));
        }
        for (name, value) in [("tolerance", self.tolerance), ("damping", self.damping)] {
            if !(value.is_finite() && value > 0.0) {
                return invalid(name, format!("expected a positive number, got {value}"));
            }
        }
        match targets.iter().find(|target| target.point.iter().chain(&target.goal).any(|x| !x.is_finite())) {
            Some(target) => invalid(&format!("target of \"{}\"", target.body), "expected finite numbers".into()),
            None => Ok(()),
        }
    }
}

/// The commanded joints of a forest as `k` sees them, and for each target the chain that ends in its point.
struct Arms<'a> {
    joints: Vec<&'a Coordinate>,
    /// Every body's node, with the commanded joint that moves it: its place in `joints`, ratio and shift.
    nodes: Vec<(Node<f64>, Option<Drive>)>,
    tips: Vec<Tip>,
}

#[derive(Clone, Copy)]
struct Drive {
    joint: usize,
    ratio: f64,
    shift: f64,
}

struct Tip {
    arm: SerialChain<f64>,
    /// The drive of each column of the arm's Jacobian.
    drives: Vec<Drive>,
    goal: Vector3<f64>,
}

impl<'a> Arms<'a> {
    fn new(tree: &'a Tree, q: &[f64], targets: &[Target]) -> Result<Self> {
        let poses = body_poses(tree, q)?;
        let joints: Vec<&Coordinate> = tree.coordinates.iter().filter(|coordinate| coordinate.u.is_some()).collect();
        let mut nodes: Vec<(Node<f64>, Option<Drive>)> = Vec::with_capacity(tree.bodies.len());
        for (b, body) in tree.bodies.iter().enumerate() {
            let drive = drive(body, &joints);
            // What no command moves is held where it is.
            let (joint_type, origin) = match drive {
                Some(_) => (joint_type(body), origin(body)),
                None if b == 0 => (JointType::Fixed, poses[0]),
                None => (JointType::Fixed, poses[body.parent].inv_mul(&poses[b])),
            };
            let node = NodeBuilder::new().name(&body.name).joint_type(joint_type).origin(origin).into_node();
            if b > 0 {
                node.set_parent(&nodes[body.parent].0);
            }
            nodes.push((node, drive));
        }
        let tips = targets.iter().map(|target| Tip::new(tree, &nodes, target)).collect::<Result<_>>()?;
        Ok(Self { joints, nodes, tips })
    }

    fn start(&self, q: &[f64]) -> DVector<f64> {
        self.clamped(DVector::from_iterator(self.joints.len(), self.joints.iter().map(|joint| q[joint.q])))
    }

    fn clamped(&self, mut x: DVector<f64>) -> DVector<f64> {
        for (value, joint) in x.iter_mut().zip(&self.joints) {
            *value = joint.limits.map_or(*value, |limits| value.max(limits.lower).min(limits.upper));
        }
        x
    }

    /// e (3 n) and J (3 n, joints) at the joints' values.
    fn errors(&self, x: &DVector<f64>) -> (DVector<f64>, DMatrix<f64>) {
        for (node, drive) in &self.nodes {
            if let Some(Drive { joint, ratio, shift }) = *drive {
                node.set_joint_position_unchecked(ratio * x[joint] + shift);
            }
        }
        let mut e = DVector::zeros(3 * self.tips.len());
        let mut jacobian = DMatrix::zeros(3 * self.tips.len(), self.joints.len());
        for (t, tip) in self.tips.iter().enumerate() {
            e.fixed_rows_mut::<3>(3 * t).copy_from(&(tip.goal - tip.arm.end_transform().translation.vector));
            let columns = k::jacobian(&tip.arm);
            for (column, drive) in columns.column_iter().zip(&tip.drives) {
                let mut sum = jacobian.fixed_slice_mut::<3, 1>(3 * t, drive.joint);
                sum += column.fixed_rows::<3>(0) * drive.ratio;
            }
        }
        (e, jacobian)
    }

    /// The Jacobian without the columns of joints that stand at a limit and would be pushed beyond; none where the
    /// gradient vanishes.
    fn free(&self, x: &DVector<f64>, slope: &DVector<f64>, mut jacobian: DMatrix<f64>) -> Option<DMatrix<f64>> {
        let mut steepest = 0.0_f64;
        for (i, joint) in self.joints.iter().enumerate() {
            let beyond = |limits: fingertip_scene::Limits| {
                (x[i] <= limits.lower && slope[i] < 0.0) || (x[i] >= limits.upper && slope[i] > 0.0)
            };
            if joint.limits.is_some_and(beyond) {
                jacobian.column_mut(i).fill(0.0);
            } else {
                steepest = steepest.max(slope[i].abs());
            }
        }
        (steepest > LEVEL).then_some(jacobian)
    }

    fn configuration(&self, q: &[f64], x: &DVector<f64>) -> Vec<f64> {
        let mut q = q.to_vec();
        self.joints.iter().zip(x.iter()).for_each(|(joint, &value)| q[joint.q] = value);
        q
    }
}

impl Tip {
    fn new(tree: &Tree, nodes: &[(Node<f64>, Option<Drive>)], target: &Target) -> Result<Self> {
        let body = tree.find(&target.body)?;
        let end = NodeBuilder::new().translation(Translation3::from(target.point)).into_node();
        end.set_parent(&nodes[body].0);
        let arm = SerialChain::new_unchecked(Chain::from_end(&end));
        let drive = |node: &Node<f64>| nodes.iter().find(|(other, _)| other == node).and_then(|(_, drive)| *drive);
        let drives = arm.iter().filter_map(drive).collect();
        Ok(Self { arm, drives, goal: target.goal.into() })
    }
}

fn drive(body: &Body, joints: &[&Coordinate]) -> Option<Drive> {
    let joint = joints.iter().position(|joint| body.kind.is_single() && joint.q == body.q)?;
    Some(Drive { joint, ratio: body.ratio, shift: body.shift })
}

fn joint_type(body: &Body) -> JointType<f64> {
    let axis = Unit::new_unchecked(Vector3::new(body.axis.x, body.axis.y, body.axis.z));
    match body.kind {
        JointKind::Prismatic => JointType::Linear { axis },
        _ => JointType::Rotational { axis },
    }
}

fn origin(body: &Body) -> Isometry3<f64> {
    isometry(body.xyz.into(), Matrix3::from_fn(|i, j| body.rotation[(i, j)]))
}

fn isometry(position: [f64; 3], rotation: Matrix3<f64>) -> Isometry3<f64> {
    let rotation = UnitQuaternion::from_rotation_matrix(&Rotation3::from_matrix_unchecked(rotation));
    Isometry3::from_parts(Translation3::from(position), rotation)
}

/// Every body's pose in the world at q.
fn body_poses(tree: &Tree, q: &[f64]) -> Result<Vec<Isometry3<f64>>> {
    let frames: Vec<FrameSpec> = (0..tree.bodies.len()).map(FrameSpec::of_body).collect();
    let row = || -> candle_core::Result<Vec<f64>> {
        let q = Tensor::from_slice(q, (1, q.len()), &Device::Cpu)?;
        Kinematics::new(tree, &frames, DType::F64, &Device::Cpu)?.at(&q)?.poses.flatten_all()?.to_vec1()
    };
    let row = row().map_err(|error| Error::invalid("q", message(&error)))?;
    if row.iter().any(|x| !x.is_finite()) {
        return Err(Error::invalid("q", "expected finite numbers and quaternions other than zero"));
    }
    let pose = |pose: &[f64]| isometry([pose[0], pose[1], pose[2]], Matrix3::from_column_slice(&pose[3..POSE]));
    Ok(row.chunks_exact(POSE).map(pose).collect())
}

fn distances(e: &DVector<f64>) -> Vec<f64> {
    e.as_slice().chunks_exact(3).map(|e| Vector3::from_column_slice(e).norm()).collect()
}

fn farthest(e: &DVector<f64>) -> f64 {
    largest(distances(e))
}
