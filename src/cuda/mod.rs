//! Floor 0 (feature `cuda`): recorded kernels on an NVIDIA GPU.
//!
//! A [`Gpu`] compiles the text of [`record::cuda`](crate::math::record::cuda) for its card when it is first asked for a kernel, and
//! keeps what comes out ([`compile`]). Kernels run on candle's stream of the device on buffers of candle's tensors; nothing of
//! them comes to the host. As many blocks are launched as the card holds at once, and these do all worlds, so that working
//! memory does not grow with the batch.

mod compile;
mod rows;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::ThreadId;

use candle_core::cuda_backend::CudaDevice;
use candle_core::cuda_backend::cudarc::driver::result::DriverError;
use candle_core::cuda_backend::cudarc::driver::sys::{CUdevice_attribute, CUresult};
use candle_core::cuda_backend::cudarc::driver::{
    CudaFunction, CudaSlice, DevicePtr, DeviceRepr, LaunchConfig, PushKernelArg,
};
use candle_core::{Result, bail};

use crate::math::lane::Precision;
use crate::math::record::cuda::{self, PRELUDE, THREADS};
use crate::math::record::{Row, Trace};

pub(crate) use rows::{Block, List, Number, Rows};

/// A CUDA device and the kernels that have been loaded on it for one step.
pub(crate) struct Gpu {
    device: CudaDevice,
    architecture: String,
    multiprocessors: u32,
    loaded: Mutex<HashMap<String, Arc<Kernel>>>,
    functions: Mutex<HashMap<String, CudaFunction>>,
    /// Working memory, for each thread of the host its own, as its launches are in a stream of their own.
    memory: Mutex<HashMap<ThreadId, CudaSlice<u8>>>,
}

/// A kernel on the device.
pub(crate) struct Kernel {
    function: CudaFunction,
    /// Blocks that the card holds at once.
    blocks: usize,
    /// Bytes of working memory of each.
    memory: usize,
    /// What it reads, and what it writes.
    pub(crate) operands: Vec<Row>,
    pub(crate) results: Vec<Row>,
}

impl fmt::Debug for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Gpu({:?}, {})", self.device, self.architecture)
    }
}

