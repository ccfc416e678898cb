//! Between candle tensors and kernels: rows of numbers in, rows out, worlds shared among threads.
//!
//! Operands of the custom operations are matrices (B or 1, n): one row per world, or one row for all.
//! Kernels compute in `f64`; `f32` tensors are converted on the way in and out.

use std::borrow::Cow;
use std::ops::Range;

use candle_core::backend::BackendStorage;
use candle_core::{CpuStorage, DType, Device, Layout, Result, Storage, Tensor, bail};
use rayon::prelude::*;

use super::lane::{InstructionSet, Kernel, Lane, WIDTH, dispatch};

/// Worlds that one thread takes at a time: enough lanes to pay for the handover.
const CHUNK: usize = 64;

/// A matrix operand, one row per world or one for all.
pub struct Rows<'a> {
    data: Cow<'a, [f64]>,
    rows: usize,
    width: usize,
    /// Numbers from the start of one row to the start of the next.
    stride: usize,
}

impl<'a> Rows<'a> {
    /// The operand of a custom operation.
    ///
    /// # Errors
    /// If it is not a matrix of `f32` or `f64`.
    pub fn from_storage(storage: &'a CpuStorage, layout: &Layout) -> Result<Self> {
        let (rows, width) = layout.shape().dims2()?;
        let data = match storage {
            CpuStorage::F64(data) if layout.stride()[1] == 1 => {
                let data = Cow::Borrowed(&data[layout.start_offset()..]);
                return Ok(Self { data, rows, width, stride: layout.stride()[0] });
            }
            CpuStorage::F64(data) => entries(layout, rows, width).map(|i| data[i]).collect(),
            CpuStorage::F32(data) => entries(layout, rows, width).map(|i| f64::from(data[i])).collect(),
            other => bail!("expected a tensor of f32 or f64, got {:?}", other.dtype()),
        };
        Ok(Self { data, rows, width, stride: width })
    }

    /// A copy of a tensor's values.
    ///
    /// # Errors
    /// If it is not a matrix of `f32` or `f64` on the CPU.
    pub fn from_tensor(tensor: &Tensor) -> Result<Rows<'static>> {
        let (storage, layout) = tensor.storage_and_layout();
        let Storage::Cpu(storage) = &*storage else { bail!("expected a tensor on the CPU") };
        let Rows { data, rows, width, stride } = Rows::from_storage(storage, layout)?;
        let used = (rows.max(1) - 1) * stride + width;
        Ok(Rows { data: Cow::Owned(data[..used].to_vec()), rows, width, stride })
    }

    /// Rows that are there: the number of worlds, or one for all.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Numbers in a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The row of a world.
    pub fn row(&self, world: usize) -> &[f64] {
        let row = if self.rows == 1 { 0 } else { world };
        &self.data[row * self.stride..row * self.stride + self.width]
    }

    /// Column `k` of the worlds from `first` on.
    #[inline(always)]
    pub fn load<R: Lane>(&self, first: usize, k: usize) -> R {
        if self.rows == 1 {
            return R::splat(self.data[k]);
        }
        let mut lane = R::zero();
        for i in 0..R::WIDTH {
            lane.set(i, self.data[(first + i) * self.stride + k]);
        }
        lane
    }

    /// Columns from `k` on of the worlds from `first` on.
    #[inline(always)]
    pub fn load_all<R: Lane>(&self, first: usize, k: usize, to: &mut [R]) {
        for (i, lane) in to.iter_mut().enumerate() {
            *lane = self.load(first, k + i);
        }
    }
}

/// Where the entries of a matrix are in its storage, row by row.
fn entries(layout: &Layout, rows: usize, width: usize) -> impl Iterator<Item = usize> {
    let (start, stride) = (layout.start_offset(), (layout.stride()[0], layout.stride()[1]));
    (0..rows).flat_map(move |i| (0..width).map(move |j| start + i * stride.0 + j * stride.1))
}

