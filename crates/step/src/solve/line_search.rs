//! Line search along a Newton step: the step length that approximately minimises the dual function.

use fingertip_lanes::lane::{Mask, Real, Zip, state, when};

use super::contact_state::ContactState;
use super::kinds::cones;
use super::memory::{Problem, Work};
use super::presence::listed;
use super::problem::with_private;
use super::structure::Structure;
use super::vector::dot;

/// Longest step, in Newton steps: where the dual is unbounded forces grow fast enough by it, and stay finite.
const LONGEST_STEP: f64 = 100.0;

/// The state of a line search: a bracket around the minimum, the present step length, and the derivatives there.
struct Search<R: Real> {
    /// Lower end of the bracket around the minimum; `high` is its upper end.
    low: R,
    high: R,
    alpha: R,
    /// Slope of the dual function at `alpha`; `second` is its curvature there.
    first: R,
    second: R,
    searching: R::Mask,
}

state!(Search { numbers: [low, high, alpha, first, second], flags: [searching], states: [] });

/// The step length α that approximately minimises the dual function along the Newton step, in worlds that are `far`
/// from the solution; there the slope is −`decrement` at α = 0. It is 1 in the other worlds.
#[inline(always)]
pub(super) fn line_search<R: Real, const N: usize>(
    s: &Structure,
    problem: &Problem<R>,
    kappa: R,
    (far, decrement): (R::Mask, R),
    work: &mut Work<&mut [R]>,
) -> R {
    R::call(
        #[inline(always)]
        || {
            let columns = work.columns.as_chunks().0;
            let states = ContactState::<R, N>::of(work.contact_states);
            // Slope of the quadratic part at 0 and its curvature, times κ.
            let mut found = [R::zero(), R::zero(), R::splat(f64::INFINITY)];
            for (state, contact) in listed(work.list, states.iter_mut().zip_inline(&s.contacts)) {
                let there = state.is_there();
                when!(there, &mut (&mut state.along_step, &mut found), |(along_step, [slope, curvature, end])| {
                    let step = state.d_eta;
                    *slope += dot(state.zeta, step);
                    *curvature += dot(with_private(contact, columns, state.moved, work.step), step);
                    let (room, [c0, c1, c2]) = state.cone.room(state.eta, step);
                    *end = R::select(there, end.min(room), *end);
                    **along_step = [R::select(there, c0, R::one()), c1, c2];
                });
            }
            let [mut slope, mut curvature, mut end] = found;
            cones!(s, problem.gaps, cone => {
                let step = cone.own(work.limit_step);
                slope += dot(cone.own(work.limit_gap), step);
                curvature += dot(cone.on.moved(work.step), step);
                end = cone.nearer(end, cone.own(work.limit_force), step);
            });
            slope = slope * kappa;
            curvature = curvature.max(R::zero()) * kappa;
            let (list, states) = (&*work.list, &*states);
            let (limit_force, limit_step) = (&*work.limit_force, &*work.limit_step);
            let mut search = Search {
                low: R::zero(),
                high: end,
                alpha: R::one().min(end.scale(0.9)),
                first: slope,
                second: curvature,
                searching: far,
            };
            // Further on the Newton step is worth no more.
            let flat = decrement.scale(s.settings.line_search_slope);
            R::repeat(
                s.settings.line_search_iterations as usize,
                &mut search,
                #[inline(always)]
                |search| {
                    let alpha = search.alpha;
                    let mut slopes = [curvature.mul_add(alpha, slope), curvature];
                    for state in listed(list, states) {
                        when!(state.is_there(), &mut slopes, |[first, second]| {
                            let [c0, c1, c2] = state.along_step;
                            let inverse = R::one() / c2.mul_add(alpha, c1).mul_add(alpha, c0);
                            let log = c2.scale(2.0).mul_add(alpha, c1) * inverse;
                            *first -= state.cone.weight * log;
                            *second += state.cone.weight * (log * log - c2.scale(2.0) * inverse);
                        });
                    }
                    cones!(s, problem.gaps, cone => {
                        cone.add_slopes(alpha, cone.own(limit_force), cone.own(limit_step), &mut slopes);
                    });
                    let [first, second] = slopes;
                    (search.first, search.second) = (first, second);
                    search.searching = search.searching.and(first.abs().lt(flat).not());
                    search.searching
                },
                #[inline(always)]
                |Search { low, high, alpha, first, second, searching }| {
                    let beyond = first.gt(R::zero());
                    *high = R::select(searching.and(beyond), *alpha, *high);
                    *low = R::select(searching.and(beyond.not()), *alpha, *low);
                    let newton = *alpha - *first / *second;
                    let bounded = high.is_finite();
                    let middle =
                        R::select(bounded, (*low + R::select(bounded, *high, *low)).scale(0.5), alpha.scale(10.0));
                    let inside = newton.gt(*low).and(newton.lt(*high));
                    let next = R::select(inside, newton.min(alpha.scale(1e3)), middle);
                    *alpha = R::select(*searching, next, *alpha);
                },
            );
            let Search { low, alpha, .. } = search;
            // `low` is inside and on the descending side; a Newton iterate just past the minimum is inside as well.
            let safe = alpha.lt(end);
            R::select(far, R::select(safe, alpha, low).min(R::splat(LONGEST_STEP)), R::one())
        },
    )
}
