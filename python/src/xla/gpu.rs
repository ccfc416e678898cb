//! The functions on a GPU: XLA's buffers are copied to candle's tensors and back, on the device.

use candle_core::cuda_backend::cudarc::driver::{result, sys};
use candle_core::{DType, Device, Result, Tensor, bail};
use fingertip::rollout::rollout;
use fingertip::solve::Report;

use super::abi::{Buffer, Call};
use super::{Function, Kind, plain};
use crate::device::gpu::{copied, copy, pointer, wait};
use crate::device::{Gradients, alone, by_world, rollout_vjp, step_vjp};

/// The axes of a buffer.
fn dims(buffer: &Buffer) -> Vec<usize> {
    buffer.dims.iter().map(|&n| usize::try_from(n).unwrap_or(0)).collect()
}

fn own<T>(result: std::result::Result<T, String>) -> Result<T> {
    result.or_else(|message| bail!("{message}"))
}

impl Function {
    /// [`Function::run`] on a GPU. XLA's stream is waited for, and what this puts on candle's stream is done when it
    /// returns.
    pub(super) fn run_on_gpu(&self, call: Call) -> std::result::Result<(), String> {
        let stream = call.stream()?.cast();
        alone(|| self.on_stream(call, stream)).map_err(plain)
    }

    fn on_stream(&self, Call { arguments, results, .. }: Call, stream: sys::CUstream) -> Result<()> {
        let (of, model) = (&self.step, self.step.model());
        let device = &model.device;
        let pulls = matches!(self.kind, Kind::StepVjp | Kind::RolloutVjp);
        let Some(first) = results.first() else { bail!("expected results") };
        let n_own = if self.kind == Kind::Rollout { 2 } else { 1 };
        let mut lead = dims(first);
        lead.truncate(lead.len().saturating_sub(n_own));
        let worlds: usize = lead.iter().product();
        if worlds == 0 {
            return Ok(());
        }
        // SAFETY: it is that of the program, which has put there what writes the arguments.
        unsafe { wait(device, stream)? };
        let mut arguments = arguments.into_iter();
        // The next argument, and a row of it for each world: repeated where a leading axis is 1.
        let mut next = |rank: usize| -> Result<(Tensor, Tensor)> {
            let Some(buffer) = arguments.next() else { bail!("expected more arguments") };
            let shape = dims(&buffer);
            let axes = shape[shape.len().saturating_sub(rank)..].to_vec();
            // SAFETY: XLA's buffers are as long as their shapes, and stay until the function returns.
            let given = unsafe { copied(device, own(buffer.address(false))?, DType::F64, &shape)? };
            let of_each = given.broadcast_as([&lead[..], &axes].concat())?.contiguous()?;
            Ok((given, of_each.reshape([&[worlds], &axes[..]].concat())?))
        };
        let q = next(1)?.1;
        let u = next(if matches!(self.kind, Kind::Rollout | Kind::RolloutVjp) { 2 } else { 1 })?.1;
        let mut parameters = of.parameters().clone();
        for &name in &self.names {
            let n = parameters.tensors()[name].dim(1)?;
            let (given, of_each) = next(1)?;
            let rows = if pulls || given.elem_count() > n { of_each } else { given.reshape((1, n))? };
            let wanted = fingertip::Parameters::NAMES[name];
            parameters = parameters.map(|own, before| Ok(if own == wanted { rows.clone() } else { before.clone() }))?;
        }
        let of = &of.with_parameters(&parameters)?;
        let mut results = results.into_iter();
        match self.kind {
            Kind::Step => {
                let made = of.step(&q, &u)?;
                for tensor in [&made.q_next, &made.force, &made.torque, &made.contacts.phi] {
                    put(device, &mut results, tensor)?;
                }
                put_statuses(&mut results, &made.reports)?;
            }
            Kind::Rollout => {
                let made = rollout(of, &q, &u)?;
                put(device, &mut results, &made.q)?;
                put(device, &mut results, &made.force)?;
                put_statuses(&mut results, &by_world(&made.reports))?;
            }
            Kind::StepVjp => {
                let [q_next, force, torque, phi] = [1, 2, 1, 1].map(|rank| next(rank).map(|(_, bar)| Some(bar)));
                let bars = [q_next?, force?, torque?, phi?];
                self.put_gradients(device, &mut results, step_vjp(of, &q, &u, &bars)?)?;
            }
            Kind::RolloutVjp => {
                let bars = [Some(next(2)?.1), Some(next(3)?.1)];
                self.put_gradients(device, &mut results, rollout_vjp(of, &q, &u, &bars)?)?;
            }
        }
        device.synchronize()
    }

    fn put_gradients<'a>(
        &self,
        device: &Device,
        results: &mut impl Iterator<Item = Buffer<'a>>,
        (q, u, parameters): Gradients,
    ) -> Result<()> {
        put(device, results, &q)?;
        put(device, results, &u)?;
        self.names.iter().try_for_each(|&name| put(device, results, &parameters[name]))
    }
}

fn taken<'a>(results: &mut impl Iterator<Item = Buffer<'a>>, n: usize) -> Result<Buffer<'a>> {
    match results.next() {
        Some(buffer) if dims(&buffer).iter().product::<usize>() == n => Ok(buffer),
        Some(buffer) => bail!("expected a result of {n} numbers, got one of shape {:?}", buffer.dims),
        None => bail!("expected more results"),
    }
}

fn put<'a>(device: &Device, results: &mut impl Iterator<Item = Buffer<'a>>, tensor: &Tensor) -> Result<()> {
    let tensor = tensor.contiguous()?;
    let n = tensor.elem_count();
    let buffer = taken(results, n)?;
    if n == 0 {
        return Ok(());
    }
    // SAFETY: both have so many numbers. The tensor's memory is freed on the same stream, behind the copy.
    unsafe { copy(device, own(buffer.address(false))?, pointer(&tensor)?, 8 * n) }
}

fn put_statuses<'a>(results: &mut impl Iterator<Item = Buffer<'a>>, reports: &[Report]) -> Result<()> {
    let buffer = taken(results, reports.len())?;
    let statuses: Vec<u8> = reports.iter().map(|report| report.status as u8).collect();
    // SAFETY: the buffer has so many bytes.
    let done = unsafe { result::memcpy_htod_sync(own(buffer.address(true))?, &statuses) };
    done.or_else(|error| bail!("cuda: copy statuses to the device: {error:?}"))
}
