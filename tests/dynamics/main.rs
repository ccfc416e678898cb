//! Rigid-body dynamics and the configuration manifold against Pinocchio, closed forms, each other and differences.

mod derivatives;
mod golden;
mod gradients;
mod hand_sim;
mod manifold;
#[path = "../support/measure.rs"]
mod measure;
mod models;
mod physics;
mod robots;
