//! Vectors of N numbers: forces and displacements of what bounds them, contacts and others.

use fingertip_lanes::lane::Real;
use fingertip_lanes::vector::Vec3;

/// N zeros.
#[inline(always)]
pub(crate) fn zero<R: Real, const N: usize>() -> [R; N] {
    [R::zero(); N]
}

/// `yes` in worlds where the mask is set, `no` in the others.
#[inline(always)]
pub(crate) fn select<R: Real, const N: usize>(mask: R::Mask, yes: [R; N], mut no: [R; N]) -> [R; N] {
    for k in 0..N {
        no[k] = R::select(mask, yes[k], no[k]);
    }
    no
}

/// a + b.
#[inline(always)]
pub(crate) fn add<R: Real, const N: usize>(mut a: [R; N], b: [R; N]) -> [R; N] {
    for k in 0..N {
        a[k] += b[k];
    }
    a
}

/// a − b.
#[inline(always)]
pub(crate) fn sub<R: Real, const N: usize>(mut a: [R; N], b: [R; N]) -> [R; N] {
    for k in 0..N {
        a[k] -= b[k];
    }
    a
}

/// s a.
#[inline(always)]
pub(crate) fn scale<R: Real, const N: usize>(s: R, mut a: [R; N]) -> [R; N] {
    for k in 0..N {
        a[k] = s * a[k];
    }
    a
}

/// s a + b, with fused multiply-adds.
#[inline(always)]
pub(crate) fn axpy<R: Real, const N: usize>(s: R, a: [R; N], mut b: [R; N]) -> [R; N] {
    for k in 0..N {
        b[k] = s.mul_add(a[k], b[k]);
    }
    b
}

/// a · b.
#[inline(always)]
pub(crate) fn dot<R: Real, const N: usize>(a: [R; N], b: [R; N]) -> R {
    let mut sum = a[N - 1] * b[N - 1];
    for k in 2..=N {
        sum = a[N - k].mul_add(b[N - k], sum);
    }
    sum
}

/// The matrix with these rows times a.
#[inline(always)]
pub(crate) fn transform<R: Real, const N: usize, const M: usize>(rows: &[[R; M]; N], a: [R; M]) -> [R; N] {
    let mut all = zero();
    for k in 0..N {
        all[k] = dot(rows[k], a);
    }
    all
}

/// The transpose of the matrix with these rows times a.
#[inline(always)]
pub(crate) fn transform_back<R: Real, const N: usize, const M: usize>(rows: &[[R; M]; N], a: [R; N]) -> [R; M] {
    let mut sum = scale(a[N - 1], rows[N - 1]);
    for k in 2..=N {
        sum = axpy(a[N - k], rows[N - k], sum);
    }
    sum
}

/// The first three numbers.
#[inline(always)]
pub(crate) fn first<R: Real, const N: usize>(a: [R; N]) -> Vec3<R> {
    [a[0], a[1], a[2]]
}

/// Three numbers, then zeros.
#[inline(always)]
#[expect(clippy::manual_memcpy, reason = "numbers stay in registers")]
pub(crate) fn extended<R: Real, const N: usize>(a: Vec3<R>) -> [R; N] {
    let mut all = zero();
    for k in 0..3 {
        all[k] = a[k];
    }
    all
}
