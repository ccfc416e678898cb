//! Rigid-body dynamics.

use candle_core::{DType, Device, Tensor};
use fingertip::Parameters;
use fingertip::dynamics::{Derivatives, Dynamics as Of};
use fingertip::step::{Dynamic, DynamicParams};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{Array, Numbers, array};
use crate::error::{Error, detached};
use crate::model::Model;
use crate::parameters::{dictionary, replaced, worlds};

/// The rigid-body dynamics M(q) a + b(q, v) = τ of a model's bodies, without contacts, springs and dampers. `params`
/// replace the model's by name, as in `Quasidynamic`; gravity, masses, inertias and offsets count.
///
/// Arguments are arrays or lists: q (B, nq), v, a and tau (B, nv), or one world's without the first axis. Units are SI;
/// a free body's v is (v, ω) along the world's axes. Quaternions are normalised on reading.
#[pyclass(frozen, module = "fingertip.dynamics")]
pub struct Dynamics {
    model: Py<Model>,
    of: Of,
    parameters: Parameters,
    rows: Option<usize>,
}

/// A computation from q and at most two more tensors.
type Work = fn(&Of, [&Tensor; 3]) -> candle_core::Result<Vec<Tensor>>;

impl Dynamics {
    /// Runs a computation. Its result has these axes for each world.
    fn run<'py>(
        &self,
        q: &Bound<'py, PyAny>,
        more: &[(&str, &Bound<'py, PyAny>)],
        axes: &[&[usize]],
        work: Work,
    ) -> PyResult<Vec<Array<'py>>> {
        let (py, model) = (q.py(), &self.model.get().of);
        let (q, worlds) = Numbers::rows("q", q, model.nq())?;
        if let Some(rows) = self.rows.filter(|rows| *rows != worlds.count()) {
            let got = worlds.count();
            return Err(Error::new_err(format!("q: expected {rows} worlds, as the parameters have, got {got}")));
        }
        let more = more.iter().map(|(name, given)| Numbers::like(name, given, worlds, &[model.nv()]));
        let more = more.collect::<PyResult<Vec<_>>>()?;
        let b = worlds.count();
        let tensor = |of: Option<&[f64]>, n: usize| match of {
            Some(numbers) => Tensor::from_slice(numbers, (b, n), &Device::Cpu),
            None => Tensor::zeros((b, n), DType::F64, &Device::Cpu),
        };
        let (q, more) = (q.as_slice(), more.iter().map(Numbers::as_slice).collect::<Vec<_>>());
        let made = detached(py, || {
            let nv = model.nv();
            let all =
                [tensor(Some(q), model.nq())?, tensor(more.first().copied(), nv)?, tensor(more.get(1).copied(), nv)?];
            let made = work(&self.of, all.each_ref())?;
            made.iter().map(|tensor| tensor.flatten_all()?.to_vec1::<f64>()).collect::<candle_core::Result<Vec<_>>>()
        })?;
        made.iter().zip(axes).map(|(numbers, axes)| array(py, numbers, &worlds.shape(axes))).collect()
    }

    /// The one thing that comes out.
    fn one<'py>(
        &self,
        q: &Bound<'py, PyAny>,
        more: &[(&str, &Bound<'py, PyAny>)],
        axes: &[usize],
        work: Work,
    ) -> PyResult<Array<'py>> {
        let [made] =
            <[_; 1]>::try_from(self.run(q, more, &[axes], work)?).map_err(|_| Error::new_err("expected one array"))?;
        Ok(made)
    }

    fn nv(&self) -> usize {
        self.model.get().of.nv()
    }
}

/// A value with its derivatives.
fn four(of: Derivatives) -> Vec<Tensor> {
    vec![of.value, of.by_q, of.by_v, of.by_input]
}

#[pymethods]
impl Dynamics {
    #[new]
    #[pyo3(signature = (model, **params))]
    fn new(py: Python, model: Py<Model>, params: Option<&Bound<PyDict>>) -> PyResult<Self> {
        let parameters = replaced(&model.get().parameters, params)?;
        let of = detached(py, || {
            let step = Dynamic::new(&model.get().of, &parameters, DynamicParams::default())?;
            candle_core::Result::Ok(step.dynamics().clone())
        })?;
        let rows = worlds(&parameters)?;
        Ok(Self { model, of, parameters, rows })
    }

    /// The model whose dynamics these are.
    #[getter]
    fn model(&self, py: Python) -> Py<Model> {
        self.model.clone_ref(py)
    }

