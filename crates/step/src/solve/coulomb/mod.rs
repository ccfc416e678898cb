//! The solve with Coulomb's law instead of its relaxation, see [`super::friction`].
//!
//! The equations are P δ + g = J̃ᵀη and z = J̃ δ + φ n on the law. They are not the optimality conditions of a minimum,
//! so a problem may have several answers, or none. The iteration is a primal-dual one, with slacks as well as forces: a
//! gap s_n > 0 for each z_n, and (w, s_t) in the cone for each z_t, where w is a variable of its own. A step is
//! Newton's for
//!
//! ```text
//! z_n = s_n,  s_n η_n = τ/κ        z_t = s_t,  (w, s_t) and η complementary at 2τ/κ
//! ```
//!
//! in the scaling of Nesterov and Todd between slacks and forces, as in [`super::approach`]. It solves the unsymmetric
//! system once, in the degrees of freedom that contacts share. A contact's private ones are eliminated as in
//! [`super::newton`]: with W̃ = F² + x yᵀ and A = (F⁻² + D)⁻¹
//!
//! ```text
//! (W̃⁻¹ + D)⁻¹ = A + (x − A D x) zᵀ / (1 + zᵀD x),   z = y − A D y
//! ```
//!
//! τ falls to 1 as steps get longer. Near the answer the slacks are computed from the forces, and the steps are
//! Newton's.
//!
//! A world makes these [attempts](super::log::Attempt), the last of them from where [`opening`] leads.
//! If none succeeds, the result is the relaxed answer, and the status says so.

mod iterate;
mod join;
mod opening;
mod outcome;
mod step;

use fingertip_lanes::lane::{Mask, Real, when};

use super::memory::{Problem, STATUS, Work};
use super::status::{Coded, Status, is_relaxed};
use super::structure::Structure;
use iterate::find;
pub(super) use opening::{close, open};
pub(super) use outcome::{keep_where, loosened, opened, put_aside};
use outcome::{report, restore};

/// Solves a lane of problems: δ, η and the report are left in `work`. Worlds without an answer are unsettled, whatever
/// the reason.
///
/// With `again`, worlds that are not settled start from the answer of the relaxed solve with opened gaps; the others
/// are left as they were.
#[inline(always)]
pub(crate) fn solve<R: Real, const N: usize>(
    s: &Structure,
    problem: &Problem<R>,
    max_iterations: usize,
    (warm, again): (bool, bool),
    work: &mut Work<&mut [R]>,
) {
    let status = &mut work.kept_info[STATUS];
    let worlds = if again { is_relaxed(*status) } else { R::Mask::splat(true) };
    if !again {
        *status = Status::Solved.everywhere();
    }
    when!(worlds, work, |work| {
        let (found, iterations) = find::<R, N>(s, problem, max_iterations, (worlds, warm, again), work);
        report::<R, N>(s, problem, (found, iterations), work);
        if again {
            restore(worlds, work);
        }
    });
}
