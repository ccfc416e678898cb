//! Tasks: what is to be done in a scene, from a TOML file.
//!
#![doc = include_str!("../../../docs/tasks.md")]

mod draw;
mod episode;
mod file;
mod goals;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use nalgebra::{Quaternion, UnitQuaternion};

use self::draw::quaternion;
use self::file::{TaskFile, WeightsFile};
use self::goals::Row;
use super::command::{Command, Law};
use super::controller::{Controller, Method, Settings};
use super::cost::{Cost, Goal, JointLimits, Objective, Orientation, Position, Posture, Reach, Term, Turn};
use super::problem::{Problem, Start};
use super::simulator::Simulator;
use crate::description::{Scene, unknown};
use crate::error::{Error, Result};
use crate::kinematics::Coordinate;
pub use episode::{Episode, Errors, Progress};

/// Of a task's files, what has not been said.
const HORIZON: usize = 10;
const ITERATIONS: usize = 3;
const CAP: usize = 200;

/// A task, compiled.
#[derive(Debug)]
pub struct Task {
    /// What it is, in a line.
    pub title: String,
    /// Its scene, with the task's h, κ and ε.
    pub scene: Scene,
    /// Where the scene's file is.
    pub scene_path: PathBuf,
    /// Control periods of an episode, at most.
    pub cap: usize,
    /// How its controller works.
    pub settings: Settings,
    file: TaskFile,
    /// The model for each κ, the last one's plan counts.
    simulators: Vec<Simulator>,
    goals: Option<Vec<Row>>,
}

