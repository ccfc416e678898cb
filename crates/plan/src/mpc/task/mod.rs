//! Tasks: what to do in a scene, from a TOML file.
//!
#![doc = include_str!("../../../docs/tasks.md")]

mod draw;
mod episode;
mod file;
mod goals;
mod making;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use nalgebra::{Quaternion, UnitQuaternion};

use self::draw::quaternion;
use self::file::TaskFile;
use self::goals::Row;
use super::controller::{Method, Settings};
use super::cost::{Goal, Turn};
use super::simulator::Simulator;
use super::under_way::LONGEST;
pub use episode::{Episode, Errors, Progress};
use fingertip_scene::{Params, Scene, unknown};
use fingertip_shapes::{Error, Result, message};
use fingertip_step::Overrides;
use fingertip_step::kinematics::Coordinate;

/// Values for keys that a task's file leaves out.
const HORIZON: usize = 10;
const ITERATIONS: usize = 3;
const CAP: usize = 200;

/// A task, compiled.
#[derive(Clone, Debug)]
pub struct Task {
    /// Description of the task in one line.
    pub title: String,
    /// The task's scene, with the task's h, κ and ε.
    pub scene: Scene,
    /// The path of the scene's file.
    pub scene_path: PathBuf,
    /// The most control periods of an episode.
    pub cap: usize,
    /// The options of the task's controller.
    pub settings: Settings,
    file: Arc<TaskFile>,
    /// The model for each κ; the plan of the last one counts.
    simulators: Vec<Simulator>,
    goals: Option<Vec<Row>>,
}

