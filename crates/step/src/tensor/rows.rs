//! Between candle tensors and rows: `f32` tensors are converted on the way in and out.

use std::borrow::Cow;
use std::ops::Range;

use candle_core::backend::BackendStorage;
use candle_core::{CpuStorage, DType, Device, Layout, Result, Storage, StorageRef, Tensor, bail};
use fingertip_lanes::rows::Rows;

/// The operand of a custom operation.
///
/// # Errors
/// If it is not a matrix of `f32` or `f64`.
pub(crate) fn from_storage<'a>(storage: &'a CpuStorage, layout: &Layout) -> Result<Rows<'a>> {
    let (rows, width) = layout.shape().dims2()?;
    let data: Cow<[f64]> = match storage {
        CpuStorage::F64(data) if layout.stride()[1] == 1 => {
            // A view without entries may start behind the end.
            let data = Cow::Borrowed(data.get(layout.start_offset()..).unwrap_or_default());
            return Ok(Rows::with_stride(data, rows, width, layout.stride()[0]));
        }
        CpuStorage::F64(data) => entries(layout, rows, width).map(|i| data[i]).collect(),
        CpuStorage::F32(data) if layout.stride()[1] == 1 => {
            let mut all = Vec::with_capacity(rows * width);
            for row in 0..rows {
                let start = layout.start_offset() + row * layout.stride()[0];
                all.extend(data.get(start..start + width).unwrap_or_default().iter().map(|&x| f64::from(x)));
            }
            all.into()
        }
        CpuStorage::F32(data) => entries(layout, rows, width).map(|i| f64::from(data[i])).collect(),
        other => bail!("expected a tensor of f32 or f64, got {:?}", other.dtype()),
    };
    Ok(Rows::with_stride(data, rows, width, width))
}

/// A copy of a tensor's values.
///
/// # Errors
/// If it is not a matrix of `f32` or `f64` on the CPU.
pub(crate) fn from_tensor(tensor: &Tensor) -> Result<Rows<'static>> {
    let held = TensorGuard::new(tensor);
    Ok(held.rows()?.into_owned())
}

/// A tensor on the CPU whose numbers can be read in place as long as this lives.
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
    /// As [`from_tensor`].
    pub(crate) fn rows(&self) -> Result<Rows<'_>> {
        let Storage::Cpu(storage) = &*self.storage else { bail!("expected a tensor on the CPU") };
        from_storage(storage, self.layout)
    }
}

/// The indices of a matrix's entries in its storage, row by row.
fn entries(layout: &Layout, rows: usize, width: usize) -> impl Iterator<Item = usize> {
    let (start, stride) = (layout.start_offset(), (layout.stride()[0], layout.stride()[1]));
    (0..rows).flat_map(move |i| (0..width).map(move |j| start + i * stride.0 + j * stride.1))
}

/// The number of worlds of operands that have each one row per world or one for all.
///
/// # Errors
/// If two operands disagree.
pub(crate) fn worlds(name: &str, operands: &[&Rows]) -> Result<usize> {
    let mut worlds = 1;
    for rows in operands.iter().map(|operand| operand.rows()) {
        match (worlds, rows) {
            (_, 1) => {}
            (1, n) => worlds = n,
            (n, m) if n == m => {}
            (n, m) => bail!("{name}: operands of {n} and {m} worlds; expected the same number, or one row for all"),
        }
    }
    Ok(worlds)
}

/// Results as storage of a custom operation.
///
/// # Errors
/// If `dtype` is neither `f32` nor `f64`.
pub(crate) fn storage(data: Vec<f64>, dtype: DType) -> Result<CpuStorage> {
    match dtype {
        DType::F64 => Ok(CpuStorage::F64(data)),
        #[expect(clippy::cast_possible_truncation)]
        DType::F32 => Ok(CpuStorage::F32(data.into_iter().map(|x| x as f32).collect())),
        other => bail!("expected a tensor of f32 or f64, got {other:?}"),
    }
}

/// Makes NaN of the gradients of each of so many worlds whose given gradient is not finite: kernels clear what is not.
pub(crate) fn pass_on_no_numbers<const N: usize>(given: &Rows, worlds: usize, gradients: [&mut Vec<f64>; N]) {
    let is_number = |world: &usize| given.row(*world).iter().all(|x| x.is_finite());
    let wrong: Vec<usize> = (0..worlds).filter(|world| !is_number(world)).collect();
    for rows in gradients {
        let width = rows.len() / worlds.max(1);
        wrong.iter().for_each(|world| rows[world * width..][..width].fill(f64::NAN));
    }
}

/// Rows of `width` numbers, one for each world, as a gradient for an operand with `rows` rows: see [`gradient`].
///
/// # Errors
/// If `dtype` is neither `f32` nor `f64`.
pub(crate) fn whole_gradient(data: Vec<f64>, width: usize, rows: usize, dtype: DType) -> Result<Tensor> {
    if rows * width == data.len() {
        return Tensor::from_vec(data, (rows, width), &Device::Cpu)?.to_dtype(dtype);
    }
    gradient(&data, width, 0..width, rows, dtype)
}

/// The columns `columns` of rows of `width` numbers as a gradient for an operand with `rows` rows:
/// summed over the worlds if the operand has one row for all of them.
///
/// # Errors
/// If `dtype` is neither `f32` nor `f64`.
pub(crate) fn gradient(data: &[f64], width: usize, columns: Range<usize>, rows: usize, dtype: DType) -> Result<Tensor> {
    let n = columns.len();
    let worlds = data.len() / width.max(1);
    let mut gradient = Vec::with_capacity(rows * n);
    if rows == worlds {
        data.chunks(width.max(1)).for_each(|row| gradient.extend_from_slice(&row[columns.clone()]));
    } else {
        gradient.resize(n, 0.0);
        for row in data.chunks(width.max(1)) {
            gradient.iter_mut().zip(&row[columns.clone()]).for_each(|(sum, x)| *sum += x);
        }
    }
    Tensor::from_vec(gradient, (rows, n), &Device::Cpu)?.to_dtype(dtype)
}
