//! Tasks and the progress of their episodes.

use std::path::{Path, PathBuf, absolute};

use fingertip::mpc::task::Progress as ProgressOf;
use fingertip::mpc::{Method, Task as Compiled};
use fingertip::shipped;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};

use super::data::{Episode, Errors, Goal};
use crate::arrays::{Numbers, Worlds, count};
use crate::error::{Error, OrRaise, detached, warn};
use crate::model::{Model, json, overrides_of, read_in};

/// What to do in a scene: where things start, where an object is to go, what plans are rated by, and how far a
/// controller looks ahead. It is a TOML file; `crates/plan/docs/tasks.md` of the repository has its keys. A task does
/// not change, and it pickles: as its path or text and folder, so files that it names must be there where it is
/// unpickled.
///
/// `Task(scene, **keys)` is one written in Python: `scene` is a `Scene`, a `Model`, a scene's file, or the name of one
/// that comes with the package; `keys` are those of a task's file, `goal`, `command`, `weights` and so on, their values
/// numbers, strings, lists, arrays and dictionaries. Files are relative to `folder`, or as in `Model.from_toml`.
#[pyclass(frozen, module = "fingertip")]
pub struct Task {
    /// The task with its changes, compiled.
    pub of: Compiled,
    /// The task as it was read, before changes.
    read: Compiled,
    source: Source,
    changes: Changes,
}

/// The file or text that a task is read from.
#[derive(Clone)]
enum Source {
    File(PathBuf),
    /// A text and the folder of its files; none of those that come with the package.
    Text(String, Option<PathBuf>),
}

/// The settings that `replace` has replaced.
#[derive(Clone, Default)]
struct Changes {
    method: Option<String>,
    iterations: Option<i64>,
    most_iterations: Option<i64>,
    tolerance: Option<f64>,
    cap: Option<i64>,
    latency: Option<f64>,
    lead: Option<f64>,
    seed: Option<u64>,
    overrides: Option<String>,
}

impl Changes {
    /// The task with these changes.
    fn make(&self, mut task: Compiled) -> PyResult<Compiled> {
        let positive = |name: &str, given: Option<f64>| match given {
            Some(x) if !(x.is_finite() && x > 0.0) => {
                Err(Error::new_err(format!("{name}: expected a positive number, got {x}")))
            }
            given => Ok(given),
        };
        let whole = |name: &str, given: Option<i64>| given.map(|n| count(name, n)).transpose();
        let settings = &mut task.settings;
        if let Some(name) = &self.method {
            settings.method = name.parse::<Method>().or_raise()?;
        }
        settings.ilqr.iterations = whole("iterations", self.iterations)?.unwrap_or(settings.ilqr.iterations);
        settings.most_iterations = whole("most_iterations", self.most_iterations)?.unwrap_or(settings.most_iterations);
        settings.ilqr.tolerance = positive("tolerance", self.tolerance)?.unwrap_or(settings.ilqr.tolerance);
        settings.latency = self.latency.unwrap_or(settings.latency);
        settings.lead = self.lead.unwrap_or(settings.lead);
        settings.seed = self.seed.unwrap_or(settings.seed);
        if let Some(lead) = self.lead.filter(|x| !(x.is_finite() && *x >= 0.0)) {
            return Err(Error::new_err(format!("lead: expected a number from 0 up, got {lead}")));
        }
        task.cap = whole("cap", self.cap)?.unwrap_or(task.cap);
        if let Some(json) = &self.overrides {
            let overrides = overrides_of(json).or_raise()?;
            task.set_parameters(&overrides).or_raise()?;
        }
        Ok(task)
    }
}

/// An error without lines of a text that nobody has written.
fn without_lines(py: Python, error: PyErr) -> PyErr {
    if !error.is_instance_of::<Error>(py) {
        return error;
    }
    let written = py.import("fingertip._task").and_then(|of| of.getattr("without_lines"));
    let message = written.and_then(|of| of.call1((error.value(py).to_string(),))?.extract::<String>());
    message.map_or_else(|other| other, Error::new_err)
}

/// Gives what a task's scene and model warn of as Python's warnings.
fn warn_of(py: Python, task: &Compiled) -> PyResult<()> {
    warn(py, task.scene.all_warnings().iter().chain(&task.simulator().model().warnings))
}

impl Task {
    fn of_text(py: Python, text: String, folder: Option<&Path>) -> PyResult<Self> {
        let read = || read_in(folder, |folder| Compiled::from_toml(&text, folder));
        let (of, folder) = detached(py, read)?;
        warn_of(py, &of)?;
        let folder = folder.map(|folder| absolute(folder).unwrap_or_else(|_| folder.to_owned()));
        Ok(Self { read: of.clone(), of, source: Source::Text(text, folder), changes: Changes::default() })
    }

    /// The folder of the files that the task names; none of those that come with the package.
    fn folder(&self) -> Option<PathBuf> {
        match &self.source {
            Source::File(path) => path.is_absolute().then(|| path.parent().map(Path::to_owned)).flatten(),
            Source::Text(_, folder) => folder.clone(),
        }
    }
}

