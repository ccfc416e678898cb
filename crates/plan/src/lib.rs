//! Planning and model-predictive control with the step's gradients, and grasping.

#![deny(missing_docs)]

pub mod grasp;
pub mod mpc;
