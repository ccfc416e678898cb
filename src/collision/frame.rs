//! Products of a rotation and a vector, written out: they are most of a distance's arithmetic.

use nalgebra::{Matrix3, Vector3};

/// R v.
pub(super) fn turned(r: &Matrix3<f64>, v: &Vector3<f64>) -> Vector3<f64> {
    Vector3::new(
        r.m11 * v.x + r.m12 * v.y + r.m13 * v.z,
        r.m21 * v.x + r.m22 * v.y + r.m23 * v.z,
        r.m31 * v.x + r.m32 * v.y + r.m33 * v.z,
    )
}

/// Rᵀ v.
pub(super) fn turned_back(r: &Matrix3<f64>, v: &Vector3<f64>) -> Vector3<f64> {
    Vector3::new(
        r.m11 * v.x + r.m21 * v.y + r.m31 * v.z,
        r.m12 * v.x + r.m22 * v.y + r.m32 * v.z,
        r.m13 * v.x + r.m23 * v.y + r.m33 * v.z,
    )
}
