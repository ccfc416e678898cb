//! Rows of numbers on the device: operands, results, and what moves between them.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::{Arc, PoisonError};

use candle_core::backend::BackendStorage;
use candle_core::cuda_backend::cudarc::driver::{
    CudaModule, CudaSlice, DevicePtr, DeviceRepr, PushKernelArg, ValidAsZeroBits,
};
use candle_core::cuda_backend::{CudaDType, CudaStorage};
use candle_core::op::BackpropOp;
use candle_core::{DType, Layout, Result, Storage, StorageRef, Tensor, bail};

use super::{Effort, Gpu, config, driver};
use fingertip_lanes::lane::Precision;

/// The number types of kernels.
pub(crate) trait Number: DeviceRepr + ValidAsZeroBits + CudaDType {
    /// As the recorder has it.
    const PRECISION: Precision;
    /// As the names of kernels have it.
    const NAME: &'static str;
}

impl Number for f32 {
    const PRECISION: Precision = Precision::Single;
    const NAME: &'static str = "f32";
}

impl Number for f64 {
    const PRECISION: Precision = Precision::Double;
    const NAME: &'static str = "f64";
}

/// Rows on the device: one for each world, or one for all. Its maker keeps the numbers alive for `'a`.
pub(crate) struct Rows<'a, T> {
    pub(super) pointer: u64,
    pub(crate) rows: usize,
    pub(crate) width: usize,
    /// Numbers from one row to the next, and from one column to the next.
    pub(super) stride: usize,
    pub(super) step: usize,
    data: PhantomData<&'a T>,
}

impl<T> Clone for Rows<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Rows<'_, T> {}

impl<T> Rows<'_, T> {
    /// The rows, of these columns alone.
    pub(crate) fn columns(self, columns: Range<usize>) -> Self {
        let pointer = self.pointer + (columns.start * self.step * size_of::<T>()) as u64;
        Self { pointer, width: columns.len(), ..self }
    }

    /// The rows of some worlds; one row for all stays that.
    pub(crate) fn of_worlds(self, worlds: Range<usize>) -> Self {
        if self.rows == 1 {
            return self;
        }
        let pointer = self.pointer + (worlds.start * self.stride * size_of::<T>()) as u64;
        Self { pointer, rows: worlds.len(), ..self }
    }
}

/// A tensor on the device whose numbers stay where they are as long as this lives.
pub(crate) struct TensorGuard<'a> {
    storage: StorageRef<'a>,
    layout: &'a Layout,
}

impl<'a> TensorGuard<'a> {
    /// Locks a tensor for reading.
    pub(crate) fn new(tensor: &'a Tensor) -> Self {
        let (storage, layout) = tensor.storage_and_layout();
        Self { storage, layout }
    }

    /// The tensor as a matrix.
    ///
    /// # Errors
    /// If it is not on a GPU, or as [`Gpu::rows`].
    pub(crate) fn rows<T: Number>(&self, gpu: &Gpu) -> Result<Rows<'_, T>> {
        let Storage::Cuda(storage) = &*self.storage else { bail!("cuda: expected a tensor on the GPU") };
        gpu.rows(storage, self.layout)
    }

    /// The tensor as a matrix in double precision.
    ///
    /// # Errors
    /// If it is not on a GPU, or as [`Gpu::doubles`].
    pub(crate) fn doubles(&self, gpu: &Gpu) -> Result<Doubles<'_>> {
        let Storage::Cuda(storage) = &*self.storage else { bail!("cuda: expected a tensor on the GPU") };
        gpu.doubles(storage, self.layout)
    }
}

/// A matrix in double precision whose rows are of numbers that follow each other: a tensor's own numbers, or a copy.
pub(crate) enum Doubles<'a> {
    Own(Rows<'a, f64>),
    Made(Block<f64>),
}

impl Doubles<'_> {
    /// The rows, whoever holds their memory.
    pub(crate) fn rows(&self, gpu: &Gpu) -> Rows<'_, f64> {
        match self {
            Self::Own(rows) => *rows,
            Self::Made(block) => block.rows(gpu),
        }
    }
}

/// The number of worlds of operands that have each one row per world or one for all.
///
/// # Errors
/// If two operands disagree.
pub(crate) fn worlds<T>(name: &str, operands: &[Rows<T>]) -> Result<usize> {
    let worlds = operands.iter().map(|rows| rows.rows).find(|&rows| rows != 1).unwrap_or(1);
    if operands.iter().any(|rows| rows.rows != 1 && rows.rows != worlds) {
        let rows: Vec<usize> = operands.iter().map(|rows| rows.rows).collect();
        bail!("{name}: operands of {rows:?} worlds; expected the same number, or one row for all");
    }
    Ok(worlds)
}

