//! One episode of a task: its start, its goal, and its progress.

use std::collections::BTreeMap;

use nalgebra::{Isometry3, Quaternion, Translation3, UnitQuaternion};

use super::Task;
use super::draw::quaternion;
use super::file::Wanted;
use crate::mpc::cost::{Goal, Orientation, Position, Posture, Turn, object_joint, object_joints};
use crate::mpc::sampling::Deviates;
use crate::mpc::simulator::Joint;
use crate::mpc::start::Start;
use fingertip_scene::{JointKind, ObjectBody, unknown};
use fingertip_shapes::largest::larger;
use fingertip_shapes::{Error, Result, message};
use fingertip_step::kinematics::Coordinate;

/// Largest number of a state that an episode may start from, m or rad, as of lengths in scenes.
const FARTHEST: f64 = 1e6;

/// A start and a goal.
#[derive(Clone, Debug, PartialEq)]
pub struct Episode {
    /// The episode's number. Its random draws depend only on the seed and on this number.
    pub number: usize,
    /// The initial configuration, with commands at the joints' positions; those before bodies were moved apart, where
    /// the task says so.
    pub start: Start,
    /// The goal of the object, and of others.
    pub goal: Goal,
}

/// Distances of an object from its goal, or the largest of several objects. A part that the goal leaves free has none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Errors {
    /// Distance of positions, m.
    pub position: Option<f64>,
    /// Angle between orientations, rad.
    pub rotation: Option<f64>,
    /// Quaternion error 1 − ⟨q, q*⟩², which is sin² of half the angle.
    pub quaternion: Option<f64>,
    /// Distance of the joint that is farthest from its goal, rad or m.
    pub joints: Option<f64>,
    /// Is it lost: out of every robot's reach, and as far beyond it as the task says?
    pub lost: bool,
}

impl Errors {
    /// The largest of each kind; NaN where one of them is, and lost if one is.
    pub fn largest(all: impl IntoIterator<Item = Self>) -> Self {
        let of = |a: Option<f64>, b: Option<f64>| a.zip(b).map_or(a.or(b), |(a, b)| Some(larger(a, b)));
        all.into_iter().fold(Self::default(), |a, b| Self {
            position: of(a.position, b.position),
            rotation: of(a.rotation, b.rotation),
            quaternion: of(a.quaternion, b.quaternion),
            joints: of(a.joints, b.joints),
            lost: a.lost || b.lost,
        })
    }
}

/// The progress of an episode.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// Control periods so far.
    pub step: usize,
    /// Periods in a row with small errors.
    pub held: usize,
    /// The period in which the episode succeeded; none before that.
    pub success: Option<usize>,
    /// Is an object lost?
    pub lost: bool,
}

/// A start at a joint's limit may be off by rounding, rad or m.
const ROUNDING: f64 = 1e-9;

impl Task {
    /// Episode `number`. With a list of goals it takes the goal of that number, and starts again at the end of the
    /// list. Draws depend only on the seed and the number.
    ///
    /// # Errors
    /// If a joint or a coordinate is not in the scene, or a joint is to start beyond its limits.
    pub fn episode(&self, seed: u64, number: usize) -> Result<Episode> {
        let mut deviates = Deviates::new(seed, number as u64);
        let simulator = self.simulator();
        let tree = &simulator.model().tree;
        let mut q = tree.home();
        let row = self.goals.as_ref().map(|goals| &goals[number % goals.len()]);
        for (name, pose) in &self.file.start.objects {
            self.place(name, &mut q, &pose.draw(&mut deviates))?;
        }
        if let Some((_, Some(init))) = row {
            self.parts(init).try_for_each(|(object, init)| self.place(object, &mut q, init))?;
        }
        let names: Vec<String> = tree.coordinates.iter().flat_map(|c| c.q_names()).collect();
        let from = q.clone();
        for (name, value) in &self.file.start.joints {
            let joints = || simulator.joints().iter();
            let joint = joints().find(|joint| joint.name == *name).ok_or_else(|| {
                Error::invalid("start: joints", unknown("joint", name, joints().map(|joint| joint.name.as_str())))
            })?;
            let base = value.at.as_ref().map(|at| {
                let place = names.iter().position(|name| name == at);
                place.map(|place| from[place]).ok_or_else(|| {
                    Error::invalid("start: joints", unknown("coordinate", at, names.iter().map(String::as_str)))
                })
            });
            let at = base.transpose()?.unwrap_or(0.0) + value.plus;
            if !(joint.lower - ROUNDING..=joint.upper + ROUNDING).contains(&at) {
                let (lower, upper) = (joint.lower, joint.upper);
                let expected = format!("expected from {lower} to {upper}, the joint's limits, got {at}");
                return Err(Error::invalid(format!("start: joints: {name}"), expected));
            }
            q[joint.q] = at;
        }
        // What is moved apart is still commanded to where it was, so that a grip presses.
        let u = simulator.positions(&q);
        if self.file.start.apart {
            q = self.apart(q, &u).map_err(|error| Error::invalid("start: apart", message(&error)))?;
        }
        let goal = match row {
            Some((goal, _)) => {
                let mut others = self.draw_others(&mut deviates, &q);
                others.extend(goal.others.clone());
                self.lifted(Goal { others, ..goal.clone() }, &q)?
            }
            None if self.file.sequence.is_some() => self.far_goal(&mut deviates, &q)?,
            None => self.draw_goal(&mut deviates, &q)?,
        };
        Ok(Episode { number, start: Start::new(q, u), goal })
    }

