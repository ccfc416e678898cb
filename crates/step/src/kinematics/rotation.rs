//! Quaternions (w, x, y, z), and Exp and Log of rotations, over any [`Real`], total and smooth at the identity.
//!
//! ```text
//! Exp(ω) = (cos θ/2, s ω),  s = sin(θ/2)/θ,  θ = ‖ω‖        Log(w, v) = k v,  k = 2 atan2(n, w)/n,  n = ‖v‖
//! ```
//!
//! Near zero s, k and their derivatives come from series in θ² and n².

use fingertip_lanes::lane::{Mask, Real, Zip, copy};
use fingertip_lanes::vector::{Mat3, Vec3, add, axpy, cross, dot, scale, zero};

/// Scalar and vector part.
#[derive(Clone, Copy)]
pub(super) struct Quaternion<R> {
    pub(super) w: R,
    pub(super) v: Vec3<R>,
}

/// Squares of quaternions between these have all digits, in single precision too. Others are scaled first.
const SQUARES: [f64; 2] = [1e-20, 1e20];
/// The longest turn, rad, in each direction: neighbouring numbers are an eighth of a radian apart there, so that longer
/// ones say nothing about where it ends. It keeps θ² finite.
pub(super) const LONGEST_TURN: f64 = 1e15;
/// θ² below which s is a series, so that its derivative loses no digits.
const SMALL_ANGLE: f64 = 0.25;
/// s = Σ (−θ²)ᵏ / (2^(2k+1) (2k+1)!): one more term is below 1e-19 of it at [`SMALL_ANGLE`].
const HALF_SINC: [f64; 7] = [
    0.5,
    -1.0 / 48.0,
    1.0 / 3840.0,
    -1.0 / 645_120.0,
    1.0 / 185_794_560.0,
    -1.0 / 81_749_606_400.0,
    1.0 / 51_011_754_393_600.0,
];
/// n² below which k is a series.
const SMALL_SINE: f64 = 0.01;
/// asin(n)/n and √(1 − n²) in powers of n²: one more term is below 1e-17 at [`SMALL_SINE`].
const ASIN: [f64; 8] = [
    1.0,
    1.0 / 6.0,
    3.0 / 40.0,
    15.0 / 336.0,
    105.0 / 3456.0,
    945.0 / 42_240.0,
    10_395.0 / 599_040.0,
    135_135.0 / 9_676_800.0,
];
const COSINE: [f64; 8] = [1.0, -0.5, -0.125, -1.0 / 16.0, -5.0 / 128.0, -7.0 / 256.0, -21.0 / 1024.0, -33.0 / 2048.0];

#[inline(always)]
fn series<R: Real>(x: R, coefficients: impl DoubleEndedIterator<Item = f64>) -> R {
    let mut sum = R::zero();
    for c in coefficients.rev() {
        sum = sum.mul_add(x, R::splat(c));
    }
    sum
}

impl<R: Real> Quaternion<R> {
    #[inline(always)]
    pub(super) fn read(from: &[R]) -> Self {
        Self { w: from[0], v: [from[1], from[2], from[3]] }
    }

    #[inline(always)]
    pub(super) fn write(&self, to: &mut [R]) {
        to[0] = self.w;
        copy(&mut to[1..4], &self.v);
    }

    #[inline(always)]
    pub(super) fn conjugate(self) -> Self {
        Self { w: self.w, v: [-self.v[0], -self.v[1], -self.v[2]] }
    }

    #[inline(always)]
    pub(super) fn times(self, other: Self) -> Self {
        Self {
            w: self.w * other.w - dot(self.v, other.v),
            v: add(cross(self.v, other.v), axpy(self.w, other.v, scale(other.w, self.v))),
        }
    }

    #[inline(always)]
    pub(super) fn scaled(self, s: R) -> Self {
        Self { w: self.w * s, v: scale(s, self.v) }
    }

    #[inline(always)]
    fn dot(self, other: Self) -> R {
        self.w.mul_add(other.w, dot(self.v, other.v))
    }

    /// The unit quaternion and one over the norm, of every quaternion but zero.
    #[inline(always)]
    pub(super) fn unit(self) -> (Self, R) {
        let square = self.dot(self);
        let extreme = square.gt(R::splat(SQUARES[0])).and(square.lt(R::splat(SQUARES[1]))).not();
        let inverse = R::one() / square.sqrt();
        let Self { w, v } = self.scaled(inverse);
        let mut unit = [w, v[0], v[1], v[2], inverse];
        R::when(
            extreme,
            &mut unit,
            #[inline(always)]
            |unit| {
                let Self { w, v } = self;
                let largest = w.abs().max(v[0].abs()).max(v[1].abs().max(v[2].abs()));
                let near_one = Self { w: w / largest, v: [v[0] / largest, v[1] / largest, v[2] / largest] };
                let inverse = R::one() / near_one.dot(near_one).sqrt();
                let Self { w, v } = near_one.scaled(inverse);
                for (x, scaled) in unit.iter_mut().zip_inline([w, v[0], v[1], v[2], inverse / largest]) {
                    *x = R::select(extreme, scaled, *x);
                }
            },
        );
        let [w, x, y, z, inverse] = unit;
        (Self { w, v: [x, y, z] }, inverse)
    }

