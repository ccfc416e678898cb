//! Rows of numbers on the device.

use candle_core::cuda_backend::cudarc::driver::{
    CudaFunction, CudaSlice, CudaStream, DevicePtr, DeviceRepr, PushKernelArg,
};
use candle_core::cuda_backend::{CudaDType, CudaStorage};
use candle_core::{DType, Layout, Result, Storage, StorageRef, Tensor, bail};

use super::{Gpu, config, driver};
use crate::math::lane::Precision;

/// What kernels compute with.
pub(crate) trait Number: DeviceRepr + CudaDType {
    /// As the recorder has it.
    const PRECISION: Precision;
    /// As tensors have it.
    const DTYPE: DType;
    /// As names of kernels have it.
    const NAME: &'static str;
}

impl Number for f32 {
    const PRECISION: Precision = Precision::Single;
    const DTYPE: DType = DType::F32;
    const NAME: &'static str = "f32";
}

impl Number for f64 {
    const PRECISION: Precision = Precision::Double;
    const DTYPE: DType = DType::F64;
    const NAME: &'static str = "f64";
}

/// Rows that a kernel reads: one for each world, or one for all.
pub(crate) struct Rows<'a, T> {
    pub(super) pointer: u64,
    pub(super) rows: usize,
    pub(super) width: usize,
    /// Numbers from one row to the next.
    pub(super) stride: usize,
    _data: std::marker::PhantomData<&'a T>,
}

/// A tensor on the device whose numbers stay where they are as long as this lives.
pub(crate) struct Held<'a> {
    storage: StorageRef<'a>,
    layout: &'a Layout,
}

impl<'a> Held<'a> {
    /// Takes hold of a tensor.
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
}

/// Rows that a kernel has written, one after the other.
pub(crate) struct Block<T> {
    pub(super) data: CudaSlice<T>,
    pub(super) rows: usize,
    pub(super) width: usize,
}

impl<T: Number> Block<T> {
    /// To be read.
    pub(crate) fn rows(&self, gpu: &Gpu) -> Rows<'_, T> {
        self.columns(gpu, 0..self.width)
    }

    /// Some columns, to be read.
    pub(crate) fn columns(&self, gpu: &Gpu, columns: std::ops::Range<usize>) -> Rows<'_, T> {
        let stream = gpu.device.cuda_stream();
        let (pointer, _) = self.data.device_ptr(&stream);
        Rows {
            pointer: pointer + (columns.start * size_of::<T>()) as u64,
            rows: self.rows,
            width: columns.len(),
            stride: self.width,
            _data: std::marker::PhantomData,
        }
    }

    /// As a tensor's storage.
    pub(crate) fn storage(self, gpu: &Gpu) -> CudaStorage {
        CudaStorage::wrap_cuda_slice(self.data, gpu.device.clone())
    }
}

/// Worlds: how many, then which.
pub(crate) struct List(CudaSlice<u32>);

impl List {
    /// Where it is.
    pub(super) fn pointer(&self, stream: &CudaStream) -> u64 {
        self.0.device_ptr(stream).0
    }
}

const TEXT: &str = include_str!("rows.cu");
/// Threads of a block of these kernels.
const THREADS: usize = 256;
/// Blocks that one multiprocessor holds, about.
const BLOCKS: usize = 8;
/// Rows that are added up one after the other: sums of that many are as on the CPU.
pub(crate) const SEGMENT: usize = 1024;

