//! Rotations of vectors, written out by hand, as they are most of the arithmetic of a distance query.

use nalgebra::{Matrix3, UnitQuaternion, Vector3};

/// The rotation matrix of a unit quaternion.
#[inline]
pub(super) fn matrix(q: &UnitQuaternion<f64>) -> Matrix3<f64> {
    let [x, y, z, w] = q.coords.into();
    let (x2, y2, z2) = (2.0 * x, 2.0 * y, 2.0 * z);
    Matrix3::new(
        1.0 - y * y2 - z * z2,
        x * y2 - w * z2,
        x * z2 + w * y2,
        x * y2 + w * z2,
        1.0 - x * x2 - z * z2,
        y * z2 - w * x2,
        x * z2 - w * y2,
        y * z2 + w * x2,
        1.0 - x * x2 - y * y2,
    )
}

/// Column k of the rotation matrix R: the axis k after the rotation.
#[inline]
pub(super) fn column(r: &Matrix3<f64>, k: usize) -> Vector3<f64> {
    Vector3::new(r[(0, k)], r[(1, k)], r[(2, k)])
}

/// The product R v: rotates the vector v.
#[inline]
pub(super) fn turned(r: &Matrix3<f64>, v: &Vector3<f64>) -> Vector3<f64> {
    Vector3::new(
        r.m11 * v.x + r.m12 * v.y + r.m13 * v.z,
        r.m21 * v.x + r.m22 * v.y + r.m23 * v.z,
        r.m31 * v.x + r.m32 * v.y + r.m33 * v.z,
    )
}

/// The product Rᵀ v: rotates the vector v back.
#[inline]
pub(super) fn turned_back(r: &Matrix3<f64>, v: &Vector3<f64>) -> Vector3<f64> {
    Vector3::new(
        r.m11 * v.x + r.m21 * v.y + r.m31 * v.z,
        r.m12 * v.x + r.m22 * v.y + r.m32 * v.z,
        r.m13 * v.x + r.m23 * v.y + r.m33 * v.z,
    )
}
