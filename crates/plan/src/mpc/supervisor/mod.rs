#![doc = include_str!("../../../docs/supervisor.md")]

mod guided;
mod stall;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use candle_core::Result;
use nalgebra::{Quaternion, UnitQuaternion, Vector3};

use super::controller::{Answer, Carried, Controller, Measured, Method};
use super::cost::{Goal, Term, Turn};
use super::roadmap::Guide;
use super::sampling::Deviates;
use super::supervision::{Doing, Supervision};
use super::task::{Episode, Task};
use fingertip_shapes::largest::largest;
pub use stall::Stall;
use stall::is_tangled;

/// The ways out of a stall, in the order in which they are tried.
const WAYS: [Doing; 3] = [Doing::Nudge, Doing::Sample, Doing::Retreat];
/// A subgoal is renewed after this time, s, or when the object is as near as this share of its distance.
const RENEWED: f64 = 1.0;
const REACHED: f64 = 0.4;
/// A return ends when the object is as near as this share of the distance at which it began, or after this time, s.
const BACK: f64 = 0.4;
const LONGEST_RETURN: f64 = 3.0;
/// After so many returns without progress another way is tried.
const MOST_RETURNS: usize = 3;
/// A retreat ends when every joint is this near to its place at home, rad or m, or after this time, s.
const HOME: f64 = 0.1;
const LONGEST_RETREAT: f64 = 2.0;
/// After so many ways out without progress a retreat is rough: it lets objects fall on any side, their cost counts by
/// this share, and it goes back the way that the joints came.
const ROUGH_AFTER: usize = 2;
const ROUGH: f64 = 0.1;
/// The time for which one finger alone goes home, s, where fingers are in each other's way.
const LONGEST_FINGER: f64 = 1.0;
/// The way that the joints came is kept where one of them has gone so far since, rad or m, and so many places of it.
/// Back along it each place has so much time, s, and a retreat goes to so many.
const STRIDE: f64 = 0.3;
const MOST_PLACES: usize = 200;
const LONGEST_PLACE: f64 = 0.5;
const MOST_BACK: usize = 10;
/// A joint is held by what the plan does not know where it was to go at least this share of its bound, and has gone
/// less than the second share of the way.
const WANTED: f64 = 0.2;
const GONE: f64 = 0.5;
/// Progress is a step of this share of the distance that counts as success, and of this share of the smallest distance
/// so far.
const PROGRESS: f64 = 0.2;
const SHARE: f64 = 0.02;

/// The part of a retreat: which joints go where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Homing {
    /// All go home.
    All,
    /// All go back the way that they came, this many places of it so far.
    Back(usize),
    /// All go home after that.
    Again,
    /// This finger goes home alone.
    Finger(usize),
}

/// A controller, and what it is told to do when the goal is far or nothing moves.
#[derive(Clone, Debug)]
pub struct Supervisor {
    controller: Controller,
    task: Task,
    episode: Episode,
    settings: Option<Supervision>,
    /// Terms of every problem besides the task's own.
    terms: Vec<Term>,
    doing: Doing,
    /// The present target of planning.
    target: Goal,
    /// The joints of each finger, the part of a retreat, and the joints that go home or stay there where one finger
    /// does alone.
    fingers: Vec<Vec<usize>>,
    homing: Homing,
    moved: Vec<usize>,
    /// Where the joints have been since all of them were at home, the last at the end: states (nq).
    way: Vec<Vec<f64>>,
    /// Does a retreat let objects go as they fall, and go back the way that the joints came?
    is_rough: bool,
    /// Was the object away when the last way out began?
    was_away: bool,
    /// Control periods since `doing` began, and since the last progress.
    since: usize,
    idle: usize,
    /// The smallest distance from the goal since it was given, and since the last way out.
    best: f64,
    least: f64,
    /// The state (nq) when the goal was given.
    first: Option<Vec<f64>>,
    /// The last measured state (nq).
    before: Option<Vec<f64>>,
    stall: Option<Stall>,
    /// Ways out, and returns, since the last progress.
    ways: usize,
    returns: usize,
    answer: Option<Answer>,
    deviates: Deviates,
    times: BTreeMap<Doing, usize>,
    stalls: BTreeMap<String, usize>,
    guide: Option<Box<Guide>>,
}