    /// The gradient by a quaternion, given that by its unit quaternion `self`.
    #[inline(always)]
    pub(super) fn vjp_unit(self, inverse: R, grad: Self) -> Self {
        let along = -self.dot(grad);
        Self { w: along.mul_add(self.w, grad.w), v: axpy(along, self.v, grad.v) }.scaled(inverse)
    }

    #[inline(always)]
    pub(super) fn exp(omega: Vec3<R>) -> Self {
        let omega = bounded(omega);
        let (c, s, _) = half_angle(omega);
        Self { w: c, v: scale(s, omega) }
    }

    /// The differential of Exp(ω) R in tangent coordinates: with respect to R it is E, the rotation matrix of Exp(ω);
    /// with respect to ω it is L, the left Jacobian.
    ///
    /// ```text
    /// E = 1 + 2 s c [ω]× + 2 s² [ω]×²       L = 1 + 2 s² [ω]× + b [ω]×²,  b = (1 − 2 s c)/θ² = s² + 2 c s′/θ
    /// ```
    #[inline(always)]
    pub(super) fn exp_differential(omega: Vec3<R>) -> [Mat3<R>; 2] {
        let omega = bounded(omega);
        let (c, s, ds) = half_angle(omega);
        let twice = (s * s).scale(2.0);
        let b = s.mul_add(s, (c * ds).scale(2.0));
        [skew_polynomial(omega, (s * c).scale(2.0), twice), skew_polynomial(omega, twice, b)]
    }

    /// The gradient by ω, given that by Exp(ω).
    #[inline(always)]
    pub(super) fn vjp_exp(omega: Vec3<R>, grad: Self) -> Vec3<R> {
        let omega = bounded(omega);
        let (_, s, ds) = half_angle(omega);
        let along = ds * dot(omega, grad.v) - (s * grad.w).scale(0.5);
        axpy(along, omega, scale(s, grad.v))
    }

    /// The rotation vector of length π at most: of the two quaternions of a rotation, the one with w ≥ 0 counts.
    #[inline(always)]
    pub(super) fn log(self) -> Vec3<R> {
        let short = self.short();
        scale(short.log_factors().0, short.v)
    }

    /// The gradient by a unit quaternion, given that by its Log.
    #[inline(always)]
    pub(super) fn vjp_log(self, grad: Vec3<R>) -> Self {
        let short = self.short();
        let (k, dk) = short.log_factors();
        let along = dot(short.v, grad);
        let pulled = Self { w: along.scale(-2.0), v: axpy(along * dk, short.v, scale(k, grad)) };
        pulled.scaled(self.side())
    }

    #[inline(always)]
    fn side(self) -> R {
        R::select(self.w.lt(R::zero()), R::splat(-1.0), R::one())
    }

    #[inline(always)]
    fn short(self) -> Self {
        self.scaled(self.side())
    }

    /// k and (∂k/∂n)/n for a unit quaternion with w ≥ 0.
    #[inline(always)]
    fn log_factors(self) -> (R, R) {
        let x = dot(self.v, self.v);
        let small = x.lt(R::splat(SMALL_SINE));
        let safe = R::select(small, R::one(), x);
        let n = safe.sqrt();
        let angle = n.atan2(self.w).scale(2.0);
        let k = angle / n;
        let dk = (self.w.scale(2.0) - k) / safe;
        let near = series(x, ASIN.into_iter().map(|a| 2.0 * a));
        // (2 w − k)/n² without the terms that cancel.
        let dk_near = series(x, (1..ASIN.len()).map(|i| 2.0 * (COSINE[i] - ASIN[i])));
        (R::select(small, near, k), R::select(small, dk_near, dk))
    }
}

/// 1 + x [ω]× + y [ω]×².
#[inline(always)]
fn skew_polynomial<R: Real>(omega: Vec3<R>, x: R, y: R) -> Mat3<R> {
    let diagonal = R::one() - y * dot(omega, omega);
    let mut matrix = [zero(); 3];
    for (i, row) in matrix.iter_mut().enumerate() {
        *row = scale(y * omega[i], omega);
        row[i] += diagonal;
        row[(i + 1) % 3] -= x * omega[(i + 2) % 3];
        row[(i + 2) % 3] += x * omega[(i + 1) % 3];
    }
    matrix
}

/// ω within [`LONGEST_TURN`].
#[inline(always)]
fn bounded<R: Real>(omega: Vec3<R>) -> Vec3<R> {
    let mut within = omega;
    for x in &mut within {
        // In this order NaN stays NaN.
        *x = R::splat(-LONGEST_TURN).max(R::splat(LONGEST_TURN).min(*x));
    }
    within
}

/// cos θ/2, s, and (ds/dθ)/θ.
#[inline(always)]
fn half_angle<R: Real>(omega: Vec3<R>) -> (R, R, R) {
    let x = dot(omega, omega);
    let small = x.lt(R::splat(SMALL_ANGLE));
    let angle = x.sqrt();
    let (sin, cos) = angle.scale(0.5).sin_cos();
    let s = sin / R::select(small, R::one(), angle);
    let ds = (cos.scale(0.5) - s) / R::select(small, R::one(), x);
    let s_near = series(x, HALF_SINC.into_iter());
    // The derivative's factors 2 k.
    let ds_near = series(x, (1..HALF_SINC.len()).map(|k| HALF_SINC[k] * 2.0 * k as f64));
    (cos, R::select(small, s_near, s), R::select(small, ds_near, ds))
}
