//! Our own steps as the plant.

use fingertip::description::unknown;
use fingertip::mpc::plant::{KAPPA, Kind, Options, Plant as Of};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::data::{Episode, Held, held};
use super::task::Task;
use crate::arrays::{Numbers, Worlds};
use crate::error::{Error, OrRaise, detached};
use crate::far::{Watch, path};
use crate::model::{json, overrides_of};

/// One of the library's steps as the plant of a task, unlike what the planner believes where that is asked for.
///
/// `kind` is `"quasi-dynamic"`, the planner's step with harder contacts, or `"second-order"`, where objects have
/// momentum. `kappa` is the plant's κ, 1/J; `latency` the time until a command takes effect, s; `noise` the standard
/// deviations of measured positions and rotations of objects, m and rad; `overrides` parameters of the plant that the
/// planner does not know, as `Model.load` takes them.
#[pyclass(module = "fingertip.mpc")]
pub struct Plant {
    task: Py<Task>,
    options: Options,
    overrides: Option<String>,
    running: Option<Of>,
    watch: Watch,
}

impl Plant {
    fn running(&mut self) -> PyResult<&mut Of> {
        self.running.as_mut().ok_or_else(|| Error::new_err("plant: expected reset(episode) first"))
    }
}

#[pymethods]
impl Plant {
    #[new]
    #[pyo3(signature = (task, kind="quasi-dynamic", *, kappa=KAPPA, latency=0.0, noise=(0.0, 0.0), overrides=None))]
    fn new(
        task: Py<Task>,
        kind: &str,
        kappa: f64,
        latency: f64,
        noise: (f64, f64),
        overrides: Option<&Bound<PyAny>>,
    ) -> PyResult<Self> {
        let known = || Error::new_err(unknown("plant", kind, Kind::ALL.into_iter().map(Kind::name)));
        let kind = Kind::ALL.into_iter().find(|own| own.name() == kind).ok_or_else(known)?;
        let overrides = json(overrides)?;
        let with = overrides.as_deref().map(overrides_of).transpose().or_raise()?.unwrap_or_default();
        let options = Options { kind, kappa, latency, noise: [noise.0, noise.1], with };
        Ok(Self { task, options, overrides, running: None, watch: Watch::default() })
    }

    /// Begins an episode: at its start, at rest. Noise depends on the seed and the episode's number alone.
    #[pyo3(signature = (episode, seed=0))]
    fn reset(&mut self, py: Python, episode: &Episode, seed: u64) -> PyResult<()> {
        let task = &self.task.get().of;
        let episode = episode.numbers(py, task.simulator())?;
        let options = &self.options;
        self.running = Some(detached(py, || Of::new(task, options, seed, &episode))?);
        Ok(())
    }

    /// The state (nq,), m and rad.
    #[getter]
    fn q(&mut self, py: Python) -> PyResult<Held> {
        let q = &self.running()?.q;
        held(py, q, &[q.len()])
    }

    /// Steps that had no solution.
    #[getter]
    fn unsolved(&mut self) -> PyResult<usize> {
        Ok(self.running()?.unsolved)
    }

    /// Measures q (nq,), with noise, and the velocity (nv,), m/s and rad/s, of a plant that has one.
    fn measure(&mut self, py: Python) -> PyResult<(Held, Option<Held>)> {
        let measured = self.running()?.measure().or_raise()?;
        let row = |numbers: &Vec<f64>| held(py, numbers, &[numbers.len()]);
        Ok((row(&measured.q)?, measured.velocity.as_ref().map(row).transpose()?))
    }

    /// One control period after a controller's command u (nu,), rad and m: the states (hold, nq) and the contact forces
    /// (hold, nc, 3), N, after each step in it.
    fn advance(&mut self, py: Python, u: &Bound<PyAny>) -> PyResult<(Held, Held)> {
        let simulator = self.task.get().of.simulator();
        let (nq, nu, nc, hold) =
            (simulator.model().nq(), simulator.model().nu(), simulator.model().nc(), simulator.hold());
        let u = Numbers::like("u", u, Worlds::One, &[nu])?.as_slice().to_vec();
        let running = self.running()?;
        let start = running.q.clone();
        let period = detached(py, || running.advance(&u))?;
        let force = |k: usize, i: usize| [0, 1, 2].map(|axis| period.force[3 * (k * nc + i) + axis]);
        let step = running.step().clone();
        self.watch.look(py, &step, path(&start, &period.q), force)?;
        Ok((held(py, &period.q, &[hold, nq])?, held(py, &period.force, &[hold, nc, 3])?))
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
        let Options { kind, kappa, latency, noise: [position, rotation], .. } = self.options;
        let keywords = PyDict::new(py);
        keywords.set_item("kappa", kappa)?;
        keywords.set_item("latency", latency)?;
        keywords.set_item("noise", (position, rotation))?;
        keywords.set_item("overrides", &self.overrides)?;
        Ok(((&self.task, kind.name()).into_pyobject(py)?, keywords))
    }
}
