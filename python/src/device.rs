//! The step on a device: arrays come and go by DLPack and stay where they are.

mod dlpack;
#[cfg(feature = "cuda")]
pub mod gpu;

use std::sync::{Mutex, PoisonError};

use candle_core::{DType, Device, Result, Tensor, Var, bail};
use fingertip::rollout::rollout;
use fingertip::solve::Report;
use fingertip::step::Quasidynamic as Compiled;
use fingertip::{Model, Parameters};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{Array, Numbers, Worlds, array, shown};
use crate::error::{Error, OrRaise, detached};
use crate::parameters::{replaced_by, worlds};
use crate::quasidynamic::Quasidynamic;
use crate::results::{Owner, Solves};

type Given<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

/// A device is driven by one thread at a time: its kernels share their working memory.
static DRIVEN: Mutex<()> = Mutex::new(());

/// Does work on devices, without the interpreter's lock.
fn driven<T: Send>(py: Python, work: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    detached(py, || alone(work))
}

/// Does work on devices while no other thread does.
pub fn alone<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    let _driven = DRIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    work()
}

/// The quasi-dynamic step on a device: what `Quasidynamic.on` makes. It has that object's calls, on arrays that stay on
/// the device.
///
/// Arguments are arrays of double or single precision, row after row, with `__dlpack__` on this device, as those of
/// torch, JAX and CuPy; or anything that `Quasidynamic` takes, which is then copied there. They are copied on the
/// device, once. q and u have as many worlds. Results are `DeviceArray`s in double precision, complete when a call
/// returns; how solves went comes to the host.
#[pyclass(frozen, module = "fingertip")]
pub struct OnDevice {
    of: Compiled,
    name: String,
    rows: Option<usize>,
    owner: Owner,
}

impl OnDevice {
    /// A step's model and parameters on the device of this name.
    pub fn new(py: Python, sim: &Quasidynamic, name: &str) -> PyResult<Self> {
        let device = fingertip::device(name).or_raise()?;
        let scene = sim.model(py).get().scene().clone();
        let of = sim.parts().0;
        let of = driven(py, || {
            let model = Model::new(&scene, DType::F64, &device)?;
            Compiled::new(&model, &of.parameters().map(|_, t| t.to_device(&device))?)
        })?;
        Ok(Self { rows: worlds(of.parameters())?, of, name: name.to_owned(), owner: Owner::new() })
    }

    /// The library's step.
    pub fn compiled(&self) -> &Compiled {
        &self.of
    }

    fn device(&self) -> &Device {
        &self.of.model().device
    }

    /// Rows (B, n), or one alone as (1, n).
    fn state(&self, what: &str, given: &Bound<PyAny>, n: usize) -> PyResult<(Tensor, Worlds)> {
        let rows = taken(what, given, self.device())?;
        let worlds = match *rows.dims() {
            [width] if width == n => Worlds::One,
            [worlds, width] if width == n && worlds > 0 => Worlds::Batch(worlds),
            ref other => {
                let message = format!("{what}: expected shape (B, {n}) with B ≥ 1, or ({n},), got {}", shown(other));
                return Err(Error::new_err(message));
            }
        };
        match self.rows {
            Some(own) if own != worlds.count() => {
                let got = worlds.count();
                Err(Error::new_err(format!("{what}: expected {own} worlds, as the parameters have, got {got}")))
            }
            _ => Ok((rows.reshape((worlds.count(), n)).or_raise()?, worlds)),
        }
    }

    /// Numbers with these axes for each world, as (B, …).
    fn like(&self, what: &str, given: &Bound<PyAny>, worlds: Worlds, axes: &[usize]) -> PyResult<Tensor> {
        let own = taken(what, given, self.device())?;
        let expected = worlds.shape(axes);
        if *own.dims() != *expected {
            let (expected, got) = (shown(&expected), shown(own.dims()));
            return Err(Error::new_err(format!("{what}: expected shape {expected}, got {got}")));
        }
        own.reshape(Worlds::Batch(worlds.count()).shape(axes)).or_raise()
    }

    fn maybe(&self, what: &str, given: Given, worlds: Worlds, axes: &[usize]) -> PyResult<Option<Tensor>> {
        given.map(|given| self.like(what, given, worlds, axes)).transpose()
    }
}

