//! What goes in and comes out: plain data, which pickles.

use std::collections::BTreeMap;

use fingertip::mpc::cost::{Goal as GoalOf, Turn};
use fingertip::mpc::task::{Episode as EpisodeOf, Errors as ErrorsOf};
use fingertip::mpc::{Plan as PlanOf, Simulator, Start};
use numpy::PyArrayDyn;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::arrays::{Numbers, Worlds, array};
use crate::error::Error;

/// An array that belongs to a result.
pub type Held = Py<PyArrayDyn<f64>>;

/// A class of plain data: its fields are what it is made of, in this order.
macro_rules! data {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$about])*
        #[pyclass(frozen, get_all, module = "fingertip.mpc")]
        pub struct $name {
            $($(#[$doc])* pub $field: $type,)*
        }

        #[pymethods]
        impl $name {
            #[new]
            #[allow(clippy::too_many_arguments, reason = "a field each")]
            fn new($($field: $type,)*) -> Self {
                Self { $($field,)* }
            }

            fn __getnewargs__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
                ($(&self.$field,)*).into_pyobject(py)
            }

            fn __repr__(&self, py: Python) -> PyResult<String> {
                named(stringify!($name), &[$(stringify!($field)),*], &self.__getnewargs__(py)?)
            }
        }
    };
}

data! {
    /// Distances of an object from its goal, or the largest of several objects. A part that the goal leaves free has
    /// none.
    Errors {
        /// Distance of positions, m.
        position: Option<f64>,
        /// Angle between orientations, rad.
        rotation: Option<f64>,
        /// Quaternion error 1 − ⟨q, q*⟩², which is sin² of half the angle.
        quaternion: Option<f64>,
        /// Distance of the joint that is farthest from its goal, rad or m.
        joints: Option<f64>,
        /// Is it lost: out of every robot's reach, and as far beyond it as the task says?
        lost: bool,
    }
}

data! {
    /// A start and a goal.
    Episode {
        /// The episode's number. Its random draws depend only on the seed and on this number.
        number: usize,
        /// The initial configuration (nq,), m and rad.
        q: Held,
        /// The command before the first one (nu,), rad and m.
        u: Held,
        /// The goal of the object.
        goal: Py<Goal>,
    }
}

data! {
    /// A plan over T control periods.
    Plan {
        /// States (T + 1, nq), m and rad. The first is the one that was planned from.
        q: Held,
        /// Commands (T, nu), rad and m.
        u: Held,
        /// The decisions v (T, nu) from which the commands follow, rad and m.
        v: Held,
        /// Contact forces on B in world axes at the end of each period (T, nc, 3), N.
        force: Held,
        /// The value of the objective.
        cost: f64,
        /// Steps without a solution, in which the world stood still.
        unsolved: usize,
        /// Why the search ended: `"converged"`, `"iteration limit"`, `"deadline"`, `"no gradient"` or `"unsolved"`.
        outcome: String,
        /// The number of iterations.
        iterations: usize,
        /// A row for each iteration (n, 4): the objective, the decrease that the local model predicted (NaN without
        /// one), the share of the step that was taken, and the time since the search began, s.
        log: Held,
    }
}

data! {
    /// A command, and how it was found.
    Answer {
        /// The command for the coming period (nu,), rad and m.
        u: Held,
        /// v of the period (nu,).
        v: Held,
        /// The state that was planned from (nq,): the measured one, advanced to when the command takes effect.
        q_from: Held,
        /// Why the search ended, as `Plan.outcome`; or `"bad input"` or `"silent"`, where the rest of the last plan is
        /// followed.
        outcome: String,
        /// Time taken, s.
        seconds: f64,
        /// The plan; none if there was no time or no state to roll it out.
        plan: Option<Py<Plan>>,
        /// The errors at the measured state.
        errors: Py<Errors>,
        /// Control periods so far, this one not counted.
        step: usize,
        /// Has the episode succeeded?
        success: bool,
        /// Is it over: by success, if the task stops there, by its cap, or as an object is lost (`errors.lost`)?
        done: bool,
        /// What was planned for: `"goal"`, or what the task's supervisor put in its place: `"subgoal"`, `"return"`,
        /// `"nudge"`, `"sample"` or `"retreat"`.
        doing: String,
        /// Why the plans before have stalled, where it is one of the last three; none otherwise.
        stall: Option<String>,
    }
}

