//! A controller in Python.

use std::sync::{Mutex, TryLockError};
use std::time::Duration;

use fingertip::mpc::cost::Expansion;
use fingertip::mpc::task::{Episode as EpisodeOf, Progress};
use fingertip::mpc::{Carried, Estimate, Measured, Quantity, Supervisor, Task as TaskOf};
use fingertip::step::SparseRows;
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};

use super::cost::{self, Cost, Raised};
use super::data::{Answer, Episode, Errors, Goal, Held, Plan, held};
use super::task::Task;
use crate::arrays::{Numbers, Worlds};
use crate::error::{Error, OrRaise, detached, warn};
use crate::model::{json, overrides_of};

/// Longest limit of a command, s.
const LONGEST: f64 = 1e6;

/// Model-predictive control of one episode of a task: measured states in, commands out, one for each control period.
/// `episode` is the episode or its number, drawn with the `seed`; `goal` and `q` (nq,) replace its goal and its start;
/// `costs` are added to the task's objective. One roll-out is made at once to measure how long it takes.
///
/// A task's supervisor changes what is planned for where the goal is far or nothing moves, as on the command line; with
/// `supervised=False` the goal itself is always planned for.
///
/// Bodies that overlap at the start are warned of: who, and how deep.
///
/// A call releases the interpreter's lock while it plans. A controller answers one call at a time.
///
/// It pickles: its task, costs and episode with the present goal, what it was told of the plant, its plan, the commands
/// given and its progress. What it estimates, filters and draws, and how long its supervisor has waited, begins anew.
#[pyclass(frozen, module = "fingertip")]
pub struct Controller {
    task: Py<Task>,
    costs: Vec<Py<Cost>>,
    supervised: bool,
    raised: Raised,
    state: Mutex<State>,
}

struct State {
    /// The task with what is believed of the plant by now.
    task: TaskOf,
    episode: EpisodeOf,
    of: Supervisor,
    progress: Progress,
    /// What was set of the model's parameters, in JSON.
    beliefs: Vec<String>,
}

/// The progress of an episode and what its controller has carried, as plain numbers.
type Going = ((usize, usize, Option<usize>, bool), (Vec<f64>, Vec<f64>, Vec<Vec<f64>>, Vec<Vec<f64>>));

/// The number of an episode, or the episode.
#[derive(FromPyObject)]
enum Which<'py> {
    Number(i64),
    Episode(Bound<'py, Episode>),
}

type Given<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

#[pymethods]
impl Controller {
    #[new]
    #[pyo3(signature = (task, episode=Which::Number(0), seed=0, *, goal=None, q=None, costs=Vec::new(), supervised=true))]
    #[expect(clippy::too_many_arguments, reason = "keywords")]
    fn new(
        py: Python,
        task: Py<Task>,
        episode: Which,
        seed: u64,
        goal: Option<&Bound<Goal>>,
        q: Option<&Bound<PyAny>>,
        costs: Vec<Py<Cost>>,
        supervised: bool,
    ) -> PyResult<Self> {
        let raised = Raised::default();
        let of = task.get().of.clone();
        let episode = begin(py, &of, episode, seed, goal, q)?;
        let state = State::new(py, of, episode, supervised, (&costs, &raised))?;
        Ok(Self { task, costs, supervised, raised, state: Mutex::new(state) })
    }

    /// Begins another episode, as a new controller does. What was believed of the plant is forgotten.
    #[pyo3(signature = (episode=Which::Number(0), seed=0, *, goal=None, q=None))]
    fn reset(
        &self,
        py: Python,
        episode: Which,
        seed: u64,
        goal: Option<&Bound<Goal>>,
        q: Option<&Bound<PyAny>>,
    ) -> PyResult<()> {
        let of = self.task.get().of.clone();
        let episode = begin(py, &of, episode, seed, goal, q)?;
        let state = State::new(py, of, episode, self.supervised, (&self.costs, &self.raised))?;
        self.with(|own| {
            *own = state;
            Ok(())
        })
    }

