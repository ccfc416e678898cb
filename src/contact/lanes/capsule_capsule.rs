//! Capsule A, capsule B: crossing axes are parted along their common perpendicular u_A × u_B, overlapping parallel
//! ones along A's x axis.

use super::core::Between;
use super::sides::{Contacts, Gradients, Reaction, Side};
use super::total::{Limited, Unit, limited, unit};
use crate::math::lane::{Mask, Real};
use crate::math::vector::{Vec3, add, axpy, cross, dot, scale, sub};

/// Cores count as parallel up to this squared sine of their angle, where rounding leaves nothing of the place at which their lines
/// come closest.
const PARALLEL: f64 = 1e-16;

/// The closest points of the cores x(s) = c + s u, |s| ≤ h, u of length one.
struct Closest<R: Real> {
    /// c_B − c_A.
    apart: Vec3<R>,
    /// u_A · u_B.
    cosine: R,
    along_b: R,
    /// u_A × u_B.
    across: Vec3<R>,
    are_parallel: R::Mask,
    /// 1 where the cores are parallel.
    sine_squared: R,
    /// s on the crossing lines.
    crossing: R,
    /// The ends of the common stretch of parallel cores.
    stretch: [Limited<R>; 2],
    /// s limited, then t for it, then s for that.
    first_s: Limited<R>,
    t: Limited<R>,
    s: Limited<R>,
    fallback: Unit<R, 3>,
    between: Between<R>,
}

#[inline(always)]
fn closest<R: Real>(a: &Side<R>, b: &Side<R>) -> Closest<R> {
    let (u_a, u_b, h_a, h_b) = (a.pose.axes[2], b.pose.axes[2], a.size[1], b.size[1]);
    let apart = sub(b.pose.p, a.pose.p);
    let cosine = dot(u_a, u_b);
    let (along_a, along_b) = (dot(u_a, apart), dot(u_b, apart));
    let across = cross(u_a, u_b);
    let sine_squared = dot(across, across);
    let are_parallel = sine_squared.gt(R::splat(PARALLEL)).not();

    let sine_squared = R::select(are_parallel, R::one(), sine_squared);
    let crossing = (along_a - cosine * along_b) / sine_squared;
    let stretch = [limited(along_a - h_b, h_a), limited(along_a + h_b, h_a)];
    let middle = (stretch[0].value + stretch[1].value).scale(0.5);

    let first_s = limited(R::select(are_parallel, middle, crossing), h_a);
    let t = limited(cosine * first_s.value - along_b, h_b);
    let s = limited(cosine * t.value + along_a, h_a);
    let between = Between {
        core_a: axpy(s.value, u_a, a.pose.p),
        radius_a: a.size[0],
        core_b: axpy(t.value, u_b, b.pose.p),
        radius_b: b.size[0],
    };
    let fallback = unit(across, a.pose.axes[0]);
    Closest {
        apart,
        cosine,
        along_b,
        across,
        are_parallel,
        sine_squared,
        crossing,
        stretch,
        first_s,
        t,
        s,
        fallback,
        between,
    }
}

#[inline(always)]
pub(super) fn witness<R: Real>(a: &Side<R>, b: &Side<R>, out: &mut Contacts<R>) {
    let closest = closest(a, b);
    out.set(0, closest.between.contact(closest.fallback.value));
}

#[inline(always)]
pub(super) fn pull<R: Real>(a: &Side<R>, b: &Side<R>, grad: &Gradients<R>, [on_a, on_b]: &mut [Reaction<R>; 2]) {
    let (u_a, u_b) = (a.pose.axes[2], b.pose.axes[2]);
    let at = closest(a, b);
    let (pulls, fallback) = at.between.pull(at.fallback.value, &grad.get(0));
    let zero = R::zero();

    // Backwards through s(t), t(s) and the first s.
    let grad_s = dot(u_a, pulls.core_a);
    let through_s = at.s.of_x * grad_s;
    let grad_t = at.cosine.mul_add(through_s, dot(u_b, pulls.core_b));
    let through_t = at.t.of_x * grad_t;
    let grad_first = at.cosine * through_t;
    let through_first = at.first_s.of_x * grad_first;
    let on_line = R::select(at.are_parallel, zero, through_first) / at.sine_squared;
    let on_stretch = R::select(at.are_parallel, through_first, zero).scale(0.5);
    let [first, last] = at.stretch;
    let through_stretch = [first.of_x * on_stretch, last.of_x * on_stretch];

    let grad_along_a = through_s + on_line + through_stretch[0] + through_stretch[1];
    let grad_along_b = -(at.cosine.mul_add(on_line, through_t));
    let grad_cosine = through_s.mul_add(at.t.value, through_t.mul_add(at.first_s.value, -(at.along_b * on_line)));
    let grad_square = R::select(at.are_parallel, zero, -(at.crossing * on_line));
    let grad_across = axpy(grad_square + grad_square, at.across, at.fallback.pull(fallback));
    let apart = axpy(grad_along_a, u_a, scale(grad_along_b, u_b));

    on_a.push(sub(pulls.core_a, apart));
    on_b.push(add(pulls.core_b, apart));
    let turn_a = axpy(grad_cosine, u_b, axpy(grad_along_a, at.apart, cross(u_b, grad_across)));
    let turn_b = axpy(grad_cosine, u_a, axpy(grad_along_b, at.apart, cross(grad_across, u_a)));
    on_a.turn(u_a, axpy(at.s.value, pulls.core_a, turn_a));
    on_b.turn(u_b, axpy(at.t.value, pulls.core_b, turn_b));
    on_a.turn(a.pose.axes[0], at.fallback.pull_fallback(fallback));
    on_a.size[0] += pulls.radius_a;
    on_b.size[0] += pulls.radius_b;
    let of_ends = (first.of_limit + last.of_limit) * on_stretch;
    on_a.size[1] += at.s.of_limit * grad_s + at.first_s.of_limit * grad_first + of_ends;
    on_b.size[1] += at.t.of_limit * grad_t + through_stretch[1] - through_stretch[0];
}