#[pymethods]
impl OnDevice {
    /// This step with some parameters replaced, by arrays as those of `Quasidynamic.with_params`, on the device or not.
    #[pyo3(signature = (**params))]
    fn with_params(&self, py: Python, params: Option<&Bound<PyDict>>) -> PyResult<Self> {
        let parameters = replaced_by(self.of.parameters(), params, |name, value| taken(name, value, self.device()))?;
        let of = driven(py, || self.of.with_parameters(&parameters))?;
        Ok(Self { of, name: self.name.clone(), rows: worlds(&parameters)?, owner: Owner::new() })
    }

    /// The device's name, as `"cuda:0"`.
    #[getter]
    fn device_name(&self) -> &str {
        &self.name
    }

    /// One step from q (B, nq), m and rad, under u (B, nu), rad or m. The solve starts from `warm`, a step's nearby, or
    /// cold.
    #[pyo3(signature = (q, u, warm=None))]
    fn step<'py>(
        &self,
        py: Python<'py>,
        q: &Bound<'py, PyAny>,
        u: &Bound<'py, PyAny>,
        warm: Given<'_, 'py>,
    ) -> PyResult<Bound<'py, DeviceStep>> {
        let model = self.of.model();
        let (q, worlds) = self.state("q", q, model.nq())?;
        let u = self.like("u", u, worlds, &[model.nu()])?;
        let warm = self.maybe("warm", warm, worlds, &[self.of.n_warm()])?;
        let (arrays, reports) = driven(py, || {
            let made = self.of.step_from(&q, &u, warm.as_ref())?;
            let all = [made.q_next, made.delta, made.force, made.torque, made.contacts.phi, made.warm];
            Ok((finished(all, worlds)?, made.reports))
        })?;
        let [q_next, delta, force, torque, phi, warm] = arrays;
        let own = DeviceStep { q_next, delta, force, torque, phi, warm };
        Bound::new(py, Solves::new(reports, worlds.shape(&[])).add_subclass(own))
    }

    /// Gradients by q, u and all parameters of a cost whose gradients by a step's results are given, as
    /// `Quasidynamic.vjp`. The step is computed again.
    #[pyo3(signature = (q, u, *, q_next_bar=None, force_bar=None, torque_bar=None, phi_bar=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords")]
    fn vjp<'py>(
        &self,
        py: Python<'py>,
        q: &Bound<'py, PyAny>,
        u: &Bound<'py, PyAny>,
        q_next_bar: Given<'_, 'py>,
        force_bar: Given<'_, 'py>,
        torque_bar: Given<'_, 'py>,
        phi_bar: Given<'_, 'py>,
    ) -> PyResult<DeviceGradient> {
        let model = self.of.model();
        let (q, worlds) = self.state("q", q, model.nq())?;
        let u = self.like("u", u, worlds, &[model.nu()])?;
        let bars = [
            self.maybe("q_next_bar", q_next_bar, worlds, &[model.nq()])?,
            self.maybe("force_bar", force_bar, worlds, &[model.nc(), 3])?,
            self.maybe("torque_bar", torque_bar, worlds, &[model.pairs.torsional.len()])?,
            self.maybe("phi_bar", phi_bar, worlds, &[model.nc()])?,
        ];
        driven(py, || DeviceGradient::new(step_vjp(&self.of, &q, &u, &bars)?, worlds))
    }

    /// T steps from q0 (B, nq) under u (B, T, nu), or one world's, (nq,) and (T, nu).
    fn rollout<'py>(
        &self,
        py: Python<'py>,
        q0: &Bound<'py, PyAny>,
        u: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, DeviceRollout>> {
        let model = self.of.model();
        let (q0, worlds) = self.state("q0", q0, model.nq())?;
        let u = taken("u", u, self.device())?;
        let n_steps = u.dims().iter().rev().nth(1).copied().unwrap_or(0);
        if *u.dims() != *worlds.shape(&[n_steps, model.nu()]) {
            let b = if let Worlds::Batch(b) = worlds { format!("{b}, ") } else { String::new() };
            let (nu, got) = (model.nu(), shown(u.dims()));
            return Err(Error::new_err(format!("u: expected shape ({b}T, {nu}), got {got}")));
        }
        let (arrays, reports) = driven(py, || {
            let made = rollout(&self.of, &q0, &u.reshape((worlds.count(), n_steps, model.nu()))?)?;
            Ok((finished([made.q, made.force, made.torque], worlds)?, by_world(&made.reports)))
        })?;
        let [q, force, torque] = arrays;
        let own = DeviceRollout { q, force, torque, u, n_steps, worlds, owner: self.owner };
        Bound::new(py, Solves::new(reports, worlds.shape(&[n_steps])).add_subclass(own))
    }

    /// Gradients by q0, u (B, T, nu) and all parameters of a cost whose gradients by a rollout's states `q` (B, T + 1,
    /// nq) and `force` (B, T, nc, 3) are given, as `Quasidynamic.rollout_vjp`. `rollout` is this object's rollout under
    /// this u; it is computed again.
    #[pyo3(signature = (u, rollout, *, q_bar=None, force_bar=None))]
    fn rollout_vjp<'py>(
        &self,
        py: Python<'py>,
        u: &Bound<'py, PyAny>,
        rollout: &Bound<'py, DeviceRollout>,
        q_bar: Given<'_, 'py>,
        force_bar: Given<'_, 'py>,
    ) -> PyResult<DeviceGradient> {
        let (rollout, model) = (rollout.get(), self.of.model());
        let (worlds, n_steps) = (rollout.worlds, rollout.n_steps);
        self.owner.check("rollout", (rollout.owner, worlds), worlds)?;
        let u = self.like("u", u, worlds, &[n_steps, model.nu()])?;
        let bars = [
            self.maybe("q_bar", q_bar, worlds, &[n_steps + 1, model.nq()])?,
            self.maybe("force_bar", force_bar, worlds, &[n_steps, model.nc(), 3])?,
        ];
        let is_anothers = driven(py, || {
            let away = (u.flatten_all()? - rollout.u.flatten_all()?)?.abs()?;
            Ok(away.elem_count() > 0 && away.max_all()?.to_scalar::<f64>()? > 0.0)
        })?;
        if is_anothers {
            return Err(Error::new_err("rollout: expected the rollout under this u, got that under another"));
        }
        driven(py, || {
            let q = rollout.q.0.reshape((worlds.count(), n_steps + 1, model.nq()))?;
            let q0 = q.narrow(1, 0, 1)?.squeeze(1)?.contiguous()?;
            DeviceGradient::new(rollout_vjp(&self.of, &q0, &u, &bars)?, worlds)
        })
    }

    /// All derivatives of one step in tangent coordinates: A, B, C and D.
    fn linearize<'py>(
        &self,
        py: Python<'py>,
        q: &Bound<'py, PyAny>,
        u: &Bound<'py, PyAny>,
    ) -> PyResult<DeviceLinearization> {
        let model = self.of.model();
        let (q, worlds) = self.state("q", q, model.nq())?;
        let u = self.like("u", u, worlds, &[model.nu()])?;
        driven(py, || {
            let made = self.of.linearize(&q, &u)?;
            let [a, b, c, d] = finished([made.a, made.b, made.c, made.d], worlds)?;
            Ok(DeviceLinearization { a, b, c, d })
        })
    }

    fn __repr__(&self) -> String {
        format!("<fingertip.OnDevice {}>", self.name)
    }
}