    /// The command for the coming period at the measured state q (nq,), within the time `limit`, s, if one is given;
    /// None for q says that nothing was measured. `velocity` (nv,) is that of the plant, m/s and rad/s, if it is
    /// measured; `latency` the time, s, until the command takes effect, in place of the task's; `applied` (nu,) the
    /// command that was in effect at the end of the period before, if it was another than the one given. Numbers of q
    /// that were not measured are NaN; then, and where there is too little time, the rest of the last plan is followed.
    #[pyo3(signature = (q, limit=None, *, velocity=None, latency=None, applied=None))]
    fn command(
        &self,
        py: Python,
        q: Given,
        limit: Option<f64>,
        velocity: Given,
        latency: Option<f64>,
        applied: Given,
    ) -> PyResult<Answer> {
        let (nq, nv, nu) = {
            let model = self.task.get().of.simulator().model();
            (model.nq(), model.nv(), model.nu())
        };
        let row = |name: &str, given: Given, n: usize| {
            given
                .map(|given| Numbers::like(name, given, Worlds::One, &[n]).map(|row| row.as_slice().to_vec()))
                .transpose()
        };
        let q = row("q", q, nq)?.unwrap_or_else(|| vec![f64::NAN; nq]);
        let (velocity, applied) = (row("velocity", velocity, nv)?, row("applied", applied, nu)?);
        let limit = limit.map(|seconds| match seconds {
            x if (0.0..=LONGEST).contains(&x) => Ok(Duration::from_secs_f64(x)),
            x => Err(Error::new_err(format!("limit: expected seconds from 0 to {LONGEST:e}, got {x}"))),
        });
        let limit = limit.transpose()?;
        let measured = Measured { q, velocity, latency, applied };
        let done = detached(py, || {
            Ok::<_, fingertip::Error>(self.with(|own| {
                let answer = own.of.answer(&measured, limit).or_raise()?;
                let errors = own.task.errors(&own.episode.goal, &measured.q).or_raise()?;
                own.task.count(&mut own.progress, &errors);
                let supervised = (own.of.doing().name(), own.of.stall().map(ToString::to_string));
                Ok((answer, errors, own.progress.clone(), own.task.is_over(&own.progress), supervised))
            }))
        })?;
        let (answer, errors, progress, done, (doing, stall)) = self.raised.or(done)?;
        let simulator = self.task.get().of.simulator();
        let plan = answer.plan.as_ref().map(|plan| Py::new(py, Plan::of(py, plan, simulator)?)).transpose()?;
        Ok(Answer {
            u: held(py, &answer.u, &[nu])?,
            v: held(py, &answer.v, &[nu])?,
            q_from: held(py, &answer.from, &[nq])?,
            outcome: answer.outcome.name().to_owned(),
            seconds: answer.seconds,
            plan,
            errors: Py::new(py, Errors::of(&errors))?,
            step: progress.step - 1,
            success: progress.success.is_some(),
            done,
            doing: doing.to_owned(),
            stall,
        })
    }

    /// Another goal from now on. The plan so far stays and is improved; progress begins again.
    fn set_goal(&self, goal: &Goal) -> PyResult<()> {
        self.with(|own| {
            own.change(&self.raised, |of| of.set_goal(goal.0.clone()))?;
            own.episode.goal = goal.0.clone();
            own.progress = Progress::default();
            Ok(())
        })
    }

    /// Other parameters of the model from now on, by name: what was found out about the plant. Only `mu`, `stiffness`,
    /// `mass` and `size` count.
    fn set_parameters(&self, overrides: &Bound<PyAny>) -> PyResult<()> {
        let overrides = json(Some(overrides))?.unwrap_or_default();
        self.with(|own| own.believe(&self.raised, overrides))
    }

    /// The task that it plans for.
    #[getter]
    fn task(&self, py: Python) -> Py<Task> {
        self.task.clone_ref(py)
    }

    /// The episode: its start, and the present goal.
    #[getter]
    fn episode(&self, py: Python) -> PyResult<Episode> {
        self.with(|own| Episode::of(py, &own.episode))
    }

    /// The previous command (nu,), rad and m.
    #[getter]
    fn u_before(&self, py: Python) -> PyResult<Held> {
        self.with(|own| held(py, own.of.controller().u_before(), &[own.of.controller().u_before().len()]))
    }

    /// The number of commands that are planned, T.
    #[getter]
    fn horizon(&self) -> PyResult<usize> {
        self.with(|own| Ok(own.of.controller().problem().horizon))
    }

    /// The estimate of the plant's friction, if the task estimates it: a factor on the friction of the object's pairs,
    /// and the standard deviation of its logarithm.
    #[getter]
    fn friction(&self) -> PyResult<Option<(f64, f64)>> {
        let of =
            |estimates: Vec<Estimate>| estimates.into_iter().find(|estimate| estimate.quantity == Quantity::Friction);
        self.with(|own| Ok(of(own.of.controller().estimates()).map(|estimate| (estimate.value, estimate.deviation))))
    }

    /// What each term of the objective would cost if the state stayed at q (nq,) over the whole horizon: its name, its
    /// cost, and whether it is part of the purpose. Where a term that is not costs more than all that are, a plan may
    /// gain more from it than from the goal.
    fn standing(&self, q: &Bound<PyAny>) -> PyResult<Vec<(&'static str, f64, bool)>> {
        let nq = self.task.get().of.simulator().model().nq();
        let q = Numbers::like("q", q, Worlds::One, &[nq])?.as_slice().to_vec();
        self.raised.or(self.with(|own| own.of.controller().problem().standing(&q).or_raise()))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let (own, py) = (slf.get(), slf.py());
        let costs: Vec<_> = own.costs.iter().map(|cost| cost.clone_ref(py)).collect();
        own.with(|state| {
            let Progress { step, held, success, lost } = state.progress;
            let Carried { plan, rest, warm, given } = state.of.controller().carried();
            let warm = warm.iter().map(|warm| warm.dense().into_owned()).collect();
            let going: Going = ((step, held, success, lost), (plan, rest, warm, given));
            let episode = Episode::of(py, &state.episode)?;
            let of = (own.task.clone_ref(py), episode, costs, own.supervised, state.beliefs.clone(), going);
            Ok((slf.get_type().getattr("_remake")?, of.into_pyobject(py)?))
        })
    }

