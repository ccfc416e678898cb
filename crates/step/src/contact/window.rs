//! How far contacts reach.

use fingertip_lanes::lane::{Mask, Real};

/// Least weight of a contact that has one: a body that is pressed against it leaves a gap in proportion to its weight,
/// and of a gap of less than rounding nothing can be computed. The force of a contact that is not pressed is too small
/// to be seen at this weight.
const LEAST_WEIGHT: f64 = 1e-6;

/// Where the weight of a contact's barrier falls to zero with its gap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// The gap from which on the weight is zero, m. It may be infinite.
    pub reach: f64,
    /// The width of the window below the reach in which the weight falls from 1 to 0, m.
    pub fade: f64,
}

impl Window {
    /// Contacts act at every distance.
    pub(crate) const ALL: Self = Self { reach: f64::INFINITY, fade: 0.0 };

    /// The weight at this gap φ, and its derivative: 1 up to `reach − fade`, 0 from `reach` on, between them t³ (10 −
    /// 15 t + 6 t²), t falling from 1 to 0, or [`LEAST_WEIGHT`] if that is more.
    #[inline(always)]
    pub(crate) fn weight<R: Real>(&self, phi: R) -> (R, R) {
        let Self { reach, fade } = *self;
        if reach == f64::INFINITY {
            return (R::one(), R::zero());
        }
        if fade == 0.0 {
            return (R::select(phi.lt(R::splat(reach)), R::one(), R::zero()), R::zero());
        }
        let t = (R::splat(reach) - phi).scale(1.0 / fade).max(R::zero()).min(R::one());
        let polynomial = t.mul_add(t.scale(6.0) - R::splat(15.0), R::splat(10.0));
        let (weight, rest) = (t * t * t * polynomial, R::one() - t);
        let slope = (t * t * rest * rest).scale(-30.0 / fade);
        let faint = phi.lt(R::splat(reach)).and(weight.lt(R::splat(LEAST_WEIGHT)));
        (R::select(faint, R::splat(LEAST_WEIGHT), weight), R::select(faint, R::zero(), slope))
    }
}
