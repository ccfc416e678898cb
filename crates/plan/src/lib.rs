//! Planning and model-predictive control with the step's gradients, parameters from logs, hands that follow keypoints,
//! and grasping.

#![deny(missing_docs)]

pub mod fit;
pub mod follow;
pub mod grasp;
pub mod mpc;
