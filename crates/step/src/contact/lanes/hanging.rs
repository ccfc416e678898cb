//! The stiffness by which gravity pulls a body back that hangs: one that its contacts hold above its centre of mass.
//! `docs/rolling.md` derives it:
//!
//! ```text
//! M = Σ F c z + (W − Σ F c) Σ a z/(Σ a + W/10)        a = F (1 − c²)
//! B = ε/h² (1/tr I⁻¹ + M²/(m |g|²))                   f(M − B) (1 − u uᵀ)        f(x) = x²/(x + B/10) for x > 0, else 0
//! ```

use std::ops::Range;
use std::sync::LazyLock;

use super::rolling::{self, STIFFNESS, one, six, three};
use super::scalar::{Scalar, V3, dot};
use super::traced::{self, Formula, Places};
use fingertip_lanes::lane::{Mask, Real, inlined};
use fingertip_lanes::layout;

/// The number of sums over a body's contacts: with F a contact's force, c = −n·u and r its height above the centre of
/// mass, of F c, F c r, F (1 − c²) and F (1 − c²) r.
pub(crate) const SUMS: usize = 4;

layout! {
    /// The operands of a contact's part.
    pub(crate) struct OfContact {
        /// As in [`rolling::Operands`], out of what hangs.
        normal,
        point,
        phi,
        weight,
        centre,
        kappa,
        mass,
        gravity,
    }
}

/// Places of the operands of a contact's part.
pub(crate) const CONTACT: OfContact<Range<usize>> =
    OfContact { normal: 3, point: 3, phi: 1, weight: 1, centre: 3, kappa: 1, mass: 1, gravity: 3 }.from(0);
/// The number of operands of a contact's part.
pub(crate) const OF_CONTACT: usize = CONTACT.gravity.end;

layout! {
    /// The operands of a body's stiffness.
    pub(crate) struct OfBody {
        /// The [sums](SUMS).
        sums,
        /// As in [`rolling::Operands`].
        mass,
        gravity,
        inertia,
        epsilon,
        h,
    }
}

/// Places of the operands of a body's stiffness.
pub(crate) const BODY: OfBody<Range<usize>> =
    OfBody { sums: SUMS, mass: 1, gravity: 3, inertia: 6, epsilon: 1, h: 1 }.from(0);
/// The number of operands of a body's stiffness.
pub(crate) const OF_BODY: usize = BODY.h.end;

/// Friction carries nothing where the contacts' forces are far below this part of the weight.
const LEAST: f64 = 0.1;
/// The smoothing e of the stiffness's onset, as a fraction of what the step bears without it.
const SMOOTH: f64 = 0.1;

/// A contact's parts of the sums; k as in [`rolling`].
struct Part(f64);

impl Formula<OF_CONTACT, SUMS> for Part {
    #[inline(always)]
    fn of<S: Scalar>(&self, v: &[S; OF_CONTACT]) -> [S; SUMS] {
        let (n, point, centre) = (three(v, CONTACT.normal), three(v, CONTACT.point), three(v, CONTACT.centre));
        let gravity = three(v, CONTACT.gravity);
        let (up, _) = up(gravity);
        let contact = [one(v, CONTACT.phi), one(v, CONTACT.weight)];
        let force = rolling::force(self.0, contact, one(v, CONTACT.kappa), one(v, CONTACT.mass), gravity);
        let carried = -dot(n, up);
        let height = dot([point[0] - centre[0], point[1] - centre[1], point[2] - centre[2]], up);
        let unit = v[0].constant(S::Lane::splat(1.0));
        let (normal, across) = (force * carried, force * (unit - carried * carried));
        [normal, normal * height, across, across * height]
    }

    #[inline(always)]
    fn places(&self) -> &'static Places<SUMS> {
        static OF_PART: LazyLock<Places<SUMS>> = LazyLock::new(|| Places::new(&Part(1.0)));
        &OF_PART
    }
}

/// The body's stiffness from the sums.
struct Whole;

impl Formula<OF_BODY, STIFFNESS> for Whole {
    #[inline(always)]
    fn of<S: Scalar>(&self, v: &[S; OF_BODY]) -> [S; STIFFNESS] {
        let constant = inlined(
            #[inline(always)]
            |x: f64| v[0].constant(S::Lane::splat(x)),
        );
        let (up, _) = up(three(v, BODY.gravity));
        let [lacks, borne] = lacks(v);
        let holds = lacks.value().gt(S::Lane::splat(0.0)).and(overshoots(v));
        let lacks = S::choose(holds, lacks, constant(0.0));
        let held = lacks * lacks / (lacks + S::choose(holds, borne, constant(1.0)).times(S::Lane::splat(SMOOTH)));
        let entry = inlined(
            #[inline(always)]
            |(i, j): (usize, usize)| held * (constant(if i == j { 1.0 } else { 0.0 }) - up[i] * up[j]),
        );
        [entry((0, 0)), entry((1, 1)), entry((2, 2)), entry((0, 1)), entry((0, 2)), entry((1, 2))]
    }

