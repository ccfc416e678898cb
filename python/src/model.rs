//! A scene, compiled.

use std::path::{Path, PathBuf, absolute};

use candle_core::{DType, Device};
use fingertip::description::{Folder, Scene, unknown};
use fingertip::kinematics::{Coordinate as Place, Kinematics};
use fingertip::{Model as Compiled, Overrides, Parameters, shipped};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PySlice, PyTuple, PyType};

use crate::arrays::{Array, Numbers, array, count, shown};
use crate::error::{Error, OrRaise, detached, warn};
use crate::kinematics::{Frames, moves, places, places_vjp};
use crate::mpc::Task;
use crate::parameters::dictionary;

/// A scene compiled for simulation, from a TOML file or text, a URDF or an MJCF. It does not change, and it pickles: as
/// the scene's text and folder, so files that the scene names must be there where it is unpickled. A scene that comes
/// with the package is there wherever the package is.
///
/// `overrides` replace the scene's numbers by name, as `--with` does on the command line: `{"params": {"kappa": 1e4,
/// "friction": "coulomb"}, "mass": {"ball": 0.3}, "mu": {"ball/hand": 0.4}, "stiffness": {"hand": 1.0}, "size":
/// {"ball": 0.05}}`.
#[pyclass(frozen, module = "fingertip")]
pub struct Model {
    /// The compiled scene.
    pub of: Compiled,
    /// The model's parameters with the overrides.
    pub parameters: Parameters,
    scene: Scene,
    text: String,
    /// The folder of the scene's files; none of those that come with the package.
    folder: Option<PathBuf>,
    source: Source,
    overrides: Option<String>,
}

/// The text or file from which a model is made again where it is unpickled.
enum Source {
    /// The text (TOML) in its folder.
    Toml,
    /// The text (MJCF) in its folder.
    Mjcf,
    /// A file, as `load` takes it.
    File(PathBuf),
    /// A task, whose model it is.
    Task(Py<Task>),
}

/// Where one joint or movable object is in q, v and u.
#[pyclass(frozen, module = "fingertip")]
pub struct Coordinate(Place);

impl Model {
    fn compiled(
        py: Python,
        scene: Scene,
        text: String,
        folder: Option<&Path>,
        overrides: Option<String>,
    ) -> PyResult<Self> {
        let folder = folder.map(made_absolute);
        let model = detached(py, || {
            let mut scene = scene;
            let changes = match &overrides {
                Some(json) => overrides_of(json)?,
                None => Overrides::default(),
            };
            scene.params = changes.params(&scene.params)?;
            let of = Compiled::new(&scene, DType::F64, &Device::Cpu)?;
            let parameters = changes.parameters(&of, &of.parameters)?;
            candle_core::Result::Ok(Self { of, parameters, scene, text, folder, source: Source::Toml, overrides })
        })?;
        warn(py, model.scene.all_warnings().iter().chain(&model.of.warnings))?;
        Ok(model)
    }

    /// The scene, with the overrides of its params.
    pub fn scene(&self) -> &Scene {
        &self.scene
    }

    /// The scene's source as recordings name it.
    pub fn recorded(&self) -> fingertip::show::Source {
        let name = |path: &Path| path.file_stem().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let name = match &self.source {
            Source::File(path) => name(path),
            Source::Task(task) => name(&task.get().of.scene_path),
            Source::Toml | Source::Mjcf => "scene".to_owned(),
        };
        fingertip::show::Source { name, text: self.text.clone(), scene: self.scene.clone() }
    }

    /// The model that a task is planned with.
    pub fn of_task(task: Py<Task>) -> Self {
        let own = &task.get().of;
        Self {
            of: own.simulator().model().clone(),
            parameters: own.simulator().step().parameters().clone(),
            scene: own.scene.clone(),
            text: own.scene_text.clone(),
            folder: (!task.get().is_shipped()).then(|| own.scene_path.parent().map(made_absolute)).flatten(),
            overrides: None,
            source: Source::Task(task),
        }
    }
}

/// The names that are given, or all.
fn chosen<'a>(given: &'a Option<Vec<String>>, all: impl FnOnce() -> Vec<&'a str>) -> Vec<&'a str> {
    given.as_ref().map_or_else(all, |names| names.iter().map(String::as_str).collect())
}