#[pymethods]
impl Task {
    #[new]
    #[pyo3(signature = (scene, folder=None, **keys))]
    fn new(py: Python, scene: &Bound<PyAny>, folder: Option<PathBuf>, keys: Option<&Bound<PyDict>>) -> PyResult<Self> {
        let written = py.import("fingertip._task")?;
        let of_model = || scene.cast::<Model>().ok().and_then(|model| model.get().folder().map(Path::to_owned));
        let folder = folder.or_else(of_model);
        let text: String = written.getattr("text")?.call1((scene, &folder, keys))?.extract()?;
        Self::of_text(py, text, folder.as_deref()).map_err(|error| without_lines(py, error))
    }

    /// Reads a task's file. What is no file is the name of a task that comes with the package, as `"hand_turn"`.
    #[classmethod]
    fn load(cls: &Bound<PyType>, path: PathBuf) -> PyResult<Self> {
        let name = path.to_str().filter(|_| !path.exists() && path.extension().is_none());
        let name = name.filter(|name| Path::new(name).components().count() == 1);
        let read = || match name {
            Some(name) => shipped::task(name),
            None => Compiled::load(&path),
        };
        let of = detached(cls.py(), read)?;
        warn_of(cls.py(), &of)?;
        let source = match name {
            Some(_) => path.clone(),
            None => absolute(&path).unwrap_or_else(|_| path.clone()),
        };
        Ok(Self { read: of.clone(), of, source: Source::File(source), changes: Changes::default() })
    }

    /// Reads a task's text (TOML). The files that it names are relative to `folder`; without one they are as in
    /// `Model.from_toml`.
    #[classmethod]
    #[pyo3(signature = (text, folder=None))]
    fn from_toml(cls: &Bound<PyType>, text: String, folder: Option<PathBuf>) -> PyResult<Self> {
        Self::of_text(cls.py(), text, folder.as_deref())
    }

    /// The names of the tasks that come with the package.
    #[staticmethod]
    fn names() -> Vec<&'static str> {
        shipped::Kind::Task.names()
    }

    /// This task with other settings: the `method` (`"ilqr"`, `"hybrid"`, `"mppi"`, `"cem"`, `"lbfgs"`, `"sqp"`,
    /// `"rctr"` or `"ctr"`), its `iterations` in each control period, the most of them where a command has a limit, the
    /// `tolerance` of its search, the `cap` on an episode's control periods, the `latency` and `lead` that plans reckon
    /// with, s, the `seed` of samples, and `overrides`, parameters of the model as `Model.load` takes them: what is
    /// believed of the plant.
    ///
    /// Other `keys` are those of the task's file: `horizon=8`, `weights={"reach": 0.0}`. Of a table those keys are
    /// replaced that are given; None leaves a key out, and a `Goal` takes the place of all of a goal but its object.
    /// The task is read again with them, which takes as long as it took at first.
    #[pyo3(signature = (
        *, method=None, iterations=None, most_iterations=None, tolerance=None, cap=None, latency=None, lead=None, seed=None,
        overrides=None, **keys
    ))]
    #[expect(clippy::too_many_arguments, reason = "keywords")]
    fn replace(
        &self,
        py: Python,
        method: Option<String>,
        iterations: Option<i64>,
        most_iterations: Option<i64>,
        tolerance: Option<f64>,
        cap: Option<i64>,
        latency: Option<f64>,
        lead: Option<f64>,
        seed: Option<u64>,
        overrides: Option<&Bound<PyAny>>,
        keys: Option<&Bound<PyDict>>,
    ) -> PyResult<Self> {
        let before = &self.changes;
        let changes = Changes {
            method: method.or(before.method.clone()),
            iterations: iterations.or(before.iterations),
            most_iterations: most_iterations.or(before.most_iterations),
            tolerance: tolerance.or(before.tolerance),
            cap: cap.or(before.cap),
            latency: latency.or(before.latency),
            lead: lead.or(before.lead),
            seed: seed.or(before.seed),
            overrides: json(overrides)?.or(before.overrides.clone()),
        };
        let Some(keys) = keys else {
            let (read, source) = (self.read.clone(), self.source.clone());
            return Ok(Self { of: changes.make(read.clone())?, read, source, changes });
        };
        let keys: Vec<(String, Option<String>)> =
            py.import("fingertip._task")?.getattr("paths")?.call1((keys,))?.extract()?;
        let read = detached(py, || {
            let value = |text: &String| text.parse::<toml::Table>().ok().and_then(|mut table| table.remove("value"));
            let keys: Vec<_> = keys.iter().map(|(path, text)| (path.as_str(), text.as_ref().and_then(value))).collect();
            self.read.with_keys(&keys)
        });
        let read = read.map_err(|error| without_lines(py, error))?;
        let source = Source::Text(read.text().to_owned(), self.folder());
        Ok(Self { of: changes.make(read.clone())?, read, source, changes })
    }

    /// Description in one line.
    #[getter]
    fn title(&self) -> &str {
        &self.of.title
    }

    /// The name of the object that has a goal.
    #[getter]
    fn object(&self) -> &str {
        self.of.object()
    }

    /// The number of goals in the list; none if goals are drawn.
    #[getter]
    fn n_goals(&self) -> Option<usize> {
        self.of.n_goals()
    }

    /// The most control periods of an episode.
    #[getter]
    fn cap(&self) -> usize {
        self.of.cap
    }

    /// The length of a control period, s.
    #[getter]
    fn period(&self) -> f64 {
        self.of.period()
    }

    /// Steps of the model in a control period.
    #[getter]
    fn hold(&self) -> usize {
        self.of.simulator().hold()
    }

    /// The method that improves plans.
    #[getter]
    fn method(&self) -> &'static str {
        self.of.settings.method.name()
    }

    /// Iterations of the method in each control period.
    #[getter]
    fn iterations(&self) -> usize {
        self.of.settings.ilqr.iterations
    }

    /// The latency that plans reckon with, s.
    #[getter]
    fn latency(&self) -> f64 {
        self.of.settings.latency
    }

    /// The model that plans are made with: the scene with the task's h, κ, ε and friction.
    #[getter]
    fn model(slf: Py<Self>) -> Model {
        Model::of_task(slf)
    }

    /// Episode `number`: a start and a goal. With a list of goals it takes the goal of that number, and starts again at
    /// the end of the list. Draws depend only on the seed and the number.
    #[pyo3(signature = (number=0, seed=0))]
    fn episode(&self, py: Python, number: usize, seed: u64) -> PyResult<Episode> {
        Episode::of(py, &self.of.episode(seed, number).or_raise()?)
    }

    /// The errors relative to a goal at q (nq,), of several objects the largest. They are NaN if a number of q is not
    /// finite.
    fn errors(&self, goal: &Goal, q: &Bound<PyAny>) -> PyResult<Errors> {
        let q = Numbers::like("q", q, Worlds::One, &[self.of.simulator().model().nq()])?;
        Ok(Errors::of(&self.of.errors(&goal.0, q.as_slice()).or_raise()?))
    }

    /// Are these errors small by the task's measure of success?
    fn is_small(&self, errors: &Errors) -> bool {
        self.of.is_small(&errors.numbers())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let (own, py) = (slf.get(), slf.py());
        let class = slf.get_type();
        let (make, of) = match &own.source {
            Source::File(path) => ("load", (path,).into_pyobject(py)?),
            Source::Text(text, folder) => ("from_toml", (text, folder).into_pyobject(py)?),
        };
        Ok((class.getattr("_remake")?, (make, of, own.changes_as_keywords(py)?).into_pyobject(py)?))
    }

    /// Makes a pickled task again.
    #[classmethod]
    #[pyo3(name = "_remake")]
    fn remake<'py>(
        cls: &Bound<'py, PyType>,
        make: &str,
        of: &Bound<'py, PyTuple>,
        changes: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyAny>> {
        cls.getattr(make)?.call1(of)?.call_method("replace", (), Some(changes))
    }

    fn __repr__(&self) -> String {
        let model = self.of.simulator().model();
        format!(
            "<fingertip.Task \"{}\" nq={} nu={} period={}>",
            self.of.title,
            model.nq(),
            model.nu(),
            self.of.period()
        )
    }
}