    /// The next goal by the task's own draw. q (nq) is where the object is, from which relative goals count.
    pub(super) fn draw_goal(&self, deviates: &mut Deviates, q: &[f64]) -> Result<Goal> {
        let own = self.draw_one(&self.file.goal.own(), deviates, q);
        self.lifted(Goal { others: self.draw_others(deviates, q), ..own }, q)
    }

    fn draw_others(&self, deviates: &mut Deviates, q: &[f64]) -> BTreeMap<String, Goal> {
        let draw = |other: Wanted| (other.object.to_owned(), self.draw_one(&other, deviates, q));
        self.file.goal.others().map(draw).collect()
    }

    fn draw_one(&self, wanted: &Wanted, deviates: &mut Deviates, q: &[f64]) -> Goal {
        let mut goal = wanted.pose.draw(deviates);
        if wanted.axis.is_some() {
            goal.turn = goal.turn.or(Some(quaternion(UnitQuaternion::identity())));
        }
        if wanted.from == Some("start") {
            goal = goal.after(&self.state_of(wanted.object, q));
        }
        goal.but_about(wanted.axis)
    }

    /// A goal at the heights at which objects' lowest points are where the task says, if it does.
    pub(in crate::mpc) fn lifted(&self, mut goal: Goal, q: &[f64]) -> Result<Goal> {
        let (file, q) = (&self.file.goal, self.at_goal(&goal, q)?);
        let lift = |position: &mut Option<[f64; 3]>, object: &str, lowest: Option<f64>| -> Result<()> {
            if let (Some(lowest), Some([.., z])) = (lowest, position) {
                *z += lowest - self.lowest(object, &q)?;
            }
            Ok(())
        };
        lift(&mut goal.position, &file.object, file.lowest)?;
        for (object, own) in &mut goal.others {
            lift(&mut own.position, object, file.others.get(object).and_then(|other| other.lowest))?;
        }
        Ok(goal)
    }

    /// The height of an object's lowest point at q (nq), m.
    fn lowest(&self, object: &str, q: &[f64]) -> Result<f64> {
        let c = self.coordinate(object, "goal: lowest")?;
        let rigid = self.scene.objects.iter().find(|own| own.name == object).map(|object| &object.body);
        let (Some(ObjectBody::Rigid { collisions, .. }), [x, y, z, w, i, j, k]) = (rigid, &q[c.q..c.q + c.kind.nq()])
        else {
            return Err(Error::invalid("goal: lowest", "expected a free body without joints"));
        };
        let turn = UnitQuaternion::from_quaternion(Quaternion::new(*w, *i, *j, *k));
        let pose = Isometry3::from_parts(Translation3::new(*x, *y, *z), turn);
        let ends = collisions.iter().map(|collision| collision.shape.ends(&(pose * collision.pose), 2).0);
        Ok(ends.fold(f64::INFINITY, f64::min))
    }