impl Supervisor {
    /// Over the controller of an episode. Without the task's `supervision` it does what the controller does alone.
    ///
    /// # Errors
    /// As [`Task::controller`].
    pub fn new(task: &Task, episode: &Episode) -> Result<Self> {
        Ok(Self {
            controller: task.controller(episode)?,
            task: task.clone(),
            target: episode.goal.clone(),
            fingers: task.simulator().fingers(),
            homing: Homing::All,
            moved: Vec::new(),
            way: Vec::new(),
            is_rough: false,
            was_away: false,
            episode: episode.clone(),
            settings: task.supervision,
            terms: Vec::new(),
            doing: Doing::Goal,
            since: 0,
            idle: 0,
            best: f64::INFINITY,
            least: f64::INFINITY,
            first: None,
            before: None,
            stall: None,
            ways: 0,
            returns: 0,
            answer: None,
            deviates: Deviates::new(task.settings.seed, episode.number as u64),
            times: BTreeMap::new(),
            stalls: BTreeMap::new(),
            guide: None,
        })
    }

    /// With a roadmap, which leads to goals that the planner does not reach alone. Without the task's `supervision` it
    /// is not used.
    pub fn with_guide(mut self, guide: Guide) -> Self {
        self.guide = Some(Box::new(guide));
        self
    }

    /// The roadmap that leads where the planner does not.
    pub fn guide(&self) -> Option<&Guide> {
        self.guide.as_deref()
    }

    /// The controller that makes the plans.
    pub fn controller(&self) -> &Controller {
        &self.controller
    }

    /// The supervisor's present activity.
    pub fn doing(&self) -> Doing {
        self.doing
    }

    /// Why it does a nudge, samples or retreats.
    pub fn stall(&self) -> Option<&Stall> {
        self.stall.as_ref().filter(|_| WAYS.contains(&self.doing))
    }

    /// The present target of planning.
    pub fn target(&self) -> &Goal {
        &self.target
    }

    /// Number of times that each activity began.
    pub fn times(&self) -> &BTreeMap<Doing, usize> {
        &self.times
    }

    /// Number of stalls by their reason.
    pub fn stalls(&self) -> &BTreeMap<String, usize> {
        &self.stalls
    }

    /// Another goal from now on.
    ///
    /// # Errors
    /// If it does not fit the object.
    pub fn set_goal(&mut self, goal: Goal) -> Result<()> {
        self.episode.goal = goal;
        (self.best, self.least, self.first) = (f64::INFINITY, f64::INFINITY, None);
        (self.idle, self.ways, self.returns) = (0, 0, 0);
        if let Some(guide) = &mut self.guide {
            guide.forget();
        }
        self.begin(Doing::Goal, self.episode.goal.clone())
    }

    /// Other parameters from now on: those of this task.
    ///
    /// # Errors
    /// As [`Task::problems`].
    pub fn set_task(&mut self, task: &Task) -> Result<()> {
        self.task = task.clone();
        self.plan()
    }

    /// Terms that are added to the task's from now on, whatever is planned for, in place of those given before.
    ///
    /// # Errors
    /// As [`Task::problems`].
    pub fn set_terms(&mut self, terms: Vec<Term>) -> Result<()> {
        self.terms = terms;
        self.plan()
    }

    /// The controller goes on from what another has carried, see [`Controller::carry`].
    ///
    /// # Errors
    /// As [`Controller::carry`].
    pub fn carry(&mut self, carried: Carried) -> Result<()> {
        self.controller.carry(carried)
    }

    /// The command for the coming period, see [`Controller::answer`].
    ///
    /// # Errors
    /// As [`Controller::answer`].
    pub fn answer(&mut self, measured: &Measured, limit: Option<Duration>) -> Result<Answer> {
        // Where nothing was measured the controller follows the rest of its plan.
        let begin = Instant::now();
        if let Some(settings) = self.settings.filter(|_| measured.q.iter().all(|x| x.is_finite())) {
            self.supervise(settings, &measured.q)?;
            self.before = Some(measured.q.clone());
        }
        let supervised = begin.elapsed().as_secs_f64();
        let mut answer = self.controller.answer(measured, limit)?;
        answer.seconds += supervised;
        self.answer = self.settings.is_some().then(|| answer.clone());
        Ok(answer)
    }

