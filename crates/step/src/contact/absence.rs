//! Groups of contacts that are absent: without weight in any world of a lane.
//!
//! A number for each group outlives the steps of a program. It is positive where a contact may have weight. It is
//! [`GONE`] where none has and memory may still hold what the group was before, and [`CLEARED`] where it no longer
//! does. So a step writes once to what has gone, and then passes over it.

use fingertip_lanes::lane::{Mask, Real};

/// A group that is absent, and whose numbers are to be cleared.
const GONE: f64 = 0.0;
/// A group that is absent, and whose numbers are cleared.
const CLEARED: f64 = -1.0;

/// Before the first step: memory may hold anything.
#[inline(always)]
pub(crate) fn forget<R: Real>(groups: &mut [R]) {
    for group in groups {
        *group = R::one();
    }
}

/// A new step begins: what had gone in the last one was cleared there.
#[inline(always)]
pub(crate) fn pass<R: Real>(groups: &mut [R]) {
    for group in groups {
        if is_gone(*group) {
            *group = R::splat(CLEARED);
        }
    }
}

/// Marks a group as absent in all worlds of the lane: it has gone, unless it was absent before.
#[inline(always)]
pub(crate) fn leave<R: Real>(group: &mut R) {
    if !is_cleared(*group) {
        *group = R::splat(GONE);
    }
}

/// Is the group absent?
#[inline(always)]
pub(crate) fn is_absent<R: Real>(group: R) -> bool {
    R::is_nowhere(group.gt(R::zero()))
}

/// Is the group absent, and are its numbers cleared?
#[inline(always)]
pub(crate) fn is_cleared<R: Real>(group: R) -> bool {
    R::is_nowhere(group.lt(R::zero()).not())
}

/// Is the group absent, and are its numbers to be cleared?
#[inline(always)]
pub(crate) fn is_gone<R: Real>(group: R) -> bool {
    is_absent(group) && !is_cleared(group)
}
