//! A cost on an object's position and orientation relative to a goal.

use std::collections::BTreeMap;

use candle_core::{Result, bail};
use nalgebra::{Matrix3, Quaternion, UnitQuaternion, Vector3};

use super::{Cost, Expansion};
use fingertip_scene::{JointKind, check};
use fingertip_step::model::Model;

/// A goal for an object's pose and its joints, and for other objects. A part that is `None`, or a joint that is not
/// named, is free.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Goal {
    /// Position of its frame, m. z is ignored for planar objects.
    pub position: Option<[f64; 3]>,
    /// Orientation of the object, if the goal has one.
    pub turn: Option<Turn>,
    /// Positions of joints of an articulated object or a robot, by their own names, rad or m.
    pub joints: BTreeMap<String, f64>,
    /// Goals of other objects and robots by name, all of which are to be reached at once. Theirs are empty here.
    pub others: BTreeMap<String, Goal>,
}

impl Goal {
    /// Is the object itself free, whatever the others' goals are?
    pub fn is_free(&self) -> bool {
        self.position.is_none() && self.turn.is_none() && self.joints.is_empty()
    }
}

/// An orientation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Turn {
    /// A unit quaternion (w, x, y, z), for a free object.
    Quaternion([f64; 4]),
    /// A yaw angle, rad, for a planar object.
    Yaw(f64),
    /// The orientation of a free object but for turns about an axis of its own: only that axis has to point where the
    /// quaternion (w, x, y, z) takes it.
    Axis {
        /// An orientation that has the axis right, a unit quaternion.
        quaternion: [f64; 4],
        /// The axis in the object's frame, of any length but 0.
        axis: [f64; 3],
    },
}

impl Turn {
    /// This orientation, but for turns about an axis in the object's frame; a yaw stays one.
    pub fn but_about(self, axis: Option<[f64; 3]>) -> Self {
        match (self, axis) {
            (Self::Quaternion(quaternion) | Self::Axis { quaternion, .. }, Some(axis)) => {
                Self::Axis { quaternion, axis }
            }
            _ => self,
        }
    }

    /// The axis about which turns are free, if there is one.
    pub fn axis(self) -> Option<[f64; 3]> {
        if let Self::Axis { axis, .. } = self { Some(axis) } else { None }
    }

    /// The shortest rotation from here to an orientation given by its numbers in q, in world axes, rad.
    pub(in crate::mpc) fn error(self, q: &[f64]) -> Vector3<f64> {
        match self {
            Self::Yaw(goal) => Vector3::z() * wrapped(q[0] - goal),
            Self::Quaternion(goal) => (unit(q) * unit(&goal).inverse()).scaled_axis(),
            Self::Axis { quaternion, axis } => {
                let [from, to] = [unit(&quaternion), unit(q)].map(|turn| turn * Vector3::from(axis).normalize());
                between(from, to)
            }
        }
    }
}

fn unit(q: &[f64]) -> UnitQuaternion<f64> {
    UnitQuaternion::from_quaternion(Quaternion::new(q[0], q[1], q[2], q[3]))
}

/// The shortest rotation that takes one direction to another, rad; of opposite ones any that does.
fn between(from: Vector3<f64>, to: Vector3<f64>) -> Vector3<f64> {
    let (across, along) = (from.cross(&to), from.dot(&to));
    let sine = across.norm();
    if sine > 0.0 {
        across * (sine.atan2(along) / sine)
    } else if along < 0.0 {
        let aside = Vector3::ith(from.iamin(), 1.0);
        from.cross(&aside).normalize() * std::f64::consts::PI
    } else {
        // Zeros, or NaN.
        across
    }
}

/// Squared distance of an object's frame from a point, m².
#[derive(Clone, Copy, Debug)]
pub struct Position {
    q: usize,
    v: usize,
    n: usize,
    goal: [f64; 3],
}

/// Squared angle of the rotation from a goal to an object, rad²: ‖Log(R R*ᵀ)‖², at most π²; or of that from where an
/// axis is to point to where it does.
#[derive(Clone, Copy, Debug)]
pub struct Orientation {
    q: usize,
    v: usize,
    goal: Turn,
}

impl Position {
    /// The cost of the distance of the object with this name from `goal`, m in the world.
    ///
    /// # Errors
    /// If there is no such object, or the goal is not finite or farther than 1e6 m.
    pub fn new(model: &Model, object: &str, goal: [f64; 3]) -> Result<Self> {
        let c = model.object(object)?;
        check::position(&format!("goal of \"{object}\""), &goal.into())?;
        Ok(Self { q: c.q, v: c.v, n: if c.kind == JointKind::Planar { 2 } else { 3 }, goal })
    }