/// The reports of T steps world by world.
pub fn by_world(steps: &[Vec<Report>]) -> Vec<Report> {
    let worlds = steps.first().map_or(0, Vec::len);
    (0..worlds).flat_map(|world| steps.iter().map(move |step| step[world])).collect()
}

/// Gradients by q, u and each parameter.
pub type Gradients = (Tensor, Tensor, Vec<Tensor>);

/// Of a cost with these gradients by a step's q₊, forces, torques and distances.
pub fn step_vjp(of: &Compiled, q: &Tensor, u: &Tensor, bars: &[Option<Tensor>; 4]) -> Result<Gradients> {
    vjp(of, q, u, |of, q, u| {
        let step = of.step(q, u)?;
        dot([&step.q_next, &step.force, &step.torque, &step.contacts.phi], bars)
    })
}

/// Of a cost with these gradients by a rollout's states and forces.
pub fn rollout_vjp(of: &Compiled, q0: &Tensor, u: &Tensor, bars: &[Option<Tensor>; 2]) -> Result<Gradients> {
    vjp(of, q0, u, |of, q0, u| {
        let made = rollout(of, q0, u)?;
        dot([&made.q, &made.force], bars)
    })
}

/// The sum of the inner products of results with their gradients; those that are not given are 0.
fn dot<const N: usize>(results: [&Tensor; N], bars: &[Option<Tensor>; N]) -> Result<Tensor> {
    let mut cost = (results[0].sum_all()? * 0.0)?;
    for (result, bar) in results.into_iter().zip(bars) {
        if let Some(bar) = bar.as_ref().filter(|bar| bar.elem_count() > 0) {
            cost = (cost + (result * bar)?.sum_all()?)?;
        }
    }
    Ok(cost)
}

