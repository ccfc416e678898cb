//! The rolling stiffness of contacts at rest: how strongly gravity holds a body against rolling if one of the two
//! surfaces is curved. `docs/rolling.md` derives it.

use std::ops::Range;
use std::sync::LazyLock;

use super::scalar::{Scalar, V3, cross, dot};
use super::traced::{self, Formula, Places};
use fingertip_lanes::lane::{Mask, Real, inlined};
use fingertip_lanes::layout;

layout! {
    /// The operands of the stiffness.
    pub(crate) struct Operands {
        /// The contact's unit normal, out of what rolls, its point and gap φ, m, and its weight w.
        normal,
        point,
        phi,
        weight,
        /// The centre of mass of what rolls, m.
        centre,
        /// Three axes and three sizes, m: see [`Curved`].
        axes,
        sizes,
        /// The barrier parameter κ, 1/J.
        kappa,
        /// The mass of what rolls, kg.
        mass,
        gravity,
        /// Inertia about the centre of mass (xx, yy, zz, xy, xz, yz), kg·m².
        inertia,
        epsilon,
        h,
    }
}

/// Places of the operands.
pub(crate) const AT: Operands<Range<usize>> = Operands {
    normal: 3,
    point: 3,
    phi: 1,
    weight: 1,
    centre: 3,
    axes: 9,
    sizes: 3,
    kappa: 1,
    mass: 1,
    gravity: 3,
    inertia: 6,
    epsilon: 1,
    h: 1,
}
.from(0);
/// The number of operands.
pub(crate) const OPERANDS: usize = AT.h.end;
/// The number of entries of the symmetric stiffness matrix: xx, yy, zz, xy, xz, yz.
pub(crate) const STIFFNESS: usize = 6;

/// The smoothing e of the function f as a fraction of s: below e, f(x) falls off faster than x.
const SMOOTH: f64 = 1e-3;
/// The limit L of the contact force, in weights of the body.
const MOST: f64 = 10.0;
/// The load on a body, in its weights, with which it has to overshoot to be held at all. It is more than 1 because
/// other things may lie on it.
const LOAD: f64 = 2.0;

/// The curved surface of the contact: the meaning of the operands' axes and sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Curved {
    /// The rolling body is an ellipsoid with these axes and radii.
    Ellipsoid,
    /// The body rolls on the side of a cylinder or capsule. The first axis is that one's, the second that of the
    /// rolling body if it is a line too; the third has no meaning. The first two sizes are both radii (1 if the rolling
    /// body has none), the third is 1 if the rolling body is a line, else 0.
    Line,
}

/// The formula of the stiffness, and k: 2 for the relaxed contact law and 1 for Coulomb's.
struct Rolling(Curved, f64);

impl Formula<OPERANDS, STIFFNESS> for Rolling {
    #[inline(always)]
    fn of<S: Scalar>(&self, v: &[S; OPERANDS]) -> [S; STIFFNESS] {
        match self.0 {
            Curved::Ellipsoid => ellipsoid(self.1, v),
            Curved::Line => line(self.1, v),
        }
    }

    #[inline(always)]
    fn places(&self) -> &'static Places<STIFFNESS> {
        match self.0 {
            Curved::Ellipsoid => &OF_ELLIPSOID,
            Curved::Line => &OF_LINE,
        }
    }
}

/// The rolling stiffness about the world's axes, N·m/rad. `k` is 2 for the relaxed contact law and 1 for Coulomb's: the
/// force on a contact at rest is k w/(κ φ).
#[inline(always)]
pub(crate) fn stiffness<R: Real>(curved: Curved, k: f64, v: &[R; OPERANDS]) -> [R; STIFFNESS] {
    Rolling(curved, k).of(v)
}

/// Is a stiffness more than 0? Where it is not, its derivatives are 0, too.
#[inline(always)]
pub(crate) fn holds<R: Real>([xx, yy, zz, ..]: &[R; STIFFNESS]) -> R::Mask {
    (*xx + *yy + *zz).gt(R::zero())
}

/// The normal force on a contact at rest, N, limited smoothly to at most L, from its φ and weight, κ, and its body's
/// mass and gravity.
#[inline(always)]
pub(super) fn force<S: Scalar>(k: f64, [phi, weight]: [S; 2], kappa: S, mass: S, gravity: V3<S>) -> S {
    let splat = S::Lane::splat;
    let constant = inlined(
        #[inline(always)]
        |x: f64| phi.constant(splat(x)),
    );
    let squared = dot(gravity, gravity);
    let weighs = squared.value().gt(splat(0.0));
    let most = S::choose(weighs, S::choose(weighs, squared, constant(1.0)).root(), constant(0.0));
    let most = (mass * most).times(splat(MOST));
    let counts = weight.value().gt(splat(0.0));
    let share = S::choose(counts, weight, constant(1.0)).times(splat(k));
    let z = kappa * phi * most;
    let z = (z + (z * z + share * share).root()).times(splat(0.5));
    S::choose(counts, share * most / (share * share + z * z).root(), constant(0.0))
}