    /// Object minus goal, m. For a planar object the third number is 0.
    pub fn error(&self, q: &[f64]) -> [f64; 3] {
        std::array::from_fn(|k| if k < self.n { q[self.q + k] - self.goal[k] } else { 0.0 })
    }
}

impl Cost for Position {
    fn name(&self) -> &'static str {
        "position"
    }

    fn value(&self, q: &[f64]) -> Result<f64> {
        Ok(self.error(q).iter().map(|e| e * e).sum())
    }

    fn expand(&self, q: &[f64], weight: f64, to: &mut Expansion) -> Result<()> {
        let error = self.error(q);
        for k in 0..self.n {
            to.gradient[self.v + k] += 2.0 * weight * error[k];
            to.hessian[(self.v + k, self.v + k)] += 2.0 * weight;
        }
        Ok(())
    }
}

impl Orientation {
    /// The cost for the object with this name.
    ///
    /// # Errors
    /// If there is no such object, the goal does not fit it (a free object needs a quaternion, a planar one a yaw), the
    /// goal is not finite, or the quaternion has no length.
    pub fn new(model: &Model, object: &str, goal: Turn) -> Result<Self> {
        let c = model.object(object)?;
        let is_turn = match goal {
            Turn::Quaternion(q) => has_length(&q),
            Turn::Yaw(yaw) => yaw.is_finite(),
            Turn::Axis { quaternion, axis } => has_length(&quaternion) && has_length(&axis),
        };
        if !is_turn {
            bail!("goal of \"{object}\": expected finite numbers, and no quaternion or axis of zeros, got {goal:?}");
        }
        match (c.kind, goal) {
            (JointKind::Floating, Turn::Quaternion(_) | Turn::Axis { .. }) => Ok(Self { q: c.q + 3, v: c.v + 3, goal }),
            (JointKind::Planar, Turn::Yaw(_)) => Ok(Self { q: c.q + 2, v: c.v + 2, goal }),
            (JointKind::Floating, _) => bail!("goal of \"{object}\": expected a quaternion, as it is free, got a yaw"),
            (JointKind::Planar, _) => bail!("goal of \"{object}\": expected a yaw, as it is planar, got a quaternion"),
            _ => bail!("goal of \"{object}\": it cannot be turned"),
        }
    }

    /// Log(R R*ᵀ) in world axes, rad; for a planar object about z, in (−π, π]; for an axis the shortest rotation.
    pub fn error(&self, q: &[f64]) -> [f64; 3] {
        self.goal.error(&q[self.q..]).into()
    }
}

fn has_length(x: &[f64]) -> bool {
    x.iter().map(|x| x * x).sum::<f64>().is_normal()
}

/// Wraps an angle to (−π, π].
fn wrapped(angle: f64) -> f64 {
    use std::f64::consts::{PI, TAU};
    PI - (PI - angle).rem_euclid(TAU)
}

/// The gradient of ‖e‖² is exactly 2 e: e is along the axis, and the left Jacobian of Log does not change it. The true
/// Hessian is 2 along e and 2 (θ/2) cot(θ/2), which is less, across it. Here it is 2 in all directions: an upper bound
/// that is as smooth at θ = π as at 0. That of an axis is 2 in all directions but about the axis itself, which is free.
impl Cost for Orientation {
    fn name(&self) -> &'static str {
        "rotation"
    }

    fn value(&self, q: &[f64]) -> Result<f64> {
        Ok(self.error(q).iter().map(|e| e * e).sum())
    }

    fn expand(&self, q: &[f64], weight: f64, to: &mut Expansion) -> Result<()> {
        let error = self.error(q);
        let (first, n) = if matches!(self.goal, Turn::Yaw(_)) { (2, 1) } else { (0, 3) };
        let mut counts = Matrix3::identity();
        if let Turn::Axis { axis, .. } = self.goal {
            let axis = unit(&q[self.q..]) * Vector3::from(axis).normalize();
            counts -= axis * axis.transpose();
        }
        for k in 0..n {
            to.gradient[self.v + k] += 2.0 * weight * error[first + k];
            for l in 0..n {
                to.hessian[(self.v + k, self.v + l)] += 2.0 * weight * counts[(first + k, first + l)];
            }
        }
        Ok(())
    }
}