impl Task {
    /// Reads a task's file and all that it names.
    ///
    /// # Errors
    /// A file that cannot be read, a key that is unknown or missing, a value or a name that is not possible: where, and what
    /// was expected.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path).map_err(|error| Error::file(path, error))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        Self::from_toml(&text, folder).map_err(|error| error.within(path.display()))
    }

    /// Reads a task's text, its paths relative to `folder`.
    ///
    /// # Errors
    /// As [`Task::load`].
    pub fn from_toml(text: &str, folder: &Path) -> Result<Self> {
        let file = TaskFile::read(text)?;
        let scene_path = folder.join(&file.scene);
        let mut scene = Scene::load(&scene_path)?;
        let schedule = match (&file.kappa, &file.schedule) {
            (Some(_), Some(_)) => return Err(Error::invalid("schedule", "expected kappa or schedule, got both")),
            (Some(kappa), None) => vec![*kappa],
            (None, Some(schedule)) if schedule.is_empty() => {
                return Err(Error::invalid("schedule", "expected at least one number"));
            }
            (None, Some(schedule)) => schedule.clone(),
            (None, None) => vec![scene.params.kappa],
        };
        positive("h", file.h)?;
        positive("epsilon", file.epsilon)?;
        schedule.iter().try_for_each(|&kappa| positive("kappa", Some(kappa)))?;
        scene.params.h = file.h.unwrap_or(scene.params.h);
        scene.params.epsilon = file.epsilon.unwrap_or(scene.params.epsilon);
        scene.params.kappa = schedule[schedule.len() - 1];
        let whole = |name: &str, given: Option<usize>, default: usize, least: usize| match given {
            Some(n) if n < least => Err(Error::invalid(name, format!("expected at least {least}, got {n}"))),
            given => Ok(given.unwrap_or(default)),
        };
        let hold = whole("hold", file.hold, 1, 1)?;
        whole("horizon", file.horizon, HORIZON, 1)?;
        let inner = |error: candle_core::Error| Error::invalid("scene", error.to_string());
        let hard = Simulator::new(&scene, hold).map_err(inner)?;
        let mut simulators = schedule[..schedule.len() - 1]
            .iter()
            .map(|&kappa| hard.with_kappa(kappa).map_err(inner))
            .collect::<Result<Vec<_>>>()?;
        simulators.push(hard);
        let mut settings = Settings::default();
        settings.ilqr.iterations = file.iterations.unwrap_or(ITERATIONS);
        positive("tolerance", file.tolerance)?;
        settings.ilqr.tolerance = file.tolerance.unwrap_or(settings.ilqr.tolerance);
        if let Some(name) = &file.method {
            settings.method = name.parse().map_err(|error: Error| error.within("method"))?;
        }
        if let Some(given) = &file.sampling {
            let own = &mut settings.sampling;
            own.samples = whole("sampling.samples", given.samples, own.samples, 8)?;
            own.rounds = whole("sampling.rounds", given.rounds, own.rounds, 1)?;
            positive("sampling.spread", given.spread)?;
            own.spread = given.spread.unwrap_or(own.spread);
        }
        let mut task = Self {
            title: file.title.clone(),
            scene,
            scene_path,
            cap: whole("cap", file.cap, CAP, 1)?,
            settings,
            simulators,
            goals: None,
            file,
        };
        task.goals = task.read_goals(folder)?;
        task.check()?;
        Ok(task)
    }

    /// The model whose plan counts.
    pub fn simulator(&self) -> &Simulator {
        &self.simulators[self.simulators.len() - 1]
    }

    /// A control period, s.
    pub fn period(&self) -> f64 {
        self.scene.params.h * self.simulator().hold() as f64
    }

    /// The name of the object that has a goal.
    pub fn object(&self) -> &str {
        &self.file.goal.object
    }

    /// Goals in the list; none where goals are drawn.
    pub fn n_goals(&self) -> Option<usize> {
        self.goals.as_ref().map(Vec::len)
    }

    fn coordinate(&self, object: &str, place: &str) -> Result<&Coordinate> {
        let model = self.simulator().model();
        model.object(object).map_err(|_| {
            let known = model.tree.coordinates.iter().filter(|c| c.kind.nq() > 1).map(|c| c.name.as_str());
            Error::invalid(place, unknown("movable object", object, known))
        })
    }

    fn read_goals(&self, folder: &Path) -> Result<Option<Vec<Row>>> {
        let goal = &self.file.goal;
        let kind = self.coordinate(&goal.object, "goal: object")?.kind;
        let pose = goal.pose();
        match &goal.file {
            Some(_) if pose.position.is_some() || pose.has_turn() || goal.from.is_some() => {
                Err(Error::invalid("goal", "expected a file or a pose, got both"))
            }
            Some(file) => goals::read(&folder.join(file), kind, goal.start).map(Some),
            None if goal.start => {
                Err(Error::invalid("goal: start", "expected a file, whose columns init_… are the start"))
            }
            None if pose.position.is_none() && !pose.has_turn() => {
                Err(Error::invalid("goal", "expected a position, a rotation or a file"))
            }
            None => Ok(None),
        }
    }

    /// Everything that can be wrong without a simulation.
    fn check(&self) -> Result<()> {
        let TaskFile { goal, start, weights, success, .. } = &self.file;
        let kind = self.coordinate(&goal.object, "goal: object")?.kind;
        goal.pose().check(kind).map_err(|error| error.within("goal"))?;
        if let Some(from) = &goal.from
            && !matches!(from.as_str(), "world" | "start")
        {
            return Err(Error::invalid("goal: from", unknown("frame", from, ["world", "start"].into_iter())));
        }
        for (name, pose) in &start.objects {
            let place = format!("start.objects.{name}");
            pose.check(self.coordinate(name, &place)?.kind).map_err(|error| error.within(place))?;
        }
        let numbers =
            [("position", success.position), ("rotation", success.rotation), ("quaternion", success.quaternion)];
        numbers.iter().try_for_each(|(name, x)| positive(&format!("success.{name}"), *x))?;
        if success.held == Some(0) {
            return Err(Error::invalid("success.held", "expected at least 1, got 0"));
        }
        for (name, weight) in weights.all() {
            if !(weight.is_finite() && weight >= 0.0) {
                return Err(Error::invalid(
                    format!("weights.{name}"),
                    format!("expected a number from 0 up, got {weight}"),
                ));
            }
        }
        // What needs the names of joints and bodies is checked by making it once.
        let episode = self.episode(0, 0)?;
        self.problems(&episode).map(|_| ())
    }

    /// A controller for an episode.
    ///
    /// # Errors
    /// Of the first roll-out.
    pub fn controller(&self, episode: &Episode) -> candle_core::Result<Controller> {
        let mut settings = self.settings;
        let measure = &self.file.success;
        let WeightsFile { position, rotation, .. } = self.file.weights;
        // Within what counts as success nothing has to be sampled.
        settings.ilqr.small = position * measure.position.map_or(0.0, |x| x * x)
            + rotation * measure.rotation.or(measure.quaternion.map(|x| 2.0 * x.sqrt())).map_or(0.0, |x| x * x);
        Controller::new(self.problems(episode)?, &episode.start, settings)
    }

    /// The problem of an episode for each κ.
    ///
    /// # Errors
    /// A name that is not a joint's or a body's.
    pub fn problems(&self, episode: &Episode) -> Result<Vec<Problem>> {
        let problem = |simulator: &Simulator| {
            Ok(Problem {
                command: self.command(simulator, &episode.start)?,
                objective: self.objective(simulator, episode)?,
                simulator: simulator.clone(),
                horizon: self.file.horizon.unwrap_or(HORIZON),
            })
        };
        self.simulators.iter().map(problem).collect()
    }

    fn command(&self, simulator: &Simulator, start: &Start) -> Result<Command> {
        let file = &self.file.command;
        let law = match file.law.as_str() {
            "relative" => Law::Relative,
            "rate" => Law::Rate,
            "absolute" => Law::Absolute(start.u.clone()),
            other => {
                let known = ["relative", "rate", "absolute"].into_iter();
                return Err(Error::invalid("command: type", unknown("type", other, known)));
            }
        };
        let joints = simulator.joints();
        if let Some(name) = file.bound.joints.keys().find(|name| !joints.iter().any(|joint| joint.name == **name)) {
            return Err(Error::invalid(
                "command: bound",
                unknown("joint", name, joints.iter().map(|j| j.name.as_str())),
            ));
        }
        let bound = joints.iter().map(|joint| {
            let own = file.bound.joints.get(&joint.name).copied().or(file.bound.default);
            own.ok_or_else(|| {
                Error::invalid("command: bound", format!("expected one for \"{}\", or a default", joint.name))
            })
        });
        let command = Command::with_bounds(simulator, law, bound.collect::<Result<_>>()?)
            .map_err(|error| Error::invalid("command", error.to_string()))?;
        Ok(Command { keep_limits: file.limits.unwrap_or(true), ..command })
    }

    fn objective(&self, simulator: &Simulator, episode: &Episode) -> Result<Objective> {
        let weights = &self.file.weights;
        let (model, object, goal) = (simulator.model(), self.object(), &episode.goal);
        let bad = |error: candle_core::Error| Error::invalid("goal", error.to_string());
        let mut terms = Vec::new();
        let mut add = |cost: Arc<dyn Cost>, running: f64, terminal: Option<f64>, purpose: bool| {
            let terminal = terminal.unwrap_or(running);
            if running > 0.0 || terminal > 0.0 {
                terms.push(Term { cost, running, terminal, purpose });
            }
        };
        if let Some(position) = goal.position {
            let cost = Position::new(model, object, position).map_err(bad)?;
            add(Arc::new(cost), weights.position, weights.terminal.position, true);
        }
        if let Some(turn) = goal.turn {
            let cost = Orientation::new(model, object, turn).map_err(bad)?;
            add(Arc::new(cost), weights.rotation, weights.terminal.rotation, true);
        }
        add(Arc::new(Posture::new(simulator, &episode.start.q)), weights.posture, weights.terminal.posture, false);
        add(Arc::new(JointLimits::new(simulator)), weights.limits, weights.terminal.limits, false);
        if weights.reach > 0.0 || weights.terminal.reach.is_some_and(|weight| weight > 0.0) {
            add(Arc::new(self.reach(simulator)?), weights.reach, weights.terminal.reach, false);
        }
        let WeightsFile { command, smoothness, effort, .. } = *weights;
        Ok(Objective { terms, command, smoothness, effort })
    }

    fn reach(&self, simulator: &Simulator) -> Result<Reach> {
        let model = simulator.model();
        let file = self.file.reach.as_ref();
        let object = file.and_then(|file| file.object.as_deref()).unwrap_or(self.object());
        // A rigid object's body has its name, that of an articulated one the name of its first link.
        let points: Vec<(&str, [f64; 3])> = match file {
            Some(file) => file.points.iter().map(|point| (point.link.as_str(), point.at)).collect(),
            None => last_links(simulator).into_iter().map(|name| (name, [0.0; 3])).collect(),
        };
        let distance = file.map_or(0.0, |file| file.distance);
        if !(distance.is_finite() && distance >= 0.0) {
            return Err(Error::invalid("reach: distance", format!("expected a number from 0 up, got {distance}")));
        }
        Reach::new(model, &points, object, distance).map_err(|error| Error::invalid("reach", error.to_string()))
    }
}

