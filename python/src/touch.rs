//! What is felt of a step: net forces and torques, and taxels.

use candle_core::{Device, Tensor};
use fingertip::Parameters;
use fingertip::step::{StepCotangent, StepNumbers};
use fingertip::touch::{Axes, Cotangent, Sensor, Taxels as Pads, Wrenches as Net};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PySlice};

use crate::arrays::{Array, Numbers, Worlds, array};
use crate::error::{Error, detached};
use crate::model::Model;
use crate::parameters::{dictionary, replaced, worlds};
use crate::results::Step;

/// A thing by its name, or a thing and what acts on it.
#[derive(FromPyObject)]
enum Name {
    All(String),
    By(String, String),
}

/// Net contact forces and torques on things, by name: a body (`"hand/tip"`, `"ball"`), or all of a robot or an
/// articulated object (`"hand"`). A pair of names is what the second does to the first alone. Without names: for each
/// body that can move and may touch something, everything on it, and then what each body does that it may touch.
///
/// `axes` are `"world"` or `"link"`, those of the thing's first link, about whose origin torques are. `params` replace
/// the model's by name, as in `Quasidynamic`; offsets count. For gradients see `touch` of `Quasidynamic.vjp`.
#[pyclass(frozen, module = "fingertip")]
pub struct Wrenches {
    model: Py<Model>,
    of: Net,
    axes: Axes,
    rows: Option<usize>,
}

/// Are there as many worlds as parameters have?
fn check(rows: Option<usize>, of: Worlds) -> PyResult<()> {
    match rows.filter(|rows| *rows != of.count()) {
        Some(rows) => {
            let got = of.count();
            Err(Error::new_err(format!("q: expected {rows} worlds, as the parameters have, got {got}")))
        }
        None => Ok(()),
    }
}

/// What a sensor feels of a step from q.
fn felt<'py>(
    sensor: &(impl Sensor + Sync),
    axes: &[usize],
    (model, rows): (&Model, Option<usize>),
    q: &Bound<'py, PyAny>,
    step: &Bound<'py, Step>,
) -> PyResult<Array<'py>> {
    let (q, worlds) = Numbers::rows("q", q, model.of.nq())?;
    check(rows, worlds)?;
    let (py, step) = (step.py(), step.get());
    if step.worlds.count() != worlds.count() {
        let (expected, got) = (worlds.count(), step.worlds.count());
        return Err(Error::new_err(format!("step: expected a step of {expected} worlds, got one of {got}")));
    }
    let (q, numbers) = (q.as_slice(), step.of.own(py, "step")?);
    let felt = detached(py, || sensor.numbers(q, numbers))?;
    array(py, &felt, &worlds.shape(axes))
}

#[pymethods]
impl Wrenches {
    #[new]
    #[pyo3(signature = (model, of=None, axes="world", **params))]
    fn new(
        py: Python,
        model: Py<Model>,
        of: Option<Vec<Name>>,
        axes: &str,
        params: Option<&Bound<PyDict>>,
    ) -> PyResult<Self> {
        let axes = match axes {
            "world" => Axes::World,
            "link" => Axes::Link,
            other => return Err(Error::new_err(format!("axes: expected \"world\" or \"link\", got \"{other}\""))),
        };
        let parameters: Parameters = replaced(&model.get().parameters, params)?;
        let rows = worlds(&parameters)?;
        let own = &model.get().of;
        let of = detached(py, || match &of {
            None => Net::of_all(own, &parameters, axes),
            Some(names) => {
                let names = names.iter().map(|name| match name {
                    Name::All(on) => (on.as_str(), None),
                    Name::By(on, by) => (on.as_str(), Some(by.as_str())),
                });
                Net::new(own, &parameters, &names.collect::<Vec<_>>(), axes)
            }
        })?;
        Ok(Self { model, of, axes, rows })
    }

    /// The model whose contacts it feels.
    #[getter]
    fn model(&self, py: Python) -> Py<Model> {
        self.model.clone_ref(py)
    }

