//! Poses of starts and goals in task files: given, or drawn at random.

use std::collections::BTreeMap;
use std::f64::consts::FRAC_PI_2;

use nalgebra::{Quaternion, Unit, UnitQuaternion, Vector3};

use super::file::{About, PoseFile, Range, Rotation};
use crate::mpc::cost::{Goal, Turn};
use crate::mpc::sampling::Deviates;
use fingertip_scene::JointKind;
use fingertip_shapes::{Error, Result};

impl Range {
    pub(super) fn draw(&self, deviates: &mut Deviates) -> Vec<f64> {
        let pairs = self.low.iter().zip(&self.high);
        // A number that is given takes no deviate, so that it can be changed without changing the others.
        pairs.map(|(&low, &high)| if low == high { low } else { low + (high - low) * deviates.even() }).collect()
    }

    pub(super) fn has(&self, lengths: &[usize], what: &str) -> Result<()> {
        if lengths.contains(&self.low.len()) {
            return Ok(());
        }
        Err(Error::invalid(what, format!("expected {} numbers, got {}", lengths[0], self.low.len())))
    }
}

impl PoseFile {
    /// Checks that this is a pose for a body that moves like this.
    pub(super) fn check(&self, kind: JointKind) -> Result<()> {
        let (position, given): (&[usize], _) = match kind {
            JointKind::Planar => (&[2, 3], [None, None, None, self.yaw.as_ref().map(|_| "yaw")]),
            JointKind::Translation => (&[3], [None; 4]),
            _ => (
                &[3],
                [
                    self.rpy.as_ref().map(|_| "rpy"),
                    self.quaternion.as_ref().map(|_| "quaternion"),
                    self.rotation.as_ref().map(|_| "rotation"),
                    None,
                ],
            ),
        };
        let all = [
            self.rpy.as_ref().map(|_| "rpy"),
            self.quaternion.as_ref().map(|_| "quaternion"),
            self.rotation.as_ref().map(|_| "rotation"),
            self.yaw.as_ref().map(|_| "yaw"),
        ];
        if let Some((stray, _)) = all.iter().zip(&given).find(|(all, fits)| all != fits) {
            let expected = match kind {
                JointKind::Planar => "yaw, as the object is planar",
                JointKind::Translation => "no rotation, as the object has none",
                _ => "rpy, quaternion or rotation, as the object is free",
            };
            return Err(Error::invalid(stray.unwrap_or("rotation"), format!("expected {expected}")));
        }
        if given.iter().flatten().count() > 1 {
            return Err(Error::invalid("pose", "expected one of rpy, quaternion and rotation, got several"));
        }
        self.position.as_ref().map_or(Ok(()), |range| range.has(position, "position"))?;
        self.rpy.as_ref().map_or(Ok(()), |range| range.has(&[3], "rpy"))?;
        self.yaw.as_ref().map_or(Ok(()), |range| range.has(&[1], "yaw"))?;
        if let Some(range) = &self.quaternion {
            range.has(&[4], "quaternion")?;
            if range.low != range.high || !range.low.iter().map(|x| x * x).sum::<f64>().is_normal() {
                return Err(Error::invalid("quaternion", "expected four numbers, not all zero, that are not a range"));
            }
        }
        match &self.rotation {
            Some(Rotation::About(About { most, spread, .. }))
                if !(most.is_finite() && *most >= 0.0 && spread.is_finite() && *spread >= 0.0) =>
            {
                Err(Error::invalid("rotation", "expected most and spread from 0 up"))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn draw(&self, deviates: &mut Deviates) -> Goal {
        let position = self.position.as_ref().map(|range| {
            let drawn = range.draw(deviates);
            [drawn[0], drawn[1], drawn.get(2).copied().unwrap_or(0.0)]
        });
        let turn = if let Some(range) = &self.yaw {
            Some(Turn::Yaw(range.draw(deviates)[0]))
        } else if let Some(range) = &self.rpy {
            let drawn = range.draw(deviates);
            Some(quaternion(UnitQuaternion::from_euler_angles(drawn[0], drawn[1], drawn[2])))
        } else if let Some(range) = &self.quaternion {
            let q = &range.low;
            Some(quaternion(UnitQuaternion::from_quaternion(Quaternion::new(q[0], q[1], q[2], q[3]))))
        } else {
            self.rotation.as_ref().map(|rotation| quaternion(rotation.draw(deviates)))
        };
        let joints = self.joints.iter().map(|(name, range)| (name.clone(), range.draw(deviates)[0])).collect();
        Goal { position, turn, joints, others: BTreeMap::new() }
    }
}

impl Rotation {
    fn draw(&self, deviates: &mut Deviates) -> UnitQuaternion<f64> {
        match self {
            Self::About(about) => about.draw(deviates),
            // Four normal deviates have no direction of their own.
            Self::Any => {
                let [w, x, y, z] = std::array::from_fn(|_| deviates.normal());
                UnitQuaternion::from_quaternion(Quaternion::new(w, x, y, z))
            }
            Self::Quarters => {
                let (face, turn) = (deviates.even(), deviates.even());
                let faces =
                    [[0.0; 3], [1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, -1.0, 0.0]];
                let up = Vector3::from(faces[(6.0 * face) as usize]) * FRAC_PI_2;
                let about = Vector3::z() * (4.0 * turn).floor() * FRAC_PI_2;
                UnitQuaternion::from_scaled_axis(about) * UnitQuaternion::from_scaled_axis(up)
            }
        }
    }
}

impl About {
    fn draw(&self, deviates: &mut Deviates) -> UnitQuaternion<f64> {
        let mut axis = match self.about.0 {
            Some(axis) => Vector3::from(axis).normalize(),
            None => Vector3::from_fn(|_, _| deviates.normal()),
        };
        if self.spread > 0.0 {
            axis += Vector3::from_fn(|_, _| self.spread * deviates.normal());
        }
        let angle = self.most * (2.0 * deviates.even() - 1.0);
        Unit::try_new(axis, f64::MIN_POSITIVE)
            .map_or_else(UnitQuaternion::identity, |axis| UnitQuaternion::from_axis_angle(&axis, angle))
    }
}

pub(super) fn quaternion(q: UnitQuaternion<f64>) -> Turn {
    Turn::Quaternion([q.w, q.i, q.j, q.k])
}

impl Goal {
    /// This goal, but for turns about an axis in the object's frame.
    pub(super) fn but_about(self, axis: Option<[f64; 3]>) -> Self {
        Self { turn: self.turn.map(|turn| turn.but_about(axis)), ..self }
    }

    /// A relative goal composed with a start: positions are added, and the rotation is applied after that of the start.
    pub(super) fn after(self, start: &Self) -> Self {
        let position = self.position.zip(start.position).map(|(d, p)| std::array::from_fn(|k| p[k] + d[k]));
        let turn = self.turn.zip(start.turn).map(|turns| match turns {
            (Turn::Quaternion(d), Turn::Quaternion(q)) => {
                let unit = |q: [f64; 4]| UnitQuaternion::from_quaternion(Quaternion::new(q[0], q[1], q[2], q[3]));
                quaternion(unit(d) * unit(q))
            }
            (Turn::Yaw(d), Turn::Yaw(yaw)) => Turn::Yaw(yaw + d),
            (other, _) => other,
        });
        let from = |name: &str| start.joints.get(name).copied().unwrap_or(0.0);
        let joints = self.joints.into_iter().map(|(name, x)| (name.clone(), from(&name) + x)).collect();
        Self { position, turn, joints, others: BTreeMap::new() }
    }
}
