//! Distances and contact points of convex shapes.

mod support;

mod degenerate;
mod golden;
mod gradients;
mod manifold;
mod parallel;
mod random;