/// Rows that a kernel writes, one after the other.
pub(crate) struct Block<T> {
    data: CudaSlice<T>,
    rows: usize,
    width: usize,
}

impl<T: Number> Block<T> {
    /// All of its rows, one after the other.
    pub(crate) fn rows(&self, gpu: &Gpu) -> Rows<'_, T> {
        let (pointer, _) = self.data.device_ptr(&gpu.device.cuda_stream());
        Rows { pointer, rows: self.rows, width: self.width, stride: self.width, step: 1, data: PhantomData }
    }

    /// As a tensor's storage.
    pub(crate) fn storage(self, gpu: &Gpu) -> CudaStorage {
        CudaStorage::wrap_cuda_slice(self.data, gpu.device.clone())
    }

    /// As a tensor (rows, width) without a graph.
    pub(crate) fn tensor(self, gpu: &Gpu) -> Tensor {
        let shape = (self.rows, self.width);
        Tensor::from_storage(Storage::Cuda(self.storage(gpu)), shape, BackpropOp::none(), false)
    }
}

impl Block<f64> {
    /// As storage of a type.
    ///
    /// # Errors
    /// If the device fails.
    pub(crate) fn storage_of(self, gpu: &Gpu, dtype: DType) -> Result<CudaStorage> {
        if dtype == DType::F64 {
            return Ok(self.storage(gpu));
        }
        let single = gpu.block::<f32>(self.rows, self.width)?;
        gpu.scatter(self.rows(gpu), single.rows(gpu), None)?;
        Ok(single.storage(gpu))
    }

    /// As a tensor (rows, width) of a type, without a graph.
    ///
    /// # Errors
    /// If the device fails.
    pub(crate) fn tensor_of(self, gpu: &Gpu, dtype: DType) -> Result<Tensor> {
        let shape = (self.rows, self.width);
        let storage = Storage::Cuda(self.storage_of(gpu, dtype)?);
        Ok(Tensor::from_storage(storage, shape, BackpropOp::none(), false))
    }
}

/// Worlds: how many, then which.
pub(crate) struct List(CudaSlice<u32>);

impl List {
    pub(super) fn pointer(&self, gpu: &Gpu) -> u64 {
        self.0.device_ptr(&gpu.device.cuda_stream()).0
    }
}

const TEXT: &str = include_str!("rows.cu");
/// Threads of a block of the kernels there, and blocks that a multiprocessor has to do with.
const THREADS: usize = 256;
const BLOCKS: usize = 8;
/// Rows that are added up one after the other: so many are summed as on the CPU.
pub(crate) const SEGMENT: usize = 1024;