/// Where an object is to be. What is left out is free; some of it must be given. `position` is (3,) in m (z is ignored
/// for planar objects), `quaternion` (w, x, y, z), or `yaw` in rad for a planar object; with `axis`, (3,) in the
/// object's frame, only that axis has to point where the quaternion takes it, or, without one, where it points in the
/// world: `axis=[0, 0, 1]` is upright, however it is turned. `joints` has positions of an articulated object's or a
/// robot's joints by their own names, rad or m. `others` has goals of other objects and robots by name, all of which
/// are to be reached at once.
#[pyclass(frozen, module = "fingertip.mpc")]
pub struct Goal(pub GoalOf);

#[pymethods]
impl Goal {
    #[new]
    #[pyo3(signature = (position=None, quaternion=None, yaw=None, joints=None, others=None, axis=None))]
    fn new(
        position: Option<&Bound<PyAny>>,
        quaternion: Option<&Bound<PyAny>>,
        yaw: Option<f64>,
        joints: Option<BTreeMap<String, f64>>,
        others: Option<BTreeMap<String, Py<Self>>>,
        axis: Option<&Bound<PyAny>>,
    ) -> PyResult<Self> {
        let position = position.map(|given| Numbers::triple("position", given)).transpose()?;
        let axis = axis.map(|given| Numbers::triple("axis", given)).transpose()?;
        if axis.is_some_and(|axis| !axis.iter().map(|x| x * x).sum::<f64>().is_normal()) {
            return Err(Error::new_err("axis: expected three finite numbers, not all zero"));
        }
        let quaternion = quaternion.map(unit).transpose()?.or(axis.map(|_| [1.0, 0.0, 0.0, 0.0]));
        if quaternion.is_some() && yaw.is_some() {
            let other = if axis.is_some() { "an axis" } else { "a quaternion" };
            return Err(Error::new_err(format!("goal: expected {other} or a yaw, got both")));
        }
        let turn = quaternion.map(|q| Turn::Quaternion(q).but_about(axis)).or(yaw.map(Turn::Yaw));
        let others = others.into_iter().flatten().map(|(name, goal)| {
            let own = goal.get().0.clone();
            if own.others.is_empty() {
                Ok((name, own))
            } else {
                Err(Error::new_err(format!("others: {name}: expected a goal without others of its own")))
            }
        });
        let goal =
            GoalOf { position, turn, joints: joints.unwrap_or_default(), others: others.collect::<PyResult<_>>()? };
        let turned = match goal.turn {
            Some(Turn::Yaw(yaw)) => vec![yaw],
            _ => Vec::new(),
        };
        let mut numbers = goal.position.iter().flatten().chain(&turned).chain(goal.joints.values());
        if let Some(x) = numbers.find(|x| !x.is_finite()) {
            return Err(Error::new_err(format!("goal: expected finite numbers, got {x}")));
        }
        if goal.is_free() {
            return Err(Error::new_err("goal: expected a position, a quaternion, an axis, a yaw or joints, got none"));
        }
        Ok(Self(goal))
    }

    /// Position of the object's frame (x, y, z), m, if the goal has one.
    #[getter]
    fn position(&self) -> Option<(f64, f64, f64)> {
        self.0.position.map(|[x, y, z]| (x, y, z))
    }

    /// Orientation of a free object (w, x, y, z), if the goal has one.
    #[getter]
    fn quaternion(&self) -> Option<(f64, f64, f64, f64)> {
        match self.0.turn {
            Some(Turn::Quaternion([w, x, y, z]) | Turn::Axis { quaternion: [w, x, y, z], .. }) => Some((w, x, y, z)),
            _ => None,
        }
    }

    /// Yaw of a planar object, rad, if the goal has one.
    #[getter]
    fn yaw(&self) -> Option<f64> {
        match self.0.turn {
            Some(Turn::Yaw(yaw)) => Some(yaw),
            _ => None,
        }
    }

    /// Positions of joints by their own names, rad or m.
    #[getter]
    fn joints(&self) -> BTreeMap<String, f64> {
        self.0.joints.clone()
    }

    /// Goals of other objects and robots, by name.
    #[getter]
    fn others(&self) -> BTreeMap<String, Self> {
        self.0.others.iter().map(|(name, goal)| (name.clone(), Self(goal.clone()))).collect()
    }

