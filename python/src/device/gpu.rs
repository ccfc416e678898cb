//! Memory of others on a GPU.
//!
//! Candle frees what its tensors own, and has a stream of its own. So what others own is copied to its memory and back,
//! on the device.

use candle_core::backend::BackendStorage;
use candle_core::cuda_backend::CudaDevice;
use candle_core::cuda_backend::cudarc::driver::{DevicePtr, result, sys};
use candle_core::{DType, Device, Result, Storage, Tensor, bail};
use pyo3::ffi::PyCapsule_GetPointer;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::dlpack::{CUDA, FLOAT, Lent, Managed, NAME};
use crate::error::{Error, OrRaise};

/// What DLPack calls the stream that is there without being made.
const LEGACY: usize = 1;

/// The GPU, or an error on any other device.
fn cuda(device: &Device) -> Result<&CudaDevice> {
    if let Device::Cuda(cuda) = device { Ok(cuda) } else { bail!("on a GPU; expected arrays on the CPU") }
}

/// The address of a tensor's numbers, in single or double precision or bytes.
pub fn pointer(tensor: &Tensor) -> Result<u64> {
    let (storage, layout) = tensor.storage_and_layout();
    let Storage::Cuda(storage) = &*storage else { bail!("expected a tensor on a GPU") };
    let stream = storage.device().cuda_stream();
    let address = match tensor.dtype() {
        DType::F64 => storage.as_cuda_slice::<f64>()?.device_ptr(&stream).0,
        DType::F32 => storage.as_cuda_slice::<f32>()?.device_ptr(&stream).0,
        other => bail!("expected floating-point numbers, got {other:?}"),
    };
    Ok(address + (layout.start_offset() * tensor.dtype().size_in_bytes()) as u64)
}

/// A copy of numbers at an address on a device. What writes them must have ended, or be on candle's stream.
///
/// # Safety
/// So many numbers must be there until the device has been waited for.
pub unsafe fn copied(device: &Device, address: u64, kind: DType, shape: &[usize]) -> Result<Tensor> {
    let made = Tensor::zeros(shape, kind, device)?;
    if made.elem_count() > 0 {
        let bytes = made.elem_count() * kind.size_in_bytes();
        // SAFETY: the tensor has so many bytes, and so has the other's memory.
        unsafe { copy(device, pointer(&made)?, address, bytes)? };
    }
    Ok(made)
}

/// Copies bytes on a device, on candle's stream.
///
/// # Safety
/// So many bytes must be at both addresses until the device has been waited for.
pub unsafe fn copy(device: &Device, to: u64, from: u64, bytes: usize) -> Result<()> {
    let stream = cuda(device)?.cuda_stream();
    // SAFETY: as above.
    let done = unsafe { result::memcpy_dtod_async(to, from, bytes, stream.cu_stream()) };
    done.or_else(|error| bail!("cuda: copy {bytes} bytes on the device: {error:?}"))
}

/// Waits for all that was put on a stream of this device's.
///
/// # Safety
/// It must be one.
pub unsafe fn wait(device: &Device, stream: sys::CUstream) -> Result<()> {
    let bound = cuda(device)?.cuda_stream().context().bind_to_thread();
    // SAFETY: as above.
    let done = bound.and_then(|()| unsafe { result::stream::synchronize(stream) });
    done.or_else(|error| bail!("cuda: wait for a stream: {error:?}"))
}

/// An array on this device that is lent by DLPack, as a tensor in double precision.
pub fn taken(what: &str, given: &Bound<PyAny>, device: &Device) -> PyResult<Tensor> {
    let py = given.py();
    let within = |error: candle_core::Error| Error::new_err(format!("{what}: {}", fingertip::message(&error)));
    let stream = cuda(device).map_err(within)?.cuda_stream();
    let options = PyDict::new(py);
    let handle = stream.cu_stream() as usize;
    options.set_item("stream", if handle == 0 { LEGACY } else { handle })?;
    let capsule = given.call_method("__dlpack__", (), Some(&options))?;
    // SAFETY: a capsule of this name has such a struct, which stays while the capsule does.
    unsafe {
        let managed = PyCapsule_GetPointer(capsule.as_ptr(), NAME.as_ptr()).cast::<Managed>();
        if managed.is_null() {
            return Err(PyErr::fetch(py));
        }
        let own = i32::try_from(stream.context().ordinal()).unwrap_or(0);
        let (address, kind, shape) = place(&(*managed).lent, own).map_err(within)?;
        let made = copied(device, address, kind, &shape).and_then(|made| made.to_dtype(DType::F64));
        // The owner may use its memory again when the capsule is gone.
        device.synchronize().or_raise()?;
        made.map_err(within)
    }
}

/// Where the numbers are, of what kind, and in which shape.
unsafe fn place(lent: &Lent, own: i32) -> Result<(u64, DType, Vec<usize>)> {
    if lent.device != (CUDA, own) {
        bail!("expected an array on cuda:{own}, got one on cuda:{}", lent.device.1);
    }
    let kind = match (lent.kind.code, lent.kind.bits, lent.kind.lanes) {
        (FLOAT, 64, 1) => DType::F64,
        (FLOAT, 32, 1) => DType::F32,
        (code, bits, _) => bail!("expected numbers of float64 or float32, got {bits} bits of DLPack's kind {code}"),
    };
    let rank = usize::try_from(lent.rank).unwrap_or(0);
    // SAFETY: DLPack's arrays have as many axes, and as many strides if there are any.
    let axes = |from: *const i64| if rank == 0 { &[] } else { unsafe { std::slice::from_raw_parts(from, rank) } };
    let shape: Vec<usize> = axes(lent.shape).iter().map(|&n| usize::try_from(n).unwrap_or(0)).collect();
    if !lent.strides.is_null() {
        let mut expected = 1;
        for (&n, &stride) in shape.iter().zip(axes(lent.strides)).rev() {
            if n > 1 && usize::try_from(stride) != Ok(expected) {
                bail!("expected an array that lies row after row, got one with strides {:?}", axes(lent.strides));
            }
            expected *= n;
        }
    }
    Ok((lent.data as u64 + lent.byte_offset, kind, shape))
}