/// The number of worlds of operands that have each one row per world or one for all.
///
/// # Errors
/// If two operands disagree.
pub fn worlds(name: &str, operands: &[&Rows]) -> Result<usize> {
    let mut worlds = 1;
    for rows in operands.iter().map(|operand| operand.rows) {
        match (worlds, rows) {
            (_, 1) => {}
            (1, n) => worlds = n,
            (n, m) if n == m => {}
            (n, m) => bail!("{name}: operands of {n} and {m} worlds; expected the same number, or one row for all"),
        }
    }
    Ok(worlds)
}

/// Rows of results, written by kernels.
pub struct Output<'a> {
    data: &'a mut [f64],
    first: usize,
    width: usize,
}

impl Output<'_> {
    /// Sets column `k` of the worlds from `first` on.
    #[inline(always)]
    pub fn store<R: Lane>(&mut self, first: usize, k: usize, lane: R) {
        for i in 0..R::WIDTH {
            self.data[(first - self.first + i) * self.width + k] = lane.get(i);
        }
    }

    /// Sets columns from `k` on of the worlds from `first` on.
    #[inline(always)]
    pub fn store_all<R: Lane>(&mut self, first: usize, k: usize, from: &[R]) {
        for (i, lane) in from.iter().enumerate() {
            self.store(first, k + i, *lane);
        }
    }
}

/// Work on lanes of worlds that writes one row per world and has working memory of its own in each thread.
pub trait RowKernel: Sync {
    /// Numbers of working memory that `run` needs for one world.
    fn scratch(&self) -> usize;
    /// Handles the worlds `first .. first + R::WIDTH`. Implementations are `#[inline(always)]`.
    fn run<R: Lane>(&self, first: usize, scratch: &mut [R], out: &mut Output);
}

struct Bound<'a, K: RowKernel> {
    kernel: &'a K,
    scratch: Scratch,
    out: Output<'a>,
}

impl<K: RowKernel> Kernel for Bound<'_, K> {
    #[inline(always)]
    fn run<R: Lane>(&mut self, first: usize) {
        self.kernel.run::<R>(first, self.scratch.lanes(), &mut self.out);
    }
}

/// Runs a kernel over `worlds` worlds on rayon's threads and returns its rows of `width` numbers.
pub fn run_rows<K: RowKernel>(kernel: &K, worlds: usize, width: usize) -> Vec<f64> {
    in_chunks(kernel.scratch(), worlds, width, |range, scratch, out| {
        dispatch(&mut Bound { kernel, scratch, out }, range);
    })
}

fn in_chunks(
    scratch: usize,
    worlds: usize,
    width: usize,
    work: impl Fn(Range<usize>, Scratch, Output) + Sync,
) -> Vec<f64> {
    let mut data = vec![0.0; worlds * width];
    let work = |range: Range<usize>, data: &mut [f64]| {
        let scratch = Scratch::new(scratch, range.len());
        let first = range.start;
        work(range, scratch, Output { data, first, width });
    };
    if worlds <= CHUNK || width == 0 {
        work(0..worlds, &mut data);
    } else {
        data.par_chunks_mut(CHUNK * width)
            .enumerate()
            .for_each(|(i, chunk)| work(i * CHUNK..(i * CHUNK + chunk.len() / width), chunk));
    }
    data
}

/// A part of a [`Program`], compiled on its own for each instruction set.
pub trait Stage {
    /// Handles the worlds `first .. first + R::WIDTH`. Implementations are `#[inline(always)]`.
    fn run<R: Lane>(&self, first: usize, memory: &mut [R], out: &mut Output);
}

/// Work on lanes of worlds in several stages that share their working memory.
///
/// A kernel that uses an algorithm twice, or two kernels that use the same one, are compiled with two copies of it;
/// stages are compiled once each.
pub trait Program: Sync {
    /// Numbers of working memory for one world.
    fn scratch(&self) -> usize;
    /// Calls [`Group::run`] for one stage after the other.
    fn group(&self, group: &mut Group);
}

/// A lane of worlds, or a single one, on its way through a [`Program`].
pub struct Group<'a, 'b> {
    worlds: Range<usize>,
    scratch: &'a mut Scratch,
    out: &'a mut Output<'b>,
}