impl Task {
    /// Reads a task's file and the files that it names.
    ///
    /// # Errors
    /// If a file cannot be read, a key is unknown or missing, or a value or name is not possible. The message gives the
    /// place and what was expected.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path).map_err(|error| Error::file(path, error))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        Self::from_toml(&text, folder).map_err(|error| error.within(path.display()))
    }

    /// Reads a task's text; its paths are relative to `folder`.
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
        scene.params.friction = file.friction.unwrap_or(scene.params.friction);
        scene.params.kappa = schedule[schedule.len() - 1];
        let whole = |name: &str, given: Option<usize>, default: usize, least: usize| match given {
            Some(n) if n < least => Err(Error::invalid(name, format!("expected at least {least}, got {n}"))),
            given => Ok(given.unwrap_or(default)),
        };
        let hold = whole("hold", file.hold, 1, 1)?;
        whole("horizon", file.horizon, HORIZON, 1)?;
        let inner = |error: candle_core::Error| Error::invalid("scene", message(&error));
        // The same in so many longer steps.
        let substeps = whole("substeps", file.substeps, hold, 1)?;
        let longer = |kappa: f64| {
            let own = Params { kappa, ..scene.params.clone() };
            let h = own.h * hold as f64 / substeps as f64;
            own.with_step(h)
        };
        let schedule: Vec<f64> = schedule.iter().map(|&kappa| longer(kappa).kappa).collect();
        scene.params = longer(scene.params.kappa);
        let hard = Simulator::new(&scene, substeps).map_err(inner)?;
        let simulators = scheduled(hard, &schedule).map_err(inner)?;
        let mut settings = Settings::default();
        settings.ilqr.iterations = file.iterations.unwrap_or(ITERATIONS);
        settings.most_iterations = whole("most_iterations", file.most_iterations, settings.ilqr.iterations, 1)?;
        for (name, given, most) in
            [("latency", file.latency, f64::INFINITY), ("lead", file.lead, f64::INFINITY), ("margin", file.margin, 1.0)]
        {
            if let Some(x) = given.filter(|x| !(x.is_finite() && (0.0..most).contains(x))) {
                let below = if most.is_finite() { " and below 1" } else { "" };
                return Err(Error::invalid(name, format!("expected a number from 0 up{below}, got {x}")));
            }
        }
        settings.latency = file.latency.unwrap_or(settings.latency);
        settings.lead = file.lead.unwrap_or(settings.lead);
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
            file: Arc::new(file),
        };
        task.goals = task.read_goals(folder)?;
        task.check()?;
        Ok(task)
    }

    /// A copy of this task that is planned with native code: see [`Simulator::native`].
    ///
    /// # Errors
    /// As [`Simulator::native`].
    #[cfg(feature = "native")]
    pub fn native(self) -> candle_core::Result<Self> {
        let kappas: Vec<f64> = self.simulators.iter().map(Simulator::kappa).collect();
        Ok(Self { simulators: scheduled(self.simulator().native()?, &kappas)?, ..self })
    }

    /// Replaces parameters of the model by name: what was found out about the plant. Controllers made from now on, and
    /// [`Task::problems`], have them. Only numbers that [`Parameters`](fingertip_step::Parameters) holds are replaced.
    ///
    /// # Errors
    /// As [`Overrides::parameters`]. Then nothing has changed.
    pub fn set_parameters(&mut self, overrides: &Overrides) -> candle_core::Result<()> {
        let with = |simulator: &Simulator| {
            let given = overrides.parameters(simulator.model(), simulator.step().parameters());
            simulator.with_parameters(&given?)
        };
        self.simulators = self.simulators.iter().map(with).collect::<candle_core::Result<_>>()?;
        Ok(())
    }

    /// The model whose plan counts. Its friction is the believed one, without the task's margin.
    pub fn simulator(&self) -> &Simulator {
        &self.simulators[self.simulators.len() - 1]
    }

    /// The length of a control period, s.
    pub fn period(&self) -> f64 {
        self.simulator().period()
    }

    /// The name of the object that has a goal.
    pub fn object(&self) -> &str {
        &self.file.goal.object
    }

    /// Number of goals in the list; none if goals are drawn.
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

    /// Finds all errors that can be found without a simulation.
    fn check(&self) -> Result<()> {
        let TaskFile { goal, start, weights, success, .. } = &*self.file;
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
        let longest = LONGEST as f64 * self.period();
        if let Some(latency) = self.file.latency.filter(|latency| *latency > longest) {
            let expected = format!("expected at most {LONGEST} control periods, {longest} s, got {latency}");
            return Err(Error::invalid("latency", expected));
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
        if self.file.estimate_friction && self.file.margin.is_some() {
            return Err(Error::invalid("margin", "expected none beside estimate_friction, which has its own"));
        }
        let episode = self.episode(0, 0)?;
        self.problems(&episode).map(|_| ())
    }
}

fn positive(name: &str, given: Option<f64>) -> Result<()> {
    match given {
        Some(x) if !(x.is_finite() && x > 0.0) => {
            Err(Error::invalid(name, format!("expected a positive number, got {x}")))
        }
        _ => Ok(()),
    }
}

/// The orientation given by numbers of q.
fn turn_of(c: &Coordinate, q: &[f64]) -> Option<Turn> {
    match *q {
        [_, _, _, w, x, y, z] => Some(quaternion(UnitQuaternion::from_quaternion(Quaternion::new(w, x, y, z)))),
        [_, _, yaw] if c.kind == fingertip_scene::JointKind::Planar => Some(Turn::Yaw(yaw)),
        _ => None,
    }
}

/// The pose of an object in q.
fn pose_of(c: &Coordinate, q: &[f64]) -> Goal {
    let own = &q[c.q..c.q + c.kind.nq()];
    let is_planar = c.kind == fingertip_scene::JointKind::Planar;
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

/// The models of a schedule, the last of which is given.
fn scheduled(hard: Simulator, schedule: &[f64]) -> candle_core::Result<Vec<Simulator>> {
    let softer = schedule[..schedule.len() - 1].iter().map(|&kappa| hard.with_kappa(kappa));
    let mut simulators = softer.collect::<candle_core::Result<Vec<_>>>()?;
    simulators.push(hard);
    Ok(simulators)
}