/// The operand at a place.
#[inline(always)]
pub(super) fn one<S: Copy, const N: usize>(v: &[S; N], at: Range<usize>) -> S {
    v[at.start]
}

/// The first three operands of a place.
#[inline(always)]
pub(super) fn three<S: Copy, const N: usize>(v: &[S; N], at: Range<usize>) -> V3<S> {
    [v[at.start], v[at.start + 1], v[at.start + 2]]
}

/// The six operands of a place.
#[inline(always)]
pub(super) fn six<S: Copy, const N: usize>(v: &[S; N], at: Range<usize>) -> [S; 6] {
    let first = at.start;
    [v[first], v[first + 1], v[first + 2], v[first + 3], v[first + 4], v[first + 5]]
}

/// [`force`] from the operands of the stiffness.
#[inline(always)]
fn force_of<S: Scalar>(k: f64, v: &[S; OPERANDS]) -> S {
    let contact = [one(v, AT.phi), one(v, AT.weight)];
    force(k, contact, one(v, AT.kappa), one(v, AT.mass), three(v, AT.gravity))
}

/// What a step bears without stiffness: how much higher than the centre of mass the centre of curvature may be, m.
#[inline(always)]
fn borne<S: Scalar>(v: &[S; OPERANDS]) -> S {
    let (mass, gravity) = (one(v, AT.mass), three(v, AT.gravity));
    let squared = dot(gravity, gravity);
    let unit = v[0].constant(S::Lane::splat(1.0));
    let pull = S::choose(squared.value().gt(S::Lane::splat(0.0)), squared, unit).root();
    let (inertia, h) = (least_inertia(six(v, AT.inertia)), one(v, AT.h));
    one(v, AT.epsilon) * inertia / (h * h * mass * pull).times(S::Lane::splat(LOAD))
}

/// 1/tr I⁻¹, which is at most the least moment of inertia, kg·m², from I's xx, yy, zz, xy, xz, yz. 0 where I is none.
#[inline(always)]
pub(super) fn least_inertia<S: Scalar>([xx, yy, zz, xy, xz, yz]: [S; 6]) -> S {
    let yy_zz = yy * zz - yz * yz;
    let determinant = xx * yy_zz - xy * (xy * zz - xz * yz) + xz * (xy * yz - xz * yy);
    let minors = yy_zz + (xx * zz - xz * xz) + (xx * yy - xy * xy);
    let there = minors.value().gt(S::Lane::splat(0.0));
    let constant = inlined(
        #[inline(always)]
        |x: f64| xx.constant(S::Lane::splat(x)),
    );
    S::choose(there, determinant, constant(0.0)) / S::choose(there, minors, constant(1.0))
}

/// The place of the k-th of the [axes](Curved).
#[inline(always)]
pub(crate) fn axis(k: usize) -> Range<usize> {
    AT.axes.start + 3 * k..AT.axes.start + 3 * (k + 1)
}

/// The stiffness for [`Curved::Line`]: about the line's axis a across the normal n, a − n (a·n).
#[inline(always)]
fn line<S: Scalar>(k: f64, v: &[S; OPERANDS]) -> [S; STIFFNESS] {
    let (n, point, centre) = (three(v, AT.normal), three(v, AT.point), three(v, AT.centre));
    let (axis, own) = (three(v, AT.axes), three(v, axis(1)));
    let [radius, own_radius, is_line] = three(v, AT.sizes);
    let splat = S::Lane::splat;
    let constant = inlined(
        #[inline(always)]
        |x: f64| v[0].constant(splat(x)),
    );
    let unit = constant(1.0);
    let height = dot(n, [point[0] - centre[0], point[1] - centre[1], point[2] - centre[2]]) + borne(v);
    let leans = dot(axis, n);
    let across = [axis[0] - n[0] * leans, axis[1] - n[1] * leans, axis[2] - n[2] * leans];
    let side = cross(across, n);
    let upright = dot(across, across);
    let (along, stands) = (dot(own, side), dot(own, n));
    let curvature = unit / radius + is_line * (upright - along * along) * (unit - stands * stands) / own_radius;
    let lacks = unit / curvature - height;
    let holds = lacks.value().gt(splat(0.0));
    let lacks = S::choose(holds, lacks, constant(0.0));
    let held = lacks * lacks / (lacks + radius.times(splat(SMOOTH))) * upright * force_of(k, v);
    let entry = inlined(
        #[inline(always)]
        |(i, j): (usize, usize)| held * across[i] * across[j],
    );
    [entry((0, 0)), entry((1, 1)), entry((2, 2)), entry((0, 1)), entry((0, 2)), entry((1, 2))]
}