    /// Makes an episode begin at q (nq). The command before its first one is the joints' positions there, within their
    /// limits.
    ///
    /// # Errors
    /// If q has a wrong length, or a number that is not finite or beyond a million. Then nothing has changed.
    pub fn begin_at(&self, episode: &mut Episode, q: Vec<f64>) -> Result<()> {
        let simulator = self.simulator();
        let nq = simulator.model().nq();
        if q.len() != nq {
            return Err(Error::invalid("q", format!("expected {nq} numbers, got {}", q.len())));
        }
        if let Some(x) = q.iter().find(|x| x.is_nan() || x.abs() > FARTHEST) {
            return Err(Error::invalid("q", format!("expected finite numbers up to {FARTHEST:e}, got {x:e}")));
        }
        let limited = |(joint, u): (&Joint, f64)| u.max(joint.lower).min(joint.upper);
        episode.start.u = simulator.joints().iter().zip(simulator.positions(&q)).map(limited).collect();
        episode.start.q = q;
        Ok(())
    }

    /// The errors relative to a goal at q (nq); of several objects, the largest of each kind. They are NaN, and so not
    /// small, if a number of q is not finite, or an object's quaternion has no length.
    ///
    /// # Errors
    /// If the goal does not fit the objects' freedom.
    pub fn errors(&self, goal: &Goal, q: &[f64]) -> candle_core::Result<Errors> {
        Ok(Errors::largest(self.errors_by_object(goal, q)?.into_values()))
    }

    /// The errors of each object that a goal is about, by name, as [`Task::errors`].
    ///
    /// # Errors
    /// As [`Task::errors`].
    pub fn errors_by_object(&self, goal: &Goal, q: &[f64]) -> candle_core::Result<BTreeMap<String, Errors>> {
        self.parts(goal).map(|(object, goal)| Ok((object.to_owned(), self.errors_of(object, goal, q)?))).collect()
    }

    /// The errors of one object.
    pub(in crate::mpc) fn errors_of(&self, object: &str, goal: &Goal, q: &[f64]) -> candle_core::Result<Errors> {
        let model = self.simulator().model();
        let length = |e: [f64; 3]| e.iter().map(|x| x * x).sum::<f64>().sqrt();
        let position = goal.position.map(|p| Ok::<_, candle_core::Error>(Position::new(model, object, p)?.error(q)));
        let rotation =
            goal.turn.map(|turn| Ok::<_, candle_core::Error>(Orientation::new(model, object, turn)?.error(q)));
        let joints = (!goal.joints.is_empty()).then(|| Posture::of_object(model, object, &goal.joints));
        let joints = joints.transpose()?.map(|cost| cost.error(q));
        let position = position.transpose()?.map(length);
        let rotation = rotation.transpose()?.map(length);
        let is_known = q.iter().all(|x| x.is_finite());
        let c = self.coordinate(object, "goal: object").ok().filter(|c| c.kind == JointKind::Floating);
        let has_turn = c.is_none_or(|c| q[c.q + 3..c.q + 7].iter().map(|x| x * x).sum::<f64>().is_normal());
        let known = |error: Option<f64>| error.map(|error| if is_known { error } else { f64::NAN });
        let (position, joints) = (known(position), known(joints));
        let rotation = known(rotation).map(|x| if has_turn { x } else { f64::NAN });
        Ok(Errors {
            position,
            rotation,
            quaternion: rotation.map(|angle| (0.5 * angle).sin().powi(2)),
            joints,
            lost: self.is_lost(object, q),
        })
    }

    /// Are these errors small by the task's measure of success? Errors without a measure, and measures of parts that
    /// the goal leaves free, are ignored.
    pub fn is_small(&self, errors: &Errors) -> bool {
        let measure = &self.file.success;
        let within = |limit: Option<f64>, error: Option<f64>| limit.zip(error).is_none_or(|(limit, e)| e < limit);
        within(measure.position, errors.position)
            && within(measure.rotation, errors.rotation)
            && within(measure.quaternion, errors.quaternion)
            && within(measure.joints, errors.joints)
            && [measure.position, measure.rotation, measure.quaternion, measure.joints].iter().any(Option::is_some)
    }