    /// Makes a pickled controller again.
    #[classmethod]
    #[pyo3(name = "_remake")]
    fn remake(
        cls: &Bound<PyType>,
        task: Py<Task>,
        episode: &Bound<Episode>,
        costs: Vec<Py<Cost>>,
        supervised: bool,
        beliefs: Vec<String>,
        going: Going,
    ) -> PyResult<Self> {
        let (py, raised, of) = (cls.py(), Raised::default(), task.get().of.clone());
        let episode = episode.get().numbers(py, of.simulator())?;
        let mut state = State::new(py, of, episode, supervised, (&costs, &raised))?;
        beliefs.into_iter().try_for_each(|overrides| state.believe(&raised, overrides))?;
        let ((step, held, success, lost), (plan, rest, warm, given)) = going;
        state.progress = Progress { step, held, success, lost };
        let n_warm = state.of.controller().problem().simulator.step().n_warm();
        let warm = warm.into_iter().map(|warm| SparseRows::whole(warm, n_warm)).collect();
        state.of.carry(Carried { plan, rest, warm, given }).or_raise()?;
        Ok(Self { task, costs, supervised, raised, state: Mutex::new(state) })
    }
}

impl Controller {
    /// Does something with the state, unless another call does.
    fn with<T>(&self, work: impl FnOnce(&mut State) -> PyResult<T>) -> PyResult<T> {
        match self.state.try_lock() {
            Ok(mut state) => work(&mut state),
            Err(TryLockError::WouldBlock) => Err(Error::new_err("controller: expected one call at a time")),
            Err(TryLockError::Poisoned(poisoned)) => work(&mut poisoned.into_inner()),
        }
    }
}

impl State {
    fn new(
        py: Python,
        mut task: TaskOf,
        episode: EpisodeOf,
        supervised: bool,
        (costs, raised): (&[Py<Cost>], &Raised),
    ) -> PyResult<Self> {
        task.supervision = task.supervision.filter(|_| supervised);
        let of = detached(py, || Supervisor::new(&task, &episode))?;
        let mut own = Self { task, episode, of, progress: Progress::default(), beliefs: Vec::new() };
        if !costs.is_empty() {
            let terms = cost::terms(py, costs, own.task.simulator().model(), raised).or_raise()?;
            own.change(raised, |of| of.set_terms(terms))?;
        }
        Ok(own)
    }

    /// Plans with these parameters of the model from now on, in JSON.
    fn believe(&mut self, raised: &Raised, overrides: String) -> PyResult<()> {
        let mut task = self.task.clone();
        task.set_parameters(&overrides_of(&overrides).or_raise()?).or_raise()?;
        self.change(raised, |of| of.set_task(&task))?;
        self.task = task;
        self.beliefs.push(overrides);
        Ok(())
    }

    /// Changes what is planned. After an error nothing has changed.
    fn change(
        &mut self,
        raised: &Raised,
        work: impl FnOnce(&mut Supervisor) -> candle_core::Result<()>,
    ) -> PyResult<()> {
        let mut of = self.of.clone();
        work(&mut of).or_raise()?;
        // A function that cannot be used says so here and not while a plant waits.
        let problem = of.controller().problem();
        let mut to = Expansion::zeros(problem.simulator.model().nv());
        raised.or(problem.objective.expand(&self.episode.start.q, true, false, &mut to).or_raise())?;
        self.of = of;
        Ok(())
    }
}

/// The episode that is meant.
fn begin(
    py: Python,
    task: &TaskOf,
    which: Which,
    seed: u64,
    goal: Option<&Bound<Goal>>,
    q: Option<&Bound<PyAny>>,
) -> PyResult<EpisodeOf> {
    let simulator = task.simulator();
    let mut episode = match which {
        Which::Number(number) => {
            let expected = |_| Error::new_err(format!("episode: expected a number from 0 up, got {number}"));
            task.episode(seed, usize::try_from(number).map_err(expected)?).or_raise()?
        }
        Which::Episode(episode) => episode.get().numbers(py, simulator)?,
    };
    if let Some(q) = q {
        let q = Numbers::like("q", q, Worlds::One, &[simulator.model().nq()])?.as_slice().to_vec();
        task.begin_at(&mut episode, q).or_raise()?;
    }
    if let Some(goal) = goal {
        episode.goal = goal.get().0.clone();
    }
    warn(py, task.start_warnings(episode.number, &episode.start.q).or_raise()?.iter())?;
    Ok(episode)
}