    fn supervise(&mut self, settings: Supervision, q: &[f64]) -> Result<()> {
        let period = self.task.period();
        let periods = |seconds: f64| (seconds / period).ceil();
        let since = self.since as f64;
        let has_lasted = |seconds: f64| since >= periods(seconds);
        let distance = self.task.distance(&self.episode.goal, q)?;
        let errors = self.task.errors(&self.episode.goal, q)?;
        let away = errors.position.zip(settings.away).map(|(off, away)| off / away);
        let is_over = match self.doing {
            Doing::Goal => false,
            Doing::Subgoal => has_lasted(RENEWED) || self.farthest_turn(&self.target, q)? < REACHED * settings.subgoal,
            Doing::Return => has_lasted(LONGEST_RETURN) || away.is_none_or(|away| away < BACK),
            Doing::Nudge => {
                has_lasted(settings.stall) || self.farthest_turn(&self.target, q)? < REACHED * settings.subgoal
            }
            Doing::Sample => has_lasted(settings.stall),
            Doing::Retreat => match self.homing {
                Homing::All | Homing::Again => has_lasted(LONGEST_RETREAT) || self.is_home(q),
                Homing::Back(_) => {
                    has_lasted(LONGEST_PLACE) || self.way.last().is_none_or(|place| !self.is_far(place, q, HOME))
                }
                Homing::Finger(finger) => has_lasted(LONGEST_FINGER) || self.is_finger_home(finger, q),
            },
            Doing::Node | Doing::Release | Doing::Last => false,
        };
        // What slides off while the robot lets go is caught.
        let is_away = away.is_some_and(|away| away > 1.0);
        let is_left = WAYS.contains(&self.doing) && is_away && !self.was_away;
        let is_over = is_over || is_left;
        if !matches!(self.homing, Homing::Back(_)) {
            self.remember(q);
        }
        self.since += 1;
        self.idle += 1;
        let is_progress = |before: f64| {
            let step = (PROGRESS * self.task.success_distance()).max(SHARE * before);
            !before.is_finite() || distance < before - step
        };
        if is_progress(self.best) {
            (self.best, self.ways, self.returns) = (distance, 0, 0);
        }
        let is_there = self.task.is_small(&errors);
        if is_there || is_progress(self.least) {
            // From the goal, what counts begins anew when the object leaves it.
            (self.least, self.idle) = (if is_there { f64::INFINITY } else { distance }, 0);
        }
        let is_new = self.first.is_none();
        self.first.get_or_insert_with(|| q.to_vec());
        if self.is_guided(is_new, q)? {
            return Ok(());
        }
        let is_free = matches!(self.doing, Doing::Goal | Doing::Subgoal) || is_over;
        if !is_free {
            return Ok(());
        }
        if self.doing == Doing::Retreat
            && !is_left
            && let Some(next) = self.next_homing(q)
        {
            let moves = |finger| next == Homing::Finger(finger) || self.is_finger_home(finger, q);
            let moved = (0..self.fingers.len()).filter(|&finger| moves(finger));
            self.moved = moved.flat_map(|finger| &self.fingers[finger]).copied().collect();
            (self.homing, self.since) = (next, 0);
            return self.plan();
        }
        if self.doing == Doing::Return && (is_away || self.returns >= MOST_RETURNS) {
            // It cannot be brought back from there as it is held, or slides off again and again.
            self.returns = 0;
            return self.way_out(settings, is_away, q);
        }
        if WAYS.contains(&self.doing) || self.doing == Doing::Return {
            (self.least, self.idle) = (distance, 0);
        } else if self.idle as f64 >= periods(settings.stall) {
            return self.way_out(settings, is_away, q);
        }
        if is_away {
            let as_turned =
                |object: &str, goal: &Goal| Goal { turn: self.task.state_of(object, q).turn, ..goal.clone() };
            let mut goal = as_turned(self.task.object(), &self.episode.goal);
            for (name, other) in goal.others.iter_mut().filter(|(_, other)| other.position.is_some()) {
                *other = as_turned(name, other);
            }
            let goal = self.task.lifted(goal, q)?;
            self.returns += 1;
            return self.begin(Doing::Return, goal);
        }
        if self.farthest_turn(&self.episode.goal, q)? <= settings.subgoal {
            let goal = self.episode.goal.clone();
            return if self.doing == Doing::Goal { Ok(()) } else { self.begin(Doing::Goal, goal) };
        }
        if is_over || self.doing == Doing::Goal {
            let goal = self.ahead(settings, &BTreeMap::new(), q)?;
            return self.begin(Doing::Subgoal, goal);
        }
        Ok(())
    }

