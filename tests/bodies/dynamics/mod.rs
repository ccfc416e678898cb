//! Rigid-body dynamics and the configuration manifold against Pinocchio, closed forms, each other and differences.

mod derivatives;
mod golden;
mod gradients;
mod hand_sim;
mod manifold;
mod physics;
