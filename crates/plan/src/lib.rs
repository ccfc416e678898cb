//! Planning and model-predictive control with the step's gradients, parameters from logs, and grasping.

#![deny(missing_docs)]

pub mod fit;
pub mod grasp;
pub mod mpc;
