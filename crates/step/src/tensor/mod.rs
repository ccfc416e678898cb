//! Small vectors as tensors: the last dimension is x, y, z, all dimensions before it are a batch.
//!
//! Every function is made of differentiable candle operations and is total: values and gradients are finite for finite
//! input. Scalars keep their last dimension (.., 1), so that they broadcast against vectors. Shapes broadcast.

pub(crate) mod known;
pub(crate) mod operation;
pub(crate) mod rows;

use std::ops::Deref;

use candle_core::backend::BackendStorage;
use candle_core::{CpuStorage, CudaStorage, CustomOp1, D, DType, Device, Layout, Result, Shape, Storage, Tensor};
use fingertip_lanes::lane::Precision;

/// Copies of worlds whose gradients are computed together for Jacobians: so many rows are in memory at a time, or those
/// of one world.
pub const COPIES: usize = 4096;

/// A constant with the type and on the device of `like`, of shape (1, .., 1, k): it broadcasts against `like`.
pub fn constant(values: &[f64], like: &Tensor) -> Result<Tensor> {
    let mut shape = vec![1; like.rank()];
    if let Some(last) = shape.last_mut() {
        *last = values.len();
    }
    Tensor::from_slice(values, shape, like.device())?.to_dtype(like.dtype())
}

/// Indices as a tensor (n) on a device.
pub fn index(values: impl Iterator<Item = usize>, device: &Device) -> Result<Tensor> {
    let values: Vec<u32> = values.map(|i| u32::try_from(i).unwrap_or(u32::MAX)).collect();
    let n = values.len();
    Tensor::from_vec(values, n, device)
}

/// All numbers, row after row, in double precision.
pub fn numbers(tensor: &Tensor) -> Result<Vec<f64>> {
    let (storage, layout) = tensor.storage_and_layout();
    if let Storage::Cpu(CpuStorage::F64(all)) = &*storage {
        return Ok(run_by_run(all, layout));
    }
    tensor.flatten_all()?.to_dtype(DType::F64)?.to_vec1()
}

/// The numbers of a tensor in groups, as three numbers of a vector, where they are: see [`read`].
#[derive(Clone, Copy, Debug)]
pub struct Groups<'a, const W: usize> {
    all: &'a [f64],
    start: usize,
    /// How far the next group is from one.
    stride: usize,
    len: usize,
}

impl<'a, const W: usize> Groups<'a, W> {
    /// The number of groups.
    #[expect(clippy::len_without_is_empty, reason = "there are as many as there are contacts")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// The numbers of a group.
    #[inline(always)]
    pub fn get(&self, k: usize) -> [f64; W] {
        let at = self.start + self.stride * k;
        let from = &self.all[at..at + W];
        std::array::from_fn(
            #[inline(always)]
            |i| from[i],
        )
    }

    /// The groups of a view of a tensor of double precision on the CPU, if they are as far from each other everywhere.
    fn in_place(storage: &'a Storage, layout: &Layout) -> Option<Self> {
        let Storage::Cpu(CpuStorage::F64(all)) = storage else { return None };
        let (outer, run) = runs(layout);
        let mut many = layout.dims()[..outer].iter().zip(layout.stride()).filter(|(n, _)| **n != 1);
        let stride = match (many.next(), many.next()) {
            (None, None) if run.is_multiple_of(W) => W,
            (Some((_, &stride)), None) if run == W => stride,
            _ => return None,
        };
        Some(Self { all, start: layout.start_offset(), stride, len: layout.shape().elem_count() / W })
    }
}

/// The numbers of a tensor, to be [read in groups](Reader::groups) of W: in place where candle has them as a part of
/// rows.
#[derive(Debug)]
pub struct Reader<'a, G, const W: usize> {
    guard: (G, &'a Layout),
    copy: Vec<f64>,
}

/// Opens a tensor for reading in groups of W numbers, in double precision.
///
/// # Errors
/// If numbers cannot be copied to the CPU.
pub fn read<const W: usize>(tensor: &Tensor) -> Result<Reader<'_, impl Deref<Target = Storage>, W>> {
    let guard = tensor.storage_and_layout();
    let is_there = Groups::<W>::in_place(&guard.0, guard.1).is_some();
    Ok(Reader { copy: if is_there { Vec::new() } else { numbers(tensor)? }, guard })
}

