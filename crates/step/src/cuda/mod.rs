//! Recorded kernels on an NVIDIA GPU.
//!
//! A [`Gpu`] compiles the text of [`record::cuda`](fingertip_lanes::record::cuda) for its card when it is first asked
//! for a kernel, and keeps what comes out ([`compile`]). Kernels run on candle's stream of the device on the buffers of
//! candle's tensors; nothing comes to the host. As many blocks are launched as the card holds at once, and these do all
//! worlds, so that working memory does not grow with the batch.

mod compile;
mod rows;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::ThreadId;

use candle_core::cuda_backend::CudaDevice;
use candle_core::cuda_backend::cudarc::driver::result::{self, DriverError};
use candle_core::cuda_backend::cudarc::driver::sys::{CUdevice_attribute, CUmemPool_attribute, CUresult};
use candle_core::cuda_backend::cudarc::driver::{
    CudaContext, CudaFunction, CudaModule, CudaSlice, DevicePtr, LaunchConfig, PushKernelArg,
};
use candle_core::{Result, bail};

use fingertip_lanes::record::c::THREADS;
use fingertip_lanes::record::cuda::{self, PRELUDE};
use fingertip_lanes::record::{Row, Trace};

pub(crate) use compile::Effort;
pub(crate) use rows::{Block, Doubles, List, Number, Rows, SEGMENT, TensorGuard, worlds};

/// A CUDA device and the kernels that have been loaded on it for one step.
pub(crate) struct Gpu {
    device: CudaDevice,
    architecture: String,
    multiprocessors: usize,
    kernels: Mutex<HashMap<String, Arc<Kernel>>>,
    /// The kernels of `rows.cu`.
    helpers: Mutex<Option<Arc<CudaModule>>>,
    /// Working memory, for each thread of the host its own: each has a stream of its own.
    memory: Mutex<HashMap<ThreadId, CudaSlice<u8>>>,
}

/// A kernel on the device.
pub(crate) struct Kernel {
    function: CudaFunction,
    /// Blocks that the card holds at once.
    blocks: usize,
    /// Bytes of working memory of each.
    memory: usize,
    /// The rows that the kernel reads, and those that it writes.
    operands: Vec<Row>,
    results: Vec<Row>,
    /// Have its rows many steps?
    has_steps: bool,
}

impl fmt::Debug for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Gpu({:?}, {})", self.device, self.architecture)
    }
}

/// A result of the driver, as an error with what was wanted of it if it is one.
fn driver<T>(wanted: &str, result: std::result::Result<T, DriverError>) -> Result<T> {
    match result {
        Ok(value) => Ok(value),
        Err(DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY)) => {
            bail!("cuda: {wanted}: the device's memory is full; take fewer worlds at a time")
        }
        Err(DriverError(CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU)) => {
            bail!("cuda: {wanted}: compiled for another architecture than this card's")
        }
        Err(DriverError(code)) => bail!("cuda: {wanted}: {code:?}"),
    }
}

/// Has the driver keep memory that is free for the process's next allocations. By default it gives that back whenever
/// the host waits for the device, and maps it anew for each result.
fn keep_memory(context: &CudaContext) {
    let mut all = u64::MAX;
    // SAFETY: the device is there, and the attribute is a number of 64 bits.
    unsafe {
        if let Ok(pool) = result::device::get_default_mem_pool(context.cu_device()) {
            let threshold = CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
            // A driver without pools has nothing to keep.
            result::mem_pool::set_attribute(pool, threshold, (&raw mut all).cast()).ok();
        }
    }
}

impl Gpu {
    /// A device with nothing loaded yet.
    ///
    /// # Errors
    /// If the driver does not answer.
    pub(crate) fn new(device: &CudaDevice) -> Result<Self> {
        let stream = device.cuda_stream();
        let context = stream.context();
        let (major, minor) = driver("compute capability", context.compute_capability())?;
        keep_memory(context);
        let multiprocessors = context.attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
        Ok(Self {
            device: device.clone(),
            architecture: format!("sm_{major}{minor}"),
            multiprocessors: usize::try_from(driver("multiprocessors", multiprocessors)?).unwrap_or(1).max(1),
            kernels: Mutex::default(),
            helpers: Mutex::default(),
            memory: Mutex::default(),
        })
    }

    /// The device that the kernels run on.
    pub(crate) fn device(&self) -> &CudaDevice {
        &self.device
    }

