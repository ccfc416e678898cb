//! Cylinder A, half-space B: fixed points for standing, moving ones for lying and rolling.
//!
//! The point of a cap that is deepest below the plane, c ± h a − r m/‖m‖ with m = N − (N·a) a, is where a lying or
//! tilted cylinder touches; but it runs round the rim ever faster as the cylinder comes to stand upright (m → 0), where
//! it is not defined. So there are both: four rim points on each cap, fixed on the body, on which it stands; and
//! on each cap the deepest point, exact from a tilt σ = ‖m‖ of [`UPRIGHT`] on, and below it moved smoothly
//! (with a continuous derivative) to the middle of the cap, where it carries less than the fixed ones:
//!
//! ```text
//! c ± h a − r f m,   f = 1/σ for σ ≥ σ₀,   (2 − σ/σ₀)/σ₀ below.
//! ```
//!
//! The smallest φ of the ten is the exact signed distance for σ ≥ σ₀; below it is too large by less than 0.3 r σ₀.

use super::half_space;
use super::sides::{Contacts, Gradients, Reaction, Side};
use super::total::indicator;
use crate::math::lane::{Mask, Real};
use crate::math::vector::{Vec3, add, axpy, dot, rotate, rotate_back, scale, sub, zero};

/// Tilt σ₀ in radians from the plane's normal up to which a cylinder counts as standing.
const UPRIGHT: f64 = 0.01;

/// The fixed points' directions, to be multiplied by (r, r, h).
const RIM: [[f64; 3]; 8] = [
    [1.0, 0.0, -1.0],
    [0.0, 1.0, -1.0],
    [-1.0, 0.0, -1.0],
    [0.0, -1.0, -1.0],
    [1.0, 0.0, 1.0],
    [0.0, 1.0, 1.0],
    [-1.0, 0.0, 1.0],
    [0.0, -1.0, 1.0],
];

/// m = N − (N·a) a and f(σ), σ = ‖m‖.
struct Tilt<R> {
    level: Vec3<R>,
    factor: R,
    /// f̄ times this and m is added to m̄: (df/dσ)/σ, or 0 where σ is as good as zero.
    slope: R,
}

#[inline(always)]
fn tilt<R: Real>(up: Vec3<R>, axis: Vec3<R>) -> Tilt<R> {
    let level = axpy(-dot(up, axis), axis, up);
    let square = dot(level, level);
    let tiny = R::splat(R::precision().no_length().powi(2));
    let counts = square.gt(tiny);
    let sigma = R::select(counts, square, tiny).sqrt();
    let tilted = sigma.lt(R::splat(UPRIGHT)).not();
    let inverse = R::one() / R::select(tilted, sigma, R::one());
    let near_upright = sigma.mul_add(R::splat(-1.0 / (UPRIGHT * UPRIGHT)), R::splat(2.0 / UPRIGHT));
    let slope = R::select(tilted, -(inverse * inverse), R::splat(-1.0 / (UPRIGHT * UPRIGHT)));
    Tilt { level, factor: R::select(tilted, inverse, near_upright), slope: indicator::<R>(counts) * slope / sigma }
}

#[inline(always)]
fn sign<R: Real>(k: usize) -> R {
    R::splat(if k == 0 { -1.0 } else { 1.0 })
}

/// The fixed point k in the cylinder's frame over (r, r, h), and in the world from its origin.
#[inline(always)]
fn fixed<R: Real>(a: &Side<R>, k: usize) -> ([f64; 3], Vec3<R>) {
    let [x, y, z] = RIM[k];
    let local = [a.size[0].scale(x), a.size[0].scale(y), a.size[1].scale(z)];
    (RIM[k], rotate_back(&a.pose.axes, local))
}

#[inline(always)]
pub(super) fn witness<R: Real>(a: &Side<R>, b: &Side<R>, out: &mut Contacts<R>) {
    let (up, axis) = (b.pose.axes[2], a.pose.axes[2]);
    let Tilt { level, factor, .. } = tilt(up, axis);
    let lowest = axpy(-(factor * a.size[0]), level, a.pose.p);
    for k in 0..2 {
        let point = axpy(sign::<R>(k) * a.size[1], axis, lowest);
        out.set(k, half_space::under(point, R::zero(), &b.pose));
    }
    for k in 0..RIM.len() {
        let (_, arm) = fixed(a, k);
        out.set(2 + k, half_space::under(add(a.pose.p, arm), R::zero(), &b.pose));
    }
}

#[inline(always)]
pub(super) fn pull<R: Real>(a: &Side<R>, b: &Side<R>, grad: &Gradients<R>, [on_a, on_b]: &mut [Reaction<R>; 2]) {
    let (up, axis) = (b.pose.axes[2], a.pose.axes[2]);
    let (radius, half_length) = (a.size[0], a.size[1]);
    let Tilt { level, factor, slope } = tilt(up, axis);
    let lowest = axpy(-(factor * radius), level, a.pose.p);
    let mut caps = [zero(); 2];
    for (k, cap) in caps.iter_mut().enumerate() {
        let point = axpy(sign::<R>(k) * half_length, axis, lowest);
        *cap = half_space::pull_under(point, R::zero(), &b.pose, &grad.get(k), on_b).0;
    }
    let [negative, positive] = caps;
    let (both, reach) = (add(negative, positive), sub(positive, negative));
    let along = dot(level, both);
    on_a.push(both);
    on_a.size[0] -= factor * along;
    on_a.size[1] += dot(axis, reach);
    let grad_level = axpy(-(radius * along * slope), level, scale(-(radius * factor), both));
    let across = dot(axis, grad_level);
    on_b.turn(up, axpy(-across, axis, grad_level));
    let grad_axis = axpy(-dot(up, axis), grad_level, scale(-across, up));
    on_a.turn(axis, axpy(half_length, reach, grad_axis));

    for k in 0..RIM.len() {
        let (signs, arm) = fixed(a, k);
        let (point, _) = half_space::pull_under(add(a.pose.p, arm), R::zero(), &b.pose, &grad.get(2 + k), on_b);
        on_a.push(point);
        on_a.turn(arm, point);
        let [x, y, z] = rotate(&a.pose.axes, point);
        on_a.size[0] += x.scale(signs[0]) + y.scale(signs[1]);
        on_a.size[1] += z.scale(signs[2]);
    }
}