    /// The axis of the object, in its own frame, that alone has to point where the orientation takes it, if the goal
    /// has one.
    #[getter]
    fn axis(&self) -> Option<(f64, f64, f64)> {
        self.0.turn.and_then(Turn::axis).map(|[x, y, z]| (x, y, z))
    }

    fn __getnewargs__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        (self.position(), self.quaternion(), self.yaw(), self.joints(), self.others(), self.axis()).into_pyobject(py)
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.0 == other.0
    }

    fn __repr__(&self, py: Python) -> PyResult<String> {
        named("Goal", &["position", "quaternion", "yaw", "joints", "others", "axis"], &self.__getnewargs__(py)?)
    }
}

/// The expression that makes an object again, for readers.
fn named(class: &str, names: &[&str], values: &Bound<PyTuple>) -> PyResult<String> {
    let fields = names.iter().zip(values.iter()).map(|(name, value)| Ok(format!("{name}={}", value.repr()?)));
    Ok(format!("{class}({})", fields.collect::<PyResult<Vec<_>>>()?.join(", ")))
}

/// A unit quaternion.
fn unit(given: &Bound<PyAny>) -> PyResult<[f64; 4]> {
    let q = Numbers::like("quaternion", given, Worlds::One, &[4])?;
    let length = q.as_slice().iter().map(|x| x * x).sum::<f64>().sqrt();
    match *q.as_slice() {
        [w, x, y, z] if length.is_normal() => Ok([w, x, y, z].map(|x| x / length)),
        _ => Err(Error::new_err("quaternion: expected one other than zero")),
    }
}

impl Errors {
    /// Errors in Python.
    pub fn of(of: &ErrorsOf) -> Self {
        let ErrorsOf { position, rotation, quaternion, joints, lost } = *of;
        Self { position, rotation, quaternion, joints, lost }
    }

    /// Errors in Rust.
    pub fn numbers(&self) -> ErrorsOf {
        let Self { position, rotation, quaternion, joints, lost } = *self;
        ErrorsOf { position, rotation, quaternion, joints, lost }
    }
}

impl Episode {
    /// An episode in Python.
    pub fn of(py: Python, of: &EpisodeOf) -> PyResult<Self> {
        Ok(Self {
            number: of.number,
            q: held(py, &of.start.q, &[of.start.q.len()])?,
            u: held(py, &of.start.u, &[of.start.u.len()])?,
            goal: Py::new(py, Goal(of.goal.clone()))?,
        })
    }

    /// An episode in Rust.
    pub fn numbers(&self, py: Python, simulator: &Simulator) -> PyResult<EpisodeOf> {
        let row = |name: &str, of: &Held, n: usize| {
            Numbers::like(name, of.bind(py), Worlds::One, &[n]).map(|row| row.as_slice().to_vec())
        };
        let model = simulator.model();
        let start = Start::new(row("q", &self.q, model.nq())?, row("u", &self.u, model.nu())?);
        Ok(EpisodeOf { number: self.number, start, goal: self.goal.get().0.clone() })
    }
}

impl Plan {
    /// A plan in Python.
    pub fn of(py: Python, of: &PlanOf, simulator: &Simulator) -> PyResult<Self> {
        let (nq, nu, nc) = (simulator.model().nq(), simulator.model().nu(), simulator.model().nc());
        let horizon = of.best.u.len() / nu;
        let log: Vec<f64> =
            of.log.iter().flat_map(|line| [line.cost, line.expected, line.share, line.seconds]).collect();
        Ok(Self {
            q: held(py, &of.best.q, &[horizon + 1, nq])?,
            u: held(py, &of.best.u, &[horizon, nu])?,
            v: held(py, &of.best.v, &[horizon, nu])?,
            force: held(py, &of.best.force.dense(), &[horizon, nc, 3])?,
            cost: of.best.cost,
            unsolved: of.best.unsolved,
            outcome: of.outcome.name().to_owned(),
            iterations: of.iterations,
            log: held(py, &log, &[of.log.len(), 4])?,
        })
    }
}

/// An array of a shape that a result keeps.
pub fn held(py: Python, numbers: &[f64], shape: &[usize]) -> PyResult<Held> {
    Ok(array(py, numbers, shape)?.unbind())
}
