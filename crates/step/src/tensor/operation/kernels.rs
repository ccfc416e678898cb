//! GPU kernels of the tensor operations on one structure.

#[cfg(feature = "cuda")]
use std::sync::{Arc, Mutex, PoisonError};

#[cfg(feature = "cuda")]
use candle_core::{Result, backend::BackendDevice, cuda_backend::CudaDevice};

#[cfg(feature = "cuda")]
use crate::cuda::Gpu;

/// GPU kernels of a family of operations, recorded and compiled when they are first asked for. The owner of the tables
/// that the operations read has one and hands it to all of them. Copies share the same kernels.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kernels {
    #[cfg(feature = "cuda")]
    gpus: Arc<Mutex<Vec<Arc<Gpu>>>>,
}

#[cfg(feature = "cuda")]
impl Kernels {
    /// The kernels on a device. Connects to the GPU when it is first asked for.
    ///
    /// # Errors
    /// If the driver does not answer.
    pub(super) fn on(&self, device: &CudaDevice) -> Result<Arc<Gpu>> {
        let mut gpus = self.gpus.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(gpu) = gpus.iter().find(|gpu| gpu.device().same_device(device)) {
            return Ok(gpu.clone());
        }
        let gpu = Arc::new(Gpu::new(device)?);
        gpus.push(gpu.clone());
        Ok(gpu)
    }
}