fn vjp(
    of: &Compiled,
    q: &Tensor,
    u: &Tensor,
    cost: impl Fn(&Compiled, &Tensor, &Tensor) -> Result<Tensor>,
) -> Result<Gradients> {
    let (q, u) = (Var::from_tensor(q)?, Var::from_tensor(u)?);
    let parameters = of.parameters().map(|_, t| Ok(Var::from_tensor(&t.detach())?.into_inner()))?;
    let gradients = cost(&of.with_parameters(&parameters)?, &q, &u)?.backward()?;
    let by = |t: &Tensor| gradients.get(t).map_or_else(|| t.zeros_like(), |gradient| Ok(gradient.clone()));
    Ok((by(&q)?, by(&u)?, parameters.tensors().into_iter().map(by).collect::<Result<_>>()?))
}

/// Results as arrays, complete; without the first axis if one world was given without it.
fn finished<const N: usize>(results: [Tensor; N], worlds: Worlds) -> Result<[DeviceArray; N]> {
    let one = |result: Tensor| {
        let result = if worlds == Worlds::One { result.squeeze(0)? } else { result };
        Ok(DeviceArray(result.detach().contiguous()?))
    };
    let made = results.into_iter().map(one).collect::<Result<Vec<_>>>()?;
    if let Some(DeviceArray(first)) = made.first() {
        first.device().synchronize()?;
    }
    made.try_into().or_else(|_| bail!("expected {N} results"))
}

/// What was given, on a device in double precision.
fn taken(what: &str, given: &Bound<PyAny>, device: &Device) -> PyResult<Tensor> {
    if let Ok(own) = given.cast::<DeviceArray>() {
        return own.get().0.to_device(device).or_raise();
    }
    if dlpack::is_on_gpu(given)? {
        #[cfg(feature = "cuda")]
        return gpu::taken(what, given, device);
        #[cfg(not(feature = "cuda"))]
        return Err(Error::new_err(format!(
            "{what}: on a GPU; expected a build with the feature `cuda`, got one without"
        )));
    }
    let numbers = Numbers::new(what, given)?;
    Tensor::from_slice(numbers.as_slice(), numbers.shape(), device).or_raise()
}

/// An array on a device, in double precision, row after row. What has `from_dlpack` reads it without a copy:
/// `torch.from_dlpack(array)`, `jax.numpy.from_dlpack(array)`; on the CPU numpy's, too. It is complete: no stream has
/// to wait for it.
#[pyclass(frozen, module = "fingertip")]
#[derive(Clone)]
pub struct DeviceArray(Tensor);

#[pymethods]
impl DeviceArray {
    /// The array's shape, as numpy has it.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, pyo3::types::PyTuple>> {
        pyo3::types::PyTuple::new(py, self.0.dims())
    }

    /// A copy in numpy's memory.
    fn numpy<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        let numbers = driven(py, || self.0.flatten_all()?.to_vec1::<f64>())?;
        array(py, &numbers, self.0.dims())
    }

    /// The array as a capsule of DLPack. `stream` need not wait, and there are no copies: what asks for one, or for
    /// another device, is refused.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    #[expect(unused_variables, reason = "the protocol's keywords")]
    fn __dlpack__(
        &self,
        py: Python,
        stream: Given,
        max_version: Given,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Py<PyAny>> {
        let own = dlpack::device_of(&self.0).or_raise()?;
        if copy == Some(true) || dl_device.is_some_and(|wanted| wanted != own) {
            let message = format!("DLPack: expected no copy and the device {own:?}, got {dl_device:?}, copy={copy:?}");
            return Err(pyo3::exceptions::PyBufferError::new_err(message));
        }
        dlpack::capsule(py, &self.0)
    }

    /// DLPack's kind of device, 1 for the CPU and 2 for CUDA, and its number.
    fn __dlpack_device__(&self) -> PyResult<(i32, i32)> {
        dlpack::device_of(&self.0).or_raise()
    }

    fn __repr__(&self) -> PyResult<String> {
        let (kind, number) = dlpack::device_of(&self.0).or_raise()?;
        let device = if kind == dlpack::CPU { "cpu".to_owned() } else { format!("cuda:{number}") };
        Ok(format!("<fingertip.DeviceArray {} on {device}>", shown(self.0.dims())))
    }
}