/// An error of the driver, with what was wanted of it.
pub(crate) fn driver<T>(wanted: &str, result: std::result::Result<T, DriverError>) -> Result<T> {
    match result {
        Ok(value) => Ok(value),
        Err(DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY)) => {
            bail!("cuda: {wanted}: the device's memory is full; take fewer worlds at a time")
        }
        Err(DriverError(CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU)) => {
            bail!("cuda: {wanted}: compiled for another architecture than this card has")
        }
        Err(DriverError(code)) => bail!("cuda: {wanted}: {code:?}"),
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
        let multiprocessors = driver(
            "multiprocessors",
            context.attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
        )?;
        Ok(Self {
            device: device.clone(),
            architecture: format!("sm_{major}{minor}"),
            multiprocessors: u32::try_from(multiprocessors).unwrap_or(1).max(1),
            loaded: Mutex::default(),
            functions: Mutex::default(),
            memory: Mutex::default(),
        })
    }

    /// The device.
    pub(crate) fn device(&self) -> &CudaDevice {
        &self.device
    }

    /// A kernel by its name, recorded by `record`, compiled and loaded when it is first asked for.
    ///
    /// # Errors
    /// Of recording; if NVRTC is missing or refuses the text; if the card does not take what it made.
    pub(crate) fn kernel(
        &self,
        name: &str,
        precision: Precision,
        record: impl FnOnce() -> Result<Trace>,
    ) -> Result<Arc<Kernel>> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = loaded.get(name) {
            return Ok(kernel.clone());
        }
        let trace = record()?;
        let cuda::Kernel { text, name: entry, memory } = cuda::kernel(&trace, name, precision);
        let function = self.load(&format!("{PRELUDE}\n{text}"), &entry)?;
        #[expect(clippy::cast_possible_truncation, reason = "a few")]
        let occupancy = function.occupancy_max_active_blocks_per_multiprocessor(THREADS as u32, 0, None);
        let blocks = driver("occupancy", occupancy)?.max(1) * self.multiprocessors;
        let (operands, results) = (trace.operands().to_vec(), trace.results().to_vec());
        let kernel = Arc::new(Kernel { function, blocks: blocks as usize, memory, operands, results });
        loaded.insert(name.to_owned(), kernel.clone());
        Ok(kernel)
    }

    /// A function of a text.
    fn load(&self, text: &str, entry: &str) -> Result<CudaFunction> {
        let image = compile::cubin(text, &self.architecture)?;
        let stream = self.device.cuda_stream();
        let module = driver("load a kernel", stream.context().load_module(image))?;
        driver(entry, module.load_function(entry))
    }

    /// Room for numbers that a kernel writes.
    ///
    /// # Errors
    /// If the device's memory is full.
    pub(crate) fn room<T: DeviceRepr>(&self, n: usize) -> Result<CudaSlice<T>> {
        let stream = self.device.cuda_stream();
        // SAFETY: numbers of any bits are numbers, and kernels write all of them before anybody reads.
        let slice = unsafe { stream.alloc::<T>(n.max(1)) };
        driver(&format!("{} MB for results", n * size_of::<T>() / 1_000_000), slice)
    }

    /// Runs a kernel over `worlds` worlds, or the first of them that `list` has; results are a row of each for every world.
    ///
    /// # Errors
    /// If an operand has other rows than the kernel wants, or too few; if the device fails.
    pub(crate) fn run<T: Number, const N: usize>(
        &self,
        kernel: &Kernel,
        worlds: usize,
        list: Option<&List>,
        operands: &[&Rows<T>],
    ) -> Result<[Block<T>; N]> {
        let widths: Vec<usize> = kernel.results.iter().map(|row| row.width).collect();
        let Ok(widths) = <[usize; N]>::try_from(widths) else {
            bail!("cuda: expected {N} results, got {}", kernel.results.len());
        };
        let mut blocks = Vec::with_capacity(N);
        for width in widths {
            blocks.push(Block { data: self.room(worlds * width)?, rows: worlds, width });
        }
        self.launch(kernel, worlds, list, operands, &blocks)?;
        blocks.try_into().or_else(|_| bail!("cuda: expected {N} results"))
    }

    /// [`Gpu::run`] into blocks that are there.
    fn launch<T: Number>(
        &self,
        kernel: &Kernel,
        worlds: usize,
        list: Option<&List>,
        operands: &[&Rows<T>],
        results: &[Block<T>],
    ) -> Result<()> {
        let expected: Vec<usize> = kernel.operands.iter().map(|row| row.width).collect();
        let got: Vec<usize> = operands.iter().map(|rows| rows.width).collect();
        if expected != got || operands.iter().any(|rows| rows.rows != 1 && rows.rows < worlds) {
            bail!("cuda: expected operands of {worlds} worlds with {expected:?} numbers, got {got:?}");
        }
        let blocks = kernel.blocks.min(worlds.div_ceil(THREADS)).max(1);
        let stream = self.device.cuda_stream();
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let own = std::thread::current().id();
        let wanted = blocks * kernel.memory;
        if memory.get(&own).is_none_or(|memory| memory.len() < wanted) {
            memory.remove(&own);
            // SAFETY: kernels read of it what they have written.
            let room = driver(&format!("{} MB to work in", wanted / 1_000_000), unsafe { stream.alloc::<u8>(wanted) })?;
            memory.insert(own, room);
        }
        let Some(room) = memory.get(&own) else { bail!("cuda: no memory to work in") };

        let (mut held, mut arguments) = (Vec::new(), Vec::new());
        for rows in operands {
            arguments.extend([rows.pointer, if rows.rows == 1 { 0 } else { rows.stride as u64 }]);
        }
        for block in results {
            let (pointer, hold) = block.data.device_ptr(&stream);
            held.push(hold);
            arguments.push(pointer);
        }
        let (room, _hold) = room.device_ptr(&stream);
        arguments.extend([worlds as u64, list.map_or(0, |list| list.pointer(&stream)), room]);
        let mut builder = stream.launch_builder(&kernel.function);
        arguments.iter().for_each(|argument| {
            builder.arg(argument);
        });
        // SAFETY: the arguments are those that `record::cuda` prints, and the rows are as long as the kernel's, as checked above.
        let launched = unsafe { builder.launch(config(blocks, THREADS)) };
        driver("launch a kernel", launched).map(drop)
    }
}

/// So many blocks of so many threads.
#[expect(clippy::cast_possible_truncation, reason = "at most what a card holds")]
fn config(blocks: usize, threads: usize) -> LaunchConfig {
    LaunchConfig { grid_dim: (blocks as u32, 1, 1), block_dim: (threads as u32, 1, 1), shared_mem_bytes: 0 }
}