    /// What each wrench acts on, and what does it; None is everything.
    #[getter]
    fn names(&self) -> Vec<(&str, Option<&str>)> {
        self.of.names().collect()
    }

    /// The wrenches (B, n, 6) that act during a step from q (B, nq): forces, N, then torques, N·m.
    fn at<'py>(&self, q: &Bound<'py, PyAny>, step: &Bound<'py, Step>) -> PyResult<Array<'py>> {
        felt(&self.of, &[self.of.names().len(), 6], (self.model.get(), self.rows), q, step)
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyDict>)> {
        let names = self.of.names().map(|(on, by)| match by {
            None => on.into_pyobject(py).map(Bound::into_any).map_err(PyErr::from),
            Some(by) => (on, by).into_pyobject(py).map(Bound::into_any),
        });
        let axes = if self.axes == Axes::Link { "link" } else { "world" };
        let arguments = (self.model.clone_ref(py), names.collect::<PyResult<Vec<_>>>()?, axes);
        Ok((arguments.into_pyobject(py)?.into_any(), dictionary(py, self.of.parameters())?))
    }
}

/// The taxels of a scene's pads, `[[taxels]]`: those with these names, or all. Their numbers follow each other pad by
/// pad, N in all.
///
/// `params` replace the model's by name, as in `Quasidynamic`; offsets and sizes count. For gradients see `touch` of
/// `Quasidynamic.vjp`.
#[pyclass(frozen, module = "fingertip")]
pub struct Taxels {
    model: Py<Model>,
    of: Pads,
    rows: Option<usize>,
}

#[pymethods]
impl Taxels {
    #[new]
    #[pyo3(signature = (model, names=None, **params))]
    fn new(py: Python, model: Py<Model>, names: Option<Vec<String>>, params: Option<&Bound<PyDict>>) -> PyResult<Self> {
        let parameters = replaced(&model.get().parameters, params)?;
        let rows = worlds(&parameters)?;
        let own = &model.get().of;
        let names = names.unwrap_or_else(|| own.taxels.iter().map(|pad| pad.name.clone()).collect());
        let of = detached(py, || Pads::new(own, &parameters, &names.iter().map(String::as_str).collect::<Vec<_>>()))?;
        Ok(Self { model, of, rows })
    }

    /// The model whose contacts they feel.
    #[getter]
    fn model(&self, py: Python) -> Py<Model> {
        self.model.clone_ref(py)
    }

    /// The pads by name, each with the slice of its taxels among all.
    #[getter]
    fn pads<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let pads = PyDict::new(py);
        for (name, at) in self.of.pads() {
            pads.set_item(name, PySlice::new(py, at.start.try_into()?, at.end.try_into()?, 1))?;
        }
        Ok(pads)
    }

    /// The number N of taxels of all pads.
    #[getter]
    fn count(&self) -> usize {
        self.of.count()
    }

    /// The normal force (B, N), N, that each taxel feels during a step from q (B, nq).
    fn at<'py>(&self, q: &Bound<'py, PyAny>, step: &Bound<'py, Step>) -> PyResult<Array<'py>> {
        felt(&self.of, &[self.of.count()], (self.model.get(), self.rows), q, step)
    }

    /// The signed distance (B, N), m, of each taxel from the nearest shape that its body may touch, at q (B, nq):
    /// negative inside, 1000 where there is none.
    fn distances<'py>(&self, py: Python<'py>, q: &Bound<'py, PyAny>) -> PyResult<Array<'py>> {
        let (q, worlds) = Numbers::rows("q", q, self.model.get().of.nq())?;
        check(self.rows, worlds)?;
        let q = q.as_slice();
        let own = detached(py, || {
            let q = Tensor::from_slice(q, (worlds.count(), q.len() / worlds.count()), &Device::Cpu)?;
            self.of.distances(&q)?.flatten_all()?.to_vec1::<f64>()
        })?;
        array(py, &own, &worlds.shape(&[self.of.count()]))
    }

    /// The gradient by q (B, nq) of a cost whose gradient by the distances is `bar` (B, N).
    fn distances_vjp<'py>(
        &self,
        py: Python<'py>,
        q: &Bound<'py, PyAny>,
        bar: &Bound<'py, PyAny>,
    ) -> PyResult<Array<'py>> {
        let nq = self.model.get().of.nq();
        let (q, worlds) = Numbers::rows("q", q, nq)?;
        check(self.rows, worlds)?;
        let bar = Numbers::like("bar", bar, worlds, &[self.of.count()])?;
        let (q, bar) = (q.as_slice(), bar.as_slice());
        let mut own = detached(py, || self.of.distances_cotangent(q, bar))?.q;
        own.resize(q.len(), 0.0);
        array(py, &own, &worlds.shape(&[nq]))
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyDict>)> {
        let names: Vec<&str> = self.of.pads().map(|(name, _)| name).collect();
        let arguments = (self.model.clone_ref(py), names).into_pyobject(py)?.into_any();
        Ok((arguments, dictionary(py, self.of.parameters())?))
    }
}

