//! Costs of joints' positions.

use std::collections::BTreeMap;
use std::sync::Arc;

use candle_core::Result;

use super::{Cost, Expansion};
use crate::mpc::Simulator;
use crate::mpc::command::within;
use fingertip_scene::{check, unknown};
use fingertip_shapes::Error;
use fingertip_shapes::largest::largest;
use fingertip_step::kinematics::Coordinate;
use fingertip_step::model::Model;

/// Squared distance of joints from a posture, rad² or m².
#[derive(Clone, Debug)]
pub struct Posture {
    /// The joints: (place in q, degree of freedom, position of the posture).
    joints: Vec<(usize, usize, f64)>,
    /// Is the posture that at which each plan begins?
    follows: bool,
}

/// Squared excess of the commanded joints over their limits, rad² or m².
#[derive(Clone, Debug)]
pub struct JointLimits {
    /// The commanded joints: (place in q, degree of freedom, lower limit, upper limit).
    joints: Vec<(usize, usize, f64, f64)>,
}

impl Posture {
    /// The cost of the commanded joints whose posture is their positions in q (nq numbers).
    pub fn new(simulator: &Simulator, q: &[f64]) -> Self {
        let joints = simulator.joints().iter().map(|joint| (joint.q, joint.v, q[joint.q])).collect();
        Self { joints, follows: false }
    }

    /// The cost of some of the commanded joints, by their indices, whose posture is their positions in q (nq numbers).
    pub(in crate::mpc) fn of_joints(simulator: &Simulator, q: &[f64], joints: &[usize]) -> Self {
        let all = simulator.joints();
        let joints = joints.iter().map(|&i| (all[i].q, all[i].v, q[all[i].q])).collect();
        Self { joints, follows: false }
    }

    /// The cost whose posture is where each plan begins; in a plan that begins at q (nq numbers) that is q.
    pub fn following(simulator: &Simulator, q: &[f64]) -> Self {
        Self { follows: true, ..Self::new(simulator, q) }
    }

    /// The cost of joints of an object or a robot, by their own names: the distance of a door's `"hinge"` from an
    /// angle. Angles are not wrapped: a screw that has turned once more is elsewhere.
    ///
    /// # Errors
    /// If the object has no such joint, or a position is not finite or larger than 1e6 rad or m.
    pub fn of_object(model: &Model, object: &str, goal: &BTreeMap<String, f64>) -> Result<Self> {
        let joint = |(name, &x): (&String, &f64)| {
            let c = object_joint(model, object, name)?;
            check::finite(name, x)?;
            check::at_most(name, x, check::LONGEST, "rad or m")?;
            Ok((c.q, c.v, x))
        };
        let joints = goal.iter().map(joint).collect::<fingertip_shapes::Result<_>>()?;
        Ok(Self { joints, follows: false })
    }

    /// The distance of the joint that is farthest from the posture, rad or m; NaN if a joint's position is.
    pub fn error(&self, q: &[f64]) -> f64 {
        largest(self.joints.iter().map(|&(at, _, x)| q[at] - x))
    }
}

/// The joints of an object or a robot that have one coordinate, with their own names.
pub(in crate::mpc) fn object_joints<'a>(model: &'a Model, object: &str) -> Vec<(&'a str, &'a Coordinate)> {
    let coordinates = model.tree.coordinates.iter().filter(|c| c.kind.is_single());
    coordinates.filter_map(|c| Some((c.name.strip_prefix(object)?.strip_prefix('/')?, c))).collect()
}

/// A joint of an object or a robot by its own name.
pub(in crate::mpc) fn object_joint<'a>(
    model: &'a Model,
    object: &str,
    name: &str,
) -> fingertip_shapes::Result<&'a Coordinate> {
    let joints = object_joints(model, object);
    let unknown = || {
        let known = joints.iter().map(|(name, _)| *name);
        Error::invalid(format!("joints of \"{object}\""), unknown("joint", name, known))
    };
    joints.iter().find(|(own, _)| *own == name).map(|(_, c)| *c).ok_or_else(unknown)
}

impl JointLimits {
    /// The limits of all commanded joints.
    pub fn new(simulator: &Simulator) -> Self {
        Self { joints: simulator.joints().iter().map(|joint| (joint.q, joint.v, joint.lower, joint.upper)).collect() }
    }
}

fn add(to: &mut Expansion, v: usize, weight: f64, residual: f64) {
    to.gradient[v] += 2.0 * weight * residual;
    to.hessian[(v, v)] += 2.0 * weight;
}

impl Cost for Posture {
    fn value(&self, q: &[f64]) -> Result<f64> {
        Ok(self.joints.iter().map(|&(at, _, x)| (q[at] - x).powi(2)).sum())
    }

    fn expand(&self, q: &[f64], weight: f64, to: &mut Expansion) -> Result<()> {
        self.joints.iter().for_each(|&(at, v, x)| add(to, v, weight, q[at] - x));
        Ok(())
    }

    fn name(&self) -> &'static str {
        "posture"
    }

    fn beginning_at(&self, q: &[f64]) -> Option<Arc<dyn Cost>> {
        let joints = self.joints.iter().map(|&(at, v, _)| (at, v, q[at])).collect();
        self.follows.then(|| Arc::new(Self { joints, follows: true }) as Arc<dyn Cost>)
    }
}

impl Cost for JointLimits {
    fn value(&self, q: &[f64]) -> Result<f64> {
        Ok(self.joints.iter().map(|&(at, _, lower, upper)| (q[at] - within(q[at], (lower, upper))).powi(2)).sum())
    }

    fn expand(&self, q: &[f64], weight: f64, to: &mut Expansion) -> Result<()> {
        for &(at, v, lower, upper) in &self.joints {
            let beyond = q[at] - within(q[at], (lower, upper));
            if beyond != 0.0 {
                add(to, v, weight, beyond);
            }
        }
        Ok(())
    }

    fn name(&self) -> &'static str {
        "limits"
    }
}