    /// The joint-space inertia matrix M (B, nv, nv).
    fn mass_matrix<'py>(&self, q: &Bound<'py, PyAny>) -> PyResult<Array<'py>> {
        self.one(q, &[], &[self.nv(), self.nv()], |of, [q, ..]| Ok(vec![of.mass_matrix(q)?]))
    }

    /// M⁻¹ (B, nv, nv); an error if a joint moves no mass.
    fn inverse_mass_matrix<'py>(&self, q: &Bound<'py, PyAny>) -> PyResult<Array<'py>> {
        self.one(q, &[], &[self.nv(), self.nv()], |of, [q, ..]| Ok(vec![of.inverse_mass_matrix(q)?]))
    }

    /// Inverse dynamics: the τ (B, nv) that causes the accelerations `a` at (q, v).
    fn inverse_dynamics<'py>(
        &self,
        q: &Bound<'py, PyAny>,
        v: &Bound<'py, PyAny>,
        a: &Bound<'py, PyAny>,
    ) -> PyResult<Array<'py>> {
        self.one(q, &[("v", v), ("a", a)], &[self.nv()], |of, [q, v, a]| Ok(vec![of.inverse_dynamics(q, v, a)?]))
    }

    /// Forward dynamics: the acceleration a (B, nv) under `tau` at (q, v); an error if a joint moves no mass.
    fn forward_dynamics<'py>(
        &self,
        q: &Bound<'py, PyAny>,
        v: &Bound<'py, PyAny>,
        tau: &Bound<'py, PyAny>,
    ) -> PyResult<Array<'py>> {
        self.one(q, &[("v", v), ("tau", tau)], &[self.nv()], |of, [q, v, tau]| {
            Ok(vec![of.forward_dynamics(q, v, tau)?])
        })
    }

    /// The bias b (B, nv): Coriolis, centrifugal and gravity terms.
    fn bias<'py>(&self, q: &Bound<'py, PyAny>, v: &Bound<'py, PyAny>) -> PyResult<Array<'py>> {
        self.one(q, &[("v", v)], &[self.nv()], |of, [q, v, _]| Ok(vec![of.bias(q, v)?]))
    }

    /// The τ (B, nv) that holds the weight at rest: b at v = 0.
    fn gravity<'py>(&self, q: &Bound<'py, PyAny>) -> PyResult<Array<'py>> {
        self.one(q, &[], &[self.nv()], |of, [q, ..]| Ok(vec![of.gravity(q)?]))
    }

    /// Kinetic and potential energy (B, 2), J. The potential energy is zero at the world's origin.
    fn energy<'py>(&self, q: &Bound<'py, PyAny>, v: &Bound<'py, PyAny>) -> PyResult<Array<'py>> {
        self.one(q, &[("v", v)], &[2], |of, [q, v, _]| Ok(vec![of.energy(q, v)?]))
    }

    /// Centre of mass (B, 3) of all bodies that can move, m in world axes.
    fn centre_of_mass<'py>(&self, q: &Bound<'py, PyAny>) -> PyResult<Array<'py>> {
        self.one(q, &[], &[3], |of, [q, ..]| Ok(vec![of.centre_of_mass(q)?]))
    }

    /// τ (B, nv) of inverse dynamics with ∂τ/∂q, in tangent coordinates, ∂τ/∂v and ∂τ/∂a = M (B, nv, nv).
    fn inverse_dynamics_derivatives<'py>(
        &self,
        q: &Bound<'py, PyAny>,
        v: &Bound<'py, PyAny>,
        a: &Bound<'py, PyAny>,
    ) -> PyResult<Vec<Array<'py>>> {
        let (n, more) = (self.nv(), [("v", v), ("a", a)]);
        self.run(q, &more, &[&[n], &[n, n], &[n, n], &[n, n]], |of, [q, v, a]| {
            of.inverse_dynamics_derivatives(q, v, a).map(four)
        })
    }

    /// a (B, nv) of forward dynamics with ∂a/∂q, in tangent coordinates, ∂a/∂v and ∂a/∂τ = M⁻¹ (B, nv, nv).
    fn forward_dynamics_derivatives<'py>(
        &self,
        q: &Bound<'py, PyAny>,
        v: &Bound<'py, PyAny>,
        tau: &Bound<'py, PyAny>,
    ) -> PyResult<Vec<Array<'py>>> {
        let (n, more) = (self.nv(), [("v", v), ("tau", tau)]);
        self.run(q, &more, &[&[n], &[n, n], &[n, n], &[n, n]], |of, [q, v, tau]| {
            of.forward_dynamics_derivatives(q, v, tau).map(four)
        })
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<((Py<Model>,), Bound<'py, PyDict>)> {
        Ok(((self.model.clone_ref(py),), dictionary(py, &self.parameters)?))
    }
}
