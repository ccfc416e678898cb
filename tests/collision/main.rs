//! Distances and contact points of convex shapes.

mod support;

mod golden;
mod gradients;
mod manifold;
mod random;
