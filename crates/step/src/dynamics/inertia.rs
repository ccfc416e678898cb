//! The ten inertia numbers of a body, in which its forces are linear, from mass, centre of mass and inertia tensor.

use candle_core::{Device, Result, Tensor};

use crate::tensor::operation::{Function, Kernels, Operation, Signature};
use fingertip_lanes::lane::{Lane, Packed, Real, Single, copy};
use fingertip_lanes::vector::{Vec3, add, dot, scale};
use fingertip_scene::Inertia;

use super::links::{INERTIA, PAIRS};

/// M, M c and the inertia about the body frame's origin, J = I_c + M (c² 1 − c cᵀ).
pub(super) fn ten(inertia: &Inertia) -> [f64; INERTIA] {
    let Inertia { mass, com, matrix } = inertia;
    // A matrix that is symmetric up to rounding.
    let tensor = PAIRS.map(|(i, j)| 0.5 * (matrix[(i, j)] + matrix[(j, i)]));
    let plain = |x: f64| Single::<f64, false>::splat(x);
    ten_of(plain(*mass), [com.x, com.y, com.z].map(plain), tensor.map(plain)).map(|x| x.get(0))
}

/// The ten numbers in lanes, of a mass, a centre of mass, and xx, xy, xz, yy, yz, zz about it.
#[inline(always)]
pub(crate) fn ten_of<R: Real>(mass: R, com: Vec3<R>, tensor: [R; 6]) -> [R; INERTIA] {
    let first = scale(mass, com);
    let ([x, y, z], [xx, xy, xz, yy, yz, zz]) = (com, tensor);
    let [fx, fy, fz] = first;
    let (sx, sy, sz) = (fx * x, fy * y, fz * z);
    let about = [xx + (sy + sz), xy - fx * y, xz - fx * z, yy + (sx + sz), yz - fy * z, zz + (sx + sy)];
    [mass, fx, fy, fz, about[0], about[1], about[2], about[3], about[4], about[5]]
}

/// The gradients of mass, centre of mass and tensor, given those of [`ten_of`].
#[inline(always)]
pub(crate) fn vjp_ten<R: Real>(mass: R, com: Vec3<R>, grad: &[R; INERTIA]) -> (R, Vec3<R>, [R; 6]) {
    let [of_mass, fx, fy, fz, xx, xy, xz, yy, yz, zz] = *grad;
    let (first, [x, y, z]) = ([fx, fy, fz], com);
    // The shift over M is a quadratic form in c: this is its slope, and half of its product with c its value.
    let slope = [
        (yy + zz).scale(2.0) * x - (xy * y + xz * z),
        (xx + zz).scale(2.0) * y - (xy * x + yz * z),
        (xx + yy).scale(2.0) * z - (xz * x + yz * y),
    ];
    let of_mass = of_mass + dot(first, com) + dot(slope, com).scale(0.5);
    (of_mass, scale(mass, add(first, slope)), [xx, xy, xz, yy, yz, zz])
}

/// Inertias (B, 10 n) as [`super::Dynamics::with_inertias`] takes them, from the masses (B, n) in kg, the centres of
/// mass (B, n, 3) in m and the inertias about them (B, n, 6) as xx, xy, xz, yy, yz, zz in kg·m², all in the bodies'
/// frames. Gradients reach all three.
///
/// # Errors
/// If the shapes are wrong.
pub fn inertias_of(mass: &Tensor, com: &Tensor, tensor: &Tensor) -> Result<Tensor> {
    let (b, n) = mass.dims2()?;
    for (name, tensor, width) in [("com", com, 3), ("tensor", tensor, 6)] {
        if tensor.dims() != [b, n, width] {
            candle_core::bail!("{name}: expected shape ({b}, {n}, {width}), got {:?}", tensor.shape());
        }
    }
    let on_cpu = |t: &Tensor| t.flatten_from(1)?.to_device(&Device::Cpu)?.contiguous();
    let op = Operation::rowwise(Ten(n), &Kernels::default());
    on_cpu(mass)?.apply_op3(&on_cpu(com)?, &on_cpu(tensor)?, op)?.to_device(mass.device())
}

/// (masses, centres of mass, tensors) of so many bodies → their inertias.
struct Ten(usize);

/// The part of body `b`.
#[inline(always)]
fn of_body<R: Real, const N: usize>(from: &[R], b: usize) -> [R; N] {
    std::array::from_fn(
        #[inline(always)]
        |k| from[N * b + k],
    )
}

impl Function<3> for Ten {
    fn signature(&self) -> Signature<3> {
        let operands = [("mass", self.0), ("com", 3 * self.0), ("tensor", 6 * self.0)];
        Signature { name: "inertias", operands, width: INERTIA * self.0 }
    }

    #[inline(always)]
    fn value<R: Lane>(&self, [mass, com, tensor]: [&[R]; 3], _: &mut [R], out: &mut [R]) {
        for b in R::parts(0..self.0) {
            let ten = ten_of(mass[b], of_body(com, b), of_body(tensor, b));
            copy(&mut out[INERTIA * b..INERTIA * (b + 1)], &ten);
        }
    }

    #[inline(always)]
    fn vjp<R: Lane>(
        &self,
        [mass, com, _]: [&[R]; 3],
        _: &mut [R],
        grad: &[R],
        [to_mass, to_com, to_tensor]: [&mut [R]; 3],
    ) {
        for b in R::parts(0..self.0) {
            let (of_mass, of_com, of_tensor) = vjp_ten(mass[b], of_body(com, b), &of_body(grad, b));
            to_mass[b] = of_mass;
            copy(&mut to_com[3 * b..3 * (b + 1)], &of_com);
            copy(&mut to_tensor[6 * b..6 * (b + 1)], &of_tensor);
        }
    }
}
