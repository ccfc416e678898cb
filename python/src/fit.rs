//! Parameters from logs.

use std::path::PathBuf;

use fingertip::fit::{self, Fit as Found, Kind, Log, Options};
use fingertip::{description::unknown, show};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::arrays::{Array, Lazy, Numbers, array, count};
use crate::error::{Error, OrRaise, detached, warn};
use crate::model::Model;
use crate::parameters::dictionary;

/// What `fingertip.fit` found.
#[pyclass(frozen, module = "fingertip")]
pub struct Fit {
    of: Found,
    logs: Vec<Log>,
    made: [Lazy; 3],
}

#[pymethods]
impl Fit {
    /// The numbers' names (n), as `mass.ball`.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.of.numbers.iter().map(|one| one.name.clone()).collect()
    }

    /// Their units (n); empty for numbers without one, and for common factors of parameters that differ.
    #[getter]
    fn units(&self) -> Vec<&'static str> {
        self.of.numbers.iter().map(|one| one.unit).collect()
    }

    /// Where the search began (n,).
    #[getter]
    fn start<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        self.numbers(py, 0, |one| one.start)
    }

    /// What was found (n,).
    #[getter]
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        self.numbers(py, 1, |one| one.value)
    }

    /// The standard errors (n,): infinite where neither the logs nor a prior tell a number, NaN where it is at a bound.
    #[getter]
    fn errors<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        self.numbers(py, 2, |one| one.error)
    }

    /// Do the logs tell each number (n)? Else it is part of a combination of `blind`.
    #[getter]
    fn told(&self) -> Vec<bool> {
        self.of.numbers.iter().map(|one| one.is_told).collect()
    }

    /// The parameters by name with these numbers, as new arrays (1, n): `Quasidynamic(model, **fit.params)`.
    #[getter]
    fn params<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        dictionary(py, &self.of.parameters)
    }

    /// Combinations of numbers that the logs do not tell, `"mass.ball × 2.000 with stiffness × 1.970"`, each with its
    /// standard error as a part of itself.
    #[getter]
    fn blind(&self) -> Vec<(String, f64)> {
        self.of.blind.iter().map(|one| (self.of.describe(one), one.error)).collect()
    }

    /// For each kind that was measured, `joint`, `position`, `rotation` or `force`: the number of residuals, their root
    /// mean square, and the standard deviation of noise that was reckoned with.
    #[getter]
    fn noise<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        self.of.noise.iter().try_for_each(|(kind, numbers)| all.set_item(kind.name().0, *numbers))?;
        Ok(all)
    }

    /// Half the sum of squares of residuals over noise, and of what is off from priors: before and after.
    #[getter]
    fn cost(&self) -> (f64, f64) {
        self.of.cost.into()
    }

    /// How alike residuals are that follow each other in time: about 0 for noise alone. Where they are alike, from 0.3
    /// on, the model cannot do all that was measured, and standard errors are too small.
    #[getter]
    fn correlation(&self) -> f64 {
        self.of.correlation
    }

    /// Steps of Gauss and Newton.
    #[getter]
    fn iterations(&self) -> usize {
        self.of.iterations
    }

    /// Did the search end because there was nothing more to gain?
    #[getter]
    fn converged(&self) -> bool {
        self.of.converged
    }

    /// Steps of the last rollouts, and how many of them had no solution.
    #[getter]
    fn steps(&self) -> (usize, usize) {
        self.of.steps.into()
    }

    /// What was measured and predicted: for each log and channel that has numbers, by the log's place and the channel's
    /// name, the times (n,), what was measured and what was predicted there (n,). For rotations these are zeros (n, 3),
    /// and the rotation vectors from what was measured to what was predicted, rad.
    #[getter]
    fn predictions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        for of in self.of.predictions.iter().filter(|of| !of.time.is_empty()) {
            let (n, width) = (of.time.len(), of.measured.len() / of.time.len());
            let shape = if width == 1 { vec![n] } else { vec![n, width] };
            let numbers = |numbers: &[f64]| array(py, numbers, &shape);
            let key = (of.log, self.logs[of.log].channels[of.channel].name.as_str());
            all.set_item(key, (array(py, &of.time, &[n])?, numbers(&of.measured)?, numbers(&of.predicted)?))?;
        }
        Ok(all)
    }

    /// Writes fit and residuals as a figure (`*.svg`), or what was measured and predicted as a table (`*.csv`).
    fn save(&self, py: Python, path: PathBuf) -> PyResult<()> {
        let is_table = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("csv"));
        detached(py, || match is_table {
            true => show::write_fit(&self.of, &self.logs, &path),
            false => show::plot_fit(&self.of, &self.logs, &path),
        })
    }

    fn __repr__(&self) -> String {
        let one = |one: &fit::Fitted| {
            let unit = if one.unit.is_empty() { String::new() } else { format!(" {}", one.unit) };
            format!("\n  {} = {:.6} ± {:.2e}{unit}", one.name, one.value, one.error)
        };
        let numbers: String = self.of.numbers.iter().map(one).collect();
        let blind: String =
            self.of.blind.iter().map(|one| format!("\n  not told: {}", self.of.describe(one))).collect();
        let lack = self.of.lack().map_or(String::new(), |lack| format!("\n  {lack}"));
        format!("<fingertip.Fit{numbers}{blind}{lack}>")
    }
}