/// Reads what names its files relative to a folder. Without one they are those that come with the package, or else
/// relative to where the program runs. With it is the folder that they are in, none of the package's.
pub fn read_in<T>(
    folder: Option<&Path>,
    read: impl Fn(Folder) -> fingertip::Result<T>,
) -> fingertip::Result<(T, Option<&Path>)> {
    if let Some(own) = folder {
        return Ok((read(own.into())?, folder));
    }
    let misses = |error: &fingertip::Error| error.misses_file() || error.to_string().contains(NO_FILE);
    match read(Folder::of_texts("scenes", shipped::text)) {
        Ok(of) => Ok((of, None)),
        Err(first) => match read(".".into()) {
            Ok(of) => Ok((of, Some(Path::new(".")))),
            Err(_) if !misses(&first) => Err(first),
            Err(own) => Err(missing_from_both(&first, own)),
        },
    }
}

/// What the system says of a file that is not there.
const NO_FILE: &str = "(os error 2)";

/// Of the errors of a text whose files are sought where the program runs, those of things that lack a file among the
/// package's, too.
fn missing_from_both(first: &fingertip::Error, own: fingertip::Error) -> fingertip::Error {
    // Before the path and what is wrong with it.
    let thing = |line: &str| line.rsplitn(3, ": ").nth(2).map(str::to_owned);
    let lacking: Vec<_> = first.to_string().lines().filter_map(thing).collect();
    match own {
        fingertip::Error::Several(errors) => {
            let (of_both, others): (Vec<_>, Vec<_>) = errors
                .into_iter()
                .partition(|error| thing(&error.to_string()).is_some_and(|own| lacking.contains(&own)));
            let errors = if of_both.is_empty() { others } else { of_both };
            fingertip::Error::Several(errors.into_iter().map(with_shipped).collect())
        }
        own => with_shipped(own),
    }
}

/// The error of a robot's file that is not there, with the file of the package that has its name or one near it.
fn with_shipped(error: fingertip::Error) -> fingertip::Error {
    let fingertip::Error::Invalid { place, message } = error else { return error };
    let names = shipped::Kind::Robot.names();
    let stem = place.rsplit_once(": ").and_then(|(_, path)| Path::new(path).file_stem()?.to_str());
    let near = stem.filter(|_| message.contains(NO_FILE)).and_then(|stem| {
        let told = unknown("robot", stem, names.iter().copied());
        let of = |name: &&str| *name == stem || told.contains(&format!("did you mean \"{name}\""));
        names.iter().copied().find(of)
    });
    let message = match near {
        Some(name) => format!("{message}; the package has \"../robots/{name}.urdf\""),
        None => message,
    };
    fingertip::Error::Invalid { place, message }
}

/// Overrides from JSON.
///
/// # Errors
/// If it has another form; the error's place is `overrides`.
pub fn overrides_of(json: &str) -> fingertip::Result<Overrides> {
    let place = "overrides";
    Overrides::from_json(json).map_err(|e| if e.to_string().starts_with(place) { e } else { e.within(place) })
}

