//! Replays: recordings as pages.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use fingertip::mpc::task::Errors;
use fingertip::show::{Expected, GoalRecord, LiveServer, Mirrored, Recording, Shown, States, write_npz};
use fingertip::step::Quasidynamic;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::arrays::{Numbers, Worlds, or_none};
use crate::error::{Error, OrRaise, detached};
use crate::model::Model;
use crate::mpc::{Episode, Task};

/// States over time as a page that plays them: `fingertip.show` makes it. A notebook shows it where it is a cell's
/// value.
#[pyclass(frozen, module = "fingertip")]
pub struct Replay {
    of: Recording,
    size: usize,
    height: usize,
}

#[pymethods]
impl Replay {
    /// The number of steps.
    #[getter]
    fn n_steps(&self) -> usize {
        self.of.steps.len()
    }

    /// The page with everything in it: HTML that needs no network. With a `size`, bytes, it is about so long at most,
    /// with fewer steps, evenly left out.
    #[pyo3(signature = (size=None))]
    fn html(&self, py: Python, size: Option<usize>) -> PyResult<String> {
        detached(py, || fingertip::Result::Ok(size.map_or_else(|| self.of.html(), |size| self.of.html_within(size))))
    }

    /// Reads a recording, `*.mcap`: what `save`, or `--record` on the command line, has written. `height` is that of a
    /// notebook's frame, pixels.
    #[staticmethod]
    #[pyo3(signature = (path, *, size=2_000_000, height=560))]
    fn load(py: Python, path: PathBuf, size: usize, height: usize) -> PyResult<Self> {
        Ok(Self { of: detached(py, || Recording::read(&path))?, size, height })
    }

    /// Writes all steps to a file: `*.html`, the page; `*.mcap`, a recording, which `fingertip view` shows and
    /// `fingertip export` converts to tables; or `*.npz`, arrays for `numpy.load`.
    fn save(&self, py: Python, path: PathBuf) -> PyResult<()> {
        let is = |ending: &str| path.extension().is_some_and(|own| own.eq_ignore_ascii_case(ending));
        if is("mcap") {
            return detached(py, || self.of.write(&path));
        }
        if is("npz") {
            return detached(py, || write_npz(&self.of, &path));
        }
        if !is("html") {
            let got = path.display();
            return Err(Error::new_err(format!("path: expected a name that ends in .html, .mcap or .npz, got {got}")));
        }
        detached(py, || std::fs::write(&path, self.of.html()).map_err(|error| fingertip::Error::file(&path, error)))
    }

    fn _repr_html_(&self, py: Python) -> PyResult<String> {
        let page = self.html(py, Some(self.size))?.replace('&', "&amp;").replace('"', "&quot;");
        let (height, style) = (self.height, "border: 0; width: 100%");
        Ok(format!("<iframe srcdoc=\"{page}\" height=\"{height}\" style=\"{style}\" allowfullscreen></iframe>"))
    }

    fn __repr__(&self) -> String {
        let end = self.of.steps.last().map_or(0.0, |step| step.time);
        // Times are sums of steps, with their rounding.
        let end = (end * 1e6).round() / 1e6;
        format!("<fingertip.Replay of {} steps, {end} s>", self.of.steps.len())
    }
}

/// The page beside a running loop that `fingertip.live` makes. It is there until `close`, or the end of a `with` block.
///
/// `show` hands a state over and returns at once, in microseconds: frames are made on a thread of their own, some 60 in
/// a second, each of the newest state. Nobody has to look.
#[pyclass(frozen, module = "fingertip")]
pub struct Live {
    of: Mutex<Option<Mirrored>>,
    url: String,
    sizes: [usize; 3],
    begun: Instant,
}

#[pymethods]
impl Live {
    #[new]
    #[pyo3(signature = (model, address="127.0.0.1:0"))]
    fn new(py: Python, model: &Bound<Model>, address: &str) -> PyResult<Self> {
        let own = model.get();
        let source = own.recorded();
        let of = detached(py, || {
            let step = Quasidynamic::new(&own.of, &own.parameters)?;
            LiveServer::mirror(&source, &step, address)
        })?;
        let sizes = [own.of.nq(), own.of.nu(), own.of.nc()];
        Ok(Self { url: of.server.url(), of: Mutex::new(Some(of)), sizes, begun: Instant::now() })
    }

    /// The page's address.
    #[getter]
    fn url(&self) -> &str {
        &self.url
    }

