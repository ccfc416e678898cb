//! The second-order step on pills, cubes and a hand: from the barrier to hard contact, and derivatives.

mod coulomb;
mod gradients;
mod impact;
mod lanes;
mod limit;
mod program;
mod situations;