/// A path as an absolute one.
fn made_absolute(path: &Path) -> PathBuf {
    absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Overrides as JSON; a pickled model has them as that.
pub fn json(overrides: Option<&Bound<PyAny>>) -> PyResult<Option<String>> {
    let text = |given: &Bound<PyAny>| {
        if let Ok(text) = given.extract::<String>() {
            return Ok(text);
        }
        let given = given.cast::<PyDict>()?;
        let py = given.py();
        let options = PyDict::new(py);
        options.set_item("default", py.import("builtins")?.getattr("float")?)?;
        let text = py.import("json")?.call_method("dumps", (given,), Some(&options));
        let text = text.map_err(|error| Error::new_err(format!("overrides: expected names and numbers: {error}")))?;
        text.extract()
    };
    overrides.map(text).transpose()
}

#[pymethods]
impl Model {
    /// Reads a scene file: TOML, or MuJoCo's MJCF. What is no file is the name of a scene that comes with the package,
    /// as `"hand_ball"`.
    #[classmethod]
    #[pyo3(signature = (path, overrides=None))]
    fn load(cls: &Bound<PyType>, path: PathBuf, overrides: Option<&Bound<PyAny>>) -> PyResult<Self> {
        let overrides = json(overrides)?;
        let name = path.to_str().filter(|name| !path.exists() && Path::new(name).components().count() == 1);
        let read = || {
            if let Some(name) = name.filter(|_| path.extension().is_none()) {
                let (folder, file) = shipped::Kind::Scene.find(name)?;
                return fingertip::Result::Ok((Scene::read(&folder, file)?, folder.text(file)?));
            }
            let scene = Scene::load(&path)?;
            let text = std::fs::read_to_string(&path).map_err(|error| fingertip::Error::file(&path, error))?;
            Ok((scene, text))
        };
        let (scene, text) = detached(cls.py(), read)?;
        let is_toml = !text.trim_start_matches('\u{feff}').trim_start().starts_with('<');
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let (source, folder) = match name {
            Some(_) => (Source::File(path.clone()), None),
            None if is_toml => (Source::Toml, Some(folder)),
            None => (Source::File(made_absolute(&path)), Some(folder)),
        };
        Ok(Self { source, ..Self::compiled(cls.py(), scene, text, folder, overrides)? })
    }

    /// The names of the scenes that come with the package.
    #[staticmethod]
    fn names() -> Vec<&'static str> {
        shipped::Kind::Scene.names()
    }

    /// Reads a scene's text (TOML). The files that it names are relative to `folder`; without one, as the scenes name
    /// theirs that come with the package, whose files those are, or else relative to where the program runs. So the
    /// `text` of any model with its `folder` is the scene again.
    #[classmethod]
    #[pyo3(signature = (text, folder=None, overrides=None))]
    fn from_toml(
        cls: &Bound<PyType>,
        text: String,
        folder: Option<PathBuf>,
        overrides: Option<&Bound<PyAny>>,
    ) -> PyResult<Self> {
        let overrides = json(overrides)?;
        let read = || read_in(folder.as_deref(), |folder| Scene::from_toml(&text, folder));
        let (scene, folder) = detached(cls.py(), read)?;
        Self::compiled(cls.py(), scene, text.clone(), folder, overrides)
    }

    /// Reads a text in MuJoCo's MJCF. The files that it names are relative to `folder`. `notes` say what was left out.
    #[classmethod]
    #[pyo3(signature = (text, folder=PathBuf::from("."), overrides=None))]
    fn from_mjcf(
        cls: &Bound<PyType>,
        text: String,
        folder: PathBuf,
        overrides: Option<&Bound<PyAny>>,
    ) -> PyResult<Self> {
        let overrides = json(overrides)?;
        let scene = detached(cls.py(), || Scene::from_mjcf_text(&text, &folder))?;
        Ok(Self { source: Source::Mjcf, ..Self::compiled(cls.py(), scene, text, Some(&folder), overrides)? })
    }

    /// A scene of one robot from a URDF file, its root link fixed in the world and its joints' stiffness 1 N·m/rad or
    /// N/m. The robot's name is the file's, if none is given.
    #[classmethod]
    #[pyo3(signature = (path, name=None, overrides=None))]
    fn from_urdf(
        cls: &Bound<PyType>,
        path: PathBuf,
        name: Option<String>,
        overrides: Option<&Bound<PyAny>>,
    ) -> PyResult<Self> {
        let found = std::fs::metadata(&path).map_err(|error| fingertip::Error::file(&path, error));
        found.map(|_| ()).or_raise()?;
        let text_of = |part: Option<&std::ffi::OsStr>| part.map_or_else(String::new, |s| s.to_string_lossy().into());
        let name = toml::Value::String(name.unwrap_or_else(|| text_of(path.file_stem())));
        let file = toml::Value::String(text_of(path.file_name()));
        let text = format!("[[robot]]\nname = {name}\nurdf = {file}\n");
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        Self::from_toml(cls, text, Some(folder), overrides)
    }

    /// nq, the length of q: objects in file order, then robots. A free body has (x, y, z, qw, qx, qy, qz).
    #[getter]
    fn nq(&self) -> usize {
        self.of.nq()
    }

    /// nv, the number of degrees of freedom. A free body has (v, ω) along the world's axes.
    #[getter]
    fn nv(&self) -> usize {
        self.of.nv()
    }

    /// nu, the number of commanded joints.
    #[getter]
    fn nu(&self) -> usize {
        self.of.nu()
    }

    /// nc, the number of contacts.
    #[getter]
    fn nc(&self) -> usize {
        self.of.nc()
    }

    /// The length of λ: three numbers for each contact, one more for each with torsional friction.
    #[getter]
    fn n_lambda(&self) -> usize {
        self.of.n_lambda()
    }

    /// A name for each number in q (nq): a joint's own, or `"ball.x"`, `"ball.qw"` and so on.
    #[getter]
    fn q_names(&self) -> Vec<String> {
        self.of.q_names()
    }

    /// A name for each degree of freedom (nv): a joint's own, or `"ball.x"`, `"ball.ωx"` and so on.
    #[getter]
    fn v_names(&self) -> Vec<String> {
        self.of.v_names()
    }

    /// The commanded joints' names (nu).
    #[getter]
    fn u_names(&self) -> Vec<String> {
        self.of.u_names()
    }

    /// The bodies on side A and B of each contact (nc); the force on B acts as given, that on A is opposite.
    #[getter]
    fn contact_names(&self) -> Vec<(&str, &str)> {
        (0..self.of.nc()).map(|i| self.of.contact_names(i)).collect()
    }

    /// The bodies on side A and B of each pair: the columns of `params["mu"]`.
    #[getter]
    fn pair_names(&self) -> Vec<(&str, &str)> {
        let name = |shape: usize| self.of.tree.bodies[self.of.shapes[shape].body].name.as_str();
        self.of.pairs.pairs.iter().map(|pair| (name(pair.a), name(pair.b))).collect()
    }

    /// The bodies whose mass counts: the columns of `params["mass"]`.
    #[getter]
    fn inertial_names(&self) -> Vec<&str> {
        self.of.inertial.iter().map(|&body| self.of.tree.bodies[body].name.as_str()).collect()
    }

    /// The body of each shape: four columns each of `params["sizes"]`.
    #[getter]
    fn shape_names(&self) -> Vec<&str> {
        self.of.shapes.iter().map(|shape| self.of.tree.bodies[shape.body].name.as_str()).collect()
    }

    /// Where a joint is in q, v and u, by its name: `"hand/thumb1"`.
    fn joint(&self, name: &str) -> PyResult<Coordinate> {
        self.of.joint(name).cloned().map(Coordinate).or_raise()
    }

    /// Where a movable object, or a robot's floating base, is in q and v: `"ball"`.
    fn object(&self, name: &str) -> PyResult<Coordinate> {
        self.of.object(name).cloned().map(Coordinate).or_raise()
    }

    /// The indices of the contacts between two things or bodies, in either order: `("ball", "hand")`. None if these may
    /// not touch.
    fn contacts_between(&self, a: &str, b: &str) -> PyResult<Vec<usize>> {
        let bodies = &self.of.tree.bodies;
        for name in [a, b] {
            if !(0..bodies.len()).any(|body| self.of.tree.is_called(body, name)) {
                let things =
                    self.scene.objects.iter().map(|of| &*of.name).chain(self.scene.robots.iter().map(|of| &*of.name));
                let all = things.chain(bodies.iter().map(|body| body.name.as_str()));
                return Err(Error::new_err(unknown("thing or body", name, all)));
            }
        }
        Ok(self.of.contacts_between(a, b))
    }

    /// The starting configuration (nq,), or that of some worlds (worlds, nq); m, rad.
    #[pyo3(signature = (worlds=None))]
    fn home<'py>(&self, py: Python<'py>, worlds: Option<i64>) -> PyResult<Array<'py>> {
        let home = self.of.tree.home();
        let home = array(py, &home, &[home.len()])?;
        let Some(worlds) = worlds else { return Ok(home) };
        let worlds = count("worlds", worlds)?;
        Ok(py.import("numpy")?.call_method1("tile", (home, (worlds, 1)))?.cast_into()?)
    }

    /// The command (nu,) of the scene's script at a time, s; or (T, nu) at T times. Joints without a script stay at
    /// home. rad, m.
    fn control<'py>(&self, py: Python<'py>, time: &Bound<'py, PyAny>) -> PyResult<Array<'py>> {
        let times = Numbers::new("time", time)?;
        if times.shape().len() > 1 {
            return Err(Error::new_err(format!("time: expected a number or (T,), got {}", shown(times.shape()))));
        }
        let commands: Vec<f64> = times.as_slice().iter().flat_map(|time| self.scene.control(*time)).collect();
        array(py, &commands, &[times.shape(), &[self.of.nu()]].concat())
    }

    /// The names of the sites, points with axes that are fixed to bodies: `"hand/tip"`.
    #[getter]
    fn sites(&self) -> Vec<&str> {
        self.of.tree.sites.iter().map(|site| site.name.as_str()).collect()
    }

    /// Where sites are at q (B, nq): positions (B, n, 3), m, and rotations (B, n, 3, 3), whose columns are the site's
    /// axes, in the world; of all `sites`, or of those with these names. One world may be without its axis.
    #[pyo3(signature = (q, names=None))]
    fn site_poses<'py>(&self, q: &Bound<'py, PyAny>, names: Option<Vec<String>>) -> PyResult<(Array<'py>, Array<'py>)> {
        places(q, &self.of.tree, (&chosen(&names, || self.sites()), Kinematics::of_sites))
    }

    /// The gradient by q (B, nq) of a cost whose gradients by the positions (B, n, 3) and rotations (B, n, 3, 3) of
    /// `site_poses` are given; what is left out is 0.
    #[pyo3(signature = (q, names=None, *, position_bar=None, rotation_bar=None))]
    fn site_poses_vjp<'py>(
        &self,
        q: &Bound<'py, PyAny>,
        names: Option<Vec<String>>,
        position_bar: Option<&Bound<'py, PyAny>>,
        rotation_bar: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Array<'py>> {
        let frames = (&chosen(&names, || self.sites())[..], Kinematics::of_sites as Frames);
        places_vjp(q, &self.of.tree, frames, [position_bar, rotation_bar])
    }

    /// The names of the bodies but for the world: `"hand/palm"`, `"ball"`.
    #[getter]
    fn body_names(&self) -> Vec<&str> {
        self.of.tree.bodies.iter().skip(1).map(|body| body.name.as_str()).collect()
    }

    /// Where bodies are at q (B, nq): positions (B, n, 3) of their frames' origins, m, and rotations (B, n, 3, 3),
    /// whose columns are the body's axes, in the world; of all `body_names`, or of those with these names. One world
    /// may be without its axis.
    #[pyo3(signature = (q, names=None))]
    fn body_poses<'py>(&self, q: &Bound<'py, PyAny>, names: Option<Vec<String>>) -> PyResult<(Array<'py>, Array<'py>)> {
        places(q, &self.of.tree, (&chosen(&names, || self.body_names()), Kinematics::of_bodies))
    }

    /// The gradient by q (B, nq) of a cost whose gradients by the positions (B, n, 3) and rotations (B, n, 3, 3) of
    /// `body_poses` are given; what is left out is 0.
    #[pyo3(signature = (q, names=None, *, position_bar=None, rotation_bar=None))]
    fn body_poses_vjp<'py>(
        &self,
        q: &Bound<'py, PyAny>,
        names: Option<Vec<String>>,
        position_bar: Option<&Bound<'py, PyAny>>,
        rotation_bar: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Array<'py>> {
        let frames = (&chosen(&names, || self.body_names())[..], Kinematics::of_bodies as Frames);
        places_vjp(q, &self.of.tree, frames, [position_bar, rotation_bar])
    }

    /// The Jacobian (B, 6, nv) of a body's or a site's `point` (3,), m in its own axes, its origin if it is left out:
    /// the point's velocity, then the angular velocity, both in world axes, are J v. m/rad, m/m, rad/rad, rad/m.
    #[pyo3(signature = (q, name, point=None))]
    fn jacobian<'py>(
        &self,
        q: &Bound<'py, PyAny>,
        name: &str,
        point: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Array<'py>> {
        moves(q, &self.of.tree, (name, point), None)
    }

    /// The gradient by q (B, nq) of a cost whose gradient by the Jacobian of `jacobian` is `bar` (B, 6, nv).
    #[pyo3(signature = (q, name, bar, point=None))]
    fn jacobian_vjp<'py>(
        &self,
        q: &Bound<'py, PyAny>,
        name: &str,
        bar: &Bound<'py, PyAny>,
        point: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Array<'py>> {
        moves(q, &self.of.tree, (name, point), Some(bar))
    }

    /// Do damping and armature of commanded joints act in the quasi-dynamic step? A scene's `joint_damping`, or
    /// `overrides={"params": {"joint_damping": True}}`.
    #[getter]
    fn joint_damping(&self) -> bool {
        self.of.params.joint_damping
    }

    /// Does dry friction of commanded joints act in the quasi-dynamic step? A scene's `joint_friction`, or
    /// `overrides={"params": {"joint_friction": True}}`.
    #[getter]
    fn joint_friction(&self) -> bool {
        self.of.params.joint_friction
    }

    /// Notes, one line each, on what was left out of the scene's files and moves nothing, and on what the quasi-dynamic
    /// step does not have as the scene sets it: the weight of links that commands carry, damping of commanded joints,
    /// limits and so on.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.scene.all_notes().into_iter().chain(fingertip_cli::not_in_step(&self.of)).collect()
    }

    /// Warnings for the scene's author, one line each: what the model lacks of the scene's files and so moves or
    /// touches otherwise, bodies that overlap at home, and what hovers. Making the model gives all but the last as
    /// Python warnings, too.
    #[getter]
    fn warnings(&self) -> PyResult<Vec<String>> {
        let hover = self.of.hover_warnings(&self.parameters).or_raise()?;
        Ok(self.scene.all_warnings().into_iter().chain(self.of.warnings.iter().cloned()).chain(hover).collect())
    }

    /// The parameters by name, as new arrays (1, n): h s, kappa 1/J, epsilon, gravity m/s², mu (a column for each of
    /// `pair_names`), torsion m, stiffness N·m/rad or N/m (`u_names`), spring, spring_rest, damping and armature of
    /// joints that have them (N·m/rad, rad, N·m·s/rad, kg·m², or N/m, m, N·s/m, kg), dry_friction N·m or N,
    /// table_friction, table_radius m, connection N/m, mass kg (`inertial_names`), inertia kg·m² (six for each), sizes
    /// m (four for each of `shape_names`), offsets m, tau N or N·m (`v_names`).
    #[getter]
    fn params<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        dictionary(py, &self.parameters)
    }

    /// The scene's text: `from_toml(text, folder)` reads it again, or `from_mjcf`.
    #[getter]
    fn text(&self) -> &str {
        &self.text
    }

    /// The folder that the scene's files are relative to; none of a scene that comes with the package.
    #[getter]
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Is it what its text says, without overrides and what a task sets?
    #[getter]
    fn _is_as_read(&self) -> bool {
        self.overrides.is_none() && !matches!(self.source, Source::Task(_))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let (own, py) = (slf.get(), slf.py());
        let (make, of) = match &own.source {
            Source::File(source) => ("load", (source, &own.overrides).into_pyobject(py)?),
            Source::Toml => ("from_toml", (&own.text, &own.folder, &own.overrides).into_pyobject(py)?),
            Source::Mjcf => ("from_mjcf", (&own.text, &own.folder, &own.overrides).into_pyobject(py)?),
            Source::Task(task) => {
                let its_model = py.import("operator")?.getattr("attrgetter")?.call1(("model",))?;
                return Ok((its_model, (task,).into_pyobject(py)?));
            }
        };
        Ok((slf.get_type().getattr(make)?, of))
    }

    fn __repr__(&self) -> String {
        let of = &self.of;
        format!("<fingertip.Model nq={} nv={} nu={} nc={}>", of.nq(), of.nv(), of.nu(), of.nc())
    }
}