    #[inline(always)]
    fn places(&self) -> &'static Places<STIFFNESS> {
        static OF_WHOLE: LazyLock<Places<STIFFNESS>> = LazyLock::new(|| Places::new(&Whole));
        &OF_WHOLE
    }
}

/// The moment by which gravity pulls the body back beyond what the step bears without the stiffness, and what it bears,
/// N·m/rad.
#[inline(always)]
fn lacks<S: Scalar>(v: &[S; OF_BODY]) -> [S; 2] {
    let [normal, normal_height, across, across_height] = [v[0], v[1], v[2], v[3]];
    let (mass, (_, pull)) = (one(v, BODY.mass), up(three(v, BODY.gravity)));
    let weight = mass * pull;
    let moment = normal_height + (weight - normal) * across_height / (across + weight.times(S::Lane::splat(LEAST)));
    let inertia = rolling::least_inertia(six(v, BODY.inertia));
    let (epsilon, h) = (one(v, BODY.epsilon), one(v, BODY.h));
    let borne = epsilon * (inertia + moment * moment / (weight * pull)) / (h * h);
    [moment - borne, borne]
}

/// The direction against gravity, and gravity's length. Without gravity they are 0 and 1.
#[inline(always)]
fn up<S: Scalar>(gravity: V3<S>) -> (V3<S>, S) {
    let squared = dot(gravity, gravity);
    let one = squared.constant(S::Lane::splat(1.0));
    let pull = S::choose(squared.value().gt(S::Lane::splat(0.0)), squared, one).root();
    ([-(gravity[0] / pull), -(gravity[1] / pull), -(gravity[2] / pull)], pull)
}

/// Would a body overshoot if it were held at the worst height above its centre of mass? Elsewhere its [`stiffness`] is
/// 0, whatever holds it. The operands may lack the sums.
#[inline(always)]
fn overshoots<S: Scalar>(v: &[S; OF_BODY]) -> <S::Lane as Real>::Mask {
    let [x, y, z] = three(v, BODY.gravity);
    let gravity = [x.value(), y.value(), z.value()];
    let (mass, inertia) = (one(v, BODY.mass).value(), rolling::least_inertia(six(v, BODY.inertia)).value());
    let (epsilon, h) = (one(v, BODY.epsilon).value(), one(v, BODY.h).value());
    let h2 = h * h;
    (epsilon * epsilon * inertia).scale(4.0).lt(mass * dot(gravity, gravity) * (h2 * h2))
}

/// A contact's parts of the [sums](SUMS). `k` is 2 for the relaxed contact law and 1 for Coulomb's.
#[inline(always)]
pub(crate) fn part<R: Real>(k: f64, v: &[R; OF_CONTACT]) -> [R; SUMS] {
    Part(k).of(v)
}

/// Vector-Jacobian products of [`part`]: the gradients of the operands, for each of N gradients of the sums.
#[inline(always)]
pub(crate) fn vjp_part<R: Real, const N: usize>(
    k: f64,
    v: &[R; OF_CONTACT],
    grads: [&[R; SUMS]; N],
) -> [[R; OF_CONTACT]; N] {
    traced::vjp(&Part(k), v, grads)
}

/// The stiffness of a body about the world's axes, N·m/rad.
#[inline(always)]
pub(crate) fn stiffness<R: Real>(v: &[R; OF_BODY]) -> [R; STIFFNESS] {
    Whole.of(v)
}

/// Vector-Jacobian products of [`stiffness`].
#[inline(always)]
pub(crate) fn vjp<R: Real, const N: usize>(v: &[R; OF_BODY], grads: [&[R; STIFFNESS]; N]) -> [[R; OF_BODY]; N] {
    traced::vjp(&Whole, v, grads)
}

/// Is the body's [`stiffness`] more than 0? Elsewhere its derivatives are 0, too.
#[inline(always)]
pub(crate) fn holds<R: Real>(v: &[R; OF_BODY]) -> R::Mask {
    lacks(v)[0].gt(R::zero())
}

/// [`overshoots`] for plain lanes.
#[inline(always)]
pub(crate) fn may_swing<R: Real>(v: &[R; OF_BODY]) -> R::Mask {
    overshoots(v)
}
