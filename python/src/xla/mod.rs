//! Steps and rollouts as functions that XLA calls, without Python.

mod abi;
#[cfg(feature = "cuda")]
mod gpu;

use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::c_void;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use candle_core::{Device, Tensor};
use fingertip::step::{GradientNumbers, Quasidynamic as Step, StepCotangent};
use fingertip::{Parameters, message};
use pyo3::prelude::*;

use self::abi::{Buffer, Call, CallFrame};
use crate::device::OnDevice;
use crate::error::Error;
use crate::pool::Pool;
use crate::quasidynamic::Quasidynamic;

/// The quantity that a handler computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Step,
    StepVjp,
    Rollout,
    RolloutVjp,
}

/// A function of q, u, the parameters with these names, and on the way back the gradients by its results.
struct Function {
    step: Step,
    pool: Arc<Pool>,
    kind: Kind,
    /// Indices in [`Parameters::NAMES`].
    names: Vec<usize>,
}

/// All functions, by the numbers that programs call them with. The numbers are drawn: a program that an earlier process
/// has compiled must not find a function of this one.
static FUNCTIONS: LazyLock<RwLock<HashMap<i64, Arc<Function>>>> = LazyLock::new(Default::default);

/// A function that JAX's programs can call, on a device if it is given: the number by which they do. It stays as long
/// as the process, as a compiled program may.
#[pyfunction]
#[pyo3(signature = (sim, kind, names, device=None))]
pub fn _xla_function(
    sim: &Bound<Quasidynamic>,
    kind: &str,
    names: Vec<String>,
    device: Option<&Bound<OnDevice>>,
) -> PyResult<i64> {
    let kind = match kind {
        "step" => Kind::Step,
        "step_vjp" => Kind::StepVjp,
        "rollout" => Kind::Rollout,
        "rollout_vjp" => Kind::RolloutVjp,
        other => return Err(Error::new_err(format!("kind: expected a step or a rollout, got \"{other}\""))),
    };
    let place = |name: &String| Parameters::NAMES.iter().position(|own| own == name);
    let names: Option<Vec<usize>> = names.iter().map(place).collect();
    let names = names.ok_or_else(|| Error::new_err("names: expected those of parameters"))?;
    let (own, pool) = sim.get().parts();
    let step = device.map_or(own, |device| device.get().compiled().clone());
    let number = RandomState::new().build_hasher().finish().cast_signed();
    let function = Arc::new(Function { step, pool, kind, names });
    FUNCTIONS.write().unwrap_or_else(PoisonError::into_inner).insert(number, function);
    Ok(number)
}

/// The handler, as JAX takes it.
#[pyfunction]
pub fn _xla_handler(py: Python) -> PyResult<Py<PyAny>> {
    let handler: unsafe extern "C" fn(*mut CallFrame) -> *mut c_void = handle;
    // SAFETY: the function is there as long as the program.
    unsafe {
        let capsule = pyo3::ffi::PyCapsule_New(handler as *mut c_void, c"xla._CUSTOM_CALL_TARGET".as_ptr(), None);
        Bound::from_owned_ptr_or_err(py, capsule).map(Bound::unbind)
    }
}

unsafe extern "C" fn handle(frame: *mut CallFrame) -> *mut c_void {
    let work = |call: Call| {
        let functions = FUNCTIONS.read().unwrap_or_else(PoisonError::into_inner);
        let function = functions.get(&call.number).cloned();
        drop(functions);
        let function = function.ok_or("expected a function of this process; the program is of another")?;
        let done = catch_unwind(AssertUnwindSafe(|| function.run(call)));
        done.unwrap_or_else(|_| Err("a bug, please report it".to_owned()))
    };
    // SAFETY: XLA calls it.
    unsafe { abi::answer(frame, work) }
}

/// JAX gives zeros for what a cost does not depend on: then none.
fn or_none(by: &[f64]) -> &[f64] {
    if by.iter().all(|x| *x == 0.0) { &[] } else { by }
}