    /// The next way out of a stall.
    fn way_out(&mut self, settings: Supervision, is_away: bool, q: &[f64]) -> Result<()> {
        self.was_away = is_away;
        let late = self.task.late(&self.episode.goal, q)?;
        let stall = Stall::of(&self.task, &late, self.first.as_deref().unwrap_or(q), q, self.answer.as_ref())?;
        let turning: Vec<String> =
            late.iter().filter(|(_, goal)| goal.turn.is_some()).map(|(object, _)| (*object).to_owned()).collect();
        let is_of_use = |way: &Doing| match way {
            Doing::Nudge => !turning.is_empty(),
            Doing::Sample => !matches!(self.task.settings.method, Method::Hybrid | Method::Mppi | Method::Cem),
            _ => true,
        };
        let (first, others): (Vec<Doing>, Vec<Doing>) =
            WAYS.into_iter().filter(is_of_use).partition(|way| *way == stall.first_way());
        // The first way, and between two attempts at it one of the others in turn.
        let is_first = others.is_empty() || (self.ways.is_multiple_of(2) && !first.is_empty());
        let way = if is_first { first[0] } else { others[self.ways / 2 % others.len()] };
        self.ways += 1;
        *self.stalls.entry(stall.to_string()).or_insert(0) += 1;
        self.stall = Some(stall);
        // The first way out was of no use.
        if !self.ways.is_multiple_of(2) && self.is_led(q)? {
            self.ways += 1;
            return Ok(());
        }
        let goal = match way {
            Doing::Nudge => {
                let aside = |object: String| {
                    let aside = Vector3::from_fn(|_, _| self.deviates.normal());
                    (object, aside.normalize() * settings.subgoal)
                };
                let aside = turning.into_iter().map(aside).collect();
                self.ahead(settings, &aside, q)?
            }
            Doing::Sample => self.ahead(settings, &BTreeMap::new(), q)?,
            _ => {
                self.is_rough = self.ways > ROUGH_AFTER;
                self.put_down(!self.is_rough, q)?
            }
        };
        self.begin(way, goal)
    }

    /// Where the objects are now, but no higher than they were at the episode's start, and turned as they are now or,
    /// where that is not kept, as they fall. What is turned as now is no higher than the task's goals are.
    fn put_down(&self, is_kept: bool, q: &[f64]) -> Result<Goal> {
        let down = |object: &str| {
            let [now, first] = [q, &self.episode.start.q].map(|q| self.task.state_of(object, q));
            let position = now.position.zip(first.position).map(|([x, y, z], [.., before])| [x, y, z.min(before)]);
            Goal { position, turn: now.turn.filter(|_| is_kept), ..now }
        };
        // Robots go home.
        let others = self.episode.goal.others.keys().filter(|name| !self.task.is_robot(name));
        let others = others.map(|name| (name.clone(), down(name))).collect();
        let goal = Goal { others, ..down(self.task.object()) };
        if is_kept { self.task.lifted(goal, q).map_err(Into::into) } else { Ok(goal) }
    }

    /// The angle of the object that is farthest from the orientation that a goal wants, rad; 0 if it wants none.
    fn farthest_turn(&self, goal: &Goal, q: &[f64]) -> Result<f64> {
        let angles = self.task.parts(goal).map(|(object, goal)| Ok(self.turn_to(object, goal, q)?.norm()));
        Ok(largest(&angles.collect::<Result<Vec<_>>>()?))
    }

    /// The turn from where an object is to its part of a goal, in world axes, rad; none without one.
    fn turn_to(&self, object: &str, goal: &Goal, q: &[f64]) -> Result<Vector3<f64>> {
        Ok(-Vector3::from(self.task.turn_error(object, goal, q)?))
    }

    /// The goal, with each object turned no farther than `subgoal` from its present orientation, and then on by what is
    /// given for it.
    fn ahead(&self, settings: Supervision, aside: &BTreeMap<String, Vector3<f64>>, q: &[f64]) -> Result<Goal> {
        let one = |object: &str, goal: &Goal| -> Result<Option<Turn>> {
            let turn = self.turn_to(object, goal, q)?.cap_magnitude(settings.subgoal);
            let turn = aside.get(object).map_or(turn, |aside| turn + aside);
            let own = self.task.state_of(object, q).turn;
            Ok(own.zip(goal.turn).map(|(own, wanted)| turned(own, turn).but_about(wanted.axis())))
        };
        let mut goal = self.episode.goal.clone();
        goal.turn = one(self.task.object(), &goal)?;
        for (object, other) in &mut goal.others {
            other.turn = one(object, other)?;
        }
        self.task.lifted(goal, q).map_err(Into::into)
    }

    fn is_home(&self, q: &[f64]) -> bool {
        (0..self.fingers.len()).all(|finger| self.is_finger_home(finger, q))
    }

    fn is_finger_home(&self, finger: usize, q: &[f64]) -> bool {
        let joints = self.task.simulator().joints();
        let off = |&joint: &usize| q[joints[joint].q] - self.episode.start.q[joints[joint].q];
        self.fingers[finger].iter().all(|joint| off(joint).abs() < HOME)
    }