impl Fit {
    fn numbers<'py>(&self, py: Python<'py>, place: usize, of: fn(&fit::Fitted) -> f64) -> PyResult<Array<'py>> {
        let numbers: Vec<f64> = self.of.numbers.iter().map(of).collect();
        self.made[place].get(py, &numbers, &[numbers.len()])
    }
}

/// What `fingertip.fit` calls: logs are names of files, or names with columns by name.
#[pyfunction]
#[pyo3(signature = (model, logs, by, start, bounds, prior, noise, window, second_order, max_iterations))]
#[expect(clippy::too_many_arguments, reason = "for `fingertip.fit` alone")]
pub fn _fit(
    py: Python,
    model: &Model,
    logs: Vec<(String, Option<Bound<PyDict>>)>,
    by: Vec<String>,
    start: Vec<(String, f64)>,
    bounds: Vec<(String, (f64, f64))>,
    prior: Vec<(String, (f64, f64))>,
    noise: Vec<(String, f64)>,
    window: Option<f64>,
    second_order: bool,
    max_iterations: i64,
) -> PyResult<Fit> {
    let (of, parameters) = (&model.of, &model.parameters);
    let logs = logs.iter().map(|(name, columns)| match columns {
        None => detached(py, || show::read_log(of, name)),
        Some(columns) => log(of, name, columns),
    });
    let logs = logs.collect::<PyResult<Vec<Log>>>()?;
    let ignored = logs.iter().filter(|log| !log.ignored.is_empty());
    let lines = ignored.map(|log| format!("{}: columns that mean nothing here: {}", log.name, log.ignored.join(", ")));
    warn(py, lines.collect::<Vec<_>>().iter())?;
    let mut unknowns = fit::unknowns(of, parameters, &by.iter().map(String::as_str).collect::<Vec<_>>()).or_raise()?;
    let mut named = |name: &str, change: &dyn Fn(&mut fit::Unknown)| {
        fit::meant(&mut unknowns, of, parameters, name).or_raise().map(|all| all.into_iter().for_each(change))
    };
    bounds.iter().try_for_each(|(name, (lower, upper))| named(name, &|own| own.bound(*lower, *upper)))?;
    start.iter().try_for_each(|(name, value)| named(name, &|own| own.value = *value))?;
    prior.iter().try_for_each(|(name, prior)| named(name, &|own| own.prior = Some(*prior)))?;
    let kind = |(name, deviation): &(String, f64)| match Kind::ALL.into_iter().find(|kind| kind.name().0 == name) {
        Some(kind) => Ok((kind, *deviation)),
        None => {
            let known = Kind::ALL.iter().map(|kind| kind.name().0);
            Err(Error::new_err(format!("noise: {}", unknown("kind", name, known))))
        }
    };
    let options = Options {
        second_order,
        window,
        noise: noise.iter().map(kind).collect::<PyResult<_>>()?,
        max_iterations: count("max_iterations", max_iterations)?,
    };
    let found = detached(py, || fit::fit(of, parameters, &logs, &unknowns, &options))?;
    Ok(Fit { of: found, logs, made: Default::default() })
}

/// A log of columns (n,) by name.
fn log(model: &fingertip::Model, name: &str, columns: &Bound<PyDict>) -> PyResult<Log> {
    let mut all = Vec::new();
    for (key, value) in columns {
        let key: String = key.extract()?;
        let numbers = Numbers::new(&format!("{name}: {key}"), &value)?;
        if numbers.shape().len() != 1 {
            let got = PyTuple::new(columns.py(), numbers.shape())?;
            return Err(Error::new_err(format!("{name}: {key}: expected shape (n,), got {got}")));
        }
        all.push((key, numbers.as_slice().to_vec()));
    }
    let all: Vec<(&str, &[f64])> = all.iter().map(|(name, numbers)| (name.as_str(), &numbers[..])).collect();
    Log::new(model, name, &all).or_raise()
}