/// A sensor that Python passes: net forces or taxels.
#[derive(FromPyObject)]
pub enum Feels<'py> {
    /// Net forces.
    Wrenches(Bound<'py, Wrenches>),
    /// Taxels.
    Taxels(Bound<'py, Taxels>),
}

/// Sensors, each with the gradient of a cost by what it feels, as `vjp` is given them.
pub type Given<'py> = Option<Vec<(Feels<'py>, Bound<'py, PyAny>)>>;

/// A sensor, for work without the interpreter's lock.
#[derive(Clone, Copy)]
pub enum Of<'a> {
    Wrenches(&'a Net),
    Taxels(&'a Pads),
}

impl Feels<'_> {
    fn of(&self) -> Of<'_> {
        match self {
            Self::Wrenches(own) => Of::Wrenches(&own.get().of),
            Self::Taxels(own) => Of::Taxels(&own.get().of),
        }
    }

    /// The rows of its parameters, if they are worlds, and the axes of what it feels.
    fn shape(&self) -> (Option<usize>, Vec<usize>) {
        match self {
            Self::Wrenches(own) => (own.get().rows, vec![own.get().of.names().len(), 6]),
            Self::Taxels(own) => (own.get().rows, vec![own.get().of.count()]),
        }
    }
}

/// Gradients of a cost by what is felt.
pub struct Felt<'py>(Vec<(Feels<'py>, Numbers<'py>)>);

impl<'py> Felt<'py> {
    /// Checks what was given.
    pub fn of(given: Given<'py>, worlds: Worlds) -> PyResult<Self> {
        let one = |(sensor, bar): (Feels<'py>, Bound<'py, PyAny>)| {
            let (rows, axes) = sensor.shape();
            check(rows, worlds)?;
            Ok((sensor, Numbers::like("touch", &bar, worlds, &axes)?))
        };
        Ok(Self(given.unwrap_or_default().into_iter().map(one).collect::<PyResult<_>>()?))
    }

    /// The sensors and the gradients.
    pub fn parts(&self) -> Vec<(Of<'_>, &[f64])> {
        self.0.iter().map(|(sensor, bar)| (sensor.of(), bar.as_slice())).collect()
    }
}

/// Gradients of a cost by a step's results and by what is felt of it. None if nothing is felt.
pub fn summed(
    by: &StepCotangent,
    felt: &[(Of, &[f64])],
    q: &[f64],
    step: &StepNumbers,
) -> candle_core::Result<Option<Cotangent>> {
    let mut sum: Option<Cotangent> = None;
    for (sensor, bar) in felt {
        let own = match sensor {
            Of::Wrenches(net) => net.cotangent(q, step, bar)?,
            Of::Taxels(pads) => pads.cotangent(q, step, bar)?,
        };
        sum.get_or_insert_with(|| by.into()).add(&own.borrowed());
    }
    Ok(sum)
}