impl Gpu {
    /// A matrix operand.
    ///
    /// # Errors
    /// If it is no matrix of this type.
    pub(crate) fn rows<'a, T: Number>(&self, storage: &'a CudaStorage, layout: &Layout) -> Result<Rows<'a, T>> {
        let (rows, width) = layout.shape().dims2()?;
        let (pointer, _) = storage.as_cuda_slice::<T>()?.device_ptr(&self.device.cuda_stream());
        let pointer = pointer + (layout.start_offset() * size_of::<T>()) as u64;
        Ok(Rows { pointer, rows, width, stride: layout.stride()[0], step: layout.stride()[1], data: PhantomData })
    }

    /// A matrix operand of either type in double precision, its rows numbers that follow each other.
    ///
    /// # Errors
    /// If it is no matrix of `f32` or `f64`.
    pub(crate) fn doubles<'a>(&self, storage: &'a CudaStorage, layout: &Layout) -> Result<Doubles<'a>> {
        match storage.dtype() {
            DType::F32 => Ok(Doubles::Made(self.gather(self.rows::<f32>(storage, layout)?, None)?)),
            DType::F64 => {
                let rows = self.rows::<f64>(storage, layout)?;
                let is_plain = rows.width <= 1 || rows.step == 1;
                Ok(if is_plain { Doubles::Own(rows) } else { Doubles::Made(self.gather(rows, None)?) })
            }
            other => bail!("expected a tensor of f32 or f64, got {other:?}"),
        }
    }

    /// Room for rows, whose numbers are whatever was there.
    ///
    /// # Errors
    /// If the device's memory is full.
    pub(crate) fn block<T: Number>(&self, rows: usize, width: usize) -> Result<Block<T>> {
        let bytes = rows * width * size_of::<T>();
        // SAFETY: any bits are a number, and what is asked for is written before it is read.
        let data = unsafe { self.device.cuda_stream().alloc::<T>((rows * width).max(1)) };
        Ok(Block { data: driver(&format!("{bytes} bytes for {rows} rows"), data)?, rows, width })
    }

    /// A row of zeros for all worlds.
    ///
    /// # Errors
    /// If the device's memory is full.
    pub(crate) fn zeros<T: Number>(&self, width: usize) -> Result<Block<T>> {
        let mut block = self.block(1, width)?;
        driver("zeros", self.device.cuda_stream().memset_zeros(&mut block.data))?;
        Ok(block)
    }

    /// Launches a kernel of `rows.cu` for so many numbers.
    fn launch_helper(&self, entry: &str, numbers: usize, arguments: &[u64]) -> Result<()> {
        if numbers == 0 {
            return Ok(());
        }
        let module: Arc<CudaModule> = {
            let mut helpers = self.helpers.lock().unwrap_or_else(PoisonError::into_inner);
            match &*helpers {
                Some(module) => module.clone(),
                None => helpers.insert(self.load(TEXT, Effort::Full)?).clone(),
            }
        };
        let function = driver(entry, module.load_function(entry))?;
        let blocks = numbers.div_ceil(THREADS).clamp(1, BLOCKS * self.multiprocessors);
        let stream = self.device.cuda_stream();
        let mut builder = stream.launch_builder(&function);
        arguments.iter().for_each(|argument| {
            builder.arg(argument);
        });
        // SAFETY: the callers pass what the kernels there take, for rows that are there.
        driver(entry, unsafe { builder.launch(config(blocks, THREADS)) }).map(drop)
    }

    /// The worlds that are not solved, by the first of `info` numbers of each step's report.
    ///
    /// # Errors
    /// If the device fails.
    pub(crate) fn unsolved<T: Number>(&self, reports: Rows<T>, info: usize) -> Result<List> {
        let list = self.device.cuda_stream().alloc_zeros::<u32>(1 + reports.rows);
        let list = List(driver("a list of worlds", list)?);
        let steps = (reports.width / info.max(1)) as u64;
        let [stride, info, n] = [reports.stride, info, reports.rows].map(|n| n as u64);
        let arguments = [reports.pointer, stride, info, steps, n, list.pointer(self)];
        self.launch_helper(&format!("unsolved_{}", T::NAME), reports.rows, &arguments)?;
        Ok(list)
    }

    /// Rows of the worlds of a list, or of all, in double precision; one row for all stays that.
    ///
    /// # Errors
    /// If the device fails.
    pub(crate) fn gather<T: Number>(&self, from: Rows<T>, list: Option<&List>) -> Result<Block<f64>> {
        let to = self.block(from.rows, from.width)?;
        self.copy((from, list.filter(|_| from.rows > 1)), (to.rows(self), None))?;
        Ok(to)
    }

    /// The opposite: the first rows go where the list says.
    ///
    /// # Errors
    /// If the device fails.
    pub(crate) fn scatter<T: Number>(&self, from: Rows<f64>, to: Rows<T>, list: Option<&List>) -> Result<()> {
        self.copy((from, None), (to, list))
    }

    fn copy<T: Number, U: Number>(
        &self,
        (from, from_list): (Rows<T>, Option<&List>),
        (to, to_list): (Rows<U>, Option<&List>),
    ) -> Result<()> {
        let pointer = |list: Option<&List>| list.map_or(0, |list| list.pointer(self));
        let [from_stride, step, to_stride, width, n] =
            [from.stride, from.step, to.stride, from.width, from.rows].map(|n| n as u64);
        let arguments =
            [from.pointer, from_stride, step, pointer(from_list), to.pointer, to_stride, pointer(to_list), width, n];
        self.launch_helper(&format!("move_{}_{}", T::NAME, U::NAME), from.rows * from.width, &arguments)
    }

    /// Sums of [`SEGMENT`] rows each, which are one sum once there are no more rows than that.
    ///
    /// # Errors
    /// If the device fails.
    pub(crate) fn sums(&self, from: Rows<f64>) -> Result<Block<f64>> {
        let to = self.block(from.rows.div_ceil(SEGMENT), from.width)?;
        let [stride, width, n, segment] = [from.stride, from.width, from.rows, SEGMENT].map(|n| n as u64);
        let arguments = [from.pointer, stride, to.rows(self).pointer, width, n, segment];
        self.launch_helper("sum_rows", to.rows * to.width, &arguments)?;
        Ok(to)
    }
}
