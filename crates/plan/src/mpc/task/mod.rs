//! Tasks: what to do in a scene, from a TOML file.
//!
#![doc = include_str!("../../../docs/tasks.md")]

mod distance;
mod draw;
mod episode;
mod file;
mod goals;
mod making;
mod sequence;
mod world;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use self::file::{PoseFile, TaskFile, Wanted};
use self::goals::Row;
use self::world::Reach;
use super::controller::{Method, Settings};
use super::cost::{Goal, object_joint, object_joints};
use super::simulator::Simulator;
use super::supervision::Supervision;
use super::under_way::LONGEST;
pub use episode::{Episode, Errors, Progress};
use fingertip_scene::{Folder, JointKind, Params, Scene, unknown};
use fingertip_shapes::{Error, Result, message};
use fingertip_step::Overrides;
use fingertip_step::kinematics::Coordinate;
pub use sequence::{End, Sequence};

/// Values for keys that a task's file leaves out.
const HORIZON: usize = 10;
const ITERATIONS: usize = 3;
const CAP: usize = 200;
const SUBGOAL: f64 = 0.5;
const STALL: f64 = 1.5;

/// The scene of a task's text.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(try_from = "toml::Value")]
pub enum SceneOf {
    /// In a file with this path, relative to the task's.
    File(String),
    /// In the task itself: its keys.
    Keys(toml::Table),
    /// In the task itself: its text in MuJoCo's MJCF.
    Mjcf(String),
}

impl SceneOf {
    /// Reads the scene in a task's folder: its path, which of one in the task itself is that of no file, its text, and
    /// what it is.
    ///
    /// # Errors
    /// As [`Scene::read`].
    pub fn read(&self, folder: &Folder) -> Result<(PathBuf, String, Scene)> {
        let within = |error: Error| error.within("scene");
        Ok(match self {
            Self::File(path) => (folder.join(path), folder.text(path)?, Scene::read(folder, path)?),
            Self::Keys(keys) => {
                let scene = Scene::from_keys(keys, folder.clone()).map_err(within)?;
                (folder.join("scene.toml"), keys.to_string(), scene)
            }
            Self::Mjcf(text) => {
                let scene = Scene::from_mjcf_text(text, folder.join("")).map_err(within)?;
                (folder.join("scene.xml"), text.clone(), scene)
            }
        })
    }
}

/// A task, compiled.
#[derive(Clone, Debug)]
pub struct Task {
    /// Description of the task in one line.
    pub title: String,
    /// The task's scene, with the task's h, κ and ε.
    pub scene: Scene,
    /// The path of the scene's file; of a scene in the task itself one that is not there, in the task's folder.
    pub scene_path: PathBuf,
    /// The scene's text.
    pub scene_text: String,
    /// The most control periods of an episode.
    pub cap: usize,
    /// The options of the task's controller.
    pub settings: Settings,
    /// When a supervisor over the controller does what; none if the task has no supervisor.
    pub supervision: Option<Supervision>,
    file: Arc<TaskFile>,
    /// The file's text, and the folder that its paths are relative to.
    source: Arc<(String, Folder)>,
    /// The model for each κ; the plan of the last one counts.
    simulators: Vec<Simulator>,
    goals: Option<Vec<Row>>,
    reach: Reach,
}