/// Result of a step of B worlds on a device: as `Step`, with arrays that stay there.
#[pyclass(frozen, get_all, extends = Solves, module = "fingertip")]
pub struct DeviceStep {
    /// Next configuration (B, nq), m and rad.
    q_next: DeviceArray,
    /// The step in tangent coordinates (B, nv), m and rad.
    delta: DeviceArray,
    /// Contact forces on B in world axes (B, nc, 3), N.
    force: DeviceArray,
    /// Torques on B of the contacts with torsional friction (B, n), N·m.
    torque: DeviceArray,
    /// Signed distances at q (B, nc), m.
    phi: DeviceArray,
    /// The solver's forces (B, n_warm): a start for steps nearby.
    warm: DeviceArray,
}

/// Result of T steps of B worlds on a device: as `Rollout`, with arrays that stay there.
#[pyclass(frozen, extends = Solves, module = "fingertip")]
pub struct DeviceRollout {
    /// Configurations (B, T + 1, nq), m and rad; the first is q0.
    #[pyo3(get)]
    q: DeviceArray,
    /// Contact forces on B in world axes (B, T, nc, 3), N.
    #[pyo3(get)]
    force: DeviceArray,
    /// Torques on B of the contacts with torsional friction (B, T, n), N·m.
    #[pyo3(get)]
    torque: DeviceArray,
    /// The commands, for the check that gradients are asked for under them.
    u: Tensor,
    n_steps: usize,
    worlds: Worlds,
    owner: Owner,
}

/// Derivatives of a step of B worlds on a device: as `Linearization`, with arrays that stay there.
#[pyclass(frozen, module = "fingertip")]
pub struct DeviceLinearization {
    /// ∂q₊/∂q (B, nv, nv).
    #[pyo3(get, name = "A")]
    a: DeviceArray,
    /// ∂q₊/∂u (B, nv, nu).
    #[pyo3(get, name = "B")]
    b: DeviceArray,
    /// ∂λ/∂q (B, n_lambda, nv), N/m and N/rad.
    #[pyo3(get, name = "C")]
    c: DeviceArray,
    /// ∂λ/∂u (B, n_lambda, nu), N/rad and N/m.
    #[pyo3(get, name = "D")]
    d: DeviceArray,
}

/// Gradients of a cost on a device: as `Gradient`, with arrays that stay there.
#[pyclass(frozen, module = "fingertip")]
pub struct DeviceGradient {
    /// By q (B, nq); of a rollout, by q0.
    #[pyo3(get)]
    q: DeviceArray,
    /// By u: (B, nu), of a rollout (B, T, nu).
    #[pyo3(get)]
    u: DeviceArray,
    parameters: Vec<DeviceArray>,
}

impl DeviceGradient {
    fn new((q, u, parameters): Gradients, worlds: Worlds) -> Result<Self> {
        let parameters =
            parameters.into_iter().map(|t| Ok(DeviceArray(t.detach().contiguous()?))).collect::<Result<_>>()?;
        let [q, u] = finished([q, u], worlds)?;
        Ok(Self { q, u, parameters })
    }
}

#[pymethods]
impl DeviceGradient {
    /// By each parameter, by name: as many rows, 1 or B, as the parameter has.
    #[getter]
    fn params<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let by_name = PyDict::new(py);
        for (name, of) in Parameters::NAMES.iter().zip(&self.parameters) {
            by_name.set_item(name, of.clone())?;
        }
        Ok(by_name)
    }

    fn __repr__(&self) -> String {
        let [q, u] = [&self.q, &self.u].map(|of| shown(of.0.dims()));
        format!("<fingertip.DeviceGradient by q {q}, u {u} and params>")
    }
}
