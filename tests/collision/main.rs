//! Distances and contact points of convex shapes.

mod support;

mod degenerate;
mod golden;
mod gradients;
mod manifold;
#[path = "../support/measure.rs"]
mod measure;
mod parallel;
mod random;