/// The stiffness for [`Curved::Ellipsoid`].
#[inline(always)]
fn ellipsoid<S: Scalar>(k: f64, v: &[S; OPERANDS]) -> [S; STIFFNESS] {
    let (n, point, centre) = (three(v, AT.normal), three(v, AT.point), three(v, AT.centre));
    let (axes, radii) = ([three(v, axis(0)), three(v, axis(1)), three(v, axis(2))], three(v, AT.sizes));
    let splat = S::Lane::splat;
    let constant = inlined(
        #[inline(always)]
        |x: f64| v[0].constant(splat(x)),
    );
    let force = force_of(k, v);

    // A² n, along the ellipsoid's axes; below also in the world.
    let squares = [radii[0] * radii[0], radii[1] * radii[1], radii[2] * radii[2]];
    let along = [dot(axes[0], n), dot(axes[1], n), dot(axes[2], n)];
    let far = [squares[0] * along[0], squares[1] * along[1], squares[2] * along[2]];
    let s2 = dot(far, along);
    let s = s2.root();
    let height = dot(n, [point[0] - centre[0], point[1] - centre[1], point[2] - centre[2]]) + borne(v);

    // Trace and determinant, first of R across n, then of T.
    let sum = (squares[0] + squares[1] + squares[2] - dot(far, far) / s2) / s;
    let product = squares[0] * squares[1] * squares[2] / (s2 * s2);
    let trace = sum - height.times(splat(2.0));
    let determinant = product - height * (sum - height);

    // f(T) = α (1 − n nᵀ) + β T.
    let e = s.times(splat(SMOOTH));
    let zero = splat(0.0);
    let same = determinant.value().gt(zero);
    let both = same.and(trace.value().gt(zero));
    let [alpha, beta] = {
        let (product, sum) = (S::choose(both, determinant, constant(1.0)), S::choose(both, trace, constant(2.0)));
        let over = product + e * (sum + e);
        [-(e * product / over), (product + e * sum) / over]
    };
    let [alpha_of_one, beta_of_one] = {
        let (product, sum) = (S::choose(same, constant(-1.0), determinant), S::choose(same, constant(0.0), trace));
        let mean = sum.times(splat(0.5));
        let half = (mean * mean - product + (e * e).times(splat(1e-6))).root();
        let (larger, smaller) = (half + mean, half - mean);
        let beta = larger * larger / ((larger + e) * half.times(splat(2.0)));
        [smaller * beta, beta]
    };
    let alpha = S::choose(both, alpha, S::choose(same, constant(0.0), alpha_of_one));
    let beta = S::choose(both, beta, S::choose(same, constant(0.0), beta_of_one));

    // [n]×ᵀ F [n]× = (tr F) (1 − n nᵀ) − F of an F across n.
    let by_plane = force * (alpha + beta * (trace + height));
    let by_curvature = force * beta / s;
    let far = world(axes, far);
    let entry = inlined(
        #[inline(always)]
        |(i, j): (usize, usize)| {
            let one = constant(if i == j { 1.0 } else { 0.0 });
            let squares = squares[0] * axes[0][i] * axes[0][j]
                + squares[1] * axes[1][i] * axes[1][j]
                + squares[2] * axes[2][i] * axes[2][j];
            by_plane * (one - n[i] * n[j]) - by_curvature * (squares - far[i] * far[j] / s2)
        },
    );
    [entry((0, 0)), entry((1, 1)), entry((2, 2)), entry((0, 1)), entry((0, 2)), entry((1, 2))]
}

/// A vector with components v along these axes, in the world.
#[inline(always)]
fn world<S: Scalar>(axes: [V3<S>; 3], v: V3<S>) -> V3<S> {
    let component = inlined(
        #[inline(always)]
        |i: usize| dot([axes[0][i], axes[1][i], axes[2][i]], v),
    );
    [component(0), component(1), component(2)]
}

/// Vector-Jacobian products of [`stiffness`]: the gradients of the operands, for each of N gradients of the stiffness.
#[inline(always)]
pub(crate) fn vjp<R: Real, const N: usize>(
    curved: Curved,
    k: f64,
    v: &[R; OPERANDS],
    grads: [&[R; STIFFNESS]; N],
) -> [[R; OPERANDS]; N] {
    traced::vjp(&Rolling(curved, k), v, grads)
}

/// The tape of the stiffness for [`Curved::Ellipsoid`].
static OF_ELLIPSOID: LazyLock<Places<STIFFNESS>> = LazyLock::new(|| Places::new(&Rolling(Curved::Ellipsoid, 1.0)));
/// The tape of the stiffness for [`Curved::Line`].
static OF_LINE: LazyLock<Places<STIFFNESS>> = LazyLock::new(|| Places::new(&Rolling(Curved::Line, 1.0)));