    /// A kernel by its name, recorded by `record` for numbers of T, compiled and loaded when it is first asked for.
    ///
    /// # Errors
    /// Errors of recording; if NVRTC is missing or refuses the text; if the card does not take what it made.
    pub(crate) fn kernel<T: Number>(
        &self,
        name: &str,
        effort: Effort,
        record: impl FnOnce() -> Result<Trace>,
    ) -> Result<Arc<Kernel>> {
        let name = format!("{name}_{}", T::NAME);
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = kernels.get(&name) {
            return Ok(kernel.clone());
        }
        let trace = record()?;
        let cuda::Kernel { text, name: entry, memory } = cuda::kernel(&trace, &name, T::PRECISION);
        let module = self.load(&format!("{PRELUDE}\n{text}"), effort)?;
        let function = driver(&entry, module.load_function(&entry))?;
        let occupancy = function.occupancy_max_active_blocks_per_multiprocessor(THREADS, 0, None);
        let blocks = driver("occupancy", occupancy)?.max(1) as usize * self.multiprocessors;
        let (operands, results, has_steps) = (trace.operands().to_vec(), trace.results().to_vec(), trace.has_steps());
        let kernel = Arc::new(Kernel { function, blocks, memory, operands, results, has_steps });
        kernels.insert(name, kernel.clone());
        Ok(kernel)
    }

    /// The module of a text.
    fn load(&self, text: &str, effort: Effort) -> Result<Arc<CudaModule>> {
        let image = compile::cubin(text, &self.architecture, effort)?;
        driver("load a kernel", self.device.cuda_stream().context().load_module(image))
    }

    /// Runs a kernel over `worlds` worlds, or the first of them if a list has fewer, and so many steps, if its rows
    /// have many. Its results are blocks of a row for each world.
    ///
    /// # Errors
    /// If an operand has other rows than the kernel wants, or too few; if the device fails or its memory is full.
    pub(crate) fn run<T: Number, const N: usize>(
        &self,
        kernel: &Kernel,
        (worlds, n_steps): (usize, usize),
        list: Option<&List>,
        operands: &[Rows<T>],
    ) -> Result<[Block<T>; N]> {
        let expected: Vec<usize> = kernel.operands.iter().map(|row| row.length(n_steps)).collect();
        let got: Vec<usize> = operands.iter().map(|rows| rows.width).collect();
        if expected != got || operands.iter().any(|rows| rows.rows != 1 && rows.rows != worlds) {
            bail!("cuda: expected operands of {worlds} worlds with {expected:?} numbers, got {got:?}");
        }
        if let Some(rows) = operands.iter().find(|rows| rows.width > 1 && rows.step != 1) {
            bail!("cuda: expected rows of numbers that follow each other, got numbers {} apart", rows.step);
        }
        let block = |row: &Row| self.block(worlds, row.length(n_steps));
        let results = kernel.results.iter().map(block).collect::<Result<Vec<_>>>()?;
        let blocks = kernel.blocks.min(worlds.div_ceil(THREADS as usize)).max(1);
        let stream = self.device.cuda_stream();
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let room = self.room(&mut memory, blocks * kernel.memory)?;

        let of_operand = |rows: &Rows<T>| [rows.pointer, if rows.rows == 1 { 0 } else { rows.stride as u64 }];
        let mut arguments: Vec<u64> = operands.iter().flat_map(of_operand).collect();
        arguments.extend(results.iter().map(|block| block.rows(self).pointer));
        arguments.extend(kernel.has_steps.then_some(n_steps as u64));
        arguments.extend([worlds as u64, list.map_or(0, |list| list.pointer(self)), room.device_ptr(&stream).0]);
        let mut builder = stream.launch_builder(&kernel.function);
        arguments.iter().for_each(|argument| {
            builder.arg(argument);
        });
        // SAFETY: these are the arguments that `record::cuda` prints, and the rows are as long as the kernel's.
        let launched = unsafe { builder.launch(config(blocks, THREADS as usize)) };
        driver("launch a kernel", launched)?;
        results.try_into().or_else(|results: Vec<_>| bail!("cuda: expected {N} results, got {}", results.len()))
    }

    /// So many bytes for the kernels that this thread launches: one after the other uses them.
    fn room<'a>(&self, memory: &'a mut HashMap<ThreadId, CudaSlice<u8>>, bytes: usize) -> Result<&'a CudaSlice<u8>> {
        let own = std::thread::current().id();
        if memory.get(&own).is_none_or(|memory| memory.len() < bytes) {
            memory.remove(&own);
            // SAFETY: a kernel reads nothing there but what it has written.
            let room = unsafe { self.device.cuda_stream().alloc::<u8>(bytes) };
            memory.insert(own, driver(&format!("{bytes} bytes to work in"), room)?);
        }
        memory.get(&own).map_or_else(|| bail!("cuda: no memory to work in"), Ok)
    }
}

/// So many blocks of so many threads.
#[expect(clippy::cast_possible_truncation, reason = "at most what a card holds")]
fn config(blocks: usize, threads: usize) -> LaunchConfig {
    LaunchConfig { grid_dim: (blocks as u32, 1, 1), block_dim: (threads as u32, 1, 1), shared_mem_bytes: 0 }
}