impl<G: Deref<Target = Storage>, const W: usize> Reader<'_, G, W> {
    /// The numbers in groups.
    pub fn groups(&self) -> Groups<'_, W> {
        let copy = Groups { all: &self.copy, start: 0, stride: W, len: self.copy.len() / W };
        Groups::in_place(&self.guard.0, self.guard.1).unwrap_or(copy)
    }
}

/// The number of dimensions before the last ones whose numbers follow each other, and how many these are.
fn runs(layout: &Layout) -> (usize, usize) {
    let (dims, strides) = (layout.dims(), layout.stride());
    let (mut outer, mut run) = (dims.len(), 1);
    while outer > 0 && (strides[outer - 1] == run || dims[outer - 1] == 1) {
        outer -= 1;
        run *= dims[outer];
    }
    (outer, run)
}

/// The numbers of a view, row after row. Of parts of rows, as results are, candle copies number by number.
fn run_by_run(all: &[f64], layout: &Layout) -> Vec<f64> {
    let (dims, strides) = (layout.dims(), layout.stride());
    let (outer, run) = runs(layout);
    let mut numbers = Vec::with_capacity(layout.shape().elem_count());
    for k in 0..dims[..outer].iter().product() {
        let (mut start, mut rest) = (layout.start_offset(), k);
        for (&n, &stride) in dims[..outer].iter().zip(&strides[..outer]).rev() {
            start += rest % n * stride;
            rest /= n;
        }
        numbers.extend_from_slice(&all[start..start + run]);
    }
    numbers
}

/// [`Tensor::narrow`], except that an empty part is a tensor of its own: candle panics when it reads an empty view that
/// starts behind the end of the tensor that it views.
pub fn part(tensor: &Tensor, dim: usize, start: usize, len: usize) -> Result<Tensor> {
    let part = tensor.narrow(dim, start, len)?;
    if part.elem_count() > 0 { Ok(part) } else { Tensor::zeros(part.shape(), part.dtype(), part.device()) }
}

/// [`Tensor::index_select`] that also works for empty results: candle's GPU kernels fail without numbers.
pub fn gather(tensor: &Tensor, index: &Tensor, dim: usize) -> Result<Tensor> {
    let mut shape = tensor.dims().to_vec();
    shape[dim] = index.dim(0)?;
    if shape.contains(&0) {
        return Tensor::zeros(shape, tensor.dtype(), tensor.device());
    }
    tensor.contiguous()?.index_select(index, dim)
}

/// [`Tensor::cat`] that also works if parts are empty: candle's gradients on a GPU fail for those.
pub fn beside(parts: &[&Tensor], dim: usize) -> Result<Tensor> {
    let there: Vec<&Tensor> = parts.iter().copied().filter(|part| part.elem_count() > 0).collect();
    if !there.is_empty() {
        return Tensor::cat(&there, dim);
    }
    let mut shape = parts[0].dims().to_vec();
    shape[dim] = parts.iter().map(|part| part.dims()[dim]).sum();
    Tensor::zeros(shape, parts[0].dtype(), parts[0].device())
}

/// Lengths up to this one, m, count as zero where a direction is computed: see [`Precision::no_length`].
pub const fn no_length(dtype: DType) -> f64 {
    match dtype {
        DType::F32 => Precision::Single.no_length(),
        _ => Precision::Double.no_length(),
    }
}

/// The numbers, or 0 for those that are infinite or NaN.
pub fn finite_or_zero(x: &Tensor) -> Result<Tensor> {
    let zero = x.zeros_like()?;
    (x * 0.0)?.eq(&zero)?.where_cond(x, &zero)
}

/// Expands a tracked x (1 or B, n) to a row for each world (B, n), so that a bad world does not spoil a shared
/// gradient: numbers of a world's gradient that are not finite are dropped before the gradients of a shared row are
/// summed. An empty x gets no gradient: candle's GPU kernels fail without numbers.
pub fn guarded(x: &Tensor, worlds: usize) -> Result<Tensor> {
    if !x.track_op() || x.elem_count() == 0 {
        return Ok(if x.elem_count() == 0 { x.detach() } else { x.clone() });
    }
    x.broadcast_as((worlds, x.dim(1)?))?.force_contiguous()?.apply_op1(Guard)
}

/// The identity on numbers that fill their storage, whose gradient is [`finite_or_zero`].
struct Guard;

