//! DLPack's capsules: arrays that one library lends to another (<https://dmlc.github.io/dlpack/latest/c_api.html>).

use std::ffi::{CStr, c_void};
use std::ptr::null_mut;

use candle_core::{Device, Result, Storage, Tensor, bail};
use pyo3::ffi::{PyCapsule_GetPointer, PyCapsule_IsValid, PyCapsule_New, PyObject};
use pyo3::prelude::*;

/// The kinds of devices.
pub const CPU: i32 = 1;
pub const CUDA: i32 = 2;
/// The kind of a number: floating-point.
pub const FLOAT: u8 = 2;

/// The name of a capsule that nobody has taken over.
pub const NAME: &CStr = c"dltensor";

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Kind {
    pub code: u8,
    pub bits: u8,
    pub lanes: u16,
}

/// DLTensor.
#[repr(C)]
pub struct Lent {
    pub data: *mut c_void,
    pub device: (i32, i32),
    pub rank: i32,
    pub kind: Kind,
    pub shape: *const i64,
    /// In numbers; none if they follow each other, row after row.
    pub strides: *const i64,
    pub byte_offset: u64,
}

/// DLManagedTensor.
#[repr(C)]
pub struct Managed {
    pub lent: Lent,
    owner: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

/// What is lent, and its owner.
struct Loan {
    managed: Managed,
    shape: Vec<i64>,
    _tensor: Tensor,
}

/// Is it an array on a GPU?
pub fn is_on_gpu(given: &Bound<PyAny>) -> PyResult<bool> {
    let Some(device) = given.getattr_opt("__dlpack_device__")? else { return Ok(false) };
    let (kind, _): (i32, i32) = device.call0()?.extract()?;
    Ok(kind == CUDA)
}

/// DLPack's kind and number of a tensor's device.
pub fn device_of(tensor: &Tensor) -> Result<(i32, i32)> {
    match tensor.device() {
        Device::Cpu => Ok((CPU, 0)),
        #[cfg(feature = "cuda")]
        Device::Cuda(cuda) => Ok((CUDA, i32::try_from(cuda.cuda_stream().context().ordinal()).unwrap_or(0))),
        other => bail!("DLPack: expected the CPU or a CUDA device, got {other:?}"),
    }
}

/// Where a tensor's numbers are, in double precision and row after row.
fn data(tensor: &Tensor) -> Result<*mut c_void> {
    let (storage, layout) = tensor.storage_and_layout();
    match &*storage {
        Storage::Cpu(numbers) => Ok(numbers.as_slice::<f64>()?[layout.start_offset()..].as_ptr().cast_mut().cast()),
        #[cfg(feature = "cuda")]
        Storage::Cuda(_) => Ok(super::gpu::pointer(tensor)? as *mut c_void),
        _ => bail!("DLPack: expected the CPU or a CUDA device"),
    }
}

/// A capsule that lends a tensor: one in double precision, row after row.
pub fn capsule(py: Python, tensor: &Tensor) -> PyResult<Py<PyAny>> {
    use crate::error::OrRaise;
    let (device, data) = (device_of(tensor).or_raise()?, data(tensor).or_raise()?);
    let shape: Vec<i64> = tensor.dims().iter().map(|&n| i64::try_from(n).unwrap_or(i64::MAX)).collect();
    let rank = i32::try_from(shape.len()).unwrap_or(i32::MAX);
    let kind = Kind { code: FLOAT, bits: 64, lanes: 1 };
    let lent = Lent { data, device, rank, kind, shape: shape.as_ptr(), strides: std::ptr::null(), byte_offset: 0 };
    let managed = Managed { lent, owner: null_mut(), deleter: Some(returned) };
    let loan = Box::into_raw(Box::new(Loan { managed, shape, _tensor: tensor.clone() }));
    // SAFETY: the loan stays until its deleter is called, by who takes it over or by the capsule.
    unsafe {
        debug_assert_eq!((*loan).shape.as_ptr(), (*loan).managed.lent.shape);
        (*loan).managed.owner = loan.cast();
        let capsule = PyCapsule_New((&raw mut (*loan).managed).cast(), NAME.as_ptr(), Some(dropped));
        if capsule.is_null() {
            drop(Box::from_raw(loan));
        }
        Bound::from_owned_ptr_or_err(py, capsule).map(Bound::unbind)
    }
}

/// The loan is over.
unsafe extern "C" fn returned(managed: *mut Managed) {
    // SAFETY: the owner is the loan that `capsule` has made.
    unsafe { drop(Box::from_raw((*managed).owner.cast::<Loan>())) }
}

/// A capsule that nobody has taken over ends its loan.
unsafe extern "C" fn dropped(capsule: *mut PyObject) {
    // SAFETY: Python calls it with the capsule.
    unsafe {
        if PyCapsule_IsValid(capsule, NAME.as_ptr()) == 1 {
            returned(PyCapsule_GetPointer(capsule, NAME.as_ptr()).cast());
        }
    }
}
