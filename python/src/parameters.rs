//! Parameters as arrays with names.

use candle_core::{Device, Tensor};
use fingertip::Parameters;
use fingertip::description::unknown;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{Numbers, Worlds, array, shown};
use crate::error::{Error, OrRaise};

/// The parameters with some replaced: each by one row for all worlds, one row for each, or one number for all columns.
/// Numbers for all worlds must be in their ranges.
pub fn replaced(start: &Parameters, given: Option<&Bound<PyDict>>) -> PyResult<Parameters> {
    let all = replaced_by(start, given, |name, value| {
        let numbers = Numbers::new(name, value)?;
        Tensor::from_slice(numbers.as_slice(), numbers.shape(), &Device::Cpu).or_raise()
    })?;
    // Those of the scene have been checked.
    if given.is_some() {
        all.check_shared().or_raise()?;
    }
    Ok(all)
}

/// [`replaced`] by what `taken` makes of a name and a value.
pub fn replaced_by(
    start: &Parameters,
    given: Option<&Bound<PyDict>>,
    taken: impl Fn(&str, &Bound<PyAny>) -> PyResult<Tensor>,
) -> PyResult<Parameters> {
    let mut all = start.clone();
    let Some(given) = given else { return Ok(all) };
    for (name, value) in given {
        let name: String = name.extract()?;
        if !Parameters::NAMES.contains(&name.as_str()) {
            return Err(Error::new_err(unknown("parameter", &name, Parameters::NAMES.iter().copied())));
        }
        let tensor = taken(&name, &value)?;
        all = all
            .map(|own, before| if own == name { rows(&name, &tensor, before.dim(1)?) } else { Ok(before.clone()) })
            .or_raise()?;
    }
    worlds(&all)?;
    Ok(all)
}

/// A parameter's rows (1 or B, n).
fn rows(name: &str, given: &Tensor, n: usize) -> candle_core::Result<Tensor> {
    match *given.dims() {
        [] => given.broadcast_as((1, n))?.contiguous(),
        [width] if width == n => given.reshape((1, n)),
        [rows, width] if width == n && rows > 0 => Ok(given.clone()),
        ref other => {
            candle_core::bail!("{name}: expected shape ({n},), (B, {n}) or one number, got {}", shown(other))
        }
    }
}

/// The worlds for which parameters have rows of their own; none if all are for any number of worlds.
pub fn worlds(parameters: &Parameters) -> PyResult<Option<usize>> {
    let mut own = None;
    for (name, tensor) in Parameters::NAMES.iter().zip(parameters.tensors()) {
        let rows = tensor.dim(0).or_raise()?;
        if rows == 1 {
            continue;
        }
        match own {
            Some((first, worlds)) if worlds != rows => {
                let message = format!("{name}: expected 1 or {worlds} rows, as {first} has, got {rows}");
                return Err(Error::new_err(message));
            }
            _ => own = Some((name, rows)),
        }
    }
    Ok(own.map(|(_, worlds)| worlds))
}

/// The worlds of a state and of parameters with so many rows, where one world stands for all.
pub fn beside(rows: Option<usize>, of: Worlds) -> PyResult<Worlds> {
    let Some(rows) = rows else { return Ok(of) };
    of.beside(Worlds::Batch(rows)).ok_or_else(|| {
        let got = of.count();
        Error::new_err(format!("q: expected {rows} worlds, as the parameters have, got {got}"))
    })
}

/// The parameters as a dictionary of new arrays (1 or B, n).
pub fn dictionary<'py>(py: Python<'py>, parameters: &Parameters) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    for (name, tensor) in Parameters::NAMES.iter().zip(parameters.tensors()) {
        let numbers = tensor.flatten_all().and_then(|flat| flat.to_vec1::<f64>()).or_raise()?;
        all.set_item(name, array(py, &numbers, tensor.dims())?)?;
    }
    Ok(all)
}
