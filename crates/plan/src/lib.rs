//! Planning and model-predictive control with the step's gradients, parameters from logs, poses by touch, hands that
//! follow keypoints, and grasping.

#![deny(missing_docs)]

pub mod feel;
pub mod fit;
pub mod follow;
pub mod grasp;
pub mod mpc;
