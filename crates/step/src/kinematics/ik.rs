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
//! damping d falls; otherwise it grows. Several fingers that share a wrist take one step together.
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

use nalgebra::{DMatrix, DVector, Vector3};

use super::{Coordinate, FrameSpec, Points, Tree};
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
    /// After how many steps a search ends without having reached its targets.
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

/// The message for a q whose poses are not finite.
const UNUSABLE: &str = "expected finite numbers and quaternions other than zero";
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
        self.solve_by(tree, q, targets, |_| true)
    }

    /// [`InverseKinematics::solve`] with those of the commanded joints alone for which `moves` is true.
    ///
    /// # Errors
    /// As [`InverseKinematics::solve`].
    pub fn solve_by(
        &self,
        tree: &Tree,
        q: &[f64],
        targets: &[Target],
        moves: impl Fn(&Coordinate) -> bool,
    ) -> Result<Reached> {
        self.check(tree, q, targets)?;
        let arms = Arms::new(tree, q, targets, moves)?;
        let mut x = arms.start();
        let (mut e, mut jacobian) = arms.errors(&x)?;
        let mut damping = self.damping.clamp(DAMPING.0, DAMPING.1);
        let mut iterations = 0;
        while iterations < self.max_iterations && farthest(&e) > self.tolerance && damping <= DAMPING.1 {
            let Some(free) = arms.free(&x, &jacobian.tr_mul(&e), jacobian.clone()) else { break };
            iterations += 1;
            let matrix = &free * free.transpose() + DMatrix::identity(e.len(), e.len()) * damping;
            let step = matrix.cholesky().map(|factor| free.tr_mul(&factor.solve(&e)));
            let next = step.map(|step| arms.clamped(&x + step));
            match next.map(|next| arms.errors(&next).map(|errors| (errors, next))).transpose()? {
                Some(((e_next, jacobian_next), next)) if e_next.norm() < e.norm() => {
                    (x, e, jacobian) = (next, e_next, jacobian_next);
                    damping = (damping / DAMPING_FACTOR).max(DAMPING.0);
                }
                _ => damping *= DAMPING_FACTOR,
            }
        }
        let distances = distances(&e);
        let converged = farthest(&e) <= self.tolerance;
        Ok(Reached { q: arms.configuration(&x), distances, converged, iterations })
    }

    fn check(&self, tree: &Tree, q: &[f64], targets: &[Target]) -> Result<()> {
        let invalid = |place: &str, message: String| Err(Error::invalid(place, message));
        if q.len() != tree.nq {
            return invalid("q", format!("expected {} numbers, got {}", tree.nq, q.len()));
        }
        if q.iter().any(|x| !x.is_finite()) {
            return invalid("q", UNUSABLE.to_owned());
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

/// The joints that move, and the targets' points, which they move.
struct Arms<'a> {
    joints: Vec<&'a Coordinate>,
    points: Points,
    goals: Vec<Vector3<f64>>,
    /// The configuration at the start.
    q: &'a [f64],
}

impl<'a> Arms<'a> {
    fn new(tree: &'a Tree, q: &'a [f64], targets: &[Target], moves: impl Fn(&Coordinate) -> bool) -> Result<Self> {
        let frame =
            |target: &Target| Ok(FrameSpec { xyz: target.point, ..FrameSpec::of_body(tree.find(&target.body)?) });
        let frames = targets.iter().map(frame).collect::<Result<Vec<_>>>()?;
        let joints = tree.coordinates.iter().filter(|joint| joint.u.is_some() && moves(joint)).collect();
        let goals = targets.iter().map(|target| target.goal.into()).collect();
        Ok(Self { joints, points: Points::new(tree, &frames), goals, q })
    }

    fn start(&self) -> DVector<f64> {
        self.clamped(DVector::from_iterator(self.joints.len(), self.joints.iter().map(|joint| self.q[joint.q])))
    }

    fn clamped(&self, mut x: DVector<f64>) -> DVector<f64> {
        for (value, joint) in x.iter_mut().zip(&self.joints) {
            *value = joint.limits.map_or(*value, |limits| value.max(limits.lower).min(limits.upper));
        }
        x
    }

    /// e (3 n) and J (3 n, joints) at the joints' values.
    fn errors(&self, x: &DVector<f64>) -> Result<(DVector<f64>, DMatrix<f64>)> {
        let q = self.configuration(x);
        let (points, all) = self.points.with_jacobian(&q).map_err(|error| Error::invalid("q", message(&error)))?;
        if points.as_flattened().iter().any(|x| !x.is_finite()) {
            return Err(Error::invalid("q", UNUSABLE));
        }
        let mut e = DVector::zeros(3 * points.len());
        for (t, (goal, point)) in self.goals.iter().zip(points).enumerate() {
            e.fixed_rows_mut::<3>(3 * t).copy_from(&(goal - Vector3::from(point)));
        }
        Ok((e, all.select_columns(self.joints.iter().map(|joint| &joint.v))))
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

    fn configuration(&self, x: &DVector<f64>) -> Vec<f64> {
        let mut q = self.q.to_vec();
        self.joints.iter().zip(x.iter()).for_each(|(joint, &value)| q[joint.q] = value);
        q
    }
}

fn distances(e: &DVector<f64>) -> Vec<f64> {
    e.as_slice().chunks_exact(3).map(|e| Vector3::from_column_slice(e).norm()).collect()
}

fn farthest(e: &DVector<f64>) -> f64 {
    largest(distances(e))
}