impl Gpu {
    /// A matrix operand.
    ///
    /// # Errors
    /// If it is no matrix of this type whose rows are of numbers that follow each other.
    pub(crate) fn rows<'a, T: Number>(&self, storage: &'a CudaStorage, layout: &Layout) -> Result<Rows<'a, T>> {
        let (rows, width) = layout.shape().dims2()?;
        if width > 1 && layout.stride()[1] != 1 {
            bail!("cuda: expected rows of numbers that follow each other, got strides {:?}", layout.stride());
        }
        let stream = self.device.cuda_stream();
        let (pointer, _) = storage.as_cuda_slice::<T>()?.device_ptr(&stream);
        let pointer = pointer + (layout.start_offset() * size_of::<T>()) as u64;
        // A row that is repeated is one for all.
        let (rows, stride) = match layout.stride()[0] {
            0 if rows > 1 => (1, width),
            stride => (rows, stride),
        };
        Ok(Rows { pointer, rows, width, stride, _data: std::marker::PhantomData })
    }

    /// So many zeros, as one row for all worlds.
    ///
    /// # Errors
    /// If the device's memory is full.
    pub(crate) fn zeros(&self, width: usize) -> Result<Block<f64>> {
        let data = driver("zeros", self.device.cuda_stream().alloc_zeros::<f64>(width.max(1)))?;
        Ok(Block { data, rows: 1, width })
    }

    fn function(&self, entry: &str) -> Result<CudaFunction> {
        let mut functions = self.functions.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(function) = functions.get(entry) {
            return Ok(function.clone());
        }
        let function = self.load(TEXT, entry)?;
        functions.insert(entry.to_owned(), function.clone());
        Ok(function)
    }

    /// Launches one of this file's kernels with as many threads as there are numbers, or as the card holds.
    fn launch_helper(&self, entry: &str, numbers: usize, arguments: &[u64]) -> Result<()> {
        let function = self.function(entry)?;
        let blocks = numbers.div_ceil(THREADS).clamp(1, BLOCKS * self.multiprocessors as usize);
        let stream = self.device.cuda_stream();
        let mut builder = stream.launch_builder(&function);
        arguments.iter().for_each(|argument| {
            builder.arg(argument);
        });
        // SAFETY: the callers pass what the kernels of `rows.cu` take, of rows that are there.
        driver(entry, unsafe { builder.launch(config(blocks, THREADS)) }).map(drop)
    }

    /// The worlds that are not solved, by the first of `info` numbers of each step's report.
    ///
    /// # Errors
    /// If the device fails.
    pub(crate) fn unsolved(&self, reports: &Rows<f32>, info: usize) -> Result<List> {
        let stream = self.device.cuda_stream();
        let list = driver("list of worlds", stream.alloc_zeros::<u32>(1 + reports.rows))?;
        let list = List(list);
        let [n, steps] = [reports.rows, reports.width / info.max(1)].map(|n| n as u64);
        let arguments = [reports.pointer, reports.stride as u64, info as u64, steps, n, list.pointer(&stream)];
        self.launch_helper("unsolved", reports.rows, &arguments)?;
        Ok(list)
    }

    /// Rows of the worlds of a list, or of all, in double precision; one row for all stays that.
    ///
    /// # Errors
    /// If the device fails.
    pub(crate) fn gather<T: Number>(&self, from: &Rows<T>, list: Option<&List>) -> Result<Block<f64>> {
        let stream = self.device.cuda_stream();
        let to = Block { data: self.room::<f64>(from.rows * from.width)?, rows: from.rows, width: from.width };
        let list = list.filter(|_| from.rows > 1).map_or(0, |list| list.pointer(&stream));
        let [stride, width, rows] = [from.stride, from.width, from.rows].map(|n| n as u64);
        let arguments = [from.pointer, stride, to.data.device_ptr(&stream).0, width, rows, list];
        if width > 0 {
            self.launch_helper(&format!("gather_{}_f64", T::NAME), from.rows * from.width, &arguments)?;
        }
        Ok(to)
    }

    /// Columns of the first rows to where a list says, or of all rows to columns of others from `column` on.
    ///
    /// # Errors
    /// If the device fails.
    pub(crate) fn scatter<T: Number>(
        &self,
        from: &Block<f64>,
        to: &Block<T>,
        (row, column): (usize, usize),
        list: Option<&List>,
    ) -> Result<()> {
        let stream = self.device.cuda_stream();
        let start = to.data.device_ptr(&stream).0 + ((row * to.width + column) * size_of::<T>()) as u64;
        let list = list.map_or(0, |list| list.pointer(&stream));
        let [width, stride, rows] = [from.width, to.width, from.rows].map(|n| n as u64);
        let arguments = [from.data.device_ptr(&stream).0, width, start, stride, rows, list];
        if width == 0 {
            return Ok(());
        }
        self.launch_helper(&format!("scatter_f64_{}", T::NAME), from.rows * from.width, &arguments)
    }

    /// The sum of all rows, in sums of [`SEGMENT`] rows each: its bits depend on the number of rows alone.
    ///
    /// # Errors
    /// If the device fails.
    pub(crate) fn sums(&self, from: &Rows<f64>) -> Result<Block<f64>> {
        let rows = from.rows.div_ceil(SEGMENT);
        let to = Block { data: self.room::<f64>(rows * from.width)?, rows, width: from.width };
        let stream = self.device.cuda_stream();
        let [stride, width, n, segment] = [from.stride, from.width, from.rows, SEGMENT].map(|n| n as u64);
        let arguments = [from.pointer, stride, to.data.device_ptr(&stream).0, width, n, segment];
        if width > 0 {
            self.launch_helper("sum_rows", rows * from.width, &arguments)?;
        }
        Ok(to)
    }
}
