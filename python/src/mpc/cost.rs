//! A cost that Python computes.

use std::sync::{Arc, Mutex, PoisonError};

use candle_core::{Device, Result, Tensor, bail};
use fingertip::Model;
use fingertip::kinematics::Manifold;
use fingertip::mpc::cost::{Cost as CostOf, Expansion, Term};
use nalgebra::{DMatrix, DVector};
use numpy::ToPyArray;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::arrays::{Numbers, shown};
use crate::error::Error;

/// A term of the objective, weight · ‖r(q)‖², of the state after each command. `residual` takes q (nq,) to r (m,),
/// `jacobian` takes q to ∂r/∂q: (m, nv) in tangent coordinates, or (m, nq) by q's own numbers, as JAX and torch give
/// it. Their weights are `running` at every state but the last and `terminal` at the last, per squared unit of r;
/// `terminal` is `running` if it is left out. A term that is part of the task's `purpose` counts in the check whether
/// plans come nearer to their goal.
///
/// Both functions are called many times for a command, one state at a time, and must not call the controller.
#[pyclass(frozen, module = "fingertip.mpc")]
pub struct Cost {
    residual: Py<PyAny>,
    jacobian: Py<PyAny>,
    running: f64,
    terminal: f64,
    purpose: bool,
}

#[pymethods]
impl Cost {
    #[new]
    #[pyo3(signature = (residual, jacobian, running=1.0, terminal=None, purpose=false))]
    fn new(
        residual: Py<PyAny>,
        jacobian: Py<PyAny>,
        running: f64,
        terminal: Option<f64>,
        purpose: bool,
    ) -> PyResult<Self> {
        let terminal = terminal.unwrap_or(running);
        for (name, weight) in [("running", running), ("terminal", terminal)] {
            if !(weight.is_finite() && weight >= 0.0) {
                return Err(Error::new_err(format!("{name}: expected a number from 0 up, got {weight}")));
            }
        }
        Ok(Self { residual, jacobian, running, terminal, purpose })
    }

    fn __getnewargs__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        (&self.residual, &self.jacobian, self.running, self.terminal, self.purpose).into_pyobject(py)
    }
}

/// The exception that a function raised: it says more than the error that the planner hands on.
#[derive(Clone, Debug, Default)]
pub struct Raised(Arc<Mutex<Option<PyErr>>>);

impl Raised {
    /// The exception, or what became of it.
    pub fn or<T>(&self, result: PyResult<T>) -> PyResult<T> {
        let raised = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        result.map_err(|error| raised.unwrap_or(error))
    }

    fn keep<T>(&self, result: PyResult<T>) -> Result<T> {
        result.map_err(|error| {
            let message = error.to_string();
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            candle_core::Error::Msg(message)
        })
    }
}

/// The terms of costs in a model.
pub fn terms(py: Python, costs: &[Py<Cost>], model: &Model, raised: &Raised) -> Result<Vec<Term>> {
    let term = |cost: &Py<Cost>| {
        let Cost { residual, jacobian, running, terminal, purpose } = cost.get();
        let called = Called {
            residual: residual.clone_ref(py),
            jacobian: jacobian.clone_ref(py),
            raised: raised.clone(),
            manifold: Manifold::new(&model.tree, &Device::Cpu)?,
            nq: model.nq(),
            nv: model.nv(),
        };
        Ok(Term { cost: Arc::new(called), running: *running, terminal: *terminal, purpose: *purpose })
    };
    costs.iter().map(term).collect()
}

/// The functions of a cost.
#[derive(Debug)]
struct Called {
    residual: Py<PyAny>,
    jacobian: Py<PyAny>,
    raised: Raised,
    manifold: Manifold,
    nq: usize,
    nv: usize,
}

impl Called {
    fn residual(&self, q: &[f64]) -> Result<Vec<f64>> {
        self.raised.keep(Python::attach(|py| {
            let given = self.residual.call1(py, (q.to_pyarray(py),))?;
            let numbers = Numbers::new("residual", given.bind(py))?;
            match *numbers.shape() {
                [_] => finite("residual", &numbers),
                ref other => Err(Error::new_err(format!("residual: expected shape (m,), got {}", shown(other)))),
            }
        }))
    }

    /// ∂r/∂q (m, nv), and m.
    fn jacobian(&self, q: &[f64], m: usize) -> Result<Vec<f64>> {
        let (nq, nv) = (self.nq, self.nv);
        let (numbers, columns) = self.raised.keep(Python::attach(|py| {
            let given = self.jacobian.call1(py, (q.to_pyarray(py),))?;
            let numbers = Numbers::new("jacobian", given.bind(py))?;
            match *numbers.shape() {
                [rows, columns] if rows == m && (columns == nv || columns == nq) => {
                    Ok((finite("jacobian", &numbers)?, columns))
                }
                ref other => {
                    let expected = format!("expected shape ({m}, {nv}) or ({m}, {nq})");
                    Err(Error::new_err(format!("jacobian: {expected}, got {}", shown(other))))
                }
            }
        }))?;
        if columns == nv {
            return Ok(numbers);
        }
        let q = Tensor::from_slice(q, (1, nq), &Device::Cpu)?;
        self.manifold.to_tangent(&q, &Tensor::from_vec(numbers, (m, nq), &Device::Cpu)?)?.flatten_all()?.to_vec1()
    }
}

fn finite(what: &str, numbers: &Numbers) -> PyResult<Vec<f64>> {
    match numbers.as_slice().iter().find(|x| !x.is_finite()) {
        Some(x) => Err(Error::new_err(format!("{what}: expected finite numbers, got {x}"))),
        None => Ok(numbers.as_slice().to_vec()),
    }
}

impl CostOf for Called {
    fn value(&self, q: &[f64]) -> Result<f64> {
        Ok(self.residual(q)?.iter().map(|r| r * r).sum())
    }

    fn expand(&self, q: &[f64], weight: f64, to: &mut Expansion) -> Result<()> {
        if q.len() != self.nq {
            bail!("cost: expected {} numbers in q, got {}", self.nq, q.len());
        }
        let residual = self.residual(q)?;
        let m = residual.len();
        let jacobian = DMatrix::from_row_slice(m, self.nv, &self.jacobian(q, m)?);
        to.add_squares(weight, &DVector::from_vec(residual), &jacobian);
        Ok(())
    }
}