    /// Shows the state q (nq,) from now on, with the commands `u` (nu,) and the contact forces `force` (nc, 3), N, if
    /// they are given. `time`, s, is that since the page was made if it is left out.
    #[pyo3(signature = (q, u=None, force=None, time=None))]
    fn show(
        &self,
        q: &Bound<PyAny>,
        u: Option<&Bound<PyAny>>,
        force: Option<&Bound<PyAny>>,
        time: Option<f64>,
    ) -> PyResult<()> {
        let [nq, nu, nc] = self.sizes;
        let q = Numbers::like("q", q, Worlds::One, &[nq])?;
        let u = Numbers::maybe("u", u, Worlds::One, &[nu])?;
        let force = Numbers::maybe("force", force, Worlds::One, &[nc, 3])?;
        let time = time.unwrap_or_else(|| self.begun.elapsed().as_secs_f64());
        let shown = Shown { time, q: q.as_slice().to_vec(), u: or_none(&u).to_vec(), force: or_none(&force).to_vec() };
        for (name, given) in [("q", &shown.q[..]), ("u", &shown.u), ("force", &shown.force), ("time", &[time])] {
            if let Some(x) = given.iter().find(|x| !x.is_finite()) {
                return Err(Error::new_err(format!("{name}: expected finite numbers, got {x}")));
            }
        }
        match &*self.of.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(of) => {
                of.show(shown);
                Ok(())
            }
            None => Err(Error::new_err("live: expected a page that is open, it was closed")),
        }
    }

    /// Ends the page.
    fn close(&self, py: Python) {
        let of = self.of.lock().unwrap_or_else(PoisonError::into_inner).take();
        py.detach(|| drop(of));
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_why))]
    fn __exit__(&self, py: Python, _why: &Bound<PyTuple>) {
        self.close(py);
    }

    fn __repr__(&self) -> String {
        format!("<fingertip.Live {}>", self.url)
    }
}

/// A replay of states (n + 1, nq) at times (n + 1,) of a model, with what else is known; of a `Run` also its goal and
/// plans.
#[pyfunction]
#[pyo3(signature = (model, q, time, u, force, run, size, height))]
#[expect(clippy::too_many_arguments, reason = "for `fingertip.show` alone")]
pub fn _replay(
    py: Python,
    model: &Bound<Model>,
    q: &Bound<PyAny>,
    time: &Bound<PyAny>,
    u: Option<&Bound<PyAny>>,
    force: Option<&Bound<PyAny>>,
    run: Option<&Bound<PyAny>>,
    size: usize,
    height: usize,
) -> PyResult<Replay> {
    let own = model.get();
    let (nq, nu, nc) = (own.of.nq(), own.of.nu(), own.of.nc());
    let (q, _, n) = Numbers::over_time("q", q, Worlds::One, nq)?;
    if n < 2 {
        return Err(Error::new_err(format!("q: expected two states at least, got {n}")));
    }
    let time = Numbers::like("time", time, Worlds::One, &[n])?;
    let u = Numbers::maybe("u", u, Worlds::One, &[n - 1, nu])?;
    let force = Numbers::maybe("force", force, Worlds::One, &[n - 1, nc, 3])?;
    for (name, given) in [("q", Some(&q)), ("time", Some(&time)), ("u", u.as_ref()), ("force", force.as_ref())] {
        if let Some(x) = given.and_then(|given| given.as_slice().iter().find(|x| !x.is_finite())) {
            return Err(Error::new_err(format!("{name}: expected finite numbers, got {x}")));
        }
    }
    let (q, time) = (q.as_slice(), time.as_slice());
    let (u, force) = (or_none(&u), or_none(&force));
    let source = own.recorded();
    let mut of = detached(py, || {
        let step = Quasidynamic::new(&own.of, &own.parameters)?;
        Recording::of_states(&source, &step, States { q, time, u, force })
    })?;
    if let Some(run) = run {
        add_run(&mut of, own, run)?;
    }
    Ok(Replay { of, size, height })
}

/// The goal, the plans and the errors of a `Run`.
fn add_run(to: &mut Recording, model: &Model, run: &Bound<PyAny>) -> PyResult<()> {
    let task: Bound<Task> = run.getattr("task")?.extract()?;
    let task = &task.get().of;
    let episode: Bound<Episode> = run.getattr("episode")?.extract()?;
    let episode = episode.get().numbers(run.py(), task.simulator())?;
    to.goals = GoalRecord::of_episode(task, &episode).or_raise()?;
    let numbers = |name: &str| Numbers::new(name, &run.getattr(name)?);
    let (plans, costs, seconds, iterations) =
        (numbers("plan")?, numbers("cost")?, numbers("seconds")?, numbers("iterations")?);
    let outcomes: Vec<String> = run.getattr("outcome")?.extract()?;
    let states = numbers("q")?;
    let n = outcomes.len();
    let one = plans.as_slice().len() / n.max(1);
    let mut periods = Vec::new();
    for (i, outcome) in outcomes.iter().enumerate() {
        let nq = model.of.nq();
        let errors: Errors = task.errors(&episode.goal, &states.as_slice()[i * nq..(i + 1) * nq]).or_raise()?;
        let expected = Expected {
            q: &plans.as_slice()[i * one..(i + 1) * one],
            cost: costs.as_slice()[i],
            outcome,
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small numbers of iterations")]
            iterations: iterations.as_slice()[i] as usize,
            seconds: seconds.as_slice()[i],
        };
        periods.push((errors, Some(expected).filter(|plan| plan.cost.is_finite())));
    }
    let hold = to.steps.len() / n.max(1);
    to.add_periods(&model.of, hold, &periods).or_raise()
}