impl CustomOp1 for Guard {
    fn name(&self) -> &'static str {
        "guard"
    }

    fn cpu_fwd(&self, x: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        Ok((x.try_clone(layout)?, layout.shape().clone()))
    }

    fn cuda_fwd(&self, x: &CudaStorage, layout: &Layout) -> Result<(CudaStorage, Shape)> {
        Ok((x.try_clone(layout)?, layout.shape().clone()))
    }

    fn bwd(&self, _: &Tensor, _: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        finite_or_zero(grad).map(Some)
    }
}

/// a · b (.., 1).
pub fn dot(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    a.broadcast_mul(b)?.sum_keepdim(D::Minus1)
}

/// a × b (.., 3).
pub fn cross(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let turned = |v: &Tensor| -> Result<[Tensor; 2]> {
        let [x, y, z] = components(v)?;
        Ok([Tensor::cat(&[&y, &z, &x], D::Minus1)?, Tensor::cat(&[&z, &x, &y], D::Minus1)?])
    };
    let ([a_yzx, a_zxy], [b_yzx, b_zxy]) = (turned(a)?, turned(b)?);
    a_yzx.broadcast_mul(&b_zxy)? - a_zxy.broadcast_mul(&b_yzx)?
}

/// The components (.., 1) of vectors (.., 3).
pub fn components(v: &Tensor) -> Result<[Tensor; 3]> {
    let last = v.rank() - 1;
    Ok([v.narrow(last, 0, 1)?, v.narrow(last, 1, 1)?, v.narrow(last, 2, 1)?])
}

/// a + s b, with s (.., 1).
pub fn along(a: &Tensor, s: &Tensor, b: &Tensor) -> Result<Tensor> {
    a.broadcast_add(&s.broadcast_mul(b)?)
}

/// `yes` where `mask` (u8) is not zero, `no` elsewhere; all three broadcast to `mask`'s and `yes`'s common shape.
///
/// The branch that is not taken gets a gradient of exactly zero, which becomes NaN if that branch divides by zero:
/// replace the argument of the division, not its result.
pub fn select(mask: &Tensor, yes: &Tensor, no: &Tensor) -> Result<Tensor> {
    let shape = mask.shape().broadcast_shape_binary_op(yes.shape(), "select")?;
    let shape = shape.broadcast_shape_binary_op(no.shape(), "select")?;
    mask.broadcast_as(&shape)?.where_cond(&yes.broadcast_as(&shape)?, &no.broadcast_as(&shape)?)
}

/// x limited to [−limit, limit]; at and beyond the limit the gradient goes to the limit.
pub fn clamp(x: &Tensor, limit: &Tensor) -> Result<Tensor> {
    let limit = limit.broadcast_as(x.shape())?;
    let opposite = limit.neg()?;
    let x = x.lt(&limit)?.where_cond(x, &limit)?;
    x.gt(&opposite)?.where_cond(&x, &opposite)
}

/// The sign of x as a constant without gradient: −1 below zero, else +1.
pub fn sign(x: &Tensor) -> Result<Tensor> {
    x.detach().ge(0.0)?.to_dtype(x.dtype())?.affine(2.0, -1.0)
}

/// Positions (.., 3) of poses (.., 12): position, then the columns of the rotation matrix.
pub fn position(pose: &Tensor) -> Result<Tensor> {
    pose.narrow(D::Minus1, 0, 3)
}

/// Column `k` (0, 1, 2) of the rotation matrices of poses: the frame's axis in the world (.., 3).
pub fn axis(pose: &Tensor, k: usize) -> Result<Tensor> {
    pose.narrow(D::Minus1, 3 + 3 * k, 3)
}

/// R v: vectors in the frames of poses (.., 12) to the world.
pub fn rotate(pose: &Tensor, v: &Tensor) -> Result<Tensor> {
    let [x, y, z] = components(v)?;
    let rotated = x.broadcast_mul(&axis(pose, 0)?)?;
    along(&along(&rotated, &y, &axis(pose, 1)?)?, &z, &axis(pose, 2)?)
}

/// Rᵀ v: vectors in the world to the frames of poses (.., 12).
pub fn rotate_back(pose: &Tensor, v: &Tensor) -> Result<Tensor> {
    let axes = pose.narrow(D::Minus1, 3, 9)?;
    let mut shape = axes.dims().to_vec();
    shape.pop();
    shape.extend([3, 3]);
    let axes = axes.reshape(shape)?;
    axes.broadcast_mul(&v.unsqueeze(v.rank() - 1)?)?.sum(D::Minus1)
}