    /// Is a joint on its way home held by what the plan does not know, as by another finger whose contacts are left out
    /// of plans?
    fn is_held(&self, q: &[f64]) -> bool {
        let plan = self.answer.as_ref().and_then(|answer| answer.plan.as_ref());
        let Some((plan, before)) = plan.zip(self.before.as_ref()) else { return false };
        let joints = self.task.simulator().joints().iter().zip(&self.controller.problem().command.bound);
        joints.map(|(joint, bound)| (joint.q, bound)).any(|(joint, bound)| {
            let (wanted, gone) = (plan.best.q[q.len() + joint] - plan.best.q[joint], q[joint] - before[joint]);
            let is_off = (q[joint] - self.episode.start.q[joint]).abs() >= HOME;
            is_off && wanted.abs() > WANTED * bound && gone * wanted.signum() < GONE * wanted.abs()
        })
    }

    /// Is a joint farther than this from where it is in another state, rad or m?
    fn is_far(&self, one: &[f64], other: &[f64], most: f64) -> bool {
        self.task.simulator().joints().iter().any(|joint| (one[joint.q] - other[joint.q]).abs() >= most)
    }

    /// Keeps the way that the joints come; at home it begins anew.
    fn remember(&mut self, q: &[f64]) {
        if self.is_home(q) {
            self.way.clear();
        }
        if self.way.last().is_none_or(|last| self.is_far(last, q, STRIDE)) {
            self.way.push(q.to_vec());
        }
        if self.way.len() > MOST_PLACES {
            self.way.remove(0);
        }
    }

    /// The next part of a retreat that has not brought all joints home, if fingers are in each other's way.
    fn next_homing(&mut self, q: &[f64]) -> Option<Homing> {
        let is_stuck = |own: &Self| is_tangled(&own.task, own.answer.as_ref()) || own.is_held(q);
        let first = match self.homing {
            Homing::All if !is_stuck(self) => return None,
            Homing::All if self.is_rough && !self.way.is_empty() => return Some(Homing::Back(0)),
            Homing::Back(gone) => {
                self.way.pop();
                let is_end = self.way.is_empty() || gone + 1 >= MOST_BACK;
                return Some(if is_end { Homing::Again } else { Homing::Back(gone + 1) });
            }
            Homing::Again if !is_stuck(self) => return None,
            Homing::All | Homing::Again => 0,
            Homing::Finger(last) => last + 1,
        };
        (first..self.fingers.len()).find(|&finger| !self.is_finger_home(finger, q)).map(Homing::Finger)
    }

    /// Does something else, for another target.
    fn begin(&mut self, doing: Doing, target: Goal) -> Result<()> {
        (self.doing, self.target, self.since, self.homing) = (doing, target, 0, Homing::All);
        if self.settings.is_some() {
            *self.times.entry(doing).or_insert(0) += 1;
        }
        self.plan()
    }

    /// Tells the controller what to plan.
    fn plan(&mut self) -> Result<()> {
        let walk = self.guide.as_ref().and_then(|guide| guide.walk.as_ref());
        let mut problems = if let Some(walk) = walk {
            walk.problems(&self.task, &self.episode.start)?
        } else if self.doing == Doing::Retreat {
            let moved = matches!(self.homing, Homing::Finger(_)).then_some(self.moved.as_slice());
            let place = self.way.last().filter(|_| matches!(self.homing, Homing::Back(_)));
            let place = place.unwrap_or(&self.episode.start.q);
            let share = if self.is_rough { ROUGH } else { 1.0 };
            self.task.retreat(&self.episode, &self.target, place, moved, share)?
        } else {
            self.task.problems(&Episode { goal: self.target.clone(), ..self.episode.clone() })?
        };
        problems.iter_mut().for_each(|problem| problem.objective.terms.extend_from_slice(&self.terms));
        self.controller.set_problems(problems)?;
        let own = self.task.settings.method;
        self.controller.set_method(if self.doing == Doing::Sample { Method::Hybrid } else { own });
        Ok(())
    }
}

/// An orientation turned on, in world axes; in the plane by the third number.
fn turned(own: Turn, turn: Vector3<f64>) -> Turn {
    match own {
        Turn::Quaternion([w, x, y, z]) | Turn::Axis { quaternion: [w, x, y, z], .. } => {
            let now = UnitQuaternion::from_quaternion(Quaternion::new(w, x, y, z));
            let q = UnitQuaternion::from_scaled_axis(turn) * now;
            Turn::Quaternion([q.w, q.i, q.j, q.k]).but_about(own.axis())
        }
        Turn::Yaw(yaw) => Turn::Yaw(yaw + turn.z),
    }
}