struct Staged<'a, 'b, 'c, S> {
    stage: &'c S,
    scratch: &'a mut Scratch,
    out: &'a mut Output<'b>,
}

impl<S: Stage> Kernel for Staged<'_, '_, '_, S> {
    #[inline(always)]
    fn run<R: Lane>(&mut self, first: usize) {
        self.stage.run::<R>(first, self.scratch.lanes(), self.out);
    }
}

impl Group<'_, '_> {
    /// Runs one stage.
    pub fn run(&mut self, stage: &impl Stage) {
        dispatch(&mut Staged { stage, scratch: self.scratch, out: self.out }, self.worlds.clone());
    }
}

/// Runs a program over `worlds` worlds on rayon's threads and returns its rows of `width` numbers.
pub fn run_program<P: Program>(program: &P, worlds: usize, width: usize) -> Vec<f64> {
    let lane = InstructionSet::detect().width();
    in_chunks(program.scratch(), worlds, width, |mut left, mut scratch, mut out| {
        while !left.is_empty() {
            let n = if left.len() < lane { 1 } else { lane };
            let worlds = left.start..left.start + n;
            left.start += n;
            program.group(&mut Group { worlds, scratch: &mut scratch, out: &mut out });
        }
    })
}

/// Results as storage of a custom operation.
///
/// # Errors
/// If `dtype` is neither `f32` nor `f64`.
pub fn storage(data: Vec<f64>, dtype: DType) -> Result<CpuStorage> {
    match dtype {
        DType::F64 => Ok(CpuStorage::F64(data)),
        #[expect(clippy::cast_possible_truncation)]
        DType::F32 => Ok(CpuStorage::F32(data.into_iter().map(|x| x as f32).collect())),
        other => bail!("expected a tensor of f32 or f64, got {other:?}"),
    }
}

/// The columns `columns` of rows of `width` numbers as a gradient for an operand with `rows` rows:
/// summed over the worlds if the operand has one row for all of them.
///
/// # Errors
/// If `dtype` is neither `f32` nor `f64`.
pub fn gradient(data: &[f64], width: usize, columns: Range<usize>, rows: usize, dtype: DType) -> Result<Tensor> {
    let n = columns.len();
    let worlds = data.len() / width.max(1);
    let mut gradient = Vec::with_capacity(rows * n);
    if rows == worlds && n == width {
        gradient.extend_from_slice(data);
    } else if rows == worlds {
        data.chunks(width).for_each(|row| gradient.extend_from_slice(&row[columns.clone()]));
    } else {
        gradient.resize(n, 0.0);
        for row in data.chunks(width) {
            gradient.iter_mut().zip(&row[columns.clone()]).for_each(|(sum, x)| *sum += x);
        }
    }
    Tensor::from_vec(gradient, (rows, n), &Device::Cpu)?.to_dtype(dtype)
}

/// Working memory for lanes of any width.
struct Scratch {
    blocks: Vec<Block>,
    numbers: usize,
}

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Block {
    _numbers: [f64; WIDTH],
}

impl Scratch {
    fn new(numbers: usize, worlds: usize) -> Self {
        let single = worlds < InstructionSet::detect().width();
        let blocks = if single { numbers.div_ceil(WIDTH) } else { numbers };
        Self { blocks: vec![Block { _numbers: [0.0; WIDTH] }; blocks], numbers }
    }

    #[inline(always)]
    fn lanes<R: Lane>(&mut self) -> &mut [R] {
        let bytes = std::mem::size_of_val(self.blocks.as_slice());
        assert!(self.numbers * std::mem::size_of::<R>() <= bytes && std::mem::align_of::<R>() <= 64);
        // SAFETY: the memory is large enough and aligned, as asserted; `Lane` is `unsafe` to implement because its
        // implementations must be valid for any bits that were written as numbers.
        unsafe { std::slice::from_raw_parts_mut(self.blocks.as_mut_ptr().cast(), self.numbers) }
    }
}
