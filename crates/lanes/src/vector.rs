//! 3-D vectors and 3 × 3 matrices over any [`Real`].

use super::lane::Real;

/// A 3-D vector.
pub type Vec3<R> = [R; 3];
/// A 3 × 3 matrix, row by row.
pub type Mat3<R> = [[R; 3]; 3];

/// (0, 0, 0).
#[inline(always)]
pub fn zero<R: Real>() -> Vec3<R> {
    [R::zero(); 3]
}

/// The vector stored in three consecutive numbers of `from`, starting at index `at`.
#[inline(always)]
pub fn vec3_at<R: Real>(from: &[R], at: usize) -> Vec3<R> {
    [from[at], from[at + 1], from[at + 2]]
}

/// Stores the vector `v` in three consecutive numbers of `to`, starting at index `at`.
#[inline(always)]
pub fn put_vec3<R: Real>(to: &mut [R], at: usize, v: Vec3<R>) {
    let to = &mut to[at..at + 3];
    (to[0], to[1], to[2]) = (v[0], v[1], v[2]);
}

/// Adds the vector `v` to three consecutive numbers of `to`, starting at index `at`.
#[inline(always)]
pub fn add_vec3<R: Real>(to: &mut [R], at: usize, v: Vec3<R>) {
    put_vec3(to, at, add(vec3_at(to, at), v));
}

/// Selects the vector a in worlds where the mask is set, b in the others.
#[inline(always)]
pub fn select<R: Real>(mask: R::Mask, a: Vec3<R>, b: Vec3<R>) -> Vec3<R> {
    [R::select(mask, a[0], b[0]), R::select(mask, a[1], b[1]), R::select(mask, a[2], b[2])]
}

/// Vector sum a + b.
#[inline(always)]
pub fn add<R: Real>(a: Vec3<R>, b: Vec3<R>) -> Vec3<R> {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

/// Vector difference a − b.
#[inline(always)]
pub fn sub<R: Real>(a: Vec3<R>, b: Vec3<R>) -> Vec3<R> {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

/// Scaled vector s a.
#[inline(always)]
pub fn scale<R: Real>(s: R, a: Vec3<R>) -> Vec3<R> {
    [s * a[0], s * a[1], s * a[2]]
}

/// Scaled sum of vectors s a + b, with fused multiply-adds.
#[inline(always)]
pub fn axpy<R: Real>(s: R, a: Vec3<R>, b: Vec3<R>) -> Vec3<R> {
    [s.mul_add(a[0], b[0]), s.mul_add(a[1], b[1]), s.mul_add(a[2], b[2])]
}

/// Dot product a · b.
#[inline(always)]
pub fn dot<R: Real>(a: Vec3<R>, b: Vec3<R>) -> R {
    a[0].mul_add(b[0], a[1].mul_add(b[1], a[2] * b[2]))
}

/// Cross product a × b.
#[inline(always)]
pub fn cross<R: Real>(a: Vec3<R>, b: Vec3<R>) -> Vec3<R> {
    [a[1].mul_add(b[2], -(a[2] * b[1])), a[2].mul_add(b[0], -(a[0] * b[2])), a[0].mul_add(b[1], -(a[1] * b[0]))]
}

/// a for side B (1), −a for side A (0): relative motion and force count B's side positive.
#[inline(always)]
pub fn signed<R: Real>(side: usize, a: Vec3<R>) -> Vec3<R> {
    if side == 0 { sub(zero(), a) } else { a }
}

/// Matrix times vector m a: rotates a by the rotation matrix m.
#[inline(always)]
pub fn rotate<R: Real>(m: &Mat3<R>, a: Vec3<R>) -> Vec3<R> {
    [dot(m[0], a), dot(m[1], a), dot(m[2], a)]
}

/// Transposed matrix times vector mᵀ a: rotates a by the inverse of the rotation matrix m.
#[inline(always)]
pub fn rotate_back<R: Real>(m: &Mat3<R>, a: Vec3<R>) -> Vec3<R> {
    axpy(a[0], m[0], axpy(a[1], m[1], scale(a[2], m[2])))
}

/// The transposed matrix mᵀ.
#[inline(always)]
pub fn transposed<R: Real>(&[a, b, c]: &Mat3<R>) -> Mat3<R> {
    [[a[0], b[0], c[0]], [a[1], b[1], c[1]], [a[2], b[2], c[2]]]
}

/// Matrix product a b.
#[inline(always)]
pub fn product<R: Real>(a: &Mat3<R>, b: &Mat3<R>) -> Mat3<R> {
    [rotate_back(b, a[0]), rotate_back(b, a[1]), rotate_back(b, a[2])]
}

/// A constant vector in every world.
#[inline(always)]
pub fn splat<R: Real>(a: [f64; 3]) -> Vec3<R> {
    [R::splat(a[0]), R::splat(a[1]), R::splat(a[2])]
}

/// A constant matrix in every world.
#[inline(always)]
pub fn splat_matrix<R: Real>(m: [[f64; 3]; 3]) -> Mat3<R> {
    [splat(m[0]), splat(m[1]), splat(m[2])]
}
