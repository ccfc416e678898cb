//! Results as pickles: their arrays. What gradients read besides stays behind, so that a result from a pickle is no
//! object's own.

use std::borrow::Cow;
use std::sync::OnceLock;

use fingertip::Parameters;
use fingertip::solve::{Report, Status};
use numpy::{PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{Array, Lazy, Worlds, array, shown};
use crate::error::Error;
use crate::results::{
    DynamicGradient, DynamicLinearization, DynamicRollout, DynamicStep, Gradient, Hold, Linearization, Rollout, Solves,
    Step,
};

/// A result's numbers, and the arrays that are made of them when they are asked for; of a pickle the arrays alone.
pub struct Kept<T, const N: usize> {
    of: OnceLock<Box<T>>,
    later: Option<Later<T>>,
    made: [Lazy; N],
}

/// Computes the numbers of a result, of which some arrays are known without.
pub type Later<T> = Box<dyn Fn(Python) -> PyResult<Box<T>> + Send + Sync>;

impl<T, const N: usize> Kept<T, N> {
    /// Keeps numbers, of which Python's objects are made when they are asked for.
    pub fn new(of: impl Into<Box<T>>) -> Self {
        let own = Self { of: OnceLock::new(), later: None, made: std::array::from_fn(|_| Lazy::default()) };
        own.of.set(of.into()).ok();
        own
    }

    /// Keeps how numbers are computed once an array of theirs is asked for.
    pub fn later(later: Later<T>) -> Self {
        Self { of: OnceLock::new(), later: Some(later), made: std::array::from_fn(|_| Lazy::default()) }
    }

    /// The numbers, but of a pickle.
    pub fn numbers(&self, py: Python) -> PyResult<Option<&T>> {
        // Not `get_or_init`, during which another thread would wait with the interpreter's lock. The first of two
        // threads has its numbers kept.
        if let (None, Some(later)) = (self.of.get(), &self.later) {
            self.of.set(later(py)?).ok();
        }
        Ok(self.of.get().map(AsRef::as_ref))
    }

    /// The numbers of a result that an object of this process has made.
    pub fn own(&self, py: Python, what: &str) -> PyResult<&T> {
        self.numbers(py)?
            .ok_or_else(|| Error::new_err(format!("{what}: expected a result of this object, got a pickle's")))
    }

    /// The array at a place, of numbers in a shape.
    pub fn get<'py>(
        &self,
        py: Python<'py>,
        place: usize,
        numbers: impl FnOnce(&T) -> &Vec<f64>,
        shape: &[usize],
    ) -> PyResult<Array<'py>> {
        self.made[place].or_make(py, || array(py, self.numbers(py)?.map_or(&[][..], |of| numbers(of)), shape))
    }

    /// The array at a place, of numbers that are computed if it is not there.
    pub fn make<'py>(
        &self,
        py: Python<'py>,
        place: usize,
        numbers: impl FnOnce(&T) -> Vec<f64>,
        shape: &[usize],
    ) -> PyResult<Array<'py>> {
        let of = self.numbers(py)?;
        self.made[place].make(py, || of.map_or_else(Vec::new, numbers), shape)
    }

    /// The array at a place, of numbers that are known without the others.
    pub fn known<'py>(
        &self,
        py: Python<'py>,
        place: usize,
        numbers: impl FnOnce() -> Vec<f64>,
        shape: &[usize],
    ) -> PyResult<Array<'py>> {
        self.made[place].make(py, numbers, shape)
    }

    /// Writes the numbers of a place to an array, which is its array from then on.
    pub fn write(&self, place: usize, numbers: &[f64], to: &Array) -> PyResult<()> {
        self.made[place].write(numbers, to)
    }

    /// [`Kept::get`] of rows whose width the numbers say.
    pub fn get_rows<'py>(
        &self,
        py: Python<'py>,
        place: usize,
        numbers: impl FnOnce(&T) -> &Vec<f64>,
        worlds: Worlds,
    ) -> PyResult<Array<'py>> {
        self.made[place].or_make(py, || {
            let numbers = self.numbers(py)?.map_or(&[][..], |of| numbers(of));
            array(py, numbers, &worlds.shape(&[numbers.len() / worlds.count()]))
        })
    }

    /// The first arrays of a pickle.
    fn restored<'py>(arrays: &mut impl Iterator<Item = Array<'py>>) -> PyResult<Self> {
        let made: Vec<Lazy> = arrays.take(N).map(Lazy::of).collect();
        let made = made.try_into().map_err(|_| Error::new_err("pickle: expected more arrays"))?;
        Ok(Self { of: OnceLock::new(), later: None, made })
    }
}

/// Numbers with their shape.
pub struct Shaped {
    numbers: Vec<f64>,
    shape: Vec<usize>,
    made: Lazy,
}

impl Shaped {
    /// Keeps numbers, of which Python's objects are made when they are asked for.
    pub fn new(numbers: Vec<f64>, shape: Vec<usize>) -> Self {
        Self { numbers, shape, made: Lazy::default() }
    }

