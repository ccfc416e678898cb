//! How far to go along a Newton step.

use crate::math::lane::{Mask, Real};
use crate::math::vector::dot;

use super::cone::Cone;
use super::memory::{Problem, Work};
use super::problem::{along, at3, put3};
use super::structure::Structure;

/// Iterations of the search, Newton's method between bisections.
const LINE_SEARCH: usize = 8;
/// Longest step, in Newton steps: where the dual is unbounded forces grow fast enough by it, and stay finite.
const LONGEST_STEP: f64 = 100.0;

/// The minimum of the dual function along the Newton step, as near as [`LINE_SEARCH`] iterations come.
#[inline(always)]
pub(super) fn line_search<R: Real>(s: &Structure, problem: &Problem<R>, kappa: R, work: &mut Work<&mut [R]>) -> R {
    let (nc, n) = (s.nc(), 3 * s.nc() + s.nl());
    // Slope of the quadratic part at 0 and its curvature, times κ; work.zeta is overwritten by each cone's
    // ρ(η + α Δη) = c₀ + c₁ α + c₂ α².
    let mut slope = R::zero();
    let mut curvature = R::zero();
    let mut end = R::splat(f64::INFINITY);
    for i in 0..nc {
        let cone = Cone::read(problem.contacts, i);
        let (eta, step) = (at3(work.eta, i), at3(work.d_eta, i));
        slope += dot(at3(work.zeta, i), step);
        curvature += dot(along(s, work.columns, i, work.step), step);
        let there = cone.weight.gt(R::zero());
        let c0 = R::select(there, cone.rho(eta), R::one());
        let c1 = dot(cone.reflected(eta), step).scale(2.0);
        let c2 = cone.rho(step);
        let discriminant = c1.mul_add(c1, -(c0 * c2).scale(4.0));
        let below = discriminant.max(R::zero()).sqrt() - c1;
        // A ray whose normal part falls leaves the cone whatever rounding makes of a double root: a force along the
        // normal, as at μ = 0, leaves through the tip, and behind it is the mirror cone, where ρ > 0 again.
        let falls = -dot(cone.n, step);
        let falling = there.and(falls.gt(R::zero()));
        let leaves = discriminant.lt(R::zero()).not().or(falling).and(below.gt(R::zero()));
        end = R::select(leaves, end.min(c0.scale(2.0) / R::select(leaves, below, R::one())), end);
        end = R::select(falling, end.min(dot(cone.n, eta) / R::select(falling, falls, R::one())), end);
        put3(work.zeta, i, [c0, c1, c2]);
    }
    for (l, &(dof, sign)) in s.limits.iter().enumerate() {
        let l = 3 * nc + l;
        slope += work.zeta[l] * work.d_eta[l];
        curvature += work.step[dof].scale(sign) * work.d_eta[l];
        let leaves = work.d_eta[l].lt(R::zero());
        let ratio = -(work.eta[l] / R::select(leaves, work.d_eta[l], R::one()));
        end = R::select(leaves, end.min(ratio), end);
    }
    slope = slope * kappa;
    curvature = curvature.max(R::zero()) * kappa;
    let mut low = R::zero();
    let mut high = end;
    let mut alpha = R::one().min(end.scale(0.9));
    for _ in 0..LINE_SEARCH {
        let mut first = curvature.mul_add(alpha, slope);
        let mut second = curvature;
        for i in 0..nc {
            let cone = Cone::read(problem.contacts, i);
            let [c0, c1, c2] = at3(work.zeta, i);
            let inverse = R::one() / c2.mul_add(alpha, c1).mul_add(alpha, c0);
            let log = c2.scale(2.0).mul_add(alpha, c1) * inverse;
            first -= cone.weight * log;
            second += cone.weight * (log * log - c2.scale(2.0) * inverse);
        }
        for l in 3 * nc..n {
            let log = work.d_eta[l] / alpha.mul_add(work.d_eta[l], work.eta[l]);
            first -= log.scale(2.0);
            second = (log * log).mul_add(R::splat(2.0), second);
        }
        let beyond = first.gt(R::zero());
        high = R::select(beyond, alpha, high);
        low = R::select(beyond, low, alpha);
        let newton = alpha - first / second;
        let bounded = high.is_finite();
        let middle = R::select(bounded, (low + R::select(bounded, high, low)).scale(0.5), alpha.scale(10.0));
        let inside = newton.gt(low).and(newton.lt(high));
        alpha = R::select(inside, newton.min(alpha.scale(1e3)), middle);
    }
    // `low` is inside and on the descending side; a Newton iterate just past the minimum is inside as well.
    let safe = alpha.lt(end);
    R::select(safe, alpha, low).min(R::splat(LONGEST_STEP))
}