impl Function {
    fn run(&self, call: Call) -> Result<(), String> {
        #[cfg(feature = "cuda")]
        if self.step.model().device.is_cuda() {
            return self.run_on_gpu(call);
        }
        let Call { arguments, results, .. } = call;
        let model = self.step.model();
        let (nq, nu, nc, nt) = (model.nq(), model.nu(), model.nc(), model.pairs.torsional.len());
        let (is_rollout, pulls) = (
            matches!(self.kind, Kind::Rollout | Kind::RolloutVjp),
            matches!(self.kind, Kind::StepVjp | Kind::RolloutVjp),
        );
        let first = results.first().ok_or("expected results")?;
        let own = if self.kind == Kind::Rollout { 2 } else { 1 };
        let lead = first.dims[..first.dims.len().saturating_sub(own)].to_vec();
        let worlds: usize = lead.iter().map(|&n| usize::try_from(n).unwrap_or(0)).product();
        if worlds == 0 {
            return Ok(());
        }
        let mut arguments = arguments.into_iter();
        let mut next = |axes: &[usize]| {
            let buffer = arguments.next().ok_or_else(|| "expected more arguments".to_owned())?;
            Rows::new(buffer, axes)
        };
        let q = next(&[nq])?.of_each(&lead)?;
        let (u, n_steps) = if is_rollout {
            let u = next(&[0, nu])?;
            let n_steps = u.axes[0];
            (u.of_each(&lead)?, n_steps)
        } else {
            (next(&[nu])?.of_each(&lead)?, 1)
        };
        let mut parameters = self.step.parameters().clone();
        for &name in &self.names {
            let n = parameters.tensors()[name].dim(1).map_err(plain)?;
            let rows = next(&[n])?;
            // Gradients are those of each world.
            let rows = if pulls || !rows.is_one() { rows.of_each(&lead)? } else { Cow::Borrowed(rows.numbers) };
            let b = rows.len().checked_div(n).unwrap_or(if pulls { worlds } else { 1 });
            let tensor = Tensor::from_slice(&rows, (b, n), &Device::Cpu).map_err(plain)?;
            let replaced = |own: &'static str, before: &Tensor| {
                Ok(if own == Parameters::NAMES[name] { tensor.clone() } else { before.clone() })
            };
            parameters = parameters.map(replaced).map_err(plain)?;
        }
        let step = if self.names.is_empty() {
            self.step.clone()
        } else {
            self.step.with_parameters(&parameters).map_err(plain)?
        };
        let (q, u) = (q.as_ref(), u.as_ref());
        let mut results = results.into_iter();
        match self.kind {
            Kind::Step => {
                let made = self.pool.run(worlds, || step.step_numbers(q, u, &[])).map_err(plain)?;
                for numbers in [&made.q_next, &made.force, &made.torque, &made.phi] {
                    put(&mut results, numbers)?;
                }
                put_statuses(&mut results, made.reports.iter().map(|report| report.status as u8))
            }
            Kind::Rollout => {
                let made = self.pool.run(worlds, || step.rollout_numbers(q, u, n_steps)).map_err(plain)?;
                put(&mut results, &made.q)?;
                put(&mut results, &made.force.dense())?;
                put_statuses(&mut results, made.reports.iter().map(|report| report.status as u8))
            }
            Kind::StepVjp => {
                let (q_next, force) = (next(&[nq])?.of_each(&lead)?, next(&[nc, 3])?.of_each(&lead)?);
                let (torque, phi) = (next(&[nt])?.of_each(&lead)?, next(&[nc])?.of_each(&lead)?);
                let by = StepCotangent {
                    q_next: &q_next,
                    force: &force,
                    torque: or_none(&torque),
                    phi: or_none(&phi),
                    ..StepCotangent::default()
                };
                let pull = || step.vjp_at(q, u, &by);
                self.put_gradient(&mut results, &self.pool.run(worlds, pull).map_err(plain)?)
            }
            Kind::RolloutVjp => {
                let by_q = next(&[n_steps + 1, nq])?.of_each(&lead)?;
                let by_force = next(&[n_steps, nc, 3])?.of_each(&lead)?;
                let pull = || step.rollout_vjp(u, &step.rollout_numbers(q, u, n_steps)?, &by_q, &by_force);
                self.put_gradient(&mut results, &self.pool.run(worlds, pull).map_err(plain)?)
            }
        }
    }

    fn put_gradient<'a>(
        &self,
        results: &mut impl Iterator<Item = Buffer<'a>>,
        of: &GradientNumbers,
    ) -> Result<(), String> {
        put(results, &of.q)?;
        put(results, &of.u)?;
        self.names.iter().try_for_each(|&name| put(results, &of.parameters[name]))
    }
}

