//! Poses by touch.

use std::sync::Mutex;

use fingertip::feel::{self, Options};
use fingertip::mpc::Simulator;
use pyo3::prelude::*;

use crate::arrays::{Array, Numbers, array, count, shown};
use crate::error::{Error, OrRaise, detached};
use crate::quasidynamic::Quasidynamic;

/// A thing whose net force is measured, or what a second one alone does to it.
#[derive(FromPyObject)]
enum Felt {
    All(String),
    By(String, Option<String>),
}

/// Where everything is by what a hand feels, for a control loop: joints, commands and net contact forces, without a
/// camera. A smoother over a window of control periods, each of `hold` steps of `sim` under one command.
///
/// `forces` are the things whose net force is measured, `"hand/tip"`, or `("hand/tip", "cube")` for what the second
/// does to the first. Deviations: `start` of objects' poses when they are seen, m and rad; `joint` of measured joints,
/// rad; `pose` of measured poses, m and rad; `force` of forces, as a part of them and N. What feels `touch`, N, and
/// more has the gap of the barrier to `gap`, and slips by `slip` in a period, m. The model errs by `share` of each
/// motion, and objects `drift` in a second by m and rad, joints by `joint_drift`. What is off by more than `huber`
/// deviations pulls no harder. The page crates/plan/docs/feel.md says more.
#[pyclass(frozen, module = "fingertip")]
pub struct Smoother {
    of: Mutex<feel::Smoother>,
    nq: usize,
    nu: usize,
    names: Vec<(String, Option<String>)>,
}

impl Smoother {
    fn with<T>(&self, act: impl FnOnce(&mut feel::Smoother) -> T) -> T {
        // What panicked left numbers, which the next step goes on from.
        act(&mut self.of.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

/// Numbers of a shape.
fn like<'py>(what: &str, given: &Bound<'py, PyAny>, shape: &[usize]) -> PyResult<Numbers<'py>> {
    let numbers = Numbers::new(what, given)?;
    if numbers.shape() != shape {
        let got = shown(numbers.shape());
        return Err(Error::new_err(format!("{what}: expected shape {}, got {got}", shown(shape))));
    }
    Ok(numbers)
}

#[pymethods]
impl Smoother {
    #[new]
    #[pyo3(signature = (
        sim, forces=Vec::new(), *, hold=1, window=5, start=[1e-3, 0.02], joint=1e-3, pose=[1e-3, 0.01],
        force=[0.05, 0.05], touch=0.1, gap=1e-4, slip=2e-4, drift=[0.01, 0.2], joint_drift=0.5, share=0.3, huber=3.0,
        max_iterations=3
    ))]
    #[expect(clippy::too_many_arguments, reason = "keywords")]
    fn new(
        py: Python,
        sim: &Quasidynamic,
        forces: Vec<Felt>,
        hold: i64,
        window: i64,
        start: [f64; 2],
        joint: f64,
        pose: [f64; 2],
        force: [f64; 2],
        touch: f64,
        gap: f64,
        slip: f64,
        drift: [f64; 2],
        joint_drift: f64,
        share: f64,
        huber: f64,
        max_iterations: i64,
    ) -> PyResult<Self> {
        let options = Options {
            window: count("window", window)?,
            start,
            joint,
            pose,
            force,
            touch,
            gap,
            slip,
            drift,
            joint_drift,
            share,
            huber,
            max_iterations: count("max_iterations", max_iterations)?,
        };
        let (step, hold) = (sim.parts().0, count("hold", hold)?);
        let names: Vec<(String, Option<String>)> = forces
            .into_iter()
            .map(|felt| match felt {
                Felt::All(on) => (on, None),
                Felt::By(on, by) => (on, by),
            })
            .collect();
        let (nq, nu) = (step.model().nq(), step.model().nu());
        let of = detached(py, || {
            let forces: Vec<_> = names.iter().map(|(on, by)| (on.as_str(), by.as_deref())).collect();
            feel::Smoother::new(&Simulator::of_step(step, hold)?, &forces, &options)
        })?;
        Ok(Self { of: Mutex::new(of), nq, nu, names })
    }

    /// Begins anew at q (nq,) as it was seen, objects to the deviations `start`.
    fn reset(&self, q: &Bound<PyAny>) -> PyResult<()> {
        let q = like("q", q, &[self.nq])?;
        self.with(|of| of.reset(q.as_slice())).or_raise()
    }

    /// After the command u (nu,) was held for a period: q as it is measured now (nq,), and the net forces (forces, 3),
    /// N, in world axes. What is not measured is NaN; poses of objects as a rule. Returns the estimate of q (nq,).
    #[pyo3(signature = (u, q, forces=None))]
    fn step<'py>(
        &self,
        py: Python<'py>,
        u: &Bound<'py, PyAny>,
        q: &Bound<'py, PyAny>,
        forces: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Array<'py>> {
        let n = self.names.len();
        let (u, q) = (like("u", u, &[self.nu])?, like("q", q, &[self.nq])?);
        let forces = forces.map(|forces| like("forces", forces, &[n, 3])).transpose()?;
        let none = vec![f64::NAN; 3 * n];
        let (u, q, forces) = (u.as_slice(), q.as_slice(), forces.as_ref().map_or(&none[..], Numbers::as_slice));
        let q = detached(py, || self.with(|of| of.step(u, q, forces).map(|()| of.q().to_vec())))?;
        array(py, &q, &[self.nq])
    }

    /// The estimate (nq,), rad and m.
    #[getter]
    fn q<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        array(py, &self.with(|of| of.q().to_vec()), &[self.nq])
    }

    /// The covariance of an object's pose in tangent coordinates, (6, 6) of a free one: m and rad, along world axes.
    /// Without a name, that of all of q (nv, nv).
    #[pyo3(signature = (name=None))]
    fn covariance<'py>(&self, py: Python<'py>, name: Option<&str>) -> PyResult<Array<'py>> {
        let covariance = self.with(|of| match name {
            Some(name) => of.covariance_of(name),
            None => Ok(of.covariance().clone()),
        });
        let covariance = covariance.or_raise()?;
        let n = covariance.nrows();
        // A covariance is its own transpose.
        array(py, covariance.as_slice(), &[n, n])
    }

    /// Steps of Gauss and Newton in the last period.
    #[getter]
    fn iterations(&self) -> usize {
        self.with(|of| of.iterations())
    }

    fn __repr__(&self) -> String {
        let name = |(on, by): &(String, Option<String>)| match by {
            Some(by) => format!("{by} on {on}"),
            None => on.clone(),
        };
        let names: Vec<String> = self.names.iter().map(name).collect();
        format!("<fingertip.Smoother, forces: {}>", if names.is_empty() { "none".to_owned() } else { names.join(", ") })
    }
}