impl Task {
    /// Reads a task's file and the files that it names.
    ///
    /// # Errors
    /// If a file cannot be read, a key is unknown or missing, or a value or name is not possible. The message gives the
    /// place and what was expected.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        Self::read(&Folder::from(""), path)
    }

    /// Reads a task's file in a folder, like [`Task::load`].
    ///
    /// # Errors
    /// As [`Task::load`].
    pub fn read(folder: &Folder, file: impl AsRef<Path>) -> Result<Self> {
        let text = folder.text(&file)?;
        Self::from_toml(&text, folder.of(&file)).map_err(|error| error.within(folder.join(file).display()))
    }

    /// The scene of a text, if it is a task's.
    pub fn scene_of(text: &str) -> Option<SceneOf> {
        let mut table: toml::Table = text.parse().ok()?;
        table.remove("scene")?.try_into().ok()
    }

    /// Reads a task's text; its paths are relative to `folder`.
    ///
    /// # Errors
    /// As [`Task::load`].
    pub fn from_toml(text: &str, folder: impl Into<Folder>) -> Result<Self> {
        let folder = folder.into();
        let file = TaskFile::read(text).map_err(|error| if is_scene(text) { a_scene() } else { error })?;
        let (scene_path, scene_text, mut scene) = file.scene.read(&folder)?;
        let schedule = match (&file.kappa, &file.schedule) {
            (Some(_), Some(_)) => return Err(Error::invalid("schedule", "expected kappa or schedule, got both")),
            (Some(kappa), None) => vec![*kappa],
            (None, Some(schedule)) if schedule.is_empty() => {
                return Err(Error::invalid("schedule", "expected at least one number"));
            }
            (None, Some(schedule)) => schedule.clone(),
            (None, None) => vec![scene.params.kappa],
        };
        schedule.iter().try_for_each(|&kappa| positive("kappa", Some(kappa)))?;
        scene.params.h = file.h.unwrap_or(scene.params.h);
        scene.params.epsilon = file.epsilon.unwrap_or(scene.params.epsilon);
        scene.params.friction = file.friction.unwrap_or(scene.params.friction);
        scene.params.impratio = file.impratio.unwrap_or(scene.params.impratio);
        scene.params.kappa = schedule[schedule.len() - 1];
        scene.params.validate()?;
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
        if let Some(noise) = &file.noise {
            positive("noise.position", Some(noise.position))?;
            positive("noise.rotation", Some(noise.rotation))?;
            settings.noise = Some([noise.position, noise.rotation]);
        }
        positive("tolerance", file.tolerance)?;
        positive("lost", file.lost)?;
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
            scene_text,
            cap: whole("cap", file.cap, CAP, 1)?,
            settings,
            reach: Reach::new(simulators[0].model()),
            simulators,
            goals: None,
            supervision: supervision(&file),
            file: Arc::new(file),
            source: Arc::new((text.to_owned(), folder.clone())),
        };
        task.goals = task.read_goals(&folder)?;
        task.check()?;
        Ok(task)
    }

    /// This task as its file says it, but for some keys: `"horizon"`, or `"command.bound"` for a key of a table. None
    /// stands for a key that is left out.
    ///
    /// # Errors
    /// As [`Task::from_toml`].
    pub fn with_keys(&self, keys: &[(&str, Option<toml::Value>)]) -> Result<Self> {
        let (text, folder) = &*self.source;
        let mut file: toml::Table =
            text.parse().map_err(|error: toml::de::Error| Error::invalid("TOML", error.message()))?;
        for (path, value) in keys {
            let (tables, key) = path.rsplit_once('.').map_or((None, *path), |(tables, key)| (Some(tables), key));
            let mut table = &mut file;
            for name in tables.into_iter().flat_map(|tables| tables.split('.')) {
                let own = table.entry(name).or_insert_with(|| toml::Table::new().into());
                let expected = || Error::invalid(*path, format!("expected \"{name}\" to be a table"));
                table = own.as_table_mut().ok_or_else(expected)?;
            }
            match value {
                Some(value) => drop(table.insert(key.to_owned(), value.clone())),
                None => drop(table.remove(key)),
            }
        }
        Self::from_toml(&file.to_string(), folder.clone())
    }

    /// The task's text (TOML).
    pub fn text(&self) -> &str {
        &self.source.0
    }

    /// The value of a key of the task's file, as [`Task::with_keys`] names it.
    pub fn key(&self, path: &str) -> Option<toml::Value> {
        let file: toml::Table = self.source.0.parse().ok()?;
        let mut names = path.split('.');
        let first = file.get(names.next()?)?.clone();
        names.try_fold(first, |value, name| value.get(name).cloned())
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

    /// The number of commands that are planned ahead.
    pub fn horizon(&self) -> usize {
        self.file.horizon.unwrap_or(HORIZON)
    }

    /// The name of the object that has a goal: the first one, if there are several.
    pub fn object(&self) -> &str {
        &self.file.goal.object
    }

    /// Number of goals in the list; none if goals are drawn.
    pub fn n_goals(&self) -> Option<usize> {
        self.goals.as_ref().map(Vec::len)
    }

    /// The coordinates of an object that can move as a whole.
    fn coordinate(&self, object: &str, place: &str) -> Result<&Coordinate> {
        let model = self.simulator().model();
        model.object(object).map_err(|_| {
            if let Some((joint, _)) = object_joints(model, object).first() {
                let expected = format!("joints, as in joints = {{ {joint} = 1.0 }}, in place of a pose");
                return Error::invalid(place, format!("\"{object}\" cannot move as a whole; expected {expected}"));
            }
            let known = model.tree.coordinates.iter().filter(|c| c.kind.nq() > 1).map(|c| c.name.as_str());
            Error::invalid(place, unknown("movable object", object, known))
        })
    }

    /// The objects and robots that a goal is about, the task's own object first, each with its part of the goal.
    pub(in crate::mpc) fn parts<'a>(&'a self, goal: &'a Goal) -> impl Iterator<Item = (&'a str, &'a Goal)> {
        std::iter::once((self.object(), goal)).chain(goal.others.iter().map(|(object, goal)| (object.as_str(), goal)))
    }

    /// The objects and robots that goals are about, the task's own object first.
    pub(in crate::mpc) fn objects(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.object()).chain(self.file.goal.others.keys().map(String::as_str))
    }

    pub(in crate::mpc) fn is_robot(&self, name: &str) -> bool {
        self.scene.robots.iter().any(|robot| robot.name == name)
    }

    /// Factor on the task's weights for an object's costs.
    pub(in crate::mpc) fn share(&self, object: &str) -> f64 {
        self.file.goal.others.get(object).and_then(|other| other.weight).unwrap_or(1.0)
    }

    /// The body that the goal is about: the object's own, or the one that the goal's first joint moves.
    fn target(&self) -> Result<usize> {
        let object = self.object();
        let listed = self.goals.iter().flatten().flat_map(|(goal, _)| goal.joints.keys());
        match (self.coordinate(object, "goal: object"), self.file.goal.joints.keys().chain(listed).next()) {
            (Err(_), Some(joint)) => Ok(object_joint(self.simulator().model(), object, joint)?.body),
            (c, _) => Ok(c?.body),
        }
    }

    fn read_goals(&self, folder: &Folder) -> Result<Option<Vec<Row>>> {
        let goal = &self.file.goal;
        let pose = goal.own().pose;
        if goal.file.is_none() {
            self.check_state(&goal.object, &pose, "goal")?;
        }
        match &goal.file {
            Some(_) if pose.has_pose() || !pose.joints.is_empty() || goal.from.is_some() => {
                Err(Error::invalid("goal", "expected a file or a pose, got both"))
            }
            Some(file) => {
                if object_joints(self.simulator().model(), &goal.object).is_empty() {
                    self.coordinate(&goal.object, "goal: object")?;
                }
                let others: Vec<&str> = goal.others.keys().map(String::as_str).collect();
                let mut rows = goals::read(folder, file, self.simulator().model(), &goal.object, &others, goal.start)?;
                for (own, _) in &mut rows {
                    *own = std::mem::take(own).but_about(goal.axis);
                    for (name, other) in &mut own.others {
                        *other = std::mem::take(other).but_about(goal.others[name].axis);
                    }
                }
                Ok(Some(rows))
            }
            None if goal.start => {
                Err(Error::invalid("goal: start", "expected a file, whose columns init_… are the start"))
            }
            None if !pose.has_pose() && pose.joints.is_empty() && goal.axis.is_none() => {
                self.coordinate(&goal.object, "goal: object")?;
                Err(Error::invalid("goal", "expected a position, a rotation, an axis, joints or a file"))
            }
            None => Ok(None),
        }
    }

    /// Checks that an object can be in such a state.
    fn check_state(&self, object: &str, state: &PoseFile, place: &str) -> Result<()> {
        if state.has_pose() || state.joints.is_empty() {
            let kind = self.coordinate(object, &format!("{place}: object"))?.kind;
            state.check(kind).map_err(|error| error.within(place))?;
        }
        for (name, range) in &state.joints {
            object_joint(self.simulator().model(), object, name)
                .and_then(|_| range.has(&[1], name))
                .map_err(|error| error.within(place))?;
        }
        Ok(())
    }

    /// Finds all errors that can be found without a simulation.
    fn check(&self) -> Result<()> {
        let TaskFile { goal, start, weights, success, sequence, supervisor, .. } = &*self.file;
        for wanted in std::iter::once(goal.own()).chain(goal.others()) {
            wanted.check()?;
            let place = format!("{}: axis", wanted.place);
            if wanted.axis.is_some() && self.coordinate(wanted.object, &place)?.kind != JointKind::Floating {
                return Err(Error::invalid(
                    place,
                    format!("expected none, as \"{}\" cannot turn freely", wanted.object),
                ));
            }
        }
        for other in goal.others() {
            if other.object == goal.object {
                return Err(Error::invalid(other.place, "expected another than the goal's own object"));
            }
            let is_given = other.pose.has_pose() || !other.pose.joints.is_empty() || other.from.is_some();
            let is_listed = self.goals.iter().flatten().any(|(goal, _)| goal.others.contains_key(other.object));
            match (is_given, is_listed) {
                (true, true) => {
                    return Err(Error::invalid(other.place, "expected a goal or columns in the file, got both"));
                }
                (false, false) if other.axis.is_none() => {
                    let file = if goal.file.is_some() { ", or columns in the file" } else { "" };
                    return Err(Error::invalid(
                        other.place,
                        format!("expected a position, a rotation, an axis or joints{file}"),
                    ));
                }
                (false, _) => {}
                (true, false) => self.check_state(other.object, &other.pose, &other.place)?,
            }
        }
        for (name, pose) in &start.objects {
            self.check_state(name, pose, &format!("start.objects.{name}"))?;
        }
        let longest = LONGEST as f64 * self.period();
        if let Some(latency) = self.file.latency.filter(|latency| *latency > longest) {
            let expected = format!("expected at most {LONGEST} control periods, {longest} s, got {latency}");
            return Err(Error::invalid("latency", expected));
        }
        let numbers = [
            ("position", success.position),
            ("rotation", success.rotation),
            ("quaternion", success.quaternion),
            ("joints", success.joints),
        ];
        numbers.iter().try_for_each(|(name, x)| positive(&format!("success.{name}"), *x))?;
        if let Some(file) = sequence {
            positive("sequence.drop", file.drop)?;
            positive("sequence.least", file.least)?;
            if file.goals == Some(0) {
                return Err(Error::invalid("sequence.goals", "expected at least 1, got 0"));
            }
            if goal.file.is_some() {
                return Err(Error::invalid("sequence", "expected a goal that is drawn, not a list"));
            }
            if file.drop.is_some() && goal.position.is_none() {
                return Err(Error::invalid("sequence.drop", "expected a goal with a position, from which it counts"));
            }
        }
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
        if let Some(file) = supervisor {
            positive("supervisor.subgoal", file.subgoal)?;
            positive("supervisor.away", file.away)?;
            positive("supervisor.stall", file.stall)?;
        }
        // What needs the names of joints and bodies is checked by making it once.
        self.estimator()?;
        let episode = self.episode(0, 0)?;
        let goals = || std::iter::once(&episode.goal).chain(episode.goal.others.values());
        let asked = [
            (success.position, goals().any(|goal| goal.position.is_some())),
            (success.rotation.or(success.quaternion), goals().any(|goal| goal.turn.is_some())),
            (success.joints, goals().any(|goal| !goal.joints.is_empty())),
        ];
        if asked.iter().any(|(bound, _)| bound.is_some()) && !asked.iter().any(|(bound, has)| bound.is_some() && *has) {
            return Err(Error::invalid("success", "expected a bound on what the goal has, got others alone"));
        }
        self.problems(&episode).map(|_| ())
    }
}