fn plain(error: candle_core::Error) -> String {
    message(&error)
}

/// An argument of worlds: leading axes as long as the results' or 1, and its own.
struct Rows<'a> {
    numbers: &'a [f64],
    lead: &'a [i64],
    axes: Vec<usize>,
}

impl<'a> Rows<'a> {
    /// `axes` are its own; one of 0 may be as long as it is.
    fn new(buffer: Buffer<'a>, axes: &[usize]) -> Result<Self, String> {
        let dims = buffer.dims;
        let (lead, own) = dims.split_at(dims.len().saturating_sub(axes.len()));
        let found: Vec<usize> = own.iter().map(|&n| usize::try_from(n).unwrap_or(0)).collect();
        let fits = found.len() == axes.len() && found.iter().zip(axes).all(|(n, axis)| *axis == 0 || n == axis);
        if !fits {
            return Err(format!("expected an argument of shape (…, {axes:?}), got {dims:?}"));
        }
        Ok(Self { numbers: buffer.floats()?, lead, axes: found })
    }

    /// Is it the same in all worlds?
    fn is_one(&self) -> bool {
        self.lead.iter().product::<i64>() == 1
    }

    /// A row for each world: repeated where an axis is 1.
    fn of_each(&self, lead: &[i64]) -> Result<Cow<'a, [f64]>, String> {
        if self.lead == lead {
            return Ok(Cow::Borrowed(self.numbers));
        }
        let fits = self.lead.len() == lead.len() && self.lead.iter().zip(lead).all(|(own, n)| own == n || *own == 1);
        if !fits {
            return Err(format!("expected leading axes {lead:?}, or 1 in their places, got {:?}", self.lead));
        }
        let width: usize = self.axes.iter().product();
        let mut rows = vec![self.numbers.to_vec()];
        let mut row = self.numbers.len();
        // From the outermost axis in: each piece becomes its parts, or as many copies of itself.
        for (&own, &n) in self.lead.iter().zip(lead) {
            let (own, n) = (usize::try_from(own).unwrap_or(1), usize::try_from(n).unwrap_or(0));
            row /= own.max(1);
            let pieces = |piece: Vec<f64>| -> Vec<Vec<f64>> {
                if own == n { piece.chunks(row.max(1)).map(<[f64]>::to_vec).collect() } else { vec![piece; n] }
            };
            rows = rows.into_iter().flat_map(pieces).collect();
        }
        debug_assert!(rows.iter().all(|row| row.len() == width));
        Ok(Cow::Owned(rows.concat()))
    }
}

fn put<'a>(results: &mut impl Iterator<Item = Buffer<'a>>, numbers: &[f64]) -> Result<(), String> {
    let to = results.next().ok_or("expected more results")?.floats()?;
    if to.len() != numbers.len() {
        return Err(format!("expected a result of {} numbers, got one of {}", numbers.len(), to.len()));
    }
    to.copy_from_slice(numbers);
    Ok(())
}

fn put_statuses<'a>(
    results: &mut impl Iterator<Item = Buffer<'a>>,
    statuses: impl ExactSizeIterator<Item = u8>,
) -> Result<(), String> {
    let to = results.next().ok_or("expected more results")?.bytes()?;
    if to.len() != statuses.len() {
        return Err(format!("expected a result of {} numbers, got one of {}", statuses.len(), to.len()));
    }
    to.iter_mut().zip(statuses).for_each(|(to, status)| *to = status);
    Ok(())
}