impl Task {
    /// Does it come with the package, or do the files that it names?
    pub fn is_shipped(&self) -> bool {
        self.folder().is_none()
    }

    fn changes_as_keywords<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let Changes { method, iterations, most_iterations, tolerance, cap, latency, lead, seed, overrides } =
            &self.changes;
        let all = PyDict::new(py);
        all.set_item("method", method)?;
        all.set_item("iterations", iterations)?;
        all.set_item("most_iterations", most_iterations)?;
        all.set_item("tolerance", tolerance)?;
        all.set_item("cap", cap)?;
        all.set_item("latency", latency)?;
        all.set_item("lead", lead)?;
        all.set_item("seed", seed)?;
        all.set_item("overrides", overrides)?;
        Ok(all)
    }
}

/// The progress of an episode: how long its errors have been small.
#[pyclass(module = "fingertip.mpc")]
pub struct Progress {
    task: Py<Task>,
    of: ProgressOf,
}

#[pymethods]
impl Progress {
    #[new]
    fn new(task: Py<Task>) -> Self {
        Self { task, of: ProgressOf::default() }
    }

    /// Counts a control period that ended with these errors.
    fn count(&mut self, errors: &Errors) {
        self.task.get().of.count(&mut self.of, &errors.numbers());
    }

    /// Control periods so far.
    #[getter]
    fn step(&self) -> usize {
        self.of.step
    }

    /// Periods in a row with small errors.
    #[getter]
    fn held(&self) -> usize {
        self.of.held
    }

    /// The period in which the episode succeeded; none before that.
    #[getter]
    fn success(&self) -> Option<usize> {
        self.of.success
    }

    /// Is an object lost?
    #[getter]
    fn lost(&self) -> bool {
        self.of.lost
    }

    /// Is the episode over: by success, if the task stops there, by its cap, or as an object is lost?
    #[getter]
    fn is_over(&self) -> bool {
        self.task.get().of.is_over(&self.of)
    }
}
