//! The contact frame of [`crate::contact::frame`] on lanes, and its derivative by the normal.

use super::total::sign;
use crate::contact::JUMP;
use fingertip_lanes::lane::Real;
use fingertip_lanes::vector::{Mat3, Vec3};

/// The contact frame F for the unit normal n: rows n, t₁, t₂.
#[inline(always)]
pub(crate) fn frame<R: Real>(n: Vec3<R>) -> Mat3<R> {
    let [x, y, z] = n;
    let side = sign(z - R::splat(JUMP));
    let a = -(R::one() / (side + z));
    let b = a * x * y;
    [n, [(side * a * x).mul_add(x, R::one()), side * b, -(side * x)], [b, (a * y).mul_add(y, side), -y]]
}

/// The 3 × 3 matrix ∂(F f)/∂n for a constant vector f, where F is the contact frame for the normal n.
#[inline(always)]
pub(crate) fn frame_rates<R: Real>(n: Vec3<R>, f: Vec3<R>) -> Mat3<R> {
    let [x, y, z] = n;
    let side = sign(z - R::splat(JUMP));
    let a = -(R::one() / (side + z));
    let (ax, ay) = (a * x, a * y);
    // Both tangents are a (n_x f_x + n_y f_y) times n_x, n_y, except for linear terms; ∂a/∂n_z = a².
    let across = x.mul_add(f[0], y * f[1]);
    let along_a = a * a * across;
    let first = [ax.scale(2.0).mul_add(f[0], ay.mul_add(f[1], -f[2])), ax * f[1], x * along_a];
    [
        f,
        [side * first[0], side * first[1], side * first[2]],
        [ay * f[0], ax.mul_add(f[0], ay.scale(2.0).mul_add(f[1], -f[2])), y * along_a],
    ]
}