    /// The array, always the same.
    pub fn get<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        self.made.get(py, &self.numbers, &self.shape)
    }

    /// The shape as Python shows it.
    pub fn shape(&self) -> String {
        shown(&self.shape)
    }

    fn restored(given: &Array) -> PyResult<Self> {
        let numbers = given.readonly();
        Ok(Self::new(numbers.as_array().iter().copied().collect(), given.shape().to_vec()))
    }
}

/// Gradients by each parameter, by name, as new arrays.
pub fn by_parameters<'py>(py: Python<'py>, all: &[Shaped]) -> PyResult<Bound<'py, PyDict>> {
    let by_name = PyDict::new(py);
    for (name, of) in Parameters::NAMES.iter().zip(all) {
        by_name.set_item(name, array(py, &of.numbers, &of.shape)?)?;
    }
    Ok(by_name)
}

/// How solves went, as plain numbers: (status, iterations, residual, slip gap) each, and the shape.
pub type Reports = (Vec<(f64, usize, f64, f64)>, Vec<usize>);

/// Plain numbers of reports in an array of this shape.
pub fn plain(reports: &[Report], shape: &[usize]) -> Reports {
    let one = |of: &Report| (f64::from(of.status as u8), of.iterations, of.residual, of.slip_gap);
    (reports.iter().map(one).collect(), shape.to_vec())
}

/// Reports of plain numbers.
pub fn solves((all, shape): Reports) -> PyResult<PyClassInitializer<Solves>> {
    if shape.iter().product::<usize>() != all.len() {
        return Err(Error::new_err("pickle: expected as many reports as its shape says"));
    }
    let one = |(status, iterations, residual, slip_gap)| Report {
        status: Status::from_code(status),
        iterations,
        residual,
        slip_gap,
    };
    Ok(Solves::new(all.into_iter().map(one).collect(), shape))
}

/// The function that a pickle calls, and its arguments: the class's name, its arrays, its reports.
pub type Reduced<'py> = (Bound<'py, PyAny>, (Cow<'static, str>, Vec<Bound<'py, PyAny>>, Option<Bound<'py, PyAny>>));

/// A result as a pickle: the arrays of these attributes, those by parameters, and the reports, where it has them.
pub fn reduced<'py>(of: &Bound<'py, PyAny>, class: &'static str, names: &[&str]) -> PyResult<Reduced<'py>> {
    let restore = of.py().import("fingertip._fingertip")?.getattr("_restore")?;
    let mut arrays = names.iter().map(|name| of.getattr(*name)).collect::<PyResult<Vec<_>>>()?;
    if let Some(params) = of.getattr_opt("params")? {
        arrays.extend(params.cast::<PyDict>()?.values());
    }
    Ok((restore, (class.into(), arrays, of.getattr_opt("_reports")?)))
}

/// A result from a pickle.
#[pyfunction]
pub fn _restore<'py>(
    py: Python<'py>,
    class: &str,
    arrays: Vec<Bound<'py, PyArrayDyn<f64>>>,
    reports: Option<Reports>,
) -> PyResult<Py<PyAny>> {
    let parameters = |rest: &[Array]| rest.iter().map(Shaped::restored).collect::<PyResult<Vec<_>>>();
    let reports = || solves(reports.unwrap_or_default());
    let mut all = arrays.iter().cloned();
    let made = match (class, &arrays[..]) {
        ("Step", _) => Py::new(py, Step::restored(Kept::restored(&mut all)?, reports()?))?.into_any(),
        ("DynamicStep", [.., v_next]) => {
            let (of, v_next) = (Kept::restored(&mut all)?, Lazy::of(v_next.clone()));
            Py::new(py, DynamicStep::restored(of, reports()?, v_next))?.into_any()
        }
        ("Rollout", _) => Py::new(py, Rollout::restored(Kept::restored(&mut all)?, reports()?))?.into_any(),
        ("DynamicRollout", _) => {
            Py::new(py, DynamicRollout::restored(Kept::restored(&mut all)?, reports()?))?.into_any()
        }
        ("Hold", _) => Py::new(py, Hold::restored(Kept::restored(&mut all)?, reports()?))?.into_any(),
        ("Linearization", _) if let Ok(all) = <&[Array; 7]>::try_from(&arrays[..]) => {
            Py::new(py, Linearization::restored(all)?)?.into_any()
        }
        ("DynamicLinearization", _) => {
            Py::new(py, DynamicLinearization::restored(Kept::restored(&mut all)?))?.into_any()
        }
        ("Gradient", [q, u, rest @ ..]) => {
            let own = [Shaped::restored(q)?, Shaped::restored(u)?];
            Py::new(py, Gradient { own, parameters: parameters(rest)? })?.into_any()
        }
        ("DynamicGradient", [q, v, tau, rest @ ..]) => {
            let own = [Shaped::restored(q)?, Shaped::restored(v)?, Shaped::restored(tau)?];
            Py::new(py, DynamicGradient { own, parameters: parameters(rest)? })?.into_any()
        }
        _ => return Err(Error::new_err(format!("pickle: expected a result with its arrays, got \"{class}\""))),
    };
    Ok(made)
}