/// Bodies of robots that carry no other body.
fn last_links(simulator: &Simulator) -> Vec<&str> {
    let tree = &simulator.model().tree;
    let is_last = |body: &usize| !tree.bodies.iter().skip(1).any(|other| other.parent == *body);
    let robots = tree.owners.iter().filter(|owner| owner.robot).flat_map(|owner| owner.bodies.clone());
    robots.filter(is_last).map(|body| tree.bodies[body].name.as_str()).collect()
}

fn positive(name: &str, given: Option<f64>) -> Result<()> {
    match given {
        Some(x) if !(x.is_finite() && x > 0.0) => {
            Err(Error::invalid(name, format!("expected a positive number, got {x}")))
        }
        _ => Ok(()),
    }
}

/// The orientation that numbers of q mean.
fn turn_of(c: &Coordinate, q: &[f64]) -> Option<Turn> {
    match *q {
        [_, _, _, w, x, y, z] => Some(quaternion(UnitQuaternion::from_quaternion(Quaternion::new(w, x, y, z)))),
        [_, _, yaw] if c.kind == crate::description::JointKind::Planar => Some(Turn::Yaw(yaw)),
        _ => None,
    }
}

/// The pose of an object in q.
fn pose_of(c: &Coordinate, q: &[f64]) -> Goal {
    let own = &q[c.q..c.q + c.kind.nq()];
    let is_planar = c.kind == crate::description::JointKind::Planar;
    Goal { position: Some([own[0], own[1], if is_planar { 0.0 } else { own[2] }]), turn: turn_of(c, own) }
}

impl std::str::FromStr for Method {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self> {
        let known = || Self::ALL.into_iter();
        let unknown = || Error::invalid("method", unknown("method", name, known().map(Self::name)));
        known().find(|method| method.name() == name).ok_or_else(unknown)
    }
}