    /// The largest of these errors, as a multiple of what counts as success; 0 without a measure for one of them, and
    /// NaN if one is.
    pub fn times_success(&self, errors: &Errors) -> f64 {
        let measure = &self.file.success;
        let parts = [
            (errors.position, measure.position),
            (errors.rotation, measure.rotation),
            (errors.quaternion, measure.quaternion),
            (errors.joints, measure.joints),
        ];
        let times = parts.into_iter().filter_map(|(error, limit)| Some(error? / limit?));
        times.fold(0.0, larger)
    }

    /// Counts a period that ended with these errors.
    pub fn count(&self, progress: &mut Progress, errors: &Errors) {
        progress.step += 1;
        progress.lost |= errors.lost;
        progress.held = if self.is_small(errors) { progress.held + 1 } else { 0 };
        if progress.success.is_none() && progress.held >= self.file.success.held.unwrap_or(1) {
            progress.success = Some(progress.step);
        }
    }

    /// Is the episode over: by success, if the task stops there, by its cap, or as an object is lost?
    pub fn is_over(&self, progress: &Progress) -> bool {
        progress.lost
            || progress.step >= self.cap
            || (progress.success.is_some() && self.file.success.stop.unwrap_or(true))
    }
}

impl Task {
    /// q (nq numbers) with all objects at their goals; what the goals leave free stays.
    ///
    /// # Errors
    /// If a goal does not fit its object.
    pub fn at_goal(&self, goal: &Goal, q: &[f64]) -> Result<Vec<f64>> {
        let mut q = q.to_vec();
        self.parts(goal).try_for_each(|(object, goal)| self.place(object, &mut q, goal))?;
        Ok(q)
    }

    /// Puts an object at a pose and its joints at positions; free parts stay as they are.
    fn place(&self, object: &str, q: &mut [f64], at: &Goal) -> Result<()> {
        if at.position.is_some() || at.turn.is_some() {
            place(self.coordinate(object, "start")?, q, at);
        }
        for (name, &x) in &at.joints {
            q[object_joint(self.simulator().model(), object, name)?.q] = x;
        }
        Ok(())
    }

    /// The pose and the joints of an object in q.
    pub(in crate::mpc) fn state_of(&self, object: &str, q: &[f64]) -> Goal {
        let joints = object_joints(self.simulator().model(), object);
        let joints = joints.into_iter().map(|(name, c)| (name.to_owned(), q[c.q])).collect();
        let pose = self.coordinate(object, "goal: object").map(|c| pose_of(c, q)).unwrap_or_default();
        Goal { joints, ..pose }
    }
}

/// Puts an object at a pose; free parts stay as they are.
fn place(c: &Coordinate, q: &mut [f64], pose: &Goal) {
    let own = &mut q[c.q..c.q + c.kind.nq()];
    if let Some(position) = pose.position {
        let n = if c.kind == JointKind::Planar { 2 } else { 3 };
        own[..n].copy_from_slice(&position[..n]);
    }
    match pose.turn {
        Some(Turn::Quaternion(quaternion)) if own.len() == 7 => own[3..].copy_from_slice(&quaternion),
        Some(Turn::Yaw(yaw)) if c.kind == JointKind::Planar => own[2] = yaw,
        // As it is, but turned as little as brings its axis there.
        Some(turn @ Turn::Axis { .. }) if own.len() == 7 => {
            let now = UnitQuaternion::from_quaternion(Quaternion::new(own[3], own[4], own[5], own[6]));
            let q = UnitQuaternion::from_scaled_axis(-turn.error(&own[3..])) * now;
            own[3..].copy_from_slice(&[q.w, q.i, q.j, q.k]);
        }
        _ => {}
    }
}

/// The orientation given by numbers of q.
fn turn_of(c: &Coordinate, q: &[f64]) -> Option<Turn> {
    match *q {
        [_, _, _, w, x, y, z] => Some(quaternion(UnitQuaternion::from_quaternion(Quaternion::new(w, x, y, z)))),
        [_, _, yaw] if c.kind == JointKind::Planar => Some(Turn::Yaw(yaw)),
        _ => None,
    }
}

/// The pose of an object in q.
pub(super) fn pose_of(c: &Coordinate, q: &[f64]) -> Goal {
    let own = &q[c.q..c.q + c.kind.nq()];
    let is_planar = c.kind == JointKind::Planar;
    Goal {
        position: Some([own[0], own[1], if is_planar { 0.0 } else { own[2] }]),
        turn: turn_of(c, own),
        ..Goal::default()
    }
}