#[pymethods]
impl Coordinate {
    /// The name of the joint or the object, as `"hand/index_0"`.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// The slice of q that belongs to it.
    #[getter]
    fn q<'py>(&self, py: Python<'py>) -> Bound<'py, PySlice> {
        slice(py, self.0.q, self.0.kind.nq())
    }

    /// The slice of v, and of δ, that belongs to it.
    #[getter]
    fn v<'py>(&self, py: Python<'py>) -> Bound<'py, PySlice> {
        slice(py, self.0.v, self.0.kind.nv())
    }

    /// The index in u of a commanded joint; None for others.
    #[getter]
    fn u(&self) -> Option<usize> {
        self.0.u
    }

    /// The range of a joint with one number, rad or m; none if it has none.
    #[getter]
    fn limits(&self) -> Option<(f64, f64)> {
        self.0.limits.map(|limits| (limits.lower, limits.upper))
    }

    fn __repr__(&self) -> String {
        let (Place { name, q, v, u, kind, .. }, end) = (&self.0, |start, n| start + n);
        let u = u.map_or(String::new(), |u| format!(", u[{u}]"));
        format!("<fingertip.Coordinate {name}: q[{q}:{}], v[{v}:{}]{u}>", end(*q, kind.nq()), end(*v, kind.nv()))
    }
}

/// The thing in a scene's text that a line is of, `line 3, column 1`, for messages of texts that nobody has written.
#[pyfunction]
pub fn _thing(text: &str, place: &str) -> String {
    Scene::thing_at(text, place).unwrap_or_else(|| place.to_owned())
}

#[expect(clippy::cast_possible_wrap, reason = "indices of a scene's coordinates")]
fn slice(py: Python, start: usize, n: usize) -> Bound<PySlice> {
    PySlice::new(py, start as isize, (start + n) as isize, 1)
}