impl Wanted<'_> {
    /// Checks what needs no model.
    fn check(&self) -> Result<()> {
        let bad = |key: &str, what: String| Err(Error::invalid(format!("{}: {key}", self.place), what));
        if let Some(from) = self.from.filter(|from| !matches!(*from, "world" | "start")) {
            return bad("from", unknown("frame", from, ["world", "start"].into_iter()));
        }
        if let Some(axis) = self.axis.filter(|axis| !axis.iter().map(|x| x * x).sum::<f64>().is_normal()) {
            return bad("axis", format!("expected three numbers, not all zero, got {axis:?}"));
        }
        match self.lowest {
            Some(lowest) if self.pose.position.is_none() => {
                bad("lowest", format!("expected a position beside it, got {lowest} alone"))
            }
            Some(lowest) if !lowest.is_finite() => bad("lowest", "expected a finite number".to_owned()),
            _ if !(self.weight.is_finite() && self.weight >= 0.0) => {
                bad("weight", format!("expected a number from 0 up, got {}", self.weight))
            }
            _ => Ok(()),
        }
    }
}

/// Tasks of goals in a row have a supervisor unless they say otherwise.
fn supervision(file: &TaskFile) -> Option<Supervision> {
    let own = file.supervisor.as_ref();
    let on = own.map_or(file.sequence.is_some(), |own| own.on.unwrap_or(true));
    on.then(|| Supervision {
        subgoal: own.and_then(|own| own.subgoal).unwrap_or(SUBGOAL),
        away: own.and_then(|own| own.away),
        stall: own.and_then(|own| own.stall).unwrap_or(STALL),
    })
}

/// Is a text that cannot be read as a task's rather a scene's?
fn is_scene(text: &str) -> bool {
    let has = |table: &toml::Table, key: &str| table.get(key).is_some_and(toml::Value::is_array);
    text.parse()
        .is_ok_and(|table: toml::Table| !table.contains_key("scene") && (has(&table, "object") || has(&table, "robot")))
}

fn a_scene() -> Error {
    Error::invalid(
        "scene",
        "expected a task, which names its scene and has [goal], [command] and [weights], but this is a scene itself",
    )
}

fn positive(name: &str, given: Option<f64>) -> Result<()> {
    match given {
        Some(x) if !(x.is_finite() && x > 0.0) => {
            Err(Error::invalid(name, format!("expected a positive number, got {x}")))
        }
        _ => Ok(()),
    }
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
