//! The kernels of contacts on lanes of worlds, which are no part of the interface.

mod bounds;
mod constant;
mod weighted;

use fingertip::description::Shape;
use fingertip::kinematics::POSE;
use fingertip_lanes::lane::{Lane, Number};
use support::pairs::Body;

/// The `n` numbers that `numbers` gives for each of the lane's worlds, which start at `first`. Worlds beyond the last
/// repeat it.
#[inline(always)]
fn gather<'a, R: Lane>(worlds: usize, first: usize, n: usize, numbers: impl Fn(usize) -> &'a [f64]) -> Vec<R> {
    let mut lanes = vec![R::zero(); n];
    R::exchange([], [&mut lanes[..]], |[], [to]| {
        for world in 0..R::WIDTH {
            let from = numbers((first + world).min(worlds - 1));
            (0..n).for_each(|k| to[R::WIDTH * k + world] = Number::of(from[k]));
        }
    });
    lanes
}

/// The poses and sizes of pairs as lanes, first of A, then of B, see [`gather`].
#[inline(always)]
fn gather_pairs<R: Lane>(pairs: &[(Body, Body)], first: usize) -> [(Vec<R>, Vec<R>); 2] {
    let body = |get: &dyn Fn(&(Body, Body)) -> &Body| {
        let pose = gather(pairs.len(), first, POSE, |world| &get(&pairs[world]).pose);
        (pose, gather(pairs.len(), first, Shape::SIZES, |world| &get(&pairs[world]).size))
    };
    [body(&|(a, _)| a), body(&|(_, b)| b)]
}
